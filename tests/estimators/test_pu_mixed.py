"""PUClassifier on columns of every kind: logistic regression prepares them, and folds may lack what they hold."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, GroupKFold

from clinic import make_clinic
from conftest import tensor
from propense import PUClassifier, SeveralSources, load, save, scar_test
from propense._designs import as_design
from propense._inputs.preparation import Preparation
from propense._inputs.sample import read_features
from propense.errors import InvalidFeatures, ModelFileError

N = 400


@pytest.fixture(scope="module")
def clinic():
    """A frame of numbers, text, truth values and dates, with missing cells; and which rows are labelled."""
    table, _ = make_clinic(N)
    rng = np.random.default_rng(1)
    since = [dt.datetime(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 90, N)]
    labelled = np.array(table["reported"].to_pylist()) == "yes"
    frame = table.drop_columns(["patient", "reported"]).append_column("since", pa.array(since)).to_pandas()
    frame["region"] = frame["region"].astype(object)
    return frame, labelled


def linear(**options):
    return PUClassifier(learners="linear", random_state=0, **options)


@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_the_score_of_a_frame_is_that_of_its_prepared_columns(clinic, convert):
    frame, s = clinic
    model = linear().fit(convert(frame), s)
    codes = {"sex": ["f", "m"], "region": ["north", "south", "east", "(missing)"]}
    by_hand = frame.assign(
        since=(frame["since"] - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1),
        **{name: frame[name].fillna("(missing)").map(levels.index) for name, levels in codes.items()},
    )
    levels = np.array([len(codes.get(name, [])) for name in frame.columns])
    X = Preparation.fit(levels, by_hand.to_numpy(dtype=float)).transform(by_hand.to_numpy(dtype=float))
    plain = linear().fit(X, s)
    for one, other in ((frame, X), (frame[::-1], X[::-1])):
        scores = (
            model._posterior.score.of(read_features(model, convert(one))),
            plain._posterior.score.of(as_design(other)),
        )
        np.testing.assert_allclose(*scores, atol=1e-6)
    names = ["age", "bmi", "smoker", "since", "bmi missing", "sex=m", "region=south", "region=east", "region=(missing)"]
    assert model._posterior.score.preparation.names(model._columns) == names
    np.testing.assert_array_equal(model.predict_proba(convert(frame)), linear().fit(frame, s).predict_proba(frame))


def test_columns_named_for_y_and_e_are_all_their_levels(clinic):
    frame, s = clinic
    model = linear(class_features=["age", "bmi"], propensity_features=["region"]).fit(frame, s)
    score, e = model._posterior.posterior.score, model._posterior.propensity
    columns = [column for column in model._columns if column.name in ("age", "bmi")]
    assert score.preparation.names(columns) == ["age", "bmi", "bmi missing"]
    (region,) = (column for column in model._columns if column.name == "region")
    assert e.preparation.names([region]) == ["region=south", "region=east", "region=(missing)"]


def test_a_cell_missing_in_new_rows_only_counts_as_the_median(rng):
    X = rng.normal((0.0, 5.0, 0.0), size=(300, 3))
    s = (X[:, 0] > 0) & (rng.random(300) < 0.5)
    weights = rng.integers(1, 4, 300).astype(float)
    model = linear().fit(X, s, sample_weight=weights)
    gap, filled = X[:5].copy(), X[:5].copy()
    gap[2, 1], filled[2, 1] = np.nan, np.median(np.repeat(X[:, 1], weights.astype(int)))
    np.testing.assert_allclose(model.predict_proba(gap), model.predict_proba(filled), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
@pytest.mark.parametrize("kind", ["sparse", "dask", "torch"])
def test_a_score_of_prepared_numbers_takes_rows_of_any_storage(rng, kind):
    X = rng.normal(size=(300, 3))
    X[rng.random(300) < 0.2, 1] = np.nan
    model = linear().fit(X, (X[:, 0] > 0) & (rng.random(300) < 0.5))
    rows = np.where(np.isnan(X), 0.0, X)
    if kind == "sparse":
        found = model.predict_proba(sp.csr_array(rows))
    elif kind == "dask":
        import dask.array as da

        found = model.predict_proba(da.from_array(rows, chunks=(100, 3))).compute()
    else:
        found = model.predict_proba(tensor(rows)).numpy()
    np.testing.assert_allclose(found, model.predict_proba(rows), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
def test_a_grid_of_learners_searches_a_mixed_frame(clinic):
    frame, s = clinic
    # A cell that is missing once: one fold fits without a gap and scores it.
    frame = frame.assign(age=frame["age"].where(frame.index != 7))
    grid = GridSearchCV(PUClassifier(random_state=0), {"learners": ["auto", "linear"]}, cv=2, error_score="raise")
    assert np.isfinite(grid.fit(frame, s).cv_results_["mean_test_score"]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
def test_the_test_of_labels_takes_mixed_frames(clinic):
    frame, s = clinic
    model = linear().fit(frame, s)
    # Women are labelled three times as often; the region says nothing.
    few = {"n_simulations": 39, "random_state": 0}
    p = {name: scar_test(frame, s, propensity_features=[name], **few).p_value for name in ("sex", "region")}
    assert p["sex"] < p["region"]
    preparation = model._posterior.score.preparation
    prepared = preparation.transform(model_matrix(model, frame))
    by_hand = scar_test(prepared, s, propensity_features=[preparation.names(model._columns).index("sex=m")], **few)
    assert by_hand.p_value == p["sex"]


def model_matrix(model, frame):
    """The encoded columns of a frame."""
    from propense._inputs.frames import encode_frame

    return encode_frame(model._columns, frame)


@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
@pytest.mark.parametrize("gaps", [True, False])
def test_the_preparation_comes_back_from_a_file(clinic, tmp_path, gaps):
    frame, s = clinic
    X = frame if gaps else frame[["age"]].to_numpy()
    model = linear().fit(X, s)
    save(model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    new = frame.assign(age=np.nan, region="elsewhere") if gaps else np.array([[np.nan], [3.0]])
    assert again.predict_hidden(new).tobytes() == model.predict_hidden(new).tobytes()


def test_a_preparation_that_does_not_fit_is_refused(clinic, tmp_path):
    X, s = clinic[0][["age"]].to_numpy(), clinic[1]
    model = SeveralSources().fit(X, np.column_stack([s, s & (np.arange(N) % 2 == 0)]).astype(float))
    own = model._preparation
    for wrong in (3, replace(own, scales=np.array([0.0])), replace(own, marked=np.array([7]))):
        model._preparation = wrong
        with pytest.raises(ModelFileError, match="was not written"):
            save(model, tmp_path / "m.propense")


@pytest.mark.parametrize(("learners", "kind"), [("auto", "sparse"), ("linear", "torch")])
@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
def test_missing_cells_are_refused_where_nothing_was_learned_to_fill_them(rng, learners, kind):
    X = rng.normal(size=(300, 3))
    s = (X[:, 0] > 0) & (rng.random(300) < 0.5)
    stored = sp.csr_array(X) if kind == "sparse" else tensor(X)
    model = PUClassifier(learners=learners, prior=0.6, random_state=0).fit(stored, s)
    rows = X[:4].copy()
    assert np.isfinite(model.predict_proba(rows)).all()
    rows[2, 1] = np.nan
    for method in ("predict", "predict_proba", "predict_hidden"):
        with pytest.raises(InvalidFeatures, match=r"1 missing entries \(NaN\), the first at row 2, column 1.*impute"):
            getattr(model, method)(rows)


FILLED = {
    "number": lambda rng: rng.normal(size=N),
    "truth": lambda rng: pd.Series(rng.random(N) < 0.5, dtype=object),
    "date": lambda rng: pd.Timestamp(2020, 1, 1) + pd.to_timedelta(rng.integers(0, 90, N), "D").to_series(range(N)),
    "category": lambda rng: pd.Series(rng.choice(["u", "v"], N), dtype=object),
}


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", FILLED)
@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
def test_a_column_may_be_filled_in_one_fold_only(rng, kind, weighted):
    X = rng.normal(size=(N, 2))
    s = (X[:, 0] > 0) & (rng.random(N) < 0.5)
    folds = list(GroupKFold(4).split(X, s, np.arange(N) % 4))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=FILLED[kind](rng))
    frame["c"] = frame["c"].where(np.isin(np.arange(N), folds[1][1]))
    weights = rng.integers(1, 3, N).astype(float) if weighted else None
    model = PUClassifier(cv=folds, random_state=0).fit(frame, s, sample_weight=weights)
    assert [each.kind for each in model._columns or ()][2:] == [kind] * (kind != "number")
    assert np.isfinite(model.oof_posterior_).all()
    assert np.isfinite(model.predict_proba(frame)).all()
