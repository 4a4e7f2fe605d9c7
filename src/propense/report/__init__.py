"""Reports as self-contained HTML pages, one file each."""

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
