"""Reader and writer of interpretable STS: sentence pairs with gold chunks and their alignments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from film.datasets.alignments import AlignedPair, Alignment, misplaced
from film.datasets.writing import atomic_writer

__all__ = ["read_ists", "read_wa", "write_wa"]

_PREFIXES = ("STSint.input", "STSint.testinput")
# In hand-corrected lines of the official files the blank before the colon is missing.
_WORD_LINE = re.compile(r"([0-9]+) (\S+) ?:", re.ASCII)
_SENTENCE = re.compile(r'<sentence id="([^"]+)"[^>]*>')
_WORD = re.compile(r"\S+", re.ASCII)


def read_ists(folder: str | os.PathLike[str], source: str) -> list[AlignedPair]:
    """Read one source of SemEval-2016 task 2: sentences, gold chunks and gold alignments.

    Three files are read, ``STSint.input.SOURCE.wa``, ``….sent1.chunk.txt`` and
    ``….sent2.chunk.txt``, or those of the test set, named ``STSint.testinput.SOURCE…``. The
    files of bare sentences say nothing more: they are the same words, here and there with two
    blanks between them.

    Parameters
    ----------
    folder : str or path-like
        Where the files are.
    source : str
        "images", "headlines" or "answers-students".

    Returns
    -------
    pairs : list of AlignedPair
        In the order of the files, chunks covering all words. Gold alignments may join chunks,
        with gaps, and give a word several partners.

    Raises
    ------
    FileNotFoundError
        When a file is missing; the sources of the folder are named.
    ValueError
        When the folder holds the source from both sets, or as in `read_wa`; when a line of
        chunks is blank or has other words than the sentence, named by file and line; when there
        are more or fewer lines than pairs.

    Notes
    -----
    Each square bracket is a boundary of chunks, whether or not it has a partner, and no word is
    ever dropped: the official answers-students has a line with a bracket too many, ``[ in [ a
    closed path ]``, read as two chunks.

    References
    ----------
    E. Agirre, A. Gonzalez-Agirre, I. Lopez-Gazpio, M. Maritxalar, G. Rigau, L. Uria.
    "SemEval-2016 Task 2: Interpretable Semantic Textual Similarity." SemEval 2016.

    Examples
    --------
    >>> import tempfile
    >>> from film.datasets.alignments import AlignedPair
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stem = Path(folder) / "STSint.input.own"
    ...     write_wa(f"{stem}.wa", [AlignedPair("1", ("A", "cat", "sat"), ("It", "sat"))])
    ...     for side, line in ((1, "[ A cat ] [ sat ]"), (2, "[ It ] [ sat ]")):
    ...         _ = Path(f"{stem}.sent{side}.chunk.txt").write_text(line)
    ...     read_ists(folder, "own")[0].chunks1
    ((0, 1), (2,))
    """
    stems = [Path(folder) / f"{prefix}.{source}" for prefix in _PREFIXES]
    found = [stem for stem in stems if Path(f"{stem}.wa").exists()]
    if len(found) > 1:
        raise ValueError(
            f"{folder} holds {source!r} from the training and the test set; keep the sets apart"
        )
    if not found:
        names = {path.name for prefix in _PREFIXES for path in Path(folder).glob(f"{prefix}.*.wa")}
        sources = sorted({name.split(".", 2)[2].removesuffix(".wa") for name in names})
        raise FileNotFoundError(
            f"source={source!r}: {folder} holds neither {stems[0].name}.wa nor {stems[1].name}.wa; "
            f"sources there: {', '.join(sources) or 'none'}"
        )
    pairs = read_wa(f"{found[0]}.wa")
    chunks1 = _read_chunks(Path(f"{found[0]}.sent1.chunk.txt"), [pair.words1 for pair in pairs])
    chunks2 = _read_chunks(Path(f"{found[0]}.sent2.chunk.txt"), [pair.words2 for pair in pairs])
    return [
        replace(pair, chunks1=first, chunks2=second)
        for pair, first, second in zip(pairs, chunks1, chunks2, strict=True)
    ]


def read_wa(path: str | os.PathLike[str]) -> list[AlignedPair]:
    """Read a file of word alignments, as `write_wa` and the official task write them.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file. It looks like XML but escapes nothing, so "&" and "<" are themselves. A byte
        order mark, Windows line ends, blank lines and further blanks between words are accepted.

    Returns
    -------
    pairs : list of AlignedPair
        Without chunks.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When a line is not what has to stand there, named by file and line: tags out of order,
        words not numbered 1, 2, … or other than in the sentence above them, positions beyond the
        sentence, a score that is neither NIL nor from 0 to 5, an id seen before, bytes that are
        not UTF-8. When the file has no pairs.

    Examples
    --------
    >>> import tempfile
    >>> from film.datasets.alignments import AlignedPair, Alignment
    >>> same = Alignment((0, 1, 2), (0,), "EQUI", 5.0, "Tom & Ann <==> They")
    >>> pair = AlignedPair("1", ("Tom", "&", "Ann"), ("They",), alignments=(same,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_wa(f"{folder}/own.wa", [pair])
    ...     read_wa(f"{folder}/own.wa") == [pair]
    True
    """
    lines = _Lines(path)
    pairs: list[AlignedPair] = []
    first_line: dict[str, int] = {}
    while lines.more():
        opening = _SENTENCE.fullmatch(lines.take())
        if not opening:
            raise lines.fault('<sentence id="…"> expected')
        if opening[1] in first_line:
            raise lines.fault(
                f"id {opening[1]!r} was used in line {first_line[opening[1]]} already"
            )
        first_line[opening[1]] = lines.number
        sentences = (_sentence(lines), _sentence(lines))
        words1 = _numbered_words(lines, "source", sentences[0])
        words2 = _numbered_words(lines, "translation", sentences[1])
        alignments = []
        for line in lines.inside("alignment"):
            try:
                alignment = _alignment(line)
            except ValueError as error:
                raise lines.fault(str(error)) from error
            if fault := misplaced(alignment, words1, words2):
                raise lines.fault(fault)
            alignments.append(alignment)
        if lines.take() != "</sentence>":
            raise lines.fault("</sentence> expected")
        pairs.append(AlignedPair(opening[1], words1, words2, alignments=tuple(alignments)))
    if not pairs:
        raise ValueError(f'{path} has no pairs; expected blocks <sentence id="1" status=""> …')
    return pairs


def write_wa(path: str | os.PathLike[str], pairs: Sequence[AlignedPair]) -> None:
    r"""Write word alignments in the form of the official task, whole or not at all.

    Parameters
    ----------
    path : str or path-like
        The file to make or to replace.
    pairs : sequence of AlignedPair
        At least one, with distinct ids. Chunks are not written: the format has no place for them.

    Raises
    ------
    ValueError
        When there is no pair or an id comes twice; before anything is written.
    OSError
        As in `atomic_writer`.

    Examples
    --------
    >>> import tempfile
    >>> from film.datasets.alignments import AlignedPair
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_wa(f"{folder}/own.wa", [AlignedPair("7", ("A", "cat"), ("It",))])
    ...     Path(f"{folder}/own.wa").read_text().split("\n")[:5]
    ['<sentence id="7" status="">', '// A cat', '// It', '<source>', '1 A : ']
    """
    ids = [pair.id for pair in pairs]
    if not ids or len(set(ids)) < len(ids):
        raise ValueError(
            f"pairs must be at least one, with distinct ids, got {len(ids)} with {len(set(ids))} "
            "distinct ids"
        )
    with atomic_writer(path, newline="\n") as handle:
        handle.writelines("\n".join([*_block(pair), "", "", ""]) for pair in pairs)


class _Lines:
    """The lines of a file that are not blank, taken one by one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._lines = [(number, line) for number, line in _numbered_lines(Path(path)) if line]
        self._next = 0
        self.number = 0

    def more(self) -> bool:
        return self._next < len(self._lines)

    def take(self) -> str:
        if not self.more():
            raise ValueError(f"{self._path} ends inside a <sentence>; is the file whole?")
        self.number, line = self._lines[self._next]
        self._next += 1
        return line

    def inside(self, tag: str) -> Iterator[str]:
        if self.take() != f"<{tag}>":
            raise self.fault(f"<{tag}> expected")
        while (line := self.take()) != f"</{tag}>":
            yield line

    def fault(self, reason: str) -> ValueError:
        line = self._lines[self._next - 1][1]
        return ValueError(f"{self._path}, line {self.number}: {reason}; it reads {line[:80]!r}")


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    # Bytes are parted at \n alone: str.splitlines would also part at characters inside sentences.
    for number, raw in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            yield number, _stripped(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: not UTF-8 ({error.reason} at byte {error.start})"
            ) from error


def _stripped(text: str) -> str:
    return text.strip(" \t\r\n\f\v")


def _sentence(lines: _Lines) -> tuple[str, ...]:
    line = lines.take()
    words = tuple(_WORD.findall(line[2:]))
    if not line.startswith("//") or not words:
        raise lines.fault("a sentence after // expected")
    return words


def _numbered_words(lines: _Lines, tag: str, sentence: tuple[str, ...]) -> tuple[str, ...]:
    words: list[str] = []
    for line in lines.inside(tag):
        match = _WORD_LINE.fullmatch(line)
        if not match or int(match[1]) != len(words) + 1:
            raise lines.fault(f"'{len(words) + 1} WORD :' expected")
        words.append(match[2])
        if tuple(words) != sentence[: len(words)]:
            raise lines.fault(f"the sentence is {' '.join(sentence)!r}")
    if len(words) < len(sentence):
        raise lines.fault(f"{len(words)} words for the {len(sentence)} of {' '.join(sentence)!r}")
    return sentence


def _alignment(line: str) -> Alignment:
    fields = [_stripped(field) for field in line.split("//", 3)]
    sides = fields[0].split("<==>")
    if len(fields) < 3 or len(sides) != 2:
        raise ValueError("'POSITIONS <==> POSITIONS // TYPE // SCORE // COMMENT' expected")
    try:
        score = None if fields[2].upper() == "NIL" else float(fields[2])
    except ValueError as error:
        raise ValueError(f"score must be NIL or a number, got {fields[2]!r}") from error
    comment = fields[3] if len(fields) == 4 else ""
    return Alignment(_positions(sides[0]), _positions(sides[1]), fields[1], score, comment)


def _positions(text: str) -> tuple[int, ...]:
    """Turn "3 4" into (2, 3), and "0", which stands for nothing, into ()."""
    numbers = _WORD.findall(text)
    if not numbers or not all(re.fullmatch("[0-9]+", number) for number in numbers):
        raise ValueError(f"positions must be 0 or numbers from 1, got {_stripped(text)!r}")
    places = tuple(int(number) - 1 for number in numbers)
    return () if places == (-1,) else places


def _read_chunks(
    path: Path, sentences: Sequence[tuple[str, ...]]
) -> list[tuple[tuple[int, ...], ...]]:
    lines = list(_numbered_lines(path))
    while lines and not lines[-1][1]:
        lines.pop()
    if len(lines) != len(sentences):
        raise ValueError(f"{path} has {len(lines)} lines for {len(sentences)} pairs")
    chunked = []
    for (number, line), words in zip(lines, sentences, strict=True):
        chunks: list[list[int]] = [[]]
        found: list[str] = []
        for piece in _WORD.findall(line):
            if piece in ("[", "]"):
                chunks.append([])
            else:
                chunks[-1].append(len(found))
                found.append(piece)
        if tuple(found) != words:
            raise ValueError(
                f"{path}, line {number}: the words in brackets are not those of the sentence "
                f"{' '.join(words)!r}; it reads {line[:80]!r}"
            )
        chunked.append(tuple(tuple(chunk) for chunk in chunks if chunk))
    return chunked


def _block(pair: AlignedPair) -> Iterator[str]:
    yield f'<sentence id="{pair.id}" status="">'
    yield from (f"// {' '.join(words)}" for words in (pair.words1, pair.words2))
    for tag, words in (("source", pair.words1), ("translation", pair.words2)):
        yield f"<{tag}>"
        yield from (f"{number} {word} : " for number, word in enumerate(words, start=1))
        yield f"</{tag}>"
    yield "<alignment>"
    for alignment in pair.alignments:
        sides = (alignment.positions1, alignment.positions2)
        first, second = (" ".join(str(place + 1) for place in side) or "0" for side in sides)
        score = (
            "NIL" if alignment.score is None else repr(float(alignment.score)).removesuffix(".0")
        )
        yield f"{first} <==> {second} // {alignment.type} // {score} // {alignment.comment} "
    yield "</alignment>"
    yield "</sentence>"
