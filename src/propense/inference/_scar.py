"""Is labelling plausibly at random? A test of SCAR by simulation, after Teisseyre, Furmańczyk and Mielniczuk (2024)."""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from propense._designs import as_design, column_moments
from propense._designs.threads import threads_by_size
from propense._inputs.inside import method_inside
from propense._inputs.labels import read_labels
from propense._inputs.options import Count, Number, Option, Seed, ValueOption, check_options
from propense._inputs.sample import Sample, read_sample
from propense._maths.arrays import Vector, library_of
from propense._representation import Readable, Sheet
from propense.errors import InvalidFeatures, InvalidLabels, InvalidOption
from propense.inference._scar_models import LabelModels, ScarFit

__all__ = ["ScarTest", "scar_test"]

# A p-value up to this is called small.
_LEVEL = 0.05
# The largest number of columns; a hundred take minutes.
_WIDEST = 1000
# Any share of positives.
_ANY = (1e-12, 1.0)
_OPTIONS: dict[str, Option] = {
    "most_labelled": Number(0.01, 1.0),
    "n_simulations": Count(high=10**6),
    "max_rows": Count(optional=True),
    "random_state": Seed(),
    "positive_label": ValueOption(),
}


@dataclass(frozen=True, eq=False, repr=False)
class ScarTest(Readable):
    """The result of `scar_test`; ``str()`` explains it in words.

    Attributes
    ----------
    p_value : float
        (1 + the number of simulated statistics that are at least the observed one) / (1 + the number simulated).
    statistic : float
        Twice the log-likelihood gained if the chance of a label may depend on the features, compared with a constant
        chance. ``prior`` and ``most_labelled`` limit the constant chance, but not the one that may depend on the
        features.
    simulated : ndarray of shape (n_simulations,)
        The same for labels drawn at random among the positives.
    label_frequency : float
        The estimated share of positives that are labelled, c = P(S=1 | Y=1), if labelling is at random.
    prevalence : float
        The estimated share of rows that are positive, P(Y=1), if labelling is at random.
    rows, labelled : int
        The number of rows tested, and how many of them are labelled.
    prior : tuple of float, or None
        The bounds on P(Y=1), if given.
    most_labelled : float
        The largest label frequency considered possible.
    """

    p_value: float
    statistic: float
    simulated: Vector
    label_frequency: float
    prevalence: float
    rows: int
    labelled: int
    prior: tuple[float, float] | None
    most_labelled: float

    def _headline(self) -> str:
        what = "probably not given at random" if self.p_value <= _LEVEL else "may have been given at random"
        return f"labels {what}, p = {self.p_value:.3f}, {self.rows:,} rows"

    def _sheets(self) -> list[Sheet]:
        lines = [
            ["p-value", f"{self.p_value:.3f}"],
            ["statistic", f"{self.statistic:.2f}"],
            ["rows, of which labelled", f"{self.rows:,}, {self.labelled:,}"],
            ["positive rows, if at random", f"{self.prevalence:.1%}"],
            ["positives labelled, if at random", f"{self.label_frequency:.1%}"],
        ]
        return [Sheet("", ["test of labels at random", ""], lines)]

    def __str__(self) -> str:
        """What p shows, and what it does not show."""
        count = int((self.simulated >= self.statistic).sum())
        simulations = (
            f"In {count} of {len(self.simulated)} simulations with labels given at random, the labels depended on the "
            f"features as strongly as here (p = {self.p_value:.3f})."
        )
        if self.p_value <= _LEVEL:
            return (
                f"Labels were probably not given at random among the positives. {simulations} Either the chance of a "
                f"label depends on the features, or the logistic model of being positive is too simple"
                f"{self._assumption()}."
            )
        words = f"Labels may have been given at random among the positives. {simulations} That does not prove they were"
        if self.prior is not None:
            return f"{words}."
        rows, labelled = (f"{share:.0%}" for share in (self.prevalence, self.label_frequency))
        labelled = "nearly all" if self.label_frequency > 0.99 else labelled
        return (
            f"{words}: labels that favour the clearest positives look the same unless the share of positives is known. "
            f"If labels were given at random, {rows} of rows would be positive and {labelled} of those labelled."
        )

    def _assumption(self) -> str:
        """What else may be wrong, if the answer depends on it."""
        if self.prior is not None:
            low, high = self.prior
            prior = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
            return f", or the share of positives is not {prior}"
        # The labels would be nearly all the positives: only this assumption speaks against that.
        if self.most_labelled == 1.0 or self.label_frequency < self.most_labelled - 1e-9:
            return ""
        return f", or more than {self.most_labelled:.0%} of the positives are labelled"


