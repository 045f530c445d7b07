"""Reader of interpretable STS: sentence pairs with gold chunks and alignments."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from film.datasets.formats.chunk_lines import read_chunk_line
from film.datasets.formats.lines import Line, read_lines, wrong_line
from film.tokens import AlignedPair, Alignment, misplaced

_PREFIXES = ("STSint.input", "STSint.testinput")
# Manually corrected lines of the official files have no space before the colon.
_WORD_LINE = re.compile(r"([0-9]+) (\S+) ?:", re.ASCII)
_SENTENCE = re.compile(r'<sentence id="([^"]+)"[^>]*>')
_WORD = re.compile(r"\S+", re.ASCII)


def read_ists(folder: str | os.PathLike[str], source: str) -> list[AlignedPair]:
    """Read one source of SemEval-2016 task 2: sentences, gold chunks and gold alignments.

    Reads the three files ``STSint.input.SOURCE.wa``, ``….sent1.chunk.txt`` and
    ``….sent2.chunk.txt``, or those of the test set, named ``STSint.testinput.SOURCE…``. The files
    of plain sentences are not needed.

    Parameters
    ----------
    folder : str or path-like
        Folder of the files.
    source : str
        "images", "headlines" or "answers-students".

    Returns
    -------
    pairs : list of AlignedPair
        In file order, with chunks that cover all words. Gold alignments may join chunks, also with
        gaps, and give a word several partners. ``repairs`` of a pair lists deviations from the
        format.

    Raises
    ------
    FileNotFoundError
        If a file is missing; the message lists the sources in the folder.
    ValueError
        If the folder contains the source from both sets, a file is invalid as in `read_wa`, the
        number of lines differs from the number of pairs, or a line of chunks differs from the
        sentence in letters or digits or does not show the chunk of a word; lines are named.

    Warns
    -----
    UserWarning
        Once, with the number of repairs, if there are any.

    Notes
    -----
    The official files do not have one consistent form. Deviations with only one interpretation are
    read and reported; nothing is guessed. Words always come from the ``.wa`` file. Chunk lines may
    differ in punctuation (``path`` for ``path.``, ``"`` for ``“``). Every square bracket is a chunk
    boundary, with or without a partner or spaces around it (``[is not ]``), and no word is dropped:
    a line of answers-students with an extra bracket, ``[ in [ a closed path ]``, is read as two
    chunks. Lines that are not UTF-8 are read as Windows-1252, a superset of Latin-1.

    References
    ----------
    E. Agirre, A. Gonzalez-Agirre, I. Lopez-Gazpio, M. Maritxalar, G. Rigau, L. Uria.
    "SemEval-2016 Task 2: Interpretable Semantic Textual Similarity." SemEval 2016.

    Examples
    --------
    >>> read_ists("nowhere", "images")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: source='images': nowhere holds neither STSint.input.images.wa nor ...
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
    pairs = _pairs_of(f"{found[0]}.wa")
    chunks1 = _read_chunks(Path(f"{found[0]}.sent1.chunk.txt"), [pair.words1 for pair in pairs])
    chunks2 = _read_chunks(Path(f"{found[0]}.sent2.chunk.txt"), [pair.words2 for pair in pairs])
    read = [
        replace(pair, chunks1=first, chunks2=second, repairs=(*pair.repairs, *mended1, *mended2))
        for pair, (first, mended1), (second, mended2) in zip(pairs, chunks1, chunks2, strict=True)
    ]
    _warn_of_repairs(read, f"{found[0]}.*")
    return read


def read_wa(path: str | os.PathLike[str]) -> list[AlignedPair]:
    r"""Read a file of word alignments in the official format.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file. It looks like XML but has no escapes: "&" and "<" are literal. A byte order
        mark, Windows line ends, blank lines and extra spaces between words are accepted. Lines that
        are not UTF-8 are read as Windows-1252 and reported.

    Returns
    -------
    pairs : list of AlignedPair
        Pairs without chunks.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If a line is invalid, named by file and line: tags out of order, words that are not numbered
        1, 2, … or differ from the sentence above them, positions beyond the sentence, a score that
        is neither NIL nor from 0 to 5, a repeated id, or invalid bytes. Also if there are no pairs.

    Warns
    -----
    UserWarning
        Once, with the number of repaired lines; ``repairs`` of a pair lists them.

    Examples
    --------
    >>> import tempfile
    >>> lines = ['<sentence id="1" status="">', "// A cat", "// It"]
    >>> lines += ["<source>", "1 A :", "2 cat :", "</source>"]
    >>> lines += ["<translation>", "1 It :", "</translation>"]
    >>> lines += ["<alignment>", "1 2 <==> 1 // EQUI // 5 // A cat <==> It", "</alignment>"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "own.wa"
    ...     _ = path.write_text("\n".join([*lines, "</sentence>"]))
    ...     (pair,) = read_wa(path)
    >>> pair.words1, pair.alignments[0].positions1, pair.alignments[0].score
    (('A', 'cat'), (0, 1), 5.0)
    """
    pairs = _pairs_of(path)
    _warn_of_repairs(pairs, path)
    return pairs


def _pairs_of(path: str | os.PathLike[str]) -> list[AlignedPair]:
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
        repairs = lines.take_repairs()
        pairs.append(
            AlignedPair(opening[1], words1, words2, alignments=tuple(alignments), repairs=repairs)
        )
    if not pairs:
        raise ValueError(f'{path} has no pairs; expected blocks <sentence id="1" status=""> …')
    return pairs


class _Lines:
    """The nonblank lines of a file, taken one by one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._lines = [line for line in _read_lines(path) if line.text]
        self._next = 0
        self._repairs: list[str] = []

    def more(self) -> bool:
        return self._next < len(self._lines)

    def take(self) -> str:
        if not self.more():
            raise ValueError(f"{self._path} ends inside a <sentence>; is the file complete?")
        line = self._lines[self._next]
        self._repairs += _named(self._path, line)
        self._next += 1
        return line.text

    @property
    def number(self) -> int:
        return self._lines[self._next - 1].number

    def take_repairs(self) -> tuple[str, ...]:
        repairs, self._repairs = tuple(self._repairs), []
        return repairs

    def inside(self, tag: str) -> Iterator[str]:
        if self.take() != f"<{tag}>":
            raise self.fault(f"<{tag}> expected")
        while (line := self.take()) != f"</{tag}>":
            yield line

    def fault(self, reason: str) -> ValueError:
        return wrong_line(self._path, self.number, reason, self._lines[self._next - 1].text)


def _read_lines(path: str | os.PathLike[str]) -> Iterator[Line]:
    """Yield the lines of a file, stripped; invalid bytes raise an error."""
    for line in read_lines(path, or_windows=True):
        if fault := line.fault or (
            "contains NUL, so it is not UTF-8 text; save the file as UTF-8" * ("\0" in line.text)
        ):
            raise wrong_line(path, line.number, fault)
        yield line._replace(text=_stripped(line.text))


def _named(path: str | os.PathLike[str], line: Line, *more: str) -> list[str]:
    """Describe the repairs of a line."""
    return [f"{Path(path).name}, line {line.number}: {x}" for x in (line.repair, *more) if x]


def _warn_of_repairs(pairs: Sequence[AlignedPair], what: str | os.PathLike[str]) -> None:
    repairs = [repair for pair in pairs for repair in pair.repairs]
    if repairs:
        warnings.warn(
            f"{what}: {len(repairs)} places were repaired, the first {repairs[0]}; all are in "
            "repairs of the pairs",
            UserWarning,
            stacklevel=3,
        )


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
    """Turn "3 4" into (2, 3), and "0", which means no words, into ()."""
    numbers = _WORD.findall(text)
    if not numbers or not all(re.fullmatch("[0-9]+", number) for number in numbers):
        raise ValueError(f"positions must be 0 or numbers from 1, got {_stripped(text)!r}")
    places = tuple(int(number) - 1 for number in numbers)
    return () if places == (-1,) else places


def _read_chunks(
    path: Path, sentences: Sequence[tuple[str, ...]]
) -> list[tuple[tuple[tuple[int, ...], ...], list[str]]]:
    """Return the chunks and repairs of each sentence."""
    lines = list(_read_lines(path))
    while lines and not lines[-1].text:
        lines.pop()
    if len(lines) != len(sentences):
        raise ValueError(
            f"{path} has {len(lines)} lines for {len(sentences)} pairs; give the file that belongs "
            "to the .wa file, with a line for each pair"
        )
    if lines and not any(bracket in line.text for line in lines for bracket in "[]"):
        raise ValueError(
            f"{path} has no square bracket in any line; write chunks as [ A cat ] [ sat ]"
        )
    chunked = []
    for line, words in zip(lines, sentences, strict=True):
        try:
            chunks, repairs = read_chunk_line(line.text, words)
        except ValueError as error:
            reason = f"{error}; the sentence is {' '.join(words)!r}"
            raise wrong_line(path, line.number, reason, line.text) from error
        chunked.append((chunks, _named(path, line, *repairs)))
    return chunked
