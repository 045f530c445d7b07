"""The formula behind scores without labels: how its weights are made, and what they are worth.

``python -m benchmarks.general [--data DIR] [--cache FOLDER] [--out DIR] [--quick]``. DIR holds
quora, sts, banking77, clinc150, tables, negation, multi30k, changes and exclude.txt; without it,
the folder of FILM_DATA is taken. Weights are fitted to public sets of pairs, and to made-up changes
of their texts (`benchmarks.support.made_changes`). No pair with a sentence listed in exclude.txt is
used.

Each set is measured by a formula fitted without it and without its relatives, such as the labelled
pairs of the same shops. Reported are the AUC of the coverage of the longer text, of the cosine, and
of the formula. For whole tables, whose pairs are the candidates of `DuplicateFinder`, F1 counts the
duplicates that are no candidates as missed: from a score of .5 on, from .1 on if each row has at
most one partner, and at the best threshold. The pairs of changes.csv fit nothing.

The formula with an encoder is fitted and measured in the same way, on at most 500 pairs of each
label of a set, by the packaged all-MiniLM-L6-v2, which saw Quora's duplicates in its training.
``--cache`` keeps its encodings. Reported are the AUC of its cosine, and of the formula without and
with it, on the same pairs.

The weights of all sets go to film/judge/general.json, or to general.json in the folder of
``--out``, if the AUC on changes.csv is at least .87 without and with encoder. ``--quick`` takes a
few generated pairs and TF-IDF for the encoder, and writes only where ``--out`` says so.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from benchmarks.data.excluded import read_excluded, text_hash
from benchmarks.data.intents import make_intent_pairs, read_banking77, read_clinc150
from benchmarks.data.pairs import ScoredPairs, drop_excluded
from benchmarks.data.sts import read_sick, read_sts_benchmark
from benchmarks.support.folders import data_folder
from benchmarks.support.made_changes import made_changes
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import AnyEncoder, SentenceEncoder
from estimators.corpus import CorpusIndex, GeneralScores, distinct_pairs
from film.compare import record_share
from film.datasets import make_question_pairs
from film.judge import (
    GENERAL_FEATURES,
    MEANING_FEATURES,
    UNRELATED_TEXTS,
    GeneralWeights,
    base_cosine,
    centred_cosines,
    fit_general,
    general_features,
    meaning_features,
    one_to_one,
)

WEIGHTS = Path(__file__).parent.parent / "film" / "judge" / "general.json"
INTERCEPT, INTERCEPT_WITH_ENCODER = -2.2, -5.3
CHANGES = "changes"
LOWEST_CHANGES_AUC = 0.87
THRESHOLD, THRESHOLD_ONE_TO_ONE = 0.5, 0.1
N_PAIRS, N_CHANGES, N_BACKGROUND = 4000, 3000, 2000
MOST_SAME, MOST_OTHER = 1500, 2000
"""Pairs of a set in the fit."""
MOST_ENCODED = 500
"""Pairs of each label of a set in the fit with an encoder."""
FEWEST_OF_A_KIND = 30
"""Pairs of one change that together weigh as much as those of every other change."""
SHOPS = ("amazon-google", "walmart-amazon", "dblp-acm", "fodors-zagats")
LINKED = ("abt-buy", "amazon-google", "dblp-acm")
SINGLE = ("cddb", "febrl1", "febrl3")

Gold = set[tuple[str, str]]
Rows = list[dict[str, str]]
Texts = tuple[Sequence[str], Sequence[str]]


class Measured(NamedTuple):
    """Features of the pairs of a set.

    Parameters
    ----------
    family : str
        Sets of one family are left out together.
    weight : float
        Of the set in the fit; 0 to leave it out.
    features : ndarray of shape (n, n_features)
        Columns of `GENERAL_FEATURES`.
    labels : ndarray of int, shape (n,)
        1 for duplicates.
    kinds : ndarray of str, shape (n,), or None
        Made-up change of each pair.
    pairs : ndarray of int, shape (n, 2)
        Numbers of the texts.
    texts : two sequences of str
        Texts of each pair.
    alone, cosines : ndarray
        Features of the texts alone, and their cosines.
    records : float
        How much the table is one of records.
    n_duplicates : int
        Duplicates of a whole table; 0 if there is none.
    linked : bool
        Whether the table has two sides.
    """

    family: str
    weight: float
    features: np.ndarray
    labels: np.ndarray
    kinds: np.ndarray | None
    pairs: np.ndarray
    texts: Texts
    alone: np.ndarray
    cosines: np.ndarray
    records: float
    n_duplicates: int = 0
    linked: bool = False


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("general", __doc__, "holds the public sets")
    parser.add_argument("--cache", metavar="FOLDER", help="keep encodings here")
    options = parser.parse_args(arguments)
    trigrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))
    with reading("general"):
        sets = generated() if options.quick else read_sets(data_folder(options.data))
        encoder = AnyEncoder(trigrams if options.quick else SentenceEncoder(cache=options.cache))
        encoded = {name: with_encoder(found, encoder) for name, found in sets.items()}
    results = Results("general", options)
    plain = Fits(sets, GENERAL_FEATURES, INTERCEPT)
    meaning = Fits(encoded, MEANING_FEATURES, INTERCEPT_WITH_ENCODER)
    for name, found in sets.items():
        both = plain.without(name), meaning.without(name)
        row = figures(found, both[0]) | figures_with_encoder(found, encoded[name], *both)
        results.tell(name, row)
    whole = plain.of_all(), meaning.of_all()
    changes = figures_with_encoder(sets[CHANGES], encoded[CHANGES], *whole)
    least = min(changes["auc_without_encoder"], changes["auc_with_encoder"])
    path = Path(options.out) / "general.json" if options.out else WEIGHTS
    if results.records and (options.quick or least >= LOWEST_CHANGES_AUC):
        saved = {
            name: {
                "weights": dict(zip(names, formula.weights.tolist(), strict=True)),
                "intercept": formula.intercept,
            }
            for name, names, formula in zip(
                ("without encoder", "with encoder"),
                (GENERAL_FEATURES, MEANING_FEATURES),
                whole,
                strict=True,
            )
        }
        path.write_text(f"{json.dumps(saved, indent=2)}\n", encoding="utf-8")
    return 0


class Encoded(NamedTuple):
    """Some pairs of a set, with an encoder; attributes as of `Measured`.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        Positions of the pairs in the set.
    meanings : ndarray of shape (n,)
        Centred cosines.
    """

    family: str
    weight: float
    features: np.ndarray
    labels: np.ndarray
    kinds: np.ndarray | None
    rows: np.ndarray
    meanings: np.ndarray


def with_encoder(found: Measured, encoder: AnyEncoder) -> Encoded:
    """Measure the first pairs of each label that the fit draws."""
    rows = np.concatenate([drawn[:MOST_ENCODED] for drawn in draw(found.labels)])
    texts, codes = np.unique(
        [[side[row] for side in found.texts] for row in rows.tolist()], return_inverse=True
    )
    vectors: Any = encoder.fit(texts.tolist()).transform(texts.tolist())
    first, second = (vectors[side] for side in codes.reshape(-1, 2).T)
    products = np.asarray((first * second).sum(axis=1), dtype=np.float64).ravel()
    meanings = centred_cosines(products, base_cosine(encoder.transform(UNRELATED_TEXTS)))
    return Encoded(
        found.family,
        found.weight * (1 - found.records),
        meaning_features(found.alone[rows], found.cosines[rows], meanings),
        found.labels[rows],
        None if found.kinds is None else found.kinds[rows],
        rows,
        meanings,
    )


class Fits:
    """The formula fitted to sets, with some of them left out.

    Parameters
    ----------
    sets : dict of str to Measured or Encoded
        Sets by name.
    names : dict of str to int
        Names and signs of their features.
    intercept : float
        Of the formula.
    """

    def __init__(self, sets: dict[str, Any], names: dict[str, int], intercept: float) -> None:
        self._parts = {name: fit_part(found) for name, found in sets.items() if found.weight}
        self._families = {name: found.family for name, found in sets.items()}
        self._names, self._intercept = names, intercept

    def without(self, left_out: str) -> GeneralWeights:
        """Fit all sets but one and its relatives."""
        own = self._families[left_out]
        others = [part for name, part in self._parts.items() if self._families[name] != own]
        return GeneralWeights(fit_general(others, self._names), self._intercept)

    def of_all(self) -> GeneralWeights:
        """Fit all sets."""
        fitted = fit_general(list(self._parts.values()), self._names).round(3)
        return GeneralWeights(fitted, self._intercept)


def read_sets(folder: Path) -> dict[str, Measured]:
    """Read all sets, make changes of their texts, and measure features."""
    excluded = read_excluded(folder / "exclude.txt")
    rng = np.random.default_rng(0)
    quora = read_folder(folder / "quora", limit=None, seed=0)
    drawn = rng.permutation(len(quora.train))
    some = drawn[:N_PAIRS]
    sets = {"pairs: Quora": labelled("quora", 3, quora.train[some], quora.y_train[some])}
    scored = {
        "STS-B": (1.0, read_sts_benchmark(folder / "sts" / "STSBenchmark" / "sts-train.csv")),
        "SICK": (0.6, read_sick(folder / "sts" / "SICK" / "SICK_train.txt")),
    }
    for name, (weight, read) in scored.items():
        pairs, y = clear_pairs(drop_excluded(read, excluded)[0])
        sets[f"pairs: {name}"] = labelled(name, weight, pairs, y)
    intents = {
        "banking77": read_banking77([folder / "banking77" / "train.csv"], excluded),
        "clinc150": read_clinc150(folder / "clinc150" / "data_full.json", excluded),
    }
    for name, read in intents.items():
        made = make_intent_pairs(read, N_PAIRS)
        assert made.y is not None
        sets[f"pairs: {name}"] = labelled(name, 1, made.pairs, made.y)
    texts: dict[str, list[str]] = {
        "quora": quora.train[drawn[N_PAIRS : 3 * N_PAIRS], 0].tolist()[:6000],
        **{name: read.texts.tolist() for name, read in intents.items()},
    }
    for name in SHOPS:
        pairs, y = read_labelled(folder, name, "train")
        some = rng.permutation(len(y))[:N_PAIRS]
        pairs = pairs[some]
        sets[f"pairs: {name}"] = labelled(name, 1, pairs, y[some])
        texts[name] = list(dict.fromkeys(pairs[:N_CHANGES].ravel().tolist()))
    rows = read_rows(folder / "negation" / "sem_anto_neg.csv.gz")
    pairs = np.array([(row["premise"], row["hypothesis"]) for row in rows], dtype=object)
    # 1 are texts that contradict each other: "not healthy" and "healthy".
    y = 1 - np.array([int(row["label"]) for row in rows])
    sets["pairs: negation"] = labelled("negation", 0.3, pairs, y)
    captions = [
        text.strip()
        for path in sorted((folder / "multi30k").glob("*.gz"))
        for text in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()[:1500]
    ]
    texts["captions"] = [text for text in captions if text_hash(text) not in excluded]
    for name in ("quora", *intents, *SHOPS[:2], "captions"):
        sets[f"changes of {name}"] = changed(name, texts[name], N_CHANGES)
    for name, (tables, gold) in read_tables(folder).items():
        if len(tables) == 2:
            sets[f"two tables: {name}"] = linked_table(name, tables, gold)
            continue
        weight = 0.5 if name.startswith("febrl") else 1
        sets[f"one table: {name}"] = single_table(name.rstrip("13"), weight, tables[0], gold)
    rows = read_rows(folder / "changes" / "changes.csv")
    pairs = np.array([(row["text1"], row["text2"]) for row in rows], dtype=object)
    y = np.array([int(row["same"]) for row in rows])
    background = list(dict.fromkeys(quora.dev[:, 0].tolist()))[:N_BACKGROUND]
    return sets | {CHANGES: labelled(CHANGES, 0, pairs, y, background)}


def generated() -> dict[str, Measured]:
    """Make small sets of generated pairs, in place of the public ones."""
    questions = [make_question_pairs(150, random_state=seed) for seed in range(3)]
    sets = {}
    for name, data in zip(("pairs: one", "pairs: two", CHANGES), questions, strict=True):
        assert data.y is not None
        sets[name] = labelled(name, name != CHANGES, data.pairs, data.y)
    texts = np.unique(questions[0].pairs).tolist()
    sets["changes of texts"] = changed("pairs: one", texts, 100)
    y = questions[1].y
    sides = [
        [{"id": str(i), "text": text} for i, text in enumerate(side)]
        for side in questions[1].pairs[y == 1].T.tolist()
    ]
    gold = {(row["id"], row["id"]) for row in sides[0]}
    sets["two tables: texts"] = linked_table("pairs: two", sides, gold)
    rows = [
        row | {"id": f"{end}{row['id']}"}
        for side, end in zip(sides, "ab", strict=True)
        for row in side
    ]
    pairs = {(f"a{row['id']}", f"b{row['id']}") for row in sides[0]}
    return sets | {"one table: texts": single_table("pairs: two", 1, rows, pairs)}


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file, packed or not."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_labelled(folder: Path, name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Read the labelled pairs of two shops, and their labels."""
    rows = read_rows(folder / "tables" / "labelled" / name / f"{part}.csv.gz")
    sides = [np.array(joined(rows, side), dtype=object) for side in ("left_", "right_")]
    return np.column_stack(sides), np.array([int(row["label"]) for row in rows])


