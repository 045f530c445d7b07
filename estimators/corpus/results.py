"""Turn scored pairs of unique texts into pairs, groups and matches of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from estimators.corpus.corpus_rows import CorpusRows
from estimators.corpus.finder_inputs import KnownPairs, are_among, distinct_texts, rows_of_pairs
from estimators.corpus.found_duplicates import (
    DuplicateGroup,
    DuplicateGroups,
    DuplicatePairs,
    Matches,
    PairedRecords,
)
from estimators.corpus.growth import Scored, Wanted
from estimators.corpus.pair_scores import PairScores
from estimators.inputs import as_texts, joined_cells
from film.corpus import (
    connected_groups,
    continued_numbers,
    cut,
    link_scores,
    merges_of_rows,
    missing_pairs,
    weakest_links,
)
from film.judge import one_to_one
from film.text import copy_key

MOST_PER_ROW = 100
"""Mean number of pairs per row up to which all pairs of rows of a group are listed."""

Columns = tuple[str, ...] | None
"""Names of the columns of records; None for texts."""


def find_pairs(
    rows: CorpusRows,
    scores: PairScores,
    wanted: Wanted,
    known: KnownPairs,
    verbose: int,
    columns: Columns,
) -> DuplicatePairs:
    """List the best pairs of rows, except pairs of texts that are known to differ in meaning."""
    found = scores.of_wanted(wanted, known.cannot, verbose)
    sides = [(rows.ids, rows.texts, rows.records)] * 2
    provenance = _provenance(scores, found)
    first_rows, copies = rows.first_and_copies()
    if wanted.is_estimated and found.columns_decide:
        links = _linked(scores, found, len(first_rows), ("average", None, known), verbose)[2]
        merges = merges_of_rows(links, rows.codes, first_rows, copies)
        labels = cut(merges, len(rows.codes), -np.inf)
        pairs = _pairs_within(labels, MOST_PER_ROW * len(labels))
        if pairs is not None:
            codes = np.sort(rows.codes[pairs], axis=1)
            same = codes[:, 0] == codes[:, 1]
            values, kind = np.ones(len(pairs)), np.full(len(pairs), "copy", dtype=object)
            keys, of_pair = np.unique(codes[~same] @ [len(labels), 1], return_inverse=True)
            distinct = np.column_stack(np.divmod(keys, len(labels)))
            answers = found.of_pairs(
                distinct, lambda more: scores.of_more(more, found.prior, verbose)
            )
            values[~same], kind[~same] = (part[of_pair] for part in answers)
            found.wanted, provenance["is_by_group"] = Wanted(0), True
            return _ranked(pairs, values, kind, found, sides, provenance, columns)
    # With a million texts, most candidates are too far; all further work uses only the rest.
    free = ~are_among(found.pairs, known.cannot) & (found.scores >= found.wanted.lowest)
    pairs = np.concatenate(
        [np.column_stack([first_rows[rows.codes[copies]], copies]), first_rows[found.pairs[free]]]
    )
    values = np.concatenate([np.ones(len(copies)), found.scores[free]])
    kind = np.concatenate([np.full(len(copies), "copy", dtype=object), found.answers[1][free]])
    return _ranked(pairs, values, kind, found, sides, provenance, columns)


def _pairs_within(labels: np.ndarray, most: int) -> np.ndarray | None:
    """Return all pairs of equal labels, the lower place first; None if there are too many."""
    order = np.argsort(labels, kind="stable")
    n_after = np.cumsum(np.bincount(labels))[labels[order]] - np.arange(1, len(order) + 1)
    n_pairs = int(n_after.sum())
    if n_pairs > most:
        return None
    first = np.repeat(np.arange(len(order)), n_after)
    before = np.repeat(np.cumsum(n_after) - n_after, n_after)
    return order[np.column_stack([first, first + 1 + np.arange(n_pairs) - before])]


def match_rows(
    rows: CorpusRows,
    scores: PairScores,
    wanted: Wanted,
    new: tuple[list[str], np.ndarray, list[int]],
    n_neighbors: int,
    verbose: int,
    single: bool,
    columns: Columns,
) -> DuplicatePairs:
    """List the best pairs of new rows, given by texts, ids and blocks, with rows of the corpus."""
    texts, names, blocks = new
    spelt, inside, unit_of = distinct_texts(texts, blocks)
    found, kind = scores.of_matches(spelt, inside, n_neighbors, wanted, verbose, single)
    # Each has at least one pair of rows, so the best pairs of texts have the best pairs of rows.
    bar = found.wanted.lowest if single else found.wanted.bar(found.scores)
    best = np.flatnonzero(found.scores >= bar)
    place, both = rows_of_pairs(found.pairs[best], unit_of, rows.codes)
    ours = names, as_texts(list(map(joined_cells, texts))), as_texts(texts)
    values, kind = found.scores[best[place]], kind[best[place]]
    n_ties = 0
    if single:
        chosen, n_ties = one_to_one(both, values)
        both, values, kind = both[chosen], values[chosen], kind[chosen]
    provenance = {**_provenance(scores, found), "n_ties": n_ties}
    sides = [ours, (rows.ids, rows.texts, rows.records)]
    return _ranked(both, values, kind, found, sides, provenance, columns)


def group_rows(
    rows: CorpusRows,
    scores: PairScores,
    wanted: Wanted,
    how: tuple[Any, str | None, KnownPairs],
    verbose: int,
    numbered: tuple[np.ndarray, int],
) -> DuplicateGroups:
    """Group rows by the links of their texts; ``numbered`` is as for `continued_numbers`.

    ``how`` has the linkage, the kinds of pairs to keep apart, and the known pairs.
    """
    linkage, _, known = how
    found = scores.of_wanted(wanted, known.cannot, verbose)
    first_rows, copies = rows.first_and_copies()
    pairs, values, links, n_incomplete = _linked(scores, found, len(first_rows), how, verbose)
    merges = merges_of_rows(links, rows.codes, first_rows, copies)
    groups, labels = _described(merges, pairs, values, rows, first_rows)
    if n_incomplete:
        warnings.warn(
            f"{n_incomplete} of {len(first_rows)} different texts are in parts too large to "
            "compare each text with all others, so that some groups may come in pieces; give a "
            "higher threshold, or blocks",
            UserWarning,
            stacklevel=3,
        )
    provenance = _provenance(scores, found)
    numbers, renumbered = continued_numbers(labels, *numbered)
    return DuplicateGroups(
        groups,
        labels,
        merges,
        linkage=linkage,
        n_incomplete=n_incomplete,
        **provenance,
        numbers=numbers,
        renumbered=renumbered,
    )


def _linked(
    scores: PairScores,
    found: Scored,
    n: int,
    how: tuple[Any, str | None, KnownPairs],
    verbose: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Compare connected texts with each other, and merge them.

    Returns pairs, scores, merges, and the number of texts that were not compared with all others.
    """
    linkage, apart, known = how
    pairs, (values, kinds) = found.pairs, found.answers
    if not n:
        return pairs, values, np.empty((0, 3)), 0
    threshold = found.wanted.lowest
    unscored = known.must[~are_among(known.must, pairs)]
    missing, n_incomplete = missing_pairs(
        np.concatenate([pairs, unscored]),
        np.concatenate([values, np.zeros(len(unscored))]),
        n,
        threshold=threshold,
        must_link=known.must,
    )
    more = np.concatenate([unscored, missing])
    pairs = np.concatenate([pairs, more])
    answers = zip((values, kinds), scores.of_more(more, found.prior, verbose), strict=True)
    values, kinds = map(np.concatenate, answers)
    cannot = known.cannot
    if apart is not None:
        separate = np.array([kind.startswith("differs") for kind in kinds.tolist()], dtype=bool)
        if apart == "similar":
            separate |= kinds == "similar"
        part = connected_groups(known.must, n)
        separate &= (values >= threshold) & (part[pairs[:, 0]] != part[pairs[:, 1]])
        cannot = np.concatenate([cannot, pairs[separate & ~are_among(pairs, cannot)]])
    links = link_scores(
        pairs,
        values,
        n,
        method=linkage,
        threshold=threshold,
        must_link=known.must,
        cannot_link=cannot,
    )
    return pairs, values, links, n_incomplete


