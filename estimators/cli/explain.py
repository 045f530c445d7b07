"""``film explain``."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from estimators.cli import _reading as reading
from estimators.cli._console import Failure, examples, note, quiet_option
from estimators.cli._writing import check_places, out_option, write_text
from estimators.inspection.page import explanations_page, write_page


@click.command(
    epilog=examples(
        'film explain --text-pair "How old is it?" "What is its age?" -m duplicates.skops',
        "film explain pairs.csv --model duplicates.skops --html reasons.html",
    ),
    short_help="Say why pairs are judged as they are.",
)
@click.argument("pairs", metavar="PAIRS", required=False)
@click.option("-p", "--text-pair", nargs=2, metavar="A B", help="One pair, in place of a table.")
@reading.pair_options
@reading.model_option
@out_option
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="Form of the result; jsonl holds every contribution.",
)
@click.option("--html", metavar="FILE", help="Write a page; a result only with --out.")
@quiet_option
def explain(
    pairs: str | None,
    text_pair: tuple[str, str] | None,
    text1: str | None,
    text2: str | None,
    model: str,
    out: str | None,
    form: str,
    html: str | None,
    encoding: str | None,
) -> None:
    """Say for each of PAIRS which members and features spoke for and against, and which words meet.

    Effects are in log-odds, against the same pair with that input at its median in training.
    """
    if (pairs is None) == (text_pair is None):
        raise click.UsageError("give a table PAIRS, or --text-pair with two texts")
    check_places({"--out": out, "--html": html}, [pairs, model])
    classifier = reading.open_model(model)
    if pairs is not None:
        table = reading.open_table(pairs, encoding)
        texts = reading.pairs_of(table, reading.choose_pair_columns(table, text1, text2))
    else:
        texts = np.empty((1, 2), dtype=object)
        texts[0] = _checked(text_pair)
    verdicts = classifier.explain(texts)
    if html is not None:
        _write_page(verdicts, html)
        note(f"wrote {html}")
    if out is None and html is not None:
        return
    if form == "jsonl":
        lines = [json.dumps(verdict.to_dict(), ensure_ascii=False) + "\n" for verdict in verdicts]
        write_text(out, "".join(lines))
    else:
        write_text(out, "\n".join(f"{verdict}\n" for verdict in verdicts))


def _checked(texts: Any) -> Any:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise click.UsageError(
                f"--text-pair {text!r} is not text in the encoding of this terminal; set it to "
                "UTF-8, or put the pair into a file"
            ) from None
    return texts


def _write_page(verdicts: list[Any], path: str) -> None:
    explanations = []
    for verdict in verdicts:
        if not verdict.words:
            raise Failure("no member of this model can be taken apart into words; drop --html")
        explanations.append(next(iter(verdict.words.values())).to_dict())
    page = explanations_page(explanations, verdicts=[verdict.to_dict() for verdict in verdicts])
    write_page(page, path)