def read_tables(folder: Path) -> dict[str, tuple[list[Rows], Gold]]:
    """Read tables, of two sides or one, and the ids of their duplicates."""
    kinds = ("linked", LINKED, ("left", "right")), ("single", SINGLE, ("table",))
    found = {}
    for kind, names, sides in kinds:
        for name in names:
            place = folder / "tables" / kind / name
            tables = [read_rows(place / f"{side}.csv.gz") for side in sides]
            gold = map(dict.values, read_rows(place / "gold.csv.gz"))
            found[name] = tables, {(first, second) for first, second in gold}
    return found


def joined(rows: Sequence[dict[str, str]], start: str = "") -> list[str]:
    """Write the fields of each row, or those whose names start so, as one text."""
    names = [name for name in rows[0] if name.startswith(start) and name != "id"]
    return [" ".join(" ".join(row[name] for name in names).split()) for row in rows]


def clear_pairs(read: ScoredPairs) -> tuple[np.ndarray, np.ndarray]:
    """Keep pairs with a similarity of at least 4, and of at most 3."""
    kept = (read.scores >= 4) | (read.scores <= 3)
    return read.pairs[kept], (read.scores[kept] >= 4).astype(int)


def labelled(
    family: str,
    weight: float,
    pairs: np.ndarray,
    labels: np.ndarray,
    background: Iterable[str] = (),
    kinds: np.ndarray | None = None,
) -> Measured:
    """Measure labelled pairs in the table of all their texts, without copies."""
    index = CorpusIndex(None, 10, "auto", 0)
    texts = list(dict.fromkeys([*pairs.ravel().tolist(), *background]))
    codes = dict(zip(texts, index.grow(texts, [0] * len(texts), []).tolist(), strict=True))
    numbers = np.sort([[codes[first], codes[second]] for first, second in pairs.tolist()], axis=1)
    kept = (numbers[:, 0] != numbers[:, 1]) & (numbers[:, 0] >= 0)
    kinds = None if kinds is None else kinds[kept]
    labels = np.asarray(labels)[kept]
    return _measured(family, weight, labels, index, numbers[kept], kinds=kinds)


