import numpy as np
import pytest

from benchmarks import paper_pairs
from film.datasets import ScoredPairs


def test_the_share_of_the_largest_contributions():
    assert paper_pairs.share_of_largest(np.diag(np.ones(10))) == 1
    assert paper_pairs.share_of_largest(-np.ones((10, 10))) == pytest.approx(0.1)


def test_a_pair_is_found_by_its_words_alone(monkeypatch):
    pairs = np.array([["A man sings.", "A man is silent."], ["A dog", "a cat"]], dtype=object)
    data = ScoredPairs(pairs, np.array([1.0, 4.0]), np.array(["", ""], dtype=object))
    monkeypatch.setattr(paper_pairs, "read_sts_sets", lambda folder: {"set": data})
    monkeypatch.setattr(paper_pairs, "FIGURES", {"figure": ("set", {"dog", "cat"})})
    assert paper_pairs.find_pairs("folder") == {"figure": (("A dog", "a cat"), 4.0)}
    monkeypatch.setattr(paper_pairs, "FIGURES", {"figure": ("set", {"a"})})
    with pytest.raises(ValueError, match="2 pairs of set hold"):
        paper_pairs.find_pairs("folder")


@pytest.mark.parametrize("options", [["--data", "nowhere"]])
def test_missing_data_is_told(options, capsys):
    assert paper_pairs.main(options) == 2
    assert "benchmarks.paper_pairs" in capsys.readouterr().err
