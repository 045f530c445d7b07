"""Tables of records at the command line: faults of columns that are left out."""

import json
import re

import pytest

from tests.estimators.cli.commands import run
from tests.estimators.corpus.test_records import people, with_noise


@pytest.fixture(scope="module")
def noted(tmp_path_factory):
    """A table whose second column, the time when a row was written, is left out."""
    path = tmp_path_factory.mktemp("noted") / "people.csv"
    frame = with_noise(people(300, n_twice=200)[0])
    columns = ["id", "name", "written", "born", "town", "phone"]
    frame.assign(id=frame.index)[columns].to_csv(path, index=False)
    return path


def test_cells_are_shown_under_their_columns(noted, tmp_path):
    ran = run("duplicates", noted, "--html", tmp_path / "page.html")
    assert ran.code == 0 and "say nothing about duplicates: written" in ran.err, ran.err
    html = (tmp_path / "page.html").read_text("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    shown = json.loads(data)
    towns = {text["cells"][shown["columns"].index("town")] for text in shown["texts"]}
    assert towns == {"ulm", "bonn", "kiel", "jena"}
