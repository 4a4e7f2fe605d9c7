"""The documentation is true: its code runs and prints what it shows, its links lead somewhere, nothing is left out.

A page's Python blocks run in order, in one namespace and an empty folder; a block with prompts (>>>) must print what it
shows. So do the commands of a console block, after $. A block of any language that begins with a comment naming a file
is that file. What should not run is called something other than python and console. Sections that need the survey run
where it is.
"""

import doctest
import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version
from typer.main import get_command

import propense
from command import call
from conftest import data_home
from propense.cli._app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = ("_build", "gallery", "generated")
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if not set(page.relative_to(DOCS).parts) & set(MADE)),
]

RUN = ("python", "console")
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Packages without which a page is left from there on; `make standards` has the last ones.
TOOLS = "torch|dask|pyarrow|narwhals|polars|skops|mlflow|optuna|shap|onnxruntime"
FILE_NAME = re.compile(r"^# (\w+\.\w+)\n")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

VALUES = ("TRUSTED_TYPES", "__version__")
METHODS = sorted({getattr(propense, name).__module__ for name in propense.__all__ if name not in VALUES})
EXAMPLES = [*METHODS, "propense.datasets.load", "propense.datasets.synthetic", "propense.labelling"]
EXAMPLES += [f"propense.metrics.{name}" for name in ("_joint", "_scorers", "_shares")]
EXAMPLES += [f"propense.audit.{name}" for name in ("_draw", "_findings", "_model")]
ROOMS = ("audit", "inference", "labelling", "datasets", "metrics", "tables", "study", "plots", "report")
PUBLIC = ["propense", *(f"propense.{name}" for name in ROOMS)]


def blocks(page):
    """The language, the code and the line of each fenced block."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield found[1], found[2], text.count("\n", 0, found.start(2))


def survey_lines(page):
    """The lines of the sections (##) that load the survey."""
    line, lines = 0, set()
    for section in re.split(r"^(?=## )", page.read_text(), flags=re.MULTILINE):
        count = section.count("\n")
        if "load_nhanes(" in section:
            lines.update(range(line, line + count))
        line += count
    return lines


class Checker(doctest.OutputChecker):
    """Compares what a page shows with what is printed; with older trees of scikit-learn, all but the digits."""

    def check_output(self, want, got, flags):
        if parse_version(sklearn.__version__) < parse_version("1.9"):
            want, got = (re.sub(r"\d+", "0", each) for each in (want, got))
        return super().check_output(want, got, flags)


def run_block(code, namespace, page, line):
    if ">>>" not in code:
        # Blank lines before it, so that a traceback names the line of the page.
        exec(compile("\n" * line + code, page, "exec"), namespace)
        return
    told = []
    test = doctest.DocTestParser().get_doctest(code, {}, str(page), str(page), line)
    test.globs = namespace
    doctest.DocTestRunner(Checker(), optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)


def run_console(code, folder, page, line):
    """Each command, and what it prints on both streams, beside what the page shows below it."""
    told = []
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.MULTILINE):
        arguments = shlex.split(command)
        assert arguments[0] == "propense", f"{page}:{line}: only propense runs here; call other commands text"
        printed = call(*arguments[1:], cwd=folder, together=True, COLUMNS="100", PROPENSE_DATA=str(folder / "home"))[1]
        if not Checker().check_output(shown, printed, FLAGS):
            told.append(f"{page}: $ {command}\nshown:\n{shown}printed:\n{printed}")
    assert not told, "\n".join(told)


def find_survey(monkeypatch):
    """Have the survey's table found where the tests find data; whether it is there."""
    home = data_home()
    if home is None or not (home / "natural" / "nhanes.csv.gz").is_file():
        return False
    monkeypatch.setenv("PROPENSE_DATA", str(home))
    return True


def name(page):
    return str(page.relative_to(ROOT))


