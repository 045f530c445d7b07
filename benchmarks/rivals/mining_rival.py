"""Mine pairs by sentence-transformers: a script without this project.

``python mining_rival.py TEXTS.json OUT.npz``. It gets vectors of character trigrams, so that the
search is compared and not the encoder; 10 neighbours of each text, as the finder has.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch
from sentence_transformers.util import paraphrase_mining_embeddings
from trigram_points import trigram_points


def main() -> None:
    """Mine and write pairs, scores and seconds."""
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        texts = json.load(file)
    started = time.perf_counter()
    points = torch.from_numpy(trigram_points(texts))
    # Each point is its own nearest.
    found = paraphrase_mining_embeddings(points, top_k=11, max_pairs=12 * len(texts))
    seconds = time.perf_counter() - started
    pairs = np.array([row[1:] for row in found], dtype=np.int64).reshape(-1, 2)
    np.savez(target, pairs=pairs, scores=np.array([row[0] for row in found]), seconds=seconds)


if __name__ == "__main__":
    main()
