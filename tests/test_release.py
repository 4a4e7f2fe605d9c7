"""What a release consists of: a recipe with the version and the floors, and a complete source archive."""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import propense

ROOT = Path(__file__).parents[1]


def test_the_recipe_has_the_version():
    assert f'\n  version: "{propense.__version__}"\n' in (ROOT / "packaging/recipe.yaml").read_text()


def test_the_recipe_has_the_floors_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["cli"], *extras["study"], *extras["files"], *extras["report"]]
    floors = dict(each.split(">=") for each in named if ">=" in each)
    recipe = (ROOT / "packaging/recipe.yaml").read_text()
    found = dict(re.findall(r"^    - ([a-z0-9-]+) >=(\S+)$", recipe.split("  run:")[1], re.MULTILINE))
    floors["matplotlib-base"] = floors.pop("matplotlib")
    assert found.pop("python") == project["requires-python"].removeprefix(">=")
    assert found == floors


@pytest.mark.slow
def test_the_source_archive_has_every_file_that_tests_and_docs_need(tmp_path):
    pytest.importorskip("hatchling")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a clone")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    rooms = ("src/", "tests/", "docs/", "benchmarks/", "studies/", "examples/", "packaging/")
    wanted = {name for name in tracked.stdout.splitlines() if name.startswith(rooms)}
    assert wanted - packed == set()
    assert {"Makefile", "CODE_OF_CONDUCT.md", "Dockerfile"} <= packed
