"""A finder whose products are made by torch, against one by NumPy."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from estimators import DuplicateFinder, load_model, save_model
from estimators.corpus import corpus_index as _corpus_index
from estimators.corpus import neighbour_table as _neighbour_table
from film.corpus import cells as _cells
from film.corpus import devices as _devices
from tests.estimators.corpus.test_duplicate_finder import _corpus, _placed_embedder, _same

pytest.importorskip("torch", reason="needs the extra neural")


@pytest.fixture
def sent(monkeypatch):
    """How many queries went to a device, at each time; few go there too."""
    monkeypatch.setattr(_cells, "FEW_QUERIES", 0)
    counts = []
    honest = _devices.BestOnDevice.__init__

    def counted(self, queries, k, place):
        counts.append(len(queries))
        honest(self, queries, k, place)

    monkeypatch.setattr(_devices.BestOnDevice, "__init__", counted)
    return counts


def _dense(texts):
    """An embedder that can be saved."""
    return make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0)).fit(texts)


def _answers(finder, new):
    """All that a finder says, of its own rows and of others."""
    return finder.find(threshold=0), finder.groups(0.5), finder.match(new, threshold=0)


def _agree(one, other):
    _same_up_to_ties(one[0], other[0])
    assert one[0].recall == pytest.approx(other[0].recall)
    np.testing.assert_array_equal(one[1].labels, other[1].labels)
    _same_up_to_ties(one[2], other[2])


def _same_up_to_ties(one, other):
    """Products round in another way, so that of equally near last neighbours either may be kept."""
    ours, theirs = (
        dict(
            zip(
                map(tuple, found.pairs.tolist()),
                zip(found.scores, found.kind, strict=True),
                strict=True,
            )
        )
        for found in (one, other)
    )
    for pair in ours.keys() & theirs.keys():
        assert ours[pair][0] == pytest.approx(theirs[pair][0], abs=1e-6)
        assert ours[pair][1] == theirs[pair][1]
    for only, rest in ((ours, theirs), (theirs, ours)):
        for pair in only.keys() - rest.keys():
            rivals = [score for other, (score, _) in rest.items() if {*other} & {*pair}]
            assert min(abs(np.array(rivals) - only[pair][0])) < 1e-6
    assert len(ours.keys() ^ theirs.keys()) <= 0.01 * len(ours)


@pytest.mark.parametrize("index", ["exact", "approximate"])
def test_answers_are_those_without_a_device(index, sent, monkeypatch):
    monkeypatch.setattr(_neighbour_table, "FEW_POINTS", 50)
    monkeypatch.setattr(_neighbour_table, "BLOCK_ROWS", 70)
    # A space is not learned anew here.
    texts, new = _corpus(300), _corpus(90, seed=1)
    one, other = (
        DuplicateFinder(None, _placed_embedder, 4, index=index, device=device).fit(texts[:200])
        for device in (None, "cpu")
    )
    assert one.index_ == other.index_
    expected = _answers(one, new)
    assert not sent
    other.find(threshold=0)
    other.match(new, threshold=0)
    # Each text once, and for the sample that recall is measured on.
    n = other.n_unique_
    assert sum(sent) == n * (2 if index == "approximate" else 1) + len(set(_keys(new)))
    _agree(_answers(other, new), expected)
    _agree(_answers(other.add(texts[200:]), new), _answers(one.add(texts[200:]), new))


def _keys(texts):
    return [text.strip().lower() for text in texts]


def test_blocks_without_vectors_and_fewer_texts_than_neighbours(sent):
    texts = [*_corpus(60), "", "?", "...", "tea tea"]
    blocks = [i % 7 for i in range(len(texts))]
    embedder = _dense(texts)
    one, other = (
        DuplicateFinder(None, embedder, 50, device=device).fit(texts, blocks=blocks)
        for device in (None, "cpu")
    )
    _same(other.find(threshold=0), one.find(threshold=0))
    assert len(sent) == 7
    for text in ("tea cup", "", "unknown"):
        assert other.query(text).texts.tolist() == one.query(text).texts.tolist()


def test_the_device_is_that_of_now(sent, tmp_path, monkeypatch):
    texts = _corpus(80)
    embedder = _dense(texts)
    finder = DuplicateFinder(None, embedder, 4, device="cpu").fit(texts)
    save_model(finder, tmp_path / "finder.film")
    found = load_model(tmp_path / "finder.film")
    assert found.device == "cpu"
    expected = DuplicateFinder(None, embedder, 4).fit(texts).find(threshold=0)
    # As where a finder of a machine with a GPU is loaded on one without.
    found.set_params(device="cuda")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no GPU: give 'cpu' or device=None"):
        found.find(threshold=0)
    _same(found.set_params(device=None).find(threshold=0), expected)
    assert not sent
    _same(finder.find(threshold=0), expected)
    assert sent == [finder.n_unique_]


def test_a_device_that_is_not_here_is_refused_before_the_work(monkeypatch):
    monkeypatch.setattr(_corpus_index, "TextSpace", lambda *_: pytest.fail("worked"))
    with pytest.raises(ValueError, match="device='nowhere' must be a device of torch"):
        DuplicateFinder(device="nowhere").fit(["tea", "milk"])
