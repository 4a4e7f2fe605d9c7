"""Learning from positive and unlabelled data when the chance of a label depends on the instance."""

from propense.estimators import JERM, LBE, SAREM, TM, JointMLE, KnownPropensity, Naive, Oracle, PGLin
from propense.model_files import load, save

__all__ = [
    "JERM",
    "LBE",
    "SAREM",
    "TM",
    "JointMLE",
    "KnownPropensity",
    "Naive",
    "Oracle",
    "PGLin",
    "__version__",
    "load",
    "save",
]

__version__ = "0.1.0"
