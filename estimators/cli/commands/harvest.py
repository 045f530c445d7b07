"""``film harvest``."""

from __future__ import annotations

from typing import Any

import click

from estimators.cli import reading
from estimators.cli.console import Failure, examples, leaves, note, quiet_option, verbosity
from estimators.cli.options import (
    FILE,
    SHARE,
    FiniteRange,
    contexts_option,
    device_option,
    encoder_option,
    encoding_option,
    model_option,
    seed_option,
    text_option,
)
from estimators.cli.regressors import FolderModel, load_encoder
from estimators.cli.writing import check_places
from estimators.encoders import NO_ENCODER


@click.command(
    epilog=examples(
        "film harvest sentences.csv --model contexts --out scored.csv --pairs 20000",
        "film harvest sentences.csv -m contexts -o scored.csv --pairs 200000 --seconds 28800",
        "film train scored.csv --surrogate --model surrogate",
    ),
)
@click.argument("sentences", type=FILE, metavar="SENTENCES")
@text_option
@model_option("The folder of a ContextModel, as film contexts writes it, or of a regressor.")
@click.option(
    "-o",
    "--out",
    type=FILE,
    metavar="FILE",
    required=True,
    help="CSV file of pairs, scores and splits. An unfinished file is continued.",
)
@click.option(
    "--pairs", type=click.IntRange(1), required=True, metavar="N", help="Number of pairs to write."
)
@click.option(
    "--seconds", type=FiniteRange(0), help="Stop after this many seconds. Default: no limit."
)
@click.option(
    "--near",
    type=SHARE,
    default=0.5,
    show_default=True,
    help="Share of pairs that are neighbours; the others are random.",
)
@encoder_option(
    "Finds neighbours in addition to TF-IDF: the folder of a surrogate, or the folder or name of a "
    "transformers model; none uses TF-IDF alone. Default: the "
    "discriminator of --model, if it has one."
)
@click.option(
    "--exclude",
    type=FILE,
    metavar="FILE",
    help="Hashes of sentences to leave out, one per line, such as those of test sets.",
)
@contexts_option
@seed_option
@encoding_option
@device_option
@quiet_option
def harvest(
    sentences: str,
    text: Any,
    model: str,
    out: str,
    pairs: int,
    seconds: float | None,
    near: float,
    encoder: str | None,
    exclude: str | None,
    contexts: int | None,
    seed: int,
    device: str | None,
    encoding: str | None,
) -> None:
    """Form pairs of the texts in a table of SENTENCES, and score each pair by contexts.

    The pairs cover the whole range of similarity. 98 % are for training, 1 % for dev and 1 % for
    test; these splits share no sentence. If interrupted, the same command continues.
    film train --surrogate learns from the file.
    """
    if out == "-":
        raise Failure("--out - : harvest continues an unfinished file; give its name")
    check_places({"--out": out}, [sentences, exclude])
    # Loaded here: scikit-learn takes a second.
    from estimators.contexts import harvest as harvest_pairs
    from film.datasets import read_excluded

    excluded = frozenset() if exclude is None else read_excluded(exclude)
    table = reading.open_table(sentences, encoding)
    texts = reading.texts_of(table, text)
    scorer = FolderModel(model, [(texts[0], texts[0])], contexts, device)
    vectors: Any = "model"
    if encoder is not None:
        vectors = None if encoder == NO_ENCODER else load_encoder(encoder, device)
    leaves(f"finished pairs are in {out}: run the same command to continue")
    done = harvest_pairs(
        scorer.regressor.set_params(verbose=0),
        texts,
        out,
        n_pairs=pairs,
        seconds=seconds,
        near=near,
        encoder=vectors,
        exclude=excluded,
        random_state=seed,
        verbose=verbosity(),
    )
    more = (
        " --seconds are over: run the same command to continue." if done.stopped == "time" else ""
    )
    note(f"{out} holds {done.n_pairs:,} pairs, {done.n_new:,} of them new.{more}")
