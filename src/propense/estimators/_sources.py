"""SeveralSources: labels from two or more sources, each of which misses positives of its own."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design, Predictor
from propense._diagnostics.doubts import OF_RATIO, SYMMETRIC, doubt_of
from propense._diagnostics.fit_statistics import effective_rows
from propense._diagnostics.source_doubts import few_overlaps, no_overlap, one_source
from propense._inputs.columns import Column
from propense._inputs.options import Count, Number, Option
from propense._inputs.sample import Sample, read_features
from propense._inputs.sources import has_columns, read_sources
from propense._maths.arrays import Matrix, Rows, Vector
from propense._maths.logistic import sigmoid
from propense._maths.looks import Looks, any_label_log_odds
from propense._steps.corrected import CorrectedPredictor
from propense._steps.predictors import LogisticPredictor, Model
from propense._steps.source_looks import AnyLabelPredictor, fit_sources, seen_log_odds
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import Description, is_array

__all__ = ["SeveralSources"]


class SeveralSources(BasePUClassifier):
    """Two or more sources of labels: rows that several of them have labelled show how many each one misses.

    A registry, prescriptions and a questionnaire; two annotators; three visits to the same place: each source labels
    some of the positives and no negative. A row that one source has labelled is positive, so whether another source
    has labelled it too shows how many positives that one misses. y(x) = P(Y=1 | x) and the propensity of each source,
    e_k(x) = P(S_k=1 | Y=1, x), are logistic and fitted together by maximum likelihood. Nothing has to be assumed about
    which columns drive the labelling, or about its strength.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value that marks labelled rows in all columns of ``y`` of ``fit``. None means that it is found there; words
        whose meaning is not certain are refused.
    class_features : list of str or of int, default=None
        The columns, by name or number, that y may depend on. None means all.
    propensity_features : list, default=None
        The columns that labelling may depend on: one list for all sources, or a list of lists, one for each source, in
        which None means all columns. An empty list makes the propensity constant.
    ridge : float, default=1.0
        The penalty ½·ridge·‖slopes‖² on the summed risk, with columns in units of their standard deviation; intercepts
        are not penalised.
    tol : float, default=1e-8
        The search stops when no entry of the gradient of the mean risk, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps from each of two starts.

    Attributes
    ----------
    source_names_ : ndarray of shape (n_sources,)
        The names of the columns of y, or "source 1", "source 2", ….
    source_frequency_ : ndarray of shape (n_sources,)
        The estimated share of positives that each source labels, if it looks at all rows.
    source_rows_ : ndarray of shape (n_sources,)
        How many rows each source looked at.
    source_overlap_ : ndarray of shape (n_sources, n_sources)
        How many rows two sources have both labelled; on the diagonal, how many each has.
    source_coef_, source_intercept_ : ndarray of shape (n_sources, n_features) and (n_sources,)
        γ_k of e_k(x) = σ(γ_kᵀx).
    coef_names_ : list of str
        What the coefficients belong to: ``column``, ``column missing`` or ``column=level``.
    label_frequency_ : float
        The estimated share of positives with a label from at least one source.
    risk_path_ : ndarray
        The mean risk that each start led to, the best last.
    others
        As in every estimator, see `BasePUClassifier`: ``classes_``, ``coef_``, ``intercept_``, ``prior_``, ``n_iter_``,
        ``converged_``, ``doubts_``, ``n_features_in_``, ``feature_names_in_``.

    Notes
    -----
    The answer is right if, among positive rows with the same values in the columns, one source is as likely to label a
    row whether or not another one has. `sources_test` tests that with three sources or more, and shows what other
    answers would mean.

    y has a column for each source: 1 where it gave a label, 0 where it looked and gave none, NaN where it did not look
    at the row. All columns use the same two values. One column is one source; the fit is then that of two logistic
    curves to the labels, and ``doubts_`` says so.

    ``predict_propensity`` is the chance of a label from at least one source if all of them look, and ``predict_hidden``
    the chance that a row is positive if all of them looked and none gave a label.

    References
    ----------
    D. MacKenzie, J. Nichols, G. Lachman, S. Droege, A. Royle, C. Langtimm. Estimating site occupancy rates when
    detection probabilities are less than one. Ecology 83, 2002. The same model for visits to sites.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import SeveralSources
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2))
    >>> positive = rng.random(5000) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    >>> clear = 1 / (1 + np.exp(-X[:, 0]))  # Clear cases are labelled more often.
    >>> Y = np.column_stack([positive & (rng.random(5000) < clear), positive & (rng.random(5000) < 0.4)])
    >>> model = SeveralSources().fit(X, Y)
    >>> print(f"{positive.mean():.2f} positive, {model.prior_:.2f} estimated")
    0.36 positive, 0.35 estimated
    >>> model.source_frequency_.round(2)
    array([0.7, 0.4])
    """

    description: ClassVar[Description] = Description(
        name="sources",
        separates="rows that two sources have labelled",
        assumes=(
            "Whether one source labels a positive row does not depend on whether another one has, among rows with the "
            "same values in the columns.",
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model), and the "
            "chance of a label from each source on another one.",
        ),
        keeps={
            "source_names_": is_array("U", None),
            "source_frequency_": is_array("f", None),
            "source_rows_": is_array("f", None),
            "source_overlap_": is_array("f", None, None),
        },
        takes=("weights", "mixed columns"),
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "ridge": Number(0.0),
        "tol": Number(0.0),
        "max_iter": Count(),
    }

    _takes_sources: ClassVar[bool] = True

    source_names_: NDArray[np.str_]
    source_frequency_: Vector
    source_rows_: Vector
    source_overlap_: Matrix

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        class_features: Any = None,
        propensity_features: Any = None,
        ridge: float = 1.0,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def predict_source_propensities(self, X: Any) -> Rows:
        """e_k(x) = P(S_k=1 | Y=1, x): for each source, the chance that it labels a positive row like this.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_sources)
        """
        design = read_features(self, X)
        chances = np.column_stack([sigmoid(design.matvec(coef)) for coef in self._gammas()])
        if hasattr(self, "audit_"):
            # What the labels show, y·e_k, stays as it was before the audit.
            before, after = (sigmoid(each.log_odds(design)) for each in (self._before()[0], self._posterior))
            chances = np.minimum(chances * (before / after)[:, np.newaxis], 1.0)
        return chances

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of ``predict``, as of any scikit-learn classifier. Pass true classes.

        With a column for each source, a row with a label from any of them counts as ``classes_[1]``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_sources)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return super().score(X, read_sources(y, self.classes_[1])[0] if has_columns(y) else y, sample_weight)

    @property
    def source_coef_(self) -> Matrix:
        # After an audit nothing is linear.
        self._coef("_posterior")
        return self._gammas()[:, 1:].copy()

    @property
    def source_intercept_(self) -> Vector:
        self._coef("_posterior")
        return self._gammas()[:, 0].copy()

    @property
    def coef_names_(self) -> list[str]:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        columns = self._columns or [Column(str(name), "number") for name in names]
        return [each.name for each in columns] if self._preparation is None else self._preparation.names(columns)

    def _before(self) -> tuple[Predictor, Predictor]:
        """y and e before any audit."""
        check_is_fitted(self)
        y, e = self._posterior, self._propensity
        return (y.posterior, y.propensity) if isinstance(y, CorrectedPredictor) else (y, e)

    def _gammas(self) -> Matrix:
        """The coefficients of each source, one in each row."""
        e = self._before()[1]
        if isinstance(e, AnyLabelPredictor):
            return e.sources
        assert isinstance(e, LogisticPredictor)
        return np.atleast_2d(e.coef)

    def _takes_mixed_columns(self) -> bool:
        # They are prepared first.
        return False

    def _prepares_columns(self) -> bool:
        return True

    def _fit(self, sample: Sample) -> Model:
        found = fit_sources(
            sample, ridge=float(self.ridge), tol=self.tol, max_iter=self.max_iter, begin=self._from_earlier()
        )
        best, gammas = found.solutions[-1], found.gammas
        posterior = LogisticPredictor(found.beta)
        one = len(gammas) == 1
        a, seen = sample.log_odds(posterior), seen_log_odds(sample, gammas)
        expected = sample.expected(a, seen)
        chances = [sigmoid(sample.log_odds(LogisticPredictor(coef))) for coef in gammas]
        sources = sample.sources
        assert sources is not None
        given, weights = sources.labels == 1.0, np.ones(len(a)) if sample.weights is None else sample.weights
        twice = sample.mean(given.sum(axis=1) > 1) * effective_rows(sample)
        return Model(
            posterior,
            LogisticPredictor(gammas[0]) if one else AnyLabelPredictor(gammas),
            n_iter=max(best.n_iter, 1),
            converged=best.converged,
            risk_path=[each.value / sample.total_weight for each in found.solutions],
            doubts=(
                *doubt_of(one_source, len(gammas)),
                *doubt_of(no_overlap, twice, len(gammas)),
                *doubt_of(few_overlaps, twice, len(gammas)),
            ),
            kept={
                "source_names_": np.array(sources.names),
                "source_frequency_": np.array([sample.mean(expected * e) / sample.mean(expected) for e in chances]),
                "source_rows_": weights @ ~np.isnan(sources.labels),
                "source_overlap_": given.T @ (weights[:, np.newaxis] * given),
            },
        )

    def _from_earlier(self) -> Matrix | None:
        """The coefficients of an earlier fit to start from."""
        if self._begin is None:
            return None
        y, e = self._begin
        coefs = [each for each in (y, e) if isinstance(each, LogisticPredictor)]
        gammas = e.sources if isinstance(e, AnyLabelPredictor) else np.array([each.coef for each in coefs[1:]])
        return np.vstack([coefs[0].coef, gammas])

    def _log_odds_where(self, design: Design, looked: NDArray[np.bool_]) -> tuple[Rows, Rows]:
        """The log-odds of y, and of a label from one of the sources that looked at each row, before any audit."""
        b = np.column_stack([design.matvec(coef) for coef in self._gammas()])
        return self._before()[0].log_odds(design), any_label_log_odds(Looks(b, looked).unseen)

    def _rows_log_odds(self, sample: Sample) -> tuple[Rows, Rows]:
        # A row counts by the sources that looked at it.
        assert sample.sources is not None
        return self._log_odds_where(sample.design, ~np.isnan(sample.sources.labels))

    def _asked(self) -> tuple[str, ...]:
        # Rows that two sources have labelled distinguish y from the propensities.
        return SYMMETRIC if len(self.source_names_) == 1 else (*OF_RATIO, "at_boundary")

    def _complaint(self) -> str:
        return (
            f"SeveralSources stopped after {self.n_iter_} steps short of tol={self.tol:g}. Raise max_iter, tol or "
            "ridge, or leave out columns."
        )
