"""A table on the page: choose, map, fit, download, delete; and what comes of hostile ones, of stops and of kills."""

import csv
import io
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from local_page import Person
from propense.errors import InvalidOption
from propense.ui.folder import WorkFolder, write_json
from propense.ui.server import running

PATIENT, SMOKER, REPORTED = 0, 4, 6


def listed(work):
    """What lies in the work folder, without its lock and log."""
    return sorted(each.name for each in work.iterdir() if each.name not in ("lock", "log.txt"))


def test_a_job_gives_the_files_that_the_command_gives(person, fitted, table, tmp_path):
    page = person.get(f"/job/{fitted}")
    said = re.search(r'class="lead">([^<]+)<', page.text)[1]
    assert re.match(r"At least \d+ of 200 rows are positive \(\d+%\): those that are labelled. In 9 of 10 worlds", said)
    assert "If people check 20 or 50 unlabelled rows" in page.text
    # The page and the report never say two things.
    assert said in person.get(f"/job/{fitted}/report").text
    lists = list(csv.DictReader(io.StringIO(person.get(f"/job/{fitted}/files/list").text)))
    assert [row["rank"] for row in lists] == [str(rank) for rank in range(1, 11)]
    scored = list(csv.DictReader(io.StringIO(person.get(f"/job/{fitted}/files/scored").text)))
    assert [row["patient"] for row in scored] == [f"p{i}" for i in range(200)]
    model = person.get(f"/job/{fitted}/files/model")
    assert model.headers["content-disposition"] == 'attachment; filename="clinic-model.propense"'
    from propense.model_files import load

    (tmp_path / "m.propense").write_bytes(model.body)
    assert load(tmp_path / "m.propense").id == "patient"
    assert person.get(f"/job/{fitted}/files/report").body == person.get(f"/job/{fitted}/report").body


@pytest.mark.slow
def test_what_is_wrong_is_said_at_its_field(person, table, work):
    job = person.job_of(person.upload("clinic.csv", table))
    address = f"/job/{job}/columns"
    for fields, place, words in [
        ({}, "label", "choose the column"),
        ({"label": SMOKER, "positive": "maybe"}, "label", "does not contain “Value that means labelled” 'maybe'"),
        ({"label": REPORTED, "id": REPORTED}, "label", "cannot be both the label and the id"),
        ({"label": REPORTED, "prior": "much"}, "prior", "Share of positives much: pass a share such as 0.15"),
        ({"label": REPORTED, "prior": "7"}, "prior", "is not a share of the rows"),
        ({"label": REPORTED, "top": "-1"}, "", "'-1' is not a whole number"),
        ({"label": "99"}, "label", "choose the column"),
    ]:
        answer = person.post(address, **fields)
        assert answer.status == 400, fields
        assert words in answer.error
        assert f'id="error-{place}"' in answer.text
        assert str(work) not in answer.text
    assert json.loads(person.get(f"/job/{job}/status").body)["state"] == "new"


@pytest.mark.slow
def test_an_error_of_the_fit_is_one_line_at_its_column_and_is_mended_there(person):
    rows = "\n".join(f"{k},{k} {'kg' if k % 2 else 'lb'},{k % 7},{'yes' if k % 4 == 0 else ''}" for k in range(60))
    job = person.job_of(person.upload("odd.csv", f"id,note,x,seen\n{rows}\n".encode()))
    person.post(f"/job/{job}/columns", label=3, id=0, **{"role-1": "category"})
    assert person.wait(f"/job/{job}")["state"] == "failed"
    words = "odd.csv, column 'note'"
    page = person.get(f"/job/{job}")
    assert page.error.startswith(words)
    assert "Traceback" not in page.words
    columns = person.get(f"/job/{job}/columns")
    assert columns.error.startswith(words)
    assert 'id="error-column-1"' in columns.text
    person.post(f"/job/{job}/columns", label=3, id=0, learners="linear", scar_test="no", **{"role-1": "drop"})
    assert json.loads(person.get(f"/job/{job}/status").body)["state"] in ("queued", "running", "done")
    person.post(f"/job/{job}/delete")


def test_options_are_shown_again_as_they_were_chosen_and_other_ones_make_a_new_job(person, copied, work):
    form = person.get(f"/job/{copied}/columns").text
    assert f'<option value="{REPORTED}" selected>reported' in form
    assert f'<option value="{PATIENT}" selected>patient' in form
    before = (work / copied / "results" / "model.propense").read_bytes()
    answer = person.post(f"/job/{copied}/columns", follow=False, label=REPORTED, id=PATIENT, learners="linear")
    other = person.job_of(answer)
    assert other != copied
    person.post(f"/job/{other}/stop")
    assert (work / copied / "results" / "model.propense").read_bytes() == before
    person.post(f"/job/{other}/delete")
    assert (work / copied / "table.csv").read_bytes()


