"""A release is looked into before it goes out, and what it lacks is named."""

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from benchmarks.release import SEMANTIC, built, check_source, check_wheel, main


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    return built(tmp_path_factory.mktemp("dist"))


def test_the_check_runs_on_a_part(tmp_path):
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "release.jsonl").read_text().splitlines()]
    assert {row["metric"] for row in rows} == {"wheel", "source"}
    assert all(0.1 < row["value"] < 20 for row in rows)


@pytest.mark.parametrize(
    ("left_out", "added", "error"),
    [
        ("film/py.typed", None, "lacks film/py.typed"),
        ("estimators/metric/__init__.pyi", None, "lacks estimators/metric/__init__.pyi"),
        (None, "tests/test_docs.py", "holds tests/test_docs.py"),
    ],
)
def test_a_wheel_without_a_file_or_with_one_too_many_is_refused(
    distributions, tmp_path, left_out, added, error
):
    wheel, _ = distributions
    check_wheel(wheel)
    other = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            if name != left_out:
                target.writestr(name, source.read(name))
        if added:
            target.writestr(added, "")
    with pytest.raises(ValueError, match=error):
        check_wheel(other)


def test_a_source_distribution_without_its_tests_is_refused(distributions, tmp_path):
    _, source = distributions
    check_source(source)
    fewer = tmp_path / source.name
    with tarfile.open(source) as archive, tarfile.open(fewer, "w:gz") as target:
        for member in archive.getmembers():
            if Path(member.name).parts[1] != "tests":
                target.addfile(member, archive.extractfile(member) if member.isfile() else None)
    with pytest.raises(ValueError, match="lacks tests/"):
        check_source(fewer)


@pytest.mark.parametrize("version", ["0.1.0", "1.10.2", "2.0.0rc1"])
def test_versions_are_semantic(version):
    assert SEMANTIC.fullmatch(version)
    assert not SEMANTIC.fullmatch(version.rpartition(".")[0])
    assert not SEMANTIC.fullmatch("0" + version)
