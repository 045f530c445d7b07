"""
Sixty labels
============

Which pairs of a pool should you label first, and how good is a model that learns from the answers?
"""

# %%
# The pool is unlabelled; this example looks up the answers that a person would give.

import matplotlib.pyplot as plt
from sklearn.metrics import roc_auc_score

from estimators import disjoint_pairs_split, few_label_duplicates, suggest_pairs
from film.datasets import make_question_pairs

data = make_question_pairs(1000, random_state=0)
pool, test, answers, y_test = disjoint_pairs_split(
    data.pairs, data.y, test_size=0.3, random_state=0
)
budgets, areas = (20, 40, 60), []
rows = suggest_pairs(pool, budgets[0], random_state=0)
for budget in budgets:
    if budget > len(rows):
        more = suggest_pairs(
            pool, budget - len(rows), labelled=rows, y=answers[rows], random_state=0
        )
        rows = [*rows, *more]
    model = few_label_duplicates(pool, rank=50, cv=2, random_state=0)
    model.fit(pool[rows], answers[rows])
    areas.append(roc_auc_score(y_test, model.predict_proba(test)[:, 1]))

# %%
# This is a single run; another seed gives other figures.

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(budgets, areas, marker="o")
axes.set(xlabel="labels", ylabel="ROC AUC on other questions", xticks=budgets, ylim=(0.5, 1))
plt.show()
