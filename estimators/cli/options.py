"""Options shared by several commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from estimators.cli.console import note
from film.compare import COLUMN_KINDS

NO_ENCODER = "none"
PAIR_COLUMNS = (("question1", "question2"), ("text1", "text2"))
LABEL_COLUMNS = ("is_duplicate", "label")
TEXT_COLUMNS = ("text", "question", "title", "body")


class FiniteRange(click.FloatRange):
    """A range of finite numbers; refuses nan."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number; give one such as 0.5.", param, ctx)
        return number

    def _describe_range(self) -> str:
        # Click writes "x<=None" for a range without ends.
        return "" if self.min is None and self.max is None else super()._describe_range()


FILE = click.Path(readable=False)
FOLDER = click.Path(file_okay=False, readable=False)

PRIOR = FiniteRange(0, 1, min_open=True, max_open=True)
"""A share of duplicates."""

SHARE = FiniteRange(0, 1)
"""A probability or similarity."""

POSITIVE_SHARE = FiniteRange(0, 1, min_open=True)

SEED = click.IntRange(0, 2**32 - 1)
"""What NumPy's random states take."""

seed_option = click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Seed of the random numbers."
)
encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="Encoding of the files. Default: detected (UTF-8, UTF-16 or Windows-1252).",
)
label_option = click.option(
    "-l",
    "--label",
    metavar="COLUMN",
    help=f"Labels: 1 for duplicates and 0 for others, or words such as match and nonmatch. "
    f"Default: {' or '.join(LABEL_COLUMNS)}.",
)


def pair_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--text1``, ``--text2`` and ``--encoding``."""
    both = " and ".join("/".join(names) for names in zip(*PAIR_COLUMNS, strict=True))
    first = f"First text of a pair. Default: {both}, if the table has only one of these pairs."
    for option in (
        encoding_option,
        click.option("-2", "--text2", metavar="COLUMN", help="Second text of a pair."),
        click.option("-1", "--text1", metavar="COLUMN", help=first),
    ):
        command = option(command)
    return command


def record_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--left`` and ``--right``."""
    sides = "the columns of the {} records in pairs of records with several columns: {}"
    for option in (
        click.option(
            "--right",
            metavar="AFFIX",
            help=f"Beginning or end of {sides.format('second', 'right_ for right_name')}.",
        ),
        click.option(
            "--left",
            metavar="AFFIX",
            help=f"Beginning or end of {sides.format('first', 'left_ for left_name')}. Default: "
            "left_/right_, ltable_/rtable_, _left/_right, _l/_r, _1/_2 or _x/_y, if the table has "
            "them.",
        ),
    ):
        command = option(command)
    return command


def _one_or_several(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    return value if len(value) > 1 else value[0] if value else None


def text_column_option(help: str) -> Any:
    """Return an option ``--text``: None, a column, or a tuple of columns that are joined."""
    return click.option(
        "-t", "--text", metavar="COLUMN", multiple=True, callback=_one_or_several, help=help
    )


text_option = text_column_option(
    f"Texts. Default: {', '.join(TEXT_COLUMNS)}, if the table has only one of them. Repeat the "
    "option to join several columns: --text title --text body."
)


def compare_option(what: str, metavar: str = "COLUMN[:KIND]") -> Any:
    """Return an option ``--compare``."""
    return click.option(
        "--compare",
        metavar=metavar,
        multiple=True,
        help=f"{what} Repeat the option. Kinds are {', '.join(COLUMN_KINDS)}; they are recognised "
        "by default.",
    )


compare_pairs_option = compare_option(
    "Compare this column of both records; give its name without the side. Default: all columns "
    "except ids."
)


def id_option(help: str) -> Any:
    """Return an option ``--id``."""
    return click.option("--id", "name", metavar="COLUMN", help=help)


def model_option(
    help: str = "A model file, as film train writes it.", required: bool = True
) -> Any:
    """Return an option ``--model``."""
    return click.option("-m", "--model", type=FILE, metavar="FILE", required=required, help=help)


def encoder_option(help: str, default: str | None = None) -> Any:
    """Return an option ``--encoder``, whose value `estimators.encoders.resolve_encoder` reads."""
    return click.option(
        "--encoder",
        type=FOLDER,
        metavar="ENCODER",
        default=default,
        show_default=default is not None,
        help=help,
    )


def chosen_encoder(name: str, n_texts: int) -> str | None:
    """Print which encoder ``--encoder`` selects, and return its name or folder.

    Parameters
    ----------
    name : str
        Value of the option.
    n_texts : int
        Number of distinct texts.
    """
    # Loaded here: scikit-learn takes a second.
    from estimators.encoders import resolve_encoder

    choice = resolve_encoder(name, n_texts)
    if name != NO_ENCODER:
        note(choice.reason)
    return None if choice.encoder is None else choice.name


compared_by_option = encoder_option(
    "Also compare meaning: auto (the packaged model, if it is installed and needs at most two "
    "minutes), none, or the name or folder of a model.",
    NO_ENCODER,
)

contexts_option = click.option(
    "--contexts",
    type=click.IntRange(1),
    metavar="N",
    help="Contexts per sentence, for a ContextModel. Default: as in training.",
)


def _present(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        # Loaded here: torch takes a second.
        from film.corpus import checked_device

        checked_device(value)
    return value


device_option = click.option(
    "--device",
    metavar="DEVICE",
    callback=_present,
    help="Device for neural networks: cpu, cuda or cuda:1. Default: a GPU if there is one.",
)


def prior_option(help: str, type: click.ParamType = PRIOR) -> Any:
    """Return an option ``--prior``."""
    return click.option("--prior", type=type, help=help)


def html_option(help: str) -> Any:
    """Return an option ``--html``."""
    return click.option("--html", type=FILE, metavar="FILE", help=help)


def report_format_option(
    *forms: str,
    default: str | None = None,
    help: str = "Format of the result.",
) -> Any:
    """Return an option ``--format`` of a command whose result is not a table of rows."""
    return click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(forms),
        default=default,
        show_default=default is not None,
        help=help,
    )