HOSTILE = "<script>alert(1)</script>"


@pytest.mark.slow
def test_hostile_names_and_cells_stay_text_on_every_page_and_formulas_are_defused(person, work):
    names = [HOSTILE, "=1+1", "a\x1b[31m", "'\"><img src=x onerror=alert(1)>", "{{ 7*7 }}", "label"]
    lines = [
        names,
        *(
            [
                f"{HOSTILE}{k % 3}",
                f"=cmd|{k}",
                k % 5,
                k * 0.37 % 1,
                "\u202e" if k % 2 else "b",
                "yes" if k % 4 == 0 else "",
            ]
            for k in range(80)
        ),
    ]
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    job = person.job_of(person.upload(f'"><{HOSTILE}.csv', out.getvalue().encode()))
    pages = [person.get("/"), person.get(f"/job/{job}/columns"), person.get(f"/job/{job}/delete")]
    answer = person.post(f"/job/{job}/columns", label=5, id=1, learners="linear", scar_test="no", defuse=1, top=5)
    assert person.wait(f"/job/{job}")["state"] == "done"
    pages += [answer, person.get(f"/job/{job}"), person.post(f"/job/{job}/audits", size=5)]
    for page in pages:
        assert page.status == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert not set(page.text) & {"\x1b", "\u202e", "\x00"}
        assert "49" not in page.text.partition("7*7")[0][-10:]
    rows = list(csv.reader(io.StringIO(person.get(f"/job/{job}/files/list").text)))
    assert all(cell.startswith("'=") for cell in [rows[0][1], *(row[1] for row in rows[1:])])
    assert person.get(f"/job/{job}/files/list").headers["content-disposition"].isprintable()
    person.post(f"/job/{job}/delete")
    assert job not in listed(work)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../../../etc/passwd", "passwd: the name must end with .csv"),
        ("..\\..\\boot.ini", "boot.ini: the name must end with"),
        ("", "Choose a file first."),
        (".csv", "The file"),
        ("con.exe", "con.exe: the name must end with"),
        ("x" * 300 + ".exe", "the name must end with"),
        ("../../up.csv", "up.csv is empty"),
    ],
)
def test_a_name_is_never_a_path(person, work, name, words):
    before = listed(work)
    answer = person.upload(name, b"")
    assert answer.status == 400
    assert words in answer.error or name == ".csv"
    assert str(work) not in answer.text
    assert listed(work) == before


def test_a_name_that_climbs_is_shown_by_its_last_part_and_lies_in_the_folder_of_its_job(person, table, work):
    job = person.job_of(person.upload("../../../tmp/climber.csv", table))
    assert [each.name for each in (work / job).glob("table*")] == ["table.csv"]
    assert "climber.csv" in person.get("/").words
    assert ".." not in person.get("/").words
    person.post(f"/job/{job}/delete")


def test_a_file_that_is_too_large_is_refused_in_words_and_nothing_of_it_is_kept(person, work):
    before = listed(work)
    for extra in (1, 8 << 20):
        answer = person.upload("large.csv", b"x" * ((2 << 20) + extra))
        assert answer.status in (400, 413)
        assert "larger than 2 MB, the limit for uploads" in answer.text
    assert person.ask("POST", "/upload", b"x", Transfer_Encoding=None, Content_Type="text/plain").status in (400, 403)
    assert listed(work) == before


@pytest.mark.parametrize(
    "data", [b"\x00" * 100, b"a,a\n1,2\n", b'"', b"a,b\n1\n", bytes(range(256)) * 4, b"a,b\n"], ids=range(6)
)
def test_what_is_not_a_table_is_one_line_and_leaves_nothing(person, work, data):
    before = listed(work)
    answer = person.upload("bad.csv", data)
    assert answer.status == 400
    assert "bad.csv" in answer.error
    assert "\n" not in answer.error
    assert str(work) not in answer.text
    assert listed(work) == before


def slow_job(person, table):
    job = person.job_of(person.upload("clinic.csv", table))
    answer = person.post(f"/job/{job}/columns", label=REPORTED, id=PATIENT)
    assert answer.status == 200, answer.error
    return job


