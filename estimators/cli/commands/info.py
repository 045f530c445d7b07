"""``film info``."""

from __future__ import annotations

from typing import Any

import click

from estimators.cli import models, options, writing
from estimators.cli.figures import two_columns
from estimators.inspection import printable_text
from film import __version__


@options.command("film info duplicates.film", "film info duplicates.film --format json")
@click.argument("model", type=options.FILE, metavar="MODEL")
@writing.out_option
@options.form("table", "json", default="table")
def info(given: Any) -> None:
    """Show the kind, training data and quality of a MODEL file or folder.

    The out-of-fold figures are those of film train, on texts that the model was not trained on. To
    measure the model on other pairs, use film evaluate.
    """
    path = given.model
    writing.check_places({"--out": given.out}, [path])
    from estimators.persistence import read_metadata

    model = models.load_model(path)
    saved = read_metadata(path)
    facts = {
        "file": path,
        "size in bytes": writing.size_of(path),
        "kind": type(model).__name__,
        "purpose": (type(model).__doc__ or "").strip().split("\n")[0],
        "saved": saved["date"],
        "saved by": {**saved["versions"]},
        "this version": __version__,
    }
    facts |= _of_file(model, saved["metadata"])
    writing.write_report(given.out, given.form, facts, _as_text(facts))


def _of_file(model: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    """Collect the facts about another model; None if the file does not record one."""
    facts: dict[str, Any] = {}
    steps = getattr(model, "members", None) or getattr(model, "steps", None)
    if isinstance(steps, list):
        facts["parts"] = [name for name, *_ in steps]
    if not hasattr(model, "train_prior_"):
        return facts | ({"metadata": metadata} if metadata else {})
    kept = getattr(model, "out_of_fold_", None)
    facts |= {
        "command": metadata.get("command"),
        "trained on": metadata.get("files"),
        "pairs": metadata.get("pairs", None if kept is None else len(kept)),
        "share of duplicates": metadata.get("share of duplicates", float(model.train_prior_)),
        "options": metadata.get("options"),
        "label of duplicates": str(getattr(model, "duplicate_class_", 1)),
        "prior": float(model.prior_),
        "judges pairs": "among the texts of a corpus"
        if getattr(model, "corpus", None) is not None
        else "each by itself",
        "out of fold": metadata.get("out of fold"),
    }
    return facts


def _as_text(facts: dict[str, Any]) -> str:
    lines: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, dict) and name == "out of fold":
            lines |= {f"out of fold, {_shown(key)}": _shown(cell) for key, cell in value.items()}
        else:
            lines[name] = _shown(value)
    return two_columns(lines)


def _shown(value: Any) -> str:
    if value is None:
        return "unknown: not recorded in the file"
    if isinstance(value, dict):
        return ", ".join(f"{_shown(name)} {_shown(cell)}" for name, cell in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    # A file from someone else may hold characters that steer a terminal.
    return f"{value:.4f}" if isinstance(value, float) else printable_text(str(value), 500)
