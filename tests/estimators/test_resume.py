"""A fit that is stopped after any of its parts, and goes on, ends as if it had not been stopped."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from blocks import as_dask
from propense import JERM, LBE, SAREM, TM, JointMLE, Naive, PUClassifier
from propense._checkpoints import Checkpoint
from propense.datasets import make_double_logistic
from propense.errors import CheckpointError, InvalidOption
from propense.estimators import fit_resumable

pytestmark = pytest.mark.filterwarnings(
    "ignore::propense.errors.DoubtfulFit", "ignore::sklearn.exceptions.ConvergenceWarning"
)

METHODS = {
    "JERM": JERM(),
    "JERM with drawn spies": JERM(spy_sample=20, random_state=0),
    "JERM by Newton": JERM(solver="newton", ridge=0.1, variant="paper"),
    "TM": TM(max_iter=4),
    "SAREM": SAREM(max_iter=10),
    "SAREM as published": SAREM(variant="published", max_iter=10),
    "LBE": LBE(max_iter=10),
    "LBE as published": LBE(variant="published", max_iter=6, random_state=0),
    "JointMLE": JointMLE(n_starts=3, random_state=0),
    "PUClassifier": PUClassifier(learners="linear", random_state=0),
    "a method without parts": Naive(),
}


@pytest.fixture(scope="module")
def data():
    return make_double_logistic(300, n_features=4, random_state=1)


class Stop(BaseException):
    """Like Ctrl-C: nothing catches it on its way."""


@pytest.fixture
def stop_at_each_part(monkeypatch):
    """Let every fit stop as soon as it has written its checkpoint once."""
    keep = Checkpoint.keep

    def keep_and_stop(*arguments):
        keep(*arguments)
        raise Stop

    monkeypatch.setattr(Checkpoint, "keep", keep_and_stop)


def fit_in_turns(method, X, y, file, **options):
    """Fit with as many stops as there are parts; the number of stops and the estimator."""
    for stops in range(500):
        try:
            return stops, fit_resumable(clone(method), X, y, file, **options)
        except Stop:
            assert file.exists()
    pytest.fail("a part is kept again and again")


def assert_same(one, other, X):
    for name, value in vars(one).items():
        if name in ("coef_", "propensity_coef_", "intercept_", "prior_", "n_iter_", "converged_", "risk_path_"):
            np.testing.assert_array_equal(value, getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.predict_propensity(X), other.predict_propensity(X))
    assert [str(each) for each in one.doubts_] == [str(each) for each in other.doubts_]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "spread"),
    [
        *((name, np.asarray) for name in METHODS),
        *((name, as_dask) for name in ("JERM with drawn spies", "TM", "PUClassifier")),
    ],
)
def test_a_fit_stopped_after_every_part_ends_as_one_without_stops(name, spread, data, tmp_path, stop_at_each_part):
    method, X, file = METHODS[name], spread(data.X), tmp_path / "fit.checkpoint"
    whole = clone(method).fit(X, data.labelled)
    stops, resumed = fit_in_turns(method, X, data.labelled, file)
    assert_same(resumed, whole, data.X)
    assert list(tmp_path.iterdir()) == []
    assert stops >= (1 if name == "a method without parts" else 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["JERM", "TM", "SAREM", "LBE", "JointMLE", "PUClassifier"])
def test_a_stopped_fit_goes_on_with_weights_and_known_negatives(name, data, rng, tmp_path, stop_at_each_part):
    method, X, file = METHODS[name], data.X, tmp_path / "fit.checkpoint"
    options = {
        "sample_weight": rng.uniform(0.5, 2.0, len(X)),
        "known_negative": ~data.positive.astype(bool) & (X[:, 0] > 0.5),
    }
    whole = clone(method).fit(X, data.labelled, **options)
    stops, resumed = fit_in_turns(method, X, data.labelled, file, **options)
    assert_same(resumed, whole, X)
    assert stops >= 2


@pytest.mark.slow
def test_a_resumed_fit_counts_the_passes_before_the_stop(data, tmp_path):
    seen = []
    X, file = as_dask(data.X), tmp_path / "fit.checkpoint"
    fit_resumable(JERM(), X, data.labelled, file, progress=lambda *now: seen.append(now))
    assert [passes for _, passes, _ in seen] == sorted(passes for _, passes, _ in seen)
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages[:4] == ["", "search for spies", "naive fit", "round 1"]
    in_one = seen[-1][1]

    def stop(stage, passes, seconds):
        if stage == "round 2":
            raise Stop

    with pytest.raises(Stop):
        fit_resumable(JERM(), X, data.labelled, file, progress=stop)
    again = []
    fit_resumable(JERM(), X, data.labelled, file, progress=lambda *now: again.append(now))
    stages = [stage for stage, _, _ in again]
    assert "round 1" not in stages
    assert "search for spies" not in stages
    # The data are recognised, and what is not kept is found again, by a few passes more.
    assert in_one < again[-1][1] <= in_one + 10
    assert len(again) < len(seen)


def stopped_jerm(data, file, **parameters):
    def stop(stage, passes, seconds):
        if stage == "round 1":
            raise Stop

    with pytest.raises(Stop):
        fit_resumable(JERM(**parameters), data.X, data.labelled, file, progress=stop)
    assert file.exists()


def make_plain():
    """A function with another address each time, as in another process."""

    def plain(X):
        return X

    return plain


def steps(C=1.0):
    """An estimator whose text scikit-learn shortens."""
    each = (FunctionTransformer(make_plain(), kw_args={"y" * 99: None}) for _ in range(9))
    return make_pipeline(*each, LogisticRegression(C=C))


COLUMNS, OTHERS = np.arange(1200), np.r_[:600, 601:1201]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (TM(class_features=COLUMNS), TM(class_features=OTHERS), "599, 600, .* and is .*599, 601,"),
        (JERM(propensity_estimator=steps()), JERM(propensity_estimator=steps(2.0)), r"C=1\.0.* and is .*C=2\.0"),
    ],
)
def test_parameters_with_a_long_text_are_compared_whole(before, now, words, rng, tmp_path, stop_at_each_part):
    X, file = rng.normal(size=(40, 1300)), tmp_path / "fit.checkpoint"
    y = X[:, 0] > 0.5
    for method in (before, clone(before)):
        with pytest.raises(Stop):
            fit_resumable(method, X, y, file)
    with pytest.raises(CheckpointError, match=words) as caught:
        fit_resumable(now, X, y, file)
    assert len(str(caught.value)) < 500


def test_a_function_is_the_same_parameter_in_another_process(data, tmp_path, stop_at_each_part):
    for _ in range(2):
        with pytest.raises(Stop):
            fit_resumable(JERM(propensity_estimator=steps()), data.X, data.labelled, tmp_path / "fit.checkpoint")


def one_column_moved(X, y):
    """The unlabelled rows get the first column of each other."""
    moved, unlabelled = X.copy(), np.flatnonzero(~y.astype(bool))
    moved[unlabelled, 0] = np.roll(X[unlabelled, 0], 1)
    return moved


@pytest.mark.parametrize(
    ("method", "change", "word"),
    [
        (JERM(ridge=2.0), lambda X, y: (X, y), "ridge was"),
        (TM(), lambda X, y: (X, y), "the method was JERM and is TM now"),
        (JERM(), lambda X, y: (X[:-1], y[:-1]), "the number of rows was 300 and is 299 now"),
        (JERM(), lambda X, y: (X[:, 1:], y), "the number of columns was 4 and is 3 now"),
        (JERM(), lambda X, y: (X + 1e-3, y), "values of the rows or their order"),
        (JERM(), lambda X, y: (X, np.roll(y, 1)), "values of the rows or their order"),
        # The sums of all columns and of the labelled rows stay the same, but not who is whose neighbour.
        (JERM(), lambda X, y: (X[::-1], y[::-1]), "values of the rows or their order"),
        (JERM(), lambda X, y: (one_column_moved(X, y), y), "values of the rows or their order"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused_and_stays(method, change, word, data, tmp_path):
    file = tmp_path / "fit.checkpoint"
    stopped_jerm(data, file)
    before = file.read_bytes()
    with pytest.raises(CheckpointError, match=word) as caught:
        fit_resumable(method, *change(data.X, data.labelled), file)
    assert "Delete it" in str(caught.value)
    assert file.read_bytes() == before


def test_data_in_small_units_are_recognised_as_others(data, tmp_path):
    file, small = tmp_path / "fit.checkpoint", replace(data, X=1e-12 * data.X)
    stopped_jerm(small, file)
    with pytest.raises(CheckpointError, match="values of the rows"):
        fit_resumable(JERM(), small.X + 1e-12, small.labelled, file)
    fit_resumable(JERM(), small.X, small.labelled, file)


@pytest.mark.slow
def test_a_stopped_fit_goes_on_with_missing_numbers(data, tmp_path, stop_at_each_part):
    file, X, other = tmp_path / "fit.checkpoint", data.X.copy(), data.X + 1.0
    X[::7, 1] = other[::7, 1] = np.nan
    method = METHODS["PUClassifier"]
    with pytest.raises(Stop):
        fit_resumable(clone(method), X, data.labelled, file)
    with pytest.raises(CheckpointError, match="values of the rows"):
        fit_resumable(clone(method), np.c_[X[:, 0], other[:, 1], X[:, 2:]], data.labelled, file)
    _, resumed = fit_in_turns(method, X, data.labelled, file)
    assert_same(resumed, clone(method).fit(X, data.labelled), X)


def test_a_checkpoint_of_another_version_is_refused(data, tmp_path, monkeypatch):
    file = tmp_path / "fit.checkpoint"
    stopped_jerm(data, file)
    monkeypatch.setattr("propense.__version__", "9.9")
    with pytest.raises(CheckpointError, match=r"the version of propense was .* and is 9\.9 now"):
        fit_resumable(JERM(), data.X, data.labelled, file)


def test_a_pipeline_is_refused_by_name(data, tmp_path):
    with pytest.raises(InvalidOption, match="takes an estimator of propense, not a Pipeline"):
        fit_resumable(make_pipeline(JERM()), data.X, data.labelled, tmp_path / "fit.checkpoint")


def test_a_folder_that_is_not_there_is_named(data, tmp_path):
    with pytest.raises(CheckpointError, match="was not written"):
        fit_resumable(JERM(), data.X, data.labelled, tmp_path / "no" / "fit.checkpoint")
