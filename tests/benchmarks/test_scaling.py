import json

from benchmarks import scaling


def in_proportion(case, folder):
    return {"vectorise": float(case.split()[0]), "fit": 0.0}


def test_a_measured_case_is_recorded_and_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    arguments = ["--sizes", "300", "--rank", "10", "--repeats", "0", "--out", str(tmp_path)]
    monkeypatch.setattr(scaling, "_compare", lambda options, folder: None)
    asked = []
    process = scaling._process
    monkeypatch.setattr(scaling, "_process", lambda *a: asked.append(a[2]) or process(*a))
    assert scaling.main(arguments) == 0
    assert asked == ["corpus 300", "alone 300"]
    rows = [json.loads(line) for line in (tmp_path / "scaling.jsonl").read_text().splitlines()]
    assert {row["case"] for row in rows} == {"300 texts, rank 10"}
    assert {row["metric"] for row in rows} >= {*scaling.STAGES, "peak"}
    monkeypatch.setattr(scaling, "recorded", in_proportion)
    scaling.main([*arguments, "--sizes", "300", "600"])
    assert len(asked) == 2 and "slope of vectorise and fit: 1.00" in capsys.readouterr().out
