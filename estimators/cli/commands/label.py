"""``film label``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

import click
import numpy as np

from estimators.cli import reading
from estimators.cli.console import Failure, examples, leaves, note, quiet_option
from estimators.cli.labelling.answers import Answers, pair_key
from estimators.cli.labelling.candidates import candidate_pairs
from estimators.cli.options import (
    FILE,
    compared_by_option,
    model_option,
    pair_options,
    seed_option,
    text_option,
)
from estimators.cli.writing import check_places
from estimators.inputs import usable_folds
from estimators.inspection import printable_text
from estimators.pairs import few_label_duplicates, suggest_pairs
from estimators.persistence import save_model

BATCH = 10
FOLDS = 5
TREES = 100
"""A third of those of `few_label_duplicates`: most of the time of saving, while someone waits."""
_SHOWN_CHARACTERS = 1000
_CHOICES = "y (same), n (different), s (skip), u (undo the last answer) or q (quit)"


@click.command(
    epilog=examples(
        "film label tickets.csv --text subject --labels labels.csv --model duplicates.film",
        "film label pairs.csv -1 left -2 right --labels labels.csv -n 50",
        "film train labels.csv --model duplicates.film",
    ),
)
@click.argument("table", type=FILE, metavar="TABLE")
@text_option
@pair_options
@click.option(
    "--labels",
    type=FILE,
    metavar="FILE",
    required=True,
    help="Where answers are saved: .csv, .tsv or .jsonl with text1, text2, label.",
)
@model_option(f"Where a model is saved, refitted every {BATCH} answers.", required=False)
@click.option(
    "-n", "n", type=click.IntRange(1), default=20, show_default=True, help="Pairs to ask now."
)
@compared_by_option
@seed_option
@quiet_option
def label(
    table: str,
    text: str | None,
    text1: str | None,
    text2: str | None,
    labels: str,
    model: str | None,
    n: int,
    encoder: str,
    seed: int,
    encoding: str | None,
) -> None:
    """Ask, pair by pair, whether two texts of a TABLE mean the same.

    TABLE holds texts (--text) or pairs (--text1, --text2). The most representative pairs come
    first. Every answer is saved before the next question; the same command continues where it
    stopped. Answers are y, n, s (skip), u (undo) and q (quit), one per line, from the terminal or a
    pipe.

    Several sessions may write to one FILE of answers, and you may edit it meanwhile: new answers
    are appended and other columns stay.
    """
    if table == "-":
        raise click.UsageError("answers come from standard input, so TABLE must be a file")
    _check_input()
    check_places({"--labels": labels, "--model": model}, [table])
    answers = Answers(labels)
    leaves(_kept(answers))
    rows = reading.open_table(table, encoding)
    pairs = candidate_pairs(rows, text, text1, text2, seed, encoder)
    fit = _Fit(model, pairs, seed)
    note(_kept(answers))
    note(f"asking {n} more: {_CHOICES}")
    _Dialogue(answers, pairs, fit, seed).run(n)
    answers.restore()
    fit(answers)
    note(_kept(answers))


class _Dialogue:
    """The dialogue with the user; every answer of the session can be undone."""

    def __init__(
        self,
        answers: Answers,
        pairs: np.ndarray,
        fit: Callable[[Answers], None],
        seed: int,
    ) -> None:
        self._answers = answers
        self._pairs = pairs
        self._keys = [pair_key(pair) for pair in pairs]
        self._fit = fit
        self._seed = seed

    def run(self, n: int) -> None:
        """Ask n pairs, or until someone quits."""
        asked: list[int] = []
        done = 0
        while done < n:
            if done == len(asked):
                asked += self._more(min(BATCH, n - done))
            if done == len(asked):
                click.echo("all pairs have been asked", err=True)
                return
            self._answers.refresh()
            if self._keys[asked[done]] in self._answers.by_key():
                del asked[done]  # another session was faster
                continue
            pair = self._pairs[asked[done]]
            answer = self._ask(pair, f"{done + 1}/{n}")
            if answer == "q":
                return
            if answer == "u":
                click.echo(self._undo() if done else "nothing to undo", err=True)
                done = max(done - 1, 0)
            else:
                self._keep(pair, {"y": "1", "n": "0", "s": ""}[answer])
                done += 1
            leaves(_kept(self._answers))

    def _more(self, n: int) -> list[int]:
        self._fit(self._answers)
        known = self._answers.by_key()
        asked = [row for row, key in enumerate(self._keys) if key in known]
        y = [known[self._keys[row]] for row in asked]
        return suggest_pairs(self._pairs, n, labelled=asked, y=y, random_state=self._seed).tolist()

    def _ask(self, pair: np.ndarray, place: str) -> str:
        click.echo(f"\n{place}", err=True)
        for text in pair:
            click.echo(f"  {printable_text(text, _SHOWN_CHARACTERS)}", err=True)
        while True:
            click.echo("the same? [y/n/s/u/q] ", err=True, nl=False)
            line = sys.stdin.readline()
            answer = line.strip().lower()[:1]
            if not line:
                click.echo("", err=True)
                return "q"
            if answer and answer in "ynsuq":
                return answer
            click.echo(f"answer {_CHOICES}", err=True)

    def _keep(self, pair: np.ndarray, answer: str) -> None:
        """Save an answer; if it cannot be written, wait until it can."""
        while True:
            try:
                return self._answers.add(pair.tolist(), answer)
            except (OSError, ValueError, click.ClickException) as error:
                reason = error.message if isinstance(error, click.ClickException) else str(error)
                row = json.dumps([*pair, answer], ensure_ascii=False)
                if not _is_terminal():
                    raise Failure(f"{reason}; this answer was not kept: {row}") from error
                click.echo(f"film: {reason}", err=True)
                click.echo("correct it, then press Enter to try again, or q to quit ", err=True)
                line = sys.stdin.readline()
                if not line or line.strip().lower()[:1] == "q":
                    raise Failure(f"this answer was not kept: {row}") from error

    def _undo(self) -> str:
        if self._answers.undo():
            return "the last answer is taken back"
        return "that answer is no longer in the file: nothing to take back"


def _is_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin.isatty()


def _check_input() -> None:
    """Raise if standard input is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise Failure("standard input is closed; answer in a terminal, or through a pipe")
    reconfigure: Any = getattr(sys.stdin, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="replace")  # what is no UTF-8 is no answer, and is asked again


