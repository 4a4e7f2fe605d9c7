"""What the tests share: one generator, every kind of design, the reference problems."""

import os

# Before SciPy is imported: scikit-learn's array API check is skipped without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from propense._designs import as_design

ROOT = Path(__file__).parents[1]
BESIDE = ROOT.parent / "shared" / "data"


@pytest.fixture
def rng():
    return np.random.default_rng(20240304)


# Each kind of storage, as a function of a dense float64 matrix; float32 storage is exact for what the tests put in it.
DESIGN_KINDS = {
    "dense": as_design,
    "dense float32": lambda X: as_design(X.astype(np.float32)),
    "dense column-major": lambda X: as_design(np.asfortranarray(X)),
    "sparse": lambda X: as_design(sp.csr_array(X)),
    "sparse float32": lambda X: as_design(sp.csr_array(X.astype(np.float32))),
}


@pytest.fixture(params=DESIGN_KINDS)
def design_kind(request):
    """A maker of designs; its matrices should hold numbers that float32 holds exactly."""
    return DESIGN_KINDS[request.param]


def coarse(values):
    """Rounded to multiples of 1/64: exact in float32, and far from special."""
    return np.round(np.asarray(values) * 64) / 64


def data_home():
    """The folder of data sets, or None where this machine has none."""
    home = Path(os.environ.get("PROPENSE_DATA", BESIDE))
    return home if home.is_dir() else None


@dataclass(frozen=True)
class Problem:
    """Inputs and exact outputs of the authors' code."""

    X: np.ndarray
    s: np.ndarray
    X_test: np.ndarray
    jerm_beta: np.ndarray
    jerm_propensity: np.ndarray
    jerm_posterior_test: np.ndarray


def reference_files():
    home = data_home()
    return sorted((home.parent / "reference").glob("*.npz")) if home else []


def load_problem(path):
    with np.load(path) as arrays:
        return Problem(**{name: arrays[name] for name in Problem.__dataclass_fields__})
