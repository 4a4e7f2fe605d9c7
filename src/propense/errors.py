"""The errors that propense raises, as a tree.

::

    PropenseError
    ├── DatasetMismatch               a data set does not match the catalogue
    ├── DownloadFailed                a data set could not be downloaded (also an OSError)
    ├── LedgerError                   a study's ledger is damaged, in use, not a ledger, or cannot be written
    ├── MissingExtra                  an optional package is not installed (also an ImportError)
    ├── WorkerDied                    a worker process of a study was killed
    ├── ModelFileError                a model file cannot be written or read (also a ValueError)
    └── InvalidInput (also a ValueError)
        ├── InvalidPlan               a study's plan has an unknown name or an invalid value
        ├── InvalidTable              a file cannot be read as a table, or a column is missing or invalid
        ├── InvalidFeatures           X: not finite, wrong columns, too few rows
        ├── InvalidLabels             y: does not hold one value for labelled and one for unlabelled rows
        │   ├── NoLabelledInstances   no row is labelled
        │   └── NoUnlabelledInstances every row is labelled
        ├── InvalidWeights            sample_weight: negative, not finite, wrong length
        ├── InvalidPropensity         propensity: outside 0 to 1, 0 on a labelled row, wrong length
        └── InvalidOption             an argument outside its range

And one warning::

    UserWarning
    └── DoubtfulFit                   a fit should not be trusted as it stands
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
    """The base class of all errors that propense raises on purpose."""


class DatasetMismatch(PropenseError):
    """A data set cannot be read, or its rows, columns or positives do not match the catalogue."""


class DownloadFailed(PropenseError, OSError):
    """A data set is not on this machine and could not be downloaded."""


class LedgerError(PropenseError):
    """The ledger of a study is damaged, in use by another run, not a ledger, or cannot be written."""


class MissingExtra(PropenseError, ImportError):
    """An optional package is not installed."""


class WorkerDied(PropenseError):
    """A worker process of a study was killed, perhaps by the operating system."""


class ModelFileError(PropenseError, ValueError):
    """A model cannot be saved, or a file is not a valid model: damaged, of a later format, or of another program."""


class InvalidInput(PropenseError, ValueError):
    """An argument cannot be used."""


class InvalidPlan(InvalidInput):
    """A study's plan has an unknown key, data set, mechanism or method, or a value out of range."""


class InvalidTable(InvalidInput):
    """A file cannot be read as a table, or one of its columns is missing or invalid."""


class InvalidFeatures(InvalidInput):
    """X is not finite, has the wrong columns or too few rows."""


class InvalidLabels(InvalidInput):
    """y does not hold one value for labelled rows and one for unlabelled rows."""


class NoLabelledInstances(InvalidLabels):
    """No row of y is labelled, so there is no positive to learn from."""


class NoUnlabelledInstances(InvalidLabels):
    """Every row of y is labelled, so there is nothing to find."""


class InvalidWeights(InvalidInput):
    """sample_weight is negative, not finite or of the wrong length."""


class InvalidPropensity(InvalidInput):
    """The propensity is outside 0 to 1, 0 for a labelled row, or of the wrong length."""


class InvalidOption(InvalidInput):
    """An argument is outside its range."""


class DoubtfulFit(UserWarning):
    """A fit should not be trusted as it stands. The estimator's ``doubts_`` lists the reasons."""
