"""Token-level similarity on the processor: its share of encoding, and encoding.

``python -m benchmarks.token_speed [--data DIR] [--out DIR] [--quick] [--model NAME]
[--only PART ...]``. Questions are those of ``DIR/train.csv``, by default of ``$FILM_DATA/quora``;
where neither is given, they are generated. All parts run in one process with the same number of
torch threads:

- 512 pairs of questions, joined where they are short and cut to 8 up to 128 tokens, in batches of
  exactly 4 up to 128 texts: what RCMD and token matching take, in percent of encoding their texts.
- Encoding 10,000 questions by a loop over transformers in file order, padded batches of 32, and by
  `TokenEncoder`; each question once, and with repeats as in the file.

Ways that are compared take turns; seconds are medians, and so are ratios of one turn. ``--quick``
takes few pairs and records only where ``--out`` says so.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.support.folders import film_data
from benchmarks.support.run import Results, parser_of, refused
from estimators import TokenEncoder
from estimators.encoders import TOKENS_PER_TEXT, find_model
from film.datasets import make_question_pairs, read_quora
from film.tokens import Ragged, ragged_matching, ragged_similarities

TRANSFORMERS = "transformers in file order"
MAX_LENGTH, PLAIN_BATCH = 128, 32
GENERATED = 12_000


class Sizes(NamedTuple):
    """How much is measured."""

    pairs: int
    lengths: tuple[int, ...]
    batches: tuple[int, ...]
    questions: int
    turns: int


FULL = Sizes(512, (8, 16, 32, 48, 64, 128), (4, 16, 64, 128), 10_000, 3)
QUICK = Sizes(16, (8, 32), (4, 16), 200, 1)


class Figure(NamedTuple):
    """One result, beside the rival's where there is one."""

    metric: str
    value: float
    rival: str | None = None
    rival_value: float | None = None


Rows = Iterator[tuple[str, list[Figure]]]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    import torch

    parser = parser_of("token_speed", __doc__, "folder with Quora's train.csv")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--only", action="append", choices=PARTS, help="leave other parts out")
    options = parser.parse_args(arguments)
    try:
        name, pairs = read(options.data)
    except (OSError, ValueError) as error:
        return refused("token_speed", error)
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    name = f"{label}, {name}, {torch.get_num_threads()} torch threads"
    results = Results("token_speed", options)
    for part in options.only or PARTS:
        for title, figures in PARTS[part](pairs, options.model, QUICK if options.quick else FULL):
            for metric, value, rival, rival_value in figures:
                beside = None if rival_value is None else {metric: rival_value}
                case = f"{name}: {title}"
                results.tell(case, {metric: value}, rival=rival, beside=beside, seed=None)
    return 0


def read(folder: str | None) -> tuple[str, np.ndarray]:
    """Give pairs of questions in the order of the file, and where they are from."""
    home = film_data()
    if folder is None and home is not None:
        folder = str(home / "quora")
    if folder is None:
        return "generated", make_question_pairs(GENERATED, random_state=0).pairs
    path = Path(folder, "train.csv")
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} holds no train.csv; give --data a folder with Kaggle's train.csv of Quora "
            "Question Pairs (https://www.kaggle.com/c/quora-question-pairs), or leave --data and "
            "FILM_DATA out for generated questions"
        )
    return "quora", read_quora(path).pairs


def stage_rows(pairs: np.ndarray, model: str | None, sizes: Sizes) -> Rows:
    """Compare RCMD and matching with the encoding of what they compare, by length and batch."""
    questions = list(dict.fromkeys(pairs.ravel().tolist()))
    for length in sizes.lengths:
        texts = texts_of_words(questions, length, 2 * sizes.pairs)
        tokens = exact_tokens(texts, model, length)
        first, second = tokens[: sizes.pairs], tokens[sizes.pairs :]
        stages = {
            "rcmd": lambda a=first, b=second: ragged_similarities(a, b, "rcmd"),
            "matching": lambda a=first, b=second: ragged_matching(a, b),
        }
        in_turns(stages, 1)
        for batch in sizes.batches:
            encoder = _encoder(model, length, _batch_size(batch, length))
            encode = {"encoding": lambda encoder=encoder, texts=texts: _cut(encoder, texts)}
            seconds, _ = in_turns(encode | stages, sizes.turns)
            encoding = seconds.pop("encoding")
            whole = _median(encoding)
            figures = [Figure("encoding_seconds", whole)]
            for stage, spent in seconds.items():
                percent = _median(100 * spent / encoding)
                figures += [
                    Figure(f"{stage}_seconds", _median(spent), "encoding", whole),
                    Figure(f"{stage}_percent", percent),
                ]
            yield f"{sizes.pairs} pairs, {length} tokens, {batch} texts a batch", figures