def nearest_rows(
    rows: CorpusRows, scores: PairScores, text: str, k: int, n_neighbors: int, verbose: int
) -> Matches:
    """List the k rows nearest to a text; copies of one text count as several rows."""
    near, values, kind = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=object)
    if copy_key(text):
        # Scores and lookup order texts differently, so more texts are looked up.
        width = max(2 * k, n_neighbors)
        found, kind = scores.of_matches([text], None, width, Wanted(0), verbose, by_column=False)
        near, values = found.pairs[:, 1], found.scores
    order = np.lexsort((near, kind != "copy", -values))[:k]
    holders = [np.flatnonzero(rows.codes == code) for code in near[order].tolist()]
    members = np.concatenate([np.empty(0, dtype=np.intp), *holders])[:k]
    position = np.repeat(order, [len(holder) for holder in holders])[:k]
    return Matches(
        members,
        values[position],
        rows.ids[members],
        rows.texts[members],
        kind[position],
        scores.name,
    )


def _ranked(
    pairs: np.ndarray,
    values: np.ndarray,
    kind: np.ndarray,
    found: Scored,
    sides: list[tuple[np.ndarray, ...]],
    provenance: dict[str, Any],
    columns: Columns,
) -> DuplicatePairs:
    """Keep the best pairs, with copies first among equals; sides are ids, texts and records."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], kind != "copy", -values))
    kept = order[values[order] >= found.wanted.lowest][: found.wanted.most]
    pairs = pairs[kept]
    ids, texts, records = (
        np.column_stack([side[part][ends] for side, ends in zip(sides, pairs.T, strict=True)])
        for part in range(3)
    )
    both = PairedRecords(columns, records, found.agreement) if columns else None
    return DuplicatePairs(pairs, values[kept], ids, texts, kind[kept], **provenance, records=both)


def _provenance(scores: PairScores, found: Scored) -> dict[str, Any]:
    return {
        "score_name": scores.name,
        "index": scores.index.name,
        "recall": scores.index.recall(),
        "prior": found.prior,
        "n_cut": found.n_cut,
        "threshold": found.wanted.lowest,
        "expected": found.expected,
    }


def _described(
    merges: np.ndarray,
    pairs: np.ndarray,
    scores: np.ndarray,
    rows: CorpusRows,
    first_rows: np.ndarray,
) -> tuple[list[DuplicateGroup], np.ndarray]:
    """Describe the groups made by merges of rows, best score first, and label the rows."""
    codes = rows.codes
    n_rows = len(codes)
    label = cut(merges, n_rows, -np.inf)
    size = np.bincount(label)
    score = np.ones(len(size))
    member = list(range(n_rows))
    for a, _, link in merges.tolist():
        member.append(member[int(a)])
        # Links decrease, so the last one is the group's lowest.
        score[label[member[-1]]] = link
    weakest = weakest_links(pairs, scores, label[first_rows]) if len(pairs) else None
    order = np.lexsort((-size, -score))
    order = order[size[order] > 1]
    by_group = np.split(np.argsort(label, kind="stable"), np.cumsum(size)[:-1])
    groups = []
    labels = np.full(n_rows, -1, dtype=np.intp)
    for number, group in enumerate(order.tolist()):
        members = by_group[group]
        labels[members] = number
        pair, lowest, n_unscored = (int(members[0]), int(members[1])), 1.0, 0
        if codes[members].min() != codes[members].max():
            assert weakest is not None
            a, b = first_rows[weakest.pairs[group]].tolist()
            pair, lowest = (a, b), float(weakest.scores[group])
            n_unscored = int(weakest.n_unscored[group])
        groups.append(
            DuplicateGroup(
                members=members,
                ids=rows.ids[members],
                texts=rows.texts[members],
                score=float(score[group]),
                weakest_pair=pair,
                weakest_score=lowest,
                n_unscored=n_unscored,
            )
        )
    return groups, labels
