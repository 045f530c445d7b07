"""What answers show so far, in words."""

from __future__ import annotations

from estimators.cli.duplicates.tables import percent
from estimators.cli.labelling.answers import Key
from film.judge import Review, ReviewEstimate

NEXT = 20
FEWEST = 30
CHECKED_EVERY = 10
"""Whether to stop is looked at once in so many answers: each look is a chance to err."""

STOPS = {
    "shown": "the answers show a precision of at least {wanted:.0%}: its 95 % interval begins at "
    "{low:.1%}",
    "refuted": "the precision is below {wanted:.0%}: its 95 % interval ends at {high:.1%}; give a "
    "higher --threshold",
    "far": "a precision of {wanted:.0%} cannot be shown here: 200 more answers would not do, "
    "since about {precision:.0%} are right; give a higher --threshold",
}


def estimate_lines(
    review: Review, known: dict[int, bool | None], threshold: float, precision: float | None
) -> list[str]:
    """Describe the estimate of a threshold, and what more answers would make of it."""
    now, later = review.estimate(known), review.forecast(known, NEXT, precision)
    return [
        f"at threshold {threshold:.2f}: precision "
        f"{percent(now.precision, now.precision_interval)}, recall "
        f"{percent(now.recall, now.recall_interval)}; with {NEXT} more answers about "
        f"{_widths(later)}"
    ]


def stop_line(review: Review, known: dict[int, bool | None], precision: float | None) -> str:
    """Say why to stop, or nothing."""
    n_answers = sum(answer is not None for answer in known.values())
    if precision is None or n_answers < FEWEST or n_answers % CHECKED_EVERY:
        return ""
    state = review.state(known, precision)
    if state == "open":
        return ""
    found = review.estimate(known)
    low, high = found.precision_interval
    return STOPS[state].format(wanted=precision, low=low, high=high, precision=found.precision)


def agreement_line(mine: dict[Key, int | None], other: dict[Key, int | None]) -> str:
    """Describe how far two people agree on the pairs that both answered: Cohen's kappa."""
    both = [
        (mine[key], other[key])
        for key in mine.keys() & other.keys()
        if mine[key] is not None and other[key] is not None
    ]
    if not both:
        return "no pair has answers of both people"
    n = len(both)
    equal = sum(a == b for a, b in both) / n
    ones = [
        sum(each) / n for each in zip(*((int(a or 0), int(b or 0)) for a, b in both), strict=True)
    ]
    chance = ones[0] * ones[1] + (1 - ones[0]) * (1 - ones[1])
    kappa = f", kappa {(equal - chance) / (1 - chance):.2f}" if chance < 1 else ""
    return f"both have answered {n} pairs, and agree on {equal:.0%}{kappa}"


def _widths(found: ReviewEstimate) -> str:
    ends = found.precision_interval, found.recall_interval
    precision, recall = (f"±{50 * (high - low):.0f} %" for low, high in ends)
    return f"{precision} and {recall}"
