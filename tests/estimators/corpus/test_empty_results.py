"""Results without a row have the columns of those with rows."""

from estimators import DuplicateFinder


def test_tables_of_nothing_have_their_columns():
    finder = DuplicateFinder().fit(["one text"])
    found = finder.find(budget=3)
    assert found.to_frame().columns.tolist() == [
        "id1", "id2", found.score_name, "kind", "text1", "text2"]  # fmt: skip
    groups = finder.groups(threshold=0.9)
    assert groups.to_frame().columns.tolist() == [
        "group", "size", groups.score_name, "weakest", "row", "id", "text"]  # fmt: skip
    near = finder.query("", k=1)
    assert near.to_frame().columns.tolist() == ["row", "id", near.score_name, "kind", "text"]
    full = DuplicateFinder().fit(["one text", "one text"])
    for some, none in (
        (full.find(budget=1), found),
        (full.groups(threshold=0.9), groups),
        (full.query("one text", k=1), near),
    ):
        assert list(some.rows()[0]) == some.to_frame().columns.tolist()
        assert some.to_frame().columns.tolist() == none.to_frame().columns.tolist()
