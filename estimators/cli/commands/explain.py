"""``film explain``."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from estimators.cli import reading
from estimators.cli.console import examples, progress, quiet_option
from estimators.cli.general import check_without_model, compared_pairs, finder_of_pairs
from estimators.cli.options import (
    FILE,
    compare_pairs_option,
    compared_by_option,
    contexts_option,
    device_option,
    html_option,
    model_option,
    pair_options,
    record_options,
    report_format_option,
)
from estimators.cli.regressors import FolderModel, checked_folder
from estimators.cli.tables import format_of
from estimators.cli.writing import check_places, note_written, out_option, write_text
from estimators.inspection import (
    ContextExplanation,
    ScoreExplanation,
    contexts_page,
    explanations_page,
    scores_page,
    write_page,
)

BLOCK = 32
"""Pairs explained at once, between two moves of the progress bar."""
PAGE_PAIRS = 1000
"""Most pairs on a page: browsers open it, and readers read no more."""


@click.command(
    epilog=examples(
        'film explain --text-pair "a phone of 128 GB" "a phone of 256 GB"',
        'film explain --text-pair "How old is it?" "What is its age?" -m duplicates.film',
        "film explain pairs.csv --model duplicates.film --html reasons.html",
        'film explain -p "He sang." "A song was sung." --model contexts --contexts 100',
    ),
)
@click.argument("pairs", type=FILE, metavar="PAIRS", required=False)
@click.option("-p", "--text-pair", nargs=2, metavar="A B", help="One pair, instead of a table.")
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
@report_format_option(
    "text",
    "jsonl",
    help="Format of the result; jsonl holds all numbers. Default: by the name of --out, else text.",
)
@html_option(f"Write a page of the first {PAGE_PAIRS:,} pairs. Add --out to write the text too.")
@device_option
@quiet_option
def explain(
    pairs: str | None,
    text_pair: tuple[str, str] | None,
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
    html: str | None,
    device: str | None,
    encoding: str | None,
) -> None:
    """Explain the score of each of PAIRS: how the texts differ, and what adds to the score.

    Without a model, the texts of all pairs are compared as one table, as in film score. The
    log-odds of the score are a sum of effects: of wording, meaning (with --encoder), numbers and
    codes, negation and order, the neighbours in the table, and each column of records.

    With a model file, an explanation starts from a typical pair (the median of every input) and
    ends at this pair. Each step sets one group of inputs to the values of this pair, the strongest
    group first. For long texts, only the word pairs that contribute most are shown, with their
    share of the sum.

    With the folder of a ContextModel, an explanation shows the contexts that contribute most: the
    sentences around a gap, the scores of both texts in that gap, and the terms of each score. With
    a surrogate, it shows tokens.
    """
    if (pairs is None) == (text_pair is None):
        raise click.UsageError("give a table PAIRS, or --text-pair with two texts")
    of_tables = {"--text1": text1, "--text2": text2, "--left": left, "--right": right}
    given = [name for name, value in (of_tables | {"--compare": compare}).items() if value]
    if text_pair is not None and given:
        raise click.UsageError(f"{given[0]} names columns of PAIRS; leave it out with --text-pair")
    form = _checked_form(form, out)
    check_places({"--out": out, "--html": html}, [pairs, model])
    check_without_model(model, contexts, encoder, compare)
    folder = model is not None and checked_folder(model, contexts)
    classifier: Any = None
    if model is not None and not folder:
        classifier = reading.open_model(model, device)
    kinds: Any = None
    if pairs is not None:
        table = reading.open_table(pairs, encoding)
    if pairs is not None and model is None:
        texts, kinds = compared_pairs(table, text1, text2, (left, right), compare)
    elif pairs is not None:
        texts = reading.pairs_for(classifier, table, text1, text2, (left, right))
    else:
        texts = np.empty((1, 2), dtype=object)
        texts[0] = _checked(text_pair)
    n_pairs = len(texts)
    if out is None and html is not None:
        texts = texts[:PAGE_PAIRS]
    if model is None:
        verdicts = finder_of_pairs(texts, encoder, device, kinds).explain(texts.tolist())
    elif classifier is None:
        verdicts = FolderModel(model, texts, contexts, device).explain()
    else:
        verdicts = _verdicts(classifier, texts)
    if html is not None:
        pages = {ContextExplanation: contexts_page, ScoreExplanation: scores_page}
        page = pages.get(type(verdicts[0]), explanations_page)
        write_page(page(verdicts[:PAGE_PAIRS]), html)
        kept = f"the first {PAGE_PAIRS:,} of " if n_pairs > PAGE_PAIRS else ""
        note_written(html, f"{kept}{n_pairs:,} pair{'' if n_pairs == 1 else 's'} explained")
    if out is None and html is not None:
        return
    if form == "jsonl":
        lines = [json.dumps(verdict.to_dict(), ensure_ascii=False) + "\n" for verdict in verdicts]
        write_text(out, "".join(lines))
    else:
        write_text(out, "\n".join(f"{verdict}\n" for verdict in verdicts))


def _verdicts(classifier: Any, texts: Any) -> list[Any]:
    verdicts: list[Any] = []
    with progress(len(texts), "film explain") as advance:
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            verdicts += classifier.explain(block)
            advance(len(block))
    return verdicts


def _checked_form(form: str | None, out: str | None) -> str:
    """Return the format of the result; raise if it contradicts the name of the file."""
    named = format_of(out or "")
    if named not in (None, "jsonl") or (named and form == "text"):
        raise click.UsageError(
            f"--out {out} names a table, but explanations are not a table; end the name in .txt "
            "for "
            "text, or in .jsonl for one record per pair"
        )
    return form or named or "text"


def _checked(texts: Any) -> Any:
    if not any(map(str.strip, texts)):
        raise click.UsageError("--text-pair has two empty texts; give at least one text")
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise click.UsageError(
                f"--text-pair {text!r} is not text in the encoding of this terminal; set it to "
                "UTF-8, or put the pair into a file"
            ) from None
    return texts
