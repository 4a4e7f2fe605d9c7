"""Self-contained HTML pages: gather plain data, render a template, write one file."""

from propense.report.study import gather_study, render_study

__all__ = ["gather_study", "render_study"]
