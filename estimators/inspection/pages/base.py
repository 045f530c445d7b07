"""What every page is made of: one frame with its policy, templates, and the escaping of texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib import resources
from string import Template
from typing import Any

_NOT_HTML = re.compile("[\ud800-\udfff\0]")
_UNSAFE_JSON = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_NO_SCRIPT = (
    "<noscript><p>This page sorts and groups with its own script, which this browser does not "
    "run.</p></noscript>\n"
)


def escaped(text: str) -> str:
    """Escape a text for HTML, between tags or within a quoted attribute.

    Lone surrogates and null characters, which no page can hold, become U+FFFD.
    """
    return escape(_NOT_HTML.sub(REPLACEMENT, text), quote=True)


def as_json(content: Mapping[str, Any]) -> str:
    """JSON that no HTML parser can take for markup; outside strings it has none of these."""
    plain = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE_JSON.sub(_escaped_in_json, plain)


def template(name: str) -> str:
    """Read a file of the folder of templates."""
    folder = resources.files("estimators.inspection.pages") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def script_of(*names: str) -> str:
    """Join scripts of the folder of templates, with names of their own."""
    return f'(() => {{\n"use strict";\n{"".join(map(template, names))}}})();\n'


def whole_page(
    title: str,
    body: str,
    *,
    script: str = "",
    data: Mapping[str, Any] | None = None,
    rules: tuple[str, ...] = (),
) -> str:
    """Put a body into the frame of all pages.

    Parameters
    ----------
    title : str
        Title and heading.
    body : str
        HTML, in which texts are escaped.
    script : str, default=""
        From `script_of`.
    data : mapping, optional
        What the script reads.
    rules : tuple of str, default=()
        More of the content security policy, which otherwise lets nothing but the page's own
        style sheet and script, known by hash, have any effect.

    Returns
    -------
    html : str
    """
    style = template("words.css") + template("page.css")
    policy = [
        "default-src 'none'",
        f"style-src {_source(style)}",
        *([f"script-src {_source(script)}"] if script else []),
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
        *rules,
    ]
    scripts = ""
    if data is not None:
        scripts = f'<script type="application/json" id="data">{as_json(data)}</script>\n'
        body = _NO_SCRIPT + body
    if script:
        scripts += f"<script>{script}</script>"
    return Template(template("page.html")).substitute(
        policy="; ".join(policy), title=escaped(title), style=style, body=body, scripts=scripts
    )


def _source(text: str) -> str:
    """Name a script or style by its hash, as content security policies do."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _escaped_in_json(match: re.Match[str]) -> str:
    code = ord(match.group())
    return REPLACEMENT if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
