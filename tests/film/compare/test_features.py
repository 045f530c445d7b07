"""Features of pairs of texts, by sets of words and by example."""

import itertools
import random

import numpy as np
import pytest
from rapidfuzz.distance import DamerauLevenshtein

from film.compare import (
    DIFFERENCES,
    PAIR_FEATURES,
    WordRarity,
    comparable_tokens,
    is_stop_word,
    pair_features,
    sides_differ,
    spelling_similarity,
)
from film.compare import features as _features
from film.compare.features import join_words
from film.compare.normalize import spellings
from film.compare.opposites import ANTONYMS, CLOSED_SETS
from film.compare.words import real_words

COLUMN = {name: place for place, name in enumerate(PAIR_FEATURES)}
FAMILIES = [
    family.split()
    for family in (
        "red blue",
        "increase decrease",
        "on off",
        "healthy unhealthy",
        "not without",
        "receive recieve",
        "account acount accounts acxxunt",
        "house horse houses",
        "5 12 2.5 15:00 5%",
        "5kg 5lb",
        "m404dn m404dw",
        "data base database",
        "monday sunday",
        "colour color",
        "sofa lamp chair the is , zyzzqx a hyz company compxxy noxt",
        "what wat",
    )
]
VOCABULARY = [word for family in FAMILIES for word in family]


def rarity_of(*texts):
    return WordRarity(map(comparable_tokens, texts))


def features(one, other, *more):
    """The features of one pair, by name, in a table of the two texts and some more."""
    (row,) = pair_features([one], [other], rarity_of(one, other, *more))
    return dict(zip(PAIR_FEATURES, row.tolist(), strict=True))


def random_pairs(n, seed):
    """Pairs of short texts, many of them with most words in common."""
    draw = random.Random(seed)
    first = [[draw.choice(VOCABULARY) for _ in range(draw.randrange(9))] for _ in range(n)]
    second = []
    for words in first:
        other = list(words)
        for _ in range(draw.randrange(4)):
            change = draw.randrange(3)
            if change == 0:
                other.insert(draw.randrange(len(other) + 1), draw.choice(VOCABULARY))
            elif other and change == 1:
                place = draw.randrange(len(other))
                (family,) = (family for family in FAMILIES if other[place] in family)
                other[place] = draw.choice(family)
            elif len(other) > 1:
                i, j = draw.sample(range(len(other)), 2)
                other[i], other[j] = other[j], other[i]
        second.append(other)
    return [" ".join(words) for words in first], [" ".join(words) for words in second]


def kind_of(word):
    if word == "!not":
        return "negation"
    if word[0] in "#@":
        return "number"
    if word[0] == "%":
        return "unit"
    is_letter = len(word) == 1 and word.isascii() and word not in "ai"
    return "code" if any(map(str.isdigit, word)) or is_letter else "word"


def are_known(a, b, rarity):
    """Which of two words are known, and no misspelling of a much more frequent one."""
    return [
        (rarity.are_words([word])[0] or len(spellings(word)) > 1)
        and (
            word in real_words()
            or not word.isalpha()
            or 20 * rarity.counts[word] >= rarity.counts[other]
        )
        for word, other in ((a, b), (b, a))
    ]


def misspellings_in_place(one, other, rarity):
    """Similarity of words that may be misspellings by their place."""
    found = {}
    stop = {word for word in (*one, *other) if word in ("a", "i") or is_stop_word(word)}
    pairs = [*zip(one, other, strict=False), *zip(one[::-1], other[::-1], strict=False)]
    is_sentence = any(stop.intersection(pair) for pair in pairs)
    if abs(len(one) - len(other)) > 2 or not is_sentence or not any(a == b for a, b in pairs):
        return found
    for pair in pairs:
        ways = list(itertools.product(*map(spellings, pair)))
        letters = [
            len(spellings(word)) > 1 or (word.isalpha() and kind_of(word) == "word")
            for word in pair
        ]
        for (word, rare), known in zip(
            (pair, pair[::-1]),
            (are_known(*pair, rarity), are_known(*pair[::-1], rarity)),
            strict=True,
        ):
            n_rare, n_word = rarity.counts[rare], rarity.counts[word]
            is_no_word = not known[1] and rare.isalpha() and rare not in real_words()
            is_no_word &= word in real_words() or not word.isalpha()
            is_no_word &= n_rare <= 1 or 20 * n_rare < n_word
            is_frequent = not stop.isdisjoint(pair) or 20 * min(n_rare, n_word) < max(
                n_rare, n_word
            )
            is_slip = (word in stop and rare not in stop) or (
                len(rare) <= 3 and (len(rare) if rare.isalpha() else 0) < len(word)
            )
            is_slip &= 20 * n_rare < n_word
            for a, b in ways:
                edits = DamerauLevenshtein.distance(a, b)
                longer = max(len(a), len(b))
                is_sure = any(known) and (is_frequent or longer > 4)
                most = longer // (2 if is_sure else 3) if is_no_word else int(is_slip)
                if all(letters) and 0 < edits <= most and pair[0] != pair[1]:
                    found[pair] = max(found.get(pair, 0), 1 - 0.03 * edits)
    return found


