"""skops: a model comes back as it was if its types are trusted, and is refused otherwise."""

import numpy as np
import pytest

io = pytest.importorskip("skops.io", reason="needs skops")
pd = pytest.importorskip("pandas", reason="needs pandas")

from sklearn.linear_model import LogisticRegression  # noqa: E402

import propense  # noqa: E402
from propense.audit import Audit, correct, draw, read  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
DATA = make_double_logistic(400, 4, random_state=0)
FRAME = pd.DataFrame(DATA.X, columns=list("abcd")).assign(k=pd.Categorical(np.where(DATA.X[:, 0] > 0, "u", "v")))


def fitted():
    """Every method, and what else a model may consist of; with a seed, since that decides which trees are kept."""
    for name in propense.__all__:
        kind = getattr(propense, name)
        if isinstance(kind, type) and name != "BasePUClassifier":
            known = {"propensity": np.full(400, 0.5)} if name == "KnownPropensity" else {}
            few = {"random_state": 0, "cv": 2}
            few = {option: value for option, value in few.items() if option in kind().get_params()}
            yield kind(**few).fit(DATA.X, DATA.labelled, **known), DATA.X
    quick = {"learners": [LogisticRegression()], "cv": 2, "random_state": 0}
    yield propense.PUClassifier(learners="linear", random_state=0).fit(FRAME, DATA.labelled), FRAME
    yield (
        propense.PUClassifier(prior={"u": 0.5, "v": 0.6}, prior_groups="k", cv=2, random_state=0).fit(
            FRAME, DATA.labelled
        ),
        FRAME,
    )
    yield propense.PUClassifier(propensity_features=[0], **quick).fit(DATA.X, DATA.labelled), DATA.X
    sources = np.column_stack([DATA.labelled, DATA.labelled & (DATA.X[:, 1] > 0)]).astype(float)
    yield propense.SeveralSources().fit(DATA.X, sources), DATA.X
    yield propense.SAREM(estimator=LogisticRegression()).fit(DATA.X, DATA.labelled), DATA.X
    model = propense.JERM(random_state=0).fit(DATA.X, DATA.labelled)
    hidden = model.predict_hidden(DATA.X)
    drawn = draw(hidden, 100, labelled=DATA.labelled, random_state=0)
    found = read(Audit(drawn, DATA.positive[drawn.rows].astype(float)), hidden, labelled=DATA.labelled)
    yield correct(model, found), DATA.X


def test_the_list_has_the_types_of_all_models_and_no_others_and_they_predict_the_same():
    met = set()
    for model, X in fitted():
        data = io.dumps(model)
        met |= set(io.get_untrusted_types(data=data))
        loaded = io.loads(data, trusted=propense.TRUSTED_TYPES)
        np.testing.assert_array_equal(loaded.predict_hidden(X), model.predict_hidden(X))
    assert sorted(met) == propense.TRUSTED_TYPES


def test_a_model_is_refused_if_its_types_are_not_trusted():
    data = io.dumps(propense.Naive().fit(DATA.X, DATA.labelled))
    with pytest.raises(io.exceptions.UntrustedTypesFoundException, match="Naive"):
        io.loads(data)
