"""The methods, each a scikit-learn classifier, and what a method of one's own is made of."""

from propense._diagnostics.diagnosis import Diagnosis as Diagnosis
from propense._diagnostics.doubts import Doubt as Doubt
from propense._inputs.sample import Sample as Sample
from propense._steps.learners import Learner as Learner
from propense._steps.predictors import ClassifierPredictor as ClassifierPredictor
from propense._steps.predictors import LogisticPredictor as LogisticPredictor
from propense._steps.predictors import Model as Model
from propense._steps.predictors import certain as certain
from propense.estimators._base import BasePUClassifier as BasePUClassifier
from propense.estimators._cross import cross_val_hidden as cross_val_hidden
from propense.estimators._description import Description as Description
from propense.estimators._description import is_array as is_array
from propense.estimators._inside import hidden as hidden
from propense.estimators._inside import posterior as posterior
from propense.estimators._inside import propensity as propensity
from propense.estimators._jerm import JERM as JERM
from propense.estimators._joint_mle import JointMLE as JointMLE
from propense.estimators._known import KnownPropensity as KnownPropensity
from propense.estimators._lbe import LBE as LBE
from propense.estimators._methods import find_method as find_method
from propense.estimators._methods import known_methods as known_methods
from propense.estimators._naive import Naive as Naive
from propense.estimators._oracle import Oracle as Oracle
from propense.estimators._pglin import PGLin as PGLin
from propense.estimators._pu import PUClassifier as PUClassifier
from propense.estimators._sar_em import SAREM as SAREM
from propense.estimators._sources import SeveralSources as SeveralSources
from propense.estimators._sparse_joint import SparseJoint as SparseJoint
from propense.estimators._tm import TM as TM

__all__ = sorted(name for name in globals() if not name.startswith("_"))
