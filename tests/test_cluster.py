"""A cluster is found by its address, or Dask is left as it was."""

import gc

import pytest

pytest.importorskip("distributed")

import dask

from propense import _cluster
from propense._cluster import on_dask
from propense.errors import InvalidOption

# A client that found no scheduler leaves tasks behind, which are collected here and not in another test.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["nonsense://x", "nonsense", "tcp://127.0.0.1:1"])
def test_a_missing_scheduler_is_an_error_and_leaves_dask_as_it_was(address, monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.5)
    before = dask.config.get("scheduler", None)
    for _ in range(2):
        with pytest.raises(InvalidOption, match=f"dask={address!r}: no scheduler answers there"), on_dask(address):
            pass
    assert dask.config.get("scheduler", None) == before
    gc.collect()
    assert dask.config.get("scheduler", None) == before
