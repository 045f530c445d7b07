"""What trained similarities of tokens are judged on: STS, iSTS and Quora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.ists import alignments
from benchmarks.sts import measured
from benchmarks.support.quora_data import read_folder
from estimators import RCMDRegressor
from film.datasets import read_excluded, read_ists, read_sts_sets
from film.tokens import score_alignments

SOURCES = ("images", "headlines")
PLANS = {"rcmd": "RCMD", "avg": "AVG", "rcmd+avg": "RCMD + AVG", "cls": None}
"""What aligns chunks by the plan's own contributions; that of [CLS] aligns nothing."""


class Judges:
    """What models are judged on; read before any work."""

    def __init__(self, folder: Path, quick: bool) -> None:
        few = slice(40) if quick else slice(None)
        self.sets = {
            name: type(data)(data.pairs[few], data.scores[few], data.genres[few])
            for name, data in read_sts_sets(folder / "sts").items()
        }
        self.chunked = {name: read_ists(folder / "ists" / "train", name)[few] for name in SOURCES}
        self.excluded = read_excluded(folder / "exclude.txt")
        self.quora = read_folder(folder / "quora", on_error="raise", limit=None, seed=0)
        self.dev, self.y_dev = self.quora.dev[few], np.asarray(self.quora.y_dev)[few]

    def figures(self, model: RCMDRegressor, is_transfer: bool) -> dict[str, float]:
        """Spearman × 100, F1 of aligned chunks by CLRCMD's protocol, and Quora's ROC AUC."""
        sets = self.sets if is_transfer else {"STS-B": self.sets["STS-B"]}
        found = measured(model.similarity, sets)
        if not is_transfer:
            del found["mean"]
        of_plan = PLANS[model.plan]
        for source, gold in self.chunked.items():
            texts = [" ".join(words) for pair in gold for words in (pair.words1, pair.words2)]
            aligned = alignments(gold, model.encoder_.transform(texts))
            for name, method in (("f1", of_plan), ("f1_chunks", "chunk vectors")):
                if method is None:
                    continue
                score = score_alignments(gold, aligned[method], "clrcmd")
                found[f"{name}_{source}"] = score.alignment.f1
        found["quora_auc"] = float(roc_auc_score(self.y_dev, model.similarity(self.dev)))
        return found
