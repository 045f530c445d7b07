import numpy as np
import pytest

from benchmarks.rivals import bag_contrast
from benchmarks.rivals.bag_contrast import CROPS, NEXT, Bags, BagSettings, train_bags
from benchmarks.rivals.book_words import read_words

pytest.importorskip("torch", reason="needs the extra neural")

FRUIT, TOOLS = "apple pear plum grape fig".split(), "saw axe drill file plane".split()
QUICK = BagSettings(width=16, epochs=60, batch=32, learning_rate=0.05, passage=8, crop=(2, 4))


def documents(n=20):
    rng = np.random.default_rng(0)
    kinds = [FRUIT, TOOLS] * (n // 2)
    return [[" ".join(rng.permutation(kind)[:3]) for _ in range(8)] for kind in kinds]


def test_words_are_numbered_by_frequency_and_weighed_by_rarity():
    corpus = read_words([["The cat's hat, the hat!", "..."], ["The dog"]], n_words=2)
    assert corpus.vocabulary == {"the": 1, "hat": 2}
    assert corpus.ids.tolist() == [1, 0, 2, 1, 2, 1, 0]
    assert corpus.starts.tolist() == [0, 5, 7] and corpus.documents.tolist() == [0, 1]
    idf = corpus.idf()
    # "the" stands in both sentences: log(2 / 3), which counts as 0.
    assert idf == pytest.approx([0, 0, 0], abs=1e-12)
    # A word that stands twice in a sentence is counted once.
    rare = read_words([["a b b b", "c", "c"]]).idf()
    assert rare[1:] == pytest.approx(np.log([1.5, 1.0, 1.5]), abs=1e-12)
    assert corpus.numbers("A HAT?") == [0, 2] and corpus.numbers("!") == [0]
    with pytest.raises(ValueError, match="no sentence with a word"):
        read_words([["..."]])


@pytest.mark.parametrize("positives", [NEXT, CROPS])
def test_words_that_stand_together_come_together(positives):
    bags = train_bags(read_words(documents()), QUICK._replace(positives=positives))
    assert bags.vectors.shape == (11, 16)
    points = bags.transform(FRUIT + TOOLS)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    cosines = points @ points.T
    same = np.kron(np.eye(2), np.ones((5, 5))).astype(bool) & ~np.eye(10, dtype=bool)
    assert cosines[same].mean() > cosines[~same & ~np.eye(10, dtype=bool)].mean() + 0.3


def test_the_same_seed_gives_the_same_vectors():
    corpus, quick = read_words(documents()), QUICK._replace(epochs=2)
    first, second, other = (train_bags(corpus, quick._replace(seed=s)) for s in (0, 0, 1))
    assert np.array_equal(first.vectors, second.vectors)
    assert not np.array_equal(first.vectors, other.vectors)


def texts_of(side):
    return np.split(side[0], side[1][1:])


def test_a_positive_is_the_next_sentence_of_the_same_document():
    # Every word of a sentence is a number of its own: 1 once, and so on.
    sentences = [[" ".join(["w" + "x" * (d * 6 + s)] * 2) for s in range(6)] for d in range(3)]
    corpus = read_words(sentences)
    number = {corpus.ids[start]: row for row, start in enumerate(corpus.starts[:-1])}
    first, second = bag_contrast._next_pairs(corpus, QUICK, np.random.default_rng(0))
    seen = set()
    for one, other in zip(texts_of(first), texts_of(second), strict=True):
        assert len(one) == len(other) == 2
        row = number[one[0]]
        assert number[other[0]] == row + 1 and row % 6 != 5
        seen.add(row)
    # No sentence twice in a batch: it would be a wrong negative of itself.
    assert len(seen) == len(texts_of(first)) > 10


def test_crops_are_two_spans_of_one_passage_of_one_document():
    # A word is its place in the corpus, as far as its document is concerned.
    spelled = [[f"w{d * 40 + i}" for i in range(40)] for d in range(3)]
    corpus = read_words([[" ".join(words)] for words in spelled])
    name = {number: int(word[1:]) for word, number in corpus.vocabulary.items()}
    sides = bag_contrast._crop_pairs(corpus, QUICK, np.random.default_rng(0))
    distances = []
    for crops in zip(*map(texts_of, sides), strict=True):
        places = [np.array([name[word] for word in crop.tolist()]) for crop in crops]
        for place in places:
            assert len(place) <= 4 and np.all(np.diff(place) == 1)
        assert len({int(p) // 40 for place in places for p in place}) == 1
        both = np.concatenate(places)
        assert np.ptp(both) < 8
        distances.append(abs(places[0][0] - places[1][0]))
    assert max(distances) >= 3


def test_a_text_is_the_sum_of_its_words():
    corpus = read_words([["red car", "red bus"]])
    bags = Bags(corpus, np.arange(8, dtype=np.float32).reshape(4, 2))
    number = corpus.vocabulary
    expected = bags.vectors[number["red"]] + bags.vectors[number["car"]]
    assert bags.transform(["Red car.", "?"])[0].tolist() == expected.tolist()
    assert bags.transform(["?"])[0].tolist() == bags.vectors[0].tolist()
