"""Fit a method to a folder of Parquet files with Dask: the fit uses every row, but only a sample is loaded here."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._progress import Progress, begin_stage, report_progress
from propense.errors import InvalidOption
from propense.tables.cells import as_text, check_feature, check_readable, normalise_decimals, row_ids, take_rows
from propense.tables.fit import Counts, TableFit, fit_naive, summarise_fit
from propense.tables.folder import Piece, TableFolder, join_tables
from propense.tables.label_columns import LabelColumns
from propense.tables.labels import Label, name_values, read_label
from propense.tables.model import TableModel
from propense.tables.prepare import FitOptions, check_columns, fit_collecting_warnings, prepare_table
from propense.tables.scar import run_scar_test

__all__ = ["fit_folder"]

# The sample that the kinds of columns are inferred from, and that the report shows.
_SAMPLE = 100_000


def fit_folder(
    folder: TableFolder,
    options: FitOptions,
    *,
    sample: int = _SAMPLE,
    progress: Progress | None = None,
) -> TableFit:
    """Fit a method, and the naive baseline to compare it with, to every row of a folder of Parquet files.

    Rows and ids that occur several times are not looked for. The kinds of columns, the levels of categories, the
    medians and the scales come from rows drawn at random. The scores, groups and figures of the result are of these
    rows too. The two fits and the counts use all rows. The workers keep the prepared features, on disk where their
    memory is full.

    Parameters
    ----------
    folder : TableFolder
    options : FitOptions
    sample : int, default=100 000
        How many rows to draw.
    progress : callable, default=None
        Called as ``progress(stage, passes, seconds)`` when a stage or a pass over the rows begins.

    Returns
    -------
    TableFit
    """
    import dask

    where = str(folder.path)
    if len(options.labels) > 1:
        raise InvalidOption(
            f"{where}: several label columns need the table in memory, so they cannot be used with dask=. Leave it out."
        )
    if options.duplicates == "drop":
        raise InvalidOption(
            f"{where}: duplicates='drop' needs the table in memory, so it cannot be used with dask=. Leave out one of "
            "them."
        )
    columns = check_columns(folder.columns, options, where)
    others = [*options.labels, *([] if options.id is None else [options.id])]
    # Here rather than on the workers, whose errors come with their logs.
    for name in others:
        check_readable(folder.kinds[name], name, where)
    for name in columns:
        check_feature(folder.kinds[name], name, where)
    with report_progress(progress):
        begin_stage("reading")
        label = _read_label(folder, options, where)
        drawn = folder.draw(sample, seed=0)
        parts = dask.compute(
            *(
                dask.delayed(_take)(piece, rows, [*others, *columns])
                for piece, rows in zip(folder.pieces, drawn, strict=True)
            )
        )
        table = join_tables(parts)
        model, prepared, notes = prepare_table(table, columns, label, options, where, arrays=True)
        estimator, features = model.estimator, prepared.features
        X, labelled = _spread(folder, model, features.shape[1], options.decimal)
        notes += fit_collecting_warnings(estimator, X, labelled)
        name_values(estimator, label, labelled)
        begin_stage("naive fit to compare with")
        naive = fit_naive(estimator, X, labelled)
        begin_stage("counting")
        counts = _count(estimator, naive, X, labelled)
    scar, untested = run_scar_test(options, estimator, features, prepared.labelled)
    if len(features) < folder.rows:
        notes.append(
            f"The fit and the counts use all {folder.rows:,} rows. The kinds of columns, the groups and the report are "
            f"based on a random sample of {len(features):,} rows."
        )
    numbers = np.concatenate([rows + start for rows, start in zip(drawn, folder.starts(), strict=True)])
    return summarise_fit(
        estimator,
        prepared,
        notes + untested,
        model=model,
        ids=(numbers + 1).astype(str).astype(object) if options.id is None else row_ids(table, options.id, where),
        naive=naive,
        counts=counts,
        scar=scar,
    )


def _read_label(folder: TableFolder, options: FitOptions, where: str) -> Label:
    """Which value is the label, from the distinct values of all rows."""
    import dask

    found = dask.compute(*(dask.delayed(_distinct)(piece, options.labels[0]) for piece in folder.pieces))
    return read_label(join_tables(found).column(options.labels[0]), options.labels[0], where, options.positive)


def _spread(folder: TableFolder, model: TableModel, width: int, decimal: str | None) -> tuple[Any, Any]:
    """The prepared features and the labels of all rows, which the workers keep."""
    import dask
    import dask.array as da

    shared = dask.delayed(model)
    features = [
        da.from_delayed(dask.delayed(_features)(shared, piece, decimal), (piece.rows, width), np.float64)
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
    return take_rows(piece.read(columns), rows, str(piece.path))


def _distinct(piece: Piece, column: str) -> Any:
    import pyarrow as pa

    cells = piece.read([column]).column(column)
    if isinstance(cells.type, pa.BaseExtensionType):
        cells = as_text(cells)
    return pa.table({column: cells.unique()})


def _features(model: TableModel, piece: Piece, decimal: str | None) -> NDArray[np.float64]:
    names = model.schema.names
    table = normalise_decimals(piece.read(names), names, decimal)
    return np.asarray(model.features(table, str(piece.path), piece.first_row))


def _labels(label: Label | LabelColumns, piece: Piece) -> NDArray[np.bool_]:
    return label.read_table(piece.read(list(label.columns)), str(piece.path), piece.first_row)
