"""Which results stand in the tables that compare what was measured in several benchmarks."""

from __future__ import annotations

from typing import NamedTuple


class Pick(NamedTuple):
    """One row: how it is called here, where it stands, and which of its metrics are shown."""

    name: str
    bench: str
    case: str
    metrics: dict[str, str]
    """By heading of the table, the metric of the result file."""


def _same(*metrics: str) -> dict[str, str]:
    return {name: name for name in metrics}


_ALL = "quora, MiniLM saw Quora: collection"
_MINILM = "all-MiniLM-L6-v2"
_CURVE, _COST = ("roc_auc", "accuracy"), ("seconds", "peak")
_TOKENS = {"roc_auc": "quora_auc"}
_TAUGHT = "all-MiniLM-L6-v2, bfloat16: teacher: rcmd+avg, mean of 2 seeds"
TRAINED = (
    "start + 0.3 here-rcmd-0 + 0.3 here-avg-0 + 0.16 further-by-mpnet-labels-rcmd+avg-0"
    " + 0.16 further-by-mpnet-labels-rcmd+avg-1"
    " + 0.16 further-150000-near-by-mpnet-labels-rcmd+avg-0"
    " + 0.16 further-rcmd+avg-0 + 0.16 collection-rcmd+avg-0, bfloat16, weights of words: rcmd+avg"
)
"""The average of trained models whose shares and plan were chosen outside of the test sets."""

PICKS = {
    "choices": (
        Pick(
            "cosine of TF-IDF, a line on top",
            "duplicates",
            "quora: TF-IDF cosine, logistic regression",
            _same(*_CURVE),
        ),
        Pick(
            "`few_label_duplicates`, 200 labels",
            "suggest",
            "quora: 200 labels, suggested, mean of 10 seeds",
            _same(*_CURVE),
        ),
        Pick(
            "`LexicalFeatures`, logistic regression",
            "duplicates",
            "quora: lexical features, logistic regression",
            _same(*_CURVE, "seconds"),
        ),
        Pick("`FILM` over TF-IDF, cosine", "quora", "quora: FILM cosine", _same("roc_auc")),
        Pick(
            "`PairwiseKNNClassifier` over it",
            "quora",
            "quora: Pairwise kNN, inductive",
            _same(*_CURVE),
        ),
        Pick(
            "`fast_duplicates`",
            "duplicates",
            "quora: fast_duplicates, collection",
            _same(*_CURVE, *_COST),
        ),
        Pick(
            '`accurate_duplicates(encoder="none")`',
            "accurate",
            "quora: collection: all",
            _same(*_CURVE) | {"seconds": "fit"},
        ),
        Pick(
            "cosine of MiniLM, untrained, *",
            "frozen_film",
            "cosine: quora: MiniLM cosine",
            _same("roc_auc"),
        ),
        Pick(
            "`FILM` over MiniLM's vectors, *",
            "frozen_film",
            "cosine: quora: MiniLM, FILM, threshold",
            _same("roc_auc"),
        ),
        Pick(
            "`TripletNetwork`, along length, *",
            "triplet_network",
            "quora: 20000 triplets: along length, from the means, hinge, margin 1",
            _same(*_CURVE) | {"seconds": "training_seconds"},
        ),
        Pick(
            "`RCMDRegressor`, untrained, *",
            "frozen_film",
            "cosine: quora: MiniLM, RCMD",
            _same("roc_auc"),
        ),
        Pick(
            "`TokenFILM` under `RCMDRegressor`, *",
            "frozen_film",
            "cosine: quora: MiniLM, TokenFILM, RCMD",
            _same("roc_auc"),
        ),
        Pick(
            "`RCMDRegressor`, trained on labels and a teacher's scores, *",
            "rcmd_train",
            _TAUGHT,
            _TOKENS | {"seconds": "training_seconds"},
        ),
        Pick(
            "`accurate_duplicates`, *",
            "accurate",
            f"{_ALL}: all",
            _same(*_CURVE) | {"seconds": "fit"},
        ),
    ),
    "choices_similarity": (
        Pick(
            "TF-IDF of characters",
            "contexts",
            "sample: TF-IDF of characters",
            _same("STS-B"),
        ),
        Pick(
            "`FILM` beside its TF-IDF, STS-B's labels",
            "sts_film",
            "STS-B test: FILM beside its TF-IDF, cosine",
            {"STS-B": "spearman"},
        ),
        Pick(
            "`ContextRegressor`, from 91 books",
            "contexts",
            "whole: Origin from scratch, 500 contexts",
            _same("STS-B", "seconds"),
        ),
        Pick(
            "`SurrogateRegressor` of it",
            "contexts",
            "2: Surrogate from scratch",
            _same("STS-B", "mean", "seconds"),
        ),
        Pick(
            "mean pooling of MiniLM, *", "sts", f"{_MINILM}: mean pooling", _same("STS-B", "mean")
        ),
        Pick("`RCMDRegressor`, untrained, *", "sts", f"{_MINILM}: RCMD", _same("STS-B", "mean")),
        Pick(
            "`TokenMatchingRegressor`, untrained, *",
            "sts",
            f"{_MINILM}: matching, both",
            _same("STS-B", "mean"),
        ),
        Pick(
            "`RCMDRegressor`, average of trained ones, *",
            "rcmd_train",
            TRAINED,
            _same("STS-B", "mean"),
        ),
    ),
}
