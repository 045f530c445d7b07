"""Model files of strangers: what would fill the memory, hang or lead compiled code astray."""

import json
import re
import shutil
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from estimators import (
    DisjointPairsKFold,
    DuplicateFinder,
    load_model,
    save_model,
)
from estimators.cli import main
from film.unpacking import json_size
from tests.estimators.forged_models import (
    array_file,
    members_of,
    node,
    plain,
    reduced,
    row,
    write_members,
)

X = np.random.default_rng(0).normal(size=(60, 3))
TEXTS = ["how do I learn chess", "learning chess", "where is Paris", "a cat", "a cat", ""]


def array(file="made.npy", **more):
    return node("NdArray", "numpy.ndarray", type="numpy", file=file, **more)


def objects(shape, *items):
    shape = row(*map(plain, shape), kind="Tuple")
    return node("NdArray", "numpy.ndarray", type="json", content=list(items), shape=shape)


def nest(inner, depth, width, **more):
    """Lists in lists, each of which holds the same one so many times."""
    for number in range(1, depth + 1):
        again = {"__id__": number - 1} if number > 1 else inner
        inner = row(inner, *[again] * (width - 1), __id__=number, **more)
    return inner


def tree(n_outputs, **state):
    keys = row(*[node("Type", "builtins.str")] * len(state))
    return node(
        "Tree",
        "sklearn.tree._tree.Tree",
        __reduce__={"args": row(plain(3), array(), plain(n_outputs), kind="Tuple")},
        content=node("Dict", "builtins.dict", content=state, key_types=keys),
    )


def generator(**seeds):
    state = {"bit_generator": plain({"bit_generator": "PCG64"}), "seed_seq": plain(seeds)}
    return node("RandomGenerator", "numpy.random._generator.Generator", content=state)


