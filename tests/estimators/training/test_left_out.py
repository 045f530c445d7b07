"""Explanations of cross-encoders: their scores with words left out."""

import numpy as np
import pytest

from estimators.training import left_out
from estimators.training.left_out import REST, explain_left_out

PAIRS = np.array(
    [
        ("How do I learn chess?", "the best way to learn chess"),
        ("chess", ""),
        ("", ""),
        ("one two, two three", "東京 two"),
    ],
    dtype=object,
)


def letters(text):
    return np.array([text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz東京"])


def score(pairs):
    """A score in which all words meet."""
    return np.array([np.sqrt(1 + letters(a) @ letters(b)) - len(a) / 9 for a, b in pairs])


def brute_force(first, second):
    """Contributions of one pair, by a loop over words; each text is given as a list of words."""

    def f(i, j):
        less = [" ".join(w for at, w in enumerate(of) if at != out)
                for of, out in ((first, i), (second, j))]  # fmt: skip
        return score([less])[0]

    n, m = len(first), len(second)
    found = np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            found[i + 1, j + 1] = f(None, None) - f(i, None) - f(None, j) + f(i, j)
    for i in range(n):
        found[i + 1, 0] = f(None, None) - f(i, None) - found[i + 1].sum()
    for j in range(m):
        found[0, j + 1] = f(None, None) - f(None, j) - found[:, j + 1].sum()
    found[0, 0] = f(None, None) - found.sum()
    return found


def test_contributions_are_those_of_the_definition():
    def counted(pairs):
        # Blanks are left where a word was: the score must not see them.
        return score([tuple(" ".join(text.split()) for text in pair) for pair in pairs])

    pairs = np.array([("how do i learn", "the best way to learn")], dtype=object)
    (found,) = explain_left_out(counted, pairs, counted(pairs))
    wanted = brute_force(*(text.split() for text in pairs[0]))
    np.testing.assert_allclose(found.contributions, wanted, rtol=0, atol=1e-12)
    assert found.tokens1 == [REST, "how", "do", "i", "learn"]
    assert found.offsets1.tolist() == [[0, 0], [0, 3], [4, 6], [7, 8], [9, 14]]


def test_a_word_has_what_the_score_loses_without_it():
    for pair, found in zip(PAIRS, explain_left_out(score, PAIRS, score(PAIRS)), strict=True):
        assert found.similarity == pytest.approx(score([pair])[0])
        assert found.contributions.sum() == pytest.approx(found.similarity)
        assert found.special1.tolist() == [True] + [False] * (len(found.tokens1) - 1)
        for token, total in enumerate(found.totals1[1:], 1):
            start, end = found.offsets1[token]
            # The punctuation behind a word goes with it.
            end += pair[0][end : end + 1] in (",", "?")
            less = pair[0][:start] + pair[0][end:]
            assert total == pytest.approx(found.similarity - score([(less, pair[1])])[0])


def test_blocks_change_nothing_and_long_texts_are_paired_in_part(monkeypatch):
    whole = explain_left_out(score, PAIRS, score(PAIRS))
    monkeypatch.setattr(left_out, "PAIRS_AT_ONCE", 1)
    for one, other in zip(whole, explain_left_out(score, PAIRS, score(PAIRS)), strict=True):
        np.testing.assert_array_equal(one.contributions, other.contributions)
    monkeypatch.setattr(left_out, "MOST_WORDS", 2)
    asked = []

    def watched(pairs):
        asked.append(len(pairs))
        return score(pairs)

    (found,) = explain_left_out(watched, PAIRS[:1], score(PAIRS[:1]))
    assert asked == [5 + 6, 2 * 2]
    paired = found.contributions[1:, 1:] != 0
    assert paired.any(axis=1).sum() <= 2 and paired.any(axis=0).sum() <= 2
    # What a word alone costs does not depend on it.
    np.testing.assert_allclose(found.totals1[1:], whole[0].totals1[1:], rtol=0, atol=1e-12)
    strongest = np.argsort(-np.abs(whole[0].totals1[1:]), kind="stable")[:2]
    assert set(np.flatnonzero(paired.any(axis=1))) <= set(strongest.tolist())