def children(pid):
    """The processes that a process has started."""
    return [int(each) for found in Path(f"/proc/{pid}/task").glob("*/children") for each in found.read_text().split()]


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_second_job_waits_and_both_can_be_stopped_and_run_again(person, table, work):
    one, other = slow_job(person, table), slow_job(person, table)
    state = json.loads(person.get(f"/job/{other}/status").body)
    assert (state["state"], state["ahead"]) == ("queued", 1)
    assert person.post(f"/job/{other}/columns", label=REPORTED).status == 409
    for job in (other, one):
        page = person.post(f"/job/{job}/stop")
        assert "It was stopped." in page.words
    assert not list(work.glob("*/.run"))
    assert person.post(f"/job/{one}/run").status == 200
    assert json.loads(person.get(f"/job/{one}/status").body)["state"] in ("queued", "running")
    for job in (one, other):
        person.post(f"/job/{job}/delete")
        assert person.get(f"/job/{job}").status == 404
    assert not {one, other} & set(listed(work))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_killed_server_leaves_no_process_and_the_next_shows_its_jobs_as_stopped(serve, table, tmp_path):
    first = serve()
    person = Person(first)
    job = slow_job(person, table)
    until = time.monotonic() + 600
    # One reads tables, and one fits.
    while len(workers := children(first.process.pid)) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    first.process.kill()
    first.process.wait()
    until = time.monotonic() + 600
    while not all(map(gone, workers)):
        assert time.monotonic() < until
        time.sleep(0.02)
    second = serve()
    person = Person(second)
    page = person.get(f"/job/{job}")
    assert "The server was ended before it was done." in page.words
    assert person.get("/").words.count("stopped") == 1
    assert person.post(f"/job/{job}/run").status == 200
    workers = children(second.process.pid)
    _, err = second.end(signal.SIGINT)
    assert second.process.returncode == 130
    assert "Traceback" not in err
    assert all(map(gone, workers))
    assert json.loads((tmp_path / "work" / job / "status.json").read_text())["state"] == "stopped"
    assert not list((tmp_path / "work").glob("**/.partial-*"))
    assert not (tmp_path / "work" / "open.html").exists()


def test_what_a_kill_leaves_half_done_is_removed_and_running_work_is_stopped(tmp_path):
    for name in (".new-0", ".deleted-0", ".partial-x", "0123456789abcdef/.run", "0123456789abcdef/audits/.new-1"):
        (tmp_path / name).mkdir(parents=True)
    job = tmp_path / "0123456789abcdef"
    write_json(job / "job.json", {"name": "t.csv", "made": 1.0})
    (job / "table.csv").write_text("a\n1\n")
    write_json(job / "status.json", {"state": "running"})
    folder = WorkFolder(tmp_path)
    assert listed(tmp_path) == ["0123456789abcdef"]
    assert not (job / ".run").exists()
    assert folder.jobs()[0].status["state"] == "stopped"
    (job / "job.json").write_text("{")
    assert folder.jobs() == []
    folder.close()


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permissions on Windows")
def test_a_work_folder_is_for_one_server_and_one_user(tmp_path):
    folder = WorkFolder(tmp_path / "work")
    assert (tmp_path / "work").stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidOption, match="is used by another propense serve"):
        WorkFolder(tmp_path / "work")
    folder.close()
    WorkFolder(tmp_path / "work").close()
    (tmp_path / "file").touch()
    with pytest.raises(InvalidOption, match="cannot be used"):
        WorkFolder(tmp_path / "file")


def test_a_port_that_is_taken_is_one_error(server, tmp_path):
    with pytest.raises(InvalidOption, match=f"Port {server.port} can"), running(tmp_path / "w", port=server.port):
        pass


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, tmp_path):
    import sys

    from command import call

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ended = call("serve", "--folder", tmp_path / "w")
    assert ended.returncode == 2
    assert ended.stderr == 'Error: propense serve needs uvicorn. Install it: pip install "propense[ui]".\n'
    assert not (tmp_path / "w").exists()


def test_what_nobody_expected_is_one_line_and_its_details_are_in_a_file_without_the_token(
    person, fitted, server, work, monkeypatch, capsys
):
    monkeypatch.setattr("propense.ui.app.report_of", lambda job: 1 / 0)
    answer = person.get(f"/job/{fitted}/report?token={server.token}")
    assert answer.status == 500
    assert "Something went wrong that should not: ZeroDivisionError" in answer.error
    log = (work / "log.txt").read_text()
    assert "ZeroDivisionError" in log
    assert server.token not in log + capsys.readouterr().err
