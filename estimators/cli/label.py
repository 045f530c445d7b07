"""``film label``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

import click
import numpy as np

from estimators.cli import _reading as reading
from estimators.cli._answers import Answers, pair_key
from estimators.cli._candidates import candidate_pairs
from estimators.cli._console import examples, leaves, note, quiet_option
from estimators.cli._folds import usable_folds
from estimators.cli._writing import check_places
from estimators.few_labels import few_label_duplicates
from estimators.inspection._printable import printable
from estimators.persistence import save_model
from estimators.suggestion import suggest_pairs

BATCH = 10
FOLDS = 5
_SHOWN_CHARACTERS = 1000
_HELP = "answer y (same), n (different), s (skip), u (undo the last answer) or q (quit)"


@click.command(
    epilog=examples(
        "film label tickets.csv --text subject --labels labels.csv --model duplicates.skops",
        "film label pairs.csv -1 left -2 right --labels labels.csv -n 50",
        "film train labels.csv --model duplicates.skops",
    ),
    short_help="Label the pairs most worth it.",
)
@click.argument("table", metavar="TABLE")
@reading.text_option
@reading.pair_options
@click.option("--labels", metavar="FILE", required=True, help="Where answers are kept.")
@click.option(
    "-m", "--model", metavar="FILE", help=f"Where a model goes, fitted anew every {BATCH} answers."
)
@click.option(
    "-n", "n", type=click.IntRange(1), default=20, show_default=True, help="Pairs to ask now."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
@quiet_option
def label(
    table: str,
    text: str | None,
    text1: str | None,
    text2: str | None,
    labels: str,
    model: str | None,
    n: int,
    seed: int,
    encoding: str | None,
) -> None:
    """Ask, pair by pair, whether two texts of a TABLE mean the same.

    TABLE holds texts (--text) or pairs (--text1, --text2). Asked are the pairs most worth a label.
    Every answer is on the disk before the next question comes; the same command goes on where it
    was. Answers are y, n, s (skip), u (undo) and q (quit), one a line, from the terminal or a pipe.
    """
    if table == "-":
        raise click.UsageError("answers come from standard input, so TABLE must be a file")
    check_places({"--labels": labels, "--model": model}, [table])
    answers = Answers(labels)
    leaves(_kept(answers))
    rows = reading.open_table(table, encoding)
    pairs = candidate_pairs(rows, text, text1, text2, seed)
    fit = _Fit(model, pairs, seed)
    _Dialogue(answers, pairs, fit, seed).run(n)
    fit(answers)
    note(_kept(answers))


class _Dialogue:
    """Questions and answers; what was asked can be undone back to the start."""

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
            pair = self._pairs[asked[done]]
            answer = self._ask(pair, f"{done + 1}/{n}")
            if answer == "q":
                return
            if answer == "u":
                if done:
                    self._answers.undo()
                    done -= 1
                else:
                    click.echo("nothing to undo", err=True)
            else:
                self._answers.add(pair, {"y": "1", "n": "0", "s": ""}[answer])
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
            click.echo(f"  {printable(text, _SHOWN_CHARACTERS)}", err=True)
        while True:
            click.echo("the same? [y/n/s/u/q] ", err=True, nl=False)
            line = sys.stdin.readline()
            answer = line.strip().lower()[:1]
            if not line:
                click.echo("", err=True)
                return "q"
            if answer and answer in "ynsuq":
                return answer
            click.echo(_HELP, err=True)


class _Fit:
    """Fits and saves a model where there is something new to learn from."""

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
            note("no model yet: it takes two duplicates and two others, on different questions")
            return
        # Trees, its default, would be somewhat better, but cannot be saved.
        classifier = self._untrained.set_params(cv=folds, final_estimator=None)
        classifier.fit(pairs, y)
        save_model(classifier, self._path)
        self._fitted_on = content
        note(f"wrote {self._path}, fitted on {len(y)} labels")


def _kept(answers: Answers) -> str:
    if not len(answers):
        return "there are no answers yet"
    return f"{len(answers)} answers are in {answers.path}; the same command goes on from there"
