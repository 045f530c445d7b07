"""The page of ``film review --html``, in a real browser."""

import csv
import re

import pytest

from estimators.cli.tables import read_table
from film.text import normalize_text
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.inspection.test_judged_pairs_in_browser import reload

PERCENT = r"(\d+) % \((\d+)–(\d+) %\)"


def key(pair):
    return tuple(sorted(map(normalize_text, pair)))


@pytest.fixture
def table(tmp_path, request):
    """Texts of a hundred topics, with one duplicate each; other texts in each test."""
    starts, ends = "b d f g k l m n r t".split(), "ano elu ira osi uva ebi ado ule imo are".split()
    names = [start + end for start in starts for end in ends]
    about = [f"{name} I bought, number {i}" for i, name in enumerate(names)]
    of = "".join(word[0] for word in request.node.name.split("_"))
    rows = [
        [f"how {of} {form} {what}"] for form in ("do I return the", "to return a") for what in about
    ]
    return write_csv(tmp_path / "texts.csv", ["text"], rows)


def same(pair):
    return len({re.findall(r"\d+", text)[0] for text in pair}) == 1


def page(table, labels, *options):
    path = table.parent / "review.html"
    ran = run("review", table, "--labels", labels, "--html", path, "--threshold", 0.6, *options)
    assert ran.code == 0, ran.err
    return path.read_text(encoding="utf-8")


def shown(browser):
    return tuple(browser.texts("#shown .text"))


def press(browser, keys):
    browser.keys("body", keys)


def percentages(line):
    return [int(number) for found in re.findall(PERCENT, line) for number in found]


def test_the_page_and_the_command_ask_and_estimate_alike(browser, table, tmp_path):
    labels = tmp_path / "labels.csv"
    browser.open(page(table, labels))
    first = run("review", table, "--labels", tmp_path / "x.csv", "--threshold", 0.6, stdin="q\n")
    lines = first.err.split("1/20")[1].split("\n")[1:3]
    assert key(shown(browser)) == key(line.strip() for line in lines)
    asked = []
    for _ in range(40):
        asked.append(shown(browser))
        press(browser, "y" if same(asked[-1]) else "n")
    assert len(set(map(key, asked))) == 40
    assert "40 answers" in browser.texts("#counts")[0]
    path = browser.download("#labels", "labels.csv")
    rows = read_table(path)
    assert rows.columns == ["text1", "text2", "label"]
    assert [tuple(row) for row in rows.rows] == [(*pair, str(int(same(pair)))) for pair in asked]
    # The command takes the answers as the sample that they are; s adds nothing.
    ran = run("review", table, "--labels", path, "--threshold", 0.6, "-n", 1, stdin="s\n")
    (line,) = re.findall("at threshold 0.60: .*", ran.err)
    ours, theirs = percentages(browser.texts("#estimate")[0]), percentages(line)
    assert len(ours) == 6 and all(abs(a - b) <= 2 for a, b in zip(ours, theirs, strict=True))
    assert [url for url in browser.requests() if url.startswith("http")] == []


def test_keys_undo_reasons_and_what_nobody_can_tell(browser, table, tmp_path):
    browser.open(page(table, tmp_path / "labels.csv"))
    pair = shown(browser)
    press(browser, "u")
    assert shown(browser) == pair and not browser.one("#undo").is_enabled()
    press(browser, "y")
    assert shown(browser) != pair
    press(browser, "u")
    assert shown(browser) == pair
    press(browser, "2n")
    second = shown(browser)
    press(browser, "s")
    assert browser.texts("#counts")[0] == "2 answers: 0 same, 1 different, 1 can't tell"
    press(browser, "33")
    third = shown(browser)
    browser.click("#same")
    with browser.download("#labels", "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["text1", "text2", "label", "reason"],
        [*pair, "0", "number"],
        [*second, "", ""],
        [*third, "1", ""],
    ]


def test_answers_stay_in_the_browser_and_those_of_the_file_count(browser, table, tmp_path):
    labels = tmp_path / "labels.csv"
    run("review", table, "--labels", labels, "--threshold", 0.6, "-n", 3, stdin="y\nn 2\ns\n")
    before = {key(row[:2]) for row in read_table(labels).rows}
    header, *lines = labels.read_text(encoding="utf-8").splitlines()
    noted = [f"note,{header}", *(f"note {n},{line}" for n, line in enumerate(lines))]
    labels.write_text("\n".join(noted), encoding="utf-8")
    browser.open(page(table, labels))
    assert browser.texts("#counts")[0] == "3 answers: 1 same, 1 different, 1 can't tell"
    pair = shown(browser)
    assert key(pair) not in before
    press(browser, "y")
    reload(browser)
    assert browser.texts("#counts")[0] == "4 answers: 2 same, 1 different, 1 can't tell"
    labels.unlink()
    found = read_table(browser.download("#labels", "labels.csv"))
    assert found.columns == ["text1", "text2", "label", "note", "reason"]
    assert [row[2:] for row in found.rows] == [
        ["1", "note 0", ""],
        ["0", "note 1", "number"],
        ["", "note 2", ""],
        ["1", "", ""],
    ]


def test_it_says_when_to_stop(browser, table, tmp_path):
    browser.open(page(table, tmp_path / "labels.csv", "--precision", 0.6))
    for _ in range(30):
        assert not browser.one("#stop").is_displayed()
        press(browser, "n")
    assert "the precision is below 60%: its 95 % interval ends at" in browser.texts("#stop")[0]


def test_records_are_shown_by_column(browser, tmp_path):
    names = "red blue old big".split()
    rows = [[f"{name} inn", f"{name} street {i}", f"{i}0"] for i, name in enumerate(names)]
    others = [[f"{name} hotel", *rest] for name, *rest in rows]
    table = write_csv(tmp_path / "t.csv", ["name", "street", "seats"], [*rows, *others])
    browser.open(page(table, tmp_path / "labels.csv"))
    assert browser.texts("#shown th") == ["name", "street", "seats"]
    assert len(browser.texts("#reasons button")) == 3
    press(browser, "1n")
    found = read_table(browser.download("#labels", "labels.csv"))
    assert found.columns[:2] == ["left_name", "right_name"]
    assert found.rows[0][-2:] == ["0", "name"]
    assert run("review", table, "--labels", found.source, "-n", 1, stdin="n\n").code == 0


def test_hostile_texts_run_nothing(browser, hostile_texts, tmp_path):
    rows = [[text, text + " x"] for text in hostile_texts[:-1]]
    table = write_csv(tmp_path / "t.csv", ["text1", "text2"], rows)
    browser.open(page(table, tmp_path / "labels.csv"))
    while browser.one("#asked").is_displayed():
        press(browser, "n")
    assert browser.one("#end").is_displayed()


def test_what_asks_in_the_terminal_is_refused(table, tmp_path):
    options = ["review", table, "--labels", tmp_path / "l.csv", "--html", tmp_path / "p.html"]
    for more in (["-n", 3], ["--model", tmp_path / "m.film"], ["--second", tmp_path / "s.csv"]):
        assert "--html asks nothing here" in refused(*options, *more)
