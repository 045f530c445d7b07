"""Small made files in the form of the public sets, all that benchmarks read."""

import csv
import gzip
import json

import pytest

from benchmarks.data.alignments import AlignedPair, Alignment
from benchmarks.data.excluded import text_hash
from film.datasets import make_documents
from tests.benchmarks.wa_files import write_wa
from tests.estimators import tiny_model as tiny

NOUNS = ("chess", "cat", "dog", "mat", "age", "earth", "way", "run")
SENTENCES = (
    ("how do i learn chess", "what is best way to learn chess", 4.5),
    ("a cat sat on mat", "the dog runs well", 1.0),
    ("old earth", "what is age of earth?", 3.0),
    ("the cat runs!", "the cat sat, a dog sat on mat.", 2.0),
)
ALIGNED = AlignedPair(
    "1",
    ("the", "cat", "sat", "well"),
    ("a", "cat", "dog", "!"),
    ((0, 1), (2, 3)),
    ((0, 1), (2,), (3,)),
    (Alignment((0, 1), (0, 1), "EQUI", 5.0), Alignment((2, 3), (2,), "REL", 2.0)),
)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Folder of a random BERT that takes the 128 tokens of the benchmarks."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "MAX_TOKENS", 128)
        return tiny.make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Folder of all public sets, in small."""
    root = tmp_path_factory.mktemp("data")
    for name in ("quora", "multi30k", "books", "clinc150", "banking77", "ists/train"):
        (root / name).mkdir(parents=True)
    put_sts(root / "sts")
    put_ists(root / "ists" / "train")
    put_quora(root / "quora")
    for number in range(1, 6):
        captions = (f"a {noun} {n} sat {'well ' * number}\n" for n in range(8) for noun in NOUNS)
        with gzip.open(root / "multi30k" / f"train.{number}.en.gz", "wt") as file:
            file.write("".join(captions))
    for number, document in enumerate(make_documents(4, random_state=0)):
        (root / "books" / f"{number}.md").write_text(document, encoding="utf-8")
    intents = [
        [f"{verb} my {thing} {tail}", thing]
        for thing in ("card", "account", "loan", "transfer")
        for verb in ("where is", "show me", "please check", "i lost", "block", "open", "tell about")
        for tail in ("today", "now", "again", "please", "for me")
    ]
    (root / "clinc150" / "data_full.json").write_text(json.dumps({"train": intents}))
    for part, rows in (("train", intents[::2]), ("test", intents[1::2])):
        put_csv(root / "banking77" / f"{part}.csv", ["text", "category"], rows)
    (root / "exclude.txt").write_text(text_hash("the old cat sat on the mat") + "\n")
    return root


def put_csv(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def put_quora(folder):
    header = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
    for part, n in (("train", 40), ("dev", 12)):
        rows = []
        for i in range(n):
            noun = f"{NOUNS[i % 8]} {part} {i}"
            same = f"what is the way to learn {noun}", f"is the {noun} old"
            rows.append([i, 2 * i, 2 * i + 1, f"how do i learn {noun}", same[i % 2], 1 - i % 2])
        put_csv(folder / f"{part}.csv", header, rows)


def put_sts(root):
    for year in range(12, 17):
        place = root / f"STS{year}-en-test"
        place.mkdir(parents=True)
        lines = [f"{a}\t{b} {'a b e'.split()[year % 3]}\n" for a, b, _ in SENTENCES]
        (place / "STS.input.images.txt").write_text("".join(lines), encoding="utf-8")
        scores = "".join(f"{score}\n" for *_, score in SENTENCES)
        (place / "STS.gs.images.txt").write_text(scores, encoding="utf-8")
    for name in ("STSBenchmark", "SICK"):
        (root / name).mkdir()
    for part, end in (("train", " well"), ("dev", " runs"), ("test", "")):
        lines = [f"main-news\tMSRpar\t2012\t7\t{s}\t{a}{end}\t{b}\n" for a, b, s in SENTENCES]
        path = root / "STSBenchmark" / f"sts-{part}.csv"
        path.write_text("".join(lines), encoding="utf-8")
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    for part in ("train", "trial", "test_annotated"):
        lines = [f"{i}\t{a} e\t{b}\t{s}\tNEUTRAL\n" for i, (a, b, s) in enumerate(SENTENCES, 1)]
        (root / "SICK" / f"SICK_{part}.txt").write_text(head + "".join(lines), encoding="utf-8")


def put_ists(folder):
    for source in ("images", "headlines", "answers-students"):
        write_wa(folder / f"STSint.input.{source}.wa", [ALIGNED])
        for side in (1, 2):
            words, chunks = getattr(ALIGNED, f"words{side}"), getattr(ALIGNED, f"chunks{side}")
            line = " ".join(f"[ {' '.join(words[i] for i in chunk)} ]" for chunk in chunks)
            (folder / f"STSint.input.{source}.sent{side}.chunk.txt").write_text(line)
            lines = "".join(f"Minister {n} quits over vote\n" for n in range(40))
            (folder / f"STSint.input.{source}.sent{side}.txt").write_text(lines)
