"""What the commands say, and how they end."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dis import opmap
from typing import IO, Any

import click

_META = "estimators.cli."


class Failure(click.ClickException):
    """Wrong options or data: one message, exit status 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error."""
        click.echo(f"film: error: {self.format_message()}", file=file, err=True)


class Application(click.Group):
    """Commands that end as a shell expects, whatever stops them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors become messages, an interruption status 130."""
        for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
            # Results are UTF-8 whatever the locale; a stand-in for a stream may lack this.
            reconfigure: Any = getattr(stream, "reconfigure", None)
            if reconfigure:
                reconfigure(encoding="utf-8", errors=errors)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _drop_output()  # whoever read it has seen enough
            ctx.exit(0)
        except KeyboardInterrupt:
            left = ctx.meta.get(f"{_META}left", "nothing was written")
            click.echo(f"\nfilm: interrupted; {left}", err=True)
            ctx.exit(130)
        except MemoryError as error:
            raise Failure(
                "there is not enough memory for this; split the file, or use a larger machine"
            ) from error
        except OSError as error:
            if error.filename is None:
                _drop_output()
            raise Failure(str(error)) from error
        except (ImportError, ValueError) as error:
            if not _is_ours(error):
                raise
            raise Failure(str(error)) from error


def _drop_output() -> None:
    """Send what is left for standard output nowhere, so that it does not fail again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_ours(error: Exception) -> bool:
    """Whether a check of ours raised it; where a library did, it shows a bug of ours."""
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
        note(str(message))


def _set_quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[f"{_META}quiet"] = value


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="No notes and no progress; errors are still told.",
)


def is_quiet() -> bool:
    """Whether notes and progress are unwanted."""
    return bool(click.get_current_context().meta.get(f"{_META}quiet"))


def note(text: str) -> None:
    """Tell something on standard error, unless notes are unwanted."""
    if not is_quiet():
        click.echo(f"film: {text}", err=True)


def verbosity() -> int:
    """Verbosity of estimators: 1 shows a progress bar, on a terminal only."""
    return int(not is_quiet() and sys.stderr.isatty())


def leaves(text: str) -> None:
    """Say what an interruption from here on leaves behind."""
    click.get_current_context().meta[f"{_META}left"] = text


@contextmanager
def progress(total: int, title: str) -> Iterator[Any]:
    """Yield a callable that moves a bar on by so many pairs."""
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=title, unit=" pairs", disable=not verbosity()) as bar:
        yield bar.update


def examples(*lines: str) -> str:
    """Epilog of a command: its examples, not rewrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
