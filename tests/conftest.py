"""What the tests share: one generator, every kind of design, the reference problems."""

import os

# Before SciPy is imported: scikit-learn's array API check is skipped without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Before NumPy is imported, here and in processes that tests start: as many workers as cores, each with as many BLAS
# threads, wait for each other most of the time (seen: 50 s instead of 3 s). Tests of threads use `two_blas_threads`.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import importlib
import importlib.util
import logging
import signal
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import settings
from sklearn.base import clone
from sklearn.utils.fixes import parse_version
from threadpoolctl import ThreadpoolController

from propense import JERM, LBE, SAREM, JointMLE, KnownPropensity, SparseJoint, scar_test
from propense._designs import as_design
from propense.estimators import known_methods

# A shell that runs the tests in the background ignores an interrupt for them and for the commands that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An example that takes long on a busy machine has not failed.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

# The ℓ1 penalty of scikit-learn's LogisticRegression, which lost its `penalty` in 1.8.
LASSO = {"penalty": "l1"} if parse_version(sklearn.__version__) < parse_version("1.8") else {"l1_ratio": 1.0}

# Two checks of scikit-learn 1.6 compare a fit with weights to a fit with repeated rows, but label the two differently:
# they shuffle one sample and then make each y binary by its own first value. 1.7 takes the lowest value instead.
# `test_laws.py` tests the same law with every release.
MISTAKEN_CHECKS = (
    {
        f"check_sample_weight_equivalence_on_{kind}_data": "scikit-learn 1.6 labels the two samples differently"
        for kind in ("dense", "sparse")
    }
    if parse_version(sklearn.__version__) < parse_version("1.7")
    else {}
)

ROOT = Path(__file__).parents[1]
BESIDE = ROOT.parent / "shared" / "data"


OPTIONAL = ("dask", "distributed", "pyarrow")
TORCH = importlib.util.find_spec("torch") is not None
collect_ignore_glob = [] if TORCH else ["_designs/torch/*", "_inputs/test_torch.py"]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file whose imports need an optional package that is not installed is skipped, and says so."""
    report = yield
    for package in OPTIONAL:
        missing = importlib.util.find_spec(package) is None
        if report.failed and missing and f"No module named '{package}" in str(report.longrepr):
            report.outcome, report.longrepr = "skipped", (str(collector.path), 1, f"needs {package}")
    return report


def pytest_collection_modifyitems(config, items):
    """Tests on tensors are marked, by the name of their folder, file or parameter; without torch they are left out."""
    for item in items:
        parameters = item.callspec.id.replace("-", " ").split() if hasattr(item, "callspec") else []
        # Not the folders above: a clone may be in one of any name.
        folders = item.path.relative_to(ROOT / "tests").parts
        if "torch" in (*parameters, *folders) or item.path.stem == "test_torch":
            item.add_marker("torch")
    if not TORCH:
        left_out = {item for item in items if (mark := item.get_closest_marker("torch")) and not mark.kwargs}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def pytest_terminal_summary(terminalreporter, config):
    if not TORCH and not hasattr(config, "workerinput"):
        terminalreporter.write_line("Tests on tensors are left out without torch; `make test-torch` runs them.")


@pytest.fixture
def rng():
    return np.random.default_rng(20240304)


@pytest.fixture(scope="session")
def blas():
    return ThreadpoolController().select(user_api="blas")


@pytest.fixture
def two_blas_threads(blas):
    """BLAS, and so also our own threads around it, may use two threads."""
    with blas.limit(limits=2):
        yield


def mapped(X):
    """The same array in a file that goes when the array does."""
    with tempfile.TemporaryFile() as file:
        copy = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    copy[:] = X
    return copy


def slow_where(condition, names):
    """Parameters of a fixture: those that meet the condition marked slow, those without their package skipped."""
    return [pytest.param(name, marks=[pytest.mark.slow] * condition(name) + missing(name)) for name in names]


def missing(name):
    """A mark that skips a kind of storage in blocks, if Dask is not installed; see above for tensors."""
    absent = name.startswith("dask") and not importlib.util.find_spec("dask")
    return [pytest.mark.skip(reason="needs dask")] * absent


def tensor(X, **options):
    """X as torch's, which is imported where a test needs it: it takes seconds."""
    return importlib.import_module("torch").tensor(X, **options)


def dask_design(X, *storage):
    """X in blocks of Dask, which is imported where a test needs it."""
    return as_design(importlib.import_module("blocks").as_dask(X, *storage))