def running(page):
    """The page as a parameter, if it runs something; `make test-torch` runs those that need torch at some place."""
    needs_torch = [pytest.mark.torch(partly=True)] * ("import torch" in page.read_text())
    return [pytest.param(page, marks=needs_torch)] * any(block[0] in RUN for block in blocks(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", [each for page in PAGES for each in running(page)], ids=name)
def test_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace = {"__name__": "page"}
    needed = survey_lines(page)
    left_out = set() if needed and find_survey(monkeypatch) else needed
    # Settings of scikit-learn that a page makes end with it.
    with sklearn.config_context():
        for language, code, line in blocks(page):
            if file := FILE_NAME.match(code):
                (tmp_path / file[1]).write_text(code)
            if language == "python" and line not in left_out:
                for package in re.findall(rf"^(?:>>> )?import ({TOOLS})\b", code, re.MULTILINE):
                    pytest.importorskip(package)
                run_block(code, namespace, page, line)
            elif language == "console":
                run_console(code, tmp_path, page, line)
    if left_out:
        pytest.skip("the survey's table is not on this machine: its sections did not run, all others did")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_code_of_a_page_is_passed_over(page):
    assert not re.search(r"^[ \t]+```", page.read_text(), re.MULTILINE), "an indented block would not be run"
    for language, code, line in blocks(page):
        assert language, f"{page}:{line}: say what the block is: python, text, toml, console …"
        assert language == "python" or ">>> " not in code, f"{page}:{line}: {language} has prompts; is it python?"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([^)#\s]+)", page.read_text()):
        # Made when the site is built: the gallery from examples/, and a figure by the module of its name.
        there = page.parent / target
        module = DOCS / "figures" / f"{there.stem}.py"
        drawn = there.parent.name == "_figures" and module.exists()
        assert there.exists() or drawn or (DOCS / "gallery") in there.resolve().parents, target


@pytest.mark.slow
@pytest.mark.parametrize("module", EXAMPLES)
def test_docstrings_print_what_they_show(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    page = DOCS / "reference" / f"{module.partition('.')[2] or 'estimators'}.rst"
    shown = set(re.findall(r"^   (\w+)$|^\.\. py:data:: (\w+)$", page.read_text(), re.MULTILINE))
    assert set(importlib.import_module(module).__all__) <= {word for pair in shown for word in pair}


def test_the_drawing_of_the_layers_is_the_import_contract():
    page = (DOCS / "architecture.md").read_text()
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    drawn = [set(names.replace("·", " ").split()) for names in re.findall(r"^│([^│]*)│", page, re.MULTILINE)]
    assert drawn == [{each.strip().removeprefix("propense.") for each in layer.split("|")} for layer in contract]


def test_modules_that_the_architecture_names_exist():
    named = re.findall(r"`([\w/]+(?:\.py|/))`", (DOCS / "architecture.md").read_text())
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "src/propense" / name).exists() and name != "tests/"] == []


def test_lists_of_methods_are_what_the_classes_say(monkeypatch):
    """If not: `python docs/write_methods.py`."""
    monkeypatch.syspath_prepend(DOCS)
    write_methods = importlib.import_module("write_methods")
    for page, methods in write_methods.LISTS.items():
        assert methods in page.read_text()


def commands(command, path="propense"):
    yield pytest.param(path, command, id=path)
    for each, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {each}")


@pytest.mark.parametrize(("path", "command"), list(commands(get_command(app))))
def test_every_command_is_documented(path, command):
    """If not: `python docs/write_commands.py`."""
    page = (DOCS / "command_line.md").read_text()
    section = re.search(rf"^## {re.escape(path)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section, f"no section '## {path}'"
    words = " ".join(section[1].replace(r"\|", "|").replace(r"\<", "<").split())
    assert f"{path} [OPTIONS]" in words
    for text in [command.help, *(each.help for each in command.params)]:
        assert " ".join((text or "").split()) in words
    options = [name for each in command.params if each.param_type_name == "option" for name in each.opts]
    assert not [name for name in options if f"`{name}`" not in words]
