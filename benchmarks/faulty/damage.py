"""Damage done to bytes, at random but the same for one seed."""

from __future__ import annotations

import numpy as np

TOKENS = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\n\n", b'"', b'""', b"'"),
    *(b",", b";", b"\t", b"\\", b"{", b"}", b"[", b"]", b"null", b"NaN", b"-inf", b"1e999", b"-1"),
    *(b"99999999999999999999", b"0x1F", b"\xc3\x28", b"\xf0\x9f\x98\x80", "é".encode("cp1252")),
    *("\u2028".encode(), "\ud7ff\u0301".encode(), "\u202e".encode(), "١٢".encode(), b"<==>"),
    *(b"//", b"</source>", b"<sentence", b"=1+1", b"[" * 300, b"a" * 5000, b"\x1a", b"true"),
)
"""What breaks readers: marks of tables, of JSON, of encodings, numbers out of range."""


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut, flip, repeat, drop, replace or insert, once to four times.

    Parameters
    ----------
    content : bytes
        A file that is whole.
    rng : Generator
        Draws what is done.

    Returns
    -------
    content : bytes
        What is left of it.
    """
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at, stop = np.sort(rng.integers(0, len(found) + 1, 2)).tolist()
        stop = min(stop, at + int(rng.integers(1, 64)))
        kind = int(rng.integers(7))
        token = TOKENS[int(rng.integers(len(TOKENS)))]
        if kind == 0:
            del found[at:]
        elif kind == 1 and found:
            place = int(rng.integers(len(found)))
            found[place] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            found[at:at] = found[at:stop]
        elif kind == 3:
            del found[at:stop]
        elif kind == 4:
            found[at:stop] = token
        elif kind == 5:
            found[at:at] = token
        else:
            lines = bytes(found).split(b"\n")
            first, second = rng.integers(0, len(lines), 2)
            lines[first], lines[second] = lines[second], lines[first]
            found = bytearray(b"\n".join(lines))
    return bytes(found)
