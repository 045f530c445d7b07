"""``film train``."""

from __future__ import annotations

import os
from typing import Any

import click
import numpy as np

from estimators.cli import models, options, reading, writing
from estimators.cli.console import Failure, leaves, note, verbosity
from estimators.cli.figures import as_text, figures
from estimators.cli.general import note_kinds
from estimators.encoders import DTYPES, AnyEncoder
from estimators.inputs import usable_folds
from estimators.pairs import accurate_duplicates, fast_duplicates, record_duplicates
from estimators.persistence import save_model
from film.pairs import calibration_error, shift_prior

_OF_TEXTS = ("corpus", "text", "rank", "accurate")
_OF_ACCURATE = ("start", "epochs", "max_length", "dtype", "device")
"""Options of some kinds of model alone, by their arguments."""


@options.command(
    "film train train.csv --model duplicates.film",
    "film train pairs.tsv -1 left -2 right -l same -m duplicates.film --prior 0.17",
    "film train train.csv --model duplicates.film --encoder auto",
    "film train train.csv --accurate --model accurate --cache work",
)
@click.argument("pairs", type=options.FILE, metavar="PAIRS")
@options.pairs
@options.records
@options.compare_pairs
@options.label
@options.model("Where the model is saved.")
@options.file(
    "--corpus",
    help="The texts to be scored, if you have them. The model then also counts neighbours among "
    "them. Without --corpus, a probability depends only on its own pair.",
)
@options.text("Column of texts in --corpus. Default: as in film duplicates.")
@options.prior("Share of duplicates in the data to be scored. Default: the share in PAIRS.")
@options.seed
@click.option(
    "--rank",
    type=click.IntRange(2),
    default=300,
    help="Rank of the decomposition. Lower is faster.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    help="Cross-validation folds, which share no question.",
)
@options.compared_by
@click.option(
    "--cache",
    type=options.FOLDER,
    metavar="FOLDER",
    help="Save finished folds in this folder, so that the same command continues after Ctrl-C.",
)
@options.flag(
    "--accurate",
    "Train every method of this package, including a transformers model. This gives the best "
    "scores, and takes hours without a GPU; use --cache. --model is then a new folder. With "
    "--start none, training takes minutes, and --model is a file.",
)
@click.option(
    "--start",
    type=options.FOLDER,
    metavar="ENCODER",
    help="With --accurate: folder or hub name of the encoder to train; none trains only members "
    "without an encoder. Default: the packaged all-MiniLM-L6-v2.",
)
@click.option(
    "--epochs",
    type=options.FiniteRange(0, min_open=True),
    help="With --accurate: training passes over the pairs. Default: 1.",
)
@click.option(
    "--max-length",
    type=click.IntRange(3),
    default=128,
    help="With --accurate: tokens read per text; 64 or 32 in training.",
)
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="With --accurate: precision of the encoder; bfloat16 is faster on processors and GPUs "
    "that support it. Default: float32.",
)
@options.device
def train(given: Any) -> None:
    """Learn from a table of PAIRS that are labelled 1 (duplicates) or 0, and save a model.

    A pair is two texts, or two records: rows of several columns such as left_name, left_price,
    right_name and right_price, which are compared column by column.

    Reports on standard error how good the model is on pairs of texts that it was not trained on.
    """
    _check_kind(given)
    if given.cache is not None:
        _check_cache(given.cache)
    if given.text is not None and given.corpus is None:
        raise click.UsageError("--text names a column of --corpus; give that too")
    folder = given.accurate and given.start != options.NO_ENCODER
    if folder and os.path.exists(given.model):
        raise click.UsageError(f"--model {given.model} already exists; give a new folder")
    if folder and given.folds < 4:
        raise click.UsageError(
            f"--folds {given.folds} is too few for --accurate, which divides the folds into two "
            "halves; give 4 or more, or --start none"
        )
    writing.check_places({"--model": given.model}, [given.pairs, given.corpus])
    kept = "no model was written"
    if given.cache is not None:
        kept += f"; finished folds are in {given.cache}: run the same command to continue"
    leaves(kept)
    kinds = reading.compared_kinds(given.compare)
    labelled = reading.read_labelled_pairs(given, columns=list(kinds) or None)
    labelled.check_labels("training")
    table, _, texts, y, records = labelled
    if records is not None:
        fault = (
            "is for pairs of texts, and PAIRS holds records of several columns; leave it out, or "
            "name two columns by --text1 and --text2"
        )
        options.refuse(**dict.fromkeys(_OF_TEXTS, fault))
    usable = usable_folds(texts, y, given.folds, given.seed)
    if usable < given.folds:
        remedy = (
            f"give more pairs, or --folds {usable}"
            if usable
            else "even two folds are too many: give more pairs"
        )
        raise Failure(
            f"{table.source}: {len(y)} labelled pairs are too few for --folds {given.folds}, "
            f"because folds share no text and each needs both labels; {remedy}"
        )
    classifier = _unfitted(given, len(set(texts.flat)), None if records is None else kinds)
    note(f"training on {len(y)} pairs, {y.mean():.1%} duplicates")
    classifier.fit(texts if records is None else records, y)
    if records is not None:
        note_kinds(classifier.features_)
    metadata = {
        "command": "film train",
        "files": [os.path.basename(path) for path in (given.pairs, given.corpus) if path],
        "pairs": len(y),
        "share of duplicates": float(y.mean()),
        "options": {name: getattr(given, name) for name in ("rank", "folds", "seed", "accurate")},
    }
    leaves(f"the model is in {given.model}; its out-of-fold figures were not computed")
    try:
        judged = _out_of_fold(classifier, y)
        note("out of fold, on texts not used in training:\n" + as_text(judged).rstrip())
        metadata["out of fold"] = judged
    finally:
        # A fit is not lost with its figures.
        classifier.set_params(memory=None, verbose=0)
        save_model(classifier, given.model, metadata=metadata, self_contained=folder)
    writing.note_written(given.model, f"a model of {len(y)} pairs")


