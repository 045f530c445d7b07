"""``film review``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

import click
import numpy as np

from estimators.cli import options, reading, writing
from estimators.cli.console import Failure, counted, leaves, note
from estimators.cli.labelling.answers import Answers
from estimators.cli.labelling.candidates import POOL, Candidates, asked_of, candidate_pairs
from estimators.cli.labelling.page import review_data
from estimators.cli.labelling.progress import agreement_line, estimate_lines, stop_line
from estimators.inputs import CELL_END, RecordPairs, usable_folds
from estimators.inspection import printable_text, review_page, side_by_side, write_page
from estimators.pairs import duplicate_probabilities, few_label_duplicates, record_duplicates
from estimators.persistence import save_model
from film.judge import ExpectedPrecision, Review, expected_precision
from film.pairs import threshold_of_best_f1

N_QUESTIONS = 20
LEAST_RECALL = 0.1
BATCH = 10
FOLDS = 5
TREES = 100
"""A third of those of `few_label_duplicates`: most of the time of saving, while someone waits."""
_SHOWN_CHARACTERS = 1000
_CHOICES = "y (same), n (different), s (skip: can't tell), u (undo the last answer) or q (quit)"
REASONS = ("words", "number", "name", "date", "place", "meaning")
"""Reasons by key for texts; those of records are their columns."""
_ANSWER = re.compile(
    r"\s*(y(?:es)?|no?|s(?:kip)?|u(?:ndo)?|q(?:uit)?)(?![^\W\d_])[\W_]*(.*?)\s*", re.IGNORECASE
)


@options.command(
    "film review tickets.csv --text subject --labels labels.csv --precision 0.95",
    "film review pairs.csv -1 left -2 right --labels labels.csv -n 50",
    "film review tickets.csv --text subject --labels mine.csv --second hers.csv",
    "film review tickets.csv --text subject --labels labels.csv --html review.html",
    "film train labels.csv --model duplicates.film",
)
@click.argument("table", type=options.FILE, metavar="TABLE")
@options.texts
@options.pairs
@options.records
@options.compare(
    "Compare this column by itself, in place of --text; for pairs of records, give the name "
    "without its side. Default: if no column is named text, question or body, all columns except "
    "ids and numbers of rows."
)
@options.file(
    "--labels",
    required=True,
    help="Where answers are saved: .csv, .tsv or .jsonl with text1, text2, label. Records have "
    "left_name, right_name and so on in place of texts.",
)
@options.model(f"Fit a model after every {BATCH} answers, and save it here.", required=False)
@click.option(
    "-n",
    "n",
    type=click.IntRange(1),
    show_default=str(N_QUESTIONS),
    help="Number of questions in this session.",
)
@options.file(
    "--html",
    help="Write a page that asks in a browser, without a connection, and ask nothing here. The "
    "answers that it saves are a file for --labels.",
)
@click.option(
    "--threshold",
    type=options.POSITIVE_SHARE,
    metavar="SCORE",
    help="Lowest score of a duplicate. Default: the threshold with the best estimated F1, or the "
    "threshold for --precision.",
)
@options.precision(
    "Precision that you need. The command stops when the answers show that it is reached, or that "
    "it cannot be shown."
)
@options.file("--second", help="Answers of another person. Reports how often both agree.")
@options.compared_by
@options.seed
def review(given: Any) -> None:
    """Ask, pair by pair, whether two texts of a TABLE mean the same, and estimate precision.

    TABLE has texts (--text), records (--compare), pairs of texts (--text1, --text2) or pairs of
    records (--left, --right). The first questions are about likely duplicates, one for each range
    of scores; the next questions narrow the estimates most. After every answer, the command
    estimates precision and recall at the threshold, with 95 % intervals. Every answer is saved
    before the next question, and the same command continues where you stopped. Answers are y, n, s
    (skip), u (undo) and q (quit), one per line, from the terminal or a pipe. A reason may follow,
    by key or in words: n2, or n other size. It is saved in the column reason.

    Several sessions may write to the same file of answers, and you may edit it meanwhile: new
    answers are appended and other columns stay. Answers that this command did not ask for count
    only for their own pair.
    """
    table, html, precision = given.table, given.html, given.precision
    if table == "-":
        raise click.UsageError("answers come from standard input, so TABLE must be a file")
    if html is None:
        _check_input()
    elif (given.n, given.model, given.second) != (None, None, None):
        raise click.UsageError("--html asks nothing here; leave out -n, --model and --second")
    outputs = {"--labels": given.labels, "--model": given.model, "--html": html}
    writing.check_places(outputs, [table, given.second])
    rows = reading.open_table(table, given.encoding)
    asked = asked_of(rows, given)
    columns = tuple(asked.kinds or ())
    answers = Answers(given.labels, columns)
    other = None if given.second is None else Answers(given.second, columns)
    leaves(_kept(answers))
    asked.note_on_unknown(answers, table)
    candidates = candidate_pairs(asked, rows, given.seed, given.encoder)
    threshold = given.threshold or _expected_threshold(candidates, precision)
    asks = Review(candidates.ends, candidates.scores, threshold, candidates.order(given.seed))
    reasons = columns or REASONS
    if html is not None:
        data = review_data(candidates, asks, answers, threshold, precision, reasons)
        write_page(review_page(data, title=f"Review of {PurePath(table).name}"), html)
        writing.note_written(html)
        return
    fit = _Fit(given.model, candidates, given.seed)
    note(_kept(answers))
    n = given.n or N_QUESTIONS
    note(f"{counted(n, 'question')}: {_CHOICES}")
    keys = ", ".join(f"{key} {name}" for key, name in enumerate(reasons, 1))
    note(f"a reason may follow, by key or in words, such as n2: {keys}")
    _Dialogue(answers, candidates, asks, fit, threshold, precision, reasons).run(n)
    answers.restore()
    fit(answers)
    fit.tell_threshold()
    if other is not None:
        note(agreement_line(answers.by_key(), other.by_key()))
    note(_kept(answers))


def _expected_threshold(candidates: Candidates, precision: float | None) -> float:
    expected = expected_precision(candidates.ends, candidates.scores)
    return expected.best_threshold if precision is None else _lowest_of(expected, precision)


def _lowest_of(expected: ExpectedPrecision, precision: float) -> float:
    """Return the lowest threshold with an expected precision, else that of the best F1.

    A threshold of fewer than a tenth of the duplicates says nothing about the others.
    """
    holds = (expected.precision >= precision) & (expected.recall >= LEAST_RECALL)
    enough = np.flatnonzero(holds)
    if len(enough):
        return float(expected.thresholds[enough[0]])
    return expected.best_threshold


@dataclass
class _Dialogue:
    """The dialogue with the user; every answer of the session can be undone."""

    answers: Answers
    candidates: Candidates
    asks: Review
    fit: Callable[[Answers], None]
    threshold: float
    precision: float | None
    reasons: Sequence[str]

    def run(self, n: int) -> None:
        """Ask n pairs, or until someone quits or the precision is decided."""
        asked: list[int] = []
        again: list[int] = []
        while len(asked) < n:
            if not again and len(asked) % BATCH == 0:
                self.fit(self.answers)
            self.answers.refresh()
            known = self.candidates.known(self.answers)
            again = [row for row in again if row not in known]
            rows = again or self.asks.questions(known, 1, self.precision)
            if not rows:
                click.echo("all pairs have been asked", err=True)
                return
            pair = self.candidates.texts[rows[0]]
            answer, reason = self._ask(pair, f"{len(asked) + 1}/{n}")
            if answer == "q":
                return
            if answer == "u":
                click.echo(self._undo() if asked else "nothing to undo", err=True)
                again = [asked.pop()] if asked else again
            else:
                self._keep(pair, {"y": "1", "n": "0", "s": ""}[answer], reason)
                asked.append(rows[0])
                again = []
                if self._is_decided():
                    return
            leaves(_kept(self.answers))

    def _is_decided(self) -> bool:
        """Show the estimate; return whether more answers are of no use."""
        known = self.candidates.known(self.answers)
        for line in estimate_lines(self.asks, known, self.threshold, self.precision):
            click.echo(line, err=True)
        stop = stop_line(self.asks, known, self.precision)
        if stop:
            click.echo(stop, err=True)
        return bool(stop)

    def _ask(self, pair: np.ndarray, place: str) -> tuple[str, str]:
        click.echo(f"\n{place}", err=True)
        lines = [printable_text(text, _SHOWN_CHARACTERS) for text in pair]
        if self.candidates.kinds:
            cells = zip(*(record.split(CELL_END) for record in pair), strict=True)
            lines = side_by_side(dict(zip(self.candidates.kinds, cells, strict=True)))
        for line in lines:
            click.echo(f"  {line}", err=True)
        while True:
            click.echo("the same? [y/n/s/u/q] ", err=True, nl=False)
            line = sys.stdin.readline()
            if not line:
                click.echo("", err=True)
                return "q", ""
            read = _ANSWER.fullmatch(line)
            if not read:
                click.echo(f"answer {_CHOICES}", err=True)
                continue
            reason = read[2]
            answer = read[1][0].lower()
            if not reason.isdecimal():
                return answer, reason
            if 1 <= int(reason) <= len(self.reasons):
                return answer, self.reasons[int(reason) - 1]
            click.echo(f"reasons have the keys 1 to {len(self.reasons)}", err=True)

    def _keep(self, pair: np.ndarray, answer: str, reason: str) -> None:
        """Save an answer; if it cannot be written, wait until it can."""
        while True:
            try:
                return self.answers.add(pair.tolist(), answer, reason)
            except (OSError, ValueError, click.ClickException) as error:
                cause = error.message if isinstance(error, click.ClickException) else str(error)
                row = json.dumps([*pair, answer, *([reason] if reason else [])], ensure_ascii=False)
                if not _is_terminal():
                    raise Failure(f"{cause}; this answer was not kept: {row}") from error
                click.echo(f"film: {cause}", err=True)
                click.echo("correct it, then press Enter to try again, or q to quit ", err=True)
                line = sys.stdin.readline()
                if not line or line.strip().lower()[:1] == "q":
                    raise Failure(f"this answer was not kept: {row}") from error

    def _undo(self) -> str:
        if self.answers.undo():
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


@dataclass
class _Fit:
    """Fit and save a model when there are new answers."""

    path: str | None
    candidates: Candidates
    seed: int
    fitted_on: list[Any] | None = None
    classifier: Any = None

    @cached_property
    def _untrained(self) -> Any:
        pool = self.candidates.pool(self.seed)
        if self.candidates.kinds is not None:
            given = {name: kind for name, kind in self.candidates.kinds.items() if kind}
            known = dict.fromkeys(pool.ravel().tolist())
            return record_duplicates(kinds=given, corpus=[*known], random_state=self.seed)
        return few_label_duplicates(pool, random_state=self.seed)

    def __call__(self, answers: Answers) -> None:
        """Fit unless there are no new answers."""
        if self.path is None:
            return
        pairs, y = answers.labelled()
        content = [*pairs.ravel().tolist(), *y.tolist()]
        if content == self.fitted_on:
            return
        folds = usable_folds(pairs, y, FOLDS, self.seed) if len(y) else 0
        if folds < 2:
            note(
                "no model yet: it needs at least two duplicates and two other pairs without "
                "common texts"
            )
            return
        classifier = self._untrained.set_params(cv=folds)
        if self.candidates.kinds is None:
            classifier.set_params(final_estimator__n_estimators=TREES).fit(pairs, y)
        else:
            classifier.fit(_records(pairs, self.candidates.kinds), y)
        save_model(classifier, self.path)
        self.fitted_on, self.classifier = content, classifier
        note(f"wrote {self.path}, fitted on {counted(len(y), 'label')}")

    def tell_threshold(self) -> None:
        """Tell from which probability on the model is to be used, if there is one."""
        if self.classifier is None:
            return
        texts, kinds = self.candidates.texts, self.candidates.kinds
        step = -(-len(texts) // POOL)
        some: Any = texts[::step]
        general = None
        if kinds is not None:
            some, general = _records(some, kinds), self.candidates.scores[::step]
        threshold = threshold_of_best_f1(
            duplicate_probabilities(self.classifier, some, general=general)
        )
        note(
            "the highest F1 of the candidates is expected from a probability of "
            f"{threshold:.2g} on; give it as --threshold with this model"
        )


def _records(pairs: np.ndarray, columns: Iterable[str]) -> RecordPairs:
    """Return pairs of records, given as texts."""
    sides = (zip(*(record.split(CELL_END) for record in side), strict=True) for side in pairs.T)
    return RecordPairs(*(dict(zip(columns, cells, strict=True)) for cells in sides))


def _kept(answers: Answers) -> str:
    if not len(answers):
        return "there are no answers yet"
    counts = answers.counts()
    many = "answer is" if len(answers) == 1 else "answers are"
    reasons = ", ".join(f"{count} {name}" for name, count in answers.reasons().items())
    return (
        f"{len(answers)} {many} in {answers.path} ({counts['1']} same, {counts['0']} different, "
        f"{counts['']} skipped{'; for ' * bool(reasons)}{reasons}); the same command continues "
        "from there"
    )
