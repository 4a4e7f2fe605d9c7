"""The public names, and what importing them costs."""

import ast
import itertools
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import propense
from propense import errors

ROOT = Path(__file__).parents[1]


def test_all_names_are_there_and_nothing_else_is_public():
    for name in propense.__all__:
        assert getattr(propense, name)
        assert name in dir(propense)
    public = {name for name in vars(propense) if not name.startswith("_")}
    assert public <= {*propense.__all__, *propense._ROOMS, "cli", "ui", "worlds"}
    with pytest.raises(AttributeError, match="module 'propense' has no attribute 'JERN'"):
        propense.JERN  # noqa: B018
    assert {path.parent.name for path in (ROOT / "src" / "propense").glob("[a-z]*/__init__.py")} <= {
        *propense._ROOMS,
        "cli",
        "ui",
        # Imported by nobody but the package.
        "worlds",
    }


def test_the_citation_and_the_changelog_name_this_version():
    assert f"\nversion: {propense.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == propense.__version__


def extras():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_all_is_every_extra_for_users_but_torch():
    named = extras()["all"][0].removeprefix("propense[").removesuffix("]").split(",")
    assert set(named) == set(extras()) - {"all", "torch", "dev", "docs", "standards"}


def test_the_page_of_installation_lists_every_extra():
    page = (ROOT / "docs" / "install.md").read_text()
    listed = re.findall(r'^\| `pip install "[^"\[]*\[(\w+)\]"` \|', page, re.MULTILINE)
    assert sorted(listed) == sorted(extras())


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="the source archive has no checks of changes")
def test_a_change_must_pass_every_target_in_clones_of_their_own():
    """So that what one of them forgets to install is not there because another brought it."""
    clones = re.findall(r"^clone \w+ '(.+)'", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    targets = [re.findall(r"make ([\w-]+)", each) for each in clones]
    assert sorted(targets) == [["demo"], ["docs"], ["test", "check"], ["test-torch"]]


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="the source archive has no workflows")
def test_the_public_workflow_runs_targets_of_the_makefile_on_every_python_declared():
    workflow = (ROOT / ".github" / "workflows" / "checks.yml").read_text()
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"- run: make ([\w-]+)$", workflow, re.MULTILINE))
    assert {"test", "floors", "check", "docs", "demo", "dist"} <= used <= targets
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    declared = [each.rpartition(" ")[2] for each in classifiers if ":: 3." in each]
    assert f"python: {json.dumps(declared)}" in workflow


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    return [each for each in listed if not each.startswith("propense[")]


def test_every_requirement_has_a_floor_and_no_cap():
    for each in requirements():
        # Where it is installed is not part of the release.
        release = each.partition(";")[0]
        assert re.fullmatch(r"[a-z0-9-]+(\[[a-z,]+\])?>=[0-9.]+", release), each


@pytest.mark.parametrize(
    ("package", "safe"),
    [
        ("pyarrow", (14, 0, 1)),  # CVE-2023-47248: a Parquet file ran code
        ("typer", (0, 12, 4)),  # --help failed
        ("jinja2", (3, 1, 6)),  # CVE-2025-27516: a template left its sandbox
        ("torch", (2, 6)),  # CVE-2025-32434: a file of weights ran code
        ("joblib", (1, 2)),  # CVE-2022-21797: an argument was evaluated
        ("dask", (2026, 1)),  # CVE-2026-23528: the dashboard ran code of a link
        ("scikit-learn", (1, 5)),  # CVE-2024-5206: stop words kept the training data
        ("skops", (0, 16)),  # a file called attributes of numpy.random
    ],
)
def test_no_floor_admits_a_release_known_to_be_unsafe(package, safe):
    floors = [each.partition(">=")[2] for each in requirements() if re.split(r"[\[>]", each)[0] == package]
    assert floors
    assert all(tuple(map(int, floor.split("."))) >= safe for floor in floors)


def test_every_error_is_one_of_ours():
    for name in errors.__all__:
        root = UserWarning if name == "DoubtfulFit" else errors.PropenseError
        assert issubclass(getattr(errors, name), root)
        assert name in errors.__doc__


@pytest.mark.slow
def test_every_private_module_says_what_it_offers():
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        offers = any(isinstance(node, ast.Assign) and node.targets[0].id == "__all__" for node in tree.body)
        assert offers or not [name for name in names if not name.startswith("_")], path


@pytest.mark.slow
def test_importing_pulls_no_optional_package():
    # scikit-learn looks for pandas by itself, so what counts is what propense adds to scikit-learn.
    code = (
        "import sys, sklearn.linear_model; before = set(sys.modules); import propense; propense.JERM; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(added) <= {"propense", "numpy", "scipy", "sklearn", "joblib"} | sys.stdlib_module_names


# Runs pytest where these packages cannot be imported.
WITHOUT = """
import sys
from importlib.machinery import PathFinder
find, absent = PathFinder.find_spec, {"pyarrow", "torch", "dask", "distributed"}
PathFinder.find_spec = classmethod(
    lambda _, name, *rest: None if name.partition(".")[0] in absent else find(name, *rest)
)
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.slow
def test_the_tests_start_without_optional_packages_and_say_what_they_skip():
    files = ["tests/tables/test_schema.py", "tests/_inputs/test_torch.py", "tests/_inputs/test_dask.py"]
    law = "tests/_designs/test_designs.py::test_take_keeps_the_rows_of_a_mask"
    ended = subprocess.run([sys.executable, "-c", WITHOUT, *files, law], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout
    assert "needs pyarrow" in ended.stdout
    assert "`make test-torch` runs them" in ended.stdout
    assert "needs dask" in ended.stdout


@pytest.mark.slow
def test_what_the_tests_share_imports_no_optional_package():
    # pandas, which scikit-learn looks for by itself, looks for pyarrow.
    code = (
        "import sys, pandas; before = set(sys.modules); import conftest; "
        "print(*{'pyarrow', 'torch', 'dask', 'clinic', 'blocks'} & (set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "tests", check=True)
    assert ended.stdout.split() == []
