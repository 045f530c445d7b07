"""Made records have the stated errors, and as many as asked for."""

import numpy as np
import pytest

from film.compare import column_kind
from film.datasets import make_records

KINDS = {
    "people": ("text", "date", "text", "text", "phone", "point"),
    "products": ("text", "code", "number", "text"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("errors", [0.0, 0.2, 0.4])
def test_later_rows_have_a_share_of_errors(kind, errors):
    records, entities = make_records(kind, 3000, errors=errors, random_state=0)
    assert tuple(column_kind(records[name].tolist()) for name in records) == KINDS[kind]
    n_rows = np.bincount(entities)
    assert len(n_rows) == 3000 and n_rows.min() == 1 and n_rows.max() == 3
    np.testing.assert_allclose(np.bincount(n_rows)[1:] / 3000, [1 / 2, 1 / 3, 1 / 6], atol=0.03)
    if not errors:
        others = records.drop(columns="location", errors="ignore")
        assert others.groupby(entities).nunique().max().max() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_errors_is_the_one_asked_for(kind):
    def unlike(errors):
        records, entities = make_records(kind, 900, errors=errors, random_state=1)
        two = records[np.bincount(entities)[entities] == 2].drop(
            columns="location", errors="ignore"
        )
        both = two.groupby(entities[two.index])
        return both.nunique().gt(1).to_numpy().mean()

    few, many, all_wrong = map(unlike, (0.1, 0.4, 1.0))
    assert abs(few - 0.1) < 0.03 and abs(many - 0.4) < 0.06 and all_wrong > 0.9


def test_relatives_share_what_families_share():
    people, entities = make_records("people", 600, errors=0.0, random_state=2)
    first = people[~people.assign(e=entities)["e"].duplicated()]
    homes = first.groupby(["street", "town", "phone"])["name"].agg(list)
    families = [names for names in homes if len(names) > 1]
    assert 50 < len(families) < 130
    assert all(len({name.split()[-1] for name in names}) == 1 for names in families)


def test_one_seed_gives_one_table():
    one, two, other = (make_records("people", 50, random_state=seed)[0] for seed in (3, 3, 4))
    assert one.equals(two) and not one.equals(other)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"kind": "shops"}, "kind='shops' must be one of 'people', 'products'"),
        ({"n_entities": 0}, "n_entities=0 is out of range"),
        ({"n_entities": 2.5}, "n_entities=2.5 must be an integer"),
        ({"errors": 1.5}, "errors=1.5 is out of range"),
        ({"errors": float("nan")}, "errors=nan is out of range"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_arguments_are_named(given, error):
    with pytest.raises(ValueError, match=error):
        make_records(**given)