def changed(name: str, texts: Sequence[str], n: int) -> Measured:
    """Measure pairs of texts and their changes, among more of the texts."""
    made = made_changes(texts, n, 1)
    others = np.random.default_rng(0).permutation(np.array(texts, dtype=object))[:n].tolist()
    return labelled(name, 0.5, made.pairs, made.same, others, made.kinds)


def _measured(
    family: str,
    weight: float,
    labels: np.ndarray,
    index: CorpusIndex,
    pairs: np.ndarray,
    *,
    kinds: np.ndarray | None = None,
    n_duplicates: int = 0,
) -> Measured:
    """Measure pairs of the texts of an index, as `DuplicateFinder` does."""
    candidates = index.candidates()
    rarity = index.space.rarity
    assert rarity is not None
    scores = GeneralScores(rarity, candidates, index.similarities(candidates)[0])
    first, second = ([index.texts[i] for i in side.tolist()] for side in pairs.T)
    cosines = index.similarities(pairs)[0]
    texts = first, second
    parts = scores.parts(pairs, texts, cosines)
    return Measured(
        family,
        weight,
        general_features(*parts),
        labels,
        kinds,
        pairs,
        texts,
        parts[0],
        cosines,
        record_share(parts[-1]),
        n_duplicates,
    )


def single_table(
    family: str, weight: float, rows: Sequence[dict[str, str]], gold: Gold
) -> Measured:
    """Measure the candidates of a table."""
    index = CorpusIndex(None, 10, "auto", 0)
    found = index.grow(joined(rows), [0] * len(rows), []).tolist()
    codes = {row["id"]: code for row, code in zip(rows, found, strict=True)}
    known = {tuple(sorted((codes[first], codes[second]))) for first, second in gold}
    known = {(first, second) for first, second in known if first != second}
    pairs = index.candidates()
    labels = np.array([int(tuple(pair) in known) for pair in pairs.tolist()])
    return _measured(family, weight, labels, index, pairs, n_duplicates=len(known))


