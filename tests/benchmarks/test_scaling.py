import json

from benchmarks import scaling


def in_proportion(case, folder):
    return {"vectorise": float(case.split()[0]), "fit": 0.0}


def test_a_measured_case_is_recorded_and_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    arguments = ["--sizes", "300", "--rank", "10", "--repeats", "0", "--out", str(tmp_path)]
    for name in ("_compare", "_compare_products"):
        monkeypatch.setattr(scaling, name, lambda options, folder: None)
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


def test_two_cores_are_compared_by_what_their_processes_do_at_once(tmp_path, monkeypatch):
    rates = {"products 0": 10.0, "products 1": 6.0}
    monkeypatch.setattr(scaling, "_process", lambda options, folder, stage: {"rate": rates[stage]})
    monkeypatch.setattr(scaling.os, "sched_getaffinity", lambda pid: {3, 5})
    options = scaling.argparse.Namespace(out=str(tmp_path), repeats=3, quick=False)
    scaling._compare_products(options, "")
    (row,) = map(json.loads, (tmp_path / "scaling.jsonl").read_text().splitlines())
    assert row["metric"] == "speedup" and row["value"] == 1.6


def test_products_are_counted_on_one_core(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "PRODUCT_SECONDS", 0.05)
    pinned = []
    monkeypatch.setattr(scaling.os, "sched_setaffinity", lambda pid, cores: pinned.append(cores))
    assert scaling.products(tmp_path, 0, 0, "products")["rate"] > 0
    assert len(pinned) == 1 and len(pinned[0]) == 1
