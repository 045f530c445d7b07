"""What trained similarities of tokens are judged on: STS, iSTS and Quora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.data.alignments import score_alignments
from benchmarks.data.excluded import read_excluded
from benchmarks.data.ists import read_ists
from benchmarks.data.sts import read_sts_sets
from benchmarks.ists import alignments
from benchmarks.sts import correlations, keep_pairs
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results
from estimators import RCMDRegressor

SOURCES = ("images", "headlines")
DEV = "Quora dev"
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
        self.quora = read_folder(folder / "quora", limit=None, seed=0)
        self.dev, self.y_dev = self.quora.dev[few], np.asarray(self.quora.y_dev)[few]

    def said(self, model: RCMDRegressor, is_transfer: bool) -> dict[str, np.ndarray]:
        """Similarities of the pairs that are judged, by the name of their set."""
        sets = self.sets if is_transfer else {"STS-B": self.sets["STS-B"]}
        said = {name: model.similarity(data.pairs) for name, data in sets.items()}
        return said | {DEV: model.similarity(self.dev)}

    def judged(self, model: RCMDRegressor, said: dict[str, np.ndarray]) -> dict[str, float]:
        """Spearman × 100, F1 of aligned chunks by CLRCMD's protocol, and Quora's ROC AUC.

        ``said`` are the similarities by the model. The mean over sets is there where all were
        judged.
        """
        of_sets = {name: values for name, values in said.items() if name != DEV}
        found = correlations(of_sets, self.sets)
        if len(of_sets) == 1:
            del found["mean"]
        of_plan = PLANS[model.plan]
        for source, gold in self.chunked.items():
            texts = [" ".join(words) for pair in gold for words in (pair.words1, pair.words2)]
            aligned = alignments(gold, model.encoder_.transform(texts))
            for name, method in (("f1", of_plan), ("f1_chunks", "chunk vectors")):
                if method is None:
                    continue
                score = score_alignments(gold, aligned[method], "clrcmd")
                found[f"{name}_{source}"] = score.f1
        found["quora_auc"] = float(roc_auc_score(self.y_dev, said[DEV]))
        return found

    def keep(
        self, results: Results, case: str, said: dict[str, np.ndarray], seed: int | None
    ) -> None:
        """Keep what a model said of each pair, so that `benchmarks.compare` compares it."""
        of_sets = {name: values for name, values in said.items() if name != DEV}
        keep_pairs(results, case, of_sets, self.sets, seed)
        results.keep(case, self.dev, self.y_dev, said[DEV], part=DEV, seed=seed)
