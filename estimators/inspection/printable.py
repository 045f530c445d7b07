"""Print external texts on one line, and probabilities as percentages."""

from __future__ import annotations

from film.text import printable_text as printable_text


def percent(probability: float) -> str:
    """Format a probability as a percentage; only 0 and 1 print as 0% and 100%.

    Examples
    --------
    >>> from estimators.inspection import percent
    >>> percent(0.0768), percent(0.9999), percent(0.00001), percent(1.0)
    ('7.7%', '>99.9%', '<0.1%', '100%')
    """
    if probability in (0, 1):
        return f"{probability:.0%}"
    if probability < 0.001:
        return "<0.1%"
    return ">99.9%" if probability > 0.999 else f"{probability:.1%}"
