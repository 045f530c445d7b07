"""``film explain``."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from estimators.cli import options, reading, writing
from estimators.cli.console import progress
from estimators.cli.general import (
    finder_of_pairs,
    general_scores,
    model_of,
    note_kinds,
    pairs_to_score,
)
from estimators.cli.tables import format_of
from estimators.inspection import (
    explanations_page,
    scores_page,
    write_page,
)

BLOCK = 32
"""Pairs explained at once, between two moves of the progress bar."""
PAGE_PAIRS = 1000
"""Most pairs on a page: browsers open it, and readers read no more."""


@options.command(
    'film explain --text-pair "a phone of 128 GB" "a phone of 256 GB"',
    'film explain --text-pair "How old is it?" "What is its age?" -m duplicates.film',
    "film explain pairs.csv --model duplicates.film --html reasons.html",
)
@click.argument("pairs", type=options.FILE, metavar="PAIRS", required=False)
@click.option("-p", "--text-pair", nargs=2, metavar="A B", help="One pair, instead of a table.")
@options.pairs
@options.records
@options.compare_pairs
@options.any_model
@options.compared_by
@writing.out_option
@options.form(
    "text",
    "jsonl",
    help="Format of the result; jsonl holds all numbers. Default: by the name of --out, else text.",
)
@options.file(
    "--html",
    help=f"Write a page of the first {PAGE_PAIRS:,} pairs. Add --out to write the text too.",
)
@options.device
def explain(given: Any) -> None:
    """Explain the score of each of PAIRS: how the texts differ, and what adds to the score.

    Without a model, the texts of all pairs are compared as one table, as in film score. The
    log-odds of the score are a sum of effects: of wording, meaning (with --encoder), numbers and
    codes, negation and order, the neighbours in the table, and each column of records.

    With a model file, an explanation starts from a typical pair (the median of every input) and
    ends at this pair. Each step sets one group of inputs to the values of this pair, the strongest
    group first. For long texts, only the word pairs that contribute most are shown, with their
    share of the sum.
    """
    if (given.pairs is None) == (given.text_pair is None):
        raise click.UsageError("give a table PAIRS, or --text-pair with two texts")
    of_tables = ("text1", "text2", "left", "right", "compare")
    wrong = [name for name in of_tables if getattr(given, name)]
    if given.text_pair is not None and wrong:
        raise click.UsageError(
            f"--{wrong[0]} names columns of PAIRS; leave it out with --text-pair"
        )
    form = _checked_form(given.form, given.out)
    writing.check_places({"--out": given.out, "--html": given.html}, [given.pairs, given.model])
    classifier = model_of(given)
    kinds: Any = None
    if given.pairs is not None:
        table = reading.open_table(given.pairs, given.encoding)
        texts, kinds = pairs_to_score(table, given, classifier)
    else:
        texts = np.empty((1, 2), dtype=object)
        texts[0] = _checked(given.text_pair)
    n_pairs = len(texts)
    page_alone = given.out is None and given.html is not None
    if page_alone:
        texts = texts[:PAGE_PAIRS]
    if given.model is None:
        finder = finder_of_pairs(texts, given.encoder, kinds)
        note_kinds(finder)
        verdicts = finder.explain(texts.tolist())
    else:
        verdicts = _verdicts(classifier, texts)
    if given.html is not None:
        page = scores_page if given.model is None else explanations_page
        write_page(page(verdicts[:PAGE_PAIRS]), given.html)
        kept = f"the first {PAGE_PAIRS:,} of " if n_pairs > PAGE_PAIRS else ""
        several = "" if n_pairs == 1 else "s"
        writing.note_written(given.html, f"{kept}{n_pairs:,} pair{several} explained")
    if page_alone:
        return
    if form == "jsonl":
        lines = [json.dumps(verdict.to_dict(), ensure_ascii=False) + "\n" for verdict in verdicts]
        writing.write_text(given.out, "".join(lines))
    else:
        writing.write_text(given.out, "\n".join(f"{verdict}\n" for verdict in verdicts))


def _verdicts(classifier: Any, texts: Any) -> list[Any]:
    verdicts: list[Any] = []
    general = general_scores(classifier, texts)
    with progress(len(texts), "film explain") as advance:
        for start in range(0, len(texts), BLOCK):
            block = slice(start, start + BLOCK)
            known = {} if general is None else {"general": general[block]}
            verdicts += classifier.explain(texts[block], **known)
            advance(len(texts[block]))
    return verdicts


def _checked_form(form: str | None, out: str | None) -> str:
    """Return the format of the result; raise if it contradicts the name of the file."""
    named = format_of(out or "")
    if named not in (None, "jsonl") or (named and form == "text"):
        raise click.UsageError(
            f"--out {out} names a table, but explanations are not a table; end the name in .txt "
            "for text, or in .jsonl for one record per pair"
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
