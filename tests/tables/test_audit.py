"""Audits of a table: what is drawn comes back whole or is refused, and the verdicts correct the model."""

import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from clinic import make_clinic
from propense import load, save
from propense._maths.double_logistic import hidden_positive
from propense._steps.corrected import Audited, correct_rows, correction_slopes
from propense.audit import Audit, draw, read
from propense.errors import InvalidOption, InvalidTable, ModelFileError
from propense.tables import (
    Promise,
    TableFile,
    correct_model,
    describe_learning,
    draw_audit,
    fit_table,
    read_audit,
    score_file,
    summarise_estimator,
    write_audit,
)
from propense.tables.audit_files import _same_id
from propense.tables.promise import add_up

pytestmark = pytest.mark.usefixtures("few_simulations")
N = 600


@pytest.fixture(scope="module")
def truth():
    return make_clinic()[1]


@pytest.fixture(scope="module")
def model(clinic):
    return fit_table(clinic, "reported", id="patient", learners="linear", scar_test=False).model


def filled(drawn, truth, words=("yes", "no"), count=None):
    """The table with verdicts on its first rows."""
    ids = drawn.column(0).to_pylist()
    rows = [int(name.lstrip("p")) - (0 if name.startswith("p") else 1) for name in ids]
    told = [words[0] if truth[row] else words[1] for row in rows]
    told = [word if count is None or place < count else "" for place, word in enumerate(told)]
    return drawn.set_column(1, "verdict", pa.array(told))


def written(table, path):
    csv.write_csv(table, path)
    return path


@pytest.fixture(scope="module")
def drawn(model, clinic):
    return draw_audit(model, clinic, 120, seed=1)


@pytest.fixture
def back(drawn, truth, tmp_path):
    return written(filled(drawn, truth), tmp_path / "check.csv")


def test_the_order_of_the_table_does_not_matter_where_scores_are_the_same(truth, tmp_path):
    rng = np.random.default_rng(0)
    kind = np.where(truth, rng.choice(["a", "b"], N, p=[0.7, 0.3]), rng.choice(["a", "b"], N, p=[0.2, 0.8]))
    cells = {"id": [f"p{row}" for row in range(N)], "kind": kind.tolist(), "seen": truth & (rng.random(N) < 0.4)}
    table = pa.table(cells)
    model = fit_table(table, "seen", id="id", learners="linear", scar_test=False).model
    drawn = draw_audit(model, table, 60)
    shuffled = table.take(np.random.default_rng(1).permutation(N))
    assert draw_audit(model, shuffled, 60) == drawn
    back = written(filled(drawn, truth), tmp_path / "check.csv")
    one, other = (read_audit(model, each, [back]) for each in (table, shuffled))
    assert one.lists == other.lists
    assert one.findings.positives == other.findings.positives


# Drawing.


def test_reviewers_get_unlabelled_rows_and_do_not_see_how_likely_they_are(model, clinic, drawn):
    assert drawn.column_names == [
        *("patient", "verdict", "age", "sex", "bmi", "smoker", "region"),
        *("audit_stratum", "audit_weight", "audit_code"),
    ]
    labelled = dict(zip(clinic.column("patient").to_pylist(), clinic.column("reported").to_pylist(), strict=True))
    ids = drawn.column("patient").to_pylist()
    assert len(set(ids)) == 120
    assert {labelled[name] for name in ids} == {""}
    assert set(drawn.column("verdict").to_pylist()) == {""}
    # The weights add up to the unlabelled rows, and neither the order nor the strata follow the list.
    weights = np.array(drawn.column("audit_weight"))
    assert weights.sum() == pytest.approx(sum(not each for each in labelled.values()))
    scores = dict(zip(clinic.column("patient").to_pylist(), model.score(clinic).hidden, strict=True))
    hidden = np.array([scores[name] for name in ids])
    for column in (np.arange(120), np.array(drawn.column("audit_stratum"))):
        assert abs(np.corrcoef(column, hidden)[0, 1]) < 0.35
    assert draw_audit(model, clinic, 120, seed=1).equals(drawn)
    assert draw_audit(model, clinic, 120, seed=2).column("patient").to_pylist() != ids


