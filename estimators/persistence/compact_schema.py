"""Compact the schema of a skops file into a form that skops can still read."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any


def compact_schema(schema: Any) -> Any:
    """Merge dicts and lists of plain values into one JSON entry each, and turn paths into texts.

    skops writes an entry of some 300 characters for every value of a container: a vocabulary of
    20,000 words becomes 40,000 entries, which dominate the loading time. From a single JSON entry,
    skops builds the same dict or list, and shared containers stay shared.

    Only containers of str, int, float, bool and None are merged, and dicts only if all keys are
    str.

    Examples
    --------
    >>> value = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    >>> words = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    >>> texts = [value | {"content": '"tea"'}, value | {"content": '"milk"'}]
    >>> compact_schema(words | {"content": texts, "__id__": 7})["content"]
    '["tea", "milk"]'
    """
    if isinstance(schema, list):
        return [compact_schema(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("__loader__"), schema.get("__module__"), schema.get("__class__")
    content: Any = schema.get("content")
    plain: Any = None
    if kind[0] == "ConstructorFromReduceNode" and str(kind[2]).endswith("Path"):
        # A path of one operating system cannot be built on another, but its text can.
        plain = str(PurePath(*(json.loads(part["content"]) for part in content["content"])))
    if kind == ("ListNode", "builtins", "list") and _are_plain(content):
        plain = [json.loads(entry["content"]) for entry in content]
    elif kind == ("DictNode", "builtins", "dict") and _are_plain(content.values()):
        if all(_is_str(key) for key in schema["key_types"]["content"]):
            plain = {key: json.loads(entry["content"]) for key, entry in content.items()}
    if plain is None:
        return {name: compact_schema(entry) for name, entry in schema.items()}
    return {
        # This is the class of other JSON entries: skops takes the type from the content.
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(plain),
        "is_json": True,
        "__id__": schema["__id__"],
    }


def _are_plain(entries: Any) -> bool:
    return all(entry.get("__loader__") == "JsonNode" for entry in entries)


def _is_str(entry: dict[str, Any]) -> bool:
    kind = entry.get("__loader__"), entry.get("__module__"), entry.get("__class__")
    return kind == ("TypeNode", "builtins", "str")
