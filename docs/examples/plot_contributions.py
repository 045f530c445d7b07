"""
Which words match
=================

Contributions of pairs of tokens, for the plan of relaxed transport and the plan of mean pooling:
the upper and the lower row of CLRCMD's Figure 2, without training.
"""

# %%
# These pairs differ in the same ways as the pairs in the paper.

import matplotlib.pyplot as plt

from estimators import RCMDRegressor

pairs = {
    "positive": ("How do I learn chess?", "What is the best way to learn chess?"),
    "neutral": ("Trains to Rome on 25 August", "Trains to Rome on 19 July"),
    "negative": ("A storm closes the harbour", "The council opens a library"),
}

# %%
# Every matrix sums to the similarity above it.

figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
for row, plan in zip(axes, ("rcmd", "avg"), strict=True):
    model = RCMDRegressor(plan=plan).fit(list(pairs.values()))
    for panel, (kind, pair) in zip(row, pairs.items(), strict=True):
        explanation = model.explain([pair])[0]
        explanation.plot(ax=panel)
        panel.set_title(f"{kind}, {plan}: {explanation.similarity:.2f}", fontsize=10)
plt.show()