def test_a_reviewer_sees_the_columns_that_were_asked_for(model, clinic):
    shown = draw_audit(model, clinic, 10, columns=["sex", "patient"]).column_names
    assert shown == ["patient", "verdict", "sex", "audit_stratum", "audit_weight", "audit_code"]
    with pytest.raises(InvalidTable, match=r"no column 'weight' \(columns=\)"):
        draw_audit(model, clinic, 10, columns=["weight"])
    scored = clinic.append_column("hidden", pa.array(np.ones(N))).append_column("rank", pa.array(np.ones(N)))
    assert {"hidden", "rank"}.isdisjoint(draw_audit(model, scored, 10).column_names)
    for name in ("verdict", "audit_code"):
        with pytest.raises(InvalidTable, match=rf"has a column '{name}', which the audit would add"):
            draw_audit(model, clinic.append_column(name, pa.array(["x"] * N)), 10)


def test_a_table_that_cannot_be_audited_is_refused(model, clinic):
    ids = clinic.column("patient").to_pylist()
    for wrong, match in (
        (["p0", "p0", *ids[2:]], r"holds 'p0' in rows 1 and 2.*fit a model without id="),
        ([*ids[:5], None, *ids[6:]], "row 6 has no id"),
    ):
        with pytest.raises(InvalidTable, match=match):
            draw_audit(model, clinic.set_column(0, "patient", pa.array(wrong)), 10)
    with pytest.raises(InvalidTable, match="no column 'reported', the label"):
        draw_audit(model, clinic.drop_columns(["reported"]), 10)
    with pytest.raises(InvalidTable, match="no column 'patient', the id"):
        draw_audit(model, clinic.drop_columns(["patient"]), 10)
    with pytest.raises(InvalidTable, match="every row is labelled"):
        draw_audit(model, clinic.set_column(6, "reported", pa.array(["yes"] * N)), 10)
    for asked in ({"size": 0}, {"seed": -1}, {"top": 0}, {"size": 2**40}):
        with pytest.raises(InvalidOption, match="is not a whole number"):
            draw_audit(model, clinic, **asked)


# Reading.


def test_if_every_row_is_checked_the_answer_is_the_truth(model, clinic, truth, tmp_path):
    drawn = draw_audit(model, clinic, 10_000)
    found = read_audit(model, clinic, [written(filled(drawn, truth), tmp_path / "c.csv")])
    positives = found.findings.positives
    assert (positives.low, positives.high) == pytest.approx((truth.mean(), truth.mean()))
    labelled = np.array(clinic.column("reported")) == "yes"
    assert found.findings.label_frequency.estimate == pytest.approx(labelled.sum() / truth.sum())
    order = np.flatnonzero(~labelled)[np.argsort(-model.score(clinic).hidden[~labelled], kind="stable")]
    for each in found.lists:
        hits = truth[order[: each.length]].sum()
        assert each.precision.estimate == pytest.approx(hits / each.length)
        assert each.recall.estimate == pytest.approx(hits / truth[~labelled].sum())
    assert [each.length for each in found.lists] == [50, 100, 200]


@pytest.mark.slow
@pytest.mark.parametrize("learners", ["linear", "auto"])
def test_the_estimate_is_near_the_truth_and_the_model_agrees_with_it_once_corrected(clinic, truth, tmp_path, learners):
    few = {"learners": learners} if learners == "linear" else {"cv": 2}
    model = fit_table(clinic, "reported", id="patient", parameters=few, scar_test=False).model
    found = read_audit(model, clinic, [written(filled(draw_audit(model, clinic, 200), truth), tmp_path / "check.csv")])
    positives = found.findings.positives
    assert positives.low < truth.mean() < positives.high
    assert vars(found.verdicts) == {"drawn": 200, "cannot_say": 0, "open": 0} | {
        "positive": found.verdicts.positive,
        "negative": 200 - found.verdicts.positive,
    }
    corrected = correct_model(model, found)
    labelled, scores = np.array(clinic.column("reported")) == "yes", corrected.score(clinic)
    share = np.where(labelled, 1.0, scores.hidden).mean()
    assert share == pytest.approx(positives.estimate, abs=2e-4)
    assert corrected.estimator.prior_ == positives.estimate
    assert corrected.estimator.audit_.prior_before == pytest.approx(found.model_share)
    assert corrected.estimator.label_frequency_ == found.findings.label_frequency.estimate
    # What the labels show stays as it is, and so does the order of the list.
    before = model.score(clinic)
    np.testing.assert_allclose(scores.posterior * scores.propensity, before.posterior * before.propensity, rtol=1e-6)
    np.testing.assert_array_equal(scores.order, before.posterior)


