"""Text from outside, made safe to show on a line."""

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
