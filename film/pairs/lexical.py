"""Features of a pair of texts that are read off their words and letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from rapidfuzz import distance, fuzz

EDIT_CHARACTERS = 1000
"""Edit distances look at this many characters of a text; their cost grows with the square."""

SPELLING_LETTERS = 5
"""Words as long may be one word misspelled; shorter ones a letter apart are other words."""

NEGATIONS = frozenset(
    "no not never none nothing nobody without cannot nor neither t isn aren wasn weren don doesn "
    "didn won wouldn couldn shouldn haven hasn hadn ain dont doesnt didnt isnt arent wont cant "
    "couldnt shouldnt wouldnt".split()
)
"""Words that turn a sentence round; "don t" is what normalisation leaves of "don't"."""

QUESTION_WORDS = frozenset(
    "what how why who whom whose where when which is are was were can could do does did should "
    "would will has have had".split()
)

OVERLAP_NAMES = (
    "words shared",
    "words in the shorter",
    "words in the longer",
    "share of all words",
    "share of the shorter's words",
    "rarity shared",
    "rarity unshared, lesser side",
    "rarity unshared, greater side",
    "share of all rarity",
    "rarest shared word",
    "rarest unshared word, lesser side",
    "rarest unshared word, greater side",
)

SEQUENCE_NAMES = (
    "same first word",
    "same last word",
    "same first words",
    "same last words",
    "content words shared",
    "share of all content words",
    "share of the shorter's content words",
    "content words unshared, lesser side",
    "content words unshared, greater side",
    "numbers shared",
    "numbers unshared",
    "negation on one side",
    "different question words",
    "characters in the longer",
    "difference in characters",
)

SIGN_NAMES = ("symbols unshared", "negated words unshared", "token edits", "spelled alike")

EDIT_NAMES = (
    "edit similarity",
    "best part's edit similarity",
    "edit similarity of sorted words",
    "edit similarity of word sets",
    "Jaro-Winkler similarity",
)


def row_cosines(first: Any, second: Any) -> np.ndarray:
    """Cosine of each row of one matrix with the same row of another.

    Parameters
    ----------
    first, second : sparse matrix or ndarray of shape (n, D)
        Rows of any length.

    Returns
    -------
    cosines : ndarray of float64, shape (n,)
        0 where a row is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import row_cosines
    >>> row_cosines(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([1., 0.])
    """
    dot = _row_sums(first, second)
    length = np.sqrt(_row_sums(first, first) * _row_sums(second, second))
    return np.divide(dot, length, out=np.zeros(len(dot)), where=length > 0)


def _row_sums(first: Any, second: Any) -> np.ndarray:
    if sp.issparse(first):
        return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("nd,nd->n", first, second, dtype=np.float64)


def overlap_features(first: Any, second: Any, rarity: np.ndarray) -> np.ndarray:
    """Count shared and unshared words, plainly and by their rarity.

    Parameters
    ----------
    first, second : sparse matrix of shape (n, D)
        Which words occur: entries that are not 0.
    rarity : ndarray of shape (D,)
        Weight of each word, such as its inverse document frequency.

    Returns
    -------
    features : ndarray of float64, shape (n, 12)
        Columns `OVERLAP_NAMES`. Swapping the texts changes nothing. Shares are 0 where there is
        nothing to share.

    Notes
    -----
    O(nnz).

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.pairs import OVERLAP_NAMES, overlap_features
    >>> a, b = sp.csr_array([[1, 1, 0]]), sp.csr_array([[0, 1, 1]])
    >>> found = overlap_features(a, b, np.array([1.0, 2.0, 5.0]))
    >>> dict(zip(OVERLAP_NAMES, found[0].tolist()))["rarest unshared word, greater side"]
    5.0
    """
    x, z = (_occurs(side) for side in (first, second))
    both = x.multiply(z).tocsr()
    weight = sp.diags_array(np.asarray(rarity, dtype=np.float64), format="csr")
    only_x, only_z, shared = (x - both) @ weight, (z - both) @ weight, both @ weight
    n_x, n_z, n_both = (np.asarray(m.sum(axis=1)).ravel() for m in (x, z, both))
    w_x, w_z, w_both = (np.asarray(m.sum(axis=1)).ravel() for m in (only_x, only_z, shared))
    rare_x, rare_z, rare_both = (_row_max(m) for m in (only_x, only_z, shared))
    shorter, longer = np.minimum(n_x, n_z), np.maximum(n_x, n_z)
    return np.column_stack(
        [
            n_both,
            shorter,
            longer,
            _share(n_both, n_x + n_z - n_both),
            _share(n_both, shorter),
            w_both,
            np.minimum(w_x, w_z),
            np.maximum(w_x, w_z),
            _share(w_both, w_x + w_z + w_both),
            rare_both,
            np.minimum(rare_x, rare_z),
            np.maximum(rare_x, rare_z),
        ]
    )


def _occurs(matrix: Any) -> sp.csr_array:
    found = sp.csr_array(matrix, dtype=np.float64, copy=True)
    found.eliminate_zeros()
    found.data[:] = 1.0
    return found


def _row_max(matrix: Any) -> np.ndarray:
    if 0 in matrix.shape:
        return np.zeros(matrix.shape[0])
    return matrix.max(axis=1).toarray().ravel()


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def sequence_features(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], stop_words: Collection[str]
) -> np.ndarray:
    """Compare word order, content words, numbers, negation and lengths.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Words of the two texts of each pair, in order, lower case.
    stop_words : collection of str
        Words without content, such as "the".

    Returns
    -------
    features : ndarray of float64, shape (n, 15)
        Columns `SEQUENCE_NAMES`. Swapping the texts changes nothing.

    Notes
    -----
    O(number of words). Negation and question words are English.

    Examples
    --------
    >>> from film.pairs import SEQUENCE_NAMES, sequence_features
    >>> found = sequence_features(["is it red".split()], ["is it not red".split()], {"it"})
    >>> [name for name, value in zip(SEQUENCE_NAMES, found[0]) if value == 2.0]
    ['same first words', 'content words shared']
    """
    stop = frozenset(stop_words)
    features = np.zeros((len(first), len(SEQUENCE_NAMES)))
    for row, (x, z) in enumerate(zip(first, second, strict=True)):
        features[row] = _compare_words(x, z, stop)
    return features


def _compare_words(x: Sequence[str], z: Sequence[str], stop: frozenset[str]) -> list[float]:
    words_x, words_z = set(x), set(z)
    content_x, content_z = words_x - stop, words_z - stop
    shared, only_x, only_z = content_x & content_z, content_x - content_z, content_z - content_x
    numbers_x, numbers_z = (_with_digit(words) for words in (words_x, words_z))
    prefix, suffix = _common_start(x, z), _common_start(x[::-1], z[::-1])
    length_x, length_z = (sum(map(len, words)) + max(len(words) - 1, 0) for words in (x, z))
    asks_x, asks_z = (words[0] if words else "" for words in (x, z))
    return [
        float(prefix > 0),
        float(suffix > 0),
        prefix,
        suffix,
        len(shared),
        len(shared) / max(len(content_x | content_z), 1),
        len(shared) / max(min(len(content_x), len(content_z)), 1),
        min(len(only_x), len(only_z)),
        max(len(only_x), len(only_z)),
        len(numbers_x & numbers_z),
        len(numbers_x ^ numbers_z),
        float(NEGATIONS.isdisjoint(words_x) != NEGATIONS.isdisjoint(words_z)),
        float(asks_x != asks_z and asks_x in QUESTION_WORDS and asks_z in QUESTION_WORDS),
        max(length_x, length_z),
        abs(length_x - length_z),
    ]


def sign_features(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> np.ndarray:
    """Compare what is small and decisive: symbols, what a negation negates, order of tokens.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Tokens of the two texts of each pair, in order, as `film.text.token_text` has them.

    Returns
    -------
    features : ndarray of float64, shape (n, 4)
        Columns `SIGN_NAMES`. Swapping the texts changes nothing.

        Unshared symbols are tokens of one text alone that hold a sign, such as "c++", "-5", "%"
        and emoji, with how often. Unshared negated words are those that follow a negation
        in one text only: "dogs" and "cats" in "cats, not dogs" and "dogs, not cats". Token edits
        are insertions and deletions that turn one sequence of tokens into the other. The last
        column is 1 for `spelled_alike`.

    Notes
    -----
    O(Σ L²/64) for texts of L tokens, of which the first `EDIT_CHARACTERS` are compared in order.

    Examples
    --------
    >>> from film.pairs import sign_features
    >>> sign_features(["is c++ hard".split()], ["is c# hard".split()])
    array([[2., 0., 2., 0.]])
    """
    features = np.zeros((len(first), len(SIGN_NAMES)))
    for row, (x, z) in enumerate(zip(first, second, strict=True)):
        features[row, 3] = spelled_alike(x, z)
        if list(x) == list(z):
            continue
        signs_x, signs_z = (Counter(filter(_has_sign, tokens)) for tokens in (x, z))
        unshared = (signs_x - signs_z) + (signs_z - signs_x)
        features[row, :3] = (
            unshared.total(),
            len(_negated(x) ^ _negated(z)),
            distance.Indel.distance(x[:EDIT_CHARACTERS], z[:EDIT_CHARACTERS]),
        )
    return features


def spelled_alike(x: Sequence[str], z: Sequence[str]) -> bool:
    """Whether two sequences of tokens are most likely one, with a slip of the pen in one of them.

    So they are where one has another space between the same letters, or where all tokens are the
    same but one: a word of `SPELLING_LETTERS` letters or more that keeps its first letter and has
    one letter added, dropped, replaced or swapped with the next. Numbers and symbols are equal.

    Parameters
    ----------
    x, z : sequence of str
        Tokens of two texts, in order, as `film.text.token_text` has them.

    Returns
    -------
    alike : bool
        True for equal sequences; False where there is no token.

    Notes
    -----
    Names can differ so and mean another thing. O(L) for L tokens.

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
    # Marks are no signs: they stand inside of words.
    return not token.isalnum() and any(unicodedata.category(letter)[0] in "SP" for letter in token)


def _negated(tokens: Sequence[str]) -> set[str]:
    """Words right after a negation; "t" is what "don't" leaves, and "not" may follow it."""
    return {
        word for before, word in pairwise(tokens) if before in NEGATIONS and word not in NEGATIONS
    }


def _with_digit(words: set[str]) -> set[str]:
    return {word for word in words if any(letter.isdigit() for letter in word)}


def _common_start(x: Sequence[str], z: Sequence[str]) -> int:
    count = 0
    for left, right in zip(x, z, strict=False):
        if left != right:
            break
        count += 1
    return count


def edit_features(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Compare letters by edit distances, as the library RapidFuzz defines them.

    Parameters
    ----------
    first, second : sequence of n str
        The two texts of each pair. Only the first `EDIT_CHARACTERS` characters are compared.

    Returns
    -------
    features : ndarray of float64, shape (n, 5)
        Columns `EDIT_NAMES`, in [0, 1]. Swapping the texts changes nothing.

    Notes
    -----
    O(Σ L²/64) for texts of L characters.

    Examples
    --------
    >>> from film.pairs import edit_features
    >>> edit_features(["red car"], ["car red"]).round(2)
    array([[0.43, 0.6 , 1.  , 1.  , 0.62]])
    """
    features = np.zeros((len(first), len(EDIT_NAMES)))
    for row, pair in enumerate(zip(first, second, strict=True)):
        x, z = (text[:EDIT_CHARACTERS] for text in pair)
        features[row] = (
            fuzz.ratio(x, z) / 100,
            fuzz.partial_ratio(x, z) / 100,
            fuzz.token_sort_ratio(x, z) / 100,
            fuzz.token_set_ratio(x, z) / 100,
            distance.JaroWinkler.similarity(x, z),
        )
    return features
