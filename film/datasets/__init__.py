"""Sentence pairs read from public files or made by grammar, tables, and results written whole."""

from film.datasets._cells import escape_formula
from film.datasets.alignments import AlignedPair, Alignment, align_chunks
from film.datasets.generator import make_question_pairs
from film.datasets.intents import (
    IntentTexts,
    make_intent_pairs,
    read_banking77,
    read_clinc150,
)
from film.datasets.ists import read_ists, read_wa, write_wa
from film.datasets.pairs import QuestionPairs
from film.datasets.quora import drop_excluded, read_excluded, read_quora
from film.datasets.sts import ScoredPairs, drop_listed, read_sick, read_sts_benchmark
from film.datasets.sts_sets import read_sts_sets, read_sts_year
from film.datasets.tables import Table, format_of, read_table, write_table
from film.datasets.writing import atomic_writer, write_submission

__all__ = [
    "AlignedPair",
    "Alignment",
    "IntentTexts",
    "QuestionPairs",
    "ScoredPairs",
    "Table",
    "align_chunks",
    "atomic_writer",
    "drop_excluded",
    "drop_listed",
    "escape_formula",
    "format_of",
    "make_intent_pairs",
    "make_question_pairs",
    "read_banking77",
    "read_clinc150",
    "read_excluded",
    "read_ists",
    "read_quora",
    "read_sick",
    "read_sts_benchmark",
    "read_sts_sets",
    "read_sts_year",
    "read_table",
    "read_wa",
    "write_submission",
    "write_table",
    "write_wa",
]
