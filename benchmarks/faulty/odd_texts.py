"""Texts as nobody expects them: signs of all scripts, marks, long words, nothing at all."""

from __future__ import annotations

import numpy as np

RANGES = (
    *((0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80)),
    *((0x1100, 0x1200), (0x2000, 0x2070), (0x20A0, 0x2C00), (0x3040, 0x3100), (0x4E00, 0x9FFF)),
    *((0xAC00, 0xD7A4), (0xE000, 0xE100), (0xFE00, 0xFE10), (0xFF00, 0xFFF0), (0x1F300, 0x1FA00)),
    (0x0, 0x20),
)
"""Where signs are drawn from; surrogates, which no text that can be written holds, are left out."""
WHOLE = (
    *("", " ", "\n", "\t\x00", "?", "...", "a", "A" * 5000, "1" * 400, "\u200b", "\u202eabc", "İı"),
    *("<script>alert(1)</script>", "=SUM(A1)", "%s %d {0}", "NULL", "nan", "e\u0301" * 50),
    *(
        "👩‍👩‍👧‍👦",
        "你好吗？",
        "كيف حالك؟",
        "ความรัก",
        "a\u0300\u0301\u0302\u0303",
        "\ufeffhi",
        "x\ud7ff",
    ),
    *("how do i learn chess", "How do I learn chess?", "[MASK] [SEP] [CLS]", "\\u0000", "'; --"),
)


def odd_text(rng: np.random.Generator) -> str:
    """Draw a text: one of `WHOLE`, signs of a few scripts, or both with plain words."""
    if rng.random() < 0.3:
        return WHOLE[int(rng.integers(len(WHOLE)))]
    words = []
    for _ in range(int(rng.integers(1, 12))):
        if rng.random() < 0.4:
            words.append(("how", "do", "not", "i", "learn", "3", "%", "chess")[rng.integers(8)])
            continue
        low, high = RANGES[int(rng.integers(len(RANGES)))]
        words.append("".join(map(chr, rng.integers(low, high, int(rng.integers(1, 9))).tolist())))
    return (" ", "", "-")[int(rng.integers(3))].join(words)


def odd_pairs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw so many pairs, some of them copies."""
    pairs = np.empty((n, 2), dtype=object)
    for row in range(n):
        first = odd_text(rng)
        pairs[row] = first, first if rng.random() < 0.1 else odd_text(rng)
    return pairs
