"""The group of all commands."""

from __future__ import annotations

import difflib
import importlib

import click
from click.shell_completion import CompletionItem

from estimators.cli.console import Application
from film import __version__

COMMANDS = {
    "train": "Learn from labelled pairs.",
    "score": "Add scores or probabilities to a table of pairs.",
    "duplicates": "Find the duplicates in a table.",
    "review": "Label pairs, and estimate precision and recall from your answers.",
    "check": "List the labels that are probably wrong.",
    "explain": "Explain the scores of pairs.",
    "evaluate": "Measure a model on labelled pairs.",
    "submit": "Write a submission for Kaggle.",
    "info": "Show what a model file contains.",
}
"""What each command does, by name: its function has that name in the module of that name."""

EARLIER_NAMES = {"label": "review"}

IN_PYTHON = {
    "contexts": "estimators.ContextModel().fit(documents).save(folder)",
    "harvest": "estimators.harvest(regressor, sentences, path, n_pairs=n)",
}
"""What does the work of commands that were removed."""

EPILOG = """\b
Start without labels:
  film duplicates tickets.csv --text subject --id ticket --out pairs.csv
\b
Or with pairs that are labelled 0 and 1:
  film train pairs.csv --model duplicates.film
  film score more.csv --model duplicates.film > scored.csv
\b
For other column names, use --text1, --text2, --label, --text, --id.
Files may be CSV, TSV, JSON, Excel or Parquet, also in .gz, .bz2 or .zip; - is standard input.
Results go to standard output or --out, everything else to standard error.
Exit status: 0 success, 2 wrong options or data, 1 a bug; 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.
"""


class LazyApplication(Application):
    """A group that imports a command's module only when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order that a newcomer needs."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        cmd_name = EARLIER_NAMES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        return getattr(importlib.import_module(f"estimators.cli.commands.{cmd_name}"), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by name; for an unknown name, suggest the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            if args[0] in IN_PYTHON:
                hint = f" Do this in Python: {IN_PYTHON[args[0]]}"
            raise click.UsageError(error.message + hint, ctx) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, without importing them, and options."""
        found = [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyApplication,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
    epilog=EPILOG,
)
@click.version_option(__version__, "-V", "--version", prog_name="film")
def main() -> None:
    """Find texts that mean the same, with probabilities and reasons, on a laptop."""
