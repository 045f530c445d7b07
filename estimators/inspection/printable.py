"""Texts from outside, made safe to show on a line, and probabilities as people write them."""

from __future__ import annotations

_JOINERS = "\u200c\u200d"


def printable_text(text: str, length: int) -> str:
    r"""Cut a text to a line of at most ``length`` characters that cannot steer a terminal.

    Examples
    --------
    >>> from estimators.inspection import printable_text
    >>> printable_text("two\nlines", 20), printable_text("incomprehensibilities", 10)
    ('two lines', 'incompreh…')
    >>> print(printable_text("\x1b[2J", 10))
    \x1b[2J
    """
    short = text if len(text) <= length else text[: length - 1] + "…"
    # Joiners are not "printable", yet some scripts cannot be written without them.
    return "".join(
        c if c.isprintable() or c in _JOINERS else (" " if c.isspace() else ascii(c)[1:-1])
        for c in short
    )


def percent(probability: float) -> str:
    """Write a probability as people do; what is not certain is not rounded to certainty.

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
