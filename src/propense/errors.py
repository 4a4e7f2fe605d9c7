"""What can go wrong, as a tree.

::

    PropenseError
    ├── DatasetMismatch               a data set is not what the catalogue says
    ├── DownloadFailed                a data set could not be fetched (also an OSError)
    ├── LedgerError                   a study's ledger is foreign, torn, in use, or cannot be written
    ├── MissingExtra                  an optional package is not installed (also an ImportError)
    ├── WorkerDied                    a process of a study was ended from outside
    ├── ModelFileError                a model file cannot be written or read (also a ValueError)
    └── InvalidInput (also a ValueError)
        ├── InvalidPlan               a study's plan names what there is not
        ├── InvalidTable              a file is no table, or a column is not what it should be
        ├── InvalidFeatures           X: not finite, wrong columns, too few rows
        ├── InvalidLabels             y: not two values
        │   ├── NoLabelledInstances   nobody carries the label
        │   └── NoUnlabelledInstances everybody carries it
        ├── InvalidWeights            sample_weight: negative, not finite, wrong length
        ├── InvalidPropensity         propensity: outside 0 to 1, 0 on a labelled row, wrong length
        └── InvalidOption             a constructor argument outside its range

And what is no error, but a reason to look twice::

    UserWarning
    └── DoubtfulFit                   a fit that should not be trusted as it stands
"""

__all__ = [
    "DatasetMismatch",
    "DoubtfulFit",
    "DownloadFailed",
    "InvalidFeatures",
    "InvalidInput",
    "InvalidLabels",
    "InvalidOption",
    "InvalidPlan",
    "InvalidPropensity",
    "InvalidTable",
    "InvalidWeights",
    "LedgerError",
    "MissingExtra",
    "ModelFileError",
    "NoLabelledInstances",
    "NoUnlabelledInstances",
    "PropenseError",
    "WorkerDied",
]


class PropenseError(Exception):
    """The root: every error raised on purpose by propense."""


class DatasetMismatch(PropenseError):
    """A data set has other rows, columns or positives than the catalogue says, or cannot be read."""


class DownloadFailed(PropenseError, OSError):
    """A data set is not on this machine and could not be fetched."""


class LedgerError(PropenseError):
    """The ledger of a study is no ledger, damaged, in use by another run, or cannot be written."""


class MissingExtra(PropenseError, ImportError):
    """An optional package is not installed."""


class WorkerDied(PropenseError):
    """A process that measured cells of a study was ended from outside, by the system perhaps."""


class ModelFileError(PropenseError, ValueError):
    """A model cannot be kept in a file, or a file is no model: foreign, damaged, of a later format, or nonsense."""


class InvalidInput(PropenseError, ValueError):
    """What was passed cannot be used."""


class InvalidPlan(InvalidInput):
    """A study's plan is not one: an unknown key, data set, mechanism or method, or a value out of range."""


class InvalidTable(InvalidInput):
    """A file is no table that can be read, or one of its columns is missing or not what it should be."""


class InvalidFeatures(InvalidInput):
    """X cannot be used: not finite, the wrong columns, too few rows."""


class InvalidLabels(InvalidInput):
    """y is not one value for the labelled and one for the unlabelled."""


class NoLabelledInstances(InvalidLabels):
    """y labels nobody, so there is no positive to learn from."""


class NoUnlabelledInstances(InvalidLabels):
    """y labels everybody, so there is nothing to find."""


class InvalidWeights(InvalidInput):
    """sample_weight is negative, not finite or of the wrong length."""


class InvalidPropensity(InvalidInput):
    """The propensity passed to fit is outside 0 to 1, 0 where there is a label, or of the wrong length."""


class InvalidOption(InvalidInput):
    """A constructor argument is outside what it may be."""


class DoubtfulFit(UserWarning):
    """A fit should not be trusted as it stands; ``doubts_`` of the estimator keeps the reasons, one by one."""
