"""The public names, and what importing them costs."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import propense
from propense import errors

ROOT = Path(__file__).parents[1]


def test_all_names_are_there_and_nothing_else_is_public():
    public = {name for name in vars(propense) if not name.startswith("_")}
    modules = {"errors", "estimators", "labelling", "datasets", "study", "model_files", "plots", "report", "cli"}
    assert public - modules == set(propense.__all__) - {"__version__"}


def test_the_version_is_said_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"]


def test_all_is_every_extra_but_torch():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = extras.pop("all")[0].removeprefix("propense[").removesuffix("]").split(",")
    assert set(named) == set(extras) - {"torch"}


def test_every_error_is_one_of_ours():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.PropenseError)
        assert name in errors.__doc__


def test_every_private_module_says_what_it_offers():
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        offers = any(isinstance(node, ast.Assign) and node.targets[0].id == "__all__" for node in tree.body)
        assert offers or not [name for name in names if not name.startswith("_")], path


def test_importing_pulls_no_optional_package():
    # scikit-learn looks for pandas by itself, so what counts is what propense adds to scikit-learn.
    code = (
        "import sys, sklearn.linear_model; before = set(sys.modules); import propense; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(added) <= {"propense", "numpy", "scipy", "sklearn", "joblib"} | sys.stdlib_module_names


def test_a_method_and_its_file_are_told_shortly():
    """One file of at most 300 lines, no function of more than 40 beside its docstring."""
    source = ROOT / "src" / "propense"
    for path in [*(source / "estimators").glob("*.py"), *(source / "model_files").glob("*.py")]:
        assert len(path.read_text().splitlines()) <= 300, path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                assert node.end_lineno - first.lineno < 40, (path, node.name)
