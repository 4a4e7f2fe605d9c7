"""NHANES: from the data home, from a server that stands in for the agency's, and refused when it is wrong."""

import doctest
import gzip

import numpy as np
import pytest

import propense.datasets.nhanes as nhanes
from conftest import data_home
from propense.datasets import load, load_nhanes, nhanes_files
from propense.datasets.nhanes_columns import COLUMNS, TABLES, derive
from propense.datasets.nhanes_table import ROWS, TASKS, check_survey, read_survey, write_survey
from propense.errors import DatasetMismatch, DownloadFailed, InvalidOption
from survey import Agency, answer, draw_survey, draw_table, expect, files_of, tables_of, transport

FIRST, SECOND = "/2005/DataFiles/DEMO_D.xpt", "/2005/DataFiles/BMX_D.xpt"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty data home."""
    monkeypatch.setenv("PROPENSE_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(nhanes_files, "_DELAY", 0.01)
    return tmp_path / "home"


@pytest.fixture(scope="module")
def people():
    return draw_survey(np.random.default_rng(1))


@pytest.fixture(scope="module")
def files(people):
    return files_of(people)


@pytest.fixture
def table(people, monkeypatch):
    """The table that should come of these people; its counts are expected."""
    cycles = [derive(year, tables_of(cycle, year)) for year, cycle in people.items()]
    table = {name: np.concatenate([cycle[name] for cycle in cycles]) for name in COLUMNS}
    expect(monkeypatch, table)
    return table


@pytest.fixture
def agency(files, home, monkeypatch):
    server = Agency(files)
    monkeypatch.setattr(nhanes_files, "ADDRESS", server.address)
    yield server
    server.stop()


@pytest.mark.slow
def test_the_survey_is_fetched_once_joined_and_kept(agency, table, home):
    seen = []
    data = load_nhanes("diabetes", progress=seen.append)
    assert sorted(agency.requests) == sorted(agency.files)
    assert len(agency.requests) == 5 * len(TABLES) == 70
    assert seen == sorted(seen)
    assert seen[-1] == sum(map(len, agency.files.values()))
    rows = ~np.isnan(table["s_diabetes"] + table["y_diabetes"])
    assert 0 < (~rows).sum() < rows.sum()
    for name, values in zip(data.columns, data.X.T, strict=True):
        np.testing.assert_array_equal(values, table[name][rows], err_msg=name)
    np.testing.assert_array_equal(data.labelled, table["s_diabetes"][rows] == 1)
    np.testing.assert_array_equal(data.positive, table["y_diabetes"][rows] == 1)
    for name in ("cycle", "weight", "psu", "stratum", "seqn"):
        np.testing.assert_array_equal(getattr(data, name), table[name][rows])
    # From now on, the table of the data home is enough.
    (home / "natural" / "nhanes" / "DEMO_D.xpt").unlink()
    again = load_nhanes("hypertension", download=False)
    assert len(agency.requests) == 70
    assert len(again.X) == TASKS["hypertension"].n
    assert again.source == str(home / "natural" / "nhanes.csv.gz")
    np.testing.assert_array_equal(again.positive.sum(), TASKS["hypertension"].positives)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_no_feature_defines_the_class(agency, table, task):
    data = load_nhanes(task)
    assert not {*data.left_out, f"told_{task}", f"s_{task}", f"y_{task}", "seqn", "weight"} & {*data.columns}
    assert set(data.propensity_features) <= set(data.columns)
    other = next(name for name in TASKS if name != task)
    assert not {f"s_{other}", f"y_{other}"} & {*data.columns}
    assert set(TASKS[other].defining) <= set(data.columns)
    assert not (data.labelled & ~data.positive).any()
    assert "no attempt to learn the identity" in data.agreement
    assert "National Center for Health Statistics" in data.citation


@pytest.mark.slow
def test_an_interrupted_download_goes_on_where_it_stopped(agency, table, home):
    agency.broken[SECOND] = lambda handler: handler.send_error(404)
    with pytest.raises(DownloadFailed, match=r"BMX_D\.xpt could not be downloaded: the server answered 404 Not Found"):
        load_nhanes()
    assert [path.name for path in (home / "natural" / "nhanes").iterdir()] == ["DEMO_D.xpt"]
    assert not (home / "natural" / "nhanes.csv.gz").exists()
    # What is not there is not asked for again.
    assert agency.requests == [FIRST, SECOND]
    agency.broken.clear()
    agency.requests.clear()
    assert len(load_nhanes().X) == TASKS["diabetes"].n
    assert FIRST not in agency.requests
    assert len(agency.requests) == 69


@pytest.mark.slow
def test_files_that_a_browser_saved_are_used(agency, table, home):
    folder = home / "natural" / "nhanes"
    folder.mkdir(parents=True)
    (folder / "DEMO_D.XPT").write_bytes(agency.files[FIRST])
    load_nhanes()
    assert FIRST not in agency.requests


@pytest.mark.slow
def test_another_copy_is_asked_under_its_address(agency, table, monkeypatch):
    monkeypatch.setattr(nhanes_files, "ADDRESS", "http://127.0.0.1:9/nowhere")
    load_nhanes(address=agency.address + "/")
    assert len(agency.requests) == 70


@pytest.mark.slow
def test_a_server_that_fails_for_a_moment_is_asked_again(agency, table):
    left = [500, 503]

    def stumble(handler):
        if left:
            handler.send_error(left.pop())
        else:
            answer(handler, agency.files[FIRST])

    agency.broken[FIRST] = stumble
    load_nhanes()
    assert agency.requests[:4] == [FIRST, FIRST, FIRST, SECOND]


BROKEN = {
    "fails": (lambda handler: handler.send_error(500), 3, "the server answered 500 Internal Server Error"),
    "gone": (lambda handler: handler.send_error(404), 1, "the server answered 404 Not Found"),
    "page": (
        lambda handler: answer(handler, b"<!DOCTYPE html><html>Page not found</html>", kind="text/html"),
        1,
        r"the answer \(text/html\) is a page or another file, not a SAS transport file",
    ),
    "empty": (lambda handler: answer(handler, b""), 3, "only 0 of 0 bytes arrived"),
    "cut": (
        lambda handler: answer(handler, transport("DEMO", {"SEQN": [1.0]}), size=2000),
        3,
        r"only \d+ of 2000 bytes arrived",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_answer_is_one_clear_error_and_leaves_no_file(agency, table, home, case):
    agency.broken[FIRST], asked, words = BROKEN[case]
    with pytest.raises(
        DownloadFailed, match=rf"DEMO_D\.xpt could not be downloaded: ({words}).*into .*nhanes yourself"
    ):
        load_nhanes()
    assert agency.requests == [FIRST] * asked
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_without_a_network_the_way_out_is_told(home):
    with pytest.raises(
        DownloadFailed, match=r"http://127\.0\.0\.1:9/2005/DataFiles/DEMO_D\.xpt could not be downloaded"
    ):
        load_nhanes(address="http://127.0.0.1:9")
    with pytest.raises(DownloadFailed, match=r"unknown url type.*address="):
        load_nhanes(address="nonsense")


def test_without_leave_to_download_nothing_is_asked(agency):
    with pytest.raises(DownloadFailed, match=r"nhanes is not in the data home .*download=False"):
        load_nhanes(download=False)
    assert agency.requests == []


def test_a_file_that_is_damaged_is_refused_with_its_name(agency, table, home):
    agency.files = agency.files | {FIRST: agency.files[FIRST][:-160]}
    with pytest.raises(DatasetMismatch, match=r"DEMO_D\.xpt cannot be read.*cut short. Delete it and fetch again"):
        load_nhanes()
    assert not (home / "natural" / "nhanes.csv.gz").exists()


@pytest.mark.slow
def test_a_table_with_other_counts_is_not_kept(agency, table, home, monkeypatch):
    monkeypatch.setitem(ROWS, 2005, ROWS[2005] + 1)
    with pytest.raises(DatasetMismatch, match=rf"{ROWS[2005] - 1} rows of 2005 where {ROWS[2005]} .* was not kept"):
        load_nhanes()
    assert not (home / "natural" / "nhanes.csv.gz").exists()


WRONG = {
    "row": (lambda t: {name: values[1:] for name, values in t.items()}, "rows of 2005 where"),
    "cycle": (
        lambda t: t | {"cycle": np.where(np.arange(len(t["cycle"])) < 1, 1999, t["cycle"])},
        "rows of 2005 where",
    ),
    "more": (
        lambda t: {name: np.append(values, 1999 if name == "cycle" else values[0]) for name, values in t.items()},
        r"\d+ rows where",
    ),
    "range": (lambda t: t | {"height": t["height"] / 100}, r"1\.702 in column height, where 80 to 250 is possible"),
    "codes": (lambda t: t | {"education": t["education"] + 4}, r"in column education, where 1 to 5 is possible"),
    "missing": (
        lambda t: t | {"bmi": np.where(t["cycle"] == 2009, np.nan, t["bmi"])},
        "100% of column bmi in 2009, where at most 20% is expected",
    ),
    "unknown": (lambda t: t | {"s_diabetes": _first(t["s_diabetes"], np.nan)}, "rows for diabetes where"),
    "labels": (lambda t: t | {"s_diabetes": t["s_diabetes"] * 0}, "0 labels of diabetes where"),
    "positives": (
        lambda t: t | {"y_hypertension": np.where(t["s_hypertension"] == 0, 0, t["y_hypertension"])},
        "positives of hypertension where",
    ),
    "negative": (
        lambda t: t | {"s_diabetes": t["s_diabetes"][::-1], "y_diabetes": t["y_diabetes"]},
        "diabetes where",
    ),
}


def _first(values, value):
    """The values with the first one that is known replaced."""
    out = values.copy()
    out[np.flatnonzero(~np.isnan(out))[0]] = value
    return out


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_a_table_of_the_data_home_that_is_wrong_is_refused(table, home, case):
    path = home / "natural" / "nhanes.csv.gz"
    path.parent.mkdir(parents=True)
    spoil, words = WRONG[case]
    write_survey(path, table)
    load_nhanes(download=False)
    write_survey(path, spoil(table))
    with pytest.raises(
        DatasetMismatch, match=rf"nhanes (has|lacks).*{words}.*Delete .*nhanes\.csv\.gz and fetch again"
    ):
        load_nhanes(download=False)


def test_labelled_people_who_are_not_positive_are_refused(table, monkeypatch):
    known = np.flatnonzero((table["s_diabetes"] == 1) & (table["y_diabetes"] == 1))[0]
    other = np.flatnonzero((table["s_diabetes"] == 0) & (table["y_diabetes"] == 0))[0]
    table["s_diabetes"][[known, other]] = 0, 1
    with pytest.raises(DatasetMismatch, match="1 labelled negatives of diabetes where 0 are expected"):
        check_survey(table, "")


# Named, because gzip writes the time: without names, workers would collect different tests.
@pytest.mark.parametrize(
    "content",
    [b"hello", gzip.compress(b"a,b\n1,2\n"), gzip.compress(b""), gzip.compress(b"x" * 99)[:30]],
    ids=["not gzip", "another table", "empty", "cut off"],
)
def test_a_file_that_is_not_the_table_is_refused(home, content):
    path = home / "natural" / "nhanes.csv.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(DatasetMismatch, match=r"nhanes\.csv\.gz cannot be read as the survey's table.*Delete it"):
        load_nhanes()


def test_a_table_is_read_as_it_was_written(tmp_path, rng):
    table = draw_table(rng, 20)
    table["bmi"][3], table["weight"][0] = np.nan, 34030.994822
    write_survey(tmp_path / "t.csv.gz", table)
    again = read_survey(tmp_path / "t.csv.gz")
    assert list(again) == list(COLUMNS)
    for name in COLUMNS:
        np.testing.assert_array_equal(again[name], table[name])


def test_columns_that_are_more_than_the_table_needs_are_no_features(tmp_path, home, table):
    path = home / "natural" / "nhanes.csv.gz"
    path.parent.mkdir(parents=True)
    write_survey(path, {"another": table["age"]} | table)
    data = load_nhanes(download=False)
    assert "another" not in data.columns
    np.testing.assert_array_equal(data.weight, table["weight"][~np.isnan(table["s_diabetes"])])


def test_a_task_that_is_not_there_names_those_that_are():
    with pytest.raises(InvalidOption, match=r"NHANES has no task 'gout'. Choose from: diabetes, hypertension."):
        load_nhanes("gout")
    with pytest.raises(InvalidOption, match=r"nhanes has labels of its own.*load_nhanes\(\)"):
        load("nhanes")


def real_file(monkeypatch):
    if data_home() is None or not (data_home() / "natural" / "nhanes.csv.gz").exists():
        pytest.skip("the survey's table is not on this machine")
    monkeypatch.setenv("PROPENSE_DATA", str(data_home()))


@pytest.mark.slow
def test_the_real_table_is_what_it_is_said_to_be(monkeypatch):
    real_file(monkeypatch)
    for name, task in TASKS.items():
        data = load_nhanes(name, download=False)
        assert (len(data.X), data.labelled.sum(), data.positive.sum()) == (task.n, task.labelled, task.positives)
    assert sum(ROWS.values()) == 26_874


@pytest.mark.slow
def test_the_real_labels_and_truths_follow_from_the_columns(monkeypatch):
    # Answers that lead to the same columns must lead to the same labels and truths.
    real_file(monkeypatch)
    table = read_survey(data_home() / "natural" / "nhanes.csv.gz")
    for name, values in derived_labels(table).items():
        np.testing.assert_array_equal(values, table[name], err_msg=name)


def derived_labels(table):
    from propense.datasets.nhanes_columns import _labels_and_truth

    return _labels_and_truth(table)


@pytest.mark.slow
def test_the_example_prints_what_it_shows(monkeypatch):
    real_file(monkeypatch)
    found = doctest.DocTestFinder().find(load_nhanes, "load_nhanes", globs={})
    examples = [example for test in found for example in test.examples]
    assert len(examples) == 4
    for example in examples:
        example.options.clear()
    results = [doctest.DocTestRunner().run(test) for test in found]
    assert sum(each.attempted for each in results) == 4
    assert sum(each.failed for each in results) == 0


def test_the_conditions_of_use_are_those_of_the_agency():
    for words in ("statistical reporting and analysis only", "no attempt", "not link"):
        assert words in nhanes.AGREEMENT
