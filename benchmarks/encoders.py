"""The cosine of encoders on pairs of sentences, and how many texts they encode.

``python -m benchmarks.encoders [--data DIR] [--encoder NAME ...] [--out DIR] [--quick]``. DIR holds
sts and quora; without it, the folder of FILM_DATA is taken. An encoder is a name or a folder, as
`estimators.AnyEncoder` takes it; without ``--encoder``, the packaged model is measured. Reported
are Spearman × 100 on the test set of STS-B, the AUC on the dev pairs of Quora, and distinct texts
of these dev pairs per second of processor time. Set OMP_NUM_THREADS=1 for that: threads that wait
for each other take processor time. `DuplicateFinder` with the encoder, on a table of the texts of
these pairs, gives the AUC of its score, and the share of duplicates that are among its candidates.
TF-IDF of character trigrams is the rival, in whose row the finder has no encoder. Nothing is
trained or chosen on labels.
``--quick`` takes 60 pairs a set and records only where ``--out`` says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from benchmarks.data.sts import read_sts_sets
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import AnyEncoder, DuplicateFinder

PACKAGED = "all-MiniLM-L6-v2"
RIVAL = "TF-IDF of character trigrams"
QUICK_PAIRS = 60

Encode = Callable[[list[str]], Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("encoders", __doc__, "holds sts and quora")
    parser.add_argument("--encoder", action="append", metavar="NAME", help="name or folder")
    options = parser.parse_args(arguments)
    with reading("encoders"):
        folder = data_folder(options.data)
        scored = read_sts_sets(folder / "sts")["STS-B"]
        quora = read_folder(folder / "quora", limit=None, seed=0)
    n = QUICK_PAIRS if options.quick else None
    sentences, questions = scored.pairs[:n], quora.dev[:n]
    results = Results("encoders", options)
    trigrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    compared: dict[str, Any] = {RIVAL: trigrams}
    compared |= {Path(name).name: name for name in options.encoder or [PACKAGED]}
    base: dict[str, float] = {}
    for name, encoder in compared.items():
        order: Any = spearmanr(cosines(encoder, sentences)[0], scored.scores[:n])
        alike, speed, encode = cosines(encoder, questions)
        scores, are_candidates = in_table(encode if base else None, questions)
        y = quora.y_dev[:n]
        row = {
            "sts_b": 100 * float(order.statistic),
            "quora_auc": float(roc_auc_score(y, alike)),
            "finder_auc": float(roc_auc_score(y, scores)),
            "candidate_share": float(are_candidates[y == 1].mean()),
            "texts_per_processor_second": speed,
        }
        results.tell(name, row, rival=RIVAL if base else None, beside=base or None, seed=None)
        base = base or row
    return 0


def cosines(encoder: Any, pairs: np.ndarray) -> tuple[np.ndarray, float, Encode]:
    """Return the cosine of each pair, texts per second of processor time, and the encoder.

    The encoder remembers the vectors of these texts.
    """
    texts, codes = np.unique(pairs.ravel(), return_inverse=True)
    fitted = AnyEncoder(encoder).fit(texts)
    fitted.transform(texts[:8])
    start = time.process_time()
    vectors: Any = fitted.transform(texts)
    seconds = time.process_time() - start
    first, second = (vectors[side] for side in codes.reshape(-1, 2).T)
    products = first * second
    number = {text: place for place, text in enumerate(texts.tolist())}

    def encode(some: list[str]) -> Any:
        known = [number.get(text, -1) for text in some]
        return fitted.transform(some) if min(known) < 0 else vectors[known]

    return np.asarray(products.sum(axis=1)).ravel(), len(texts) / seconds, encode


def in_table(encoder: Encode | None, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of pairs in a table of their texts, and whether they are candidates."""
    texts = list(dict.fromkeys(pairs.ravel().tolist()))
    finder = DuplicateFinder(encoder=encoder).fit(texts, ids=texts)
    found = {frozenset(pair) for pair in finder.find(threshold=0).ids.tolist()}
    scores = finder.score_pairs(pairs.tolist())[0]
    return scores, np.array([frozenset(pair) in found for pair in pairs.tolist()])


if __name__ == "__main__":
    sys.exit(main())
