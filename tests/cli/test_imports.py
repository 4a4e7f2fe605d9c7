"""What commands import: nothing that takes long and that they do not need."""

import subprocess
import sys

import numpy as np
import pytest

from propense.datasets import make_double_logistic

BEGIN = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
COMMAND = f"{BEGIN} from propense.cli import main; main()"
# For drawing, for tables larger than memory, and for models of other libraries. (scikit-learn itself imports pandas.)
APART = {"matplotlib", "dask", "skops", "torch", "sklearn.datasets"}
# What fits, and what a fit is compared with.
FITS = {"sklearn.ensemble", "sklearn.model_selection", "propense.worlds.library"}


def loaded(code, *arguments):
    """The modules that Python holds when it ends."""
    call = [sys.executable, "-c", code, *map(str, arguments)]
    return set(subprocess.run(call, capture_output=True, text=True, check=True).stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("call", [(f"{BEGIN} import propense",), (COMMAND, "--help")], ids=["import", "help"])
def test_a_start_needs_no_scientific_library(call):
    found = loaded(*call)
    assert "propense" in found
    assert sorted(found & {"numpy", "scipy", "sklearn", "pyarrow"}) == []


@pytest.mark.slow
def test_a_fit_with_a_report_loads_nothing_that_draws_and_a_score_nothing_that_fits(tmp_path):
    data, table, model = make_double_logistic(600, random_state=0), tmp_path / "t.csv", tmp_path / "m.propense"
    cells = np.column_stack([data.X[:, :3], data.labelled])
    np.savetxt(table, cells, "%g", ",", header="a,b,c,label", comments="")
    wrote = "--model", model, "--report", tmp_path / "r.html", "--no-scar-test"
    assert sorted(loaded(COMMAND, "fit", table, "--label", "label", *wrote) & APART) == []
    scored = loaded(COMMAND, "score", table, "--model", model, "--out", tmp_path / "s.csv")
    assert sorted(scored & (APART | FITS)) == []
