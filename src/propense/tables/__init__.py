"""Tables: read and write files in batches, recognise the kinds of columns, fit a model and score rows with it."""

from propense.tables.audit import TableAudit, Verdicts, correct_model, draw_audit, read_audit, write_audit
from propense.tables.audit_advice import AuditAdvice, advise_audit
from propense.tables.bounds import bound_table, describe_bounds
from propense.tables.capacity import Capacity, Cheapest, ToFind, capacity
from propense.tables.compare import Comparison, MethodResult, compare_table
from propense.tables.compare_words import describe_comparison
from propense.tables.conclusion import Conclusion, conclude
from propense.tables.configuration import as_toml
from propense.tables.drift import Drift, MovedColumn
from propense.tables.files import TableFile, TableWriter
from propense.tables.fit import Counts, TableFit, fit_table, summarise_estimator
from propense.tables.folder import TableFolder
from propense.tables.folder_fit import fit_folder
from propense.tables.groups import Group, Grouping
from propense.tables.headline import Headline, headline
from propense.tables.label_columns import LabelColumns
from propense.tables.labels import Label
from propense.tables.learned import describe_assumptions, describe_groups, describe_learning
from propense.tables.model import Scores, TableModel
from propense.tables.prepare import FitOptions
from propense.tables.promise import Promise
from propense.tables.reasons import RowReasons, row_reasons
from propense.tables.review import ReviewList, list_rows, write_list
from propense.tables.schema import Column, Schema
from propense.tables.scoring import Scored, score_file
from propense.tables.spelling import Spelling
from propense.tables.suggest import Suggestion, suggest_columns
from propense.tables.under_labelled import GroupComparison, GroupShare, compare_groups

__all__ = [
    "AuditAdvice",
    "Capacity",
    "Cheapest",
    "Column",
    "Comparison",
    "Conclusion",
    "Counts",
    "Drift",
    "FitOptions",
    "Group",
    "GroupComparison",
    "GroupShare",
    "Grouping",
    "Headline",
    "Label",
    "LabelColumns",
    "MethodResult",
    "MovedColumn",
    "Promise",
    "ReviewList",
    "RowReasons",
    "Schema",
    "Scored",
    "Scores",
    "Spelling",
    "Suggestion",
    "TableAudit",
    "TableFile",
    "TableFit",
    "TableFolder",
    "TableModel",
    "TableWriter",
    "ToFind",
    "Verdicts",
    "advise_audit",
    "as_toml",
    "bound_table",
    "capacity",
    "compare_groups",
    "compare_table",
    "conclude",
    "correct_model",
    "describe_assumptions",
    "describe_bounds",
    "describe_comparison",
    "describe_groups",
    "describe_learning",
    "draw_audit",
    "fit_folder",
    "fit_table",
    "headline",
    "list_rows",
    "read_audit",
    "row_reasons",
    "score_file",
    "suggest_columns",
    "summarise_estimator",
    "write_audit",
    "write_list",
]
