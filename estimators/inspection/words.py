"""Contributions of words to the similarity of two texts."""

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
"""Maximal number of tokens per text; neighbouring words of a longer text are joined."""

LONGEST_WINDOW = 8
"""Window in words for features that no single word has, or the n-gram length if larger."""

KEPT_CONTRIBUTIONS = 5_000
"""Contributions kept per pair: all of two 70-word texts, at most 60 kB per pair."""


def explain_words(
    embedder: Any, pairs: Any, *, keep: int = KEPT_CONTRIBUTIONS
) -> list[Explanation]:
    """Split the cosine of each pair over its pairs of words.

    Parameters
    ----------
    embedder : Pipeline or vectoriser
        Fitted, from texts to vectors: a `TfidfVectorizer`, a `CountVectorizer` or a `FeatureUnion`
        of those; then any of `TfidfTransformer`, `MaxAbsScaler` and `Normalizer`; then `FILM`,
        `TruncatedSVD`, both, or neither, which explains the plain cosine.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.
    keep : int, default=5000
        Maximal number of contributions kept per pair, the largest in absolute value. The sum of
        the others is `Explanation.rest`; `Explanation.truncation` describes them.

    Returns
    -------
    explanations : list of Explanation
        One per pair. ``similarity`` is the cosine of the pair's vectors and the sum of the
        contributions and ``rest``. A text without known words has contributions and similarity 0.

    Raises
    ------
    TypeError
        If a step of the embedder is not supported, a text is not a string, or keep is not an
        integer.
    ValueError
        If a text is missing, or keep < 1.
    NotFittedError
        If the embedder is not fitted.

    Notes
    -----
    Words are split at white space and punctuation. Case and accents are kept, apostrophes belong
    to the word, and each ideograph or kana is a separate word. Punctuation around a word belongs
    to it.

    The weight x_f of a feature is split over the words it comes from, in proportion to how often
    the vectoriser's analyser finds it in each word alone. This is exact for single words and for
    character n-grams inside words ("char_wb"). A feature that no single word has, such as a word
    bigram, is looked up in windows of 2, 3, … neighbouring words and split evenly over the
    shortest windows that have it, or evenly over all words if none has. The features of the words
    therefore sum to those of the text, for any analyser.

    In a text of more than 2,000 words, neighbouring words are joined into at most 2,000 tokens of
    equal length (the last may be shorter), with the same sums.

    Costs about (u + w²) d operations per pair for u features and w tokens, in addition to the
    analyses. Memory grows with w d + keep.

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
    """Return the words of a text and their features, which sum to x."""
    words = joined_words(split_words(text), MOST_TOKENS)
    if not words and x.nnz:
        # An analyser may make a feature of white space, or of an empty text.
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
    """Count how often each present feature occurs in each word."""
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
