"""For the person with a table: files read and written in batches, columns understood, a model of them."""

from propense.tables.files import TableFile, TableWriter
from propense.tables.fit import Counts, TableFit, explain, fit_table
from propense.tables.folder import TableFolder
from propense.tables.folder_fit import fit_folder
from propense.tables.groups import Group, Grouping
from propense.tables.labels import Label
from propense.tables.model import Scores, TableModel
from propense.tables.prepare import METHODS, Choices
from propense.tables.schema import Column, Schema
from propense.tables.scoring import Scored, score_file

__all__ = [
    "METHODS",
    "Choices",
    "Column",
    "Counts",
    "Group",
    "Grouping",
    "Label",
    "Schema",
    "Scored",
    "Scores",
    "TableFile",
    "TableFit",
    "TableFolder",
    "TableModel",
    "TableWriter",
    "explain",
    "fit_folder",
    "fit_table",
    "score_file",
]
