"""Records are found column by column, without labels."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from estimators import DuplicateFinder, load_model, record_duplicates, save_model
from film.datasets import make_records
from tests.estimators.pairs.test_record_features import products

FIRST = "anna ben carla dora emil fritz greta hans ida jonas klara lena max nina otto paul".split()
LAST = (
    "adler becker conrad dietrich ernst fischer graf huber jung keller lang meyer neumann".split()
)


def people(n, seed=0, n_twice=40):
    """People, of whom some come twice with a typo, an initial, or without a date."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "name": f"{rng.choice(FIRST)} {rng.choice(LAST)}",
            "born": f"{rng.integers(1950, 1990)}-{rng.integers(1, 13):02}-{rng.integers(1, 28):02}",
            "town": str(rng.choice(["ulm", "bonn", "kiel", "jena"])),
            "phone": f"0{rng.integers(100, 999)}/{rng.integers(10_000, 99_999)}",
        }
        for _ in range(n)
    ]
    for row in rows[:n_twice]:
        first, last = row["name"].split()
        other = dict(row, name=f"{last}, {first[0]}." if rng.random() < 0.5 else f"{first}e {last}")
        other["born" if rng.random() < 0.5 else "phone"] = ""
        rows.append(other)
    truth = {(i, n + i) for i in range(n_twice)}
    return pd.DataFrame(rows), truth


def f1(found, truth):
    found = {tuple(pair) for pair in found.pairs.tolist()}
    return 2 * len(found & truth) / (len(found) + len(truth))


def test_columns_find_what_joined_texts_miss():
    frame, truth = people(400)
    finder = DuplicateFinder().fit(frame)
    assert finder.columns_ == ("name", "born", "town", "phone")
    assert finder.kinds_ == {"name": "text", "born": "date", "town": "text", "phone": "phone"}
    joined = [" ".join(filter(None, row)) for row in frame.to_numpy().tolist()]
    by_column, as_texts = f1(finder.find(), truth), f1(DuplicateFinder().fit(joined).find(), truth)
    assert by_column > 0.95 and by_column >= as_texts


