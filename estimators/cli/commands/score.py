"""``film score``."""

from __future__ import annotations

from typing import Any

import click

from estimators.cli import reading
from estimators.cli.console import Failure, examples, progress, quiet_option
from estimators.cli.general import check_without_model, compared_pairs, finder_of_pairs
from estimators.cli.options import (
    FILE,
    FiniteRange,
    compare_pairs_option,
    compared_by_option,
    contexts_option,
    device_option,
    model_option,
    pair_options,
    record_options,
)
from estimators.cli.regressors import FolderModel, checked_folder
from estimators.cli.writing import (
    check_places,
    format_option,
    out_option,
    write_result,
)


@click.command(
    epilog=examples(
        "film score pairs.csv --model duplicates.film --out scored.csv",
        "film score pairs.jsonl -1 left -2 right -m duplicates.film | head",
        "film score pairs.csv --model surrogate --out similar.csv",
        "film score pairs.csv --out compared.csv",
    ),
)
@click.argument("pairs", type=FILE, metavar="PAIRS")
@pair_options
@record_options
@compare_pairs_option
@model_option(
    "A model file of film train, or the folder of a model of similarity. Default: the general "
    "score, which needs no labels.",
    required=False,
)
@compared_by_option
@contexts_option
@out_option
@format_option
@click.option(
    "--threshold",
    type=FiniteRange(-1, 1),
    help=(
        "A pair is a duplicate if its score is above this. Default: 0.5 for probabilities and "
        "general scores; none for similarities."
    ),
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    help="Name of the column of scores; the decision is then NAME_duplicate.",
)
@device_option
@quiet_option
def score(
    pairs: str,
    text1: str | None,
    text2: str | None,
    left: str | None,
    right: str | None,
    compare: tuple[str, ...],
    model: str | None,
    encoder: str,
    contexts: int | None,
    out: str | None,
    form: str | None,
    threshold: float | None,
    name: str | None,
    device: str | None,
    encoding: str | None,
) -> None:
    """Add a score to each pair in a table of PAIRS.

    The other columns stay. Without a model, the general score compares the texts or records of all
    pairs as one table, like film duplicates. It adds the columns score, duplicate (the decision, 0
    or 1) and kind (how the texts differ). A model file adds the columns probability (that the pair
    is a duplicate), duplicate (the decision, 0 or 1) and familiarity (how much the texts resemble
    the training texts, from 0 to 1; at 0 the general score decides). If over half of the pairs are
    unlike the training texts, the first column is called score, because it is not calibrated. The
    folder of a ContextModel, a surrogate or another regressor adds the column similarity, and a
    decision if you give --threshold.
    """
    check_places({"--out": out}, [pairs] if model is None else [pairs, model])
    check_without_model(model, contexts, encoder, compare)
    folder = model is not None and checked_folder(model, contexts)
    if not folder and threshold is not None and threshold < 0:
        raise click.UsageError(f"--threshold {threshold:g}: probabilities are from 0 to 1")
    classifier: Any = None
    if model is not None and not folder:
        classifier = reading.open_model(model, device)
    from estimators.pairs import (
        FEWEST_PAIRS,
        are_unfamiliar,
        duplicate_probabilities,
        warn_of_unfamiliar,
    )

    table = reading.open_table(pairs, encoding)
    kinds: Any = None
    if model is None:
        texts, kinds = compared_pairs(table, text1, text2, (left, right), compare)
    else:
        texts = reading.pairs_for(classifier, table, text1, text2, (left, right))
    familiar = None if classifier is None else classifier.familiarity(texts)
    calibrated = familiar is not None and not are_unfamiliar(familiar)
    if familiar is not None and len(texts) < FEWEST_PAIRS:
        warn_of_unfamiliar(familiar, "pairs")
    decision = "duplicate" if name is None else f"{name}_duplicate"
    name = name or ("similarity" if folder else "probability" if calibrated else "score")
    if not folder and threshold is None:
        threshold = 0.5
    added = [name] if threshold is None else [name, decision]
    if not folder:
        last_name = "kind" if model is None else "familiarity"
        added.append(last_name if name in ("score", "probability") else f"{name}_{last_name}")
    taken = [column for column in added if column in table.columns]
    if taken:
        raise Failure(
            f"{table.source} already has a column {taken[0]!r}; rename the new one with --as NAME"
        )
    last: list[Any] | None = None
    if model is None:
        found, kind = finder_of_pairs(texts, encoder, device, kinds).score_pairs(texts.tolist())
        scores, last = found.tolist(), kind.tolist()
    elif folder:
        scores = FolderModel(model, texts, contexts, device).similarity()
    else:
        with progress(len(texts), "score") as advance:
            scores = duplicate_probabilities(classifier, texts, advance=advance).tolist()
        last = None if familiar is None else familiar.round(4).tolist()
    rows = (
        [
            *row,
            p,
            *([] if threshold is None else [int(p > threshold)]),
            *([] if last is None else [last[number]]),
        ]
        for number, (row, p) in enumerate(zip(table.rows, scores, strict=True))
    )
    write_result(out, form, [*table.columns, *added], rows, like=table)
