"""How far the labelled share of each group is off, as fits show it: `python benchmarks/group_shares.py [--paper]`.

Three answers for every group of every column, each compared with the share of the group's positives that are labelled
(the first three numbers) and with the mean chance of a label of these positives (the next three): one share for all
groups; labels divided by estimated positives, group by group; and what `propense fit` shows, pooled, drawn together,
and the same for all groups where they cannot be told apart. A column with many small groups is added. Labels: all
positives alike; along the class score; along a direction; by one column; by the added column. c = .4. The last two also
with the right column named. Data as in `benchmarks/unseen.py`, or the 16 tables of the JERM paper.
"""

import argparse
import warnings
import zlib
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from propense import JERM, PUClassifier
from propense._maths.logistic import sigmoid
from propense.tables.fit import TableFit, summarise_estimator
from propense.tables.groups import Grouping
from propense.tables.under_labelled import GroupShare, compare_groups
from review_lists import paper_sets
from unseen import FREQUENCY, Mask, Rows, sets

RULES = ("all alike", "along the class", "along a direction", "by a column", "by a group")
METHODS = ("PUClassifier", "PUClassifier, column named", "JERM")
ANSWERS = ("constant", "each by itself", "shown")
HEAD = (*ANSWERS, *(f"{each}, chance" for each in ANSWERS), "told apart", "shares held", "ratios held")
_SITES, _SMALLEST = 12, 1.3


def site_of(rows: int, rng: np.random.Generator) -> Rows:
    """A group for each row, many of them small."""
    sizes = _SMALLEST ** -np.arange(_SITES)
    return rng.choice(_SITES, rows, p=sizes / sizes.sum()).astype(float)


def chances(X: Rows, sites: Rows, positive: Mask, rule: str, rng: np.random.Generator) -> tuple[Rows, int]:
    """e(x) of every row, and the column it depends on."""
    column = int(rng.integers(X.shape[1]))
    standard = scale(X)
    if rule == "all alike":
        odds = np.zeros(len(X))
    elif rule == "by a column":
        odds = np.where(X[:, column] > np.median(X[:, column]), 1.0, -1.0)
    elif rule == "by a group":
        odds, column = np.where(rng.permutation(_SITES) % 2, 1.0, -1.0)[sites.astype(int)], X.shape[1]
    elif rule == "along a direction":
        odds = 1.5 * scale(standard @ rng.normal(size=X.shape[1]))
    else:
        odds = 1.5 * scale(LogisticRegression(max_iter=1000).fit(standard, positive).decision_function(standard))
    shift = brentq(lambda a: float(sigmoid(odds[positive] + a).mean()) - FREQUENCY, -60.0, 60.0)
    return np.asarray(sigmoid(odds + shift)), column


def fit(method: str, X: Rows, sites: Rows, labelled: Mask, column: int) -> TableFit:
    """The method with the sites as a category."""
    import pandas as pd  # type: ignore[import-untyped]

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["site"] = pd.Categorical([f"s{int(each)}" for each in sites])
    if method == "JERM":
        # It takes numbers only: a column for each site.
        frame = pd.get_dummies(frame, dtype=float)
        return summarise_estimator(JERM().fit(frame, labelled), frame, labelled)
    named = [frame.columns[column]] if "named" in method else None
    model = PUClassifier(propensity_features=named, random_state=0).fit(frame, labelled)
    return summarise_estimator(model, frame, labelled)


def errors(found: TableFit, column: Rows, shares: dict[float, GroupShare], e: Rows, positive: Mask) -> Any:
    """The mean errors of the three answers over the groups of a column, before any pooling."""
    labelled = found.labelled
    overall = labelled.sum() / found.expected.sum()
    lines = []
    for code in np.unique(column):
        rows = column == code
        mine = rows & positive
        if mine.any():
            alone = labelled[rows].sum() / max(found.expected[rows].sum(), 1e-9)
            shown = shares[code]
            answers = overall, alone, shown.share if shown.known else overall
            truths = labelled[mine].mean(), e[mine].mean()
            lines.append([abs(each - truth) for truth in truths for each in answers])
    return np.mean(lines, axis=0)


def held(found: TableFit, column: Rows, shares: dict[float, GroupShare], labelled: Mask, positive: Mask) -> Any:
    """Of the groups that are shown, how often the ranges of share and of ratio hold the truth."""
    overall, lines = labelled.sum() / positive.sum(), []
    for each in dict.fromkeys(shares.values()):
        rows = np.isin(column, [code for code, other in shares.items() if other is each])
        if each.known and positive[rows].any():
            truth = labelled[rows].sum() / positive[rows].sum()
            share = np.nan if np.isnan(each.low) else each.low <= truth <= each.high
            lines.append([share, each.ratio_low <= truth / overall <= each.ratio_high])
    return np.mean(lines, axis=0) if lines else np.full(2, np.nan)


def measure(name: str, X: Rows, positive: Mask, rule: str, method: str, seed: int) -> list[float]:
    """The means over the columns of one fit."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, zlib.crc32(f"{name}, {rule}".encode())])
    sites = site_of(len(X), rng)
    e, column = chances(X, sites, positive, rule, rng)
    labelled = positive & (rng.random(len(X)) < e)
    found = fit(method, X, sites, labelled, column)
    lines = []
    groupings = {each.column: each for each in found.groups}
    for comparison in compare_groups(found.groups):
        place = found.schema.names.index(comparison.column)
        codes = parts(found, place, groupings[comparison.column])
        fine = codes if found.schema.columns[place].kind == "number" else found.matrix[:, place]
        shares = {code: comparison.groups[int(codes[fine == code][0])] for code in np.unique(fine)}
        told = [errors(found, fine, shares, e, positive), [float(comparison.differs)]]
        lines.append(np.concatenate([*told, held(found, fine, shares, labelled, positive)]))
    return list(np.nanmean(lines, axis=0))


def parts(found: TableFit, place: int, grouping: Grouping) -> Rows:
    """Which group of the grouping each row is in, found by the same cuts."""
    from propense.tables.groups import _pool

    names, codes = _pool(found.schema.columns[place], found.matrix[:, place], found.expected)
    here = [code for code in range(len(names)) if (codes == code).any()]
    assert len(here) == len(grouping.groups)
    return np.searchsorted(here, codes).astype(float)


def main() -> None:
    """Print a Markdown table: a row for each way of labelling and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="only every so manieth world, for a quick look")
    asked = parser.parse_args()
    data = [(name, X[:, :8], y) for name, X, y in (paper_sets() if asked.paper else sets())]
    worlds = [
        (*each, rule, method, seed)
        for each in data
        for rule in RULES
        for method in METHODS
        for seed in range(asked.seeds)
        if rule.startswith("by") or "named" not in method
    ][:: asked.every]
    found = np.array(Parallel(n_jobs=asked.jobs)(delayed(measure)(*each) for each in worlds))
    print(f"| labels | method | {' | '.join(HEAD)} | fits |\n| --- | --- |{' ---: |' * (len(HEAD) + 1)}")
    kinds = [each[3:5] for each in worlds]
    for kind in sorted(set(kinds), key=lambda each: (METHODS.index(each[1]), RULES.index(each[0]))):
        mine = found[[each == kind for each in kinds]]
        cells = " | ".join("–" if np.isnan(mean) else f"{mean:.3f}".lstrip("0") for mean in np.nanmean(mine, axis=0))
        print(f"| {kind[0]} | {kind[1]} | {cells} | {len(mine)} |")


if __name__ == "__main__":
    main()
