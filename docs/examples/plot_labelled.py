"""
Probabilities, with reasons
===========================

This example trains a classifier on labelled pairs. It shows how well the probabilities are
calibrated, which threshold reaches a precision, and how one probability is explained.
"""

# %%
# Test pairs share no question with training pairs.

import matplotlib.pyplot as plt

from estimators import disjoint_pairs_split, fast_duplicates
from estimators.inspection import plot_reliability
from film.datasets import make_question_pairs

data = make_question_pairs(600, random_state=0)
train, test, y, y_test = disjoint_pairs_split(data.pairs, data.y, test_size=0.25, random_state=0)
model = fast_duplicates(d=20, rank=100, cv=2).fit(train, y)
probabilities = model.predict_proba(test)[:, 1]

# %%
# Probabilities are calibrated if the points are on the diagonal.

plot_reliability(y_test, probabilities)
plt.show()

# %%
# The next plot shows precision and recall by threshold, out of fold on the training pairs.

curve = model.threshold_curve()
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
low, high = curve.precision_interval.T
axes.fill_between(curve.thresholds, low, high, alpha=0.25, linewidth=0)
axes.plot(curve.thresholds, curve.precision, label="precision, with its 95 % interval")
axes.plot(curve.thresholds, curve.recall, label="recall")
axes.set(xlabel="threshold", xlim=(0, 1), ylim=(0, 1.02))
axes.legend(loc="lower left")
plt.show()

# %%
# The explanation of one pair lists the effect of each input on the log-odds. One input is FILM's
# cosine; the matrix shows how words contribute to this cosine.

explanation = model.explain(test[:1])[0]
print(explanation)
explanation.plot()
plt.show()
