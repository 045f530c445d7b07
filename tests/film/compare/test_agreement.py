"""Levels of agreement, against their definition."""

import itertools

import numpy as np
import pytest

from film.compare import LEVELS_OF_SIMILARITY, N_LEVELS, agreement_levels, number_agreement

SIMILARITIES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.999)
INFORMATION = (0.3, 0.6, 1.0, 1.5)


def slow_level(similarity, information, n_missing):
    if n_missing:
        return 2 - n_missing
    shared = sum(information * similarity >= bound for bound in INFORMATION)
    return 2 + 8 * shared + sum(similarity >= bound for bound in SIMILARITIES)


def test_levels_of_texts():
    grid = list(itertools.product(np.linspace(0, 1, 23), np.linspace(0, 3, 13), (0, 1, 2)))
    similarity, information, n_missing = map(np.array, zip(*grid, strict=True))
    found = agreement_levels(similarity, information, n_missing)
    assert found.tolist() == [slow_level(*each) for each in grid]
    assert found.max() == N_LEVELS - 1 and LEVELS_OF_SIMILARITY == len(SIMILARITIES) + 1


@pytest.mark.parametrize(
    ("first", "second", "kind", "level"),
    [
        (20.0, 20.0, "number", 7),
        (1000.0, 1001.0, "number", 6),
        (100.0, 104.0, "number", 5),
        (100.0, 115.0, "number", 4),
        (100.0, 160.0, "number", 3),
        (1.0, 100.0, "number", 2),
        (0.0, 0.0, "number", 7),
        (-5.0, 5.0, "number", 2),
        (730_000.0, 730_000.0, "date", 7),
        (730_000.0, 730_020.0, "date", 6),
        (730_000.0, 730_200.0, "date", 5),
        (730_000.0, 733_000.0, "date", 4),
        (730_000.0, 750_000.0, "date", 3),
        (730_000.0, 693_000.0, "date", 2),
        (48 + 11j, 48 + 11j, "point", 7),
        (48 + 11j, 48.0005 + 11j, "point", 6),
        (48 + 11j, 48.005 + 11j, "point", 5),
        (0j, 0.05j, "point", 4),
        (60j, 60.5j, "point", 3),
        (60 + 0j, 60 + 1.5j, "point", 3),
        (0j, 1.5j, "point", 2),
        (complex(np.nan), 3j, "point", 1),
        (np.nan, 3.0, "number", 1),
        (np.nan, np.nan, "date", 0),
    ],
)
def test_levels_of_numbers_dates_and_points(first, second, kind, level):
    values = np.array([[first, second], [second, first]])
    n_missing = np.isnan(values).sum(axis=1)
    assert number_agreement(*values.T, n_missing, kind).tolist() == [level, level]
