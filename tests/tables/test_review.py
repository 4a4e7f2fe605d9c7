"""Rows to review first: scored by models that have not seen them, and promising no more than was learned."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn.linear_model import LogisticRegression

from clinic import make_clinic
from propense import Naive, PUClassifier
from propense._diagnostics.doubts import KINDS
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption, InvalidTable
from propense.tables import (
    Promise,
    TableFile,
    describe_assumptions,
    describe_groups,
    describe_learning,
    fit_table,
    list_rows,
    score_file,
    summarise_estimator,
    write_list,
)
from propense.tables.conclusion import Conclusion
from propense.tables.promise import add_up, likely_range, too_little_learned
from propense.tables.review import ReviewList, check_list

ADDED = ["rank", "hidden", "hidden_low", "hidden_high", "why"]
ASKED = {"id": "patient", "scar_test": False}


@pytest.fixture(scope="module")
def found(clinic):
    return fit_table(clinic, "reported", **ASKED)


@pytest.fixture(scope="module")
def linear(clinic):
    return fit_table(clinic, "reported", **ASKED, learners="linear")


@pytest.mark.slow
def test_every_number_of_a_fit_is_of_models_that_have_not_seen_the_row(clinic, found):
    model = found.estimator
    for name in ("posterior", "propensity", "hidden", "hidden_range"):
        np.testing.assert_array_equal(getattr(found.scores, name), getattr(model, f"oof_{name}_"))
    assert found.out_of_fold
    assert found.counts.hidden == pytest.approx(model.oof_hidden_[~found.labelled].sum())
    assert found.labelled.sum() + found.counts.hidden == pytest.approx(600 * model.prior_)
    np.testing.assert_array_equal(found.positive, model.oof_posterior_ > model.prior_)
    for grouping in found.groups:
        assert sum(group.positives for group in grouping.groups) == pytest.approx(600 * model.prior_)
        assert all(group.labelled <= group.low <= group.positives <= group.high for group in grouping.groups)
    assert np.abs(found.scores.hidden - model.predict_hidden(found.model.features(clinic))).max() > 0.01


@pytest.mark.slow
def test_the_list_is_ordered_by_the_chance_of_being_positive(clinic, found):
    review = list_rows(found, 40)
    y = found.scores.posterior
    assert not found.labelled[review.rows].any()
    assert (np.diff(y[review.rows]) <= 0).all()
    assert y[review.rows].min() >= np.delete(y, [*review.rows, *np.flatnonzero(found.labelled)]).max()
    np.testing.assert_array_equal(review.hidden, found.scores.hidden[review.rows])
    assert len(list_rows(found, 10_000).rows) == (~found.labelled).sum()


def test_where_labelling_has_columns_of_its_own_the_list_is_ordered_by_hidden():
    """Such lists hold more positives than in the order of y."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 6))
    positive = rng.random(1500) < 1 / (1 + np.exp(-(1.5 * X[:, 0] + X[:, 1] - 0.5)))
    labelled = positive & (rng.random(1500) < 1 / (1 + np.exp(-3 * X[:, 2])))
    asked = {"learners": [LogisticRegression()], "propensity_features": [2], "random_state": 0}
    found = summarise_estimator(PUClassifier(**asked).fit(X, labelled), X, labelled)
    review = list_rows(found, 150)
    assert (np.diff(review.hidden) <= 0).all()
    by_y = np.argsort(-np.where(labelled, -1, found.scores.posterior))[:150]
    assert positive[review.rows].mean() > positive[by_y].mean() + 0.05


@pytest.mark.slow
def test_the_promise_is_the_sum_of_the_chances_with_a_range(found):
    """low/high: the mean of the lower/upper ends, less/plus 1.28·√Σh(1−h)/length, within [0, 1]."""
    review = list_rows(found, 40)
    h, (low, high) = review.hidden, review.hidden_range.T
    chance = 1.28 * np.sqrt((h * (1 - h)).sum()) / 40
    expected = (h.mean(), max(low.mean() - chance, 0), min(high.mean() + chance, 1))
    promise = review.promise
    np.testing.assert_allclose((promise.expected, promise.low, promise.high), 40 * np.array(expected), rtol=1e-12)
    between = f"({promise.low:.0f} to {promise.high:.0f})"
    assert str(promise) == f"Of these 40 rows, about {promise.expected:.0f} are expected to be positive {between}. " + (
        "In brackets: what 8 of 10 worlds whose labels look like these allow, with chance."
    )
    assert str(list_rows(found, 1).promise).startswith("Of this row, about ")


