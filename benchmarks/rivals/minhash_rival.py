"""Find near copies by datasketch: a script for an environment of its own, without this project.

``python minhash_rival.py TEXTS.json OUT.npz``. MinHash of sets of character trigrams with 128
permutations, looked up by locality-sensitive hashing at a Jaccard similarity of 0.5.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from datasketch import MinHash, MinHashLSH

LOWEST = 0.5


def main() -> None:
    """Look every text up and write pairs, scores and seconds."""
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        texts = json.load(file)
    started = time.perf_counter()
    trigrams = [
        [text[i : i + 3].encode("utf-8", "replace") for i in range(max(1, len(text) - 2))]
        for text in (f" {text.lower()} " for text in texts)
    ]
    hashes = MinHash.bulk(trigrams, num_perm=128, seed=1)
    index = MinHashLSH(threshold=LOWEST, num_perm=128)
    for row, each in enumerate(hashes):
        index.insert(row, each, check_duplication=False)
    pairs, scores = [], []
    for row, each in enumerate(hashes):
        for other in index.query(each):
            if other > row and (score := each.jaccard(hashes[other])) >= LOWEST:
                pairs.append((row, other))
                scores.append(score)
    seconds = time.perf_counter() - started
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    np.savez(target, pairs=rows, scores=np.array(scores), seconds=seconds)


if __name__ == "__main__":
    main()
