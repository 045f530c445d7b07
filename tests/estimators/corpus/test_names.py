"""Names are compared by their usual words, without labels."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from estimators import DuplicateFinder, load_model, save_model
from tests.estimators.corpus.test_records import people


def test_nicknames_agree_in_a_column_of_names_and_in_an_older_file_do_not(tmp_path):
    frame, _ = people(400)
    for name, usual in (("carla", "mike"), ("emil", "dave"), ("ida", "ann"), ("jonas", "jack")):
        frame["name"] = frame["name"].str.replace(name, usual)
    more = {"born": "1961-03-04", "town": "ulm", "phone": "0555/12345"}
    twice = pd.DataFrame([{"name": f"{name} keller"} | more for name in ("bob", "robert", "bill")])
    finder: Any = DuplicateFinder().fit(pd.concat([frame, twice], ignore_index=True))
    n = len(frame)

    def effects(finder: Any) -> list[float]:
        explained = finder.explain([(n, n + 1), (n, n + 2)])
        return [explanation.effects["column name"] for explanation in explained]

    same, other = effects(finder)
    assert same > 0 > other
    del finder._scores.columns._are_names, finder._scores.columns._roles
    save_model(finder, tmp_path / "older.film")
    assert effects(load_model(tmp_path / "older.film"))[0] < same


FIRST = "Alice Brian Carol David Emma Frank Grace Henry Irene Jack Karen Leo Martin Nina Olga Peter"
FAMILY = "Roe Stone Lake Hill Reed Young King Wood Cole Ward Gray Frost Nash Webb"
ROADS = "Elm Oak Mill Pine High Park"


def households(is_split: bool) -> tuple[pd.DataFrame, list[int]]:
    """Return people, of whom every third has a spouse and every fourth a second row."""
    rng = np.random.default_rng(0)
    rows, whose = [], []

    def add(person: int, first: str, family: str, *rest: str) -> None:
        name = {"first": first, "family": family} if is_split else {"name": f"{first} {family}"}
        rows.append(name | dict(zip(("address", "town"), rest, strict=True)))
        whose.append(person)

    for n in range(150):
        first, spouse = rng.choice(FIRST.split(), 2, replace=False)
        home = f"{rng.integers(1, 300)} {rng.choice(ROADS.split())}"
        family, town = rng.choice(FAMILY.split()), rng.choice(["Bath", "York", "Dover"])
        add(n, first, family, f"{home} Street", town)
        if n % 3 == 0:
            add(1000 + n, spouse, family, f"{home} Street", town)
        if n % 4 == 0:
            add(n, first if n % 8 else f"{first[0]}.", family, f"{home} St", town)
    return pd.DataFrame(rows), whose


@pytest.mark.parametrize("is_split", [False, True])
def test_people_of_one_family_and_address_are_no_duplicates(is_split):
    frame, whose = households(is_split)
    finder = DuplicateFinder().fit(frame)
    found = finder.find()
    right = [whose[a] == whose[b] for a, b in found.pairs]
    assert np.mean(right) > 0.9 and np.sum(right) > 33
    every = finder.find(threshold=0.01)
    place = next(
        i for i, (a, b) in enumerate(every.pairs.tolist()) if abs(whose[a] - whose[b]) == 1000
    )
    assert every.kind[place] == "differs in name"
    (explained,) = finder.explain([every.pairs[place]])
    column = "column first" if is_split else "column name"
    assert explained.effects[column] < -3
    (reason,) = explained.reasons.values()
    given = [cell.split()[0] for cell in explained.cells[column.removeprefix("column ")]]
    assert reason == f"other first names: {' / '.join(given)}"
    assert f"{explained.effects[column]:+.2f} {column}, {reason} (without it" in str(explained)
    total = logit(explained.start) + sum(explained.effects.values())
    assert total == pytest.approx(logit(every.scores[place]))


@pytest.mark.parametrize("n_other", [0, 3, 2])
def test_first_names_are_found_in_any_form(n_other):
    """Every second or third name of the table may have its family name first too."""
    frame, _ = households(False)
    if n_other:
        name = frame["name"].iloc[::n_other].str.split()
        frame.loc[name.index, "name"] = name.str[1] + ", " + name.str[0]
    cases = [
        ("Huber, Max", "Anna Huber", True),
        ("Huber, Max", "Huber, Anna", True),
        ("Huber Max", "Anna Huber", True),
        ("Max Huber", "Anna Huber", True),
        ("Huber, Xaq", "Huber, Zora", True),
        ("Huber, M.", "Anna Huber", True),
        ("Huber, Max", "Max Huber", False),
        ("Huber Max", "Max Huber", False),
        ("Huber, M.", "Max Huber", False),
        ("Andrew Roberts", "Roberts Andrew", False),
        ("Andrew, Roberts", "Andrew Roberts", False),
    ]
    more = [
        {"name": name, "address": f"{400 + n} Oak Street", "town": "Bath"}
        for n, case in enumerate(cases)
        for name in case[:2]
    ]
    finder = DuplicateFinder().fit(pd.concat([frame, pd.DataFrame(more)], ignore_index=True))
    pairs = [(len(frame) + 2 * n, len(frame) + 2 * n + 1) for n in range(len(cases))]
    scores, kinds = finder.score_pairs(pairs)
    assert (kinds == "differs in name").tolist() == [case[2] for case in cases]
    assert scores[kinds == "differs in name"].max() < scores[kinds != "differs in name"].min()


def test_another_first_name_counts_less_between_people_born_on_one_day():
    frame, _ = households(False)
    rng = np.random.default_rng(1)
    years = [str(year) for year in rng.integers(1920, 2010, len(frame))]
    frame["born"] = [f"{year}-0{rng.integers(1, 10)}-17" for year in years]
    row = {"name": "Carl Roe", "address": "12 Elm Street", "town": "Bath", "born": "1970-03-03"}
    more = [row, row | {"name": "Nina Roe"}, row | {"name": "Nina Roe", "born": "1970-03-04"}]

    def effect(frame: pd.DataFrame) -> list[float]:
        finder = DuplicateFinder().fit(pd.concat([frame, pd.DataFrame(more)], ignore_index=True))
        pairs = [(len(frame), len(frame) + 1), (len(frame), len(frame) + 2)]
        assert finder.score_pairs(pairs)[1].tolist() == ["differs in name"] * 2
        explanations = finder.explain(pairs)
        told.append([explained.reasons["column name"] for explained in explanations])
        return [explained.effects["column name"] for explained in explanations]

    told: list[list[str]] = []
    same_day, next_day = effect(frame)
    assert same_day == pytest.approx(next_day + 2)
    # Dates of the last years are no dates of birth.
    recent = [f"20{n % 20:02d}-03-17" for n in range(len(frame))]
    same_day, next_day = effect(frame.assign(born=recent))
    assert same_day == pytest.approx(next_day)
    reason = "other first names: Carl / Nina"
    assert told == [[f"{reason}, born on the same day", reason], [reason, reason]]


def test_long_legal_forms_are_duplicates_of_short_ones():
    forms = {
        "AG": "Aktiengesellschaft",
        "KG": "Kommanditgesellschaft",
        "GmbH": "Gesellschaft mit beschränkter Haftung",
        "LLC": "Limited Liability Company",
        "Corp": "Corporation",
    }
    firms = "Siemens Bosch Bayer Henkel Linde Merck Krones Voith Zeiss Kuka".split()
    rows = [
        (f"{firm} {form}", "Ulm Bonn Kiel Jena Berlin".split()[number % 5])
        for number, firm in enumerate(firms)
        for form in [*forms.items()][number % len(forms)]
    ]
    found = DuplicateFinder().fit(pd.DataFrame(rows, columns=["firm", "town"])).find()
    assert sorted(found.pairs.tolist()) == [[row, row + 1] for row in range(0, len(rows), 2)]


def test_house_numbers_of_one_street_tell_people_apart():
    frame, _ = households(False)
    twins = [
        ("Carl Roe", "12 Elm Street"),
        ("Carl Roe", "14 Elm Street"),
        ("Carl Roe", "12 Elm St"),
    ]
    more = pd.DataFrame([{"name": a, "address": b, "town": "Bath"} for a, b in twins])
    finder = DuplicateFinder().fit(pd.concat([frame, more], ignore_index=True))
    n = len(frame)
    scores, kinds = finder.score_pairs([(n, n + 1), (n, n + 2)])
    assert scores[0] < 0.5 < scores[1]
    assert kinds[0] == "differs in number"


@pytest.mark.parametrize(
    ("column", "first", "other"),
    [("contact", "Alice Wood", "Brian Cole"), ("clerk", "Alice", "Brian")],
)
def test_people_in_a_later_column_are_not_who_the_record_is(column, first, other):
    rng, rows = np.random.default_rng(0), []
    for n in range(150):
        row = {"company": f"{FAMILY.split()[n % 14]} {ROADS.split()[n % 6]} {n} Ltd"}
        row |= {"town": str(rng.choice(["Bath", "York", "Dover"])), "phone": f"0{10**8 + 7919 * n}"}
        for _ in range(2 if n % 4 == 0 else 1):
            name = (
                rng.choice(FIRST.split())
                if column == "clerk"
                else " ".join((rng.choice(FIRST.split()), rng.choice(FAMILY.split())))
            )
            rows.append(row | {column: name})
    rows += [rows[0] | {column: first}, rows[0] | {column: other}]
    finder = DuplicateFinder().fit(pd.DataFrame(rows))
    scores, kinds = finder.score_pairs([(len(rows) - 2, len(rows) - 1)])
    assert scores[0] > 0.8 and kinds[0] != "differs in name"


def test_people_without_duplicates_have_none_and_no_column_is_left_out():
    rng = np.random.default_rng(0)
    rows = [
        {
            "first": rng.choice(FIRST.split()),
            "family": rng.choice(FAMILY.split()),
            "address": f"{rng.integers(1, 300)} {rng.choice(ROADS.split())} Street",
            "town": rng.choice(["Bath", "York", "Dover"]),
            "born": f"{rng.integers(1940, 2000)}-{rng.integers(10, 13)}-{rng.integers(10, 29)}",
        }
        for _ in range(400)
    ]
    finder = DuplicateFinder().fit(pd.DataFrame(rows))
    assert finder.left_out_ == ()
    assert len(finder.find()) < 3


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ([f"{first} {name}" for name in FAMILY.split() for first in ("Anna", "Peter")], "name"),
        ([f"{name} {form}" for name in FAMILY.split() for form in ("GmbH", "OHG")], "name"),
        ([f"{n} {name} St" for name in FAMILY.split() for n in (12, 14)], "number"),
        ([f"{n} {name} St" for n in range(7) for name in ("Elm", "Pine")], "name"),
    ],
)
def test_names_and_addresses_in_one_column_differ_as_in_records(texts, kind):
    finder = DuplicateFinder().fit([*texts, "Acme"])
    pairs = [(n, n + 1) for n in range(0, len(texts), 2)]
    scores, kinds = finder.score_pairs(pairs)
    assert set(kinds.tolist()) == {f"differs in {kind}"}
    for explained, score in zip(finder.explain(pairs), scores, strict=True):
        total = logit(explained.start) + sum(explained.effects.values())
        assert total == pytest.approx(logit(score))
    new = DuplicateFinder().fit(texts[1::2]).match(texts[::2], threshold=1e-6)
    found = dict(zip(map(tuple, new.pairs.tolist()), new.kind.tolist(), strict=True))
    assert {found[n, n] for n in range(len(pairs)) if (n, n) in found} == set(kinds)
