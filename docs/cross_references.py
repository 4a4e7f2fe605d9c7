"""Links between pages, the reference and other projects: a Sphinx extension that fetches nothing.

The names of other projects that our pages and docstrings use are listed in inventories/<project>.txt, in the lines of
Sphinx's own inventories after a first line with the address of the project's documentation. They are compiled when the
site is built. Inline code of a page that is such a name, or a public name of propense, becomes a link the first time
that a section mentions it, so that the pages stay plain Markdown.
"""

import importlib
import inspect
import re
import zlib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import propense

HERE = Path(__file__).parent
ROOMS = ("", "audit", "inference", "labelling", "datasets", "metrics", "tables", "study", "plots", "report", "errors")
HEADER = "# Sphinx inventory version 2\n# Project: {}\n# Version: \n# The rest is compressed by zlib.\n"


def inventories():
    """The address and the lines of each project's inventory."""
    for path in sorted((HERE / "inventories").glob("*.txt")):
        address, *lines = path.read_text().splitlines()
        yield path.stem, address.removeprefix("# "), lines


def public_classes():
    """The public classes of propense by their short names; the first place that documents one counts."""
    classes = {}
    for room in ROOMS:
        module = importlib.import_module(f"propense.{room}".rstrip("."))
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)):
                classes.setdefault(name, f"{module.__name__}.{name}")
    return classes


def link_names():
    """What inline code may say, and the full name that it then links to."""
    names = public_classes()
    for _, _, lines in inventories():
        for full in (line.split()[0] for line in lines if " py:" in line):
            short = full.rpartition(".")[2]
            if "." in full:
                names[full] = full
                # Names in lower case, such as scale, also mean other things.
                if short[0].isupper():
                    names.setdefault(short, full)
    names.update({f"propense.{name}": f"propense.{name}" for name in propense.__all__})
    return names


class LinkNames(SphinxTransform):
    """Turn the first mention of a known name in a section into a link."""

    default_priority = 500

    def apply(self):
        if self.env.docname.startswith(("reference/", "gallery/")):
            return
        names, seen = link_names(), set()
        for literal in list(self.document.findall(nodes.literal)):
            full = names.get(re.sub(r"\(.*\)$", "", literal.astext()))
            parent = literal.parent
            if full is None or isinstance(parent, nodes.title | nodes.reference | addnodes.pending_xref):
                continue
            while not isinstance(parent, nodes.section | nodes.document):
                parent = parent.parent
            if (id(parent), full) in seen:
                continue
            seen.add((id(parent), full))
            link = addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=full, refdoc=self.env.docname)
            literal.replace_self(link)
            link += literal


def compile_inventories(app, config):
    """Write the inventories where intersphinx reads them, and say where."""
    folder = Path(app.doctreedir) / "inventories"
    folder.mkdir(parents=True, exist_ok=True)
    for project, address, lines in inventories():
        compiled = folder / f"{project}.inv"
        compiled.write_bytes(HEADER.format(project).encode() + zlib.compress(("\n".join(lines) + "\n").encode()))
        config.intersphinx_mapping[project] = (address, str(compiled))


def setup(app):
    """Called by Sphinx."""
    # Before intersphinx checks its mapping, with priority 800.
    app.connect("config-inited", compile_inventories, priority=700)
    app.add_transform(LinkNames)
    return {"parallel_read_safe": True}
