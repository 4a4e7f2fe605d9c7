"""The types that skops meets in a fitted model, for `skops.io.load` and for tools that call it."""

import sklearn
from sklearn.utils.fixes import parse_version

__all__ = ["TRUSTED_TYPES"]

# Boosted trees prepare categories with it before scikit-learn 1.7.
_OLDER = ["sklearn.compose._column_transformer._RemainderColsList"]

# skops has to be given them by name. A test compares the list with what fitted models consist of.
TRUSTED_TYPES = [
    "functools.partial",
    "propense._diagnostics.diagnosis.Diagnosis",
    "propense._diagnostics.doubts.Doubt",
    "propense._inputs.columns.Column",
    "propense._inputs.preparation.Preparation",
    "propense._inputs.prior_groups.PriorGroups",
    "propense._steps.corrected.Audited",
    "propense._steps.corrected.CorrectedPredictor",
    "propense._steps.known_prior.ShiftedPredictor",
    "propense._steps.label_scores.LabelScore",
    "propense._steps.label_scores.Member",
    "propense._steps.named_pair.NamedPredictor",
    "propense._steps.predictors.ClassifierPredictor",
    "propense._steps.predictors.LogisticPredictor",
    "propense._steps.predictors.RootPredictor",
    "propense._steps.small_trees.TreePredictor",
    "propense._steps.source_looks.AnyLabelPredictor",
    "propense.estimators._jerm.JERM",
    "propense.estimators._joint_mle.JointMLE",
    "propense.estimators._known.KnownPropensity",
    "propense.estimators._lbe.LBE",
    "propense.estimators._naive.Naive",
    "propense.estimators._oracle.Oracle",
    "propense.estimators._pglin.PGLin",
    "propense.estimators._pu.PUClassifier",
    "propense.estimators._sar_em.SAREM",
    "propense.estimators._sources.SeveralSources",
    "propense.estimators._sparse_joint.SparseJoint",
    "propense.estimators._tm.TM",
    "propense.worlds.curves.Bent",
    "propense.worlds.curves.Curves",
    "propense.worlds.curves.LabelCurve",
    "propense.worlds.predictors.CurvePredictor",
    "propense.worlds.predictors.LinePredictor",
    *(_OLDER if parse_version(sklearn.__version__) < parse_version("1.7") else []),
    # The trees of PUClassifier.
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
]
