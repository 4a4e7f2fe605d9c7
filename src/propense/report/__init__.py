"""Self-contained HTML pages: gather plain data, render a template, write one file."""

from propense.report.fit import FitReport, gather_fit, render_fit, report_fit
from propense.report.page import Page, check_extra
from propense.report.study import StudyReport, gather_study, render_study

__all__ = [
    "FitReport",
    "Page",
    "StudyReport",
    "check_extra",
    "gather_fit",
    "gather_study",
    "render_fit",
    "render_study",
    "report_fit",
]