# Each kind of storage, as a function of a dense float64 matrix; float32 storage is exact for what the tests put in it.
DESIGN_KINDS = {
    "dense": as_design,
    "dense float32": lambda X: as_design(X.astype(np.float32)),
    "dense column-major": lambda X: as_design(np.asfortranarray(X)),
    "mapped": lambda X: as_design(mapped(X)),
    "sparse": lambda X: as_design(sp.csr_array(X)),
    "sparse float32": lambda X: as_design(sp.csr_array(X.astype(np.float32))),
    "torch": lambda X: as_design(tensor(X)),
    "torch float32": lambda X: as_design(tensor(X.astype(np.float32))),
    "torch column-major": lambda X: as_design(tensor(X.T.copy()).T),
    "dask": dask_design,
    "dask float32": lambda X: dask_design(X.astype(np.float32)),
    "dask sparse": lambda X: dask_design(X, sp.csr_array),
}


@pytest.fixture(params=slow_where(lambda name: name not in ("dense", "sparse", "torch"), DESIGN_KINDS))
def design_kind(request):
    """A maker of designs; its matrices should hold numbers that float32 holds exactly."""
    return DESIGN_KINDS[request.param]


# Every method of the package, with fewer starts and rounds for time, and the variants that take another way through the
# code. test_em.py has the whole budget of published LBE.
QUICK = {
    # Without trees, for time; test_pu_scores.py has the other learners.
    "PUClassifier": {"learners": "linear", "decision": "posterior", "random_state": 0},
    "JointMLE": {"n_starts": 3, "random_state": 0},
    "SparseJoint": {"n_alphas": 3, "folds": 2, "random_state": 0},
}
CLASSES = {method.__name__: method for name, (method, _) in known_methods().items() if "." not in name}
METHODS = {
    **{name: method(**QUICK.get(name, {})) for name, method in CLASSES.items()},
    "JERM, paper": JERM(variant="paper", ridge=0.1),
    "SAREM, published": SAREM(variant="published"),
    "LBE, published": LBE(variant="published", max_iter=2, random_state=0),
    "JointMLE, ball": JointMLE(radius=8.0, ridge=0.0, n_starts=2, random_state=0),
    "SparseJoint, one alpha": SparseJoint(alpha=0.01, variant="plain", l1_ratio=0.5, refit=False),
}
# The methods that a table can be fitted by.
TABLE_METHODS = [method.description.name for method in CLASSES.values() if not method.description.needs]


@pytest.fixture(params=slow_where(lambda name: name not in CLASSES, METHODS))
def method(request):
    """A fresh estimator of each kind."""
    return clone(METHODS[request.param])


def fit(model, X, y, **rows):
    """`model.fit`, with half the positives labelled where the propensity must be known."""
    if isinstance(model, KnownPropensity):
        rows = {"propensity": 0.5, **rows}
    return model.fit(X, y, **rows)


def in_few_rounds(model, rounds=10):
    """The same method with at most this many rounds, where what is tested is the same in each."""
    options = model.get_params()
    if "max_iter" in options and (options["max_iter"] is None or options["max_iter"] > rounds):
        model.set_params(max_iter=rounds)
    return model


def coarse(values):
    """Rounded to multiples of 1/64: exact in float32, and far from special."""
    return np.round(np.asarray(values) * 64) / 64


def data_home():
    """The folder of data sets, or None where this machine has none."""
    home = Path(os.environ.get("PROPENSE_DATA", BESIDE))
    return home if home.is_dir() else None


@dataclass(frozen=True)
class Problem:
    """Inputs and exact outputs of the authors' code: JERM's, and TM's."""

    X: np.ndarray
    s: np.ndarray
    X_test: np.ndarray
    jerm_beta: np.ndarray
    jerm_propensity: np.ndarray
    jerm_posterior_test: np.ndarray
    tm_propensity: np.ndarray
    tm_posterior_test: np.ndarray


# Statlog (Heart), UCI, CC BY 4.0: the smallest problem, always tested; the others are read where the data home is.
HEART = ROOT / "tests" / "estimators" / "fixtures" / "heart_S1_c0.5.npz"


def reference_files():
    home = data_home()
    others = sorted((home.parent / "reference").glob("*.npz")) if home else []
    return [HEART, *(path for path in others if path.name != HEART.name)]


def load_problem(path):
    with np.load(path) as arrays:
        return Problem(**{name: arrays[name] for name in Problem.__dataclass_fields__})


@pytest.fixture(scope="module")
def few_simulations():
    """19 simulations of labels at random where the test is passed through, not tested: they take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("propense.tables.scar.scar_test", partial(scar_test, n_simulations=19))
        yield


@pytest.fixture(scope="session")
def workers():
    """A cluster of two workers of Dask, started once for all tests that ask for it; one ends as many times as need be.

    Tests compute on it by a client of their own: while a client is there, everything does.
    """
    distributed = pytest.importorskip("distributed")
    dask = importlib.import_module("dask")
    quiet = {"silence_logs": logging.CRITICAL, "dashboard_address": "127.0.0.1:0", "worker_dashboard_address": None}
    with (
        dask.config.set({"distributed.comm.retry.count": 3, "distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, scheduler_kwargs={"dashboard": False}, **quiet
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def clinic():
    pytest.importorskip("pyarrow")
    return importlib.import_module("clinic").make_clinic()[0]
