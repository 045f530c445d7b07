"""Rows of tables pair by pair: what a benchmark said of each pair, kept to compare rows later.

Each benchmark keeps one file of JSON lines, ``results/pairs/BENCH.jsonl``. A set of pairs is a line
with its labels and the groups of pairs that shared texts link; a row is a line with two bytes per
pair in base64: log-odds of a probability as float16 (relative error at most 2⁻¹¹), dense ranks of
any other score as uint16, which keep AUC and rank correlation exactly. The 5,397 pairs of Quora dev
cost 14 kB a row, about 9 kB of them in the repository's packs. A row that was measured on several
sets of pairs is kept as its parts, one a set.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.support import records
from estimators import question_groups
from film.datasets import atomic_writer

FOLDER = "pairs"
LARGEST_LOG_ODDS = 16.0
MOST_DISTINCT = 65_536
_PART = " | "


@dataclass(frozen=True)
class PairSet:
    """Pairs that rows were measured on.

    Parameters
    ----------
    name : str
        Digest of their texts and labels.
    labels : ndarray of float64, shape (n,)
        0 and 1, or scores.
    groups : ndarray of intp, shape (n,)
        Group of each pair; shared texts link the pairs of a group.
    """

    name: str
    labels: NDArray[np.float64]
    groups: NDArray[np.intp]

    @property
    def binary(self) -> bool:
        """Whether the labels are two classes."""
        return bool(np.isin(self.labels, (0, 1)).all())


@dataclass(frozen=True)
class PairRow:
    """A row of a table: values per pair, by seed.

    Parameters
    ----------
    case : str
        As in the result file.
    on : PairSet
        Pairs that were judged.
    values : dict of ndarray of float64, shape (n,)
        Probabilities, or ranks of a similarity, of each seed. The key is None where nothing is
        random.
    share : float or None
        Share of positives at which probabilities hold; None for scores, which are no probabilities.
    """

    case: str
    on: PairSet
    values: dict[int | None, NDArray[np.float64]]
    share: float | None


def record_pairs(
    bench: str,
    case: str,
    pairs: Any,
    labels: ArrayLike,
    values: ArrayLike,
    *,
    share: float | None = None,
    seed: int | None = None,
    part: str | None = None,
    folder: str | Path | None = None,
) -> None:
    """Keep what a row says of each pair, in the place of what it said before with this seed.

    Parameters
    ----------
    bench, case : str
        As given to `benchmarks.support.records.record`.
    pairs : array-like of str, shape (n, 2)
        Texts. Only rows on the same pairs, in the same order, are compared.
    labels : array-like of shape (n,)
        0 and 1, or scores.
    values : array-like of float, shape (n,)
        Similarities; or probabilities, where ``share`` is given.
    share : float, default=None
        Share of positives at which the values are probabilities.
    seed : int, default=None
        Of what was trained at random. Rows of several seeds are compared by their mean.
    part : str, default=None
        Name of the set, where the row was measured on several.
    folder : path, default=None
        In the place of `benchmarks/results`.

    Raises
    ------
    ValueError
        If values are not finite, not one per pair, or of more than 65,536 kinds.
    """
    scores = np.asarray(values, dtype=np.float64)
    outcome = np.asarray(labels, dtype=np.float64)
    if scores.shape != outcome.shape or scores.shape != (len(pairs),):
        raise ValueError(
            f"values of shape {scores.shape} and labels of shape {outcome.shape} for "
            f"{len(pairs)} pairs: give one of each per pair"
        )
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"values[{row}] is {scores[row]}: give finite values")
    digest = hashlib.blake2b(outcome.tobytes(), digest_size=8)
    for text in np.asarray(pairs, dtype=object).ravel():
        digest.update(f"{text}\x00".encode())
    name = digest.hexdigest()
    path = _path(bench, folder)
    lines = _lines(path)
    if not any(line.get("set") == name for line in lines):
        groups = question_groups(pairs).astype(np.int32)
        lines.append({"set": name, "labels": _packed(outcome), "groups": _packed(groups)})
    new = {
        "case": case if part is None else f"{case}{_PART}{part}",
        "seed": seed,
        "on": name,
        "share": None if share is None else round(float(share), 6),
        "commit": records.commit(),
        "values": _kept(scores, share is not None),
    }
    lines = [line for line in lines if not _same_row(line, new)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_writer(path) as file:
        file.writelines(json.dumps(line) + "\n" for line in [*lines, new])


def read_pair_rows(bench: str, folder: str | Path | None = None) -> dict[str, PairRow]:
    """Read the rows of a benchmark, by case; none where nothing was kept.

    A case that was measured on other pairs before counts with the newest. Parts are rows of their
    own, which `parts_of_rows` puts together.
    """
    lines = _lines(_path(bench, folder))
    sets = {
        line["set"]: PairSet(
            line["set"],
            _unpacked(line["labels"], np.float64),
            _unpacked(line["groups"], np.int32).astype(np.intp),
        )
        for line in lines
        if "set" in line
    }
    rows: dict[str, PairRow] = {}
    for line in lines:
        if "set" in line:
            continue
        old = rows.get(line["case"])
        same = old is not None and (old.on.name, old.share) == (line["on"], line["share"])
        values = dict(old.values) if same and old is not None else {}
        values[line["seed"]] = _values(line["values"], line["share"] is not None)
        rows[line["case"]] = PairRow(line["case"], sets[line["on"]], values, line["share"])
    return rows


def parts_of_rows(rows: dict[str, PairRow]) -> dict[str, dict[str, PairRow]]:
    """Put the parts of each case together: rows by case and set, which is "" where it is one."""
    found: dict[str, dict[str, PairRow]] = {}
    for name, row in rows.items():
        case, _, part = name.partition(_PART)
        found.setdefault(case, {})[part] = row
    return found


def _path(bench: str, folder: str | Path | None) -> Path:
    return (records.RESULTS if folder is None else Path(folder)) / FOLDER / f"{bench}.jsonl"


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _same_row(line: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(line.get(key) == new[key] for key in ("case", "seed", "on"))


def _kept(scores: NDArray[np.float64], probabilities: bool) -> str:
    if probabilities:
        least = np.exp(-LARGEST_LOG_ODDS)
        p = np.clip(scores, least, 1 - least)
        return _text((np.log(p) - np.log1p(-p)).astype("<f2").tobytes())
    distinct, ranks = np.unique(scores, return_inverse=True)
    if len(distinct) > MOST_DISTINCT:
        raise ValueError(f"values are of {len(distinct)} kinds; ranks keep {MOST_DISTINCT}")
    return _text(ranks.astype("<u2").tobytes())


def _values(text: str, probabilities: bool) -> NDArray[np.float64]:
    raw = base64.b64decode(text)
    if not probabilities:
        return np.frombuffer(raw, "<u2").astype(np.float64)
    return 1 / (1 + np.exp(-np.frombuffer(raw, "<f2").astype(np.float64)))


def _packed(values: NDArray[Any]) -> str:
    raw = values.astype(values.dtype.newbyteorder("<"))
    return _text(zlib.compress(raw.tobytes(), 9))


def _unpacked(text: str, dtype: Any) -> NDArray[Any]:
    raw = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(raw, np.dtype(dtype).newbyteorder("<")).astype(dtype)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
