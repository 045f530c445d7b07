"""Which words make two texts similar."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import scipy.sparse as sp

from estimators.inputs import as_texts, check_integer, check_pairs
from estimators.inspection.explanation import Explanation
from estimators.inspection.segmentation import Word, joined_words, split_words
from estimators.metric import LinearPipeline, take_apart
from film.metric import largest_contributions

MOST_TOKENS = 2000
"""Tokens of a text; of a longer one, words that follow each other are joined to as many."""

LONGEST_WINDOW = 8
"""Words in which a feature that no single word has is looked for, or its n-gram length if more."""

KEPT_CONTRIBUTIONS = 5_000
"""Kept per pair by default: all of two texts of 70 words, and no more than 60 kB of any."""


def explain_words(
    embedder: Any, pairs: Any, *, keep: int = KEPT_CONTRIBUTIONS
) -> list[Explanation]:
    """Share the cosine of each pair out among its pairs of words.

    Parameters
    ----------
    embedder : Pipeline or vectoriser
        Fitted, texts → vectors: a `TfidfVectorizer`, a `CountVectorizer` or a `FeatureUnion` of
        such; then any of `TfidfTransformer`, `MaxAbsScaler` and `Normalizer`; then `FILM`,
        `TruncatedSVD` or both, or nothing, which explains the plain cosine.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.
    keep : int, default=5000
        Most contributions kept per pair, the largest in absolute value. Where a pair of texts has
        more, `Explanation.rest` is the sum of the others, and `Explanation.truncation` says so.

    Returns
    -------
    explanations : list of Explanation
        One per pair. Each one's ``similarity`` is the cosine of the pair's vectors, to which its
        contributions and ``rest`` sum. A text without known words has contributions and
        similarity 0.

    Raises
    ------
    TypeError
        If a step of the embedder is not supported (it is named), a text is no string, or keep is
        not an integer.
    ValueError
        If a text is missing, or keep < 1.
    NotFittedError
        If the embedder is not fitted.

    Notes
    -----
    Words are split at white space and punctuation; case and accents stay as written, apostrophes
    belong to a word, an ideograph or kana is a word of its own. Punctuation around a word counts
    with that word.

    The weight x_f of a feature is split over the words it comes from, in proportion to how often
    the vectoriser's own analyser finds it in each word alone. That is exact for single words and
    for character n-grams inside words ("char_wb"). A feature that no word has alone, such as
    a word bigram, is looked for in windows of 2, 3, … neighbouring words, and split evenly over
    those of the shortest ones that have it; one found nowhere is split evenly over all words.
    Hence the words' features sum to those of the text, whatever the analyser.

    A text of more than 2,000 words is explained by runs of words, all of one length but the last:
    2,000 tokens at most, whose sums are the same.

    About (u + w²) d operations per pair, for u features and w tokens, beside the analyses; memory
    grows with w d + keep.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from estimators.inspection import explain_words
    >>> texts = ["play the guitar", "play chess", "learn the guitar"]
    >>> tfidf = TfidfVectorizer().fit(texts)
    >>> explanation, = explain_words(tfidf, [("Learn guitar!", "learn the guitar")])
    >>> explanation.tokens1, explanation.tokens2
    (['Learn', 'guitar'], ['learn', 'the', 'guitar'])
    >>> print(explanation)
    similarity 0.8555
    1: Learn guitar!
    2: learn the guitar
      +0.5420  Learn ~ learn
      +0.3135  guitar ~ guitar
    """
    checked = check_pairs(pairs)
    check_integer("keep", keep, 1)
    parts = take_apart(embedder)
    texts = list(dict.fromkeys(checked.ravel().tolist()))
    X = parts.features(as_texts(texts))
    split = {text: _split_features(parts, text, X[row]) for row, text in enumerate(texts)}
    return [_explanation(parts, split, one, other, keep) for one, other in checked.tolist()]


def _explanation(
    parts: LinearPipeline,
    split: dict[str, tuple[list[Word], Any]],
    text1: str,
    text2: str,
    keep: int,
) -> Explanation:
    (words1, features1), (words2, features2) = split[text1], split[text2]
    largest = largest_contributions(features1, features2, parts.components, keep=keep)
    few = len(words1) * len(words2) <= keep
    return Explanation(
        text1=text1,
        text2=text2,
        tokens1=[text1[word.start : word.end] for word in words1],
        tokens2=[text2[word.start : word.end] for word in words2],
        offsets1=[(word.start, word.end) for word in words1],
        offsets2=[(word.start, word.end) for word in words2],
        contributions=largest.contributions.toarray() if few else largest.contributions,
        similarity=largest.similarity,
        n_rest=largest.n_rest,
        totals1=largest.totals1,
        totals2=largest.totals2,
    )


def _split_features(parts: LinearPipeline, text: str, x: Any) -> tuple[list[Word], Any]:
    """Words of a text and the features of each, whose sum is x."""
    words = joined_words(split_words(text), MOST_TOKENS)
    if not words and x.nnz:
        # An analyser may make a feature of white space, or of nothing at all.
        words = [Word(0, len(text), 0, len(text))]
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    start = 0
    for vectorizer in parts.vectorizers:
        present = x.indices - start
        present = present[(present >= 0) & (present < len(vectorizer.vocabulary_))]
        for feature, found in _occurrences(vectorizer, text, words, present.tolist()).items():
            total = sum(found.values())
            rows += found
            columns += [start + feature] * len(found)
            weights += [weight / total for weight in found.values()]
        start += len(vectorizer.vocabulary_)
    shares = sp.csr_matrix((weights, (rows, columns)), shape=(len(words), x.shape[1]))
    return words, sp.csr_matrix(shares.multiply(x))


def _occurrences(
    vectorizer: Any, text: str, words: list[Word], present: list[int]
) -> dict[int, Counter[int]]:
    """How often each present feature occurs in which words."""
    analyze, vocabulary = vectorizer.build_analyzer(), vectorizer.vocabulary_
    longest = vectorizer.ngram_range[1]
    missing = set(present)
    occurrences: dict[int, Counter[int]] = {}
    for size in range(1, min(len(words), max(longest, LONGEST_WINDOW)) + 1):
        if not missing:
            break
        found: dict[int, Counter[int]] = defaultdict(Counter)
        for first in range(len(words) - size + 1):
            window = range(first, first + size)
            piece = text[words[first].whole_start : words[window[-1]].whole_end]
            for term, count in Counter(analyze(piece)).items():
                feature = vocabulary.get(term)
                if feature in missing:
                    found[feature].update(dict.fromkeys(window, count))
        occurrences |= found
        missing -= found.keys()
    everywhere = range(len(words))
    return occurrences | {feature: Counter(everywhere) for feature in missing}
