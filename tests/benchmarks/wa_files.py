"""Word alignments written in the form of the official task, for readers to read."""

from pathlib import Path


def write_wa(path, pairs):
    """Write aligned pairs; their chunks have no place in the format."""
    text = "".join("\n".join([*_block(pair), "", "", ""]) for pair in pairs)
    Path(path).write_text(text, encoding="utf-8", newline="\n")


def _block(pair):
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
        yield f"{first} <==> {second} // {alignment.type} // {score} // a "
    yield "</alignment>"
    yield "</sentence>"
