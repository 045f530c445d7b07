import json
import re

from estimators import load_model
from estimators.cli.commands import explain as command
from estimators.cli.tables import read_table
from tests.estimators.cli.commands import refused, run, write_csv

PAIR = ["How do I learn chess?", "How can I learn <b>chess</b>?"]


def test_a_pair_of_the_command_line(shelf):
    ran = run("explain", "--text-pair", *PAIR, "-m", shelf / "model.skops")
    (verdict,) = load_model(shelf / "model.skops").explain([tuple(PAIR)])
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{verdict}\n"


def test_a_table_as_records(shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "BLOCK", 4)
    rows = (shelf / "dev.csv").read_text("utf-8").splitlines(True)[:7]
    path = tmp_path / "few.csv"
    path.write_text("".join(rows), "utf-8")
    ran = run("explain", path, "-m", shelf / "model.skops", "-f", "jsonl")
    table = read_table(path)
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))
    model = load_model(shelf / "model.skops")
    verdicts = [*model.explain(pairs[:4]), *model.explain(pairs[4:])]
    assert ran.records == [json.loads(json.dumps(verdict.to_dict())) for verdict in verdicts]


def test_the_page_holds_every_pair_escaped(shelf, tmp_path):
    path = write_csv(tmp_path / "t.csv", ["text1", "text2"], [PAIR, ["</script>", "?"], ["", ""]])
    page = tmp_path / "page.html"
    ran = run("explain", path, "-m", shelf / "model.skops", "--html", page)
    assert (ran.code, ran.out) == (0, "")
    html = page.read_text(encoding="utf-8")
    assert "\\u003cb\\u003echess" in html and "<b>chess" not in html
    (data,) = re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", html, re.DOTALL)
    content = json.loads(data)
    assert [pair["text1"] for pair in content["pairs"]] == [PAIR[0], "</script>", ""]
    assert all(pair["verdict"]["steps"] for pair in content["pairs"])


def test_page_and_result_together(shelf, tmp_path):
    out, page = tmp_path / "out.txt", tmp_path / "page.html"
    ran = run("explain", "-p", *PAIR, "-m", shelf / "model.skops", "-o", out, "--html", page)
    assert page.exists() and "% duplicate" in out.read_text(encoding="utf-8")
    assert f"wrote {out} (" in ran.err and f"wrote {page} (1 pair explained, " in ran.err


def test_what_does_not_fit_together(shelf, tmp_path):
    model = shelf / "model.skops"
    assert "requires 2 arguments" in refused("explain", "-m", model, "-p", "a")
    assert "terminal" in refused("explain", "-m", model, "-p", "a", "caf\udce9")
    both = ["-o", tmp_path / "x", "--html", tmp_path / "x"]
    assert "would overwrite" in refused("explain", "-p", *PAIR, "-m", model, *both)


def test_a_page_holds_the_first_pairs_and_says_so(shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "PAGE_PAIRS", 3)
    rows = (shelf / "dev.csv").read_text("utf-8").splitlines(True)[:9]
    (tmp_path / "few.csv").write_text("".join(rows), "utf-8")
    table = ["explain", tmp_path / "few.csv", "-m", shelf / "model.skops"]
    alone, page, out = (tmp_path / name for name in ("alone.html", "page.html", "all.jsonl"))
    ran = run(*table, "--html", alone)
    assert "the first 3 of 8 pairs explained" in ran.err
    assert run(*table, "--html", page, "--out", out).code == 0
    for path in (alone, page):
        (data,) = re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", path.read_text("utf-8"), re.S)
        assert len(json.loads(data)["pairs"]) == 3
    assert len(out.read_text("utf-8").splitlines()) == 8


def test_without_a_model_general_scores_are_explained(tmp_path):
    rows = [PAIR, ["a phone of 128 GB", "a phone of 256 GB"], ["the same", "The  same"], ["", "?"]]
    path, page = write_csv(tmp_path / "t.csv", ["text1", "text2"], rows), tmp_path / "page.html"
    scored = run("score", path, "-f", "jsonl").records
    out = tmp_path / "out.jsonl"
    ran = run("explain", path, "-o", out, "--html", page)
    assert ran.code == 0
    told = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [each["score"] for each in told] == [row["score"] for row in scored]
    assert [each["kind"] for each in told] == [row["kind"] for row in scored]
    assert told[1]["difference"] == "differs in number: 128 / 256"
    assert told[1]["effects"]["numbers and codes"] < -0.5 and not told[2]["effects"]
    html = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;chess&lt;/b&gt;" in html and "<b>chess" not in html
    shown = run("explain", "-p", *rows[1]).out
    assert "differs in number: 128 / 256" in shown and "without it" in shown
