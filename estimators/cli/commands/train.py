"""``film train``."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from estimators.cli import reading
from estimators.cli.commands.surrogate_training import train_surrogate
from estimators.cli.console import Failure, examples, leaves, note, quiet_option, verbosity
from estimators.cli.figures import as_text, figures
from estimators.cli.options import (
    FILE,
    FOLDER,
    FiniteRange,
    chosen_encoder,
    compare_pairs_option,
    compared_by_option,
    device_option,
    label_option,
    model_option,
    pair_options,
    prior_option,
    record_options,
    seed_option,
    text_column_option,
)
from estimators.cli.writing import check_places, note_written
from estimators.encoders import DTYPES, NO_ENCODER, AnyEncoder
from estimators.inputs import usable_folds
from estimators.pairs import accurate_duplicates, fast_duplicates, record_duplicates
from estimators.persistence import save_model
from film.pairs import calibration_error, shift_prior

_OF_DUPLICATES = (
    "compare",
    "left",
    "right",
    "corpus",
    "text",
    "prior",
    "rank",
    "folds",
)
_OF_TEXTS = ("corpus", "text", "rank", "encoder", "accurate")
_OF_SURROGATES = ("scratch", "score_range")
_OF_TRAINED = ("start", "epochs", "max_length", "dtype", "device")
"""Options of some kinds of model alone, by their arguments."""


@click.command(
    epilog=examples(
        "film train train.csv --model duplicates.film",
        "film train pairs.tsv -1 left -2 right -l same -m duplicates.film --prior 0.17",
        "film train train.csv --model duplicates.film --encoder auto",
        "film train train.csv --accurate --model accurate --cache work",
        "film train scored.csv --surrogate --model surrogate",
    ),
)
@click.argument("pairs", type=FILE, metavar="PAIRS")
@pair_options
@record_options
@compare_pairs_option
@label_option
@model_option("Where the model is saved.")
@click.option(
    "--corpus",
    type=FILE,
    metavar="FILE",
    help=(
        "The texts to be scored, if you have them. The model then also counts neighbours among "
        "them. Without --corpus, a probability depends only on its own pair."
    ),
)
@text_column_option("Column of texts in --corpus. Default: as in film duplicates.")
@prior_option("Share of duplicates in the data to be scored. Default: the share in PAIRS.")
@seed_option
@click.option(
    "--rank",
    type=click.IntRange(2),
    default=300,
    show_default=True,
    help="Rank of the decomposition. Lower is faster.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Cross-validation folds, which share no question.",
)
@compared_by_option
@click.option(
    "--cache",
    type=FOLDER,
    metavar="FOLDER",
    help="Save finished folds in this folder, so that the same command continues after Ctrl-C.",
)
@click.option(
    "--accurate",
    is_flag=True,
    help=(
        "Train every method of this package, including a transformers model. This gives the "
        "best scores, and takes hours without a GPU; use --cache. --model is then a new folder. "
        "With --start none, training takes minutes, and --model is a file."
    ),
)
@click.option(
    "--surrogate",
    is_flag=True,
    help=(
        "Train sentence vectors whose cosine predicts a score, such as the scores of film "
        "harvest. --model is then a new folder, and --label names the column of scores."
    ),
)
@click.option(
    "--start",
    type=FOLDER,
    metavar="ENCODER",
    help="With --surrogate or --accurate: folder or hub name of the encoder to train; with "
    "--accurate, none trains only members without an encoder. Default: the packaged "
    "all-MiniLM-L6-v2.",
)
@click.option(
    "--scratch",
    is_flag=True,
    help="With --surrogate: start from random weights and a vocabulary of the training texts.",
)
@click.option(
    "--score-range",
    type=FiniteRange(),
    nargs=2,
    metavar="LOW HIGH",
    help="With --surrogate: scores that mean cosines 0 and 1. Default: scores are cosines.",
)
@click.option(
    "--epochs",
    type=FiniteRange(0, min_open=True),
    help="With --surrogate or --accurate: training passes over the pairs. Default: 1.",
)
@click.option(
    "--max-length",
    type=click.IntRange(3),
    default=128,
    show_default=True,
    help="With --surrogate or --accurate: tokens read per text; 64 or 32 in training.",
)
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="With --surrogate or --accurate: precision of the encoder; bfloat16 is faster on "
    "processors and GPUs that support it. Default: float32.",
)
@device_option
@quiet_option
def train(**given: Any) -> None:
    """Learn from a table of PAIRS that are labelled 1 (duplicates) or 0, and save a model.

    A pair is two texts, or two records: rows of several columns such as left_name, left_price,
    right_name and right_price, which are compared column by column.

    Reports on standard error how good the model is on pairs of texts that it was not trained on.
    """
    options = SimpleNamespace(**given)
    _check_kind(options.surrogate, options.accurate)
    if options.cache is not None:
        _check_folder(options.cache)
    if options.surrogate:
        train_surrogate(options)
        return
    if options.text is not None and options.corpus is None:
        raise click.UsageError("--text names a column of --corpus; give that too")
    folder = options.accurate and options.start != NO_ENCODER
    if folder and os.path.exists(options.model):
        raise click.UsageError(f"--model {options.model} already exists; give a new folder")
    if folder and options.folds < 4:
        raise click.UsageError(
            f"--folds {options.folds} is too few for --accurate, which divides the folds into two "
            "halves; give 4 or more, or --start none"
        )
    check_places({"--model": options.model}, [options.pairs, options.corpus])
    kept = "no model was written"
    if options.cache is not None:
        kept += f"; finished folds are in {options.cache}: run the same command to continue"
    leaves(kept)
    kinds = reading.compared_kinds(options.compare)
    labelled = reading.read_labelled_pairs(
        options.pairs,
        options.text1,
        options.text2,
        options.label,
        options.encoding,
        (options.left, options.right),
        columns=list(kinds) or None,
    )
    labelled.check_labels("training")
    table, _, texts, y, records = labelled
    if records is not None:
        _check_for_records()
    usable = usable_folds(texts, y, options.folds, options.seed)
    if usable < options.folds:
        remedy = f"give --folds {usable}" if usable else "even two folds are too many: give"
        raise Failure(
            f"{table.source}: {len(y)} labelled pairs are too few for --folds {options.folds}, "
            "because folds share no text and each needs both labels; "
            f"{remedy}{' or' if usable else ''} more pairs"
        )
    classifier = _unfitted(options, len(set(texts.flat)), None if records is None else kinds)
    note(f"training on {len(y)} pairs, {y.mean():.1%} duplicates")
    classifier.fit(texts if records is None else records, y)
    if records is not None:
        features: Any = classifier.features_
        compared = ", ".join(f"{name} ({kind})" for name, kind in features.kinds_.items())
        note(f"columns compared: {compared}")
    metadata = {
        "command": "film train",
        "files": [os.path.basename(path) for path in (options.pairs, options.corpus) if path],
        "pairs": len(y),
        "share of duplicates": float(y.mean()),
        "options": {name: given[name] for name in ("rank", "folds", "seed", "accurate")},
    }
    leaves(f"the model is in {options.model}; its out-of-fold figures were not computed")
    try:
        judged = _out_of_fold(classifier, y)
        note("out of fold, on texts not used in training:\n" + as_text(judged).rstrip())
        metadata["out of fold"] = judged
    finally:
        # A fit is not lost with its figures.
        classifier.set_params(memory=None, verbose=0)
        save_model(classifier, options.model, metadata=metadata, self_contained=folder)
    note_written(options.model, f"a model of {len(y)} pairs")


def _unfitted(options: Any, n_texts: int, kinds: dict[str, str] | None) -> Any:
    """Return the classifier that the options describe; ``kinds`` are those of records' columns."""
    common: dict[str, Any] = {
        "random_state": options.seed,
        "cv": options.folds,
        "prior": options.prior,
        "memory": options.cache,
        "verbose": verbosity(),
    }
    if kinds is not None and not options.accurate:
        named = {name: kind for name, kind in kinds.items() if kind}
        return record_duplicates(kinds=named or None, **common)
    common |= {"rank": options.rank, "corpus": None}
    if options.corpus is not None:
        table = reading.open_table(options.corpus, options.encoding)
        common["corpus"] = reading.texts_of(table, options.text)
    if options.accurate:
        if options.epochs is not None:
            common["epochs"] = options.epochs
        return accurate_duplicates(
            encoder=options.start,
            cache=None if options.cache is None else os.path.join(options.cache, "encodings"),
            max_length=options.max_length,
            device=options.device,
            dtype=options.dtype,
            **common,
        )
    classifier = fast_duplicates(**common)
    name = chosen_encoder(options.encoder, n_texts)
    if name is not None:
        classifier.members.append(("cosine", AnyEncoder(name)))
    return classifier


