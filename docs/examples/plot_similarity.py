"""
Similarity of sentences, and of their words
===========================================

Cosines of sentence vectors, and a similarity that shows which words match.
"""

# %%
# Each sentence is encoded once; vectors are compared by their cosine.

import matplotlib.pyplot as plt
from sklearn.metrics.pairwise import cosine_similarity

from estimators import RCMDRegressor, SentenceEncoder

sentences = [
    "I lost my credit card.",
    "My card is missing.",
    "How do I open an account?",
    "Where can I register as a customer?",
    "It rained all day.",
]
vectors = SentenceEncoder().fit_transform(sentences)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
image = axes.imshow(cosine_similarity(vectors), vmin=0, vmax=1, cmap="Blues")
axes.set_yticks(range(len(sentences)), sentences)
axes.set_xticks(range(len(sentences)), range(1, len(sentences) + 1))
figure.colorbar(image, label="cosine")
plt.show()

# %%
# Relaxed transport compares the tokens of two sentences: each token is matched with its best
# match in the other sentence.

pair = (sentences[0], sentences[1])
rcmd = RCMDRegressor().fit([pair])
explanation = rcmd.explain([pair])[0]
print(explanation)
explanation.plot()
plt.show()