def test_a_spreadsheet_may_change_the_format(model, clinic, truth, drawn, tmp_path):
    """Semicolons, decimal commas, a byte order mark, 1.0 for 1, other columns, another order, spaces, empty lines."""
    table = filled(drawn, truth, ("1", "0"))
    wanted = read_audit(model, clinic, [written(table, tmp_path / "plain.csv")]).findings.positives
    lines = [";".join(["PATIENT", "Verdict", "audit_stratum ", "note", "Audit_Weight", "audit_code"])]
    for row in reversed(table.to_pylist()):
        weight = f"{row['audit_weight']:.7g}".replace(".", ",")
        cells = f" {row['patient']} ", f"{row['verdict']},0", f"{row['audit_stratum']}.0", "x", weight
        lines.append(";".join([*cells, row["audit_code"]]))
    text = "\ufeff" + "\r\n".join([*lines[:9], ";;;;;", *lines[9:]]) + "\r\n"
    (tmp_path / "excel.csv").write_text(text, encoding="utf-8", newline="")
    assert read_audit(model, clinic, [tmp_path / "excel.csv"]).findings.positives == wanted
    truths = pa.array([each == "1" for each in table["verdict"].to_pylist()])
    parquet.write_table(table.set_column(1, "verdict", truths), tmp_path / "b.parquet")
    assert read_audit(model, clinic, [tmp_path / "b.parquet"]).findings.positives == wanted


@pytest.mark.parametrize(
    ("told", "true", "same"),
    [
        ("7", "007", True),
        ("7.0", "7", True),
        ("5.1.2020", "2020-01-05", True),
        ("1/5/20", "2020-01-05", True),
        ("1.23457E+12", "1234567890123", True),
        ("'=a", "=a", True),
        ("P7", "p7", True),
        ("8", "007", False),
        ("70", "7", False),
        ("5.2.2020", "2020-01-05", False),
        ("1.23457E+12", "1334567890123", False),
        ("", "p7", False),
    ],
)
def test_an_id_is_recognised_as_a_spreadsheet_writes_it(told, true, same):
    assert _same_id(told, true) is same


def test_a_draw_may_be_partly_filled_and_spread_over_files(model, clinic, truth, drawn, tmp_path):
    table = filled(drawn, truth, count=70)
    whole = read_audit(model, clinic, [written(table, tmp_path / "all.csv")])
    assert (whole.verdicts.open, whole.missing) == (50, 0)
    halves = [written(table.slice(at, 60), tmp_path / f"{at}.csv") for at in (0, 60)]
    assert read_audit(model, clinic, halves).findings.positives == whole.findings.positives
    # Rows that are in no file count as not checked.
    part = read_audit(model, clinic, [written(table.slice(0, 75), tmp_path / "part.csv")])
    assert (part.missing, part.findings.positives) == (45, whole.findings.positives)
    assert part.verdicts == whole.verdicts
    # The same verdict twice is one verdict.
    twice = pa.concat_tables([table, table.slice(0, 30)])
    again = read_audit(model, clinic, [written(twice, tmp_path / "t.csv")])
    assert again.findings.positives == whole.findings.positives
    with pytest.raises(InvalidTable, match="no row has a verdict yet"):
        read_audit(model, clinic, [written(drawn, tmp_path / "none.csv")])


def test_rows_of_which_nobody_can_say_are_shown_both_ways(model, clinic, truth, drawn, tmp_path):
    table = filled(drawn, truth)
    words = ["?" if place < 12 else word for place, word in enumerate(table["verdict"].to_pylist())]
    found = read_audit(model, clinic, [written(table.set_column(1, "verdict", pa.array(words)), tmp_path / "q.csv")])
    ends = {}
    for word in ("no", "yes"):
        told = table.set_column(1, "verdict", pa.array([word if each == "?" else each for each in words]))
        ends[word] = read_audit(model, clinic, [written(told, tmp_path / f"{word}.csv")]).findings.positives.estimate
    assert (found.verdicts.cannot_say, found.if_all_no, found.if_all_yes) == (12, ends["no"], ends["yes"])
    assert found.if_all_no < found.findings.positives.estimate < found.if_all_yes


