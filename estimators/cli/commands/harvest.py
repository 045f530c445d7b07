"""``film harvest``."""

from __future__ import annotations

from typing import Any

import click

from estimators.cli import models, options, reading, writing
from estimators.cli.console import Failure, leaves, note, verbosity


@options.command(
    "film harvest sentences.csv --model contexts --out scored.csv --pairs 20000",
    "film harvest sentences.csv -m contexts -o scored.csv --pairs 200000 --seconds 28800",
    "film train scored.csv --surrogate --model surrogate",
)
@click.argument("sentences", type=options.FILE, metavar="SENTENCES")
@options.texts
@options.model("The folder of a ContextModel, as film contexts writes it, or of a regressor.")
@options.file(
    "-o",
    "--out",
    required=True,
    help="CSV file of pairs, scores and splits. An unfinished file is continued.",
)
@click.option(
    "--pairs", type=click.IntRange(1), required=True, metavar="N", help="Number of pairs to write."
)
@click.option(
    "--seconds",
    type=options.FiniteRange(0),
    help="Stop after this many seconds. Default: no limit.",
)
@options.file(
    "--exclude",
    help="Hashes of sentences to leave out, one per line, such as those of test sets.",
)
@options.contexts
@options.seed
@options.encoding
@options.device
def harvest(given: Any) -> None:
    """Form pairs of the texts in a table of SENTENCES, and score each pair by contexts.

    The pairs cover the whole range of similarity. 98 % are for training, 1 % for dev and 1 % for
    test; these splits share no sentence. If interrupted, the same command continues.
    film train --surrogate learns from the file.
    """
    out, device = given.out, given.device
    if out == "-":
        raise Failure("--out - : harvest continues an unfinished file; give its name")
    writing.check_places({"--out": out}, [given.sentences, given.exclude])
    # Loaded here: scikit-learn takes a second.
    from estimators.contexts import harvest as harvest_pairs
    from film.datasets import read_excluded

    excluded = frozenset() if given.exclude is None else read_excluded(given.exclude)
    table = reading.open_table(given.sentences, given.encoding)
    texts = reading.texts_of(table, given.text)
    one = [(texts[0], texts[0])]
    regressor = models.load_regressor(given.model, one, given.contexts, device)
    leaves(f"finished pairs are in {out}: run the same command to continue")
    done = harvest_pairs(
        regressor.set_params(verbose=0),
        texts,
        out,
        n_pairs=given.pairs,
        seconds=given.seconds,
        exclude=excluded,
        random_state=given.seed,
        verbose=verbosity(),
    )
    more = (
        " --seconds are over: run the same command to continue." if done.stopped == "time" else ""
    )
    note(f"{out} holds {done.n_pairs:,} pairs, {done.n_new:,} of them new.{more}")
