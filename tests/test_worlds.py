"""Worlds are what their numbers say, hold what they promise, and are written to the end."""

import numpy as np
import pytest

import worlds
from conftest import data_home
from worlds import World, draw_world, read_worlds, write_worlds

# Simulated and resampled, with and without named columns; small.
NUMBERS = (0, 1, 2, 3)
needs_tables = pytest.mark.skipif(data_home() is None, reason="needs the data home")


@pytest.fixture(autouse=True)
def home(monkeypatch):
    monkeypatch.setenv("PROPENSE_DATA", str(data_home() or ""))


def assert_same(one, other):
    for name in World.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@needs_tables
@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_world_is_drawn_from_its_number(number):
    world = draw_world(number)
    assert_same(world, draw_world(number))
    n = len(world.positive)
    assert world.scores.shape == (2, n)
    assert np.isfinite(world.scores).all()
    assert not (world.labelled & ~world.positive).any()
    assert world.labelled.sum() >= 8
    assert 0 < world.positive.sum() < n
    named = world.access.shape[1]
    assert (named == 0) == np.isnan(world.followed)
    assert world.others.shape == (2, n if named else 0)


@pytest.mark.parametrize("frequency", [0.04, 0.5, 0.95])
def test_the_chance_of_a_label_has_the_mean_that_was_asked_for(frequency, rng):
    for _ in range(30):
        follows, positive = rng.normal(size=500), rng.random(500) < 0.3
        e = worlds._propensity(follows, positive, frequency, rng)
        assert e[positive].mean() == pytest.approx(frequency, abs=1e-9)
        assert ((e >= 0) & (e <= 1)).all()


@needs_tables
@pytest.mark.slow
def test_a_stopped_run_goes_on_and_is_read_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "TOGETHER", 1)
    write_worlds(tmp_path, 2)
    first = read_worlds(tmp_path)
    kept, gone = sorted(tmp_path.iterdir())
    gone.unlink()
    written = kept.stat().st_mtime_ns
    write_worlds(tmp_path, 2)
    assert kept.stat().st_mtime_ns == written
    again = read_worlds(tmp_path)
    assert [each.number for each in again] == [0, 1]
    for one, other in zip(first, again, strict=True):
        assert_same(one, other)
    assert_same(again[1], draw_world(1))
