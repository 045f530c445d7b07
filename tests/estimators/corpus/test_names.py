"""Names are compared by their usual words, without labels."""

from typing import Any

import pandas as pd

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
    del finder._scores.columns._are_names
    save_model(finder, tmp_path / "older.film")
    assert effects(load_model(tmp_path / "older.film"))[0] < same
