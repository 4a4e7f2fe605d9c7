"""Reports as self-contained HTML pages, one file each."""

from propense.report.compare import ComparisonReport, gather_comparison
from propense.report.fit import FitReport, gather_fit, report_fit
from propense.report.page import Page, check_extra, render
from propense.report.study import StudyReport, gather_study

__all__ = [
    "ComparisonReport",
    "FitReport",
    "Page",
    "StudyReport",
    "check_extra",
    "gather_comparison",
    "gather_fit",
    "gather_study",
    "render",
    "report_fit",
]