@pytest.mark.slow
def test_the_range_holds_the_truth(found):
    """`benchmarks/review_lists.py` counts how often."""
    review, positive = list_rows(found, 250), make_clinic()[1]
    assert review.promise.low <= positive[review.rows].sum() <= review.promise.high < 250.0


def test_the_range_of_several_sets_is_that_of_each(rng):
    h = rng.random((3, 20))
    ends = np.stack([h / 2, (1 + h) / 2], axis=2)
    sums = [add_up(*each) for each in zip(h, ends, strict=True)]
    together = np.array(likely_range(np.array(sums).T)).T
    for each, (low, high) in zip(sums, together, strict=True):
        promise = Promise.of(each)
        assert (promise.low, promise.high) == (low, high)
        assert 0 <= low < promise.expected < high <= 20


def test_rows_that_a_method_was_fitted_to_promise_nothing(clinic):
    for method in ("pglin", "sar-em"):
        fit = fit_table(clinic, "reported", **ASKED, method=method)
        review = list_rows(fit, 30)
        assert not fit.out_of_fold
        assert (np.diff(review.hidden) <= 0).all()
        words = "No number of positives is given for these 30 rows: the method was fitted to them, so what it says"
        assert str(review.promise).startswith(words)
        assert review.take(clinic).column("hidden_low").null_count == 30


def test_no_number_is_promised_where_too_little_was_learned(clinic):
    """Ten labels; labels that have nothing to do with the columns."""
    rng = np.random.default_rng(0)
    few = pa.array([i < 10 for i in range(600)])
    chance = pa.array(rng.random(600) < 0.3)
    for labels, kind in ((few, "few_labels"), (chance, "unexplained")):
        table = clinic.set_column(6, "reported", labels)
        found = fit_table(table, "reported", **ASKED, learners=[LogisticRegression()])
        assert kind in [doubt.kind for doubt in found.estimator.doubts_]
        review = list_rows(found, 25)
        assert str(review.promise).startswith("No number of positives is given for these 25 rows: too little was")
        listed = review.take(table)
        assert listed.column("rank").to_pylist() == list(range(1, 26))
        assert listed.column("hidden").null_count == 25


@pytest.mark.parametrize(
    "kind",
    [
        "few_rows",
        "few_labels",
        "labels_per_feature",
        "unexplained",
        "memorised",
        "all_positive",
        "all_labelled",
        "no_overlap",
    ],
)
def test_doubts_about_learning_count_and_those_about_the_split_do_not(kind):
    class Doubted:
        def __init__(self, *kinds):
            self.doubts_ = [type("Doubt", (), {"kind": each}) for each in kinds]

    assert too_little_learned(Doubted("collinear", kind))
    assert kind in KINDS
    assert not too_little_learned(Doubted("collinear", "swapped", "unlike_worlds", "stray_labels"))


@pytest.mark.slow
def test_the_list_has_the_columns_of_the_table_as_they_were(tmp_path, clinic, found):
    csv.write_csv(clinic.append_column("ward", pa.array(["007", "=1+1"] * 300)), tmp_path / "t.csv")
    source = TableFile(tmp_path / "t.csv")
    table = source.read()
    review = list_rows(found, 30)
    for defuse in (False, True):
        write_list(review, table, source, tmp_path / "l.csv", defuse=defuse)
        listed = TableFile(tmp_path / "l.csv").read()
        assert listed.column_names == [*table.column_names, *ADDED]
        assert listed.column("patient").to_pylist() == [f"p{i}" for i in review.rows]
        wards = {"007", "'=1+1" if defuse else "=1+1"}
        assert set(listed.column("ward").to_pylist()) == wards
    hidden = [float(each) for each in listed.column("hidden").to_pylist()]
    np.testing.assert_array_equal(hidden, review.hidden.clip(0.01, 0.99).round(2))
    with pytest.raises(InvalidTable, match=r"t has a column 'rank', which the list would add\. Rename it"):
        review.take(table.append_column("rank", pa.array(range(600))), "t")
    with pytest.raises(InvalidTable, match=r"l\.xls"):
        write_list(review, table, source, tmp_path / "l.xls")