class _Fit:
    """Fit and save a model when there are new answers."""

    def __init__(self, path: str | None, pairs: np.ndarray, seed: int) -> None:
        self._path = path
        self._pairs = pairs
        self._seed = seed
        self._fitted_on: list[Any] | None = None

    @cached_property
    def _untrained(self) -> Any:
        return few_label_duplicates(self._pairs, random_state=self._seed)

    def __call__(self, answers: Answers) -> None:
        """Fit unless there are no new answers."""
        if self._path is None:
            return
        pairs, y = answers.labelled()
        content = [*pairs.ravel().tolist(), *y.tolist()]
        if content == self._fitted_on:
            return
        folds = usable_folds(pairs, y, FOLDS, self._seed) if len(y) else 0
        if folds < 2:
            note(
                "no model yet: it needs two duplicates and two other pairs, on different questions"
            )
            return
        classifier = self._untrained.set_params(cv=folds, final_estimator__n_estimators=TREES)
        classifier.fit(pairs, y)
        save_model(classifier, self._path)
        self._fitted_on = content
        note(f"wrote {self._path}, fitted on {len(y)} labels")


def _kept(answers: Answers) -> str:
    if not len(answers):
        return "there are no answers yet"
    counts = answers.counts()
    many = "answer is" if len(answers) == 1 else "answers are"
    return (
        f"{len(answers)} {many} in {answers.path} ({counts['1']} same, {counts['0']} different, "
        f"{counts['']} skipped); the same command continues from there"
    )
