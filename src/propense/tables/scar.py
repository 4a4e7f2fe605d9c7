"""Test whether the labels of a table look drawn at random among its positives."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.inference import ScarTest, scar_test
from propense.tables.prepare import FitOptions

__all__ = ["run_scar_test"]

# The test takes seconds on this many rows; larger tables are sampled.
_ROWS = 2000
# The test assumes that at most this share of the positives, and so of the rows, is labelled.
_MOST_LABELLED = 0.8
# The test takes seconds up to the first number of features, and too long beyond the second.
_QUICK, _FEATURES = 30, 100
_UNTESTED = "Whether labels are given at random was not tested:"


def run_scar_test(
    options: FitOptions,
    estimator: Any,
    features: Any,
    labelled: NDArray[np.bool_],
    origins: Sequence[str] | None = None,
    starts: Callable[[], None] | None = None,
) -> tuple[ScarTest | None, list[str]]:
    """Run `scar_test` on at most 2 000 rows if it is asked for or quick; or note why it was not run.

    `origins` are the columns that the features come from, if the estimator was fitted to the columns. `starts` is
    called before a test that runs.
    """
    count = features.shape[1]
    # Shares by group say little of the share of all rows.
    prior = None if isinstance(options.prior, Mapping) else options.prior
    asked = options.scar_test or prior is not None
    if options.scar_test is False or (not asked and count > _QUICK):
        return None, []
    columns = getattr(estimator, "propensity_features", None)
    if columns is not None and origins is not None:
        named = {each if isinstance(each, str) else estimator.feature_names_in_[each] for each in columns}
        columns = [j for j, origin in enumerate(origins) if origin in named]
    if count > _FEATURES:
        return None, [f"{_UNTESTED} with {count} features the test would take too long."]
    drawn = labelled
    if len(labelled) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(labelled), _ROWS, replace=False))
        features, drawn = features[rows], labelled[rows]
    if columns is not None and not len(columns):
        return None, []
    if drawn.mean() >= _MOST_LABELLED and prior is None:
        return None, [f"{_UNTESTED} most rows are labelled. Pass prior= if you know the share of positive rows."]
    if not drawn.any() or drawn.all():
        which = "none" if not drawn.any() else "all"
        return None, [f"{_UNTESTED} {which} of the {len(drawn):,} sampled rows are labelled."]
    if prior is not None:
        low, high = prior if isinstance(prior, tuple | list) else (prior, prior)
        # By chance the sample may have a larger share of labels than the table.
        least = float(drawn.mean()) if high >= labelled.mean() else 0.0
        prior = max(low, least), max(high, least)
    if starts is not None:
        starts()
    return scar_test(features, drawn, prior=prior, propensity_features=columns, random_state=0), []
