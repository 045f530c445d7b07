"""Pairs for film score, explain and review, and the general score, which needs no model."""

from __future__ import annotations

from typing import Any

from estimators.cli import models, options, reading
from estimators.cli.console import note, verbosity
from estimators.cli.tables import Table
from estimators.inputs import CELL_END


def model_of(given: Any) -> Any:
    """Return the classifier of ``--model``, None without a model.

    Raises if an option needs a model that is not given, or does not suit the given one.
    """
    if given.model is None:
        options.refuse(device="applies to the encoder of a model; give --model too")
        return None
    options.refuse(
        encoder="adds to the general score; leave out --model",
        compare="needs the general score; leave it out with --model, which has its own columns",
    )
    return models.load_classifier(given.model, given.device)


def pairs_to_score(table: Table, given: Any, classifier: Any) -> tuple[Any, dict[str, str] | None]:
    """Return the pairs of a table, and the kinds of columns that the general score compares."""
    if given.model is None:
        return compared_pairs(table, given)
    return reading.pairs_for(classifier, table, given), None


def compared_pairs(table: Table, given: Any) -> tuple[Any, dict[str, str] | None]:
    """Return the pairs of a table, shape (n, 2), and the kinds of the columns of records.

    They are pairs of texts if columns of two texts are named, or have usual names; otherwise of
    records, as for ``film train``.
    """
    kinds = reading.compared_kinds(given.compare)
    records = reading.records_of(table, given, list(kinds) or None)
    if records is None:
        return reading.pairs_of(table, given), None
    return records.texts(), {name: kinds.get(name, "") for name in records.columns}


def finder_of_pairs(texts: Any, encoder: str, kinds: dict[str, str] | None) -> Any:
    """Fit a `DuplicateFinder` to the texts or records of all pairs; they are their own ids."""
    from estimators.corpus import DuplicateFinder

    every = list(dict.fromkeys(texts.ravel().tolist()))
    rows: Any = every
    if kinds is not None:
        cells = zip(*(record.split(CELL_END) for record in every), strict=True)
        rows = dict(zip(kinds, cells, strict=True))
    finder = DuplicateFinder(
        encoder=models.chosen_encoder(encoder, len(every)),
        compare=kinds,
        verbose=verbosity(),
    )
    finder.fit(rows, ids=every)
    return finder


def general_scores(classifier: Any, texts: Any) -> Any:
    """Return general scores of many pairs as one table, if the model is of records; else None.

    The model alone sees no neighbours of a record, which matter if it learned from few labels.
    """
    from estimators.pairs import FEWEST_IN_TABLE

    if len(texts) < FEWEST_IN_TABLE or not getattr(classifier, "takes_general", False):
        return None
    kinds = dict.fromkeys(classifier.columns_, "")
    finder = finder_of_pairs(texts, options.NO_ENCODER, kinds)
    return finder.score_pairs(texts.tolist())[0]


def note_kinds(finder: Any) -> None:
    """Print the kinds of the columns that are compared."""
    if finder.kinds_:
        kinds = ", ".join(f"{name} ({kind})" for name, kind in finder.kinds_.items())
        note(f"columns compared: {kinds}")
    if left_out := getattr(finder, "left_out_", ()):
        note(
            f"left out, because they say nothing about duplicates: {', '.join(left_out)}; to "
            "compare one, name all columns to compare, and its kind, such as --compare "
            f"'{left_out[0]}:text'"
        )
