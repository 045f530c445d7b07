import json

from benchmarks import scaling


def test_a_measured_case_is_recorded_and_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    arguments = ["--sizes", "300", "600", "--rank", "10", "--repeats", "0", "--out", str(tmp_path)]
    monkeypatch.setattr(scaling, "_compare", lambda options, folder: None)
    asked = []
    process = scaling._process
    monkeypatch.setattr(scaling, "_process", lambda *a: asked.append(a[2]) or process(*a))
    assert scaling.main(arguments) == 0
    assert asked == ["corpus 300", "alone 300", "corpus 600", "alone 600"]
    rows = [json.loads(line) for line in (tmp_path / "scaling.jsonl").read_text().splitlines()]
    cases = {row["case"] for row in rows}
    assert cases == {*(f"{n} texts, rank 10" for n in (300, 600)), "300 to 600 texts, rank 10"}
    of_one = {row["metric"] for row in rows if row["case"] == "300 texts, rank 10"}
    assert of_one >= {*scaling.STAGES, "peak"}
    scaling.main(arguments)
    assert len(asked) == 4 and "slope" in capsys.readouterr().out
