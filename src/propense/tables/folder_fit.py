"""Fit a method to a folder of Parquet files with Dask: every row is learnt from, none is brought here but a sample."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.tables.column_checks import oddities
from propense.tables.fit import Counts, TableFit, look_at, naive_beside, row_names
from propense.tables.folder import Piece, TableFolder
from propense.tables.labels import Label, read_label
from propense.tables.model import TableModel
from propense.tables.prepare import Choices, check_columns, fit_noting, set_out
from propense.tables.scar import check_asked, labels_at_random

__all__ = ["fit_folder"]

# Rows by which the columns are understood, and which the page shows.
_SAMPLE = 100_000


def fit_folder(folder: TableFolder, choices: Choices, *, sample: int = _SAMPLE) -> TableFit:
    """Fit a method, and the naive baseline beside it, to every row of a folder of Parquet files.

    What the columns are, the levels of categories, medians and scales are learnt from rows drawn at random; of them
    are also the scores, groups and drawings of the result. The two fits and the counts are of all rows. The prepared
    features are kept by the workers, on disk where their memory is full.

    Parameters
    ----------
    folder : TableFolder
    choices : Choices
        As in `fit_table`.
    sample : int, default=100 000
        Rows to draw.

    Returns
    -------
    TableFit
    """
    import dask

    where = str(folder.path)
    check_asked(choices)
    check_columns(folder.columns, choices, where)
    said = _read_label(folder, choices, where)
    drawn = folder.draw(sample, seed=0)
    parts = dask.compute(
        *(dask.delayed(_take)(piece, rows, folder.columns) for piece, rows in zip(folder.pieces, drawn, strict=True))
    )
    table = _join(parts)
    outset = set_out(table, choices, said, where)
    estimator, features = outset.model.estimator, outset.model.prepare(outset.matrix)
    X, labelled = _spread(folder, outset.model, features.shape[1])
    labels = said.read(table.column(said.column), where)
    notes = outset.notes + oddities(outset.model.schema, outset.matrix, labels, features.shape[1])
    notes += fit_noting(estimator, X, labelled)
    naive = naive_beside(estimator, X, labelled)
    scar, untested = labels_at_random(choices, estimator, features, labels)
    if len(labels) < folder.rows:
        notes.append(
            f"The columns were understood by a sample of {len(labels):,} of {folder.rows:,} rows, of which are also "
            "the groups and the page; the fits and the table above are of all rows."
        )
    numbers = np.concatenate([rows + start for rows, start in zip(drawn, folder.starts(), strict=True)])
    ids = (numbers + 1).astype(str).astype(object) if choices.id is None else row_names(table, choices.id)
    return look_at(
        estimator,
        features,
        labels,
        outset.model.schema,
        outset.matrix,
        model=outset.model,
        ids=ids,
        notes=notes + untested,
        naive=naive,
        counts=_count(estimator, naive, X, labelled),
        scar=scar,
    )


def _read_label(folder: TableFolder, choices: Choices, where: str) -> Label:
    """Which value is the label, by the distinct values of all rows."""
    import dask

    found = dask.compute(*(dask.delayed(_distinct)(piece, choices.label) for piece in folder.pieces))
    return read_label(_join(found).column(choices.label), choices.label, where, choices.positive)


def _spread(folder: TableFolder, model: TableModel, width: int) -> tuple[Any, Any]:
    """The prepared features and the labels of all rows, kept by the workers."""
    import dask
    import dask.array as da

    shared = dask.delayed(model)
    features = [
        da.from_delayed(dask.delayed(_features)(shared, piece), (piece.rows, width), np.float64)
        for piece in folder.pieces
    ]
    labelled = [
        da.from_delayed(dask.delayed(_labels)(model.label, piece), (piece.rows,), bool) for piece in folder.pieces
    ]
    X, rows = dask.persist(da.concatenate(features), da.concatenate(labelled))
    return X, rows


def _count(estimator: Any, naive: Any, X: Any, labelled: Any) -> Counts:
    import dask

    hidden = (estimator.predict_hidden(X) * ~labelled).sum()
    positive = (estimator.predict(X) == estimator.classes_[1]).sum()
    found = dask.compute(labelled.sum(), hidden, naive.predict(X).sum(), positive)
    return Counts(len(X), int(found[0]), float(found[1]), int(found[2]), int(found[3]))


def _take(piece: Piece, rows: NDArray[np.intp], columns: list[str]) -> Any:
    return piece.read(columns).take(rows)


def _distinct(piece: Piece, column: str) -> Any:
    import pyarrow as pa

    cells = piece.read([column]).column(column)
    return pa.table({column: cells.unique()})


def _features(model: TableModel, piece: Piece) -> NDArray[np.float64]:
    return model.features(piece.read(model.schema.names), str(piece.path), piece.first_row)


def _labels(label: Label, piece: Piece) -> NDArray[np.bool_]:
    return label.read(piece.read([label.column]).column(label.column), str(piece.path), piece.first_row)


def _join(tables: Any) -> Any:
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
