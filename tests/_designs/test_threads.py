import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from propense import JointMLE, Naive, PUClassifier
from propense._designs.threads import fits_at_once, map_in_threads, one_blas_thread, one_thread, slices

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
    last = threading.Event()

    def first_ends_last(item):
        if item == 0:
            assert last.wait(60)
        if item == 3:
            last.set()
        return item, threading.get_ident()

    results = map_in_threads(first_ends_last, range(4), 2)
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
    X, s = rng.standard_normal((300, 40)), np.arange(300) % 3 == 0
    coefs = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            coefs.append(JointMLE(n_starts=1, random_state=0).fit(X, s).coef_)
    np.testing.assert_array_equal(coefs[0], coefs[1])


def openmp_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"}


def test_openmp_is_held_to_one_thread_and_let_go_again():
    with threadpool_limits(2, user_api="openmp"):
        with one_thread():
            assert openmp_threads() == {1}
        assert openmp_threads() == {2}


def test_as_many_fits_run_at_once_as_openmp_may_use_threads_or_as_the_user_asks_for(monkeypatch):
    monkeypatch.setattr("propense._designs.threads.cpu_count", lambda: 4)
    for allowed, expected in ((1, 1), (3, 3), (16, 4)):
        with threadpool_limits(allowed, user_api="openmp"):
            assert fits_at_once(None) == expected
            assert fits_at_once(2) == 2
    with threadpool_limits(1, user_api="openmp"), parallel_config("threading", n_jobs=3):
        assert fits_at_once(None) == 3


@pytest.mark.slow
def test_the_forests_and_boosting_of_a_fit_have_one_thread_each_and_the_users_limits_are_restored(rng, monkeypatch):
    seen, fit = [], HistGradientBoostingClassifier.fit

    def watched(self, X, y, **rows):
        seen.append((threading.get_ident(), openmp_threads(), set(blas_threads())))
        return fit(self, X, y, **rows)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", watched)
    X, before = rng.standard_normal((300, 3)), blas_threads()
    s = (X[:, 0] > 0) & (rng.random(300) < 0.5)
    with threadpool_limits(2, user_api="openmp"):
        PUClassifier(cv=2, random_state=0).fit(X, s)
        assert openmp_threads() == {2}
    assert {(*openmp, *blas) for _, openmp, blas in seen} == {(1, 1)}
    assert threading.get_ident() not in {thread for thread, _, _ in seen}
    assert blas_threads() == before
