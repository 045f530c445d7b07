"""Messages of the commands, and their exit status."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dis import opmap
from typing import IO, Any

import click

from estimators.cli.process import exit_status
from film.text import printable_text

_META = "estimators.cli."
_ARGUMENTS = {
    "random_state": "--seed",
    "cv": "--folds",
    "memory": "--cache",
    "format": "--format",
    "folder": "--model",
    "model": "--start",
    "encoder": "--start",
}
"""Options by arguments that have another name in Python."""


def _printable(text: str) -> str:
    """Escape control characters, which a message may quote from a file."""
    return "\n".join(printable_text(line, len(line)) for line in text.split("\n"))


class Failure(click.ClickException):
    """Wrong options or data: one message, exit status 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error."""
        click.echo(f"film: error: {_printable(self.format_message())}", file=file, err=True)


class Application(click.Group):
    """A group whose commands always end with the exit status that a shell expects."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors become messages, and an interruption the status of its signal."""
        for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
            # Results are UTF-8 whatever the locale; a stand-in for a stream may lack this.
            reconfigure: Any = getattr(stream, "reconfigure", None)
            if reconfigure:
                reconfigure(encoding="utf-8", errors=errors)
        try:
            with warnings.catch_warnings(), _logged():
                warnings.showwarning = _show_warning
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except BrokenPipeError:
            _drop_output()  # whoever read it has seen enough
            ctx.exit(0)
        except KeyboardInterrupt as error:
            click.echo(f"\nfilm: interrupted; {_left(ctx)}", err=True)
            ctx.exit(exit_status(error))
        except MemoryError as error:
            general = "there is not enough memory; split the file, or use a larger machine"
            raise Failure(self._said(ctx, error, None if _is_ours(error) else general)) from error
        except OSError as error:
            said = None
            if error.filename is None:
                _drop_output()
                if ctx.meta.get(f"{_META}output") and not _is_ours(error):
                    said = (
                        f"standard output could not be written: {error.strerror or error}; free "
                        "some space, or give --out FILE on another disk"
                    )
            raise Failure(self._said(ctx, error, said)) from error
        except (ImportError, ValueError) as error:
            if not _is_ours(error):
                raise
            raise Failure(self._said(ctx, error)) from error

    def _said(self, ctx: click.Context, error: Exception, instead: str | None = None) -> str:
        """Return the message and notes of an error, with options in place of arguments."""
        text = "\n".join([instead or str(error), *getattr(error, "__notes__", ())])
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        return text if command is None else by_options(text, command)


def by_options(text: str, command: click.Command) -> str:
    """Replace names of Python arguments in a message by options.

    Parameters
    ----------
    text : str
        A message that names arguments as ``rank=20``, or at its start as ``rank must be``.
    command : click.Command
        Whose options the arguments became.

    Returns
    -------
    text : str

    Examples
    --------
    >>> train = click.Command("train", params=[click.Option(["--rank", "-r"])])
    >>> by_options("rank=20 is too much; give rank=None", train)
    '--rank 20 is too much; leave out --rank'
    """
    options = {
        str(param.name): max(param.opts, key=len)
        for param in command.params
        if isinstance(param, click.Option)
    }
    options |= {name: option for name, option in _ARGUMENTS.items() if option in options.values()}

    def named(before: str, after: str) -> Any:
        return lambda match: f"{before}{options[match[1]]}{after}"

    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    text = text.removeprefix("path: ")
    text = re.sub(rf"\bgive ({names})=None\b", named("leave out ", ""), text)
    text = re.sub(rf"(?<![\w.-])({names})=None\b", named("no ", ""), text)
    text = re.sub(rf"(?<![\w.-])({names})=(?=[^\s,;.:)])", named("", " "), text)
    # In "give encoding=, or save it again" no value stands behind it.
    text = re.sub(rf"(?<![\w.-])({names})=", named("", ""), text)
    return re.sub(rf"^({names})(?=( must| has)\b|: )", named("", ""), text)


def _left(ctx: click.Context) -> str:
    """Report what an interruption leaves on disk."""
    files = ctx.meta.get(f"{_META}written", [])
    if files:
        return f"only {', '.join(files)} {'was' if len(files) == 1 else 'were'} written"
    return ctx.meta.get(f"{_META}left", "nothing was written")


def _drop_output() -> None:
    """Discard the rest of standard output, so that it does not fail again at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_ours(error: Exception) -> bool:
    """Return whether our own check raised it; an error of a library is our bug."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    package = str(last.tb_frame.f_globals.get("__name__")).split(".")[0]
    # Compiled libraries leave no frame: then the last one is ours, but it raised nothing.
    raised = last.tb_frame.f_code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"]
    return raised and package in ("film", "estimators")


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    # Others than these tell developers, not users, what to do.
    if issubclass(category, UserWarning):
        context = click.get_current_context()
        text = by_options(str(message), context.command)
        # Folds and members say the same of other numbers.
        kind, said = re.sub(r"\d+", "0", text), context.meta.setdefault(f"{_META}said", set())
        if kind not in said:
            said.add(kind)
            note(text)


class _Notes(logging.Handler):
    """A log handler that prints messages of libraries as notes of one line."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Exception while loading results" in text:
            text = "a finished part in --cache is damaged, so it is computed again"
        note(text.split("\n")[0])


@contextmanager
def _logged() -> Iterator[None]:
    handler = _Notes(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def set_quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Keep the value of ``--quiet``."""
    ctx.meta[f"{_META}quiet"] = value


def is_quiet() -> bool:
    """Return whether --quiet was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(f"{_META}quiet"))


def note(text: str) -> None:
    """Print a note to standard error, unless --quiet."""
    if not is_quiet():
        click.echo(f"film: {_printable(text)}", err=True)


def counted(n: int, noun: str) -> str:
    """Return a number with its noun in the singular, or in the plural that ends in s."""
    return f"{n} {noun}{'s' * (n != 1)}"


def have(n: int) -> str:
    """Return the verb of `counted`."""
    return "has" if n == 1 else "have"


def verbosity() -> int:
    """Verbosity of estimators: 1 shows a progress bar, on a terminal only."""
    return int(not is_quiet() and sys.stderr.isatty())


def leaves(text: str) -> None:
    """Register what an interruption leaves on disk from now on."""
    click.get_current_context().meta[f"{_META}left"] = text


def uses_output() -> None:
    """Record that standard output is in use, to recognise its errors."""
    click.get_current_context().meta[f"{_META}output"] = True


def wrote(path: str) -> None:
    """Register a file as complete, in case the command is interrupted later."""
    click.get_current_context().meta.setdefault(f"{_META}written", []).append(path)


@contextmanager
def progress(total: int, title: str) -> Iterator[Any]:
    """Yield a callable that advances a progress bar by a number of pairs."""
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=title, unit=" pairs", disable=not verbosity()) as bar:
        yield bar.update
