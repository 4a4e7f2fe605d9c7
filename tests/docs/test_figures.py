"""The tutorial and every guide show a figure; a figure is drawn for both themes, and one that fails fails the build."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "tutorial.md", *(page for page in sorted((DOCS / "guides").glob("*.md")) if page.stem != "index")]
WITH_IMAGES = [page for page in sorted(DOCS.glob("*.md")) + sorted(DOCS.glob("*/*.md")) if "![" in page.read_text()]


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("figure_hooks", DOCS / "figures" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def images(page):
    """The alternative text and the target of each image."""
    return re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text())


def figures(page):
    """The modules that draw the page's figures, by name."""
    return {Path(target).stem for _, target in images(page) if "_figures/" in target}


def name(page):
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_shows_a_figure(page):
    assert images(page)


@pytest.mark.parametrize("page", WITH_IMAGES, ids=name)
def test_an_image_exists_or_has_a_module_that_draws_it(page, hooks):
    assert figures(page) <= set(hooks.modules())
    files = [target for _, target in images(page) if "_figures/" not in target and "://" not in target]
    assert [target for target in files if not (page.parent / target).is_file()] == []


@pytest.mark.parametrize("page", WITH_IMAGES, ids=name)
def test_images_say_in_words_what_they_show(page):
    assert [alt for alt, _ in images(page) if len(alt.split()) < 6] == []


@pytest.mark.parametrize("page", WITH_IMAGES, ids=name)
def test_the_hook_sees_every_figure_of_a_page(page, hooks):
    """An image within a sentence would be shown in one theme only."""
    text = page.read_text()
    assert hooks.show_both(text).count("\n:class: only-dark\n") == text.count("_figures/")


def test_every_module_is_on_a_page(hooks):
    assert set(hooks.modules()) == set().union(*map(figures, WITH_IMAGES))


def test_the_hook_shows_a_figure_for_each_theme(hooks):
    page = 'Before.\n\n![Found: "more"\nwith time](../_figures/queue.svg)\n\n![A photograph](../_static/photo.png)\n'
    assert hooks.show_both(page) == (
        "Before.\n\n"
        '```{image} ../_figures/queue.svg\n:alt: "Found: \\"more\\" with time"\n:class: only-light\n```\n\n'
        '```{image} ../_figures/queue-dark.svg\n:alt: "Found: \\"more\\" with time"\n:class: only-dark\n```\n\n'
        "![A photograph](../_static/photo.png)\n"
    )


@pytest.fixture
def module(tmp_path):
    """Writes a module that draws a line, after running `code`."""

    def write(code):
        path = tmp_path / "line.py"
        path.write_text(
            "import warnings\nfrom matplotlib import pyplot\n\n\ndef draw():\n"
            f"    {code}\n    figure, ax = pyplot.subplots()\n    ax.plot([0, 1], color='C0')\n    return figure\n"
        )
        return path

    return write


@pytest.mark.parametrize("code", ["raise ValueError('no data')", "warnings.warn('no data')", "import no_such_package"])
def test_a_module_that_fails_or_warns_is_an_error(hooks, module, tmp_path, code):
    path = module(code)
    error = hooks.draw(path, tmp_path / "drawn")
    assert error.startswith("line.py does not draw")
    assert code.split("'")[1] in error if "'" in code else "no_such_package" in error


@pytest.mark.slow
def test_themes_differ_in_colours_and_drawing_again_gives_the_same_file(hooks, module, tmp_path):
    path = module("pass")
    drawn = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        assert hooks.draw(path, folder) is None
        drawn.append([(folder / f"line{end}.svg").read_text() for end in ("", "-dark")])
    assert drawn[0] == drawn[1]
    light, dark = drawn[0]
    assert hooks.LIGHT[0].lower() in light
    assert hooks.DARK[0].lower() in dark
    assert hooks.LIGHT[0].lower() not in dark


def test_a_figure_is_drawn_again_if_its_module_is_newer(hooks, module, tmp_path):
    path = module("pass")
    assert hooks.out_of_date(path, tmp_path)
    hooks.draw(path, tmp_path)
    assert not hooks.out_of_date(path, tmp_path)
    later = (tmp_path / "line.svg").stat().st_mtime + 10
    os.utime(path, (later, later))
    assert hooks.out_of_date(path, tmp_path)


def test_sphinx_stops_at_a_figure_that_fails(hooks, module, monkeypatch):
    errors = pytest.importorskip("sphinx.errors")
    path = module("raise ValueError('no data')")
    listeners = {}
    app = type("App", (), {"connect": staticmethod(listeners.__setitem__)})
    hooks.setup(app)
    monkeypatch.setattr(hooks, "modules", lambda: {"line": path})
    monkeypatch.setattr(hooks, "draw_all", lambda paths: [hooks.draw(path, path.parent) for path in paths])
    with pytest.raises(errors.ExtensionError, match="no data"):
        listeners["builder-inited"](app)


@pytest.mark.slow
def test_the_command_names_the_figures_there_are():
    script = DOCS / "figures" / "hooks.py"
    done = subprocess.run([sys.executable, script, "no_such"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No such figure: no_such. There are " in done.stderr
