"""Drawing rows to have checked: each row's chance is known, and all parts of the list are drawn from."""

import numpy as np
import pytest

from propense.audit import draw
from propense.audit._draw import _whole
from propense.errors import InvalidInput, InvalidOption


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    chances = rng.random(900) ** 3
    return chances, rng.random(900) < 0.2


@pytest.mark.parametrize("size", [1, 3, 50, 200, 700])
def test_as_many_unlabelled_rows_are_drawn_as_asked_for(world, size):
    chances, labelled = world
    drawn = draw(chances, size, labelled=labelled, random_state=0)
    assert len(np.unique(drawn.rows)) == len(drawn.rows) == size
    assert not labelled[drawn.rows].any()
    assert drawn.sizes.sum() == (~labelled).sum()
    assert drawn.weight.sum() == pytest.approx((~labelled).sum())


@pytest.mark.slow
def test_weights_are_one_divided_by_the_chance_to_be_drawn(world):
    chances, labelled = world
    drawn_times, weights = np.zeros(900), np.full(900, np.nan)
    for seed in range(800):
        drawn = draw(chances, 60, labelled=labelled, random_state=seed)
        drawn_times[drawn.rows] += 1
        weights[drawn.rows] = drawn.weight
    share = drawn_times[~labelled] / 800
    spread = np.sqrt(share * (1 - share) / 800)
    assert np.abs((share - 1 / weights[~labelled]) / spread).max() < 4.5


def test_strata_follow_the_list_and_its_top_is_drawn_from_most(world):
    chances, labelled = world
    order = -chances
    drawn = draw(chances, 100, labelled=labelled, order=order, random_state=0)
    by_list = np.argsort(-order[drawn.rows])
    assert (np.diff(drawn.stratum[by_list]) >= 0).all()
    weights = drawn.weight[by_list]
    assert weights[0] < 0.7 * weights.mean() < weights[-1]


def test_a_useless_order_costs_no_more_than_the_price():
    labelled = np.zeros(20_000, dtype=bool)
    drawn = draw(np.linspace(1, 0, 20_000), 400, labelled=labelled, random_state=0)
    counts = np.bincount(drawn.stratum)
    shares = drawn.sizes / 20_000
    # The variance of a stratified mean with the same spread in every stratum, against that of a simple random sample.
    assert (shares**2 / counts).sum() * 400 < 1.05**2


def test_a_quarter_comes_from_a_list_whose_length_is_given():
    labelled = np.zeros(10_000, dtype=bool)
    plain = draw(np.linspace(1, 0, 10_000), 200, labelled=labelled, random_state=0)
    for_list = draw(np.linspace(1, 0, 10_000), 200, labelled=labelled, top=100, random_state=0)
    assert (plain.rows < 100).sum() < 30
    assert (for_list.rows < 100).sum() == pytest.approx(50, abs=2)


def test_the_same_seed_draws_the_same_rows_and_another_seed_others(world):
    chances, labelled = world
    one, same, other = (draw(chances, 60, labelled=labelled, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.rows, same.rows)
    assert set(one.rows) != set(other.rows)


def test_rows_that_were_checked_are_remembered_and_not_drawn_again(world):
    chances, labelled = world
    first = draw(chances, 300, labelled=labelled, random_state=0)
    checked = np.zeros(900, dtype=bool)
    checked[first.rows] = True
    second = draw(chances, 300, labelled=labelled, checked=checked, random_state=0)
    assert not set(first.rows) & set(second.rows)
    np.testing.assert_array_equal(second.known, np.sort(first.rows))
    assert second.sizes.sum() == (~labelled).sum() - 300


def test_a_draw_of_more_rows_than_there_are_has_all_of_them(world):
    chances, labelled = world
    drawn = draw(chances, 5000, labelled=labelled, random_state=0)
    np.testing.assert_array_equal(np.sort(drawn.rows), np.flatnonzero(~labelled))
    np.testing.assert_array_equal(drawn.weight, 1.0)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"size": 0}, InvalidOption, "size=0 must be a whole number of at least 1"),
        ({"size": 2.5}, InvalidOption, "size=2.5 must be a whole number"),
        ({"top": -1}, InvalidOption, "top=-1 must be a whole number"),
        ({"hidden": [0.5, 1.5, 0.1]}, InvalidInput, "hidden must be a chance from 0 to 1, but row 1 has 1.5"),
        ({"hidden": [0.5, np.nan, 0.1]}, InvalidInput, "row 1 has nan"),
        ({"hidden": ["a", "b", "c"]}, InvalidInput, "hidden must be numbers"),
        ({"labelled": [1, 0]}, InvalidInput, "labelled must be 3 truth values"),
        ({"labelled": [2, 0, 0]}, InvalidInput, "labelled must be truth values, or 1 and 0"),
        ({"labelled": [1, 1, 1]}, InvalidInput, "nothing to draw"),
        ({"order": [1.0, np.inf, 0.0]}, InvalidInput, "order must be finite, but row 1 has inf"),
    ],
)
def test_bad_input_is_named(change, error, words):
    given = {"hidden": [0.5, 0.2, 0.1], "size": 2, "labelled": [0, 0, 1], **change}
    with pytest.raises(error, match=words):
        draw(given.pop("hidden"), **given)


def test_rows_left_over_go_where_the_largest_parts_were_cut_off():
    assert _whole(np.array([1.4, 9.5, 0.3]), np.array([5, 20, 7]), 12).tolist() == [1, 10, 1]
    assert _whole(np.array([1.4, 9.5, 2.1]), np.array([5, 9, 7]), 13).tolist() == [2, 9, 2]