def scar_test(
    X: Any,
    y: Any,
    *,
    prior: float | tuple[float, float] | None = None,
    most_labelled: float = 0.8,
    propensity_features: Any = None,
    positive_label: Any = None,
    model: Any = None,
    n_simulations: int = 199,
    max_rows: int | None = 5000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ScarTest:
    """Test whether positives are labelled completely at random (SCAR): whether e(x) is the same for all of them.

    e(x) is the chance that a positive row is labelled. Two models of P(S=1 | x), the chance that a row is labelled, are
    fitted. In the first, c·σ(βᵀx), every positive has the same chance c of a label. In the second, σ(βᵀx)·σ(γᵀx), the
    chance depends on the features. (σ is the logistic function; βᵀx and γᵀx are weighted sums of the columns.) The
    second always fits better, if only by chance. To see how much better by chance, labels are drawn from the first
    model many times, and both models are fitted to them.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features. Their units do not matter. Columns of text, categories, dates and booleans, and missing cells, are
        prepared as `PUClassifier` with ``learners="linear"`` prepares them.
    y : array-like of shape (n_samples,)
        Which rows are labelled, as in ``fit``.
    prior : float, or pair of floats, default=None
        P(Y=1), the share of positives among all rows, if it is known from elsewhere, such as a survey; or its lower and
        upper bound. It makes the test much sharper.
    most_labelled : float, default=0.8
        Without a ``prior``: the largest possible share of positives that are labelled, c = P(S=1 | Y=1). Labels that
        favour the clearest positives look like the labels of fewer positives, nearly all of them labelled; only this
        assumption distinguishes the two. 1 assumes nothing and hardly detects them.
    propensity_features : list of str or of int, default=None
        The columns that the chance of a label may depend on; None means all. Fewer make the test sharper and faster.
    positive_label : int, float, bool or str, default=None
        The value of y that marks labelled rows, as in every estimator.
    model : fitted estimator of propense, or a pipeline or search that ends in one, default=None
        Tests the features as the estimator sees them: the steps before it transform X. Its ``propensity_features`` and
        ``positive_label`` are used unless others are passed. What it learned from the labels is not used.
    n_simulations : int, default=199
        How many times labels are drawn. The smallest possible p is 1 / (1 + n_simulations).
    max_rows : int or None, default=5000
        The largest number of rows to test, drawn at random; None tests all. Time is proportional to it.
    random_state : int, RandomState instance or None, default=None
        Draws the rows and the simulated labels.
    n_jobs : int, default=None
        The number of processes, as in scikit-learn. The result does not depend on it.

    Returns
    -------
    ScarTest

    Notes
    -----
    The test assumes that y(x) is logistic in the features; if it is not, a small p may only show that. Add squares or
    products of columns as new columns if the classes need them.

    References
    ----------
    P. Teisseyre, K. Furmańczyk, J. Mielniczuk. Verifying the selected completely at random assumption in
    positive-unlabeled learning. ECAI 2024. The idea of simulating random labels; the statistic differs.

    Examples
    --------
    >>> from propense import scar_test
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(1000, 4, random_state=0)
    >>> result = scar_test(data.X, data.labelled, n_simulations=39, random_state=0)
    >>> result.p_value
    0.025
    """
    if model is not None:
        inside = method_inside(model)
        X, own = inside.transform(X), inside.method.get_params(deep=False)
        propensity_features = own.get("propensity_features") if propensity_features is None else propensity_features
        positive_label = own.get("positive_label") if positive_label is None else positive_label
    if library_of(X) in ("torch", "dask"):
        raise InvalidFeatures(
            f"X is a {type(X).__name__} of {library_of(X)}; scar_test works in memory on a few thousand rows. Draw "
            "some, and pass them as an array."
        )
    arguments = _Arguments(propensity_features, most_labelled, n_simulations, max_rows, random_state, positive_label)
    check_options(arguments, _OPTIONS)
    sample, _ = read_sample(arguments, X, y, None, None, read_labels)
    random = check_random_state(random_state)
    features, labelled = _draw_rows(sample, max_rows, random)
    known = _read_prior(prior, float(labelled.mean()))
    _check_arguments(sample, labelled, known, most_labelled)
    most = 1.0 if known else most_labelled
    with threads_by_size(features.shape):
        models = LabelModels(_standardised(features), sample.propensity_columns, known or _ANY, most)
        null = models.fit_scar(labelled)
        simulated = _simulate(models, null, random.randint(2**32, size=n_simulations, dtype=np.uint32), n_jobs)
        statistic = models.likelihood_ratio(labelled, null)
    return ScarTest(
        p_value=(1 + int((simulated >= statistic).sum())) / (1 + n_simulations),
        statistic=statistic,
        simulated=simulated,
        label_frequency=null.frequency,
        prevalence=float(labelled.mean()) / null.frequency,
        rows=len(labelled),
        labelled=int(labelled.sum()),
        prior=known,
        most_labelled=most,
    )


class _Arguments(BaseEstimator):
    """The arguments, in the form that the readers of estimators' inputs take."""

    def __init__(
        self,
        propensity_features: Any,
        most_labelled: Any,
        n_simulations: Any,
        max_rows: Any,
        random_state: Any,
        positive_label: Any,
    ) -> None:
        self.propensity_features = propensity_features
        self.most_labelled = most_labelled
        self.n_simulations = n_simulations
        self.max_rows = max_rows
        self.random_state = random_state
        self.positive_label = positive_label

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def _prepares_columns(self) -> bool:
        return True


# Errors name the function that the user called.
_Arguments.__name__ = "scar_test"


def _check_arguments(sample: Sample, labelled: NDArray[np.bool_], known: Any, most_labelled: float) -> None:
    """Reject what the test cannot answer."""
    share = float(labelled.mean())
    if sample.negative is not None:
        raise InvalidLabels(
            "scar_test does not take known negatives: the smaller value of y, next to missing ones. Set it to missing."
        )
    if known is None and share >= most_labelled:
        raise InvalidOption(
            f"scar_test(most_labelled={most_labelled:g}): {share:.3f} of all rows are labelled, and a larger share of "
            "the positives. Raise most_labelled."
        )
    if sample.propensity_columns is not None and not len(sample.propensity_columns):
        raise InvalidOption(
            "scar_test(propensity_features=[]): name the columns that labels may depend on, or pass None for all."
        )


def _draw_rows(sample: Sample, max_rows: int | None, random: Any) -> tuple[Any, NDArray[np.bool_]]:
    """The features and labels of at most `max_rows` rows, drawn at random, with labelled and unlabelled ones."""
    features, labelled = sample.design.features, sample.labelled
    if max_rows is None or len(labelled) <= max_rows:
        return features, labelled
    rows = np.sort(random.choice(len(labelled), max_rows, replace=False))
    if labelled[rows].any() and not labelled[rows].all():
        return features[rows], labelled[rows]
    raise InvalidOption(
        f"scar_test(max_rows={max_rows}): the rows drawn from {len(labelled)}, of which {int(labelled.sum())} are "
        "labelled, are all labelled or all unlabelled. Raise max_rows."
    )


def _standardised(features: Any) -> Any:
    """Each column centred and divided by its standard deviation, dense, so that units do not matter."""
    if features.shape[1] > _WIDEST:
        raise InvalidFeatures(
            f"X has {features.shape[1]} columns, too many for scar_test, which fits hundreds of models. Pass the "
            f"{_WIDEST} most important ones, or fewer."
        )
    means, spreads = column_moments(as_design(features))
    dense = features.toarray() if sp.issparse(features) else features
    return (dense.astype(np.float64) - means) / np.where(spreads > 0, spreads, 1.0)


def _read_prior(prior: Any, share: float) -> tuple[float, float] | None:
    """The bounds on P(Y=1), the upper one at least the share of labelled rows."""
    if prior is None:
        return None
    pair = (prior, prior) if isinstance(prior, numbers.Real) else prior
    if not isinstance(pair, Sequence) or len(pair) != 2 or not all(isinstance(each, numbers.Real) for each in pair):
        raise InvalidOption(f"scar_test(prior={prior!r}): must be a number, a pair of numbers or None.")
    low, high = map(float, pair)
    if not 0 < low <= high <= 1:
        raise InvalidOption(f"scar_test(prior={prior!r}): must be above 0 and at most 1, the lower bound first.")
    if high < share:
        raise InvalidOption(
            f"scar_test(prior={prior!r}): {share:.3f} of the rows are labelled, and all of these are positive. Pass "
            "the share of positives among all rows, labelled or not."
        )
    return low, high


def _simulate(models: LabelModels, null: ScarFit, seeds: Any, n_jobs: int | None) -> Vector:
    """The statistic of random labels, for each seed."""
    shares = np.array_split(seeds, min(4 * effective_n_jobs(n_jobs), len(seeds)))
    parts = Parallel(n_jobs=n_jobs)(delayed(_statistics)(models, null, share) for share in shares)
    return np.concatenate(parts)


def _statistics(models: LabelModels, null: ScarFit, seeds: Any) -> Vector:
    out = np.empty(len(seeds))
    for position, seed in enumerate(seeds):
        labelled = models.draw(null, np.random.default_rng(int(seed)))
        out[position] = models.likelihood_ratio(labelled, models.fit_scar(labelled, null))
    return out