def _check_kind(surrogate: bool, accurate: bool) -> None:
    """Raise if an option belongs to another kind of model."""
    context = click.get_current_context()
    wrong: dict[str, str] = {}
    if surrogate:
        others = (*_OF_DUPLICATES, "accurate", "encoder")
        wrong = dict.fromkeys(others, "is not for --surrogate")
    else:
        wrong = dict.fromkeys(_OF_SURROGATES, "needs --surrogate")
        if not accurate:
            wrong |= dict.fromkeys(_OF_TRAINED, "needs --surrogate or --accurate")
        else:
            wrong["encoder"] = "is not for --accurate, which has its own encoder: give --start"
    for name, fault in wrong.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} {fault}")
    if context.params["scratch"] and context.params["start"]:
        raise click.UsageError("give --start or --scratch, not both")


def _check_for_records() -> None:
    """Raise if an option is for pairs of texts alone."""
    context = click.get_current_context()
    for name in _OF_TEXTS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for pairs of texts, and PAIRS holds records of "
                "several columns; leave it out, or name two columns by --text1 and --text2"
            )


def _out_of_fold(classifier: Any, y: np.ndarray) -> dict[str, Any]:
    """Measure the out-of-fold predictions."""
    p = classifier.out_of_fold_probabilities()
    prior = classifier.train_prior_
    p = shift_prior(p, classifier.prior_, prior).astype(np.float64, copy=False)
    judged = figures(y, p, prior_from=prior, prior=classifier.prior, calibration=False)
    return judged | {"calibration error": calibration_error(y, p)}


def _check_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise click.UsageError(
            f"--cache {path} cannot be made: {error.strerror}; give another folder"
        ) from error
    check_places({"--cache": os.path.join(path, "writable")}, [])
