"""What every estimator shares: fit reads and checks once, a method writes `_fit`."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design, Predictor
from propense._designs.threads import threads_by_size
from propense._diagnostics.doubts import GENERAL, OF_CLASSES, Doubt, ask, doubt_of, mostly_labelled
from propense._diagnostics.fit_statistics import compute_fit_statistics
from propense._diagnostics.named_columns import named_statistics
from propense._inputs.columns import Column
from propense._inputs.labels import fill_missing, holds, read_labels
from propense._inputs.options import Choice, Option, ValueOption, check_options
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample, read_features, read_sample
from propense._inputs.sources import has_columns
from propense._inputs.typical import mean_row
from propense._maths.arrays import Rows, library_of, namespace, to_host
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import both_chances, logit, sigmoid
from propense._representation import documentation_of
from propense._risks import PairRisk
from propense._steps.corrected import Audited, CorrectedPredictor, correct_rows
from propense._steps.known_prior import ShiftedPredictor, meet_prior, read_known_prior
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor, Model, OutOfFold
from propense.errors import DoubtfulFit, InvalidFeatures, InvalidOption, InvalidWeights
from propense.estimators._description import Description

__all__ = ["BasePUClassifier"]

Vector = NDArray[np.float64]


class BasePUClassifier(ClassifierMixin, BaseEstimator, ABC):
    """The base of every estimator: a classifier for positive and unlabelled data with two predictors, y(x) and e(x).

    y(x) = P(Y=1 | x) is the chance that a row with features x is positive, and e(x) = P(S=1 | Y=1, x) the chance that a
    positive row is labelled. Of both follows h(x) = P(Y=1 | x, S=0), the chance that an unlabelled row is positive.

    A subclass writes ``_fit(sample) -> Model`` and gets the rest: the checks of input, predictions, doubts, the command
    line, model files, reports and studies. ``_fit`` sets nothing on the estimator; what should be kept goes into
    `Model`. Constructor arguments are keyword-only and stored as they are; ``decision`` is one of them.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The values of the label column that mean unlabelled and labelled, in this order, which need not be that of the
        alphabet. In predictions they mean negative and positive.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        β of y(x) = P(Y=1 | x) = σ(βᵀx), where y is logistic; σ is the logistic function.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        γ of e(x) = P(S=1 | Y=1, x) = σ(γᵀx), where e is logistic.
    prior_ : float
        The estimated share of positive rows, P(Y=1): the mean of P(Y=1 | x, s) over the rows of fit, which is 1 for a
        labelled row, 0 for a known negative and h(x) for any other. It is not the mean of y(x). `PUClassifier` takes
        h(x) of models that have not seen the row, where it has them. After an audit: the share that the audit found.
    label_frequency_ : float
        The estimated share of positive rows that are labelled, c = P(S=1 | Y=1).
    n_iter_ : int
        Rounds or steps of the fit.
    converged_ : bool
        Whether the fit met its tolerance.
    risk_path_ : ndarray
        The risk that the fit reached, round by round where there are rounds.
    doubts_ : tuple of Doubt
        Reasons not to trust the fit, each with a ``kind`` and a ``message``. `fit` warns about each of them.
    audit_ : Audited
        What an audit found, and how it corrected the model. Only if one has. Print it. ``verdicts``, ``positives``,
        ``negatives`` and ``unsure`` count the rows checked; ``prior`` is the share of positives found, from ``low`` to
        ``high``, and ``prior_before`` what the model said.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns have names.
    description : Description
        What the class says about itself: short name, assumptions, what it keeps and takes. Optional.

    Notes
    -----
    A subclass may also define

    - ``_options``, a dict of argument names to what each may be (`propense._inputs.options`), merged with the base's;
    - ``_complaint()``, the warning for a fit that did not converge;
    - ``_pair_risk(sample)``, the risk of both predictors that the answer minimises, for `propense.intervals`;
    - and use ``_begin``, the y and e of an earlier fit to nearly the same rows, or None, as the start of its search:
      only where the answer is a minimum, however it was reached, and so that what begins as y ends as y. It is not a
      parameter, so a clone does not have it;
    - take the arguments ``prior`` and ``prior_groups``, with ``PRIOR`` of `propense._inputs.options` among its options:
      y then moves to a known share of positives, as in `PUClassifier`;
    - call ``_progress(done, total)``, unless it is None, after each of the parts that a long fit consists of;
    - and call ``begin_stage(name)`` of `propense._progress` at the beginning of each stage of a long fit.

    Examples
    --------
    A baseline that treats every unlabelled row as negative:

    >>> from propense.estimators import BasePUClassifier, Learner, Model, certain
    >>> class Baseline(BasePUClassifier):
    ...     def _fit(self, sample):
    ...         posterior, converged = Learner().fit(sample.design, sample.labelled, sample.weights)
    ...         always_labelled = certain(sample.design.shape[1])
    ...         return Model(posterior, always_labelled, n_iter=1, converged=converged, risk_path=[])
    >>> Baseline().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.5], [2.5]])
    array([0, 1])
    """

    description: ClassVar[Description] = Description()

    # Notebooks show estimators with a link to their page.
    _doc_link_module = "propense"

    _options: ClassVar[dict[str, Option]] = {
        "decision": Choice(("posterior", "balanced")),
        "positive_label": ValueOption(),
    }

    # For a subclass whose constructor does not take them.
    decision: str = "posterior"
    positive_label: Any = None

    classes_: NDArray[Any]
    prior_: float
    doubts_: tuple[Doubt, ...]
    _posterior: Predictor
    _propensity: Predictor

    # How y is read. The oracle reads it differently.
    _read_labels = staticmethod(read_labels)
    # Whether y may have a column for each of several sources of labels.
    _takes_sources: ClassVar[bool] = False
    # The doubts that apply to the method.
    _doubted: ClassVar[tuple[str, ...]] = GENERAL

    _begin: tuple[Predictor, Predictor] | None = None
    _progress: Callable[[int, int], None] | None = None
    # What an audit found, if one has corrected the model.
    audit_: Audited
    # What fit learned of the columns of a data frame that are not all plain numbers.
    _columns: tuple[Column, ...] | None = None
    # What turns columns into features before the method sees them, where that is asked for.
    _preparation: Preparation | None = None
    # The mean row of fit, which reasons compare rows with.
    _mean: Vector

    def __init__(self, *, decision: str = "posterior", positive_label: Any = None) -> None:
        self.decision = decision
        self.positive_label = positive_label

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        mixed = self._takes_mixed_columns() or self._prepares_columns()
        tags.input_tags.categorical = tags.input_tags.allow_nan = mixed
        inner = [getattr(self, name, None) for name in ("estimator", "propensity_estimator")]
        tags.input_tags.sparse = all(each is None or get_tags(each).input_tags.sparse for each in inner)
        return tags

    def _get_doc_link(self) -> str:
        """The page of this class in the documentation; empty for classes of others, and while there is no site."""
        ours = type(self).__module__.partition(".")[0] == self._doc_link_module
        return documentation_of(f"propense.{type(self).__name__}") if ours else ""

    @abstractmethod
    def _fit(self, sample: Sample) -> Model:
        """The method itself."""

    def _pair_risk(self, sample: Sample) -> PairRisk | None:
        """The risk that the answer minimises, if there is one and both predictors are logistic; else None."""
        return None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, known_negative: Any = None) -> Self:
        """Fit the two predictors.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
            The features, finite. float32 is kept as it is. A method that takes mixed columns also takes NaN, where a
            number is missing, and data frames of pandas, polars or pyarrow with columns of text, categories, booleans
            and dates. Text such as 2020-12-31 is a date, unless the type of the column is a category. A category has at
            most 30 levels with at least 5 rows each, and one for missing cells; the other words are one level,
            "(other)".
        y : array-like of shape (n_samples,)
            Which rows are labelled. Two numbers: the larger is the label (1, True). Two words: the one that means
            labelled, where that is certain ("yes" and not "no", "case" and not "control", "fraud" and not "unknown");
            other words are refused. One value and missing ones (NaN, None, pandas NA, an empty string): missing means
            unlabelled. Two values and missing ones: the value that is not the label marks rows known to be negative
            (only if y is in memory). ``positive_label`` says which value is the label. `SeveralSources` takes a column
            for each source of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row: 2 counts the row twice, 0 leaves it out. Divide weights that stand for rows of a
            population, as those of a survey, by their mean: there is no more evidence than there are rows.
        known_negative : bool array-like of shape (n_samples,), default=None
            Which rows are known to be negative; in y they look unlabelled. They are assumed to be a random part of the
            negatives in X. `fit` refuses them if the method cannot use them. Inside meta-estimators, request it with
            ``set_fit_request(known_negative=True)``.

        Returns
        -------
        self
        """
        return self._fit_read(X, y, sample_weight, None, known_negative)

    def _fit_read(self, X: Any, y: Any, sample_weight: Any, propensity: Any, known_negative: Any = None) -> Self:
        """Check the input, run the method, warn."""
        check_options(self, self._options)
        library = library_of(X)
        if library in ("dask", "torch") and library not in self.description.takes:
            raise InvalidFeatures(f"{self} does not support arrays of {library}. Pass a NumPy array.")
        if sample_weight is not None and "weights" not in self.description.takes:
            raise InvalidWeights(f"{self} cannot use sample_weight. Leave it out.")
        sample, classes = read_sample(self, X, y, sample_weight, propensity, self._read_labels, known_negative)
        if sample.negative is not None and not self._takes_negatives():
            raise InvalidOption(
                f"{self} cannot use known negatives. PUClassifier() and SAREM() can, for instance. Naive() treats all "
                "unlabelled rows as negative."
            )
        self._fit_sample(sample)
        self.classes_ = classes
        self.doubts_ = (*self._doubts_of_labels(sample, y), *self.doubts_)
        if not self.converged_:
            warnings.warn(self._complaint(), ConvergenceWarning, stacklevel=3)
        for doubt in self.doubts_:
            warnings.warn(doubt.message, DoubtfulFit, stacklevel=3)
        return self

    def _fit_sample(self, sample: Sample) -> None:
        """Run the method and keep what it finds."""
        # Refused before the method takes its time.
        prior = self.prior if hasattr(self, "prior_groups") else None
        known_prior = read_known_prior(prior, sample, type(self).__name__)
        try:
            with threads_by_size(sample.design.shape):
                model = self._fit(sample)
        except np.linalg.LinAlgError:
            raise InvalidFeatures(
                "The scales of the columns of X differ too much, or the values are too far from 0, for float64. "
                "Standardise them, for instance with sklearn.preprocessing.StandardScaler."
            ) from None
        if model.kept.keys() != self.description.keeps.keys():
            # Model files would lose what is not declared.
            kept, listed = sorted(model.kept), sorted(self.description.keeps)
            raise TypeError(f"{type(self).__name__}._fit keeps {kept}, and its description lists {listed}.")
        self._posterior, self._propensity = meet_prior(known_prior, sample, model)
        self.n_iter_, self.converged_ = model.n_iter, model.converged
        self.risk_path_ = np.asarray(model.risk_path)
        for name, value in model.kept.items():
            setattr(self, name, value)
        known = model.rows
        a, b = self._rows_log_odds(sample) if known is None else (known.posterior, known.propensity)
        self._keep_out_of_fold(known)
        self.prior_ = sample.share_positive(a, b, model.log_unknown)
        self.label_frequency_ = sample.mean(sample.labelled) / self.prior_
        self.doubts_ = self._doubts(sample, model, a, b)
        # Refits to resampled rows are not asked for reasons.
        if self._begin is None:
            self._mean = mean_row(sample.design, sample.levels, sample.weights)

    def _keep_out_of_fold(self, rows: OutOfFold | None) -> None:
        """Keep what models that had not seen them say of the rows of fit; forget what an earlier fit kept."""
        for name in ("audit_", "oof_posterior_", "oof_propensity_", "oof_hidden_", "oof_hidden_range_"):
            self.__dict__.pop(name, None)
        if rows is None:
            return
        a, b = rows.posterior, rows.propensity
        self.oof_posterior_, self.oof_propensity_, self.oof_hidden_ = sigmoid(a), sigmoid(b), hidden_positive(a, b)
        if rows.hidden_range is not None:
            self.oof_hidden_range_ = namespace(a).stack([sigmoid(each) for each in rows.hidden_range], axis=1)

    def _rows_log_odds(self, sample: Sample) -> tuple[Rows, Rows]:
        """The log-odds of y and e of the rows of fit."""
        return sample.log_odds(self._posterior), sample.log_odds(self._propensity)

    def _doubts(self, sample: Sample, model: Model, a: Rows, b: Rows) -> tuple[Doubt, ...]:
        """The method's own doubts, and those that follow from its y and e on the rows of fit."""
        columns = sample.propensity_columns
        every = sample.design.shape[1] - 1
        features = every if sample.class_columns is None else len(sample.class_columns)
        flexible = isinstance(model.posterior, ClassifierPredictor)
        named = columns is not None or sample.class_columns is not None or sample.negative is not None
        # If every class is known, there is nothing to doubt about the labels.
        asked = OF_CLASSES if sample.is_complete else self._asked()
        # An intercept and a slope of y and of e along the scores of rows that the learners have not seen, and slopes of
        # both over the columns that are named for e, which have seen all rows.
        along = None if model.rows is None else 4 + 2 * (0 if columns is None else len(columns))
        # Refits to resampled rows are not asked: that takes two regressions.
        about_names = named_statistics(sample) if "weak_columns" in asked and self._begin is None else {}
        statistics = compute_fit_statistics(
            sample,
            a,
            b,
            method=type(self).__name__,
            features=features,
            propensity_features=every * ("collinear" in asked) if columns is None else len(columns),
            prior=self.prior_,
            frequency=self.label_frequency_,
            distinguishable=named or flexible != isinstance(model.propensity, ClassifierPredictor),
            flexible=flexible,
            **about_names,
            fitted_along=along,
            marked="positive" if self._read_labels is not read_labels else "labelled",
        )
        return (*model.doubts, *ask(statistics, asked))

    def _doubts_of_labels(self, sample: Sample, y: Any) -> tuple[Doubt, ...]:
        """Whether the values of y may have been read the wrong way round."""
        if "mostly_labelled" not in self._asked() or sample.negative is not None:
            return ()
        other, label = self.classes_.tolist()
        found = doubt_of(mostly_labelled, sample.mean(sample.labelled), repr(label), repr(other))
        # One value and missing ones cannot be swapped.
        return found if found and (has_columns(y) or holds(y, other)) else ()

    def _asked(self) -> tuple[str, ...]:
        """The kinds of doubts to look into after a fit."""
        return self._doubted

    def _takes_negatives(self) -> bool:
        """Whether the method, with these parameters, can use rows that are known to be negative."""
        return "known negatives" in self.description.takes

    def _takes_mixed_columns(self) -> bool:
        """Whether the method, with these parameters, takes data frames with categories, and NaN for missing numbers."""
        return "mixed columns" in self.description.takes

    def _prepares_columns(self) -> bool:
        """Whether such columns become finite, scaled features before the method, with these parameters, sees them."""
        return False

    def _fills_missing(self) -> bool:
        """Whether the fitted method takes rows with missing numbers, if it takes them in fit."""
        return True

    def _complaint(self) -> str:
        """The warning for a fit that did not converge, with what to do about it."""
        return f"{type(self).__name__} stopped after {self.n_iter_} steps before it converged. Scale the columns of X."

    def decision_function(self, X: Any) -> Rows:
        """How far each row is above the threshold, in log-odds of being positive.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed
            log y/(1−y) minus the log-odds of the threshold: ½ for ``decision="posterior"`` and ``prior_`` for
            ``decision="balanced"``.
        """
        design = read_features(self, X)
        return self._posterior.log_odds(design) - self._cut()

    def predict(self, X: Any) -> Rows:
        """The class of each row: ``classes_[1]``, positive, if ``decision_function`` is above 0; else ``classes_[0]``.

        A row's own label does not count: a labelled row can be predicted negative.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed
        """
        design = read_features(self, X)
        return design.name(self._posterior.log_odds(design) > self._cut(), self.classes_)

    def predict_proba(self, X: Any) -> Rows:
        """P(Y=0 | x) and P(Y=1 | x): the chance that a row is positive, labelled or not.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2), a tensor if X is one, or a Dask array, computed when needed
        """
        design = read_features(self, X)
        return both_chances(self._posterior.log_odds(design))

    def predict_propensity(self, X: Any) -> Rows:
        """e(x) = P(S=1 | Y=1, x): the chance that a positive row like this is labelled.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed
        """
        design = read_features(self, X)
        return sigmoid(self._propensity.log_odds(design))

    def predict_hidden(self, X: Any) -> Rows:
        """h(x) = P(Y=1 | x, S=0): the chance that an unlabelled row is positive.

        A row's own label does not count: for a labelled row, this is what would hold for such a row without a label.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed
        """
        return hidden_positive(*self._log_odds(read_features(self, X)))

    def predict_hidden_range(self, X: Any) -> Rows:
        """The range of h(x) = P(Y=1 | x, S=0), if there is one.

        An audit gives every method a range: the 95 % interval of the corrected h(x). Without an audit, `PUClassifier`
        has the range of its readings, with a margin. That covers assumptions about the labelling, and not chance.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2), or a tensor if X is one
            The lower and the upper end, for each row by itself: among many rows, some ranges miss the true h(x).
        """
        ends = self._log_odds_and_range(read_features(self, X))[2]
        if ends is None:
            raise InvalidOption(f"{self} gives no range of h(x). {self._way_to_range()}")
        return namespace(ends[0]).stack([sigmoid(each) for each in ends], axis=1)

    def _log_odds(self, design: Design) -> tuple[Rows, Rows]:
        """The log-odds of y and e."""
        return self._log_odds_and_range(design)[:2]

    def _log_odds_and_range(self, design: Design) -> tuple[Rows, Rows, tuple[Rows, Rows] | None]:
        """The log-odds of y and e, and those of the range of h if there is one; each predictor is asked once."""
        a, b, ends = self._before_audit(design)
        return correct_rows(a, b, self.audit_) if isinstance(self._posterior, CorrectedPredictor) else (a, b, ends)

    def _before_audit(self, design: Design) -> tuple[Rows, Rows, tuple[Rows, Rows] | None]:
        """The same before an audit corrected them."""
        y, e = self._posterior, self._propensity
        return self._range_of(*((y.posterior, y.propensity) if isinstance(y, CorrectedPredictor) else (y, e)), design)

    def _range_of(self, y: Predictor, e: Predictor, design: Design) -> tuple[Rows, Rows, tuple[Rows, Rows] | None]:
        """The same of predictors that no audit has corrected."""
        return y.log_odds(design), e.log_odds(design), None

    def _way_to_range(self) -> str:
        """What to do for a range of h(x)."""
        return "PUClassifier() gives one, and so does an audit."

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of ``predict``, as of any scikit-learn classifier; missing labels count as ``classes_[0]``.

        Pass true classes. Accuracy against labels does not measure a good model, which finds positives without one.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score

        predicted = to_host(self.predict(X))
        return float(accuracy_score(fill_missing(y, self.classes_[0]), predicted, sample_weight=to_host(sample_weight)))

    @property
    def coef_(self) -> NDArray[np.float64]:
        return self._coef("_posterior")[np.newaxis, 1:]

    @property
    def intercept_(self) -> Vector:
        return self._coef("_posterior")[:1]

    @property
    def propensity_coef_(self) -> NDArray[np.float64]:
        return self._coef("_propensity")[np.newaxis, 1:]

    @property
    def propensity_intercept_(self) -> Vector:
        return self._coef("_propensity")[:1]

    @property
    def estimator_(self) -> Any:
        return self._classifier("_posterior")

    @property
    def propensity_estimator_(self) -> Any:
        return self._classifier("_propensity")

    def _classifier(self, which: str) -> Any:
        """The fitted classifier of a predictor that is one."""
        check_is_fitted(self)
        predictor = getattr(self, which)
        if isinstance(predictor, ShiftedPredictor):
            predictor = getattr(predictor, which[1:])
        if not isinstance(predictor, ClassifierPredictor):
            raise AttributeError(f"The {which[1:]} of this {type(self).__name__} is not a classifier of its own.")
        return predictor.classifier

    def _coef(self, which: str) -> Vector:
        """A copy of the coefficients of a linear predictor."""
        check_is_fitted(self)
        predictor = getattr(self, which)
        if not isinstance(predictor, LogisticPredictor):
            raise AttributeError(
                f"The {which[1:]} of this {type(self).__name__} is not linear, so it has no coefficients."
            )
        return predictor.coef.copy()

    def _cut(self) -> float:
        """The log-odds above which a row is called positive."""
        check_options(self, {"decision": self._options["decision"]})
        # Balanced accuracy is largest at y(x) > P(Y=1), accuracy at y(x) > ½.
        return float(logit(self.prior_)) if self.decision == "balanced" else 0.0
