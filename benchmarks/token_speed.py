"""Token-level similarity on the processor: its share of encoding, exact transport, and encoding.

``python -m benchmarks.token_speed [--data DIR] [--out DIR] [--quick] [--model NAME]
[--only PART ...]``. Questions are those of ``DIR/train.csv``, by default of ``$FILM_DATA/quora``;
where neither is given, they are generated. All parts run in one process with the same number of
torch threads:

- 512 pairs of questions, joined where they are short and cut to 8 up to 128 tokens, in batches of
  exactly 4 up to 128 texts: what RCMD and token matching take, in percent of encoding their texts.
- CMD of 10,000 pairs by a loop over POT's ``ot.emd``, and by ours in one and two processes.
- Encoding 10,000 questions by a loop over transformers in file order, padded batches of 32, and by
  `TokenEncoder`; each question once, and with repeats as in the file.

Ways that are compared take turns; seconds are medians, and so are ratios of one turn. ``--quick``
takes few pairs and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky import get_reusable_executor

from benchmarks.support.folders import film_data
from benchmarks.support.records import record
from estimators import TokenEncoder
from estimators.encoders import TOKENS_PER_TEXT, find_model
from film.datasets import make_question_pairs, read_quora
from film.tokens import Ragged, ragged_matching, ragged_similarities

POT, TRANSFORMERS = "loop over ot.emd", "transformers in file order"
MAX_LENGTH, PLAIN_BATCH = 128, 32
GENERATED = 12_000


class Sizes(NamedTuple):
    """How much is measured."""

    pairs: int
    lengths: tuple[int, ...]
    batches: tuple[int, ...]
    cmd_pairs: int
    questions: int
    turns: int


FULL = Sizes(512, (8, 16, 32, 48, 64, 128), (4, 16, 64, 128), 10_000, 10_000, 3)
QUICK = Sizes(16, (8, 32), (4, 16), 600, 200, 1)


class Figure(NamedTuple):
    """One result, beside the rival's where there is one."""

    metric: str
    value: float
    unit: str = ""
    rival: str | None = None
    rival_value: float | None = None


Rows = Iterator[tuple[str, list[Figure]]]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m benchmarks.token_speed", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with Quora's train.csv")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="few pairs")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--only", action="append", choices=PARTS, help="leave other parts out")
    options = parser.parse_args(arguments)
    try:
        name, pairs = read(options.data)
    except (OSError, ValueError) as error:
        print(f"benchmarks.token_speed: {error}", file=sys.stderr)
        return 2
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    name = f"{label}, {name}, {torch.get_num_threads()} torch threads"
    sizes = QUICK if options.quick else FULL
    for part in options.only or PARTS:
        for title, figures in PARTS[part](pairs, options.model, sizes):
            shown = ", ".join(map(_shown, figures))
            print(f"{name}: {title}: {shown}", flush=True)
            if options.quick and not options.out:
                continue
            for metric, value, unit, rival, rival_value in figures:
                record(
                    "token_speed",
                    f"{name}: {title}",
                    metric,
                    value,
                    unit,
                    rival=rival,
                    rival_value=rival_value,
                    folder=options.out,
                )
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
            figures = [Figure("encoding_seconds", whole, "s")]
            for stage, spent in seconds.items():
                percent = _median(100 * spent / encoding)
                figures += [
                    Figure(f"{stage}_seconds", _median(spent), "s", "encoding", whole),
                    Figure(f"{stage}_percent", percent, "%"),
                ]
            yield f"{sizes.pairs} pairs, {length} tokens, {batch} texts a batch", figures


def exact_rows(pairs: np.ndarray, model: str | None, sizes: Sizes) -> Rows:
    """Compare CMD with a loop over POT's solver on the same vectors."""
    chosen = pairs[: sizes.cmd_pairs]
    texts, codes = np.unique(chosen.ravel(), return_inverse=True)
    codes = codes.reshape(-1, 2)
    tokens = _cut(_encoder(model, MAX_LENGTH, PLAIN_BATCH), texts.tolist())

    def cmd(n_jobs: int) -> np.ndarray:
        return ragged_similarities(tokens, tokens, "cmd", pairs=codes, n_jobs=n_jobs)

    loop_over_pot(tokens, codes[:1])
    # The cold run leaves warm workers to the one after it.
    ways = {
        POT: lambda: loop_over_pot(tokens, codes),
        "n_jobs=1": lambda: cmd(1),
        "n_jobs=2, cold": lambda: cmd(2),
        "n_jobs=2, warm": lambda: cmd(2),
    }
    seconds, values = in_turns(ways, sizes.turns, before=_stop_workers)
    _stop_workers()
    rival, theirs = seconds.pop(POT), values.pop(POT)
    for way, spent in seconds.items():
        gap = float(np.abs(values[way] - theirs).max())
        yield (
            f"CMD of {len(codes)} pairs, {way}",
            [
                Figure("seconds", _median(spent), "s", POT, _median(rival)),
                Figure("times_as_fast", _median(rival / spent), "x", POT),
                Figure("largest_difference", gap, "", POT),
            ],
        )


