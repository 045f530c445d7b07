"""Sentence pairs read from public files or made by grammar, tables, and results written whole."""

from film.datasets.generator import make_question_pairs
from film.datasets.pairs import QuestionPairs
from film.datasets.quora import drop_excluded, read_excluded, read_quora
from film.datasets.sts import ScoredPairs, read_sts_benchmark
from film.datasets.tables import Table, read_table, write_table
from film.datasets.writing import atomic_writer, write_submission

__all__ = [
    "QuestionPairs",
    "ScoredPairs",
    "Table",
    "atomic_writer",
    "drop_excluded",
    "make_question_pairs",
    "read_excluded",
    "read_quora",
    "read_sts_benchmark",
    "read_table",
    "write_submission",
    "write_table",
]