MEGABYTES = array_file(np.zeros(8 * 2**17))
ONE = array_file(np.ones(1, dtype=np.intp))
HUGE = {
    "a set of a range": (
        reduced("builtins.frozenset", reduced("builtins.range", plain(10**12))),
        None,
    ),
    "one array named 40 times": (row(*[array()] * 40), MEGABYTES),
    "one array shared 40 times": (
        row(array(__id__=7), *[{"__id__": 7}] * 39),
        MEGABYTES,
    ),
    "an array of arrays": (objects((31, 2**20), *[array()] * 31), MEGABYTES),
    "a table of one list": (
        objects((40, 10**6), plain([0] * 10**6) | {"__id__": 7}, *[{"__id__": 7}] * 39),
        None,
    ),
    "many empty entries": (plain([{}] * 3_000_000), None),
    "sets of one list": (
        row(
            reduced("builtins.frozenset", plain(list(range(300_000))) | {"__id__": 7}),
            *[reduced("builtins.frozenset", {"__id__": 7})] * 40,
        ),
        None,
    ),
    "two of two of two": (nest(plain("x"), 60, 2), None),
    "a nest": (nest(plain("x"), 200, 1), None),
    "a tree of other outputs": (tree(10**6), ONE),
    "nodes without a shape": (tree(1, nodes=objects((), plain(0)), values=array()), ONE),
    "a number that is bytes": (
        node(
            "Dict",
            "builtins.dict",
            content={"1000000000000": plain(1)},
            key_types=row(node("Type", "numpy.void")),
        ),
        None,
    ),
    "a wide pool of seeds": (generator(entropy=1, spawn_key=[], pool_size=10**9), None),
    "many seeds": (generator(entropy=[0] * 300_000, spawn_key=[], pool_size=4), None),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.film"
    save_model(LogisticRegression().fit(X, np.arange(60) % 2), path)
    return path


def plant(path, planted, file=None):
    content = members_of(path)
    schema = json.loads(content["schema.json"])
    schema["content"]["content"]["C"] = planted
    content["schema.json"] = json.dumps(schema).encode()
    if file is not None:
        content["made.npy"] = file
    write_members(path, content, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize("case", HUGE)
def test_what_would_fill_the_memory_is_refused_before_it_is_built(saved, case):
    plant(saved, *HUGE[case])
    assert saved.stat().st_size < 3_000_000
    started = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"limit of|cannot be restored"):
            load_model(saved)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * 2**28 and time.process_time() - started < 10


def test_a_schema_of_empty_entries_is_refused_before_it_is_read(saved):
    content = members_of(saved)
    schema = content["schema.json"][:-1] + b', "more": [' + b"{}," * 3_000_000 + b"0]}"
    write_members(saved, content | {"schema.json": schema}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="more than 268,435,456 in memory"):
        load_model(saved)


@pytest.mark.parametrize(
    "content",
    [
        *(
            "[" + ",".join([part] * 50_000) + "]"
            for part in ("{}", "[0]", "1e5", '"ab"', '{"a":0}')
        ),
        "{" + ",".join(f'"{n:x}":9e9' for n in range(45_000)) + "}",
        '["' + "a" * 10**6 + '\\ud83d\\ude00"]',
        '"' + "é" * 10**6 + '"',
    ],
    ids=lambda content: content[:9],
)
def test_json_takes_no_more_than_twice_what_is_counted(content):
    tracemalloc.start()
    try:
        json.loads(content)
        assert tracemalloc.get_traced_memory()[1] < 2 * json_size(content.encode())
    finally:
        tracemalloc.stop()


def moved(path, old, new):
    """Change a number, or a text, of the schema."""
    content = members_of(path)
    schema = content["schema.json"].decode()
    old, new = (json.dumps({"content": json.dumps(value)})[1:-1] for value in (old, new))
    assert old in schema
    write_members(path, content | {"schema.json": schema.replace(old, new).encode()})


@pytest.mark.parametrize("position", [625, 2_000_000_000, -1])
@pytest.mark.parametrize("kind", [KFold, DisjointPairsKFold])
def test_random_numbers_are_read_from_where_they_are(tmp_path, kind, position):
    path = tmp_path / "folds.film"
    save_model(kind(3, shuffle=True, random_state=np.random.RandomState(0)), path)
    moved(path, 624, position)
    with pytest.raises(ValueError, match="position out of range"):
        load_model(path)


@pytest.mark.parametrize(("bits", "position"), [(np.random.MT19937, 623), (np.random.Philox, 3)])
def test_generators_read_from_where_their_numbers_are(saved, bits, position):
    model = load_model(saved)
    model.random_state = np.random.Generator(bits(0))
    state: Any = model.random_state.bit_generator.state
    held, name = (state["state"], "pos") if bits is np.random.MT19937 else (state, "buffer_pos")
    held[name] = position
    model.random_state.bit_generator.state = state
    save_model(model, saved)
    drawn = load_model(saved).random_state.integers(10**6, size=9)
    np.testing.assert_array_equal(drawn, model.random_state.integers(10**6, size=9))
    moved(saved, position, 2_000_000_000)
    with pytest.raises(ValueError, match="position out of range"):
        load_model(saved)


@pytest.mark.parametrize("kind", [TfidfVectorizer, HashingVectorizer])
@pytest.mark.parametrize("value", ["filename", "file"])
def test_texts_do_not_name_files_to_read(tmp_path, kind, value):
    path = tmp_path / "words.film"
    save_model(kind(), path)
    moved(path, "content", value)
    with pytest.raises(ValueError, match=f"has input='{value}', which reads files named by texts"):
        load_model(path)
    with pytest.raises(ValueError, match="give it the texts"):
        save_model(kind(input=value), path)


ENDLESS = [
    *(r"(a+)+$", r"(?:a|aa)+$", r"(\w+\s?)*$", r"(?:a?){50}b", r"(?:(?:ab)*|a)*c"),
    *(r"(?:x\w+|\w+)*!", r"(?>(?:a+)+)b", r"(?=(a+)+b)\w", r"(?:-a*a*)*!", r"(?i)(?:A[a-z]+)+!"),
    *(r".*.*=", r"\w*\w*\w*!", r"(\w)\1", "a" * 600, "("),
]
QUICK = [
    *(r"(?u)\b\w\w+\b", r"\S+", r"\w+(?:['-]\w+)*", r"(?:\w|-)+", r"(?<!\w)[^\W\d_]+(?=x)"),
    *(r"\d{1,3}(?:,\d{3})*(?:\.\d+)?|\w+", r"\w+(?:-\w+)*(?:'\w+)?", r"(?:[A-Z][a-z]+)+"),
    *(r"\d+(?:[.,]\d+)*|\w+|[^\w\s]", r"https?://\S+|#?\w+", r"\w+@\w+(?:\.\w+)+|\w+"),
    *(r"(?:[A-Za-z]\.)+|\b[a-zA-Z]{3,}\b", r".+", "[一-龥]|\\w+"),
]


@pytest.mark.parametrize("kind", [TfidfVectorizer, HashingVectorizer])
@pytest.mark.parametrize("pattern", ENDLESS)
def test_patterns_that_may_take_endless_time_are_refused(tmp_path, kind, pattern):
    path = tmp_path / "words.film"
    save_model(kind(token_pattern="an honest one"), path)
    moved(path, "an honest one", pattern)
    with pytest.raises(ValueError, match=r"token_pattern .* may take endless time for a text"):
        load_model(path)
    with pytest.raises(ValueError, match="may take endless time"):
        save_model(kind(token_pattern=pattern), path)


@pytest.mark.parametrize("pattern", QUICK)
def test_patterns_that_people_use_are_saved_and_quick(tmp_path, pattern):
    save_model(TfidfVectorizer(token_pattern=pattern), tmp_path / "words.film")
    found = re.compile(load_model(tmp_path / "words.film").token_pattern)
    for part in ("a", "1", "A-", "a'", "a.b ", "Ab", "1,234", "a@"):
        started = time.process_time()
        found.findall(part * 2000 + "!")
        # Quadratic at most: exponential ones would not end.
        assert time.process_time() - started < 2


def test_a_file_starts_no_processes(tmp_path):
    path = tmp_path / "trees.film"
    model = ExtraTreesClassifier(2, n_jobs=48, random_state=0).fit(X, np.arange(60) % 2)
    save_model(model, path)
    assert load_model(path).n_jobs is None


def test_members_that_changed_places_are_told(tmp_path):
    path = tmp_path / "model.film"
    save_model(StandardScaler().fit(X), path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    one, other, *_ = (name for name, member in content.items() if len(member) == 152)
    write_members(path, content | {one: content[other], other: content[one]})
    with pytest.raises(ValueError, match="were not saved together"):
        load_model(path)
    header = json.loads(content["film-metric.json"]) | {"metadata": {"by": "another"}}
    write_members(path, content | {"film-metric.json": json.dumps(header).encode()})
    with pytest.raises(ValueError, match="were not saved together"):
        load_model(path)
    write_members(path, content)
    assert load_model(path).mean_.shape == (3,)


def test_a_member_that_comes_twice_is_refused(saved):
    name = next(name for name in members_of(saved) if name.endswith(".npy"))
    with zipfile.ZipFile(saved, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr(name, array_file(np.zeros(3)))
    with pytest.raises(ValueError, match="two members with the same name"):
        load_model(saved)


FINDERS = {
    "the weights of words": lambda index: index.space._words._idf,
    "vectors": lambda index: index._table.points.data,
}


@pytest.mark.parametrize("case", FINDERS)
def test_a_finder_that_would_find_nothing_is_refused(tmp_path, case):
    finder = DuplicateFinder().fit(TEXTS)
    FINDERS[case](finder._scores.index).flat[0] = np.nan
    with pytest.raises(ValueError, match=r"1 of [0-9]+ numbers that are NaN or infinite"):
        save_model(finder, tmp_path / "finder.film")


def test_blocks_of_any_number_are_searched(tmp_path):
    finder = DuplicateFinder(n_neighbors=2).fit(TEXTS, blocks=list("aabbaa"))
    expected = finder.query("learn chess", k=2)
    table = finder._scores.index._table
    table.blocks[:] = np.where(table.blocks > 0, np.iinfo(np.intp).max, 0)
    save_model(finder, tmp_path / "finder.film")
    again = load_model(tmp_path / "finder.film")
    assert repr(again.query("learn chess", k=2)) == repr(expected)


@pytest.mark.parametrize("value", [2**30, -2])
def test_neighbours_are_among_the_texts(tmp_path, value):
    finder = DuplicateFinder().fit(TEXTS)
    finder.find(threshold=0.1)
    finder._scores.index._table._table["point"][0, 0] = value
    save_model(finder, tmp_path / "finder.film")
    with pytest.raises(ValueError, match="of 4 points has an index out of range"):
        load_model(tmp_path / "finder.film")


STEER = "\x1b[2J\x9b31m"


def renamed(path, change):
    content = members_of(path)
    for name in ("schema.json", "film-metric.json"):
        tree = json.loads(content[name])
        change(tree)
        content[name] = json.dumps(tree).encode()
    write_members(path, content)


def other_version(tree):
    if "versions" in tree:
        tree["versions"] |= {"film-metric": f"9.9{STEER}", "scikit-learn": f"9.9{STEER}"}


def other_class(tree):
    if "content" in tree:
        tree["__class__"] = f"Other{STEER}"


def other_key(tree):
    if "content" in tree:
        tree["content"]["content"]["C"] = node("Bytes", "builtins.bytes", file=f"{STEER}.bin")


def with_metadata(tree):
    if "versions" in tree:
        told = {STEER: 1, "figures": {STEER: STEER}}
        tree |= {"metadata": {"out of fold": {STEER: STEER}, "options": told}, "date": STEER}
        tree["versions"] |= {STEER: STEER}


@pytest.mark.parametrize("change", [other_version, other_class, other_key])
def test_strings_of_a_file_do_not_steer_a_terminal(saved, change):
    renamed(saved, change)
    said = ""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            load_model(saved)
        except ValueError as error:
            said = str(error)
    said += "".join(str(each.message) for each in told)
    assert r"\x1b[2J" in said and said.isprintable()


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("change", [other_version, other_class, with_metadata])
def test_commands_show_no_strings_that_steer_a_terminal(tmp_path, change):
    path = tmp_path / "model.film"
    shutil.copy(Path(__file__).parents[2] / "golden" / "fast_trees.film", path)
    renamed(path, change)
    done = CliRunner().invoke(main, ["info", str(path)])
    said = done.output + done.stderr
    assert r"\x1b[2J" in said and said.replace("\n", "").isprintable()
