"""The twenty data sets of the paper: where each comes from, which rows are positive, and its expected size."""

from dataclasses import dataclass

from propense.errors import DatasetMismatch

__all__ = ["CATALOGUE", "Entry"]

_UCI = "UCI Machine Learning Repository"


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes
    ----------
    name : str
        The name in plans and file names, in lower case.
    title : str
        The name in the paper's tables.
    n, p, positives : int
        Rows, columns and positive rows, as in the paper. For images: training rows and ResNet-18 features.
    openml_id : int
        Its number on OpenML.
    positive : tuple of str
        The classes, as OpenML writes them, that count as positive.
    rule : str
        The positive class in words.
    scaling : {"min-max", "z-score", "raw"}
        How the paper scaled the columns.
    images : bool
        Whether the rows are images, represented by features of a network.
    dropped : tuple of str
        Columns of OpenML's table that are not features.
    licence, citation : str
    """

    name: str
    title: str
    n: int
    p: int
    positives: int
    openml_id: int
    positive: tuple[str, ...]
    rule: str
    scaling: str
    citation: str
    licence: str = "CC BY 4.0"
    images: bool = False
    dropped: tuple[str, ...] = ()

    def check(self, what: str, found: int, expected: int, remedy: str) -> None:
        """Raise if a count is not the expected one."""
        if found != expected:
            raise DatasetMismatch(f"{self.name} has {found} {what} where the catalogue says {expected}. {remedy}")


# If there are more than two classes, the paper takes the most frequent as positive, the first on ties.
_ENTRIES = [
    Entry("breast-w", "Breast-w", 699, 9, 241, 15, ("malignant",), "malignant", "min-max",
          f"W. H. Wolberg. Breast Cancer Wisconsin (Original). {_UCI}, 1992."),
    Entry("diabetes", "Diabetes", 768, 8, 268, 37, ("tested_positive",), "tested positive", "min-max",
          "J. W. Smith et al. Using the ADAP learning algorithm to forecast the onset of diabetes mellitus. 1988.",
          licence="public domain"),
    Entry("spambase", "Spambase", 4601, 57, 1813, 44, ("1",), "spam", "z-score",
          f"M. Hopkins, E. Reeber, G. Forman, J. Suermondt. Spambase. {_UCI}, 1999."),
    Entry("wdbc", "Wdbc", 569, 30, 212, 1510, ("2",), "malignant", "z-score",
          f"W. Wolberg, O. Mangasarian, N. Street, W. Street. Breast Cancer Wisconsin (Diagnostic). {_UCI}, 1995."),
    Entry("banknote", "Banknote", 1372, 4, 610, 1462, ("2",), "forged", "raw",
          f"V. Lohweg. Banknote Authentication. {_UCI}, 2013."),
    Entry("heart", "Heart", 270, 13, 120, 53, ("present",), "disease present", "min-max",
          f"Statlog (Heart). {_UCI}."),
    Entry("ionosphere", "Ionosphere", 351, 34, 225, 59, ("g",), "good return", "min-max",
          f"V. Sigillito, S. Wing, L. Hutton, K. Baker. Ionosphere. {_UCI}, 1989."),
    Entry("sonar", "Sonar", 208, 60, 111, 40, ("Mine",), "mine", "raw",
          f"T. Sejnowski, R. Gorman. Connectionist Bench (Sonar, Mines vs. Rocks). {_UCI}."),
    Entry("haberman", "Haberman", 306, 3, 81, 43, ("2",), "died within five years", "min-max",
          f"S. Haberman. Haberman's Survival. {_UCI}, 1999."),
    Entry("segment", "Segment", 2310, 19, 330, 36, ("brickface",), "brickface, first of seven equal classes", "z-score",
          f"Image Segmentation. {_UCI}, 1990."),
    Entry("waveform", "Waveform", 5000, 40, 1692, 60, ("0",), "class 0, the most frequent", "raw",
          f"L. Breiman, C. Stone. Waveform Database Generator (Version 2). {_UCI}, 1988."),
    Entry("yeast", "Yeast", 1484, 8, 463, 181, ("CYT",), "CYT, the most frequent", "raw",
          f"K. Nakai. Yeast. {_UCI}, 1996."),
    Entry("musk", "Musk", 6598, 166, 1017, 1116, ("1",), "musk", "min-max",
          f"D. Chapman, A. Jain. Musk (Version 2). {_UCI}, 1994.",
          dropped=("ID", "molecule_name", "conformation_name")),
    Entry("isolet", "Isolet", 7797, 617, 300, 300, ("1",), "the letter A, first of the most frequent", "raw",
          f"R. Cole, M. Fanty. ISOLET. {_UCI}, 1994."),
    Entry("semeion", "Semeion", 1593, 256, 162, 1501, ("2",), "the digit 1, the most frequent", "raw",
          f"Semeion Research Center of Sciences of Communication. Semeion Handwritten Digit. {_UCI}, 2008."),
    Entry("vehicle", "Vehicle", 846, 18, 218, 54, ("bus",), "bus, the most frequent", "z-score",
          f"P. Mowforth, B. Shepherd. Statlog (Vehicle Silhouettes). {_UCI}."),
    Entry("cifar10", "CIFAR10", 50_000, 512, 20_000, 40_927, ("0", "1", "8", "9"), "vehicles: classes 0, 1, 8, 9",
          "raw", "A. Krizhevsky. Learning multiple layers of features from tiny images. 2009.",
          licence="unstated", images=True),
    Entry("mnist", "MNIST", 60_000, 512, 29_492, 554, ("0", "2", "4", "6", "8"), "even digits", "raw",
          "Y. LeCun, C. Cortes, C. Burges. The MNIST database of handwritten digits.",
          licence="CC BY-SA 3.0", images=True),
    Entry("usps", "USPS", 7291, 512, 4240, 41_082, ("1", "2", "3", "4", "5"), "digits 0 to 4", "raw",
          "J. Hull. A database for handwritten text recognition research. IEEE TPAMI 16, 1994.",
          licence="unstated", images=True),
    Entry("fashion", "Fashion", 60_000, 512, 30_000, 40_996, ("0", "2", "3", "4", "6"),
          "upper body: classes 0, 2, 3, 4, 6", "raw",
          "H. Xiao, K. Rasul, R. Vollgraf. Fashion-MNIST. 2017.", licence="MIT", images=True),
]  # fmt: skip

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
