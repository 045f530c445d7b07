"""Declare commands, and the options shared by several of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from estimators.cli.console import set_quiet
from film.compare import COLUMN_KINDS

Decorator = Callable[[Any], Any]

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


def command(*examples: str) -> Callable[[Callable[[Any], None]], click.Command]:
    """Return a decorator that makes a command of a function.

    The function takes one argument, which has the value of each option as an attribute. Its
    docstring is the help, which ends with the examples.
    """

    def decorated(function: Any) -> click.Command:
        def call(**values: Any) -> None:
            function(SimpleNamespace(**values))

        quiet = click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=set_quiet,
            help="No notes and no progress; errors are still shown.",
        )
        lines = "\n".join(f"  {line}" for line in examples)
        return click.Command(
            function.__name__,
            params=[*reversed(function.__click_params__), quiet],
            callback=call,
            help=function.__doc__,
            epilog=f"\b\nExamples:\n{lines}",
        )

    return decorated


def refuse(**faults: str) -> None:
    """Raise if an option with a fault, by its argument, has another value than its default."""
    context = click.get_current_context()
    for param in context.command.params:
        fault, value = faults.get(str(param.name)), context.params.get(str(param.name))
        if fault and value not in (None, (), False, param.get_default(context)):
            raise click.UsageError(f"{max(param.opts, key=len)} {fault}")


def file(*names: str, help: str, **more: Any) -> Decorator:
    """Return an option that is a file."""
    return click.option(*names, type=FILE, metavar="FILE", help=help, **more)


def flag(name: str, help: str) -> Decorator:
    """Return an option without a value."""
    return click.option(name, is_flag=True, help=help)


def column(*names: str, help: str, **more: Any) -> Decorator:
    """Return an option that is the name of a column."""
    return click.option(*names, metavar="COLUMN", help=help, **more)


def several(*declared: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""

    def decorated(function: Any) -> Any:
        for declare in reversed(declared):
            function = declare(function)
        return function

    return decorated


seed = click.option("--seed", type=SEED, default=0, help="Seed of the random numbers.")
encoding = click.option(
    "--encoding",
    metavar="NAME",
    help="Encoding of the files. Default: detected (UTF-8, UTF-16 or Windows-1252).",
)
label = column(
    "-l",
    "--label",
    help="Labels: 1 for duplicates and 0 for others, or words such as match and nonmatch. "
    f"Default: {' or '.join(LABEL_COLUMNS)}.",
)
_USUAL_PAIRS = " and ".join("/".join(names) for names in zip(*PAIR_COLUMNS, strict=True))
pairs = several(
    column(
        "-1",
        "--text1",
        help=f"First text of a pair. Default: {_USUAL_PAIRS}, if the table has exactly one "
        "such pair of columns.",
    ),
    column("-2", "--text2", help="Second text of a pair."),
    encoding,
)
_SIDES = (
    "Beginning or end of the columns of the {} records in pairs of records with several columns"
)
records = several(
    click.option(
        "--left",
        metavar="AFFIX",
        help=f"{_SIDES.format('first')}: left_ for left_name. Default: left_/right_, "
        "ltable_/rtable_, _left/_right, _l/_r, _1/_2 or _x/_y, if the table has them.",
    ),
    click.option(
        "--right", metavar="AFFIX", help=f"{_SIDES.format('second')}: right_ for right_name."
    ),
)


def _one_or_several(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    return value if len(value) > 1 else value[0] if value else None


def text(help: str) -> Decorator:
    """Return an option ``--text``: None, a column, or a tuple of columns that are joined."""
    return column("-t", "--text", multiple=True, callback=_one_or_several, help=help)


texts = text(
    f"Texts. Default: {', '.join(TEXT_COLUMNS)}, if the table has just one of them. Repeat the "
    "option to join several columns: --text title --text body."
)


def compare(what: str, metavar: str = "COLUMN[:KIND]") -> Decorator:
    """Return an option ``--compare``."""
    return click.option(
        "--compare",
        metavar=metavar,
        multiple=True,
        help=f"{what} Repeat the option. Kinds are {', '.join(COLUMN_KINDS)}; they are recognised "
        "by default.",
    )


compare_pairs = compare(
    "Compare this column of both records; give its name without the side. Default: all columns "
    "except ids."
)


def ids(help: str) -> Decorator:
    """Return an option ``--id``."""
    return column("--id", "name", help=help)


def model(help: str = "A model file, as film train writes it.", required: bool = True) -> Decorator:
    """Return an option ``--model``."""
    return file("-m", "--model", required=required, help=help)


any_model = model(
    "A model file, as film train writes it. Default: the general score, which needs no labels.",
    required=False,
)


def encoder(help: str, default: str | None = None) -> Decorator:
    """Return an option ``--encoder``, whose value `estimators.encoders.resolve_encoder` reads."""
    return click.option("--encoder", type=FOLDER, metavar="ENCODER", default=default, help=help)


compared_by = encoder(
    "Also compare meaning: auto (the packaged model, if it is installed and needs at most two "
    "minutes), none, or the name or folder of a model.",
    NO_ENCODER,
)


def _present(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        # Loaded here: torch takes a second.
        from film.networks import checked_device

        checked_device(value)
    return value


device = click.option(
    "--device",
    metavar="DEVICE",
    callback=_present,
    help="Device for neural networks: cpu, cuda or cuda:1. Default: a GPU if there is one.",
)


def prior(help: str, type: click.ParamType = PRIOR) -> Decorator:
    """Return an option ``--prior``."""
    return click.option("--prior", type=type, help=help)


def precision(help: str) -> Decorator:
    """Return an option ``--precision``."""
    return click.option("--precision", type=PRIOR, help=help)


def form(*forms: str, default: str | None = None, help: str = "Format of the result.") -> Decorator:
    """Return an option ``--format`` of a command whose result is not a table of rows."""
    return click.option(
        "-f", "--format", "form", type=click.Choice(forms), default=default, help=help
    )