def slow_features(one, other, one_text, other_text, rarity):
    """The features of two token lists; None if words near each other tie."""
    weight = {
        word: 0.0 if word == "!not" else float(rarity.weights([word.split("*")[0]])[0])
        for word in {*one, *other}
    }
    shared = set(one) & set(other)
    left, right = set(one) - shared, set(other) - shared
    closed = [(a, b) for group in CLOSED_SETS for a in group for b in group if a != b]
    links = {"antonym": [], "choice": [], "near": []}
    near = misspellings_in_place(one, other, rarity)
    for a, b in itertools.product(sorted(left), sorted(right)):
        if {(a, b), (b, a)} & set(ANTONYMS) or {a, b} in ({w, f"un{w}"} for w in (a, b)):
            links["antonym"].append((a, b))
        elif (a, b) in closed:
            links["choice"].append((a, b))
        else:
            if all(2 <= len(word) <= 40 and word.isalpha() for word in (a, b)):
                n_known = np.array([sum(are_known(a, b, rarity))])
                similarity = spelling_similarity([a], [b], n_known)[0]
                near[a, b] = max(similarity, near.get((a, b), 0))
            if near.get((a, b)):
                links["near"].append((a, b))
    every = [link for some in links.values() for link in some]
    if len({a for a, _ in every}) < len(every) or len({b for _, b in every}) < len(every):
        return None
    denied = one.count("!not") % 2 != other.count("!not") % 2
    opposed, doubtless = links["antonym"], set()
    if denied and opposed:
        denied, opposed, doubtless = False, [], set(opposed)
        near |= dict.fromkeys(doubtless, 0.8)
    denied &= not any("!not" in link for link in links["near"])
    links["near"] += doubtless
    opposites = [*opposed, *links["choice"]]
    links = links["near"]
    # A misspelling weighs what the known word weighs.
    weight = dict(weight)
    for a, b in links:
        knows = are_known(a, b, rarity)
        if knows == [True, False]:
            weight[b] = weight[a]
        elif knows == [False, True]:
            weight[a] = weight[b]
    total = sorted(sum(weight[word] for word in side) for side in (set(one), set(other)))
    heavier = max(total[1], 1e-9)
    coverage = []
    for side, place in ((set(one), 0), (set(other), 1)):
        matched = sum(weight[word] for word in shared)
        matched += sum(near[link] * weight[link[place]] for link in links)
        coverage.append(matched / max(sum(weight[word] for word in side), 1e-9))
    left -= {a for a, _ in links}
    right -= {b for _, b in links}
    known = [all(are_known(a, b, rarity)) for a, b in links]
    doubtful = sum(
        min(weight[a], weight[b])
        for (a, b), both in zip(links, known, strict=True)
        if both and near[a, b] < 0.95 and (a, b) not in doubtless
    )
    n = {
        kind: [sum(kind_of(w) == kind for w in side) for side in (left, right, shared)]
        for kind in ("number", "code", "unit")
    }
    lists = any(text.count(",") + text.count(";") >= 2 for text in (one_text, other_text))
    apart = []
    for side, rest, place in ((set(one), left, 0), (set(other), right, 1)):
        gone = {word for word in rest if kind_of(word) in ("number", "code", "unit")}
        gone |= {pair[place] for pair in opposites}
        whole = sum(weight[word] for word in side)
        remaining = max(whole - sum(weight[word] for word in gone), 1e-9)
        apart.append(min(coverage[place] * max(whole, 1e-9) / remaining, 1))
    heaviest = [max((weight[w] for w in side), default=0) for side in (left, right, one, other)]
    rarest = min(heaviest[:2]) / max(*heaviest[2:], 1e-9)
    only_one = len(left) == len(right) == 1 and len(one) == len(other)
    return [
        *(min(coverage), max(coverage), min(apart)),
        min(sum(weight[word] for word in side) for side in (left, right)) / heavier,
        rarest * only_one,
        doubtful / heavier,
        *(n["number"][2] > 0, n["number"][0] != n["number"][1], n["code"][2] > 0),
        *(min(n[kind][:2]) > 0 for kind in ("number", "code", "unit")),
        denied,
        *(len(opposed) > 0, len(opposites) > len(opposed)),
        min(coverage) >= 0.85 and not lists and sides_differ(one, other),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_features_are_those_of_sets_of_words(seed):
    first, second = random_pairs(500, seed)
    rarity = rarity_of(*first, *second)
    found = pair_features(first, second, rarity)
    assert found.shape == (500, len(PAIR_FEATURES)) and found.dtype == np.float64
    tokens = join_words(list(map(comparable_tokens, [*first, *second])), rarity)
    # A number that is in a text twice is two numbers.
    told = [
        [
            f"{word}*{text[: place + 1].count(word)}"
            if word[0] == "#" and word in text[:place]
            else word
            for place, word in enumerate(text)
        ]
        for text in tokens
    ]
    one, other = told[:500], told[500:]
    n_checked = 0
    for row, a, b, text, twin in zip(found, one, other, first, second, strict=True):
        expected = slow_features(a, b, text, twin, rarity)
        if expected is not None:
            n_checked += 1
            np.testing.assert_allclose(
                row, np.array(expected, float), atol=1e-12, err_msg=f"{a} {b}"
            )
    assert n_checked > 450
    assert (found > 0).any(axis=0).all()


@pytest.mark.parametrize("seed", range(2))
def test_features_do_not_depend_on_side_order_or_company(seed):
    first, second = random_pairs(200, seed)
    rarity = rarity_of(*first, *second)
    found = pair_features(first, second, rarity)
    np.testing.assert_allclose(pair_features(second, first, rarity), found, atol=1e-12)
    order = np.random.default_rng(seed).permutation(200)
    shuffled = pair_features([first[i] for i in order], [second[i] for i in order], rarity)
    np.testing.assert_allclose(shuffled, found[order], atol=1e-12)
    for row, a, b in zip(found, first, second, strict=True):
        np.testing.assert_allclose(pair_features([a], [b], rarity)[0], row, atol=1e-12)


def test_a_misspelling_weighs_what_the_known_word_weighs():
    found = features("how do i boil rice", "hwo do i fry rice", *["how do i boil fry rice"] * 9)
    same = features("how do i boil rice", "how do i fry rice", *["how do i boil fry rice"] * 9)
    assert found["only one replaced"] == pytest.approx(same["only one replaced"], abs=1e-3)
    assert found["only one replaced"] > 0
    assert found["coverage of the longer"] == pytest.approx(
        same["coverage of the longer"], abs=0.02
    )


def test_equal_texts_and_empty_ones():
    same = features("a red sofa for 5 people", "A red sofa for five people!")
    assert same["coverage of the longer"] == same["coverage of the shorter"] == 1
    assert same["replaced"] == same["number missing"] == 0
    assert same["number shared"] == 1
    assert not any(same[f"{name} differs"] for name in DIFFERENCES)
    assert set(features("", "").values()) == {0}
    assert features("", "lamp")["coverage of the longer"] == 0
    assert pair_features([], [], rarity_of()).shape == (0, len(PAIR_FEATURES))


@pytest.mark.parametrize(
    ("name", "text", "differing", "twin"),
    [
        ("number", "invoice 10234 is unpaid", "invoice 10243 is unpaid", "invoice is unpaid"),
        ("number", "opens at 3 pm", "opens at 16:00", "opens at 15:00"),
        ("number", "a 5% share", "a 5 share", "a 5 percent share"),
        ("code", "printer M404dn", "printer M404dw", "printer m404DN"),
        ("number", "a cable of 2 m", "a cable of 2 cm", "a cable of 200 cm"),
        ("unit", "a cable of 2 m", "a cable of 2 ft", "a cable of 2 metres"),
        ("code", "size M shirt", "size L shirt", "size m shirt"),
        ("choice", "size L shirt", "size XL shirt", "size l shirt"),
        ("negation", "parcel was sent", "parcel was not sent", "the parcel was sent"),
        ("negation", "does not work", "does work", "doesn't work"),
        ("antonym", "increase the volume", "decrease the volume", "increase the sound"),
        ("choice", "open on saturday", "open on sunday", "open on saturdays"),
        ("choice", "a red shirt", "a blue shirt", "a red red shirt"),
        ("order", "flight from paris to rome", "flight from rome to paris", "flight paris rome"),
        ("order", "anna owes ben money", "ben owes anna money", "money anna owes ben"),
    ],
)
def test_what_differs(name, text, differing, twin):
    assert features(text, differing)[f"{name} differs"] == 1
    assert features(text, twin)[f"{name} differs"] == 0
    others = {f"{other} differs" for other in DIFFERENCES} - {f"{name} differs"}
    assert not any(features(text, differing)[other] for other in others)


def test_the_order_of_a_list_does_not_matter():
    assert features("a red, cotton, to shirt", "a shirt, cotton, to red")["order differs"] == 0
    assert features("a red cotton to shirt", "a shirt cotton to red")["order differs"] == 1


def test_a_negated_opposite_means_the_same():
    found = features("the shop is not open", "the shop is closed")
    assert not any(found[f"{name} differs"] for name in DIFFERENCES)
    assert found["coverage of the longer"] > 0.8
    assert features("not open", "closed")["coverage of the longer"] == pytest.approx(0.8)
    assert features("the shop is open", "the shop is closed")["antonym differs"] == 1
    assert features("the shop is not open", "the shop is not closed")["antonym differs"] == 1


@pytest.mark.parametrize(
    ("word", "other", "differs"),
    [
        ("blockable", "unblockable", 1),
        ("smokers", "nonsmokers", 1),
        ("less", "unless", 0),
        ("dergo", "undergo", 0),
        ("do", "undo", 0),
    ],
)
def test_a_word_that_begins_with_a_negation_is_an_opposite(word, other, differs):
    assert features(f"they are {word}", f"they are {other}")["antonym differs"] == differs


def test_an_antonym_that_both_texts_have_does_not_differ():
    text = "is the lamp on or off"
    assert features(text, "is the lamp off or on")["antonym differs"] == 0


def test_a_number_that_one_text_has_is_missing_not_different():
    one = features("room 204 needs cleaning", "room needs cleaning")
    assert (one["number missing"], one["number differs"], one["number shared"]) == (1, 0, 0)
    two = features("room 204 needs cleaning", "room 402 needs cleaning")
    assert (two["number missing"], two["number differs"], two["number shared"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("10a", "10", "code"),
        ("10a", "10b", "code"),
        ("10a", "10 a", ""),
        ("10A", "10a", ""),
        ("1g", "1", ""),
        ("10x", "10", ""),
        ("10st", "10", ""),
        ("5.0Ah", "4.0 Ah", "number"),
        ("5.0Ah", "5 Ah", ""),
        ("4000mAh", "4000 mAh", ""),
        ("iPhone12", "iPhone 12", ""),
    ],
)
def test_a_number_with_a_letter_is_another_one_than_without(one, other, differs):
    for a, b in ((one, other), (other, one)):
        found = features(f"Elm Street {a}, Upper Town", f"Elm Street {b}, Upper Town")
        assert [name for name in DIFFERENCES if found[f"{name} differs"]] == differs.split()
    assert features("Elm Road 10 a", "Elm Road 10a")["number missing"] == 0


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("Sony WH-1000", "Sony RZ-1000", True),
        ("Sony WH-1000XM4", "Sony WF-1000XM4", True),
        ("耳机NR-652黑色", "耳机 RZ-652 黑色", True),
        ("WH-1000 and RZ-1000", "RZ-1000 and WH-1000", False),
        ("Sony WH-1000", "Sony W-1000", False),
        ("Sony WH-1000", "Sony HW-1000", False),
        ("Sony WH-1000", "Sony 1000", False),
        ("Sony WH-1000", "Sony RZ-2000", False),
        ("Tel-12345", "Fax-12345", False),
        ("of-2019", "by-2019", False),
    ],
)
def test_a_code_with_other_letters_is_another_one(one, other, differs):
    assert features(one, other)["code differs"] == differs