def test_the_naive_method_has_no_list(clinic):
    with pytest.raises(InvalidOption, match="cannot list rows to review"):
        list_rows(fit_table(clinic, "reported", **ASKED, method="naive"))


@pytest.mark.slow
def test_rows_of_equal_chances_stay_in_the_order_of_the_table(found):
    level = np.round(found.scores.posterior, 1)
    tied = replace(found, scores=replace(found.scores, posterior=level))
    rows = np.flatnonzero(~found.labelled)
    assert list_rows(tied, 60).rows.tolist() == sorted(rows, key=lambda row: (-level[row], row))[:60]


@pytest.mark.slow
def test_the_range_of_each_row_is_listed_with_two_digits(clinic, found):
    review = list_rows(found, 30)
    listed = review.take(clinic)
    assert listed.column("rank").to_pylist() == list(range(1, 31))
    ends = [listed.column(name).to_numpy() for name in ("hidden_low", "hidden_high")]
    np.testing.assert_array_equal(ends, found.scores.hidden_range[review.rows].T.clip(0.01, 0.99).round(2))
    assert (ends[0] <= listed.column("hidden").to_numpy()).all()
    assert (listed.column("hidden").to_numpy() <= ends[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("separator", "mark"), [(",", ""), (";", "\ufeff"), ("\t", "")])
def test_a_list_is_separated_and_marked_as_its_table(tmp_path, clinic, found, separator, mark):
    names = clinic.column_names
    lines = [separator.join(names), *(separator.join(str(row[name]) for name in names) for row in clinic.to_pylist())]
    (tmp_path / "t.csv").write_text(mark + "\n".join(lines) + "\n", encoding="utf-8")
    source = TableFile(tmp_path / "t.csv")
    write_list(list_rows(found, 5), source.read(), source, tmp_path / "l.csv")
    written = (tmp_path / "l.csv").read_text(encoding="utf-8")
    assert written.startswith("\ufeff") == bool(mark)
    expected = ";" if separator == ";" else ","
    header = written.lstrip("\ufeff").splitlines()[0].replace('"', "")
    assert header == expected.join([*names, *ADDED])


def test_a_list_that_could_not_be_written_is_refused_before_the_fit(tmp_path):
    check_list(PUClassifier, ["age"], tmp_path / "l.csv", "t")
    with pytest.raises(InvalidOption, match="cannot list rows to review"):
        check_list(Naive, ["age"], tmp_path / "l.csv", "t")
    for name in ADDED:
        with pytest.raises(InvalidTable, match=rf"t has a column '{name}', which the list would add"):
            check_list(PUClassifier, ["age", name], tmp_path / "l.csv", "t")
    with pytest.raises(InvalidTable, match=r"l\.xls"):
        check_list(PUClassifier, ["age"], tmp_path / "l.xls", "t")
    with pytest.raises(InvalidTable, match=r"l\.xlsx: a sheet holds 1,048,576 rows, the names included"):
        check_list(PUClassifier, ["age"], tmp_path / "l.xlsx", "t", top=2_000_000)
    with pytest.raises(InvalidTable, match=r"l\.xlsx: a sheet holds 16,384 columns, and the table has 20,005"):
        check_list(PUClassifier, [f"x{i}" for i in range(20_000)], tmp_path / "l.xlsx", "t")


def test_all_names_that_are_taken_are_in_one_error(tmp_path):
    names = ["why", "age", "posterior", "rank"]
    with pytest.raises(InvalidTable, match=r"t has the columns 'why', 'posterior', 'rank', which the list or scoring"):
        check_list(PUClassifier, names, tmp_path / "l.csv", "t")
    # Without a list, what scoring adds is a matter of the fit.
    check_list(PUClassifier, ["age", "posterior"], tmp_path / "l.csv", "t")


def test_no_fewer_than_none_and_no_more_than_all_rows_are_promised():
    for h in (0.02, 0.98):
        promise = Promise.of(add_up(np.full(9, h), np.tile([h - 0.02, h + 0.02], (9, 1))))
        assert (promise.low == 0.0) == (h < 0.5)
        assert (promise.high == 9.0) == (h > 0.5)
        assert 0.0 <= promise.low < promise.high <= 9.0


@pytest.mark.slow
def test_new_rows_and_rows_of_the_fit_are_promised_with_a_range(tmp_path, clinic, found):
    other, _ = make_clinic(400, seed=1)
    names = pa.array([f"new{i}" for i in range(400)])
    csv.write_csv(other.set_column(0, "patient", names), tmp_path / "new.csv")
    done = score_file(found.model, TableFile(tmp_path / "new.csv"), tmp_path / "o.csv", top=30)
    scores = found.model.score(other)
    order = np.argsort(-np.where(np.array(other.column("reported")) == "yes", -1, scores.posterior), kind="stable")[:30]
    listed = TableFile(tmp_path / "o.csv").read().column("patient").to_pylist()
    assert listed == [f"new{i}" for i in order]
    promise = Promise.of(add_up(scores.hidden[order], scores.hidden_range[order]))
    assert (done.fitted, str(done.promise)) == (0, str(promise))
    csv.write_csv(clinic.slice(0, 50), tmp_path / "old.csv")
    for top in (None, 5):
        done = score_file(found.model, TableFile(tmp_path / "old.csv"), tmp_path / "o.csv", top=top)
        assert (done.fitted, done.held_out) == (50, 50)
        rows = np.flatnonzero(~found.labelled[:50])
        rows = rows if top is None else rows[np.argsort(-found.scores.posterior[rows], kind="stable")[:top]]
        promise = Promise.of(add_up(found.scores.hidden[rows], found.scores.hidden_range[rows]))
        assert done.promise.expected == pytest.approx(promise.expected, rel=1e-5)
        assert str(done.promise) == str(promise)
    # Without the scores held out, nothing is promised.
    seen = replace(found.model, held_out=None)
    for top in (None, 5):
        done = score_file(seen, TableFile(tmp_path / "old.csv"), tmp_path / "o.csv", top=top)
        assert (done.fitted, done.held_out) == (50, 0)
        assert str(done.promise).endswith("of them were used in the fit.")


def test_an_estimator_is_summarised_out_of_fold():
    data = make_double_logistic(400, 4, random_state=0)
    model = PUClassifier(learners=[LogisticRegression()], random_state=0).fit(data.X, data.labelled)
    found = summarise_estimator(model, data.X, data.labelled)
    np.testing.assert_array_equal(found.scores.hidden, model.oof_hidden_)
    assert found.prior_range == (model.diagnosis_.low, model.diagnosis_.high)
    # Rows of weight 0 are not kept, so the rows cannot be matched.
    weights = np.ones(400)
    weights[:5] = 0
    model.fit(data.X, data.labelled, sample_weight=weights)
    again = summarise_estimator(model, data.X, data.labelled)
    assert not again.out_of_fold
    np.testing.assert_array_equal(again.scores.hidden, model.predict_hidden(data.X))


def test_what_was_learned_is_said_in_words(found, linear):
    words = " ".join(describe_learning(found))
    learners = found.estimator.diagnosis_.learners
    best = max(learners, key=learners.get)
    assert f"learned best by {best}: it ranks a labelled row above an unlabelled one in {learners[best]:.0%}" in words
    assert all(name in words for name in learners)
    assert "Every row was scored by models that had not seen it." in words
    assert "what was true in simulated worlds" in words
    assert "learned best by" not in " ".join(describe_learning(linear))


def test_what_could_not_learn_is_said_in_words(linear, monkeypatch):
    diagnosis = replace(linear.estimator.diagnosis_, missing="X is a tensor. Pass a NumPy array to add trees")
    monkeypatch.setattr(linear.estimator, "diagnosis_", diagnosis)
    assert (
        "Only logistic regression learned the labels, and no curves: X is a tensor. Pass a NumPy array to add trees."
        in (describe_learning(linear))
    )


def test_what_was_known_is_said_in_words(clinic):
    asked = {**ASKED, "learners": "linear"}
    words = " ".join(describe_learning(fit_table(clinic, "reported", **asked, prior=(0.4, 0.45))))
    assert "The share of positives was given as 40% to 45%, and the estimate was made to match." in words
    named = fit_table(clinic, "reported", **ASKED, learners=[LogisticRegression()], propensity_features=["sex"])
    words = " ".join(describe_learning(named))
    assert (
        "The chance of a label was said to depend on sex. The range is of worlds in which that is right, half" in words
    )
    words = " ".join(describe_learning(fit_table(clinic, "reported", **ASKED, method="pglin")))
    assert "What separates being positive from being labelled:" in words
    assert "The rows were scored by the model that was fitted to them" in words


def fitted(table, **options):
    labels = table["reported"].to_pandas() == "yes"
    frame = table.select(["age", "bmi"]).to_pandas().assign(day=np.arange(len(labels)) % 7)
    model = PUClassifier(learners=[LogisticRegression(max_iter=1000)], random_state=0, **options)
    return summarise_estimator(model.fit(frame, labels), frame, labels)


NAMED = {"propensity_features": ["age"]}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, NAMED, {"prior": 0.5}, {"prior": (0.45, 0.5)}, {**NAMED, "prior": 0.5}])
def test_the_ranges_of_groups_add_up_to_no_less_than_that_of_all_rows(clinic, options):
    found = fitted(clinic, **options)
    n, (low, high) = len(found.labelled), found.prior_range
    assert low < high or options.get("prior") == 0.5
    for grouping in found.groups:
        assert sum(group.low for group in grouping.groups) <= n * low * (1 + 1e-9)
        assert sum(group.high for group in grouping.groups) >= n * high * (1 - 1e-9)
        for group in grouping.groups:
            assert group.low <= group.positives * (1 + 1e-9)
            assert group.positives <= group.high * (1 + 1e-9)
            assert group.frequency_range == (group.labelled / group.high, group.labelled / group.low)
            assert group.labelled <= group.low


