"""Reader of natural language inference: SNLI, MultiNLI, and both in one table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from film.datasets.formats.lines import Line, is_text, read_lines, wrong_rows
from film.datasets.formats.tables import read_table
from film.datasets.pairs import LabelledPairs

_LABELS = ("contradiction", "entailment", "neutral")
_NO_LABEL = "-"
_COLUMNS = (("gold_label", "label"), ("sentence1",), ("sentence2",))
_KEYS = ("gold_label", "sentence1", "sentence2")


def read_nli(path: str | os.PathLike[str], split: str | None = None) -> LabelledPairs:
    r"""Read pairs of premise and hypothesis from any public form of SNLI and MultiNLI.

    The form is detected from the content: one JSON object per line with gold_label, sentence1 and
    sentence2 (``snli_1.0_train.jsonl``, ``multinli_1.0_train.jsonl``), or a header and
    tab-separated columns without quoting that include sentence1, sentence2 and gold_label or label
    (``.txt`` and ``.tsv`` of both sets; ``AllNLI.tsv.gz``, which combines them). Byte order marks,
    Windows line ends and gzip compression are accepted.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.
    split : str, default=None
        In a table with a column split, the rows to keep: "train", "dev" or "test". None keeps all.

    Returns
    -------
    data : LabelledPairs
        Sentences as written. Rows with the label "-", which means that annotators disagreed, and
        rows with a missing sentence are left out and counted.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If columns are missing, no row is left, or rows are invalid, each named by its line:
        another label, a line that is not a JSON object, a key that is missing or not a text, too
        few columns, or bytes that are not UTF-8.

    References
    ----------
    S. Bowman, G. Angeli, C. Potts, C. Manning. "A large annotated corpus for learning natural
    language inference." EMNLP 2015.
    A. Williams, N. Nangia, S. Bowman. "A Broad-Coverage Challenge Corpus for Sentence
    Understanding through Inference." NAACL 2018.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "snli.txt"
    >>> rows = ["gold_label\tsentence1\tsentence2", "neutral\tA boy.\tTwo.", "-\tA boy.\tOne."]
    >>> _ = path.write_text("\n".join(rows))
    >>> data = read_nli(path)
    >>> data.pairs.tolist(), data.labels.tolist(), data.n_skipped
    ([['A boy.', 'Two.']], ['neutral'], 1)
    >>> folder.cleanup()
    """
    lines = read_lines(path)
    first = next((line for line in lines if not line.is_blank), Line(1, ""))
    lines = chain([first], lines)
    if first.text.lstrip().startswith("{"):
        if split is not None:
            raise ValueError(
                f"split={split!r} is for tables with a column split; {path} holds JSON lines, so "
                "leave it out and give the file of the split"
            )
        rows = list(_objects(path, lines))
    else:
        columns = _COLUMNS if split is None else (*_COLUMNS, ("split",))
        rows = read_table(path, lines, columns, _fault, quoted=False)
        rows = [row[:3] for row in rows if split is None or row[3] == split]
    kept = [row for row in rows if row[0] != _NO_LABEL and row[1] and row[2]]
    if not kept:
        of = "" if split is None else f" of the split {split!r}"
        raise ValueError(f"{path} holds no pair{of} with one of the labels {', '.join(_LABELS)}")
    return LabelledPairs(
        pairs=np.array([row[1:] for row in kept], dtype=object),
        labels=np.array([row[0] for row in kept], dtype=object),
        n_skipped=len(rows) - len(kept),
    )


def _objects(path: str | os.PathLike[str], lines: Iterator[Line]) -> Iterator[list[str]]:
    problems: list[tuple[int, str]] = []
    n_right = 0
    for line in lines:
        if line.is_blank:
            continue
        cells, fault = ([], line.fault) if line.fault else _object(line.text)
        if fault or (fault := _fault(cells)):
            problems.append((line.number, fault))
            continue
        n_right += 1
        yield cells
    if problems:
        raise wrong_rows(path, problems, n_right, "correct or remove those lines")


def _object(text: str) -> tuple[list[str], str]:
    """Return the label and sentences of a JSON object, or what is wrong with it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], f"not JSON ({error})"
    if not isinstance(found, dict):
        return [], "not a JSON object"
    cells = [found.get(key) for key in _KEYS]
    for key, cell in zip(_KEYS, cells, strict=True):
        if not isinstance(cell, str) or not is_text(cell):
            return [], f"{key} is {'missing' if cell is None else 'not text'}"
    return [str(cell).strip() for cell in cells], ""


def _fault(cells: Sequence[str]) -> str:
    if cells[0] in (*_LABELS, _NO_LABEL):
        return ""
    return f"the label must be {', '.join(_LABELS)} or -, got {cells[0][:60]!r}"
