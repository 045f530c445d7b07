"""The cosine of encoders on pairs of sentences, and how many texts they encode.

``python -m benchmarks.encoders [--data DIR] [--encoder NAME ...] [--out DIR] [--quick]``. DIR holds
sts and quora; without it, the folder of FILM_DATA is taken. An encoder is a name or a folder, as
`estimators.AnyEncoder` takes it; without ``--encoder``, the packaged model is measured. Reported
are Spearman × 100 on the test set of STS-B, the AUC on the dev pairs of Quora, and distinct texts
of these dev pairs per second of processor time. Set OMP_NUM_THREADS=1 for that: threads that wait
for each other take processor time.
TF-IDF of character trigrams is the rival. Nothing is trained or chosen on labels.
``--quick`` takes 60 pairs a set and records only where ``--out`` says so.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, refused
from estimators import AnyEncoder
from film.datasets import read_sts_sets

PACKAGED = "all-MiniLM-L6-v2"
RIVAL = "TF-IDF of character trigrams"
QUICK_PAIRS = 60


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("encoders", __doc__, "holds sts and quora")
    parser.add_argument("--encoder", action="append", metavar="NAME", help="name or folder")
    options = parser.parse_args(arguments)
    try:
        folder = data_folder(options.data)
        scored = read_sts_sets(folder / "sts")["STS-B"]
        quora = read_folder(folder / "quora", on_error="raise", limit=None, seed=0)
    except (OSError, ValueError) as error:
        return refused("encoders", error)
    n = QUICK_PAIRS if options.quick else None
    sentences, questions = scored.pairs[:n], quora.dev[:n]
    results = Results("encoders", options)
    trigrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    compared: dict[str, Any] = {RIVAL: trigrams}
    compared |= {Path(name).name: name for name in options.encoder or [PACKAGED]}
    base: dict[str, float] = {}
    for name, encoder in compared.items():
        similar, _ = cosines(encoder, sentences)
        alike, speed = cosines(encoder, questions)
        row = {
            "sts_b": 100 * float(spearmanr(similar, scored.scores[:n]).statistic),
            "quora_auc": float(roc_auc_score(quora.y_dev[:n], alike)),
            "texts_per_processor_second": speed,
        }
        results.tell(name, row, rival=RIVAL if base else None, beside=base or None, seed=None)
        base = base or row
    return 0


def cosines(encoder: Any, pairs: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the cosine of each pair, and how many texts a second of processor time encodes."""
    texts, codes = np.unique(pairs.ravel(), return_inverse=True)
    fitted = AnyEncoder(encoder).fit(texts)
    fitted.transform(texts[:8])
    start = time.process_time()
    vectors: Any = fitted.transform(texts)
    seconds = time.process_time() - start
    first, second = (vectors[side] for side in codes.reshape(-1, 2).T)
    products = first * second
    return np.asarray(products.sum(axis=1)).ravel(), len(texts) / seconds


if __name__ == "__main__":
    sys.exit(main())
