"""Rows beside Origin: what needs no training, or minutes of it, on the same books and pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from benchmarks.rivals.bag_contrast import CROPS, NEXT, BagSettings, train_bags
from benchmarks.rivals.book_words import read_words
from benchmarks.rivals.sentence_vectors import (
    Similarity,
    cosine_of,
    mean_glove,
    random_words,
    retrieval_overlap,
    tfidf_characters,
    tfidf_words,
)
from benchmarks.support.context_bench import SAMPLE, Bench, Clock, whole_score
from estimators import SentenceEncoder

BAGS = {
    NEXT: BagSettings(NEXT, epochs=2, learning_rate=5e-3),
    CROPS: BagSettings(CROPS, epochs=1, learning_rate=3e-3, passage=120, crop=(20, 60)),
}
"""Chosen on `Bench.choice`; see docs/benchmarks.md."""
NEXT_BAGS = "bags contrasted with the next sentence"
CROP_BAGS = "bags contrasted with crops"
MINILM = "mean pooling of MiniLM, which saw NLI"


def measure_rivals(bench: Bench) -> None:
    """Measure all rivals on the sample, the rows to choose by, and the whole test file."""
    for name, make in _rivals(bench).items():
        clock = Clock()
        for case, similarity in make().items():
            found = similarity(bench.sample.pairs)
            bench.tell_row(f"{SAMPLE}{name}{case}", found, seconds=clock.core_seconds)
            for metric, rows in (("choice", bench.choice), ("STS-B", bench.test)):
                value = whole_score(similarity(rows.pairs), rows)
                bench.tell(f"{SAMPLE}{name}{case}", metric, value)
            clock = Clock()


def _rivals(bench: Bench) -> dict[str, Callable[[], dict[str, Similarity]]]:
    """Give what makes each rival, by the beginning of its name."""
    documents = bench.documents()
    sentences = [sentence for document in documents for sentence in document]

    def bags(settings: BagSettings) -> dict[str, Similarity]:
        short = {"epochs": 0.5, "batch": 64} if bench.quick else {}
        trained = train_bags(read_words(documents), settings._replace(**short))
        return {"": cosine_of(trained.transform)}

    found: dict[str, Callable[[], dict[str, Similarity]]] = {
        "TF-IDF of words": lambda: {"": tfidf_words(sentences)},
        "TF-IDF of characters": lambda: {"": tfidf_characters(sentences)},
        "chunks retrieved for both, ": lambda: retrieval_overlap(_chunks(bench)),
        "random word vectors, idf": lambda: {"": random_words(read_words(documents))},
        NEXT_BAGS: lambda: bags(BAGS[NEXT]),
        CROP_BAGS: lambda: bags(BAGS[CROPS]),
    }
    if bench.options.rivals:
        environment, folder = bench.options.rivals, bench.options.glove
        found["mean of GloVe 6B, 50 wide"] = lambda: {
            "": mean_glove(environment, folder),
            ", without stop words": mean_glove(environment, folder, ENGLISH_STOP_WORDS),
        }
    if not bench.quick:
        found[MINILM] = lambda: {"": cosine_of(SentenceEncoder().fit(["a text"]).transform)}
    return found


def _chunks(bench: Bench) -> list[str]:
    """Texts of the chunks of the corpus."""
    corpus = bench.corpus
    texts = corpus.texts(np.arange(corpus.n_sentences))
    starts = np.flatnonzero(np.diff(corpus.chunks, prepend=-1)).tolist()
    ends = [*starts[1:], len(texts)]
    return [" ".join(texts[start:end]) for start, end in zip(starts, ends, strict=True)]
