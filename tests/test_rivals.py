"""The methods of others in studies/rivals: their formulas against independent ones, and worlds whose truth is known."""

import csv
import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import digamma, expit
from scipy.stats import beta, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

import rivals
from command import call
from rivals.dedpul import DensityRatio, estimate_share
from rivals.detm import likelihood
from rivals.elkan_noto import unlabelled_weights
from rivals.nnpu import risks
from rivals.ntc_tmi import best_threshold, information
from rivals.pulsnar import Share, beta_density, clusters_of, number_of_clusters
from rivals.pusb import pseudo_risk

ALL = [getattr(rivals, name) for name in rivals.__all__]
STUDIES = Path(__file__).parents[1] / "studies"


def make(method, **options):
    known = method().get_params()
    return method(**{"random_state": 0} if "random_state" in known else {}, **options)


def draw(n, rng, label=lambda X: 0.5):
    """Rows with a linear class; labels with a probability of their own."""
    X = rng.normal(size=(n, 4)) * [1, 2, 5, 0.1] + 3
    Z = (X - 3) / [1, 2, 5, 0.1]
    positive = rng.random(n) < expit(3 * Z[:, 0] + 2 * Z[:, 1] - 1)
    return X, positive & (rng.random(n) < label(Z)), positive


@pytest.mark.slow
# All share what these checks look at; a quick one stands for them.
@parametrize_with_checks([rivals.ElkanNoto(random_state=0)])
def test_rivals_are_scikit_learn_classifiers(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("method", ALL, ids=lambda each: each.__name__)
def test_rivals_rank_and_cut_better_than_the_labels_do_where_labels_are_at_random(method, rng):
    X, labelled, positive = draw(4000, rng)
    model = make(method).fit(X, labelled)
    naive = LogisticRegression().fit((X - X.mean(axis=0)) / X.std(axis=0), labelled)
    assert roc_auc_score(positive, model.predict_proba(X)[:, 1]) > 0.93
    found = model.predict(X)
    recall = found[positive].mean()
    assert (recall + 1 - found[~positive].mean()) / 2 > 0.8
    assert recall > 0.2 + naive.predict((X - X.mean(axis=0)) / X.std(axis=0))[positive].mean()


@pytest.mark.slow
@pytest.mark.parametrize("method", ALL, ids=lambda each: each.__name__)
def test_the_scale_of_a_column_does_not_matter(method, rng):
    X, labelled, _ = draw(300, rng)
    one = make(method).fit(X, labelled).predict_proba(X)
    other = make(method).fit(X * [1, 1000, 0.01, 7] - 5, labelled).predict_proba(X * [1, 1000, 0.01, 7] - 5)
    # Trees and kernels round differently.
    assert np.abs(one - other).max() < (0.02 if method in (rivals.PULSNAR, rivals.DETM) else 1e-3)


@pytest.mark.parametrize("method", ALL, ids=lambda each: each.__name__)
def test_one_value_of_y_is_an_error_that_says_what_y_must_have(method, rng):
    with pytest.raises(ValueError, match="labelled and unlabelled rows, so y must have two values; it has 1 class"):
        make(method).fit(rng.normal(size=(20, 2)), np.ones(20))


@pytest.mark.parametrize("method", [rivals.PUSB, rivals.NNPU])
def test_a_prior_out_of_range_is_an_error(method, rng):
    X, labelled, _ = draw(100, rng)
    with pytest.raises(ValueError, match=r"prior=1\.5 is not between 0 and 1"):
        method(prior=1.5).fit(X, labelled)


# NTC-tMI


@pytest.mark.slow
def test_information_is_that_of_ross_with_neighbours_counted_one_by_one(rng):
    z = np.sort(rng.normal(size=200))
    for below, k in [(40, 3), (100, 3), (150, 5)]:
        side = np.arange(200) >= below
        counts = []
        for i in range(200):
            own = z[side == side[i]][:, None]
            radius = NearestNeighbors(n_neighbors=k + 1).fit(own).kneighbors([[z[i]]])[0][0, -1]
            counts.append((np.abs(z - z[i]) <= radius).sum() - 1)
        sizes = np.where(side, 200 - below, below)
        expected = digamma(200) + digamma(k) - digamma(sizes).mean() - digamma(counts).mean()
        assert information(z, below, k) == pytest.approx(expected, rel=1e-12)


def test_threshold_is_the_best_of_all_candidates_also_of_those_that_the_bounds_leave_out(rng):
    z = np.sort(np.concatenate([rng.normal(-3, 1, 300), rng.normal(3, 1, 200)]))
    chosen = information(z, int((z <= best_threshold(z, 3, 2000)).sum()), 3)
    assert chosen >= max(information(z, below, 3) for below in range(4, 497)) - 0.02


# What the authors' code (github.com/TimoM99/PUBiasCalibration, ThresholdOptimizer(3, 100)) returns for the same scores.
@pytest.mark.parametrize(
    ("sizes", "centres", "spreads", "theirs"),
    [
        ((900, 600), (0, 4), (1, 1), 0.9526795976917513),
        ((1500, 300), (-2, 2), (1, 0.8), -1.7488529753925914),
        ((400, 100), (-3, 0), (1, 1), -2.680397094219707),
    ],
)
def test_threshold_is_that_of_the_authors_code(sizes, centres, spreads, theirs):
    groups = zip(sizes, centres, spreads, strict=True)
    z = np.concatenate([centre + spread * norm.ppf((np.arange(n) + 0.5) / n) for n, centre, spread in groups])
    assert best_threshold(z) == pytest.approx(theirs, abs=1e-9)


# Elkan and Noto


def test_weights_are_the_probability_of_a_hidden_positive():
    y, c = np.linspace(0.01, 0.99, 9), 0.3
    g = c * y
    expected = (1 - c) * y / (1 - g)
    assert unlabelled_weights(np.log(g / (1 - g)), c) == pytest.approx(expected)
    assert unlabelled_weights(np.array([50.0]), c) == pytest.approx(1)


def test_elkan_and_noto_find_c_and_the_prior_where_positives_stand_apart(rng):
    positive = rng.random(8000) < 0.4
    X = rng.normal(size=(8000, 1)) + 8 * positive[:, None]
    labelled = positive & (rng.random(8000) < 0.3)
    model = rivals.ElkanNoto(random_state=0).fit(X, labelled)
    assert model.c_ == pytest.approx(0.3, abs=0.04)
    assert model.prior_ == pytest.approx(0.4, abs=0.05)
    assert (model.predict(X) == positive).mean() > 0.99
    assert (model.predict_propensity(X[:5]) == model.c_).all()


# PUSB and nnPU


def test_gradient_of_pusb_is_that_of_finite_differences(rng):
    design, b = rng.normal(size=(50, 3)), rng.normal(size=3)
    rest = (design, design[:10].mean(axis=0), 0.3, 0.1)
    slope = approx_fprime(b, lambda at: pseudo_risk(at, *rest)[0])
    assert pseudo_risk(b, *rest)[1] == pytest.approx(slope, abs=1e-5)


def test_pusb_calls_the_prior_share_of_rows_positive(rng):
    X, labelled, _ = draw(1000, rng)
    assert rivals.PUSB(prior=0.37).fit(X, labelled).predict(X).mean() == pytest.approx(0.37, abs=0.002)


def test_pusb_orders_rows_by_the_density_ratio(rng):
    # Of N(1, 1) to the mixture with N(−1, 1): it grows with x, and does not depend on the second column.
    positive = rng.random(4000) < 0.5
    X = rng.normal(size=(4000, 2))
    X[:, 0] += np.where(positive, 1, -1)
    model = rivals.PUSB(prior=0.5).fit(X, positive & (rng.random(4000) < 0.5))
    assert model.coef_[1] > 0
    assert abs(model.coef_[2]) < 0.1 * model.coef_[1]


def test_gradients_of_nnpu_are_those_of_finite_differences(rng):
    design, b, labelled = rng.normal(size=(50, 3)), rng.normal(size=3), np.arange(50) < 15
    missed, alarms, up, down = risks(b, design, labelled, 0.4)
    chance = expit(design @ b)
    assert missed == pytest.approx(0.4 * (1 - chance[labelled]).mean())
    assert alarms == pytest.approx(chance.mean() - 0.4 * chance[labelled].mean())
    for part, slope in ((0, up), (1, down)):
        expected = approx_fprime(b, lambda at, part=part: risks(at, design, labelled, 0.4)[part])
        assert slope == pytest.approx(expected, abs=1e-6)


def test_nnpu_is_near_the_best_linear_rule_where_it_is_known(rng):
    positive = rng.random(6000) < 0.4
    X = rng.normal(size=(6000, 1)) + np.where(positive, 1.0, -1.0)[:, None]
    model = rivals.NNPU(prior=0.4).fit(X, positive & (rng.random(6000) < 0.3))
    # Of N(±1, 1) with prior 0.4, the best threshold is ½ log(0.6/0.4).
    best = (positive == (X[:, 0] > 0.5 * np.log(1.5))).mean()
    assert (model.predict(X) == positive).mean() > best - 0.01


# DEDPUL


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_share_is_one_over_the_largest_ratio_where_some_rows_are_surely_positive(share):
    # Unlabelled: a share like the labelled rows on (0, 1), the others on (−1, 0). The ratio is 1/α or 0.
    ratio = np.where(np.linspace(0, 1, 1000) > 1 - share, 1 / share, 0.0)
    assert estimate_share(ratio) == pytest.approx(share, abs=0.01)


@pytest.mark.slow
def test_density_ratio_is_that_of_known_densities(rng):
    scores = np.concatenate([rng.normal(1, 1, 20_000), rng.normal(0, 1.5, 40_000)])
    ratio = DensityRatio.of(scores, np.arange(60_000) < 20_000)
    at = np.array([-0.5, 0.0, 0.5])
    assert ratio.at(at) == pytest.approx(norm.pdf(at, 1, 1) / norm.pdf(at, 0, 1.5), rel=0.15)
    assert (np.diff(ratio.values) >= 0).all()


# What the authors' code (github.com/dimonenka/DEDPUL, estimate_diff with MT_coef=0.25, then estimate_poster_em) returns
# for the same scores, less one: it counts negatives. Its scores are those of balanced classes.
@pytest.mark.parametrize(
    ("sizes", "centres", "theirs"),
    [
        ((400, 300, 700), (2, -1), 0.3008066713620532),
        ((500, 100, 900), (3, 0), 0.10036946123017954),
        ((300, 600, 400), (1, -2), 0.6013571046433672),
    ],
)
def test_share_of_dedpul_is_that_of_the_authors_code(sizes, centres, theirs):
    known, hidden, negative = sizes
    groups = zip(sizes, (centres[0], *centres), strict=True)
    z = np.concatenate([centre + norm.ppf((np.arange(n) + 0.5) / n) for n, centre in groups])
    ratio = DensityRatio.of(z - np.log((hidden + negative) / known), np.arange(len(z)) < known)
    assert estimate_share(ratio.values) == pytest.approx(theirs, abs=1e-4)


def test_dedpul_finds_the_share_of_hidden_positives(rng):
    positive = rng.random(6000) < 0.5
    X = rng.normal(size=(6000, 1)) + 5 * positive[:, None]
    model = rivals.DEDPUL(random_state=0).fit(X, positive & (rng.random(6000) < 0.4))
    assert model.prior_ == pytest.approx(0.5, abs=0.05)
    assert (model.predict(X) == positive).mean() > 0.98


# DETM


def tilted(rng, n=4000):
    """Labelled positives, unlabelled positives and negatives, all normal: the tilts follow from their means."""
    means = np.array([[0.0, 0.0], [-2.0, 0.5], [0.5, -3.0]])
    sizes = [n, int(0.3 * n), n - int(0.3 * n)]
    group = np.repeat([0, 1, 2], sizes)
    return means[group] + rng.normal(size=(2 * n, 2)), group, means


def test_gradient_of_detm_is_that_of_finite_differences(rng):
    design, theta = rng.normal(size=(40, 3)), rng.normal(size=6)
    labelled = np.arange(40) < 15
    slope = approx_fprime(theta, lambda at: likelihood(at, design, labelled)[0])
    assert likelihood(theta, design, labelled)[1] == pytest.approx(slope, abs=1e-6)


def test_detm_recovers_the_tilts_of_normal_groups(rng):
    X, group, means = tilted(rng)
    model = rivals.DETM(random_state=0).fit(X, group == 0)
    assert model.positive_coef_[1:] / model.scale_ == pytest.approx(means[1] - means[0], abs=0.3)
    assert model.negative_coef_[1:] / model.scale_ == pytest.approx(means[2] - means[0], abs=0.3)
    assert model.prior_ == pytest.approx((group < 2).mean(), abs=0.02)
    # e(x) = f₁/(f₁ + 0.3 f₂), and y(x) = (f₁ + 0.3 f₂)/(f₁ + 0.3 f₂ + 0.7 f₃).
    f1, f2, f3 = (np.exp(-((X - mean) ** 2).sum(axis=1) / 2) for mean in means)
    assert np.abs(model.predict_propensity(X) - f1 / (f1 + 0.3 * f2)).mean() < 0.02
    assert np.abs(model.predict_proba(X)[:, 1] - (f1 + 0.3 * f2) / (f1 + 0.3 * f2 + 0.7 * f3)).mean() < 0.02


def test_a_round_of_em_does_not_move_what_detm_found(rng):
    X, group, _ = tilted(rng, 1000)
    labelled = group == 0
    model = rivals.DETM(random_state=0).fit(X, labelled)
    Z = (X - model.mean_) / model.scale_
    a, b = (coef[0] + Z[~labelled] @ coef[1:] for coef in (model.positive_coef_, model.negative_coef_))
    weight = expit(a - b)
    rows = np.vstack([Z[labelled], Z[~labelled], Z[~labelled]])
    kind = np.repeat([0, 1, 2], [labelled.sum(), len(weight), len(weight)])
    weights = np.concatenate([np.ones(labelled.sum()), weight, 1 - weight])
    step = LogisticRegression(C=1e9, tol=1e-9, max_iter=10_000).fit(rows, kind, sample_weight=weights)
    assert step.coef_[1] - step.coef_[0] == pytest.approx(model.positive_coef_[1:], abs=0.02)
    assert step.coef_[2] - step.coef_[0] == pytest.approx(model.negative_coef_[1:], abs=0.02)


@pytest.mark.slow
def test_intervals_of_detm_hold_as_often_as_they_say_where_its_model_is_true(rng):
    held = []
    for _ in range(60):
        group = rng.choice(3, size=1000, p=[0.4, 0.2, 0.4])
        X = np.array([[0.0, 0.0], [-2.0, 0.5], [0.5, -3.0]])[group] + rng.normal(size=(1000, 2))
        low, high = rivals.DETM(starts=2, random_state=0).fit(X, group == 0).prior_interval(0.9)
        held.append(low <= 0.6 <= high)
    # Two standard errors of 60 draws are 8 %.
    assert np.mean(held) == pytest.approx(0.9, abs=0.08)


# PULSNAR


def test_beta_density_is_the_mean_of_beta_kernels(rng):
    chances, points = rng.beta(2, 5, 500), np.linspace(0, 1, 17)
    expected = np.array([beta.pdf(chances, p / 0.05 + 1, (1 - p) / 0.05 + 1).mean() for p in points])
    assert beta_density(chances, points, 0.05) == pytest.approx(expected / expected.sum(), rel=5e-3, abs=1e-6)


def test_number_of_clusters_is_the_first_minimum_or_the_bend():
    assert number_of_clusters(np.array([9.0, 5, 3, 4, 2])) == 3
    assert number_of_clusters(np.array([1.0, 5, 9])) == 1
    assert number_of_clusters(np.array([100.0, 50, 10, 9, 8.5])) == 3


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_share_of_pulsnar_is_found_where_labels_are_at_random(share, rng):
    n = 20_000
    like_labelled = np.repeat([True, False], [int(share * n), n - int(share * n)])
    chances = np.concatenate([rng.beta(8, 2, n // 2), np.where(like_labelled, rng.beta(8, 2, n), rng.beta(1, 8, n))])
    found = Share.of(chances, np.arange(len(chances)) < n // 2)
    assert found.alpha == pytest.approx(share, abs=0.03)
    assert found.hidden(np.array([0.95])) > 0.8
    assert found.hidden(np.array([0.02])) < 0.1


# What the authors' code (github.com/unmtransinfo/PULSNAR, PositiveFractionEstimation with "rice", "hist" and "local")
# returns for the same probabilities.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "narrowest", "theirs"),
    [((1000, 400, 1600), 0.05, 0.2070), ((2000, 300, 2700), 0.015, 0.0941), ((500, 1000, 1000), 0.05, 0.5108)],
)
def test_share_of_pulsnar_is_that_of_the_authors_code(sizes, narrowest, theirs):
    groups = zip(sizes, ((8, 2), (8, 2), (1, 8)), strict=True)
    chances = np.concatenate([beta.ppf((np.arange(n) + 0.5) / n, *shape) for n, shape in groups])
    found = Share.of(chances, np.arange(len(chances)) < sizes[0], narrowest)
    assert found.alpha == pytest.approx(theirs, abs=1e-3)


def test_clusters_of_labelled_rows_are_found(rng):
    centres = np.array([[0, 0], [9, 0], [0, 9]])
    group = np.arange(900) % 3
    X = np.vstack([centres[group] + rng.normal(size=(900, 2)), rng.normal(size=(1500, 2)) * 5])
    found = clusters_of(X, np.arange(2400) < 900, 6, 0)
    assert [len(np.unique(found[:900][group == k])) for k in range(3)] == [1, 1, 1]
    assert len(np.unique(found[:900])) == 3


def test_pulsnar_names_its_classifiers(rng):
    X, labelled, _ = draw(100, rng)
    with pytest.raises(ValueError, match='classifier=\'tree\' is not known; choose "boosted" or "linear"'):
        rivals.PULSNAR(classifier="tree").fit(X, labelled)


# In a study


@pytest.mark.slow
def test_a_plan_runs_them_all(tmp_path):
    plan = tmp_path / "rivals.toml"
    text = (STUDIES / "rivals.toml").read_text(encoding="utf-8")
    listed = [line for line in text.splitlines() if line.startswith("  { name") and '"rivals.' in line]
    assert len(listed) == len(ALL)
    head = (
        'datasets = ["wdbc"]\nmechanisms = ["S2"]\nfrequencies = [0.5]\nrepeats = 1\nprotocol = "clean"\nmethods = [\n'
    )
    plan.write_text(head + "\n".join(listed) + "\n]\n", encoding="utf-8")
    shutil.copytree(STUDIES / "rivals", tmp_path / "rivals")
    assert call("study", "run", plan).returncode == 0
    rows = list(csv.DictReader(io.StringIO(call("study", "export", plan, "--format", "csv").stdout)))
    assert sorted(row["error"] for row in rows) == [""] * len(ALL)
    assert all(float(row["auc"]) > 0.9 for row in rows)
