"""Fits that can be stopped and go on."""

from pathlib import Path
from typing import Any, TypeVar

from propense._checkpoints import Checkpoint
from propense._steps.watch import Progress, Watch
from propense.errors import InvalidOption
from propense.estimators._base import BasePUClassifier

__all__ = ["fit_resumable"]

Method = TypeVar("Method", bound=BasePUClassifier)


def fit_resumable(
    estimator: Method,
    X: Any,
    y: Any,
    checkpoint: str | Path,
    *,
    sample_weight: Any = None,
    known_negative: Any = None,
    progress: Progress | None = None,
) -> Method:
    """Fit an estimator in such a way that the same call goes on if the fit is stopped, even by a crash.

    The result is that of ``estimator.fit(X, y)``. `JERM`, `TM`, `SAREM` and `LBE` go on from their last complete round
    (JERM also from within it), and `JointMLE` from its last complete start. `PUClassifier` and other methods start
    again, and so do models other than logistic regression.

    Parameters
    ----------
    estimator : BasePUClassifier
    X, y, sample_weight, known_negative
        As in ``fit``.
    checkpoint : str or Path
        The file that holds the finished parts: coefficients and the numbers of spies, no rows. It is replaced whole
        after each part, and removed after the fit. A file of another method, version, data or other parameters is
        refused; the data are recognised by the number of rows and by sums that depend on their order, which takes one
        pass.
    progress : callable, default=None
        Called as ``progress(stage, passes, seconds)`` when a stage or a pass over a Dask array begins. Passes and
        seconds include those of the stopped fit, up to the last part it kept.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    CheckpointError
        If the file belongs to another fit, is not a checkpoint, or cannot be written.
    InvalidOption
        If the estimator is not one of propense, such as a pipeline.

    Examples
    --------
    >>> from propense import SAREM
    >>> from propense.datasets import make_double_logistic
    >>> from propense.estimators import fit_resumable
    >>> data = make_double_logistic(2000, random_state=0)
    >>> model = fit_resumable(SAREM(), data.X, data.labelled, "sarem.checkpoint")
    >>> model.converged_
    True
    """
    if not isinstance(estimator, BasePUClassifier):
        raise InvalidOption(
            f"fit_resumable takes an estimator of propense, not a {type(estimator).__name__}. Transform X first, and "
            "pass the last step of a pipeline."
        )
    file = Checkpoint(Path(checkpoint))
    with Watch(progress, file).observing(estimator):
        estimator.fit(X, y, sample_weight, known_negative=known_negative)
    file.remove()
    return estimator
