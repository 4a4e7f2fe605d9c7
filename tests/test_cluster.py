"""A cluster by its address: found, or missed without a trace."""

import gc

import pytest

pytest.importorskip("distributed")

import dask

from propense import _cluster
from propense._cluster import on_dask
from propense.errors import InvalidOption

# A client that found nobody leaves tasks behind, which are collected here and not in some other test.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("address", ["nonsense://x", "nonsense", "tcp://127.0.0.1:1"])
def test_a_scheduler_that_is_not_there_is_told_and_leaves_dask_as_it_was(address, monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.5)
    before = dask.config.get("scheduler", None)
    for _ in range(2):
        with pytest.raises(InvalidOption, match=f"dask={address!r}: no scheduler answers there"), on_dask(address):
            pass
    assert dask.config.get("scheduler", None) == before
    gc.collect()
    assert dask.config.get("scheduler", None) == before