def test_large_groups_with_errors_in_every_cell_are_found():
    rng = np.random.default_rng(2)

    def typed(cell):
        for place in rng.integers(len(cell), size=1):
            cell = cell[:place] + cell[place + 1 :]
        return cell if rng.random() < 0.9 else ""

    rows, entity = [], []
    for number in range(90):
        last, road, host, firm = ("".join(rng.choice([*"aeioubdfgklmnprst"], 7)) for _ in range(4))
        cells = f"{rng.choice(FIRST)} {last}", f"{road} street", f"{last}@{host}.example", firm
        for _ in range(rng.choice([1, 4, 6])):
            rows.append([*map(typed, cells)])
            entity.append(number)
    table = pd.DataFrame(rows, columns=["name", "street", "mail", "firm"])
    found = DuplicateFinder().fit(table).find()
    entity = np.array(entity)
    same = np.equal(*entity[found.pairs].T)
    n_pairs = (np.bincount(entity) * (np.bincount(entity) - 1) // 2).sum()
    assert 2 * same.sum() / (len(same) + n_pairs) > 0.85


def test_a_person_may_have_many_rows():
    """Neighbours are then of the same person, so ranks mislead, and columns decide alone."""
    frame, _ = people(60, seed=6, n_twice=0)
    rng = np.random.default_rng(0)
    for column in ("street", "work", "mother"):
        frame[column] = ["".join(rng.choice(list("abdegiklmnorstu"), 8)) for _ in range(60)]
    rows = frame.loc[np.repeat(np.arange(60), 8)].reset_index(drop=True)
    for column in rows.columns:
        rows.loc[rng.random(len(rows)) < 0.2, column] = ""
    owner = np.repeat(np.arange(60), 8)
    finder = DuplicateFinder().fit(rows)
    found = finder.groups()
    pairs = finder.find()
    # Pairs of one group are listed, also below the threshold, and also those of copies.
    inside = found.labels[:, None] == found.labels
    inside[found.labels < 0] = False
    assert pairs.is_by_group
    assert sorted(pairs.pairs.tolist()) == np.argwhere(np.triu(inside, 1)).tolist()
    own, kinds = finder.score_pairs(pairs.ids.tolist())
    np.testing.assert_allclose(pairs.scores, own)
    assert pairs.kind.tolist() == kinds.tolist() and "copy" in kinds
    assert pairs.scores.min() < pairs.threshold == found.threshold
    assert finder.find(threshold=pairs.threshold).scores.min() >= pairs.threshold
    apart = [tuple(pairs.ids[-1])]
    again = finder.find(cannot_link=apart).ids.tolist()
    assert list(apart[0]) not in again and len(again) < len(pairs)
    assert found.labels.max() < 75
    both = np.flatnonzero(found.labels >= 0)
    n_of = pd.crosstab(found.labels[both], owner[both]).to_numpy()
    assert len(both) > 0.9 * len(rows) and (n_of > 0).sum(axis=1).max() == 1


@pytest.mark.parametrize(("n_columns", "by_group"), [(5, False), (6, True)])
def test_only_many_columns_yield_all_pairs_of_a_group(n_columns, by_group):
    """In tables of products, few columns that agree are often those of a brand and a size."""
    frame, _ = people(200, seed=8, n_twice=0)
    rng = np.random.default_rng(0)
    for column in ("street", "work"):
        frame[column] = ["".join(rng.choice(list("abdegiklmnorstu"), 8)) for _ in range(200)]
    rows = frame.loc[np.repeat(np.arange(200), 3)].reset_index(drop=True).iloc[:, -n_columns:]
    for column in rows.columns:
        rows.loc[rng.random(len(rows)) < 0.15, column] = ""
    finder = DuplicateFinder(compare=dict.fromkeys(rows, "text")).fit(rows)
    found = finder.find()
    assert found.is_by_group is by_group
    grouped = finder.groups().labels
    within = grouped[found.pairs[:, 0]] == grouped[found.pairs[:, 1]]
    assert within.all() or not by_group
    owner = np.repeat(np.arange(200), 3)
    assert (owner[found.pairs[:, 0]] == owner[found.pairs[:, 1]]).mean() > 0.95
    # A given threshold lists pairs by their own score.
    assert not finder.find(threshold=0.5).is_by_group


def test_two_tables_are_matched_in_either_direction():
    frame, truth = people(300, seed=1)
    old, new = frame[:300], frame[300:].reset_index(drop=True)
    true = {(b - 300, a) for a, b in truth}
    found = DuplicateFinder().fit(old, beside=new).match(new, one_to_one=True)
    assert f1(found, true) > 0.9
    # Columns may come in another order, and texts are shown without empty cells.
    again = DuplicateFinder().fit(old, beside=new[new.columns[::-1]])
    assert again.columns_ == finder_columns(old)
    np.testing.assert_array_equal(again.match(new, one_to_one=True).scores, found.scores)
    assert "\x1f" not in "".join(found.texts.ravel()) and "  " not in "".join(found.texts.ravel())


def with_noise(frame, seed=0):
    """Add what tables hold beside the things they describe, different for each row."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**8, len(frame)), "s")
    return frame.assign(
        written=days.astype(str), key=[rng.bytes(8).hex() for _ in range(len(frame))]
    )


def test_columns_that_tell_nothing_are_left_out(tmp_path):
    frame, _ = people(300, n_twice=200)
    noisy = with_noise(frame)
    finder = DuplicateFinder().fit(noisy)
    assert finder.left_out_ == ("written", "key") and finder.columns_ == tuple(frame)
    found, without = finder.find(), DuplicateFinder().fit(frame).find()
    np.testing.assert_array_equal(found.pairs, without.pairs)
    np.testing.assert_array_equal(found.scores, without.scores)
    # A collection knows them.
    save_model(finder, tmp_path / "people.film")
    loaded = load_model(tmp_path / "people.film")
    assert loaded.left_out_ == finder.left_out_
    assert len(loaded.match(noisy[:3], threshold=1.0)) >= 3
    # A given kind keeps a column, and without duplicates, all stay.
    kinds = dict.fromkeys(noisy, "") | {"key": "code"}
    assert DuplicateFinder(compare=kinds).fit(noisy).left_out_ == ("written",)
    assert DuplicateFinder().fit(with_noise(people(400, n_twice=0)[0])).left_out_ == ()


def test_numbers_of_rows_are_left_out_unless_they_are_named(tmp_path):
    frame, _ = people(300, n_twice=100)
    numbered = frame.reset_index(names="Unnamed: 0")
    finder = DuplicateFinder().fit(numbered)
    assert finder.left_out_ == ("Unnamed: 0",) and finder.columns_ == tuple(frame)
    found, without = finder.find(), DuplicateFinder().fit(frame).find()
    np.testing.assert_array_equal(found.pairs, without.pairs)
    np.testing.assert_array_equal(found.scores, without.scores)
    assert finder.fit(numbered[:300], beside=numbered[300:]).columns_ == tuple(frame)
    assert len(finder.match(numbered[300:])) and finder.add(numbered[300:]).ids_[-1] == 399
    both = DuplicateFinder().fit(with_noise(numbered))
    assert both.left_out_ == ("Unnamed: 0", "written", "key")
    kinds = dict.fromkeys(numbered, "") | {"Unnamed: 0": "number"}
    assert DuplicateFinder(compare=kinds).fit(numbered).left_out_ == ()
    only = numbered[["Unnamed: 0"]].assign(no=range(len(numbered)))
    assert DuplicateFinder().fit(only).left_out_ == ()


def test_columns_that_tell_nothing_about_two_tables_are_left_out():
    frame, truth = people(300, seed=1, n_twice=100)
    noisy = with_noise(frame)
    old, new = noisy[:300], noisy[300:].reset_index(drop=True)
    finder = DuplicateFinder().fit(old, beside=new)
    assert finder.left_out_ == ("written", "key")
    found = finder.match(new, one_to_one=True)
    assert f1(found, {(b - 300, a) for a, b in truth}) > 0.9
    # What fit has scored already is scored the same again.
    np.testing.assert_array_equal(finder.match(new, one_to_one=True).scores, found.scores)
    # Blocks of the second table are not known yet, so columns are judged over all blocks.
    finder.fit(old, blocks=old.town, beside=new)
    assert finder.left_out_ == ("written", "key") and finder.has_blocks_
    pairs = finder.match(new, blocks=new.town, one_to_one=True)
    assert f1(pairs, {(b - 300, a) for a, b in truth}) > 0.9
    finder.fit(old[[*frame]], blocks=old.town, beside=new[[*frame]])
    assert finder.left_out_ == () and finder.has_blocks_


def test_what_fit_has_scored_is_scored_again_once_rows_are_added():
    frame, _ = people(300, seed=1, n_twice=100)
    old, new = frame[:300], frame[300:].reset_index(drop=True)
    found = []
    for is_used in (True, False):
        finder = DuplicateFinder().fit(old, beside=new)
        if is_used:
            finder.match(new)
        finder.add(new[:20], ids=range(300, 320))
        found.append(finder.match(new, threshold=0.5))
    assert (found[0].pairs[:, 1] >= 300).sum() >= 20
    np.testing.assert_array_equal(found[1].pairs, found[0].pairs)


def finder_columns(frame):
    return tuple(frame.columns)


def test_the_score_of_a_new_record_does_not_depend_on_other_new_ones():
    frame, _ = people(300, seed=2)
    finder = DuplicateFinder().fit(frame)
    new = pd.DataFrame(
        {
            "name": ["anna adler", "x y"],
            "born": ["", ""],
            "town": ["ulm", "bonn"],
            "phone": ["", ""],
        }
    )
    alone = finder.match(new[:1], threshold=0.0)
    both = finder.match(new, threshold=0.0)
    some = both.pairs[:, 0] == 0
    assert len(alone) and len(both) > some.sum()
    np.testing.assert_allclose(np.sort(both.scores[some]), np.sort(alone.scores))


def test_rows_can_be_added_and_collections_saved(tmp_path):
    frame, truth = people(300, seed=3)
    whole = DuplicateFinder().fit(frame)
    grown = DuplicateFinder().fit(frame[:320])
    grown.add(frame[320:][["phone", "town", "born", "name"]])
    assert f1(grown.find(), truth) > 0.9
    save_model(whole, tmp_path / "people.film")
    loaded = load_model(tmp_path / "people.film")
    assert loaded.kinds_ == whole.kinds_ and loaded.columns_ == whole.columns_
    np.testing.assert_allclose(loaded.find().scores, whole.find().scores)
    with pytest.raises(ValueError, match="lacks column 'phone'"):
        loaded.match(frame[["name", "born", "town"]])
    with pytest.raises(TypeError, match="compared by column"):
        loaded.match(["anna adler"])


def test_explanations_name_what_each_column_adds():
    frame, truth = people(200, seed=4)
    finder = DuplicateFinder().fit(frame)
    pair = min(truth)
    (explanation,) = finder.explain([pair])
    (score,), _ = finder.score_pairs([pair])
    columns = {name for name in explanation.effects if name.startswith("column ")}
    assert columns == {"column name", "column born", "column town", "column phone"}
    odds = logit(explanation.start) + sum(explanation.effects.values())
    np.testing.assert_allclose(min(expit(odds), 0.999), score)
    assert explanation.effects["column name"] > 0


def test_pairs_show_both_records_by_column():
    frame, _ = people(200, seed=4)
    frame["note"] = frame.name.where(frame.index < 3)
    finder = DuplicateFinder(compare=["town", "name", "born"]).fit(frame)
    found = finder.find()
    table = found.to_frame()
    assert table.columns.tolist()[4:] == [
        *("left_town", "right_town", "left_name", "right_name", "left_born", "right_born")
    ]
    for side, rows in zip(("left", "right"), found.pairs.T, strict=True):
        for column in ("town", "name", "born"):
            assert table[f"{side}_{column}"].tolist() == frame[column].iloc[rows].tolist()
    effects = found.records.effects()
    for number, explanation in enumerate(finder.explain(found.pairs.tolist())):
        of_columns = {name: effect[number] for name, effect in effects.items()}
        assert of_columns == pytest.approx(
            {name: explanation.effects[f"column {name}"] for name in ("town", "name", "born")}
        )
    nothing = finder.find(threshold=1.0)
    assert not len(nothing) and nothing.to_frame().columns.tolist() == table.columns.tolist()
    assert DuplicateFinder().fit(["a", "a"]).find().records is None


def test_an_encoder_reads_cells_apart():
    class Words:
        def encode(self, texts, **_):
            assert not any("\x1f" in text for text in texts)
            return np.random.default_rng(0).normal(size=(len(texts), 4))

    frame, _ = people(60, seed=5)
    assert len(DuplicateFinder(encoder=Words()).fit(frame).find(budget=5)) == 5


def test_a_model_of_records_scores_a_whole_table():
    pairs, y = products(160)
    model = record_duplicates(cv=3, random_state=0).fit(pairs, y)
    left = pairs[[c for c in pairs if c.startswith("left_")]]
    left = left.rename(columns=lambda name: name.removeprefix("left_"))
    right = pairs[[c for c in pairs if c.startswith("right_")]]
    right = right.rename(columns=lambda name: name.removeprefix("right_"))

    def scored(finder):
        finder.fit(right[right.columns[::-1]], beside=left)
        found = finder.match(left, threshold=0.0)
        return {(a, b): p for (a, b), p in zip(found.pairs.tolist(), found.scores, strict=True)}

    finder = DuplicateFinder(model)
    given, general = scored(finder), scored(DuplicateFinder(compare=list(model.columns_)))
    assert finder.columns_ == model.columns_ and finder.kinds_ == {}
    there = [row for row in range(len(pairs)) if given.get((row, row), 1) < 1]
    assert len(there) > 20
    some = pairs.iloc[there]
    known = [general[row, row] for row in there]
    in_table = model.predict_proba(some, general=known)[:, 1]
    assert not np.allclose(in_table, model.predict_proba(some)[:, 1])
    np.testing.assert_allclose([given[row, row] for row in there], in_table)
    few = DuplicateFinder(model).fit(right[:20], beside=left[:20]).match(left[:20], threshold=0.0)
    a, b = few.pairs[few.kind != "copy"].T
    alone = [model.predict_proba(pairs[:20]).tolist()[row][1] for row in a[a == b]]
    np.testing.assert_allclose(few.scores[few.kind != "copy"][a == b], alone)


def test_explanations_by_a_model_of_records_are_of_its_scores_in_the_table():
    pairs, y = products(160)
    model = record_duplicates(cv=3, random_state=0).fit(pairs, y)
    rows = pairs[[c for c in pairs if c.startswith("left_")]]
    finder = DuplicateFinder(model, n_neighbors=20)
    finder.fit(rows.rename(columns=lambda name: name.removeprefix("left_")))
    asked = [(0, 1), (2, 9)]
    (explained, *_), (score, *_) = finder.explain(asked), finder.score_pairs(asked)[0]
    assert explained.probability == pytest.approx(score)
    assert [*explained.columns] == ["title", "model", "price", "seen"]


@pytest.mark.parametrize(
    ("compare", "error", "words"),
    [
        (["name", "street"], ValueError, "lacks column 'street'"),
        ({"name": "person"}, ValueError, r"compare\['name'\]"),
        ({"name": "number"}, ValueError, "100% of the values of column 'name' are no number"),
        ("name", TypeError, "compare='name' must be a list"),
    ],
)
def test_bad_columns_are_refused_before_any_work(compare, error, words):
    frame, _ = people(20, n_twice=2)
    with pytest.raises(error, match=words):
        DuplicateFinder(compare=compare).fit(frame)


def test_columns_without_values_are_left_out_and_cosines_have_no_columns():
    frame, _ = people(20, n_twice=2)
    frame["note"] = ""
    with pytest.warns(UserWarning, match="column 'note' has no value"):
        assert "note" not in DuplicateFinder().fit(frame).kinds_
    with pytest.raises(ValueError, match="embedder compares whole texts"):
        DuplicateFinder(embedder=lambda texts: np.ones((len(texts), 2))).fit(frame)
    assert DuplicateFinder(compare=["town", "name"]).fit(frame).columns_ == ("town", "name")


def test_two_records_without_candidates_have_no_duplicates():
    frame = pd.DataFrame({"name": ["abc", "xyz"], "town": ["ulm", "bonn"]})
    finder = DuplicateFinder().fit(frame)
    assert len(finder.find(threshold=0.5)) == 0
    assert finder.query("abc ulm", k=1).scores[0] > 0.5


def test_copies_show_the_cells_of_their_own_rows():
    rows = {"name": ["Ann Lee", "ANN LEE", "Bo Li"], "town": ["Ulm", "ULM", "Bonn"]}
    finder = DuplicateFinder(compare=["name", "town"]).fit(rows)
    (pair,) = finder.find(threshold=1.0).rows()
    assert (pair["left_name"], pair["right_name"]) == ("Ann Lee", "ANN LEE")
    assert (pair["left_town"], pair["right_town"]) == ("Ulm", "ULM")
    new = {"name": ["ann lee"], "town": ["ulm"]}
    found = finder.match(new, threshold=1.0).rows()
    assert [row["right_name"] for row in found] == ["Ann Lee", "ANN LEE"]
    assert finder.texts_.tolist() == ["Ann Lee Ulm", "ANN LEE ULM", "Bo Li Bonn"]
    (verdict,) = finder.explain([(0, 1)])
    assert verdict.cells["town"] == ("Ulm", "ULM")
    assert finder.add(new).find(threshold=1.0).rows()[-1]["right_town"] == "ulm"


def test_cells_of_a_collection_that_kept_them_in_the_index_alone():
    rows = {"name": ["Ann Lee", "Bo Li", "Ann Li"], "town": ["Ulm", "", "Ulm"]}
    finder = DuplicateFinder(compare=["name", "town"]).fit(rows)
    expected = finder.find(threshold=0.0).rows()
    texts = finder.texts_.tolist()
    finder._rows.records[:] = finder.texts_
    finder.check_state()
    assert finder.find(threshold=0.0).rows() == expected
    assert finder.texts_.tolist() == texts
    finder.check_state()
    assert finder.find(threshold=0.0).rows() == expected


def test_golden_values_may_be_lists():
    rows = {"name": ["Ann Lee", "Ann Lee", "Bo"], "town": ["Ulm", "Ulm", "Bonn"]}
    groups = DuplicateFinder(compare=["name", "town"]).fit(rows).groups(threshold=1.0)
    merged, _ = groups.golden({"tags": [[], ["a", "b"], None]})
    assert merged == {"tags": [["a", "b"], None]}


def test_near_points_agree_whatever_their_digits():
    records, entities = make_records("people", 200, random_state=0)
    truth = {
        (a, b)
        for a, b in np.argwhere(entities[:, None] == entities).tolist()
        if a < b
    }  # fmt: skip
    place = records["location"].str.split(", ", expand=True)
    split = records.drop(columns="location").assign(lat=place[0], lon=place[1])
    found = {}
    for name, frame in {"point": records, "split": split, "none": split.iloc[:, :-2]}.items():
        finder = DuplicateFinder().fit(frame)
        found[name] = f1(finder.find(budget=len(truth)), truth)
        kinds = {finder.kinds_.get(column) for column in ("location", "lat", "lon")}
        assert kinds - {None} == (set() if name == "none" else {"point"})
    assert min(found["point"], found["split"]) > found["none"] + 0.02
    same = records[["name", "location"]].assign(name="Ann Lee", location="48.137, 11.575")
    odd = pd.concat([same[:1], same[:1].assign(location="48.1371, 11.5752"), records[same.columns]])
    finder = DuplicateFinder(compare={"name": "text", "location": "point"}).fit(odd)
    scores, kinds = finder.score_pairs([(0, 1)])
    assert kinds.tolist() == ["spelling"] and scores[0] > 0.5


def rows_of(*columns, **fixed):
    """Return a frame with every combination of values, none of which is a duplicate."""
    names, values = zip(*columns, strict=True)
    grid = pd.MultiIndex.from_product(values, names=names).to_frame(index=False)
    return grid.assign(**fixed)


def test_exchanged_values_of_columns_of_equal_values_are_another_order():
    towns = ["Leipzig", "Hamburg", "Dresden", "Munich", "Cologne", "Bremen", "Kassel", "Vienna"]
    trips = rows_of(("from", towns), ("to", towns)).query("`from` != to")
    trips = trips.assign(name=[f"Passenger {chr(65 + i % 26)}" for i in range(len(trips))])
    found = DuplicateFinder().fit(trips).find(threshold=0)
    ends = np.sort(trips.to_numpy()[:, :2].astype(str)[found.pairs], axis=2)
    exchanged = (ends[:, 0] == ends[:, 1]).all(axis=1)
    assert exchanged.any() and set(found.kind[exchanged]) == {"differs in order"}


@pytest.mark.parametrize("column", ["pack", "size"])
def test_what_tells_variants_apart_is_never_left_out(column):
    names = [
        f"{a}{b}" for a in ("Meto", "Rami", "Simva", "Parace") for b in ("prolol", "pril", "statin")
    ]
    values = {"pack": [20, 50, 100], "size": ["S", "M", "L"]}[column]
    frame = rows_of(("medicine", names), (column, values), maker="Hexal")
    finder = DuplicateFinder().fit(pd.concat([frame, frame[:12]], ignore_index=True))
    assert finder.left_out_ == ()
    same = [
        frame[column][a % len(frame)] == frame[column][b % len(frame)]
        for a, b in finder.find(threshold=0.99).pairs
    ]
    assert all(same)
