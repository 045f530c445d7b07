"""Leaders against a plain loop, in blocks of every size, and what cannot be led."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import film.corpus.copies as module
from film.corpus import leaders


def looped(points, similarity):
    found = []
    for i, point in enumerate(points):
        norm = np.linalg.norm(point)
        copies = [
            norm * np.linalg.norm(points[j]) > 0
            and point @ points[j] / norm / np.linalg.norm(points[j]) > similarity
            for j in found
        ]
        if not any(copies):
            found.append(i)
    return found


@pytest.mark.parametrize("block", [1, 120, 1200, 2**24])
@pytest.mark.parametrize("similarity", [0.0, 0.4, 0.9])
def test_leaders_are_those_of_a_plain_loop(block, similarity, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
    points = np.random.default_rng(0).normal(size=(60, 3)) * np.arange(1, 61)[:, None]
    points[[7, 30]] = 0
    before = points.copy()
    found = leaders(points, similarity)
    assert found.tolist() == looped(points, similarity)
    assert {0, 7, 30} <= set(found.tolist())
    np.testing.assert_array_equal(points, before)


def test_every_point_has_a_leader_close_by_and_no_leader_another():
    points = np.random.default_rng(1).normal(size=(400, 4)).astype(np.float32)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    found = leaders(points, 0.8)
    assert 10 < len(found) < 300
    cosines = unit @ unit[found].T
    assert (cosines.max(axis=1) > 0.8).all()
    assert (np.sort(cosines[found], axis=1)[:, -2] <= 0.8 + 1e-6).all()


def test_the_first_of_copies_leads_and_nothing_is_a_copy_above_one():
    points = np.repeat(np.eye(3), 2, axis=0)
    assert leaders(points, 0.5).tolist() == [0, 2, 4]
    assert leaders(points, 1.0).tolist() == list(range(6))
    assert leaders([[2.0, 0.0]], 0.5).tolist() == [0]


@pytest.mark.parametrize(
    ("points", "similarity", "error", "message"),
    [
        (sp.eye_array(2), 0.5, TypeError, "points must be dense"),
        (np.zeros(3), 0.5, ValueError, "points has shape (3,)"),
        (np.zeros((0, 3)), 0.5, ValueError, "points has shape (0, 3)"),
        ([[np.nan, 1.0]], 0.5, ValueError, "points hold NaN or infinity"),
        ([[1.0, 1.0]], -0.5, ValueError, "similarity=-0.5 must be a cosine"),
        ([[1.0, 1.0]], np.nan, ValueError, "similarity=nan must be a cosine"),
    ],
)
def test_bad_input_is_named(points, similarity, error, message):
    with pytest.raises(error, match=re.escape(message)):
        leaders(points, similarity)