def encoding_rows(
    pairs: np.ndarray,
    model: str | None,
    sizes: Sizes,
) -> Rows:
    """Compare `TokenEncoder` with a loop over transformers on the same questions."""
    in_file = pairs.ravel().tolist()
    encoder, plain = _encoder(model, MAX_LENGTH, PLAIN_BATCH), PlainLoop(model)
    kinds = {
        "different questions": list(dict.fromkeys(in_file))[: sizes.questions],
        "questions with repeats as in the file": in_file[: sizes.questions],
    }
    for title, texts in kinds.items():
        # Texts of all lengths, for what a device loads or chooses for each shape.
        some = texts[:: max(1, len(texts) // (4 * PLAIN_BATCH))]
        for way in (plain, lambda some: _cut(encoder, some)):
            way(some)
        seconds, values = in_turns(
            {"plain": lambda texts=texts: plain(texts), "ours": lambda t=texts: _cut(encoder, t)},
            sizes.turns,
        )
        ours, theirs = len(texts) / seconds["ours"], len(texts) / seconds["plain"]
        gap = float(np.abs(values["ours"].values - values["plain"]).max())
        speeds = _median(ours), _median(theirs)
        yield (
            f"encoding {len(texts)} {title}",
            [
                Figure("sentences_a_second", speeds[0], TRANSFORMERS, speeds[1]),
                Figure("times_as_fast", _median(ours / theirs), TRANSFORMERS),
                Figure("largest_difference", gap, TRANSFORMERS),
            ],
        )


def in_turns(
    ways: dict[str, Callable[[], Any]],
    turns: int,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run all ways, then all again: seconds of each, one a turn, and what each gave last."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    values = {}
    for _ in range(turns):
        for name, way in ways.items():
            started = time.perf_counter()
            values[name] = way()
            seconds[name].append(time.perf_counter() - started)
    return {name: np.array(spent) for name, spent in seconds.items()}, values


def texts_of_words(questions: list[str], n_words: int, n_texts: int) -> list[str]:
    """Different texts of so many words, each the start of a question and those that follow it."""
    found: dict[str, None] = {}
    for start in range(len(questions)):
        words: list[str] = []
        for place in range(start, start + len(questions)):
            words += questions[place % len(questions)].split()
            if len(words) >= n_words:
                break
        found[" ".join(words[:n_words])] = None
        if len(found) == n_texts:
            return list(found)
    raise ValueError(
        f"{len(questions)} questions give {len(found)} texts of {n_words} words, fewer than "
        f"{n_texts}; give a larger file"
    )


def exact_tokens(texts: list[str], model: str | None, length: int) -> Ragged:
    """Encode texts, each cut to so many tokens, special ones included."""
    tokens = _cut(_encoder(model, length, PLAIN_BATCH), texts)
    # A word is a token at least, unless the tokenizer drops it.
    short = int((tokens.lengths != length).sum())
    if short:
        raise ValueError(f"{short} of {len(texts)} texts have fewer than {length} tokens")
    return tokens


class PlainLoop:
    """Token vectors as transformers' own examples make them, in the order of the file."""

    def __init__(self, model: str | None) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = find_model(model)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.module: Any = AutoModel.from_pretrained(folder).eval()

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Vectors of all tokens, text after text."""
        import torch

        parts = []
        for start in range(0, len(texts), PLAIN_BATCH):
            batch = self.tokenizer(
                texts[start : start + PLAIN_BATCH],
                padding=True,
                truncation=True,
                max_length=MAX_LENGTH,
                return_tensors="pt",
            )
            with torch.inference_mode():
                vectors = self.module(**batch).last_hidden_state.float()
            parts.append(vectors[batch["attention_mask"].bool()].cpu().numpy())
        return np.concatenate(parts)


def _encoder(model: str | None, max_length: int, batch_size: int) -> TokenEncoder:
    encoder = TokenEncoder(model, max_length=max_length, batch_size=batch_size, device="cpu")
    return encoder.fit(["a text"])


def _batch_size(batch: int, length: int) -> int:
    """Give the batch_size, which limits tokens, that puts so many texts of a length together."""
    size, rest = divmod(batch * length, TOKENS_PER_TEXT)
    if rest:
        raise ValueError(f"{batch} texts of {length} tokens are no multiple of {TOKENS_PER_TEXT}")
    return size


def _cut(encoder: TokenEncoder, texts: list[str]) -> Ragged:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="max_length=")
        return encoder.transform(texts)


def _median(values: np.ndarray) -> float:
    return float(f"{np.median(values):.5g}")


PARTS = {"stage": stage_rows, "encoding": encoding_rows}


if __name__ == "__main__":
    sys.exit(main())
