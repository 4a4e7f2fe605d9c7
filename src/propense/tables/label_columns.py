"""Label columns of several sources: each with its own value that means labelled, and gaps where it did not look."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidLabels
from propense.tables.cells import as_levels, naming_the_column
from propense.tables.labels import Label, read_label

__all__ = ["LabelColumns", "read_label_columns"]


@dataclass(frozen=True)
class LabelColumns:
    """The label columns of several sources. A row is labelled if one of them labels it.

    Attributes
    ----------
    labels : tuple of Label
        The column of each source. An empty cell means that the source did not look at the row.
    """

    labels: tuple[Label, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(label.column for label in self.labels)

    def read_sources(self, table: Any, where: str, first_row: int = 0) -> NDArray[np.float64]:
        """1 where a source has labelled a row, 0 where it has not, NaN where its cell is empty.

        A column that the table does not have labels no row.
        """
        out = np.zeros((table.num_rows, len(self.labels)))
        for k, label in enumerate(self.labels):
            if label.column not in table.schema.names:
                continue
            cells = table.column(label.column)
            labelled = label.read(cells, where, first_row)
            with naming_the_column(cells, label.column, where):
                empty = as_levels(cells).is_null().to_numpy(zero_copy_only=False)
            out[:, k] = np.where(empty, np.nan, labelled)
        return out

    def read_table(self, table: Any, where: str, first_row: int = 0) -> NDArray[np.bool_]:
        """Which rows of a table, or of a batch of one, some source has labelled."""
        return np.asarray((self.read_sources(table, where, first_row) == 1.0).any(axis=1))

    def __str__(self) -> str:
        return " or ".join(map(str, self.labels))


def read_label_columns(table: Any, columns: Sequence[str], where: str, positive: str | None = None) -> LabelColumns:
    """Which value means labelled in each column; each needs a value for rows that the source has not labelled."""
    labels = tuple(read_label(table.column(name), name, where, positive) for name in columns)
    for label in labels:
        if label.negative is None:
            raise InvalidLabels(
                f"{where}, column {label.column!r} has only {label.positive!r} and empty cells. With several label "
                "columns, an empty cell means that the source did not look at the row. Write 0 or no where it looked "
                "and gave no label."
            )
    return LabelColumns(labels)
