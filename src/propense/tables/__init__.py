"""Tables: read and write files in batches, recognise the kinds of columns, fit a model and score rows with it."""

from propense.tables.files import TableFile, TableWriter
from propense.tables.fit import Counts, TableFit, fit_table, summarise_estimator
from propense.tables.folder import TableFolder
from propense.tables.folder_fit import fit_folder
from propense.tables.groups import Group, Grouping
from propense.tables.labels import Label
from propense.tables.learned import describe_assumptions, describe_groups, describe_learning
from propense.tables.model import Scores, TableModel
from propense.tables.prepare import FitOptions
from propense.tables.promise import Promise
from propense.tables.review import ReviewList, list_rows, write_list
from propense.tables.schema import Column, Schema
from propense.tables.scoring import Scored, score_file
from propense.tables.suggest import Suggestion, suggest_columns

__all__ = [
    "Column",
    "Counts",
    "FitOptions",
    "Group",
    "Grouping",
    "Label",
    "Promise",
    "ReviewList",
    "Schema",
    "Scored",
    "Scores",
    "Suggestion",
    "TableFile",
    "TableFit",
    "TableFolder",
    "TableModel",
    "TableWriter",
    "describe_assumptions",
    "describe_groups",
    "describe_learning",
    "fit_folder",
    "fit_table",
    "list_rows",
    "score_file",
    "suggest_columns",
    "summarise_estimator",
    "write_list",
]
