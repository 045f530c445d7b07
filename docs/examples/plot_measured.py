"""
Benchmarks, as plots
====================

The plots show the result files of the benchmarks. The tables give the conditions.
"""

import matplotlib.pyplot as plt

from benchmarks.tables import newest

# %%
# Quality against cost
# --------------------
#
# The plot shows the area under the ROC curve on Quora dev by the seconds of fitting. Training and
# test share no question. Hollow points use MiniLM, which was trained on Quora's duplicates: expect
# less on new texts.

shown = [
    ("lexical features", "duplicates", "quora: lexical features, logistic regression"),
    ("fast_duplicates", "duplicates", "quora: fast_duplicates, collection"),
    ("FILM, cosine", "film_speed", "quora, rank 600: FILM eigen"),
    ("TruncatedSVD, cosine", "film_speed", "quora, rank 600: TruncatedSVD alone"),
]
hollow = [
    (
        "RCMD, trained",
        "rcmd_train",
        "all-MiniLM-L6-v2, bfloat16: labels, 1.5 epochs, learned weights: rcmd, mean of 1 seeds",
        ("training_seconds", "quora_auc"),
    ),
    (
        "accurate_duplicates",
        "accurate",
        "quora, MiniLM saw Quora: collection: all",
        ("fit", "roc_auc"),
    ),
]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, bench, case, *metrics in [*shown, *hollow]:
    row = newest(bench)[case]
    seconds, area = (row[metric]["value"] for metric in (metrics or [("seconds", "roc_auc")])[0])
    axes.scatter(seconds, area, color="C0", facecolors="none" if metrics else "C0")
    axes.annotate(name, (seconds, area), xytext=(6, 4), textcoords="offset points")
axes.set(xscale="log", xlabel="seconds of fitting", ylabel="ROC AUC", xlim=(5, 5e4), ylim=(0.7, 1))
plt.show()

# %%
# Before and after training
# -------------------------
#
# The bars show Spearman × 100 on seven STS sets, for RCMD over MiniLM: untrained, trained with the
# contrastive loss, trained on labels, and the average of both trained models.

steps = {
    "untrained": "all-MiniLM-L6-v2, bfloat16: rcmd: untrained",
    "contrast": "all-MiniLM-L6-v2, bfloat16: here: rcmd, mean of 3 seeds",
    "labels": "all-MiniLM-L6-v2, bfloat16: quora: rcmd, mean of 3 seeds",
    "average": "average of here-rcmd-0 and quora-rcmd-0, bfloat16: rcmd",
}
sets = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK", "mean"]
results = newest("rcmd_train")
figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
for i, (name, case) in enumerate(steps.items()):
    heights = [results[case][metric]["value"] for metric in sets]
    axes.bar([x + (i - 1.5) * 0.2 for x in range(len(sets))], heights, 0.2, label=name)
axes.set(ylim=(65, 90), ylabel="Spearman × 100")
axes.set_xticks(range(len(sets)), sets)
axes.legend(ncols=4, loc="upper center")
plt.show()

# %%
# Memory and seconds against the size of a batch
# ----------------------------------------------
#
# The job computes the similarities of B texts with 2 B others, and their gradients, on a CPU.

memory = newest("rcmd_memory")
sizes = (16, 32, 64, 128, 256, 512, 1024)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for way in ("dense form", "sparse form of CLRCMD", "ours", "avg"):
    rows = [
        memory[f"CPU, 2 torch threads: {b} x {2 * b} texts, 32 tokens, width 768, {way}"]
        for b in sizes
    ]
    for axes, metric in zip(panels, ("peak", "seconds"), strict=True):
        points = [(b, r[metric]["value"]) for b, r in zip(sizes, rows, strict=True) if metric in r]
        axes.loglog(*zip(*points, strict=True), marker="o", label=way)
for axes, label in zip(panels, ("peak, MB", "seconds"), strict=True):
    axes.set(xlabel="texts in the batch, B", ylabel=label)
panels[1].legend(loc="lower right")
plt.show()