@pytest.mark.slow
def test_nothing_is_said_that_contradicts_what_was_given(clinic):
    """Columns of y and e, a constant e, and a prior, in what was learned, the groups and the assumptions."""
    order = "puts the rows in nearly the same order"
    free = fitted(clinic)
    assert order in " ".join(describe_assumptions(free))
    assert "The range is what was true in simulated worlds" in " ".join(describe_learning(free))
    assert describe_groups(free)[0].startswith("Groups cannot be distinguished: no group is labelled more or less")
    assert "was taken" not in " ".join(describe_groups(free) + describe_learning(free) + describe_assumptions(free))
    named = fitted(clinic, class_features=["bmi", 2], **NAMED)
    for words in (" ".join(describe_learning(named)), " ".join(describe_assumptions(named))):
        assert "The chance of a label was said to depend on age." in words
        assert "Being positive was assumed to depend only on bmi and day." in words
        assert order not in words
    assert describe_groups(named)[0].startswith("Groups ")
    flat = fitted(clinic, propensity_features=[])
    words = describe_learning(flat)
    assert words[0] == "Every positive was assumed to be equally likely to be labelled."
    assert "every positive was assumed to be equally likely to be labelled" in " ".join(describe_groups(flat))
    known = fitted(clinic, prior=0.525)
    assert "given as 52.5%, and" in " ".join(describe_learning(known))
    assert "simulated worlds" not in " ".join(describe_learning(known))
    words = describe_assumptions(known)
    assert words[-1] == "The share of positives is 52.5%, as was given."
    assert "decide how many rows are positive" not in " ".join(words)


