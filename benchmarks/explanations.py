"""Whether the words that explanations name are those that matter: deletion and insertion.

``python -m benchmarks.explanations [--data DIR] [--out DIR] [--quick]``. DIR holds quora, tables
and sts; without it, the folder of FILM_DATA is taken. `fast_duplicates` learns from up to `N_TRAIN`
pairs, and explains `N_PAIRS` test pairs: half are predicted duplicates if there are as many. STS-B:
similarities of at least 4 are duplicates, of at most 3 others.

Each explainer ranks the words of both texts together by how much they support the predicted class:
for a predicted duplicate, words that raise the probability come first, and for another pair those
that lower it. *Deletion* takes the first 10 %, 20 %, … 90 % of the words out of their texts, with
nothing in their place; *insertion* leaves only these. Both figures are the mean probability of the
class predicted for the whole pair, over the nine shares, then over the pairs of a class, then over
both classes. Low is good for deletion, high for insertion.

- random: in random order.
- leave one word out: by the change of the log-odds.
- words of FILM: by the contributions to the cosine of this member.
- terms of word differences: by the log-odds of this member's features, over their words.
- differing words: those that an explanation names support "no duplicate", all others the opposite.
- explanation: `Verdict.by_word`.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data.sts import read_sts_benchmark
from benchmarks.few_labels import generated
from benchmarks.general import clear_pairs, read_labelled
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import fast_duplicates
from film.judge import differing_spans

N_TRAIN, N_PAIRS = 5000, 500
SHARES = np.arange(1, 10) / 10
LEAST, MOST = 4, 60
"""Words of a pair."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("explanations", __doc__, "holds quora, tables and sts")
    options = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("explanations"):
        sets = generated() if options.quick else _read(data_folder(options.data))
    results = Results("explanations", options)
    for name, (train, test) in sets.items():
        rows = np.random.default_rng(0).permutation(len(train[1]))[:N_TRAIN]
        model = fast_duplicates().fit(train[0][rows], train[1][rows])
        for explainer, row in figures(model, test[0], 10 if options.quick else N_PAIRS).items():
            results.tell(f"{name}: {explainer}", row)
    return 0


