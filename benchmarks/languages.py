"""What works on texts that are not English: questions of one grammar in five scripts.

``python -m benchmarks.languages [--out DIR] [--quick]`` takes a minute and no data. A question asks
how to learn a thing in a place, in one of four wordings. Duplicates are two wordings; the other
pairs differ in the place as well, and in nothing else. Families of pairs share no question, and a
third of them are judged. So Latin words, Devanagari with its combining marks, Arabic from right to
left, and Chinese and Thai without spaces get the same task.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from benchmarks.support.records import record
from estimators import RCMDRegressor, SentenceEncoder, disjoint_pairs_split, fast_duplicates
from estimators.inspection import split_words
from film.pairs import row_cosines
from film.text import copy_key


class Language(NamedTuple):
    """Wordings with {t} for the thing and {p} for the place; places are paired by position."""

    wordings: tuple[str, ...]
    things: str
    places: str


LANGUAGES = {
    "English": Language(
        (
            "How can I learn {t} in {p}?",
            "What is the best way to learn {t} in {p}?",
            "I want to learn {t} in {p}, how do I start?",
            "Is there a good way to learn {t} in {p}?",
        ),
        "chess swimming guitar cooking piano drawing",
        "London Paris Cairo Delhi Tokyo Berlin",
    ),
    "Hindi": Language(
        (
            "मैं {p} में {t} कैसे सीख सकता हूँ?",
            "{p} में {t} सीखने का सबसे अच्छा तरीका क्या है?",
            "मुझे {p} में {t} सीखना है, कैसे शुरू करूँ?",
            "क्या {p} में {t} सीखने का कोई अच्छा तरीका है?",
        ),
        "शतरंज तैराकी गिटार संगीत पियानो चित्रकारी",
        "लंदन पेरिस काहिरा दिल्ली टोक्यो बर्लिन",
    ),
    "Arabic": Language(
        (
            "كيف يمكنني تعلم {t} في {p}؟",
            "ما هي أفضل طريقة لتعلم {t} في {p}؟",
            "أريد أن أتعلم {t} في {p}، كيف أبدأ؟",
            "هل توجد طريقة جيدة لتعلم {t} في {p}؟",
        ),
        "الشطرنج السباحة الجيتار الطبخ البيانو الرسم",
        "لندن باريس القاهرة دلهي طوكيو برلين",
    ),
    "Chinese": Language(
        (
            "我怎样在{p}学习{t}？",
            "在{p}学习{t}的最好方法是什么？",
            "我想在{p}学{t}，该怎么开始？",
            "在{p}有学{t}的好办法吗？",
        ),
        "国际象棋 游泳 吉他 烹饪 钢琴 绘画",
        "伦敦 巴黎 开罗 德里 东京 柏林",
    ),
    "Thai": Language(
        (
            "ฉันจะเรียน{t}ใน{p}ได้อย่างไร",
            "วิธีที่ดีที่สุดในการเรียน{t}ใน{p}คืออะไร",
            "ฉันอยากเรียน{t}ใน{p} ควรเริ่มอย่างไร",
            "มีวิธีที่ดีในการเรียน{t}ใน{p}ไหม",
        ),
        "หมากรุก ว่ายน้ำ กีตาร์ ทำอาหาร เปียโน วาดรูป",
        "ลอนดอน ปารีส ไคโร เดลี โตเกียว เบอร์ลิน",
    ),
}
FORMS = {
    "é composed, e with a combining accent": ("caf\u00e9", "cafe\u0301"),
    "Hindi क़ composed, with a nukta": ("\u0958\u0932\u092e", "\u0915\u093c\u0932\u092e"),
    "full-width letters": ("\uff26\uff29\uff2c\uff2d", "FILM"),
    "Arabic with vowel marks, without": ("كَتَبَ", "كتب"),
    "Arabic stretched by tatweel": ("كتـــاب", "كتاب"),
    "a right-to-left mark": ("\u200fكتاب", "كتاب"),
    "Thai with and without a space": ("เรียน ว่ายน้ำ", "เรียนว่ายน้ำ"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.languages", description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="two languages, no transformers model")
    options = parser.parse_args(arguments)
    names = list(LANGUAGES)[: 2 if options.quick else None]
    english = fitted(*pairs_of(LANGUAGES["English"]))
    for name in names:
        pairs, y = pairs_of(LANGUAGES[name])
        row = measured(pairs, y, encoder=not options.quick)
        if name != "English":
            row["auc_english"] = _area(english, pairs, y)
        _tell(f"scripts: {name}", row, options)
    for name, texts in FORMS.items():
        _tell(
            f"forms: {name}", {"copies": float(copy_key(texts[0]) == copy_key(texts[1]))}, options
        )
    return 0


def _tell(case: str, row: dict[str, float], options: argparse.Namespace) -> None:
    print(case, ", ".join(f"{metric} {value:.3f}" for metric, value in row.items()), flush=True)
    if options.out or not options.quick:
        for metric, value in row.items():
            record("languages", case, metric, value, folder=options.out)


def pairs_of(language: Language) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of families: duplicates in other words, and other places in other words."""
    things, places = language.things.split(), language.places.split()
    pairs, labels = [], []
    for thing, (here, there) in itertools.product(
        things, zip(places[::2], places[1::2], strict=True)
    ):
        for a, b in itertools.combinations(language.wordings, 2):
            for place in (here, there):
                pairs.append((a.format(t=thing, p=place), b.format(t=thing, p=place)))
                labels.append(1)
            for one, other in ((here, there), (there, here)):
                pairs.append((a.format(t=thing, p=one), b.format(t=thing, p=other)))
                labels.append(0)
    return np.array(pairs, dtype=object), np.array(labels)


def fitted(pairs: np.ndarray, y: np.ndarray):
    """Give the classifier on all pairs of a language."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fast_duplicates(d=20, rank=50, cv=3, random_state=0).fit(pairs, y)


def measured(pairs: np.ndarray, y: np.ndarray, encoder: bool) -> dict[str, float]:
    """Areas under the curve on the families that are judged, and how texts are read."""
    train, test, y_train, y_test = disjoint_pairs_split(pairs, y, test_size=1 / 3, random_state=0)
    texts = [*dict.fromkeys(pairs.ravel())]

    def cosine(vectorizer: TfidfVectorizer) -> float:
        vectorizer.fit(texts)
        sides = (vectorizer.transform(test[:, side]) for side in (0, 1))
        return float(roc_auc_score(y_test, row_cosines(*sides)))

    row = {
        "words_per_text": float(np.mean([len(split_words(text)) for text in texts])),
        "auc_words": cosine(TfidfVectorizer(token_pattern=r"\S+")),
        "auc_trigrams": cosine(TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))),
        "auc_trained": _area(fitted(train, y_train), test, y_test),
    }
    if encoder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rcmd = RCMDRegressor().fit(test)
            row["unknown_share"] = float(np.mean(rcmd.unknown_shares(test)))
            vectors = SentenceEncoder().fit(texts)
            sides = [vectors.transform(test[:, side]) for side in (0, 1)]
            row["auc_minilm"] = float(roc_auc_score(y_test, row_cosines(*sides)))
            row["auc_rcmd"] = float(roc_auc_score(y_test, rcmd.similarity(test)))
    return row


def _area(model, test: np.ndarray, y_test: np.ndarray) -> float:
    return float(roc_auc_score(y_test, model.predict_proba(test)[:, 1]))


if __name__ == "__main__":
    sys.exit(main())
