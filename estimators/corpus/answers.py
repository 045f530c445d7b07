"""From scored pairs of unique texts to pairs, groups and matches of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.corpus.corpus_rows import CorpusRows
from estimators.corpus.finder_inputs import KnownPairs, are_among, distinct_texts, rows_of_pairs
from estimators.corpus.found_duplicates import (
    DuplicateGroup,
    DuplicateGroups,
    DuplicatePairs,
    Matches,
)
from estimators.corpus.pair_scores import PairScores, kinds
from estimators.inputs import as_texts
from film.corpus import cut, link_scores, merges_of_rows, weakest_links
from film.text import copy_key

Limits = tuple[float, int | None]
"""Lowest score, and most pairs."""


def find_pairs(
    rows: CorpusRows, scores: PairScores, limits: Limits, cannot: np.ndarray, verbose: int
) -> DuplicatePairs:
    """List the best pairs of rows, but those of texts that are known to differ in meaning."""
    candidates, values, same_vector, prior = scores.of_candidates(verbose)
    # Of a million texts most candidates are too far, and all that follows is made of what is left.
    free = ~are_among(candidates, cannot) & (values >= limits[0])
    first_rows, copies = rows.first_and_copies()
    pairs = np.concatenate(
        [np.column_stack([first_rows[rows.codes[copies]], copies]), first_rows[candidates[free]]]
    )
    is_copy = np.arange(len(pairs)) < len(copies)
    ones = np.ones(len(copies))
    kind = kinds(is_copy, np.concatenate([ones.astype(bool), same_vector[free]]))
    side = rows.ids, rows.texts
    return _ranked(
        pairs, np.concatenate([ones, values[free]]), kind, limits, [side] * 2, scores, prior
    )


def match_rows(
    rows: CorpusRows,
    scores: PairScores,
    limits: Limits,
    new: tuple[list[str], np.ndarray, list[int]],
    n_neighbors: int,
    verbose: int,
) -> DuplicatePairs:
    """List the best pairs of a new row, given by texts, ids and blocks, with one of the corpus."""
    texts, names, blocks = new
    spelt, inside, unit_of = distinct_texts(texts, blocks)
    pairs, values, kind, prior = scores.of_matches(spelt, inside, n_neighbors, verbose)
    first_rows, _ = rows.first_and_copies()
    pair, row = rows_of_pairs(pairs[:, 0], unit_of, len(spelt))
    both = np.column_stack([row, first_rows[pairs[pair, 1]]])
    sides = [(names, as_texts(texts)), (rows.ids, rows.texts)]
    return _ranked(both, values[pair], kind[pair], limits, sides, scores, prior)


def group_rows(
    rows: CorpusRows,
    scores: PairScores,
    threshold: float,
    linkage: Any,
    known: KnownPairs,
    verbose: int,
) -> DuplicateGroups:
    """Group rows by the links of their texts."""
    pairs, values, _, prior = scores.of_candidates(verbose)
    first_rows, copies = rows.first_and_copies()
    links = np.empty((0, 3))
    if len(first_rows):
        constraints = {"must_link": known.must, "cannot_link": known.cannot}
        links = link_scores(
            pairs, values, len(first_rows), method=linkage, threshold=threshold, **constraints
        )
    merges = merges_of_rows(links, rows.codes, first_rows, copies)
    unscored = known.must[~are_among(known.must, pairs)]
    groups, labels = _described(
        merges,
        np.concatenate([pairs, unscored]),
        np.concatenate([values, scores.of_pairs(unscored, prior)]),
        rows,
        first_rows,
    )
    return DuplicateGroups(groups, labels, merges, threshold, linkage, **_provenance(scores, prior))


def nearest_rows(
    rows: CorpusRows, scores: PairScores, text: str, k: int, n_neighbors: int, verbose: int
) -> Matches:
    """List the k rows nearest to a text, copies of one text among them."""
    near, values, kind = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=object)
    if copy_key(text):
        # Scores order texts otherwise than the lookup does, so more of them are looked up.
        width = max(2 * k, n_neighbors)
        pairs, values, kind, _ = scores.of_matches([text], None, width, verbose)
        near = pairs[:, 1]
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
    limits: Limits,
    sides: list[tuple[np.ndarray, np.ndarray]],
    scores: PairScores,
    prior: float | None,
) -> DuplicatePairs:
    """Keep the best pairs, of equal ones copies first; sides are ids and texts of each end."""
    lowest, most = limits
    order = np.lexsort((pairs[:, 1], pairs[:, 0], kind != "copy", -values))
    kept = order[values[order] >= lowest][:most]
    pairs = pairs[kept]
    ids, texts = (
        np.column_stack([side[part][ends] for side, ends in zip(sides, pairs.T, strict=True)])
        for part in (0, 1)
    )
    provenance = _provenance(scores, prior)
    return DuplicatePairs(pairs, values[kept], ids, texts, kind[kept], **provenance)


def _provenance(scores: PairScores, prior: float | None) -> dict[str, Any]:
    return {
        "score_name": scores.name,
        "index": scores.index.name,
        "recall": scores.index.recall(),
        "prior": prior,
    }


def _described(
    merges: np.ndarray,
    pairs: np.ndarray,
    scores: np.ndarray,
    rows: CorpusRows,
    first_rows: np.ndarray,
) -> tuple[list[DuplicateGroup], np.ndarray]:
    """Describe the groups that merges of rows make, the best-scored first, and label the rows."""
    codes = rows.codes
    n_rows = len(codes)
    label = cut(merges, n_rows, -np.inf)
    size = np.bincount(label)
    score = np.ones(len(size))
    member = list(range(n_rows))
    for a, _, link in merges.tolist():
        member.append(member[int(a)])
        # Links fall, so the last one is the group's lowest.
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