def linked_table(
    family: str,
    sides: Sequence[Sequence[dict[str, str]]],
    gold: Gold,
) -> Measured:
    """Measure the candidates of two tables, given duplicates by their ids."""
    left, right = sides
    texts, asked_texts = joined(left), joined(right)
    index = CorpusIndex(None, 10, "auto", 0)
    found = index.grow(texts, [0] * len(texts), asked_texts).tolist()
    codes = {row["id"]: code for row, code in zip(left, found, strict=True)}
    places = {row["id"]: place for place, row in enumerate(right)}
    # Five duplicates of dblp-acm name rows that the table lacks.
    known = {(places[b], codes[a]) for a, b in gold if a in codes and b in places}
    asked = index.asked(asked_texts, None)
    points = distinct_pairs(asked.points, asked.candidates(10))
    pairs = points - np.array([0, len(right)])
    cosines = asked.similarities(pairs)[0]
    rarity = index.space.rarity
    assert rarity is not None
    scores = GeneralScores(rarity, points, cosines)
    spelt = [asked_texts[i] for i in pairs[:, 0]], [index.texts[i] for i in pairs[:, 1]]
    labels = np.array([int(tuple(pair) in known) for pair in pairs.tolist()])
    parts = scores.parts(points, spelt, cosines)
    return Measured(
        family,
        1,
        general_features(*parts),
        labels,
        None,
        pairs,
        spelt,
        parts[0],
        cosines,
        record_share(parts[-1]),
        len(known),
        linked=True,
    )