def test_a_misspelling_is_less_doubtful_than_another_word():
    assert features("recieve it", "receive it")["doubtful spelling"] == 0
    assert features("the house", "the horse")["doubtful spelling"] > 0
    assert features("the house", "the houses")["doubtful spelling"] == 0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("better", "letter", 0.9),
        ("cat", "cats", 0.95),
        ("marching", "marched", 0.95),
        ("restaraunts", "restaurants", 0.94),
        ("m" * 39, "m" * 39 + "s", 0.95),
        ("m" * 40, "m" * 40 + "s", 0),
    ],
)
def test_words_of_like_spelling_cover_each_other(one, other, expected):
    assert features(one, other)["coverage of the longer"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 0),
        ("ab; cd, from paris to rome", "ab; cd, from rome to paris", 0),
        ("ab; cd from paris; to rome", "ab cd from rome to paris", 0),
        ("ab cd from paris to rome", "ab; cd from rome; to paris", 0),
        ("ab; cd from paris to rome", "ab; cd from rome to paris", 1),
    ],
)
def test_marks_between_the_words_of_a_list(one, other, expected):
    assert features(one, other)["order differs"] == expected


def test_the_order_of_other_words_does_not_matter():
    one, other = "from paris to rome by night train", "from rome to paris on foot with dogs"
    assert features(one, other)["order differs"] == 0


