"""Readers of public data sets: what published files hold, odd places of theirs among it."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.data.alignments import Alignment
from benchmarks.data.excluded import read_excluded, text_hash
from benchmarks.data.intents import IntentTexts, make_intent_pairs, read_banking77, read_clinc150
from benchmarks.data.ists import read_ists
from benchmarks.data.pairs import drop_excluded
from benchmarks.data.quora import read_quora
from benchmarks.data.sts import read_sick, read_sts_benchmark, read_sts_sets, read_sts_year

DATA = Path(os.environ.get("FILM_DATA", ""))
needs_data = pytest.mark.skipif(not os.environ.get("FILM_DATA"), reason="FILM_DATA names no folder")


def test_quora_is_read_with_blank_questions_left_out_and_excluded_ones_dropped(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(
        '\ufeff"id","qid1","qid2","question1","question2","is_duplicate"\n'
        '"7","1","2","Is ""it"",\nhot?","Warm?","1"\n"8","3","4"," ","b","0"\n9,5,6,A b!,c,0\n',
        encoding="utf-8",
    )
    data, n_skipped = read_quora(path)
    assert data.pairs.tolist() == [['Is "it",\nhot?', "Warm?"], ["A b!", "c"]] and n_skipped == 1
    assert data.y is not None and data.y.tolist() == [1, 0] and data.ids.tolist() == ["7", "9"]
    kept, n_dropped = drop_excluded(data, {text_hash("a B")})
    assert (kept.ids.tolist(), n_dropped, len(data)) == (["7"], 1, 2)
    path.write_text("question1,question2\na,b\n")
    data, _ = read_quora(path)
    assert drop_excluded(data, ())[0].y is None and data.ids.tolist() == ["0"]
    path.write_text("one,two\na,b\n")
    with pytest.raises(ValueError, match="question1 and question2"):
        read_quora(path)


def test_graded_pairs_are_read_as_written(tmp_path):
    path = tmp_path / "sts.csv"
    path.write_text('main\tMSRpar\t2012\t7\t3.2\tHe said "no.\tHe left.\tlicence\r\n\n', "utf-8")
    data = read_sts_benchmark(path)
    assert data.pairs.tolist() == [['He said "no.', "He left."]]
    assert data.scores.tolist() == [3.2] and data.genres.tolist() == ["main"]
    path.write_text("pair_ID\tsentence_A\tsentence_B\trelatedness_score\n4\ta\tb\t3.6\n")
    assert read_sick(path).pairs.tolist() == [["a", "b"]] and read_sick(path).scores == [3.6]
    (tmp_path / "STS.input.belief.txt").write_text("one\tan other\nhi\thello\n")
    (tmp_path / "STS.gs.belief.txt").write_text("\n4.50\n")
    year = read_sts_year(tmp_path)
    assert year.pairs.tolist() == [["hi", "hello"]] and year.genres.tolist() == ["belief"]
    with pytest.raises(FileNotFoundError, match="SentEval"):
        read_sts_sets(tmp_path)


@pytest.mark.parametrize(
    ("line", "chunks"),
    [
        ("[ A cat ] [ - ] [ sat . ]", ((0, 1), (2,), (3, 4))),
        ("[A cat ] - [sat]", ((0, 1, 2), (3, 4))),
        ("[ A ] [ cat - sat. ]", ((0,), (1, 2, 3, 4))),
    ],
)
def test_chunks_and_alignments_are_read_however_they_are_spelled(tmp_path, line, chunks):
    block = """<sentence id="1" status="">\n// A cat - sat .\n// Caf\xe9 \n<source>\n1 A :
</source>\n<alignment>\n2 1 <==> 1 // SPE1 // 3 // A // It \n4 <==> 0 // NOALI // NIL // sat
</alignment>\n</sentence>\n\n\n"""
    stem = tmp_path / "STSint.testinput.images"
    Path(f"{stem}.wa").write_bytes(block.encode("cp1252"))
    Path(f"{stem}.sent1.chunk.txt").write_text(f"{line}\n\n")
    Path(f"{stem}.sent2.chunk.txt").write_text("[ Café ]\r\n", encoding="utf-8")
    (pair,) = read_ists(tmp_path, "images")
    assert pair.words1 == ("A", "cat", "-", "sat", ".") and pair.words2 == ("Café",)
    assert pair.chunks1 == chunks and pair.chunks2 == ((0,),)
    expected = (Alignment((1, 0), (0,), "SPE1", 3.0), Alignment((3,), (), "NOALI", None))
    assert pair.alignments == expected


def test_half_of_the_pairs_share_an_intent_and_half_of_the_rest_is_near():
    words = "red blue green card bank fly song rain train tea milk bread".split()
    rng = np.random.default_rng(0)
    texts = sorted({" ".join(rng.choice(words, 5)) for _ in range(160)})
    intents = np.array([text.split()[0] for text in texts], dtype=object)
    given = IntentTexts(np.array(texts, dtype=object), intents, 0)
    data = make_intent_pairs(given, 200, n_nearest=3)
    assert np.array_equal(make_intent_pairs(given, 200, n_nearest=3).pairs, data.pairs)
    row = {text: number for number, text in enumerate(texts)}
    rows = np.array([[row[text] for text in pair] for pair in data.pairs])
    same = intents[rows[:, 0]] == intents[rows[:, 1]]
    assert np.array_equal(same, data.y == 1) and same.sum() == 100
    assert len({frozenset(pair) for pair in data.pairs.tolist()}) == 200
    vectors = TfidfVectorizer(token_pattern=r"\S+").fit_transform(texts)
    cosine: np.ndarray = (vectors @ vectors.T).toarray()
    third = np.array([np.sort(cosine[i][intents != intents[i]])[-3] for i in range(len(texts))])
    assert (cosine[tuple(rows[~same].T)] >= third[rows[~same, 0]] - 1e-12).sum() >= 50


@needs_data
@pytest.mark.slow
def test_the_public_files_are_what_they_were():
    sizes = {name: len(data) for name, data in read_sts_sets(DATA / "sts").items()}
    assert list(sizes.values()) == [3108, 1500, 3750, 3000, 1186, 1379, 4927]
    excluded = read_excluded(DATA / "exclude.txt")
    kept, n_dropped = drop_excluded(read_sick(DATA / "sts" / "SICK" / "SICK_train.txt"), excluded)
    assert (len(kept), n_dropped) == (60, 4440)
    banking = [DATA / "banking77" / f"{part}.csv" for part in ("train", "test")]
    digests = []
    for texts in (
        read_clinc150(DATA / "clinc150" / "data_full.json", excluded),
        read_banking77(banking, excluded),
    ):
        data = make_intent_pairs(texts)
        assert data.y is not None and data.y.sum() == 2500
        told = "\n".join([*data.pairs.ravel(), *map(str, data.y)])
        digests.append(hashlib.sha1(told.encode()).hexdigest()[:16])
    assert digests == ["f31880ff95013414", "91be3e1a3c798cc2"]
    pairs = [read_ists(DATA / "ists" / "train", source) for source in ("images", "headlines")]
    assert list(map(len, pairs)) == [750, 756]
    for side in (1, 2):
        for pair in pairs[0] + pairs[1]:
            words, chunks = getattr(pair, f"words{side}"), getattr(pair, f"chunks{side}")
            assert sorted(place for chunk in chunks for place in chunk) == list(range(len(words)))
