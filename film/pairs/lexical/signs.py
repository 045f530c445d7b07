"""Small but decisive differences: symbols, negated words, spelling mistakes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from rapidfuzz import distance, process

from film.pairs.lexical.coded_tokens import CodedTokens, Integers, coded, cut, shared
from film.pairs.lexical.edits import EDIT_CHARACTERS
from film.threads import usable_cores

NEGATIONS = frozenset(
    "no not never none nothing nobody without cannot nor neither t isn aren wasn weren don doesn "
    "didn won wouldn couldn shouldn haven hasn hadn ain dont doesnt didnt isnt arent wont cant "
    "couldnt shouldnt wouldnt".split()
)
"""Words that negate a sentence; normalisation turns "don't" into "don t"."""

SPELLING_LETTERS = 5
"""Least length of a misspelled word; shorter words that differ in a letter are other words."""

SIGN_NAMES = ("symbols unshared", "negated words unshared", "token edits", "spelled alike")


def sign_features(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> np.ndarray:
    """Compare small but decisive details: symbols, negated words, order of tokens.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Tokens of the two texts of each pair, in order, as from `film.text.token_text`.

    Returns
    -------
    features : ndarray of float64, shape (n, 4)
        Columns `SIGN_NAMES`. Swapping the texts changes nothing.

        Unshared symbols count tokens with a sign, such as "c++", "-5", "%" and emoji, that only one
        text has. Unshared negated words count words that follow a negation in only one text:
        "dogs" and "cats" in "cats, not dogs" and "dogs, not cats". Token edits are the insertions
        and deletions that turn one sequence of tokens into the other. The last column is 1 for
        `spelled_alike`.

    Notes
    -----
    The time is O(Σ L²/64) for texts of L tokens; the first `EDIT_CHARACTERS` are compared in order.

    Examples
    --------
    >>> from film.pairs import sign_features
    >>> sign_features(["is c++ hard".split()], ["is c# hard".split()])
    array([[2., 0., 2., 0.]])
    """
    table, left, right = coded(first, second)
    signs = table.counts(table.marks(_has_sign))
    after = _negated(table)
    unshared = [
        found.sum(axis=1)[left] + found.sum(axis=1)[right] - 2 * shared(found, left, right)
        for found in (signs, after)
    ]
    edits = process.cpdist(
        cut(first, EDIT_CHARACTERS),
        cut(second, EDIT_CHARACTERS),
        scorer=distance.Indel.distance,
        dtype=np.float64,
        workers=usable_cores(),
    )
    return np.column_stack([*unshared, edits, _alike(table, left, right)])


def are_spelled_alike(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]
) -> NDArray[np.bool_]:
    """Return which of many pairs are `spelled_alike`.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Tokens of the two texts of each pair, in order.

    Returns
    -------
    alike : ndarray of bool, shape (n,)
        The result of `spelled_alike` for each pair.

    Notes
    -----
    The time is O(number of tokens); a sequence object in many pairs is read once.

    Examples
    --------
    >>> from film.pairs import are_spelled_alike
    >>> are_spelled_alike([["python"], ["5"]], [["pyhton"], ["6"]])
    array([ True, False])
    """
    return _alike(*coded(first, second))


def spelled_alike(x: Sequence[str], z: Sequence[str]) -> bool:
    """Return whether two sequences of tokens are most likely equal except for a spelling mistake.

    This is the case if they have the same letters with different spaces, or if all tokens but one
    are equal. The different token is a word of at least `SPELLING_LETTERS` letters with the same
    first letter and one letter added, dropped, replaced or swapped with the next. Numbers and
    symbols must be equal.

    Parameters
    ----------
    x, z : sequence of str
        Tokens of two texts, in order, as from `film.text.token_text`.

    Returns
    -------
    alike : bool
        True for equal sequences; False without tokens.

    Notes
    -----
    Different names can also differ in this way. The time is O(L) for L tokens.

    Examples
    --------
    >>> from film.pairs import spelled_alike
    >>> spelled_alike(["learn", "python"], ["learn", "pyhton"])
    True
    >>> spelled_alike(["is", "it", "5"], ["is", "it", "6"])
    False
    """
    if not x or not z:
        return False
    if len(x) != len(z):
        joined = "".join(x)
        return joined.isalpha() and joined == "".join(z)
    changed = [(left, right) for left, right in zip(x, z, strict=True) if left != right]
    if len(changed) != 1:
        return not changed
    left, right = changed[0]
    return (
        min(len(left), len(right)) >= SPELLING_LETTERS
        and left[0] == right[0]
        and left.isalpha()
        and right.isalpha()
        and distance.OSA.distance(left, right, score_cutoff=1) == 1
    )


def _has_sign(token: str) -> bool:
    # Combining marks are not signs: they are parts of words.
    return not token.isalnum() and any(unicodedata.category(letter)[0] in "SP" for letter in token)


def _negated(table: CodedTokens) -> sp.csr_array:
    """Return the words after a negation; "don't" leaves the token "t", which "not" may follow."""
    negations = table.marks(NEGATIONS.__contains__)
    follows = np.zeros(len(table.codes), dtype=bool)
    follows[1:] = negations[table.codes[:-1]]
    follows[table.edges[:-1][table.sizes > 0]] = False
    return table.sets(~negations, follows)


def _alike(table: CodedTokens, left: Integers, right: Integers) -> NDArray[np.bool_]:
    """Call `spelled_alike` for pairs that the counts of tokens and letters do not decide."""
    sizes, letters = table.sizes, table.letters()
    changed = sizes[left] - table.common_starts(left, right) - table.common_ends(left, right)
    one_word = (sizes[left] == sizes[right]) & (changed <= 1)
    spaces = (sizes[left] != sizes[right]) & (letters[left] == letters[right])
    alike = (one_word | spaces) & (sizes[left] > 0) & (sizes[right] > 0)
    for row in np.flatnonzero(alike):
        alike[row] = spelled_alike(*(table.tokens(each[row]) for each in (left, right)))
    return alike