def test_the_nearest_of_several_words_is_matched():
    """One word has one partner: a misspelling before the same stem."""
    found = features("accounts", "account accomnts")
    assert found["coverage of the longer"] < 0.95
    assert found["coverage of the shorter"] == pytest.approx(0.97)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["the data base", "a database"], [["the", "database"], ["a", "database"]]),
        (["follow-up mail", "followup"], [["followup", "mail"], ["followup"]]),
        (["the data base"], [["the", "data", "base"]]),
        (["a part", "apart"], [["a", "part"], ["apart"]]),
        (["i sland", "island"], [["i", "sland"], ["island"]]),
        (["no on", "noon"], [["!not", "on"], ["noon"]]),
        (["in to it", "into"], [["in", "to", "it"], ["into"]]),
        (["may be it", "maybe"], [["maybe", "it"], ["maybe"]]),
        (["data base ball", "database baseball"], [["data", "baseball"], ["database", "baseball"]]),
        (["up on it", "upon"], [["up", "on", "it"], ["upon"]]),
        (["data base data base", "database"], [["database"] * 2, ["database"]]),
        (["EK-15", "ek15 on"], [["ek15"], ["ek15", "on"]]),
        (["TR-6540-A", "TR6540A"], [["tr6540a"], ["tr6540a"]]),
        (["TR-6540 A", "TR6540"], [["tr6540", "a"], ["tr6540"]]),
        (["a 10", "a10"], [["a10"], ["a10"]]),
        (["12 345", "12345"], [["#12", "#345"], ["#12345"]]),
        (["x 2", "2x"], [["x", "#2"], ["2x"]]),
        ([""], [[]]),
    ],
)
def test_words_are_joined_that_the_table_writes_as_one(texts, expected):
    tokens = list(map(comparable_tokens, texts))
    before = [list(words) for words in tokens]
    assert join_words(tokens, WordRarity(tokens)) == expected
    assert tokens == before