def draw(labels: np.ndarray) -> list[np.ndarray]:
    """Draw positions of duplicates and of others."""
    rng = np.random.default_rng(0)
    return [
        rng.permutation(np.flatnonzero(labels == label))[:most]
        for label, most in ((1, MOST_SAME), (0, MOST_OTHER))
    ]


def fit_part(found: Measured | Encoded) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw the pairs of a set that are fitted, with weights: each label has half of them."""
    drawn = draw(found.labels)
    weights = [np.full(len(rows), 0.5 / len(rows)) for rows in drawn]
    if found.kinds is not None:
        for rows, side in zip(drawn, weights, strict=True):
            _, kind, n = np.unique(found.kinds[rows], return_inverse=True, return_counts=True)
            side[:] = 0.5 / len(n) / np.maximum(n, FEWEST_OF_A_KIND)[kind]
    rows = np.concatenate(drawn)
    return found.features[rows], found.labels[rows], found.weight * np.concatenate(weights)


def figures(found: Measured, formula: GeneralWeights) -> dict[str, float]:
    """Compare the formula with its two best features, and count what it finds in a table."""
    odds, y, names = formula.log_odds(found.features), found.labels, list(GENERAL_FEATURES)
    alone = {"auc_coverage": "coverage of the longer", "auc_cosine": "cosine"}
    row = {
        metric: float(roc_auc_score(y, found.features[:, names.index(name)]))
        for metric, name in alone.items()
    }
    row["auc_general"] = float(roc_auc_score(y, odds))
    if not found.n_duplicates:
        return row
    scores = 1 / (1 + np.exp(-odds))
    row["table_f1"] = _f1(y[scores >= THRESHOLD], found.n_duplicates)
    if found.linked:
        possible = scores >= THRESHOLD_ONE_TO_ONE
        chosen, _ = one_to_one(found.pairs[possible], scores[possible])
        row["one_to_one_f1"] = _f1(y[possible][chosen], found.n_duplicates)
    ordered = np.argsort(-scores, kind="stable")
    f1 = 2 * np.cumsum(y[ordered]) / (np.arange(1, len(y) + 1) + found.n_duplicates)
    best = int(f1.argmax())
    return row | {"best_f1": float(f1[best]), "best_threshold": float(scores[ordered[best]])}


def figures_with_encoder(
    found: Measured, some: Encoded, plain: GeneralWeights, meaning: GeneralWeights
) -> dict[str, float]:
    """Compare the formula with an encoder, on the same pairs, with its parts."""
    odds = plain.log_odds(found.features[some.rows])
    both = found.records * odds + (1 - found.records) * meaning.log_odds(some.features)
    scores = {
        "auc_encoder": some.meanings,
        "auc_without_encoder": odds,
        "auc_with_encoder": both,
    }
    return {name: float(roc_auc_score(some.labels, values)) for name, values in scores.items()}


def _f1(listed: np.ndarray, n_duplicates: int) -> float:
    return 2 * float(listed.sum()) / (len(listed) + n_duplicates)


if __name__ == "__main__":
    sys.exit(main())
