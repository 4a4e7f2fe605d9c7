"""
How many positives: ask people to check 200 rows
================================================

The labels alone leave open how many rows are positive. A few checked rows settle it. :func:`propense.audit.draw`
chooses them at random, more of them where the model expects positives, and :func:`propense.audit.read` turns the
verdicts into intervals that hold however wrong the model is.
"""

# %%
# Made-up rows, a third of them positive. The labels follow the same columns as the class, which is the hardest case for
# every method that sees labels alone.
import matplotlib.pyplot as plt
import numpy as np

from propense import PUClassifier
from propense.audit import Audit, correct, draw, read

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 5))
score = X[:, 0] + X[:, 1] - 0.5 * X[:, 2]
positive = rng.random(len(X)) < 1 / (1 + np.exp(1 - 1.5 * score))
labelled = positive & (rng.random(len(X)) < 1 / (1 + np.exp(1.2 - score)))
print(f"{positive.mean():.1%} of the rows are positive, {labelled.mean():.1%} are labelled")

model = PUClassifier(random_state=0).fit(X, labelled)
hidden = model.oof_hidden_
print(model.diagnosis_)

# %%
# Draw 200 unlabelled rows, and have them checked. The true classes play the reviewers here.
drawn = draw(hidden, 200, labelled=labelled, random_state=0)
verdicts = positive[drawn.rows].astype(float)
found = read(Audit(drawn, verdicts), hidden, labelled=labelled)
print(found)

# %%
# The more rows are checked, the narrower the interval. Of a hundred such intervals, about 95 hold the truth.
sizes = [25, 50, 100, 200, 400]
audits = []
for size in sizes:
    part = draw(hidden, size, labelled=labelled, random_state=0)
    audits.append(read(Audit(part, positive[part.rows].astype(float)), hidden, labelled=labelled).positives)

ends = np.array([[model.diagnosis_.low, model.diagnosis_.high], *([each.low, each.high] for each in audits)]).T
middle = np.array([model.prior_, *(each.estimate for each in audits)])
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.errorbar(middle, range(len(middle)), xerr=np.abs(ends - middle), fmt="o", color="#1f6fb4", capsize=3)
ax.axvline(positive.mean(), color="black", linestyle="dotted", label="true")
ax.set_yticks(range(len(middle)), ["labels alone", *(f"{size} rows checked" for size in sizes)])
ax.invert_yaxis()
ax.set(xlabel="share of positive rows", xlim=(0, 0.8))
ax.legend(frameon=False)

# %%
# :func:`propense.audit.correct` moves the probabilities of all rows to what the verdicts say. The figure shows
# the unlabelled rows in ten groups by h(x), the probability that an unlabelled row is positive: on the dotted line, a
# probability of 30% means that 30 of 100 rows are positive.
corrected = correct(model, found)

figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for chosen, words, colour in ((model, "before the audit", "#999999"), (corrected, "after it", "#1f6fb4")):
    chances = chosen.predict_hidden(X)[~labelled]
    parts = np.array_split(np.argsort(chances), 10)
    said = [chances[part].mean() for part in parts]
    true = [positive[~labelled][part].mean() for part in parts]
    ax.plot(said, true, "o-", color=colour, label=words)
ax.plot([0, 1], [0, 1], color="black", linestyle="dotted")
ax.set(xlabel="h(x), as predicted", ylabel="share that is positive", xlim=(0, 1), ylim=(0, 1))
ax.legend(frameon=False)
plt.show()