@pytest.mark.parametrize(
    ("one", "other", "table", "value"),
    [
        # Half of the letters, or one, of a word that is known.
        ("why do cats eat grass", "why do cats eat qxass", [], 0.94),
        ("why do cats eat grass", "why do cats eat qxzss", [], 0),
        ("does it cost much", "does it csn much", [], 0),
        ("is a boy here", "is a bqy here", [], 0.97),
        # Names and products are known as well, and not the words meant.
        ("what is a nikon lens", "what is a canon lens", [], 0),
        ("is naproxen safe", "is ibuprofen safe", ["ibuprofen"] * 5, 0),
        ("is a zyzzqx safe", "is a zyzqqxx safe", [], 0),
        # Opposites, and a known word that is in no list.
        ("is it accepted here", "is it rejeted here", [], 0),
        ("why increase the limit", "why decrese the limit", [], 0),
        ("is it possible here", "is it imposible here", [], 0),
        ("you should mix the two", "you shoudnt mix the two", ["shoudnt"], 0),
        ("it works with cables", "it works witout cables", [], 0),
        ("is it open on monday", "is it open on sundey", [], 0),
        ("is zyzzqx safe", "is zyzqqxx safe", ["zyzzqx"] * 5, 0.94),
        ("is zyzzqx safe", "is zyqqqxq safe", ["zyzzqx"] * 5, 0),
        # Only in its place, in a sentence, and with an equal word.
        ("why do cats eat grass", "why qxass do cats eat", [], 0),
        ("why do my old big cats eat grass", "do cats eat qxass", [], 0),
        ("cats eat grass", "cats eat qxass", [], 0),
        ("the grass", "why qxass", [], 0),
        # Names that are in no list: short, or in several texts.
        ("how do i use java on a mac", "how do i use jira on a mac", [], 0),
        ("how do i use java on a mac", "how do i use jvaa on a mac", [], 0.97),
        ("is the data cheap", "is the dazn cheap", [], 0),
        ("is the data cheap", "is the dazn cheap", ["data"] * 60, 0.94),
        ("is it grass", "is it qxass", ["qxass"], 0),
        ("is it grass", "is it qxass", ["qxass"] + ["grass"] * 60, 0.94),
        # A word of no known frequency, and up to a third of its letters.
        ("is a barometer safe", "is a bbarovmetec safe", [], 0.91),
        ("is lipitor safe", "is lisinopryl safe", [], 0),
        # A frequent misspelling, beside a far more frequent word.
        ("is it grass", "is it qxass", ["qxass"] * 5 + ["grass"] * 150, 0.94),
        ("is it grass", "is it qxass", ["qxass"] * 5 + ["grass"] * 20, 0),
        # A rare word that is another one by chance.
        ("what do cats eat", "wat do cats eat", ["what"] * 60, 0.97),
        ("what do cats eat", "wat do cats eat", ["what"] * 10, 0),
        ("is the app good", "is the ap good", ["app"] * 60, 0.97),
        ("is the map good", "is the mac good", ["map"] * 60, 0),
        ("is it a plan", "is it aa plan", ["a"] * 60, 0.97),
        ("is vitamin c good", "is vitamin cx good", ["vitamin c"] * 60, 0),
        # However a word is compared.
        ("the company grows", "the compaaxny grows", [], 0.94),
        ("it takes an hour", "it takes an hoqour", [], 0.94),
    ],
)
def test_misspellings_are_recognised_by_their_place(one, other, table, value):
    rarity = rarity_of(one, other, *table)
    (row,) = pair_features([one], [other], rarity)
    assert (row[COLUMN["replaced"]] == 0) == (value > 0)
    tokens = list(map(comparable_tokens, (one, other)))
    if value:
        ((right, wrong),) = {*zip(*tokens, strict=True)} - {*zip(tokens[0], tokens[0], strict=True)}
        weight = dict(zip(tokens[0], rarity.weights(tokens[0]), strict=True))
        own = weight.pop(right) if are_known(right, wrong, rarity) == [True, False] else 0
        equal = sum(weight.values())
        if own:
            share = row[COLUMN["coverage of the longer"]]
            assert share == pytest.approx((equal + value * own) / (equal + own))
        assert row[COLUMN["doubtful spelling"]] == 0