def test_columns_that_are_no_text_are_refused(model, clinic, drawn, tmp_path):
    odd = drawn.set_column(1, "verdict", pa.array([["yes"]] * drawn.num_rows))
    parquet.write_table(odd, tmp_path / "odd.parquet")
    with pytest.raises(InvalidTable, match="column 'verdict' holds list"):
        read_audit(model, clinic, [tmp_path / "odd.parquet"])
    # A category is text.
    words = pa.array(["yes"] * drawn.num_rows).dictionary_encode()
    parquet.write_table(drawn.set_column(1, "verdict", words), tmp_path / "level.parquet")
    assert read_audit(model, clinic, [tmp_path / "level.parquet"]).verdicts.positive == drawn.num_rows


def changed(table, column, row, value):
    cells = table[column].to_pylist()
    cells[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


def added(table, **cells):
    return pa.concat_tables([table, pa.Table.from_pylist([{**table.to_pylist()[0], **cells}], schema=table.schema)])


def not_drawn(table):
    ids = set(table["patient"].to_pylist())
    return next(f"p{row}" for row in range(N) if f"p{row}" not in ids)


DAMAGES = {
    "a row that was not drawn": (lambda t: added(t, patient=not_drawn(t)), r"'p\d+' has the audit_code of 'p\d+'"),
    "a row without a code": (lambda t: added(t, patient=not_drawn(t), audit_code=""), "has no audit_code"),
    "an invented code": (
        lambda t: changed(t, "audit_code", 3, t["audit_code"][3].as_py()[:-8] + "00000000"),
        "was not drawn, or its id, audit_stratum",
    ),
    "a changed weight": (
        lambda t: changed(t, "audit_weight", 5, 1.0),
        r"the audit_weight of 'p\d+' is '1', and it was drawn with",
    ),
    "a changed stratum": (
        lambda t: changed(t, "audit_stratum", 5, 1 + t["audit_stratum"][5].as_py() % 30),
        r"the audit_stratum of 'p\d+' is",
    ),
    "an empty weight": (lambda t: changed(t, "audit_weight", 5, None), "audit_weight of"),
    "a changed id": (lambda t: changed(t, "patient", 5, "p"), "'p' has the audit_code of"),
    "lost weights": (lambda t: t.drop_columns(["audit_weight"]), "has no column 'audit_weight'"),
    "lost codes": (lambda t: t.drop_columns(["audit_code"]), "has no column 'audit_code'"),
    "no verdicts": (lambda t: t.drop_columns(["verdict"]), "has no column 'verdict'"),
    "no ids": (lambda t: t.drop_columns(["patient"]), "has no column 'patient'"),
    "two verdicts": (
        lambda t: added(t, verdict={"yes": "no", "no": "yes"}[t["verdict"][0].as_py()]),
        r"'p\d+' has two verdicts that differ, (positive and negative|negative and positive)",
    ),
    "an odd word": (lambda t: changed(t, "verdict", 0, "perhaps"), "holds 'perhaps'. Write yes, no or"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_was_damaged_is_refused_by_name(model, clinic, truth, drawn, tmp_path, damage):
    spoil, match = DAMAGES[damage]
    with pytest.raises(InvalidTable, match=match) as error:
        read_audit(model, clinic, [written(spoil(filled(drawn, truth)), tmp_path / "check.csv")])
    assert "\n" not in str(error.value)


def test_files_of_other_draws_are_refused(model, clinic, truth, drawn, back, tmp_path):
    other = filled(draw_audit(model, clinic, 120, seed=2), truth)
    both = pa.concat_tables([filled(drawn, truth), other])
    with pytest.raises(InvalidTable, match=r"mixes two draws: 'p\d+' belongs to t\w+-m\w+-d1\.120\.0\.\w+ and"):
        read_audit(model, clinic, [written(both, tmp_path / "both.csv")])
    with pytest.raises(InvalidTable, match="was drawn with another model"):
        read_audit(model, clinic, [back], model_code="12345678")
    labels = clinic["reported"].to_pylist()
    labels[0] = "" if labels[0] else "yes"
    for table in (clinic.slice(1), clinic.set_column(6, "reported", pa.array(labels))):
        with pytest.raises(InvalidTable, match="was drawn from another table"):
            read_audit(model, table, [back])
    # Two draws with the same model are pooled, and the order of the table's rows does not matter.
    second = written(other, tmp_path / "second.csv")
    pooled = read_audit(model, clinic, [back, second])
    assert pooled.verdicts.drawn > 200
    shuffled = clinic.take(np.random.default_rng(0).permutation(N))
    assert read_audit(model, shuffled, [back]).findings.positives.estimate == pytest.approx(
        read_audit(model, clinic, [back]).findings.positives.estimate, abs=1e-9
    )
    # Values that put the rows into other parts of the list make another table, too.
    other_way = clinic.set_column(1, clinic.column_names[1], pa.array(clinic.column(1).to_pylist()[::-1]))
    assert clinic.column_names[1] in model.schema.names
    for found in (model, correct_model(model, read_audit(model, clinic, [back]))):
        with pytest.raises(InvalidTable, match=r"by their values, \d+ of the 120 rows drawn are not in the part"):
            read_audit(found, other_way, [back])
    overlap = set(drawn["patient"].to_pylist()) & set(other["patient"].to_pylist())
    place = next(row for row, name in enumerate(other["patient"].to_pylist()) if name in overlap)
    wrong = changed(other, "verdict", place, {"yes": "no", "no": "yes"}[other["verdict"][place].as_py()])
    with pytest.raises(InvalidTable, match=r"'p\d+' has two verdicts that differ: .* in .*check\.csv and"):
        read_audit(model, clinic, [back, written(wrong, tmp_path / "w.csv")])


def test_a_draw_of_another_version_is_refused(model, clinic, back, monkeypatch):
    from propense.audit import _draw

    monkeypatch.setattr(_draw, "_EACH", 6)
    with pytest.raises(InvalidTable, match="was drawn by another version of propense"):
        read_audit(model, clinic, [back])


def test_rows_of_a_survey_speak_for_the_population(model, clinic, truth, drawn, back, rng, tmp_path):
    """The same numbers as from arrays; the model is corrected for the rows."""
    weight, stratum = rng.uniform(1, 5, N).round(2), np.arange(N) // 100
    cluster = np.arange(N) // 10
    columns = {"w": weight, "s": [f"s{each}" for each in stratum], "c": cluster}
    wide = clinic
    for name, values in columns.items():
        wide = wide.append_column(name, pa.array(values))
    plain = read_audit(model, clinic, [back])
    found = read_audit(model, wide, [back], weights="w", strata="s", clusters="c")
    rows = [int(name[1:]) for name in drawn["patient"].to_pylist()]
    labelled, hidden = np.array(clinic["reported"]) == "yes", model.score(clinic).hidden
    again = draw(hidden, 120, labelled=labelled, random_state=1)
    assert again.rows.tolist() == rows
    wanted = read(
        Audit(again, truth[rows].astype(float)),
        hidden,
        labelled=labelled,
        sample_weight=weight,
        strata=stratum,
        clusters=cluster,
    )
    ends = [(each.estimate, each.low, each.high) for each in (found.findings.positives, wanted.positives)]
    assert ends[0] == pytest.approx(ends[1])
    assert found.findings.positives != plain.findings.positives
    assert found.model_share == pytest.approx(np.average(np.where(labelled, 1, hidden), weights=weight))
    assert found.of_rows.positives == plain.findings.positives
    assert correct_model(model, found).estimator.audit_ == correct_model(model, plain).estimator.audit_
    for asked, match in (
        ({"weights": "x"}, r"no column 'x' \(weights=\)"),
        ({"weights": "region"}, "must hold weights"),
        ({"strata": "region"}, "column 'region', row \\d+ is empty"),
    ):
        with pytest.raises(InvalidTable, match=match):
            read_audit(model, wide, [back], **asked)


def test_scores_that_differ_in_the_last_digits_do_not_matter(model, clinic, truth, back):
    """On another machine other rows would be drawn; the codes say which ones were."""
    model = replace(model)
    before = read_audit(model, clinic, [back])
    rng = np.random.default_rng(0)
    original = type(model).score_read

    class Elsewhere(type(model)):
        def score_read(self, *given):
            scores, held = original(self, *given)
            noise = 1 + 1e-3 * rng.normal(size=N)
            return replace(scores, hidden=np.clip(scores.hidden * noise, 0, 1)), held

    elsewhere = Elsewhere(**{name: getattr(model, name) for name in model.__dataclass_fields__})
    found = read_audit(elsewhere, clinic, [back])
    assert found.findings.positives.estimate == pytest.approx(before.findings.positives.estimate, abs=0.01)


# Correcting, and what is remembered.


@pytest.fixture
def files(model, clinic, back, tmp_path):
    """The model, and the model corrected."""
    save(model, tmp_path / "m.propense")
    found = read_audit(model, clinic, [back])
    save(correct_model(model, found), tmp_path / "c.propense")
    return tmp_path / "m.propense", tmp_path / "c.propense"


def test_the_same_verdicts_give_the_same_file(model, clinic, back, files, tmp_path):
    again = correct_model(load(files[0]), read_audit(load(files[0]), clinic, [back]))
    save(again, tmp_path / "again.propense")
    assert (tmp_path / "again.propense").read_bytes() == files[1].read_bytes()
    loaded = load(files[1])
    assert loaded.estimator.audit_ == again.estimator.audit_
    np.testing.assert_array_equal(loaded.score(clinic).hidden, again.score(clinic).hidden)
    # From the corrected model, with the same file: nothing changes.
    twice = correct_model(loaded, read_audit(loaded, clinic, [back]))
    save(twice, tmp_path / "twice.propense")
    assert (tmp_path / "twice.propense").read_bytes() == files[1].read_bytes()
    save(loaded, tmp_path / "plain.propense")
    assert load(tmp_path / "plain.propense").audits[0].code == loaded.audits[0].code


def test_a_later_audit_goes_on_where_the_earlier_one_ended(clinic, truth, drawn, files, back, tmp_path):
    model = load(files[1])
    more = draw_audit(model, clinic, 100, seed=1, model_code="c" * 8)
    assert set(more["patient"].to_pylist()).isdisjoint(drawn["patient"].to_pylist())
    path = written(filled(more, truth), tmp_path / "more.csv")
    both = read_audit(model, clinic, [path], model_code="c" * 8)
    assert (both.verdicts.drawn, both.earlier) == (220, 1)
    assert both.findings.verdicts == 220
    with_file = read_audit(model, clinic, [back, path], model_code="c" * 8)
    assert with_file.findings.positives == both.findings.positives
    first = read_audit(load(files[0]), clinic, [back]).findings.positives
    assert both.findings.positives.high - both.findings.positives.low < first.high - first.low
    third = correct_model(model, both)
    assert third.estimator.audit_.verdicts == 220
    assert third.estimator.audit_.prior_before == model.estimator.audit_.prior_before
    # Everything else is left to draw, and nothing more.
    labelled = sum(each == "yes" for each in clinic["reported"].to_pylist())
    rest = draw_audit(third, clinic, 10_000)
    assert rest.num_rows == N - labelled - 220
    final = read_audit(third, clinic, [written(filled(rest, truth), tmp_path / "rest.csv")])
    with pytest.raises(InvalidTable, match="every unlabelled row has a verdict already"):
        draw_audit(correct_model(third, final), clinic, 10)


def test_a_verdict_that_is_remembered_does_not_change(clinic, truth, drawn, files, tmp_path):
    table = filled(drawn, truth)
    wrong = changed(table, "verdict", 0, {"yes": "no", "no": "yes"}[table["verdict"][0].as_py()])
    with pytest.raises(InvalidTable, match="the model remembers the verdict"):
        read_audit(load(files[1]), clinic, [written(wrong, tmp_path / "w.csv")])
    labels = clinic["reported"].to_pylist()
    labels[0] = "" if labels[0] else "yes"
    with pytest.raises(InvalidTable, match="not the table of the model's earlier audit"):
        draw_audit(load(files[1]), clinic.set_column(6, "reported", pa.array(labels)), 10)


def test_somebody_may_be_able_to_say_later(model, clinic, truth, drawn, tmp_path):
    table = filled(drawn, truth)
    words = ["?" if place % 2 else word for place, word in enumerate(table["verdict"].to_pylist())]
    unsure = written(table.set_column(1, "verdict", pa.array(words)), tmp_path / "unsure.csv")
    corrected = correct_model(model, read_audit(model, clinic, [unsure]))
    whole = read_audit(model, clinic, [written(table, tmp_path / "whole.csv")])
    # In the same file, or because the row is drawn again.
    assert read_audit(corrected, clinic, [tmp_path / "whole.csv"]).findings.positives == whole.findings.positives
    rest = filled(draw_audit(corrected, clinic, 10_000), truth)
    assert set(rest["patient"].to_pylist()) > set(table["patient"].to_pylist()[1::2])
    later = read_audit(corrected, clinic, [written(rest, tmp_path / "rest.csv")])
    assert (later.verdicts.cannot_say, later.verdicts.open) == (0, 0)
    assert later.findings.positives.estimate == pytest.approx(truth.mean())
    # What was said stays said.
    again = read_audit(correct_model(model, whole), clinic, [unsure])
    assert (again.verdicts.cannot_say, again.findings.positives) == (0, whole.findings.positives)


def test_more_verdicts_may_be_added_to_a_file_that_was_read(model, clinic, truth, drawn, tmp_path):
    half = written(filled(drawn, truth, count=60), tmp_path / "half.csv")
    corrected = correct_model(model, read_audit(model, clinic, [half]))
    whole = written(filled(drawn, truth), tmp_path / "whole.csv")
    found = read_audit(corrected, clinic, [whole])
    assert found.findings.positives == read_audit(model, clinic, [whole]).findings.positives
    # What has been drawn and not checked can be drawn again.
    left = draw_audit(corrected, clinic, 10_000)
    assert set(drawn["patient"].to_pylist()[60:]) < set(left["patient"].to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_lists_leave_out_what_is_known(clinic, truth, tmp_path, named):
    table = clinic if named else clinic.drop_columns(["patient"])
    model = fit_table(table, "reported", id="patient" if named else None, learners="linear", scar_test=False).model
    drawn = draw_audit(model, table, 150)
    assert drawn.column_names[0] == ("patient" if named else "row")
    found = read_audit(model, table, [written(filled(drawn, truth), tmp_path / "c.csv")])
    corrected = correct_model(model, found)
    csv.write_csv(clinic if named else table.append_column("n", pa.array(np.arange(N))), tmp_path / "t.csv")
    for top in (None, 100):
        done = score_file(corrected, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv", top=top)
        assert (done.known_positive, done.known_negative) == (found.verdicts.positive, found.verdicts.negative)
        assert not done.promise.unpromised
        assert "the verdicts of the audit" in str(done.promise)
    listed = TableFile(tmp_path / "o.csv").read()
    rows = [int(each.lstrip("p")) for each in listed[listed.column_names[0] if named else "n"].to_pylist()]
    checked = {int(name.lstrip("p")) - (not named) for name in drawn.column(0).to_pylist()}
    assert checked.isdisjoint(rows)
    scores = corrected.score(table)
    unlabelled = [row for row in range(N) if table["reported"][row].as_py() != "yes" and row not in checked]
    wanted = sorted(unlabelled, key=lambda row: -scores.order[row])[:100]
    assert rows == wanted
    assert done.promise.expected == pytest.approx(scores.hidden[wanted].sum())
    # Nothing is promised of no rows.
    everyone = table.set_column(table.column_names.index("reported"), "reported", pa.array(["yes"] * N))
    csv.write_csv(everyone, tmp_path / "everyone.csv")
    for top in (None, 5):
        done = score_file(corrected, TableFile(tmp_path / "everyone.csv"), tmp_path / "o.csv", top=top)
        assert (done.promise.rows, done.promise.expected, done.promise.high) == (0, 0.0, 0.0)
    # Rows of another table are not known, even under the same number.
    other, _ = make_clinic(seed=5)
    if not named:
        csv.write_csv(other.drop_columns(["patient"]), tmp_path / "other.csv")
        done = score_file(corrected, TableFile(tmp_path / "other.csv"), tmp_path / "o.csv")
        assert done.known_positive + done.known_negative == 0


@pytest.mark.slow
def test_a_promise_holds_95_times_in_a_hundred(rng):
    """Against curves and rows drawn from what the audit says of them."""
    a, b = rng.normal(size=300), rng.normal(size=300) - 1.0
    covariance = ((0.06, 0.01), (0.01, 0.05))
    counts = {"verdicts": 9, "positives": 4, "negatives": 5, "unsure": 0}
    facts = Audited(**counts, **dict.fromkeys(("prior_before", "prior", "low", "high", "confidence"), 0.5),
                    along="hidden", knots=(-2.0, 1.0), values=(-0.5, 0.3), covariance=covariance)  # fmt: skip
    h = hidden_positive(*correct_rows(a, b, facts)[:2])
    promise = Promise.of_audit(add_up(h, None), correction_slopes(a, b, facts).sum(axis=0), covariance)
    assert promise.expected == pytest.approx(h.sum())
    found = []
    for values in rng.multivariate_normal(facts.values, covariance, size=3000):
        chances = hidden_positive(*correct_rows(a, b, replace(facts, values=tuple(values)))[:2])
        found.append((rng.random(300) < chances).sum())
    held = np.mean([promise.low <= each <= promise.high for each in found])
    assert 0.935 < held < 0.965
    assert str(promise).endswith("in the verdicts of the audit and in the number found.")


def test_a_summary_of_a_corrected_model_says_what_was_checked(model, clinic, back):
    found = read_audit(model, clinic, [back])
    corrected = correct_model(model, found)
    X, s = model.features(clinic), np.array(clinic.column("reported")) == "yes"
    summary = summarise_estimator(corrected.estimator, X, s)
    assert summary.prior_range == (found.findings.positives.low, found.findings.positives.high)
    assert describe_learning(summary)[0] == str(corrected.estimator.audit_)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ((0.0, 1.0), "The model alone said 0.0% to 100.0%, with {:.1%} as the middle estimate. The interval is within"),
        ((0.0, 0.01), "outside that range: what the model assumes does not hold here."),
        (None, "The model alone said {:.1%}, which is "),
    ],
)
def test_the_interval_is_compared_with_the_range_of_the_model(model, clinic, back, known, words):
    """A middle estimate outside the interval says nothing against a model that gave a range."""
    found = replace(read_audit(model, clinic, [back]), model_range=known, model_unsure=False)
    assert words.format(found.model_share) in str(found)
    inner = found.findings.positives
    overlapping = replace(found, model_range=((inner.low + inner.high) / 2, 1.0))
    assert "The interval overlaps that range." in str(overlapping)


def test_the_naive_method_is_audited_and_not_corrected(clinic, truth, tmp_path):
    naive = fit_table(clinic, "reported", id="patient", method="naive").model
    found = read_audit(naive, clinic, [written(filled(draw_audit(naive, clinic, 150), truth), tmp_path / "c.csv")])
    assert found.findings.positives.low < truth.mean() < found.findings.positives.high
    assert found.model_share == pytest.approx(np.mean([each == "yes" for each in clinic["reported"].to_pylist()]))
    with pytest.raises(InvalidOption, match="nothing to correct"):
        correct_model(naive, found)


def test_the_file_for_reviewers_is_of_the_kind_of_the_table(model, clinic, drawn, tmp_path):
    text = io.BytesIO()
    csv.write_csv(clinic, text, csv.WriteOptions(delimiter=";"))
    (tmp_path / "t.csv").write_bytes("\ufeff".encode() + text.getvalue())
    write_audit(drawn, TableFile(tmp_path / "t.csv"), tmp_path / "check.csv")
    assert (tmp_path / "check.csv").read_text(encoding="utf-8").replace('"', "").startswith("\ufeffpatient;verdict;")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", np.array([1, 1])),
        ("rows", np.array([0.5])),
        ("rows", np.empty(0, dtype=int)),
        ("stratum", np.array([99] * 120)),
        ("stratum", np.array([0])),
        ("sizes", np.array([0] * 30)),
        ("verdict", np.array([7] * 120)),
        ("known", None),
        ("code", 1),
    ],
)
def test_nonsense_is_no_memory_of_an_audit(files, name, value, tmp_path):
    model = load(files[1])
    with pytest.raises(ModelFileError, match="PastDraw"):
        save(replace(model, audits=(replace(model.audits[0], **{name: value}),)), tmp_path / "m.propense")
