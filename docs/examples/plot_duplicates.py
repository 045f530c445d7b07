"""
Duplicates of a table, without labels
=====================================

Some texts occur in a table twice, in different words. `DuplicateFinder` compares each text with its
nearest neighbours. It needs no labels.
"""

# %%
# The texts are generated, so the duplicates are known.

import matplotlib.pyplot as plt

from estimators import DuplicateFinder
from film.datasets import make_question_pairs

data = make_question_pairs(400, random_state=0)
texts = sorted({*data.pairs.ravel()})
print(len(texts), "texts")

# %%
# A general formula scores each pair, and `kind` says how its texts differ.

found = DuplicateFinder().fit(texts).find(budget=300).to_frame()
print(found.head(5).to_string())

# %%
# Which pairs are duplicates? Only some pairs of the table are labelled; the others, including
# many of those with the highest scores, are left out here.

labels = {frozenset(pair): same for pair, same in zip(data.pairs, data.y, strict=True)}
judged = [
    (score, labels[frozenset(pair)])
    for score, *pair in found[["score", "text1", "text2"]].itertuples(index=False)
    if frozenset(pair) in labels
]
scores, right = zip(*judged, strict=True)
precision = [sum(right[: n + 1]) / (n + 1) for n in range(len(right))]

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(scores, precision)
axes.set(xlabel="lowest score that is shown", ylabel="share of duplicates", ylim=(0, 1.02))
plt.show()
