"""How Sphinx builds the site. `make docs` runs it; nothing is fetched, neither while building nor while reading."""

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import propense

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import cross_references  # noqa: E402

project = "propense"
author = "The propense developers"
copyright = author
version = release = propense.__version__

extensions = [
    "cross_references",
    "figures.hooks",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "typography",
]
exclude_patterns = ["_build", "inventories"]
templates_path = ["_templates"]
smartquotes = False
default_role = "py:obj"
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
# A dollar sign before a digit or after a space is money or a prompt.
myst_dmath_allow_digits = myst_dmath_allow_space = False

# One file, which needs neither fonts nor a network: formulas are drawn as SVG.
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

# The button copies code, not prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
# The class template lists the methods; numpydoc would list them again.
numpydoc_show_class_members = False
# Types of parameters link to what they are: Python, NumPy, and classes of propense.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = cross_references.public_classes() | {
    "Path": "pathlib.Path",
    "bool": ":class:`bool`",
    "sparse": ":mod:`sparse <scipy.sparse>`",
}
# Filled by cross_references, from docs/inventories.
intersphinx_mapping = {}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "capture_repr": (),
    # Pages of the reference end with the examples that use the name.
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("propense",),
    "write_computation_times": False,
}
# An example that warns is an example to repair.
warnings.simplefilter("error", UserWarning)
# A doubt about a fit is a finding: two examples show where JERM goes wrong, and say so.
warnings.simplefilter("ignore", propense.errors.DoubtfulFit)

html_theme = "pydata_sphinx_theme"
html_title = f"propense {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_search_scorer = str(HERE / "_static" / "scorer.js")
# Without it the theme reports on the console that there is none.
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "propense"},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"install": [], "tutorial": [], "which_method": []}

# Links that leave docs/ in the repository stay in the site, and a page written by `propense study table` gets a title.
_LINKS = {"](../benchmarks/README.md)": "](benchmarks.md)"}
_TITLES = {
    "reproduction/tabular_tables": "# The tables of the reproduction\n\n## Tabular data sets\n\n",
    "reproduction/images_tables": "# The tables of the images\n\n## Image sets, other features than the paper's\n\n",
}


def _read(app, name, source):
    text = _TITLES.get(name, "") + source[0]
    for there, here in _LINKS.items():
        text = text.replace(there, here)
    source[0] = text


def _mathjax(app):
    # The folder's name is not one that Python can import, but it can be found.
    folder = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    app.config.html_static_path.append(str(folder / "static" / "mathjax" / app.config.mathjax_path))


def _link_back(app, name, template, context, doctree):
    # viewcode takes one name of a module for all that it holds, but some are documented as propense.x and some as
    # propense.inference.x. Their pages are called by the right one.
    if name.startswith("_modules/") and "body" in context:
        link = r'(generated/(propense[\w.]*)\.html)#(?!\2[".])[\w.]+"'
        context["body"] = re.sub(link, r'\1#\2"', context["body"])


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", _read)
    app.connect("builder-inited", _mathjax)
    app.connect("html-page-context", _link_back)