def test_a_fit_without_a_range_says_so(clinic):
    found = fit_table(clinic, "reported", **ASKED, method="pglin")
    assert found.prior_range is None
    assert str(Promise.of(add_up(np.array([0.5, 0.5]), None))) == (
        "Of these 2 rows, about 1 is expected to be positive. The method gives no range."
    )
    assert replace(found, out_of_fold=True).scores.hidden_range is None


def test_no_chance_in_a_file_is_certain(clinic):
    hidden = np.array([0.9999, 0.5049, 1e-9])
    review = ReviewList(np.arange(3), hidden, np.column_stack([hidden, hidden]), Promise(3, 1.5, 1.0, 2.0, ""))
    listed = review.take(clinic)
    for name in ("hidden", "hidden_low", "hidden_high"):
        assert listed.column(name).to_pylist() == [0.99, 0.5, 0.01]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (
            ["sex"],
            "only on sex. If groups of other columns differ too, that is due to how these columns are related to it,",
        ),
        (["sex", "age"], "that is due to how these columns are related to them,"),
    ],
)
def test_one_or_several_named_columns_are_it_or_them(clinic, monkeypatch, named, words):
    found = fit_table(clinic, "reported", id="patient", method="sar-em", propensity_features=named, scar_test=False)
    differing = Conclusion("", "", "Groups differ.", (None,), ())
    monkeypatch.setattr("propense.tables.learned.conclude", lambda found: differing)
    assert words in " ".join(describe_groups(found))
