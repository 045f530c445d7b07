"""
Duplicates of a table, without labels
=====================================

Some texts of a table stand in it twice, in other words. `DuplicateFinder` compares each text with
its nearest neighbours; no label is needed.
"""

# %%
# The texts are made ones, so that the duplicates are known.

import matplotlib.pyplot as plt

from estimators import DuplicateFinder
from film.datasets import make_question_pairs

data = make_question_pairs(400, random_state=0)
texts = sorted({*data.pairs.ravel()})
print(len(texts), "texts")

# %%
# A score is the mean of two TF-IDF cosines, of words and of runs of three characters.

found = DuplicateFinder().fit(texts).find(budget=300).to_frame()
print(found.head(5).to_string())

# %%
# How many of the pairs from a score on are known duplicates? Pairs that nobody labelled count as
# none here, so that the truth is somewhat better.

known = {frozenset(pair) for pair, same in zip(data.pairs, data.y, strict=True) if same}
right = [frozenset(pair) in known for pair in zip(found["text1"], found["text2"], strict=True)]
precision = [sum(right[: n + 1]) / (n + 1) for n in range(len(right))]

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(found["similarity"], precision)
axes.set(
    xlabel="lowest similarity that is shown", ylabel="share of known duplicates", ylim=(0, 1.02)
)
plt.show()