def encoding_rows(
    pairs: np.ndarray,
    model: str | None,
    sizes: Sizes,
    device: str = "cpu",
    dtype: str = "float32",
    batch_size: int = PLAIN_BATCH,
    within: float = math.inf,
) -> Rows:
    """Compare `TokenEncoder` with a loop over transformers on the same questions.

    It takes one turn of each at least, and no more than fit into so many seconds.
    """
    in_file, started = pairs.ravel().tolist(), time.perf_counter()
    encoder = _encoder(model, MAX_LENGTH, batch_size, device=device, dtype=dtype)
    plain = PlainLoop(model, device, dtype, batch_size)
    kinds = {
        "different questions": list(dict.fromkeys(in_file))[: sizes.questions],
        "questions with repeats as in the file": in_file[: sizes.questions],
    }
    for done, (title, texts) in enumerate(kinds.items()):
        # Texts of all lengths, for what a device loads or chooses for each shape.
        some = texts[:: max(1, len(texts) // (4 * batch_size))]
        for way in (plain, lambda some: _cut(encoder, some)):
            way(some)
        left = within - (time.perf_counter() - started)
        seconds, values = in_turns(
            {"plain": lambda texts=texts: plain(texts), "ours": lambda t=texts: _cut(encoder, t)},
            sizes.turns,
            within=left / (len(kinds) - done),
        )
        ours, theirs = len(texts) / seconds["ours"], len(texts) / seconds["plain"]
        gap = float(np.abs(values["ours"].values - values["plain"]).max())
        speeds = _median(ours), _median(theirs)
        yield (
            f"encoding {len(texts)} {title}",
            [
                Figure("sentences_a_second", speeds[0], "1/s", TRANSFORMERS, speeds[1]),
                Figure("times_as_fast", _median(ours / theirs), "x", TRANSFORMERS),
                Figure("largest_difference", gap, "", TRANSFORMERS),
            ],
        )


def in_turns(
    ways: dict[str, Callable[[], Any]],
    turns: int,
    before: Callable[[], None] | None = None,
    within: float = math.inf,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run all ways, then all again: seconds of each, one a turn, and what each gave last.

    ``before`` is called before each turn, untimed. After the first, a turn that would end after
    ``within`` seconds, were it as long as those before, is not begun.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    values, first = {}, time.perf_counter()
    for done in range(turns):
        if done and (time.perf_counter() - first) * (done + 1) / done > within:
            break
        if before:
            before()
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


def loop_over_pot(tokens: Ragged, pairs: np.ndarray) -> np.ndarray:
    """CMD as its definition reads, pair by pair."""
    import ot

    found = []
    for i, j in pairs.tolist():
        x1, x2 = tokens[i], tokens[j]
        x1 = x1 / np.linalg.norm(x1, axis=1, keepdims=True)
        x2 = x2 / np.linalg.norm(x2, axis=1, keepdims=True)
        cosines = (x1 @ x2.T).astype(np.float64)
        mass1, mass2 = np.full(len(x1), 1 / len(x1)), np.full(len(x2), 1 / len(x2))
        found.append((ot.emd(mass1, mass2, 1 - cosines) * cosines).sum())
    return np.array(found)


class PlainLoop:
    """Token vectors as transformers' own examples make them, in the order of the file."""

    def __init__(
        self,
        model: str | None,
        device: str = "cpu",
        dtype: str = "float32",
        batch_size: int = PLAIN_BATCH,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = find_model(model)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        module: Any = AutoModel.from_pretrained(folder, dtype=dtype)
        self.module, self.batch_size = module.to(device).eval(), batch_size

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Vectors of all tokens, text after text."""
        import torch

        parts = []
        for start in range(0, len(texts), self.batch_size):
            batch = self.tokenizer(
                texts[start : start + self.batch_size],
                padding=True,
                truncation=True,
                max_length=MAX_LENGTH,
                return_tensors="pt",
            ).to(self.module.device)
            with torch.inference_mode():
                vectors = self.module(**batch).last_hidden_state.float()
            parts.append(vectors[batch["attention_mask"].bool()].cpu().numpy())
        return np.concatenate(parts)


def _encoder(
    model: str | None, max_length: int, batch_size: int, device: str = "cpu", **settings: Any
) -> TokenEncoder:
    encoder = TokenEncoder(
        model, max_length=max_length, batch_size=batch_size, device=device, **settings
    )
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


def _stop_workers() -> None:
    get_reusable_executor().shutdown(wait=True)


def _median(values: np.ndarray) -> float:
    return float(f"{np.median(values):.5g}")


def _shown(figure: Figure) -> str:
    beside = "" if figure.rival_value is None else f" ({figure.rival}: {figure.rival_value:.4g})"
    return f"{figure.metric} {figure.value:.4g} {figure.unit}".rstrip() + beside


PARTS = {"stage": stage_rows, "exact": exact_rows, "encoding": encoding_rows}


if __name__ == "__main__":
    sys.exit(main())
