"""Whether the labels of a table look drawn at random among its positives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidOption
from propense.inference import ScarTest, scar_test
from propense.tables.prepare import Choices

__all__ = ["check_asked", "labels_at_random"]

# Of more rows so many are drawn: some seconds, however large the table.
_ROWS = 2000
# What the test supposes of the share of the positives that is labelled, and so of the rows.
_MOST_LABELLED = 0.8
# With more features than these the test takes more than seconds, and minutes.
_QUICK, _FEATURES = 30, 100


def check_asked(choices: Choices) -> None:
    """Refuse a prior that nothing would use."""
    if choices.prior is not None and choices.scar_test is False:
        raise InvalidOption(f"The prior {choices.prior:g} is used by the test of labels at random alone: --scar-test.")


def labels_at_random(
    choices: Choices, estimator: Any, features: Any, labelled: NDArray[np.bool_]
) -> tuple[ScarTest | None, list[str]]:
    """What `scar_test` says of at most 2 000 rows, if it is asked for or quick, and what there is to know of it."""
    count = features.shape[1]
    asked = choices.scar_test or choices.prior is not None
    if choices.scar_test is False or (not asked and count > _QUICK):
        return None, []
    columns = getattr(estimator, "propensity_features", None)
    if count > _FEATURES:
        return None, [f"The labels were not tested (--scar-test): with {count} features it would take too long."]
    drawn = labelled
    if len(labelled) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(labelled), _ROWS, replace=False))
        features, drawn = features[rows], labelled[rows]
    if columns is not None and not len(columns):
        return None, []
    if drawn.mean() >= _MOST_LABELLED and choices.prior is None:
        return None, ["The labels were not tested (--scar-test): most rows are labelled. Say --prior."]
    if not drawn.any() or drawn.all():
        return None, [f"The labels were not tested (--scar-test): {len(drawn):,} rows drawn are all alike."]
    prior = choices.prior
    if prior is not None and prior >= labelled.mean():
        # Chance may have drawn more labels than there are on average.
        prior = max(prior, float(drawn.mean()))
    return scar_test(features, drawn, prior=prior, propensity_features=columns, random_state=0), []
