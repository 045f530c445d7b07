"""Common frame, content security policy, templates and escaping of the pages."""

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

    Lone surrogates and null characters, which HTML cannot hold, become U+FFFD.
    """
    return escape(_NOT_HTML.sub(REPLACEMENT, text), quote=True)


def as_json(content: Mapping[str, Any]) -> str:
    """Return JSON that no HTML parser can read as markup."""
    plain = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE_JSON.sub(_escaped_in_json, plain)


def template(name: str) -> str:
    """Read a file from the templates folder."""
    folder = resources.files("estimators.inspection.pages") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def script_of(*names: str) -> str:
    """Join scripts from the templates folder in a scope of their own."""
    return f'(() => {{\n"use strict";\n{"".join(map(template, names))}}})();\n'


def whole_page(
    title: str,
    body: str,
    *,
    script: str = "",
    data: Mapping[str, Any] | None = None,
    rules: tuple[str, ...] = (),
) -> str:
    """Return a complete page with the given body.

    Parameters
    ----------
    title : str
        Title and heading.
    body : str
        Body as HTML, with escaped texts.
    script : str, default=""
        Script from `script_of`.
    data : mapping, optional
        Data for the script.
    rules : tuple of str, default=()
        Further rules of the content security policy, which otherwise allows only the page's own
        style sheet and script, identified by their hashes.

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
    """Return the hash of a script or style, as content security policies need it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _escaped_in_json(match: re.Match[str]) -> str:
    code = ord(match.group())
    return REPLACEMENT if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
