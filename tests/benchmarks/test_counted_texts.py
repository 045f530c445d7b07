"""Counts of texts are kept under one name, whichever process asks, and weigh as the vectorizer."""

import subprocess
import sys

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.support.counted_texts import count_texts
from film.text import normalize_text

TEXTS = ["", "a cat sat", "a dog sat", "the cat ran", "cats run"]
OTHER_PROCESS = """
from pathlib import Path
from sklearn.feature_extraction.text import TfidfVectorizer
from benchmarks.support.counted_texts import count_texts
from film.text import normalize_text
vectorizer = TfidfVectorizer(preprocessor=normalize_text, min_df=2)
print(count_texts(vectorizer, {texts!r}, Path({folder!r})).place)
"""


def test_every_process_finds_the_same_file(tmp_path):
    vectorizer = TfidfVectorizer(preprocessor=normalize_text, min_df=2)
    place = count_texts(vectorizer, TEXTS, tmp_path).place
    program = OTHER_PROCESS.format(texts=TEXTS, folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == place
    assert len(list(tmp_path.glob("counts_*"))) == 1
    other = count_texts(TfidfVectorizer(preprocessor=str.lower), TEXTS, tmp_path).place
    longer = count_texts(TfidfVectorizer(preprocessor=normalize_text), TEXTS[1:], tmp_path).place
    assert len({place, other, longer}) == 3


def test_weights_are_those_of_the_vectorizer(tmp_path):
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    counted = count_texts(vectorizer, TEXTS, tmp_path)
    found = counted.fit_transform(TEXTS[1:])
    assert np.allclose(found.toarray(), vectorizer.fit_transform(TEXTS[1:]).toarray(), atol=1e-7)
    assert counted.get_feature_names_out().tolist() == ["cat", "sat"]
