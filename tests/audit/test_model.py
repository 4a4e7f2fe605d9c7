"""An estimator corrected by verdicts agrees with them, on the rows and as a whole."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import Naive, PUClassifier, posterior
from propense import hidden as hidden_of
from propense.audit import Audit, correct, draw, read
from propense.datasets import make_double_logistic
from propense.errors import InvalidInput, InvalidOption


@pytest.fixture(scope="module")
def data():
    return make_double_logistic(3000, 4, random_state=0)


@pytest.fixture(scope="module")
def wrong(data):
    """A model that was given a wrong share: far too many positives."""
    return PUClassifier(learners="linear", prior=0.8, random_state=0).fit(data.X, data.labelled)


def audited(data, hidden, size=400, order=None, **survey):
    drawn = draw(hidden, size, labelled=data.labelled, order=order, random_state=0)
    verdict = data.positive[drawn.rows].astype(float)
    return read(Audit(drawn, verdict), hidden, labelled=data.labelled, order=order, **survey)


def test_the_chances_of_a_wrong_model_agree_with_the_truth_once_corrected(data, wrong):
    hidden = wrong.predict_hidden(data.X)
    found = audited(data, hidden)
    corrected = correct(wrong, found)
    h, rest = corrected.predict_hidden(data.X), ~data.labelled
    truth = data.positive.mean()
    assert abs(wrong.prior_ - truth) > 0.1
    assert corrected.prior_ == pytest.approx(truth, abs=0.04)
    assert np.where(data.labelled, 1.0, h).mean() == pytest.approx(corrected.prior_, abs=1e-6)
    # By tenths of the list: promised against found.
    tenths = np.array_split(np.flatnonzero(rest)[np.argsort(-hidden[rest])], 10)
    before = np.mean([abs(hidden[rows].mean() - data.positive[rows].mean()) for rows in tenths])
    after = np.mean([abs(h[rows].mean() - data.positive[rows].mean()) for rows in tenths])
    assert after < before / 2
    facts = corrected.audit_
    assert (facts.verdicts, facts.positives + facts.negatives) == (400, 400)
    assert facts.prior_before == pytest.approx(np.where(data.labelled, 1.0, hidden).mean())
    low, high = corrected.predict_hidden_range(data.X).T
    assert ((low < h) & (h < high)).all()


@pytest.mark.parametrize("verdict", [0.0, 1.0])
def test_verdicts_that_are_all_alike_say_the_same_of_shares_and_of_rows(data, wrong, verdict):
    hidden, rest = wrong.predict_hidden(data.X), ~data.labelled
    drawn = draw(hidden, 100, labelled=data.labelled, random_state=0)
    found = read(Audit(drawn, np.full(100, verdict)), hidden, labelled=data.labelled)
    corrected = correct(wrong, found)
    share = np.where(data.labelled, 1.0, corrected.predict_hidden(data.X)).mean()
    assert corrected.prior_ == pytest.approx(share, abs=1e-6)
    assert corrected.label_frequency_ == pytest.approx(data.labelled.mean() / share, abs=1e-6)
    assert found.positives.low <= corrected.prior_ <= found.positives.high
    # A hundred rows were alike, so in the middle of the list nine in ten of the others must be.
    middle = np.argsort(-hidden[rest])[200:-200]
    low, high = corrected.predict_hidden_range(data.X[rest][middle]).T
    assert (low if verdict else 1 - high).mean() > 0.84


def test_scores_of_rows_that_were_held_out_are_corrected_along_their_list(data):
    model = PUClassifier(learners=[LogisticRegression()], random_state=0).fit(data.X, data.labelled)
    found = audited(data, model.oof_hidden_, order=model.oof_posterior_)
    corrected = correct(model, found, along="posterior")
    assert corrected.audit_.along == "posterior"
    share = np.where(data.labelled, 1.0, corrected.oof_hidden_).mean()
    assert share == pytest.approx(found.positives.estimate, abs=1e-6)


def test_a_survey_speaks_for_the_population_and_corrects_the_rows(data, wrong, rng):
    hidden = wrong.predict_hidden(data.X)
    weighted = audited(data, hidden, sample_weight=rng.uniform(1, 9, len(hidden)))
    plain = audited(data, hidden)
    assert weighted.positives != plain.positives
    assert correct(wrong, weighted).audit_ == correct(wrong, plain).audit_


def test_a_pipeline_is_corrected_at_its_end(data):
    pipeline = make_pipeline(StandardScaler(), PUClassifier(learners="linear", random_state=0))
    pipeline.fit(data.X, data.labelled)
    search = GridSearchCV(pipeline, {"puclassifier__cv": [5]}, cv=2).fit(data.X, data.labelled)
    before = hidden_of(pipeline, data.X)
    found = audited(data, before)
    for model in (pipeline, search):
        corrected = correct(model, found)
        expected = correct(pipeline[-1], found).predict_hidden(pipeline[0].transform(data.X))
        np.testing.assert_array_equal(hidden_of(corrected, data.X), expected)
        assert posterior(corrected, data.X).mean() == pytest.approx(data.positive.mean(), abs=0.05)
        # The one that was passed stays as it was.
        np.testing.assert_array_equal(hidden_of(model, data.X), before)


def test_what_cannot_be_corrected_is_refused(data, wrong):
    found = audited(data, wrong.predict_hidden(data.X), 50)
    with pytest.raises(InvalidOption, match="nothing to correct"):
        correct(Naive().fit(data.X, data.labelled), found)
    with pytest.raises(InvalidOption, match="along='x' must be"):
        correct(wrong, found, along="x")
    with pytest.raises(InvalidInput, match="not a LogisticRegression"):
        correct(LogisticRegression(), found)
