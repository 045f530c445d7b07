"""What a fitted estimator found, to look at: explanations of pairs, and displays on matplotlib."""

from estimators.inspection.alignment import AlignmentDisplay
from estimators.inspection.chunk_alignment import ChunkAlignment
from estimators.inspection.explanation import Explanation
from estimators.inspection.k_curve import KCurveDisplay
from estimators.inspection.reliability import ReliabilityDisplay
from estimators.inspection.score_histogram import ScoreHistogramDisplay
from estimators.inspection.verdict import Evidence, Verdict
from estimators.inspection.words import explain_words, words_of_dimension
from estimators.inspection.words_display import WordsDisplay

__all__ = [
    "AlignmentDisplay",
    "ChunkAlignment",
    "Evidence",
    "Explanation",
    "KCurveDisplay",
    "ReliabilityDisplay",
    "ScoreHistogramDisplay",
    "Verdict",
    "WordsDisplay",
    "explain_words",
    "words_of_dimension",
]
