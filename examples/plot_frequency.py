"""
Accuracy against the label frequency
====================================

How much does it matter that few positives are labelled? This small study uses the breast cancer data that come with
scikit-learn. Labels are drawn at several label frequencies c, the share of positives that are labelled, and each method
is scored against the true classes. :class:`~propense.plots.FrequencyDisplay` draws the result, as in the figures of the
JERM paper.

"S2" labels clear cases more often. The dotted line is logistic regression with all true classes.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from propense.plots import FrequencyDisplay
from propense.study import PAPER_METHODS, Ledger, Study, run
from propense.study.summaries import summarise

study = Study(
    datasets=("wdbc",),
    mechanisms=("S2",),
    frequencies=(0.1, 0.3, 0.5, 0.7, 0.9),
    methods=tuple(PAPER_METHODS[name] for name in ("oracle", "naive", "pglin", "jerm")),
    repeats=3,
    protocol="clean",
)
with TemporaryDirectory() as folder, Ledger(Path(folder) / "study.ledger") as ledger:
    run(study, ledger)
    summaries = summarise(ledger.rows(study.cells()))

FrequencyDisplay.from_summaries(summaries, "wdbc", "S2")

# %%
# Three splits of one data set show how to draw the figure, not which method is better.
