"""Pairs of intents, against their definition."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from film.datasets import (
    IntentTexts,
    make_intent_pairs,
    read_banking77,
    read_clinc150,
    read_excluded,
)


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


WORDS = "red blue green card bank fly song rain train tea milk bread".split()
RNG = np.random.default_rng(0)
TEXTS = sorted({" ".join(RNG.choice(WORDS, 5)) for _ in range(160)})
DATA = IntentTexts(objects(TEXTS), objects([text.split()[0] for text in TEXTS]))


def test_half_share_an_intent_and_half_of_the_rest_is_near():
    data = make_intent_pairs(DATA, 200, n_nearest=3, random_state=1)
    intent = dict(zip(TEXTS, DATA.intents, strict=True))
    same = np.array([intent[a] == intent[b] for a, b in data.pairs])
    assert np.array_equal(same, data.y == 1)
    assert data.y is not None and data.y.sum() == 100
    assert len({frozenset(pair) for pair in data.pairs.tolist()}) == 200
    vectors = TfidfVectorizer(token_pattern=r"\S+").fit_transform(TEXTS)
    cosine = (vectors @ vectors.T).toarray()
    number = {text: row for row, text in enumerate(TEXTS)}
    near = 0
    for a, b in data.pairs[data.y == 0]:
        i, j = number[a], number[b]
        others = np.array([intent[text] != intent[a] for text in TEXTS])
        third = np.sort(cosine[i][others])[-3]
        near += cosine[i, j] >= third - 1e-12
    assert near >= 50


def test_the_same_seed_gives_the_same_pairs():
    one, two = (make_intent_pairs(DATA, 40, random_state=5) for _ in range(2))
    assert one.pairs.tolist() == two.pairs.tolist() and one.y is not None
    assert two.y is not None and np.array_equal(one.y, two.y)
    assert not np.array_equal(make_intent_pairs(DATA, 40, random_state=6).pairs, one.pairs)


def test_what_gives_no_pairs_is_refused():
    alone = IntentTexts(objects(["a b", "c d"]), objects(["x", "y"]))
    with pytest.raises(ValueError, match="at least two intents, one of them with two texts"):
        make_intent_pairs(alone, 4)
    few = IntentTexts(objects(["a b", "a c", "d e"]), objects(["x", "x", "y"]))
    with pytest.raises(ValueError, match="ask for fewer pairs"):
        make_intent_pairs(few, 100)
    with pytest.raises(ValueError, match="n_pairs must be at least 4"):
        make_intent_pairs(few, 3)


FIXED = {"clinc150": "f31880ff95013414", "banking77": "91be3e1a3c798cc2"}


@pytest.mark.skipif("FILM_DATA" not in os.environ, reason="FILM_DATA names no folder of data")
@pytest.mark.slow
@pytest.mark.parametrize("name", FIXED)
def test_the_fixed_sets_are_what_they_were(name):
    folder = Path(os.environ["FILM_DATA"])
    if not (folder / name).is_dir():
        pytest.skip(f"FILM_DATA has no {name}")
    excluded = read_excluded(folder / "exclude.txt")
    if name == "clinc150":
        texts = read_clinc150(folder / name / "data_full.json", excluded)
    else:
        parts = [folder / name / f"{part}.csv" for part in ("train", "test")]
        texts = read_banking77(parts, excluded)
    data = make_intent_pairs(texts)
    assert len(data) == 5000 and data.y is not None and data.y.sum() == 2500
    digest = hashlib.sha1("\n".join([*data.pairs.ravel(), *map(str, data.y)]).encode())
    assert digest.hexdigest()[:16] == FIXED[name]
