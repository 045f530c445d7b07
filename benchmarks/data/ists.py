"""Reader of interpretable STS: sentence pairs with gold chunks and alignments."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from benchmarks.data.alignments import AlignedPair, Alignment

_WORD_OR_BRACKET = re.compile(r"[\[\]]|[^\s\[\]]+", re.ASCII)


def read_ists(folder: Path, source: str) -> list[AlignedPair]:
    """Read one source of SemEval-2016 task 2, "images", "headlines" or "answers-students".

    Parameters
    ----------
    folder : Path
        Holds ``STSint.input.<source>.wa`` (for the test set ``testinput``) and its two files of
        chunks.
    source : str
        Name in the file names.

    Returns
    -------
    pairs : list of AlignedPair
        In file order.

    References
    ----------
    E. Agirre et al. "SemEval-2016 Task 2: Interpretable Semantic Textual Similarity." 2016.
    """
    kind = "input" if (folder / f"STSint.input.{source}.wa").exists() else "testinput"
    stem = folder / f"STSint.{kind}.{source}"
    blocks = "\n".join(_lines(Path(f"{stem}.wa"))).split("<sentence id=")[1:]
    chunks = [_lines(Path(f"{stem}.sent{side}.chunk.txt")) for side in (1, 2)]
    return [_pair(*each) for each in zip(blocks, *chunks, strict=True)]


def _lines(path: Path) -> list[str]:
    """Return the stripped lines of a file; those that are not UTF-8 are Windows-1252."""
    found = []
    for raw in path.read_bytes().rstrip().split(b"\n"):
        try:
            line = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            line = raw.decode("cp1252")
        found.append(line.strip(" \t\r\f\v"))
    return found


def _pair(block: str, line1: str, line2: str) -> AlignedPair:
    lines = [line for line in block.split("\n") if line]
    words1, words2 = (tuple(re.findall(r"\S+", line[2:], re.ASCII)) for line in lines[1:3])
    links = takewhile("</alignment>".__ne__, lines[lines.index("<alignment>") + 1 :])
    return AlignedPair(
        lines[0].split('"')[1],
        words1,
        words2,
        _chunks(line1, words1),
        _chunks(line2, words2),
        tuple(map(_alignment, links)),
    )


def _alignment(line: str) -> Alignment:
    """Read ``1 2 <==> 1 // EQUI // 5 // A cat <==> It``; words are counted from 1, 0 is none."""
    places, label, score, *_ = (part.strip() for part in line.split("//", 3))
    left, right = (
        tuple(int(number) - 1 for number in side.split() if number != "0")
        for side in places.split("<==>")
    )
    return Alignment(left, right, label, None if score.upper() == "NIL" else float(score))


def _chunks(line: str, words: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Find the words of each chunk of a line such as ``[ A cat ] [ sat ]``."""
    pieces, chunk = [], 0
    for piece in _WORD_OR_BRACKET.findall(line):
        chunk += piece in "[]"
        pieces += [(piece, chunk)] * (piece not in "[]")
    numbers = [chunk for _, chunk in pieces]
    if tuple(piece for piece, _ in pieces) != words:
        # Spelled otherwise: by letters. Punctuation goes with the word before it.
        letters = [chunk for piece, chunk in pieces for sign in piece if sign.isalnum()]
        numbers = []
        for word in words:
            n = sum(map(str.isalnum, word))
            numbers.append(letters[0] if n else numbers[-1])
            letters = letters[n:]
    chunks: dict[int, list[int]] = {}
    for place, number in enumerate(numbers):
        chunks.setdefault(number, []).append(place)
    return tuple(map(tuple, chunks.values()))
