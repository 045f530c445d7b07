"""Page of figures and text about a model, as one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from estimators.inspection.pages.base import escaped, whole_page


def evaluation_page(title: str, figures: Sequence[tuple[str, Any]], texts: Sequence[str]) -> str:
    """Return a page of figures and blocks of text, without scripts or external resources.

    Parameters
    ----------
    title : str
        Title and heading.
    figures : sequence of (str, matplotlib Figure)
        Alternative text and figure.
    texts : sequence of str
        Preformatted blocks of text, shown below the figures.

    Returns
    -------
    html : str
        For `estimators.inspection.write_page`.
    """
    blocks = [
        f'<p><img alt="{escaped(words)}" src="data:image/png;base64,{_png(figure)}"></p>'
        for words, figure in figures
    ]
    blocks += [f"<pre>{escaped(text)}</pre>" for text in texts]
    return whole_page(title, "\n".join(blocks), rules=("img-src data:",))


def _png(figure: Any) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return base64.b64encode(buffer.getvalue()).decode()
