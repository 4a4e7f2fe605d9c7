"""A slice of the paper's numbers, by its protocol; `benchmarks/protocol.py` has all that we are held to."""

import pytest

from conftest import data_home
from protocol import CELLS, mean_accuracy

# PGLIN's and SAR-EM's four quick cells, TM on the smallest set, LBE on the one with its own budget; JERM on Wdbc.
SLICE = [
    cell
    for cell in CELLS
    if (cell.method, cell.dataset, cell.mechanism)
    in {
        ("SAR-EM", "Breast-w", "S2"),
        ("SAR-EM", "Wdbc", "S1"),
        ("LBE", "Breast-w", "S1"),
        ("PGLIN", "Breast-w", "S1"),
        ("PGLIN", "Breast-w", "S2"),
        ("TM", "Wdbc", "S1"),
        ("JERM", "Wdbc", "S4"),
        ("JERM", "Wdbc", "S2"),
    }
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", SLICE, ids=lambda cell: f"{cell.method} {cell.dataset} {cell.mechanism}")
def test_the_papers_protocol_gives_the_papers_numbers(cell, monkeypatch):
    if cell.dataset != "Wdbc":
        if data_home() is None:
            pytest.skip("the data home is not on this machine")
        monkeypatch.setenv("PROPENSE_DATA", str(data_home()))
    found = [mean_accuracy(cell, draw) for draw in range(2)]
    # Our label draws are not theirs; the splits are, and with them ORACLE's mean on Wdbc to three digits.
    assert sum(ours for ours, _ in found) / len(found) == pytest.approx(cell.published, abs=0.02)
    if cell.dataset == "Wdbc":
        assert found[0][1] == pytest.approx(0.971, abs=0.0005)
