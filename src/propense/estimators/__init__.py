"""The scikit-learn face: one method, one file."""

from propense._diagnostics.diagnosis import Diagnosis
from propense._diagnostics.doubts import Doubt
from propense.estimators._jerm import JERM
from propense.estimators._joint_mle import JointMLE
from propense.estimators._known import KnownPropensity
from propense.estimators._lbe import LBE
from propense.estimators._naive import Naive
from propense.estimators._oracle import Oracle
from propense.estimators._pglin import PGLin
from propense.estimators._pu import PUClassifier
from propense.estimators._sar_em import SAREM
from propense.estimators._sparse_joint import SparseJoint
from propense.estimators._tm import TM

__all__ = [
    "JERM",
    "LBE",
    "SAREM",
    "TM",
    "Diagnosis",
    "Doubt",
    "JointMLE",
    "KnownPropensity",
    "Naive",
    "Oracle",
    "PGLin",
    "PUClassifier",
    "SparseJoint",
]
