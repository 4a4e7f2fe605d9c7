"""
Ranks of methods over many problems
===================================

A table of hundreds of means is hard to read. :class:`~propense.plots.RankDisplay` ranks the methods on each problem (a
data set with a labelling) and draws the average ranks. Methods joined by a bar differ by less than the critical
difference of Nemenyi's test.

These are the 1 680 numbers published in the JERM paper, which come with propense. Its labels are given at random or
favour clear positives. If labels depend on something else, :doc:`the order changes <../which_method>`.
"""

from matplotlib import pyplot

from propense.plots import RankDisplay
from propense.study.compare import published

RankDisplay.from_summaries(published())

# %%
# By mechanism: labels at random among the positives (S1), and clear cases labelled far more often (S4).

figure, axes = pyplot.subplots(2, 1, figsize=(6, 5), layout="constrained")
for ax, mechanism in zip(axes, ("S1", "S4"), strict=True):
    chosen = [each for each in published() if each.mechanism == mechanism]
    RankDisplay.from_summaries(chosen, ax=ax)
    ax.set_title(mechanism, loc="left")