@pytest.mark.parametrize(
    ("one", "other", "is_matched"),
    [
        ("why do cats eat grass", "do cats eat qxass", True),
        ("do qxass cats eat it", "do grass cats eat it now", True),
        ("do the qxass cats eat it now today", "do grass cats eat it now", False),
        ("why oh why do cats eat grass", "do cats eat qxass", False),
    ],
)
def test_places_are_counted_from_both_ends(one, other, is_matched):
    assert (features(one, other)["replaced"] == 0) == is_matched


def test_a_misspelt_negation_denies():
    assert features("it is not open now", "it is noot open now")["negation differs"] == 0
    assert features("it is not open now", "it is still open now")["negation differs"] == 1


def test_two_words_and_one_are_equal_texts():
    found = features("where is the data base", "where is the database")
    assert found["coverage of the longer"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_all_words_of_similar_spelling_are_matched(seed):
    draw = random.Random(seed)
    words = ["aeroplane", "airplane", "aeroplanes"]
    for _ in range(40):
        word = "".join(draw.choices("bcdeklo", k=draw.randint(3, 11)))
        place = draw.randrange(len(word) - 2)
        gone, exchanged = word[place + 1] + word[place], word[place + 2 :]
        words += [word, word + draw.choice(["ions", "ing", "s"]), word[:place] + gone + exchanged]
        words += [word[:place] + "z" * n + word[place + n :] for n in (1, 2)]
        words += [word[:place] + "z" * n + word[place:] for n in (1, 2, 3)]
    first, second = zip(*itertools.combinations(dict.fromkeys(words), 2), strict=True)
    rarity = rarity_of(*words, *draw.sample(words, len(words) // 2) * 5)
    n_known = [sum(are_known(a, b, rarity)) for a, b in zip(first, second, strict=True)]
    expected = spelling_similarity(first, second, np.array(n_known)) > 0
    found = pair_features(first, second, rarity)[:, COLUMN["coverage of the longer"]] > 0
    np.testing.assert_array_equal(found, expected)
    assert 100 < expected.sum() < len(expected) / 10


def long_texts(n, seed=0):
    """Two texts of n words of their own and a misspelt rare one."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("bdfgklmnprst", k=6)) for _ in range(2 * n)]
    return " ".join([*words[:n], "zyzzogeton"]), " ".join([*words[n:], "zyzzogetom"])


def test_of_long_texts_the_rarest_words_are_compared_by_spelling(monkeypatch):
    compared = []
    monkeypatch.setattr(
        _features,
        "spelling_similarity",
        lambda a, b, n_known: compared.extend(a) or spelling_similarity(a, b, n_known),
    )
    one, other = long_texts(2000)
    frequent = " ".join([one, other]).replace("zyzzogeton", "").replace("zyzzogetom", "")
    found = pair_features([one], [other], rarity_of(one, other, *[frequent] * 50))
    assert len(compared) <= _features.MOST_SPELT**2
    assert found[0, COLUMN["coverage of the longer"]] > 0


@pytest.mark.parametrize(("n_rarer", "expected"), [(49, True), (50, False)])
def test_the_fiftieth_word_is_compared_by_spelling_and_the_next_is_not(n_rarer, expected):
    rare = ["".join(word) for word in itertools.islice(itertools.product("bdfg", repeat=6), 50)]
    others = [word.translate(str.maketrans("bdfg", "klmp")) for word in rare]
    one, other = (" ".join([*words[:n_rarer], "zyzzogeton"]) for words in (rare, others))
    other = other.replace("zyzzogeton", "zyzzogetom")
    found = features(one, other, *["zyzzogeton zyzzogetom"] * 50)
    assert (found["coverage of the longer"] > 0) == expected


def test_features_of_long_texts_do_not_depend_on_company():
    pairs = [long_texts(n, seed) for seed, n in enumerate([60, 80, 120, 40])]
    first, second = (list(side) for side in zip(*pairs, strict=True))
    rarity = rarity_of(*first, *second)
    found = pair_features(first, second, rarity)
    for row, a, b in zip(found, first, second, strict=True):
        np.testing.assert_allclose(pair_features([a], [b], rarity)[0], row, atol=1e-12)
        np.testing.assert_allclose(pair_features([b], [a], rarity)[0], row, atol=1e-12)


@pytest.mark.parametrize(("n", "is_joined"), [(100, True), (101, False)])
@pytest.mark.parametrize("more", [[], ["what"] * 50, ["is"] * 50])
def test_words_are_not_joined_that_are_hardly_ever_one(n, is_joined, more):
    tokens = [["what", "is"]] * n + [[word] for word in more] + [["whatis"]]
    assert join_words(tokens[:1], WordRarity(tokens))[0] == (["whatis"] if is_joined else tokens[0])
