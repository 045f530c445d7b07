"""Data of the page of ``film review --html``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from estimators.cli.labelling import progress
from estimators.cli.labelling.answers import Answers
from estimators.cli.labelling.candidates import Candidates
from estimators.inputs import CELL_END
from film.judge import Review

PER_STRATUM = 100
"""Pairs of each stratum that a page can ask about."""


def review_data(
    candidates: Candidates,
    review: Review,
    answers: Answers,
    threshold: float,
    precision: float | None,
    reasons: Sequence[str],
) -> dict[str, Any]:
    """Collect pairs, earlier answers and the rule of estimates for `review_page`."""
    header, earlier = answers.whole()
    data = review.for_page(PER_STRATUM)
    pairs: list[dict[str, Any]] = []
    for stratum, queue in enumerate(data["queues"]):
        for rank, row in enumerate(queue):
            left, right = (text.split(CELL_END) for text in candidates.texts[row].tolist())
            queue[rank] = len(pairs)
            pairs.append({"left": left, "right": right, "stratum": stratum, "rank": rank})
    rule = {
        "next": progress.NEXT,
        "fewest": progress.FEWEST,
        "checkedEvery": progress.CHECKED_EVERY,
        "stops": progress.STOPS,
    }
    return {
        **data,
        "rule": data["rule"] | rule,
        "pairs": pairs,
        "columns": list(candidates.kinds or ()),
        "threshold": threshold,
        "goal": precision,
        "reasons": list(reasons),
        "header": header,
        "earlier": earlier,
        "known": [
            (*review.place(row), None if answer is None else int(answer))
            for row, answer in candidates.known(answers).items()
        ],
        "file": PurePath(answers.path).stem + ".csv",
    }
