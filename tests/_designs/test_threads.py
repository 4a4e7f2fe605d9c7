import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from propense import Naive, PUClassifier
from propense._designs.threads import map_in_threads, one_blas_thread, one_openmp_thread, one_thread, slices

pytestmark = pytest.mark.usefixtures("two_blas_threads")


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_is_held_to_one_thread_and_let_go_again():
    before = blas_threads()
    with one_blas_thread() as workers:
        assert set(blas_threads()) == {1}
        assert workers == max(before)
    assert blas_threads() == before


def test_blas_is_let_go_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        map_in_threads(lambda item: 1 / item, [1, 0], 2)
    assert blas_threads() == before


def test_overlapping_holds_leave_blas_as_it_was():
    """The first to begin is the first to end: a limit of its own each would stay for good."""
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    assert first.__enter__() == max(before)
    assert second.__enter__() == max(before)
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_alone_is_alone_in_this_thread_only():
    """A task of many that run at once starts no threads; whoever is not inside one still may."""
    before, elsewhere = blas_threads(), []

    def count():
        with one_blas_thread() as workers:
            elsewhere.append(workers)

    with one_thread():
        with one_thread(), one_blas_thread() as workers:
            assert workers == 1
        with one_blas_thread() as workers:
            assert workers == 1
        assert set(blas_threads()) == {1}
        map_in_threads(lambda _: count(), range(2), 2)
    assert elsewhere == [max(before)] * 2
    assert blas_threads() == before
    with one_blas_thread() as workers:
        assert workers == max(before)


def test_results_come_in_the_order_of_the_items():
    def slow_first(item):
        time.sleep(0.05 if item == 0 else 0.0)
        return item, threading.get_ident()

    results = map_in_threads(slow_first, range(4), 2)
    assert [item for item, _ in results] == [0, 1, 2, 3]
    assert len({thread for _, thread in results}) == 2


def test_one_worker_needs_no_thread():
    assert map_in_threads(lambda _: threading.get_ident(), range(3), 1) == [threading.get_ident()] * 3


@pytest.mark.parametrize(("n", "size"), [(10, 3), (10, 10), (10, 0), (1, 5), (7, 7)])
def test_slices_cover_everything_once(n, size):
    cut = list(slices(n, size))
    assert [i for part in cut for i in range(part.start, part.stop)] == list(range(n))
    assert max(part.stop - part.start for part in cut) == max(min(size, n), 1)


class Counting(Naive):
    """Naive, and how many threads BLAS had meanwhile."""

    def _fit(self, sample):
        self.threads = max(blas_threads())
        return super()._fit(sample)


def test_a_small_fit_uses_one_blas_thread_and_a_large_one_all(rng):
    before = blas_threads()
    s = np.arange(2000) % 3 == 0
    assert Counting().fit(rng.standard_normal((2000, 30)), s).threads == 1
    assert Counting(max_iter=1000).fit(rng.standard_normal((2000, 200)), s).threads == max(before)
    assert blas_threads() == before


@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
def test_a_small_fit_does_not_depend_on_the_number_of_threads(rng):
    # The risk is not convex here, and the steps enlarge any difference in rounding.
    X, s = rng.standard_normal((600, 100)), np.arange(600) % 3 == 0
    coefs = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            coefs.append(PUClassifier(learners="linear", random_state=0).fit(X, s).coef_)
    np.testing.assert_array_equal(coefs[0], coefs[1])


def test_openmp_is_held_in_the_thread_that_asks_and_in_no_other():
    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"}

    with threadpool_limits(2, user_api="openmp"):
        with one_openmp_thread():
            assert threads() <= {1}
        assert threads() <= {2}
