"""How text is set, whoever wrote it: a Sphinx extension.

Columns of numbers are aligned to the right. A number does not break at the space within it. Commands, and the sentences
that a command or an example prints, wrap like those of a page; only tables among the output keep their lines. The
classes that this needs have their rules in _static/site.css.
"""

import re

from docutils import nodes
from pygments.lexers.python import PythonConsoleLexer
from pygments.lexers.shell import BashSessionLexer
from pygments.lexers.special import TextLexer
from pygments.token import Generic, Text
from sphinx.transforms import SphinxTransform

# A frame, a gap between words, or a line far to the right.
TABLE = re.compile(r"[|─-╿]|\S {2,}\S|^ {5,}", re.MULTILINE)
# The space before the thousands, and that after a sign between two numbers.
WITHIN = re.compile(r"(?<=\d) (?=\d{3}(?!\d))|(?<=\d [±×]) (?=\d)")
# What is copied or is the name of an anchor stays as it was written.
KEPT = nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw | nodes.title
LETTER = re.compile(r"[^\W\d_]")


class AlignNumbers(SphinxTransform):
    """Align columns of numbers to the right, unless the page says otherwise."""

    default_priority = 500

    def apply(self):
        for table in self.document.findall(nodes.tgroup):
            rows = [list(row) for row in table.findall(nodes.row)]
            body = next(iter(table.findall(nodes.tbody)), None)
            if body is None or len({len(row) for row in rows}) != 1:
                continue
            for column in range(1, len(rows[0])):
                cells = [text for row in body if re.search(r"\w", text := row[column].astext())]
                # A word here and there, such as that a fit failed, leaves it a column of numbers.
                if cells and sum(not LETTER.search(text) for text in cells) >= 0.75 * len(cells):
                    for entry in (row[column] for row in rows):
                        if not any(each.startswith("text-") for each in entry["classes"]):
                            entry["classes"].append("text-right")


class KeepNumbers(SphinxTransform):
    """Put spaces that do not break within numbers."""

    default_priority = 500

    def apply(self):
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, KEPT):
                continue
            kept = WITHIN.sub("\N{NO-BREAK SPACE}", text)
            if kept != text:
                text.parent.replace(text, nodes.Text(kept))


class MarkLongNames(SphinxTransform):
    """Mark inline code with a word that is too long for a line of a narrow screen."""

    default_priority = 500

    def apply(self):
        for literal in self.document.findall(nodes.literal):
            if max(map(len, literal.astext().split()), default=0) > 36:
                literal["classes"].append("long")


class WrapCommands(SphinxTransform):
    """Let blocks of text wrap that are neither a table nor a drawing nor code."""

    default_priority = 500

    def apply(self):
        for block in self.document.findall(nodes.literal_block):
            if block.get("language") == "text" and not TABLE.search(block.astext()) and "\n " not in block.astext():
                block["classes"].append("wraps")


class _Words:
    """Marks words of commands, and lines of output that are part of a table."""

    def get_tokens_unprocessed(self, text, *stack):
        for start, kind, part in super().get_tokens_unprocessed(text, *stack):
            for piece in re.findall(
                r".*\n|.+" if kind is Generic.Output else r"\S+|\s+" if kind is Text else r"(?s).+", part
            ):
                marked = kind
                if kind is Generic.Output and TABLE.search(piece):
                    marked = Generic.Output.Table
                elif kind is Text and not piece.isspace():
                    marked = Text.Word
                yield start, marked, piece
                start += len(piece)


class Session(_Words, BashSessionLexer):
    """Commands and what they print."""


class Examples(_Words, PythonConsoleLexer):
    """Examples of Python and what they print."""


class Plain(_Words, TextLexer):
    """Commands alone, and other text."""


def setup(app):
    """Called by Sphinx."""
    app.add_transform(AlignNumbers)
    app.add_transform(KeepNumbers)
    app.add_transform(MarkLongNames)
    app.add_transform(WrapCommands)
    app.add_lexer("console", Session)
    app.add_lexer("pycon", Examples)
    app.add_lexer("text", Plain)
    return {"parallel_read_safe": True}
