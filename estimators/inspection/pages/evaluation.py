"""A page of figures about a model: drawings and text, one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import html as markup
from collections.abc import Sequence
from importlib import resources
from io import BytesIO
from string import Template
from typing import Any

__all__ = ["evaluation_page"]

_STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #f6f6f3; color: #1d2023; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem; }
pre { overflow-x: auto; background: #fff; padding: 1rem; border: 1px solid #d9dbdc; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid #d9dbdc; }
"""


def evaluation_page(title: str, figures: Sequence[tuple[str, Any]], texts: Sequence[str]) -> str:
    """Make a page of drawings and blocks of text, without scripts and without network.

    Parameters
    ----------
    title : str
        Title and heading.
    figures : sequence of (str, matplotlib Figure)
        Drawings with what they show, in words, for who does not see them.
    texts : sequence of str
        Blocks shown as they are laid out, below the drawings.

    Returns
    -------
    html : str
        For `estimators.inspection.write_page`.
    """
    style = hashlib.sha256(_STYLE.encode()).digest()
    blocks = [
        f'<p><img alt="{markup.escape(words)}" src="data:image/png;base64,{_png(figure)}"></p>'
        for words, figure in figures
    ]
    blocks += [f"<pre>{markup.escape(text)}</pre>" for text in texts]
    folder = resources.files("estimators.inspection.pages") / "templates"
    return Template((folder / "evaluation.html").read_text(encoding="utf-8")).substitute(
        policy="default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{base64.b64encode(style).decode()}'",
        title=markup.escape(title.encode("utf-8", "replace").decode()),
        style=_STYLE,
        body="\n".join(blocks),
    )


def _png(figure: Any) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return base64.b64encode(buffer.getvalue()).decode()
