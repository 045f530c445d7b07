"""Readers of intents and the maker of pairs, on small files and against their definition."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from film.datasets import IntentTexts, make_intent_pairs, read_banking77, read_clinc150
from film.datasets.intents import _tfidf
from film.text import text_hash


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


WORDS = "red blue green card bank fly song rain train tea milk bread".split()
RNG = np.random.default_rng(0)
TEXTS = sorted({" ".join(RNG.choice(WORDS, 5)) for _ in range(160)})
DATA = IntentTexts(objects(TEXTS), objects([text.split()[0] for text in TEXTS]))


def test_clinc150_is_read_without_what_is_out_of_scope(tmp_path):
    path = tmp_path / "data.json"
    lists = {
        "train": [["Hi there", "greeting"], ["bye", "farewell"], ["hi there!", "greeting"]],
        "oos_train": [["why", "oos"]],
        "test": [["see you", "farewell"]],
    }
    path.write_text(json.dumps(lists))
    data = read_clinc150(path, {text_hash("see you")})
    assert data.texts.tolist() == ["Hi there", "bye"]
    assert data.intents.tolist() == ["greeting", "farewell"]
    assert (data.n_excluded, data.n_repeated, len(data)) == (1, 1, 2)


@pytest.mark.parametrize("content", ["[]", "{", '{"train": [["text"]]}', '{"a": [["", "b"]]}'])
def test_another_json_is_refused(tmp_path, content):
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"not a JSON object of lists of \[text, intent\]"):
        read_clinc150(path)


def test_banking77_is_read_from_several_files(tmp_path):
    first, second = tmp_path / "train.csv", tmp_path / "test.csv"
    first.write_text('text,category\n"Where, please?",place\nWhen?,time\n')
    second.write_text("text,category\nwhere please,place\nWho?,person\n")
    data = read_banking77([first, second], {text_hash("when")})
    assert data.texts.tolist() == ["Where, please?", "Who?"]
    assert (data.n_excluded, data.n_repeated) == (1, 1)
    second.write_text("text,category\nWho?,\n")
    with pytest.raises(ValueError, match="line 2: the text or the category is missing"):
        read_banking77([second])
    second.write_text("question,label\nWho?,a\n")
    with pytest.raises(ValueError, match="expected text and category"):
        read_banking77([second])
    with pytest.raises(TypeError, match="one path"):
        read_banking77(str(first))


def test_weights_are_those_of_tfidf():
    wanted = TfidfVectorizer(token_pattern=r"\S+").fit_transform(TEXTS)
    assert np.allclose((_tfidf(TEXTS) @ _tfidf(TEXTS).T).toarray(), (wanted @ wanted.T).toarray())


def test_half_share_an_intent_and_half_of_the_rest_is_near():
    data = make_intent_pairs(DATA, 200, n_nearest=3, random_state=1)
    intent = dict(zip(TEXTS, DATA.intents, strict=True))
    same = np.array([intent[a] == intent[b] for a, b in data.pairs])
    assert np.array_equal(same, data.y == 1)
    assert data.y.sum() == 100
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
    assert np.array_equal(one.pairs, two.pairs) and np.array_equal(one.y, two.y)
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
