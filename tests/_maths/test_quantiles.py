import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propense._maths.quantiles import repeated_quantile, weighted_median


@given(
    pairs=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12),
    level=st.floats(0.0, 1.0),
)
def test_it_is_numpys_quantile_of_the_repeated_values(pairs, level):
    values, copies = np.array(pairs).T
    truth = np.quantile(np.repeat(values, copies).astype(float), level)
    assert repeated_quantile(values.astype(float), copies.astype(float), level) == pytest.approx(truth, abs=1e-9)


def test_fractional_weights_move_it_towards_the_heavier(rng):
    values = rng.normal(size=50)
    heavy_top = np.where(values > 0, 3.5, 0.7)
    assert repeated_quantile(values, heavy_top, 0.3) > repeated_quantile(values, np.ones(50), 0.3)


@given(
    pairs=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12),
    scale=st.floats(1e-9, 1e9),
)
def test_the_weighted_median_is_numpys_of_the_repeated_values_on_any_scale(pairs, scale):
    values, copies = np.array(pairs).T
    assert weighted_median(values.astype(float), scale * copies) == np.median(np.repeat(values, copies))