def _unfitted(given: Any, n_texts: int, kinds: dict[str, str] | None) -> Any:
    """Return the classifier that the options describe; ``kinds`` are those of records' columns."""
    common: dict[str, Any] = {
        "random_state": given.seed,
        "cv": given.folds,
        "prior": given.prior,
        "memory": given.cache,
        "verbose": verbosity(),
    }
    if kinds is not None:
        named = {name: kind for name, kind in kinds.items() if kind}
        return _with_encoder(record_duplicates(kinds=named or None, **common), given, n_texts)
    common |= {"rank": given.rank, "corpus": None}
    if given.corpus is not None:
        table = reading.open_table(given.corpus, given.encoding)
        common["corpus"] = reading.texts_of(table, given.text)
    if given.accurate:
        if given.epochs is not None:
            common["epochs"] = given.epochs
        return accurate_duplicates(
            encoder=given.start,
            cache=None if given.cache is None else os.path.join(given.cache, "encodings"),
            max_length=given.max_length,
            device=given.device,
            dtype=given.dtype,
            **common,
        )
    return _with_encoder(fast_duplicates(**common), given, n_texts)


def _with_encoder(classifier: Any, given: Any, n_texts: int) -> Any:
    """Add the encoder of ``--encoder``, if there is one, to the members."""
    name = models.chosen_encoder(given.encoder, n_texts)
    if name is not None:
        classifier.members.append(("cosine", AnyEncoder(name)))
    return classifier


def _check_kind(given: Any) -> None:
    """Raise if an option belongs to another kind of model."""
    if given.accurate:
        options.refuse(encoder="is not for --accurate, which has its own encoder: give --start")
    else:
        options.refuse(**dict.fromkeys(_OF_ACCURATE, "needs --accurate"))


def _out_of_fold(classifier: Any, y: np.ndarray) -> dict[str, Any]:
    """Measure the out-of-fold predictions."""
    p = classifier.out_of_fold_probabilities()
    prior = classifier.train_prior_
    p = shift_prior(p, classifier.prior_, prior).astype(np.float64, copy=False)
    judged = figures(y, p, prior_from=prior, prior=classifier.prior, calibration=False)
    return judged | {"calibration error": calibration_error(y, p)}


def _check_cache(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise click.UsageError(
            f"--cache {path} cannot be made: {error.strerror}; give another folder"
        ) from error
    writing.check_places({"--cache": os.path.join(path, "writable")}, [])
