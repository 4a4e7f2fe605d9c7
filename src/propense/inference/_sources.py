"""Are several sources of labels independent among the positives? A test, and what dependence would mean."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import chdtrc
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from propense._inputs.inside import method_inside
from propense._inputs.sample import Sample, read_sample
from propense._maths.arrays import Matrix, Vector
from propense._maths.looks import MOST_PATTERNS
from propense._representation import Readable
from propense._risks import SourcesRisk
from propense._steps.predictors import LogisticPredictor
from propense._steps.source_looks import fit_sources, sources_risk
from propense.errors import InvalidInput, InvalidOption
from propense.estimators import SeveralSources

__all__ = ["PairOfSources", "SourcesTest", "sources_test"]

_LEVEL = 0.05
# The odds ratios of two sources for which the share of positives is estimated again.
_RATIOS = (0.5, 2.0)
# The prior on the rows passed may differ from that of fit by this: sums in another order round differently.
_SAME = 1e-6
# A variance below this share of the largest is rounding: the pair cannot be tested.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PairOfSources:
    """Two sources, and how often both label a row.

    Attributes
    ----------
    names : tuple of str
    observed, expected : float
        The number of rows that both have labelled, and the number expected if they were independent.
    z : float
        How far the two are apart, in standard errors; NaN if that cannot be tested. Above 0, the sources agree more
        often than independent ones would, and the share of positives is underestimated.
    """

    names: tuple[str, str]
    observed: float
    expected: float
    z: float


@dataclass(frozen=True, repr=False)
class SourcesTest(Readable):
    """The result of `sources_test`; ``str()`` explains it in words.

    Attributes
    ----------
    p_value : float
        The p-value of the test that all pairs of sources are independent; NaN with two sources, where nothing tests it.
    statistic : float
        About χ² with ``degrees`` degrees of freedom if the sources are independent.
    degrees : int
        The degrees of freedom; 0 with two sources.
    pairs : tuple of PairOfSources
    priors : dict of float to float
        The estimated share of positives by the odds ratio that every two sources are assumed to have: ½, 1, which is
        independence, and 2. Only 1 where the others would take too long: where the number of rows, doubled once for
        each source, is above 50 million (50 000 rows with 10 sources).
    """

    p_value: float
    statistic: float
    degrees: int
    pairs: tuple[PairOfSources, ...]
    priors: dict[float, float]

    def __str__(self) -> str:
        words = [self.verdict]
        if len(self.priors) > 1:
            low, middle, high = (self.priors[each] for each in (0.5, 1.0, 2.0))
            words.append(
                f"{middle:.1%} of rows are positive if the sources are independent, {high:.1%} if a label from one "
                f"source doubles the odds of a label from another, and {low:.1%} if it halves them."
            )
        return " ".join(words)

    @property
    def verdict(self) -> str:
        """What the test says, in a sentence or two."""
        if math.isnan(self.p_value):
            return (
                "Whether two sources are independent cannot be tested: any number of shared labels fits some number of "
                "positives. A third source would allow a test."
            )
        p = f"p = {self.p_value:.2g}" if self.p_value >= 0.001 else "p < 0.001"
        if self.p_value >= _LEVEL:
            return f"The test does not show that the sources depend on each other ({p})."
        most = max(self.pairs, key=lambda pair: 0.0 if math.isnan(pair.z) else abs(pair.z))
        more, side = ("more", "too low") if most.z > 0 else ("less", "too high")
        return (
            f"The sources depend on each other, or the model does not fit ({p}): {most.names[0]} and "
            f"{most.names[1]} agree {more} often than independent sources would, so the estimated share of positives "
            f"may be {side}. Add columns that explain why, or leave out one of the two."
        )


def sources_test(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> SourcesTest:
    """Test whether sources label independently of each other, and show what the answer would be if they did not.

    `SeveralSources` assumes that, among positive rows with the same values in the columns, one source is as likely to
    label a row whether or not another one has. Sources that copy from each other, or that both find the severe cases,
    agree too often, and the share of positives is then underestimated. Sources that avoid each other's rows lead to an
    overestimate.

    With three sources or more, each pair can be tested: the number of rows that both have labelled is compared with
    the number that the fitted model expects (a score test). With two sources nothing tests it. In both cases the share
    of positives is also estimated for an odds ratio of ½ and of 2 between every two sources.

    Parameters
    ----------
    estimator : fitted SeveralSources, or a pipeline or search that ends in one
    X, y, sample_weight
        The data it was fitted to.

    Returns
    -------
    SourcesTest

    Notes
    -----
    A small p-value may also be due to a model that does not fit in another way, such as a curved relation. A large one
    does not prove independence: a weakness that all sources share, such as positives that none of them can see, cannot
    be found by any test.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import SeveralSources, sources_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> positive = rng.random(4000) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    >>> Y = positive[:, None] & (rng.random((4000, 3)) < [0.5, 0.4, 0.3])
    >>> Y[:, 2] |= Y[:, 1] & (rng.random(4000) < 0.5)  # The third source copies from the second.
    >>> found = sources_test(SeveralSources().fit(X, Y), X, Y)
    >>> print(found.verdict)  # doctest: +NORMALIZE_WHITESPACE
    The sources depend on each other, or the model does not fit (p < 0.001): source 2 and source 3 agree more often
    than independent sources would, so the estimated share of positives may be too low. Add columns that explain why,
    or leave out one of the two.
    """
    inside = method_inside(estimator)
    estimator, X = inside.method, inside.transform(X)
    if not isinstance(estimator, SeveralSources):
        raise InvalidOption(f"estimator={type(estimator).__name__}: pass a fitted SeveralSources.")
    check_is_fitted(estimator)
    if hasattr(estimator, "audit_"):
        raise InvalidOption("This SeveralSources was corrected by an audit. Pass the model as it was before.")
    # Reading sets the column names of an estimator: use a clone, and leave the fitted one unchanged.
    sample, _ = read_sample(clone(estimator), X, y, sample_weight, None, estimator._read_labels)
    names = tuple(estimator.source_names_.tolist())
    if len(names) == 1 or sample.sources is None:
        raise InvalidInput("There is one source of labels, so there is nothing to compare it with.")
    if len(sample.sources.names) != len(names):
        raise InvalidInput(
            f"y has {len(sample.sources.names)} sources, but {len(names)} in the fit. Pass the y of fit."
        )
    prior = sample.share_positive(*estimator._rows_log_odds(sample))
    if abs(prior - estimator.prior_) > _SAME:
        raise InvalidInput(
            f"The prior on these rows is {prior:.6g}, but {estimator.prior_:.6g} in the fit. Pass the X, y and "
            "sample_weight of fit."
        )
    posterior = estimator._posterior
    assert isinstance(posterior, LogisticPredictor)
    coefs = np.vstack([posterior.coef, estimator._gammas()])
    pairs, statistic, degrees = _test_pairs(estimator, sample, coefs, names)
    return SourcesTest(
        p_value=float(chdtrc(degrees, statistic)) if degrees else math.nan,
        statistic=statistic,
        degrees=degrees,
        pairs=pairs,
        priors=_priors(estimator, sample, coefs),
    )


def _test_pairs(
    estimator: SeveralSources, sample: Sample, coefs: Matrix, names: tuple[str, ...]
) -> tuple[tuple[PairOfSources, ...], float, int]:
    """Every pair, the score test of all of them together, and its degrees of freedom."""
    risk = sources_risk(sample, float(estimator.ridge))
    theta = risk.join(coefs)
    weights = np.ones(sample.design.shape[0]) if sample.weights is None else sample.weights
    # Weights in units of effective rows, so that their scale does not matter.
    weights = weights * (weights.sum() / (weights @ weights))
    places = list(combinations(range(len(names)), 2))
    testable = len(names) > 2
    found, scores = [], []
    for k, other in places:
        score, slope = risk.dependence(theta, k, other)
        labels = sample.sources.labels[:, [k, other]]  # type: ignore[union-attr]
        observed = float(weights @ (labels == 1.0).all(axis=1))
        z = math.nan
        if testable:
            scores.append(_efficient(risk, theta, score, slope))
            spread = math.sqrt(float(weights**2 @ scores[-1] ** 2))
            z = float(weights @ scores[-1]) / spread if spread > 0.0 else math.nan
        found.append(PairOfSources((names[k], names[other]), observed, observed - float(weights @ score), z))
    if not testable:
        return tuple(found), math.nan, 0
    matrix = np.column_stack(scores)
    total, spread_all = weights @ matrix, (weights[:, np.newaxis] ** 2 * matrix).T @ matrix
    values, vectors = np.linalg.eigh(spread_all)
    sure = values > _ROUNDING * max(values.max(), 1e-300)
    return tuple(found), float(((vectors.T @ total)[sure] ** 2 / values[sure]).sum()), int(sure.sum())


def _efficient(risk: SourcesRisk, theta: Vector, score: Vector, slope: Vector) -> Vector:
    """The score of every row, less what the coefficients of y and of the sources explain of it."""
    # Near the truth, the estimated θ moves the score's sum by slopeᵀ·H⁻¹·Σgᵢ, gᵢ being minus the gradient of row i.
    direction = np.asarray(np.linalg.lstsq(risk.hessian(theta), slope, rcond=None)[0], dtype=np.float64)
    out: Vector = score - risk.scores_along(theta, direction)
    return out


def _priors(estimator: SeveralSources, sample: Sample, coefs: Matrix) -> dict[float, float]:
    """The share of positives by the odds ratio of every two sources."""
    out = {1.0: float(estimator.prior_)}
    if 2.0 ** (len(coefs) - 1) * sample.design.shape[0] > MOST_PATTERNS:
        return out
    for ratio in _RATIOS:
        found = fit_sources(
            sample,
            ridge=float(estimator.ridge),
            tol=estimator.tol,
            max_iter=estimator.max_iter,
            begin=coefs,
            log_odds_ratio=math.log(ratio),
        )
        risk = sources_risk(sample, float(estimator.ridge), math.log(ratio))
        out[ratio] = sample.mean(risk.positive(found.solutions[-1].coef))
    return dict(sorted(out.items()))
