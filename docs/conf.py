"""How Sphinx builds the site. `make docs` runs it; nothing is fetched, neither while building nor while reading."""

import warnings

import propense

project = "propense"
author = "The propense developers"
copyright = author
version = release = propense.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
smartquotes = False
default_role = "py:obj"
myst_heading_anchors = 3

# The button copies code, not prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
# The class template lists the methods; numpydoc would list them again.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "capture_repr": (),
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
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "propense"},
    "header_links_before_dropdown": 8,
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


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", _read)
