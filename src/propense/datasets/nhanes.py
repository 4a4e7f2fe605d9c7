"""NHANES, a health survey in which both the labels and the truth are natural: nobody simulated them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense.datasets import nhanes_files
from propense.datasets.nhanes_columns import COLUMNS, derive
from propense.datasets.nhanes_table import (
    TASKS,
    NaturalTask,
    SurveyTable,
    check_survey,
    nhanes_path,
    read_survey,
    write_survey,
)
from propense.datasets.tabular import Progress
from propense.errors import DownloadFailed, InvalidOption

__all__ = ["ACCESS", "AGREEMENT", "CITATION", "NaturalDataset", "load_nhanes"]

CITATION = (
    "Centers for Disease Control and Prevention, National Center for Health Statistics. National Health and Nutrition "
    "Examination Survey Data, 2005-2014. Hyattsville, MD: U.S. Department of Health and Human Services."
)
AGREEMENT = (
    "By using these data you accept the NCHS data user agreement: use them for statistical reporting and analysis "
    "only, make no attempt to learn the identity of any person, and do not link them with data that identify people "
    "(https://www.cdc.gov/nchs/policy/data-user-agreement.html)."
)
# Access to care: columns that may decide who was told, rather than who is ill.
ACCESS = ("insured", "usual_place", "visits", "hospital")


@dataclass(frozen=True)
class NaturalDataset:
    """People of a survey, their features, who was labelled and who is positive.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The features; NaN means missing.
    columns : list of str
        The names of the features.
    labelled, positive : bool ndarray of shape (n,)
        Who was told, and who has the illness. Every labelled person is positive.
    cycle : int ndarray of shape (n,)
        The first year of the two in which the person was examined.
    weight, psu, stratum : ndarray of shape (n,)
        The survey's design: how many people a person stands for, and the part of the country. Shares without weights
        are not those of the population.
    seqn : int ndarray of shape (n,)
        The survey's number of each person.
    propensity_features : tuple of str
        Features of access to care, which may decide who was told.
    left_out : tuple of str
        Columns that define who is positive, and so are not features.
    task : NaturalTask
        The illness.
    citation, agreement : str
        How to cite the survey, and the condition of its use.
    source : str
        The file that was read.
    """

    X: NDArray[np.float64]
    columns: list[str]
    labelled: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    cycle: NDArray[np.int64]
    weight: NDArray[np.float64]
    psu: NDArray[np.int64]
    stratum: NDArray[np.int64]
    seqn: NDArray[np.int64]
    propensity_features: tuple[str, ...]
    left_out: tuple[str, ...]
    task: NaturalTask
    citation: str
    agreement: str
    source: str


def load_nhanes(
    task: str = "diabetes", *, download: bool = True, progress: Progress | None = None, address: str | None = None
) -> NaturalDataset:
    """Load a task of the US health survey NHANES 2005–2014: adults with an illness, some of whom were told.

    Nobody simulated these labels: a doctor told some people that they have diabetes, or high blood pressure, and the
    survey measured everybody. People whose label or truth is unknown are left out.

    The survey's 70 public files are downloaded when the table is first needed. By using them you accept the data user
    agreement of the National Center for Health Statistics: statistical use only, and no attempt to identify anyone.

    Parameters
    ----------
    task : {"diabetes", "hypertension"}, default="diabetes"
        The illness.
    download : bool, default=True
        Whether to download the survey's files if the table is not in the data home: the folder ``PROPENSE_DATA`` or,
        if that is not set, the user's cache.
    progress : callable, default=None
        Called during a download with the number of bytes received so far.
    address : str, default=None
        Where the survey's files are, if not at the National Center for Health Statistics: the address that
        ``/2005/DataFiles/DEMO_D.xpt`` is added to.

    Returns
    -------
    NaturalDataset

    Examples
    --------
    >>> from propense.datasets import load_nhanes
    >>> data = load_nhanes("diabetes")  # doctest: +SKIP
    >>> data.X.shape, int(data.labelled.sum()), int(data.positive.sum())  # doctest: +SKIP
    ((25467, 31), 3116, 3918)
    >>> data.propensity_features  # doctest: +SKIP
    ('insured', 'usual_place', 'visits', 'hospital')
    """
    if task not in TASKS:
        raise InvalidOption(f"NHANES has no task {task!r}. Choose from: {', '.join(TASKS)}.")
    path = nhanes_path()
    if path.is_file():
        table = read_survey(path)
        check_survey(table, f"Delete {path} and fetch again.")
    elif download:
        table = _fetch(path, address or nhanes_files.ADDRESS, progress)
    else:
        raise DownloadFailed(f"nhanes is not in the data home ({path}), and download=False.")
    return _select(table, TASKS[task], path)


def _select(table: SurveyTable, task: NaturalTask, path: Path) -> NaturalDataset:
    """The rows and features of one task."""
    s, y = table[f"s_{task.name}"], table[f"y_{task.name}"]
    rows = ~np.isnan(s + y)
    cycle, psu, stratum, seqn = (table[name][rows].astype(np.int64) for name in ("cycle", "psu", "stratum", "seqn"))
    return NaturalDataset(
        X=np.column_stack([table[name][rows] for name in task.features]),
        columns=task.features,
        labelled=s[rows] == 1,
        positive=y[rows] == 1,
        cycle=cycle,
        weight=table["weight"][rows],
        psu=psu,
        stratum=stratum,
        seqn=seqn,
        propensity_features=ACCESS,
        left_out=task.defining,
        task=task,
        citation=CITATION,
        agreement=AGREEMENT,
        source=str(path),
    )


def _fetch(path: Path, address: str, progress: Progress | None) -> SurveyTable:
    """Bring the survey's files, make the table of them, and store it. It is not kept if it is not what it should be."""
    total = 0

    def received(size: int) -> None:
        nonlocal total
        total += size
        if progress is not None:
            progress(total)

    cycles = [derive(year, nhanes_files.read_cycle(year, address, received)) for year in nhanes_files.CYCLES]
    table = {name: np.concatenate([cycle[name] for cycle in cycles]) for name in COLUMNS}
    check_survey(
        table, f"The table was not kept. Delete the survey's files in {nhanes_files.files_folder()} and fetch again."
    )
    with write_atomically(path, DownloadFailed) as target:
        write_survey(target, table)
    return table
