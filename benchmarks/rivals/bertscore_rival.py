"""BERTScore by its own package: a script for an environment of its own, without this project.

``python bertscore_rival.py PAIRS.json OUT.json MODEL LAYERS``. PAIRS holds lists of two texts; OUT
gets the F1 of each and the seconds.
"""

from __future__ import annotations

import json
import sys
import time

import bert_score


def main() -> None:
    """Score and write."""
    source, target, model, layers = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        pairs = json.load(file)
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    started = time.perf_counter()
    _, _, f1 = bert_score.score(
        first, second, model_type=model, num_layers=int(layers), device="cpu", batch_size=64
    )
    seconds = time.perf_counter() - started
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"scores": f1.tolist(), "seconds": seconds}, file)


if __name__ == "__main__":
    main()