def figures(model: Any, pairs: np.ndarray, n_pairs: int) -> dict[str, dict[str, float]]:
    """Return the figures of each explainer, and how far its deletion is below leaving one out."""
    rng = np.random.default_rng(0)
    lengths = np.array([sum(len(text.split()) for text in pair) for pair in pairs.tolist()])
    fit = rng.permutation(np.flatnonzero((lengths >= LEAST) & (lengths <= MOST)))[: 20 * n_pairs]
    same = model.predict_proba(pairs[fit])[:, 1] > 0.5
    chosen = np.concatenate([fit[same][: n_pairs // 2], fit[~same][: n_pairs // 2]])
    verdicts = model.explain(pairs[chosen])
    of_class = np.array([verdict.probability > 0.5 for verdict in verdicts])
    signs = np.where(of_class, 1, -1)
    areas = {
        name: _areas(
            model, verdicts, of_class, [sign * each for sign, each in zip(signs, of, strict=True)]
        )
        for name, of in _supports(model, verdicts, rng).items()
    }
    found = {}
    for name, (deletion, insertion) in areas.items():
        means = [
            [area[rows].mean() for rows in (of_class, ~of_class)] for area in (deletion, insertion)
        ]
        ahead = areas["leave one word out"][0] - deletion
        parts = [ahead[rows].var() / rows.sum() for rows in (of_class, ~of_class)]
        found[name] = {
            "deletion": np.mean(means[0]),
            "insertion": np.mean(means[1]),
            "deletion_duplicates": means[0][0],
            "deletion_others": means[0][1],
            "deletion_ahead": np.mean([ahead[rows].mean() for rows in (of_class, ~of_class)]),
            "standard_error": np.sqrt(sum(parts)) / 2,
        }
    return found


def _areas(model: Any, verdicts: Any, same: np.ndarray, supports: Any) -> list[np.ndarray]:
    """Return the mean probability of the predicted class, by pair: deletion, then insertion."""
    areas = []
    for inserts in (False, True):
        given = []
        for verdict, support in zip(verdicts, supports, strict=True):
            order = np.argsort(-np.asarray(support), kind="stable")
            for n in np.round(SHARES * len(order)).astype(int):
                given.append(_texts(verdict, order[:n] if inserts else order[n:]))
        p = model.predict_proba(np.array(given, dtype=object))[:, 1].reshape(-1, len(SHARES))
        areas.append(np.where(same[:, None], p, 1 - p).mean(axis=1))
    return areas


def _texts(verdict: Any, kept: Any) -> tuple[str, str]:
    """Return the texts of some of the words."""
    words = [verdict.by_word[place] for place in sorted(kept)]
    first, second = (" ".join(one.word for one in words if one.text == text) for text in (1, 2))
    return first, second


def _supports(model: Any, verdicts: Any, rng: np.random.Generator) -> dict[str, list[np.ndarray]]:
    """Return by explainer how much each word of each pair supports "duplicate"."""
    left_out = [
        _texts(verdict, set(range(len(verdict.by_word))) - {place})
        for verdict in verdicts
        for place in range(len(verdict.by_word))
    ]
    p = np.clip(model.predict_proba(np.array(left_out, dtype=object))[:, 1], 1e-9, 1 - 1e-9)
    ends = np.cumsum([len(verdict.by_word) for verdict in verdicts])[:-1]
    return {
        "random": [rng.random(len(verdict.by_word)) for verdict in verdicts],
        "leave one word out": [-each for each in np.split(np.log(p) - np.log1p(-p), ends)],
        "words of FILM": [_of_film(verdict) for verdict in verdicts],
        "terms of word differences": [_of_terms(verdict) for verdict in verdicts],
        "differing words": [_differing(verdict) for verdict in verdicts],
        "explanation": [np.array([one.effect for one in verdict.by_word]) for verdict in verdicts],
    }


def _of_film(verdict: Any) -> np.ndarray:
    words = verdict.words["film"]
    totals = {
        (text, *span): total
        for text, spans, sums in (
            (1, words.offsets1, words.totals1),
            (2, words.offsets2, words.totals2),
        )
        for span, total in zip(spans.tolist(), sums.tolist(), strict=True)
    }
    return np.array([totals.get((one.text, one.start, one.end), 0.0) for one in verdict.by_word])


def _of_terms(verdict: Any) -> np.ndarray:
    weights = dict.fromkeys((one.word.lower() for one in verdict.by_word), 0.0)
    for term, weight in verdict.terms["words"]:
        words = term.partition(": ")[2].split()
        for word in words:
            if word in weights:
                weights[word] += weight / len(words)
    return np.array([weights[one.word.lower()] for one in verdict.by_word])


def _differing(verdict: Any) -> np.ndarray:
    spans = differing_spans(verdict.text1, verdict.text2)
    return np.array(
        [
            -float(any(a <= one.start and one.end <= b for a, b in spans[one.text - 1]))
            for one in verdict.by_word
        ]
    )


def _read(folder: Path) -> dict[str, Any]:
    quora = read_folder(folder / "quora", limit=None, seed=0)
    stsb = folder / "sts" / "STSBenchmark"
    shops = (read_labelled(folder, "amazon-google", part) for part in ("train", "test"))
    parts = (
        clear_pairs(read_sts_benchmark(stsb / f"sts-{part}.csv")) for part in ("train", "test")
    )
    return {
        "Quora": ((quora.train, quora.y_train), (quora.dev, quora.y_dev)),
        "amazon-google": tuple(shops),
        "STS-B": tuple(parts),
    }


if __name__ == "__main__":
    sys.exit(main())
