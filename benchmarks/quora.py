"""From question pairs to a submission: FILM, the Pairwise kNN rule, the stack, and baselines.

``python -m benchmarks.quora --data DIR --out DIR`` fits on ``DIR/train.csv``, chooses margin and k
inside it, reports on ``DIR/dev.csv`` and writes a submission for ``DIR/test.csv``. Without
``--data`` it runs on pairs that it generates itself.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed, parallel_config
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from benchmarks.support.quora_data import Splits, generated, read_folder
from benchmarks.support.records import record
from benchmarks.support.run import reading
from estimators import FILM, PairwiseKNNClassifier, fast_duplicates
from estimators.pairs import duplicate_probabilities
from film.datasets import atomic_writer
from film.pairs import binary_log_loss, effective_ranks, prior_weights, rates_over_k, shift_prior
from film.text import normalize_text

PAPER_KS = range(1, 56)
WIDE_KS = [*PAPER_KS, *range(60, 101, 10), *range(125, 401, 25), *range(450, 801, 50)]
MARGINS = (0.1, 0.2, 0.5)
COPIES = 0.7
"""Of the rule, chosen inside train: accuracy out of fold .681 (collection) and .686 (inductive);
.678 and .685 at 0.5, .676 and .682 at 0.8, .661 and .678 where every text counts."""
MODES = ("both", "either")
_PROCESSES = min(2, cpu_count())


class Ranked(NamedTuple):
    """Ranks of training pairs out of fold, and of new pairs, (n, 2) each, with their labels."""

    known: np.ndarray
    y: np.ndarray
    new: np.ndarray
    y_new: np.ndarray


class Choice(NamedTuple):
    """What the rule is used with."""

    k: int
    mode: str


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be used."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.rank = min(options.rank, 300)
    out = Path(options.out)
    with reading("quora"):
        out.mkdir(parents=True, exist_ok=True)
        with atomic_writer(out / "metrics.json") as file:  # writable? found before the work
            file.write("{}\n")
        data = _load(options)
    warnings.simplefilter("ignore", ConvergenceWarning)
    started = time.perf_counter()
    metrics = run(data, options, out)
    metrics["seconds"] = round(time.perf_counter() - started, 1)
    with atomic_writer(out / "metrics.json") as file:
        json.dump(metrics, file, indent=1, allow_nan=False)
        file.write("\n")
    if options.record:
        _record_rows(metrics, options.seed)
    _report(metrics, out, options)
    return 0


def run(data: Splits, options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Fit, choose, judge and write; gives what ``metrics.json`` holds."""
    prior, share = options.prior, float(data.y_train.mean())
    _say(
        f"{data.name}: {len(data.train)} training pairs ({data.y_train.mean():.1%} duplicates), "
        f"{len(data.dev)} dev, {len(data.test)} test, "
        f"{0 if data.similar is None else len(data.similar)} more duplicates; "
        f"{data.n_excluded} rows excluded, {data.n_skipped} skipped"
    )
    known = [*data.train.ravel(), *data.dev.ravel(), *data.test.ravel()]
    _say("margins by their log loss; the stack of FILM, word differences and lexical features")
    margins = _beside(_margin_losses, data, known, options)
    others = _beside(_stack_row, data, options, out), _beside(_baseline_rows, data, options)
    tried = next(margins)
    margin = min(tried, key=lambda row: row["log_loss"])["margin"]
    _say("the Pairwise kNN rule")
    with parallel_config(n_jobs=_PROCESSES):
        rule, ranked = _ranked(data, options, margin, known)
    k, by_loss = best_k(ranked), best_k(ranked, modes=MODES, by="log_loss")
    _say(
        f"chosen inside train: margin={margin}; k={k.k} by accuracy; "
        f"k={by_loss.k}, {by_loss.mode} by log loss"
    )
    film, narrow = rule.embedder_, best_k(ranked, PAPER_KS)
    film_row = {"roc_auc": float(roc_auc_score(data.y_dev, pair_cosines(film, data.dev)))}
    _, alone = _ranked(data, options, margin, None)
    rules = {
        "collection": (ranked, k),
        f"collection, k and mode ({by_loss.mode}) by log loss": (ranked, by_loss),
        "collection, k up to 55": (ranked, narrow),
        "inductive": (alone, best_k(alone)),
    }
    rule_rows = {
        f"Pairwise kNN, {how}": _rule_row(*each, share, prior) for how, each in rules.items()
    }
    curve = rates_over_k(effective_ranks(ranked.new, "both"), data.y_dev, list(PAPER_KS))
    stack_row, probabilities = next(others[0])
    rows: dict[str, Any] = next(others[1]) | {"FILM cosine": film_row} | rule_rows
    rows["fast_duplicates, collection"] = stack_row
    metrics = {
        "data": data.name,
        "n_train": len(data.train),
        "n_dev": len(data.dev),
        "n_test": len(data.test),
        "n_excluded": data.n_excluded,
        "data_prior": float(data.y_train.mean()),
        "submission_prior": prior,
        "chosen": {
            "margin": margin,
            "k": k.k,
            "k_by_log_loss": by_loss.k,
            "mode_by_log_loss": by_loss.mode,
            "k_up_to_55": narrow.k,
            "tried": tried,
        },
        "dev": rows,
        "k_curve": {
            "k": curve.ks.tolist(),
            **{
                name: getattr(curve, name).tolist()
                for name in ("tpr", "tnr", "fpr", "fnr", "accuracy", "log_loss")
            },
        },
        "film": {
            "n_iter": film[-1].n_iter_,
            "objective": film[-1].objective_,
            "active_share": film[-1].active_share_,
            "convergence_reason": film[-1].convergence_reason_,
            "n_triplets": film[-1].n_triplets_,
        },
    }
    # What was fitted by them is kept, and answers another run.
    shutil.rmtree(out / "cache" / "decompositions", ignore_errors=True)
    _draw(out, film, probabilities, curve, options)
    return metrics


def _margin_losses(
    data: Splits, known: list[str], options: argparse.Namespace
) -> list[dict[str, float]]:
    """Lowest log loss of each margin on the first fold inside train, over all k.

    `PairwiseKNNClassifier` ranks the pairs of this fold by a fit to the others, and one array of
    ranks answers every k. Margins share the fold's decomposition, and the rule with the chosen one
    finds its fit to this fold made.
    """
    tried = []
    for margin in MARGINS[1:2] if options.quick else MARGINS:
        rule = _rule(data, options, margin, known)
        ranks = rule.fit_out_of_fold(data.train, data.y_train, data.similar, n_folds=1)
        held = ranks[:, 0] >= 0
        rates = rates_over_k(effective_ranks(ranks[held], "both"), data.y_train[held], WIDE_KS)
        tried.append({"margin": margin, "log_loss": float(rates.log_loss.min())})
        _say(f"margin {margin}: out-of-fold log loss {tried[-1]['log_loss']:.4f}")
    return tried


def _stack_row(
    data: Splits, options: argparse.Namespace, out: Path
) -> tuple[dict[str, float], np.ndarray]:
    """Fit the stack, judge it on dev, and write the submission: the row and the probabilities."""
    stack = fast_duplicates(
        rank=min(options.rank, 300),
        cv=options.folds,
        corpus=[*data.dev.ravel(), *data.test.ravel()],
        random_state=options.seed,
    ).fit(data.train, data.y_train, data.similar)
    p = stack.predict_proba(data.dev)[:, 1]
    row = {"roc_auc": float(roc_auc_score(data.y_dev, p))} | _losses(
        p, p > 0.5, data.y_dev, float(data.y_train.mean()), options.prior
    )
    found = duplicate_probabilities(stack, data.test)
    found = shift_prior(found, stack.prior_, options.prior)
    with atomic_writer(out / "submission.csv") as file:
        rows = zip(data.test_ids, found.tolist(), strict=True)
        file.writelines(["test_id,is_duplicate\n", *(f"{name},{p}\n" for name, p in rows)])
    return row, found


def _beside(function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
    """Call in a process beside this one, once one is free; `next` waits for the result."""
    made = Parallel(n_jobs=_PROCESSES, return_as="generator")
    return iter(made([delayed(_quietly)(function, *arguments)]))


def _quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    warnings.simplefilter("ignore", ConvergenceWarning)
    return function(*arguments)


def _ranked(
    data: Splits, options: argparse.Namespace, margin: float, corpus: Any
) -> tuple[PairwiseKNNClassifier, Ranked]:
    """Fit the rule on all of train, and rank train out of fold and dev."""
    rule = _rule(data, options, margin, corpus).fit(data.train, data.y_train, data.similar)
    ranks = rule.out_of_fold_ranks_, rule.rank(data.dev)
    return rule, Ranked(ranks[0], data.y_train, ranks[1], data.y_dev)


def best_k(
    ranked: Ranked, ks: Any = WIDE_KS, modes: Any = MODES[:1], by: str = "accuracy"
) -> Choice:
    """Choose k, and the mode where several are given, out of fold inside train."""
    found = []
    for mode in modes:
        rates = rates_over_k(effective_ranks(ranked.known, mode), ranked.y, list(ks))
        losses = rates.log_loss if by == "log_loss" else -rates.accuracy
        found.append((losses.min(), mode, int(rates.ks[losses.argmin()])))
    _, mode, k = min(found)
    return Choice(k, mode)


def make_embedder(options: argparse.Namespace, margin: float) -> Pipeline:
    """Words and character n-grams of normalised text, then FILM."""
    folder = Path(options.out) / "cache"
    words = TfidfVectorizer(
        preprocessor=normalize_text, token_pattern=r"\w+", sublinear_tf=True, dtype=np.float32
    )
    pieces = TfidfVectorizer(
        preprocessor=normalize_text,
        analyzer="char_wb",
        ngram_range=(3, 5),
        sublinear_tf=True,
        min_df=3,
        dtype=np.float32,
    )
    union = FeatureUnion([("words", words), ("pieces", pieces)])
    # Chosen inside train: AUC out of fold .763 at 0.75, .753 at 0.5, .762 at 1 (rank 600).
    film = FILM(
        d=options.d,
        rank=options.rank,
        margin=margin,
        whitening=0.75,
        memory=str(folder / "decompositions"),
        random_state=options.seed,
    )
    return Pipeline([("tfidf", union), ("film", film)])


def pair_cosines(embedder: Any, pairs: np.ndarray) -> np.ndarray:
    """Cosine of the two texts of each pair; 0 where one has no known word."""
    first, second = (embedder.transform(pairs[:, side]) for side in (0, 1))
    if hasattr(first, "multiply"):
        dot = np.asarray(first.multiply(second).sum(axis=1)).ravel()
        norms = [np.sqrt(np.asarray(z.multiply(z).sum(axis=1)).ravel()) for z in (first, second)]
    else:
        dot = np.einsum("nd,nd->n", first, second)
        norms = [np.linalg.norm(z, axis=1) for z in (first, second)]
    length = norms[0] * norms[1]
    return np.divide(dot, length, out=np.zeros(len(dot)), where=length > 0)


def _baseline_rows(data: Splits, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    texts = np.unique(data.train.ravel())
    tfidf = TfidfVectorizer()
    weights = tfidf.fit_transform(texts)
    rank = min(options.rank, weights.shape[1] - 1, len(texts) - 1)
    lsa = TruncatedSVD(rank, random_state=options.seed).fit(weights)
    embedders = {
        "TF-IDF cosine": tfidf,
        f"LSA cosine, rank {rank}": make_pipeline(tfidf, lsa),
    }
    return {name: _cosine_row(each, data, options.prior) for name, each in embedders.items()}


def _cosine_row(embedder: Any, data: Splits, prior: float) -> dict[str, float]:
    """Unsupervised cosine, turned into a probability by logistic regression on train."""
    train = pair_cosines(embedder, data.train)[:, None]
    dev = pair_cosines(embedder, data.dev)
    head = LogisticRegression().fit(train, data.y_train)
    p = head.predict_proba(dev[:, None])[:, 1]
    return {"roc_auc": float(roc_auc_score(data.y_dev, dev))} | _losses(
        p, p > 0.5, data.y_dev, float(data.y_train.mean()), prior
    )


def _losses(
    p: np.ndarray, decided: np.ndarray, y: np.ndarray, data_prior: float, prior: float
) -> dict[str, float]:
    return {
        "accuracy": float(accuracy_score(y, decided)),
        "log_loss": binary_log_loss(y, p),
        "log_loss_at_prior": binary_log_loss(
            y, shift_prior(p, data_prior, prior), prior_weights(y, prior)
        ),
    }


def _rule(
    data: Splits, options: argparse.Namespace, margin: float, corpus: Any
) -> PairwiseKNNClassifier:
    return PairwiseKNNClassifier(
        make_embedder(options, margin),
        corpus=corpus,
        count="questions",
        copies=COPIES,
        cv=options.folds,
        memory=str(Path(options.out) / "cache"),
        random_state=options.seed,
    )


def _rule_row(ranked: Ranked, chosen: Choice, data_prior: float, prior: float) -> dict[str, Any]:
    """Judge the rule as `PairwiseKNNClassifier` does at k: one ranking answers every k."""
    mode: Any = chosen.mode
    rates = rates_over_k(effective_ranks(ranked.known, mode), ranked.y, [chosen.k])
    apart = effective_ranks(ranked.new, mode)
    inside = apart < chosen.k
    p = np.where(inside, rates.inside_rate[0], rates.outside_rate[0])
    auc = float(roc_auc_score(ranked.y_new, -np.minimum(apart, 10**9)))
    return {"k": chosen.k, "roc_auc": auc} | _losses(p, inside, ranked.y_new, data_prior, prior)


def _draw(out: Path, film: Any, probabilities: np.ndarray, curve: Any, options: Any) -> None:
    try:
        from benchmarks.support import figures
    except ImportError:
        _say("figures need matplotlib: pip install 'film-metric[plot]'")
        return
    figures.draw_all(out, film, probabilities, curve)


def _record_rows(metrics: dict[str, Any], seed: int) -> None:
    reference = metrics["dev"]["TF-IDF cosine"]
    for case, row in metrics["dev"].items():
        for metric in [name for name in row if name != "k"]:
            rival = {"rival": "TF-IDF cosine", "rival_value": reference.get(metric)}
            record("quora", f"{metrics['data']}: {case}", metric, row[metric], seed=seed, **rival)
    case = f"{metrics['data']}: the whole run, figures and submission included"
    record("quora", case, "seconds", metrics["seconds"], "s", seed=seed)


def _report(metrics: dict[str, Any], out: Path, options: argparse.Namespace) -> None:
    prior = metrics["submission_prior"]
    print(f"\n{'dev':66s} {'AUC':>6s} {'acc':>6s} {'loss':>6s} {f'@{prior:.4g}':>7s}")
    for name, row in metrics["dev"].items():
        cells = [row.get(key) for key in ("roc_auc", "accuracy", "log_loss", "log_loss_at_prior")]
        shown = " ".join(f"{'':>6s}" if cell is None else f"{cell:6.4f}" for cell in cells)
        title = name + (f", k={row['k']}" if "k" in row else "")
        print(f"{title:66s} {shown}")
    print(f"\n{metrics['seconds']} s; {out}/submission.csv, {out}/metrics.json, {out}/*.png")
    if options.data is None:
        print(
            "\nNext, on your own pairs: put train.csv (question1,question2,is_duplicate) and "
            "test.csv\n(test_id,question1,question2) into a folder and run\n"
            f"    {sys.executable} -m benchmarks.quora --data FOLDER --out out/mine"
        )


def _load(options: argparse.Namespace) -> Splits:
    if options.data is None:
        return generated(1200 if options.quick else 8000, options.seed)
    limit = 1500 if options.quick else None
    return read_folder(Path(options.data), limit=limit, seed=options.seed)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _prior(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} must lie between 0 and 1")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quora",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="DIR", help="folder with train.csv, dev.csv, test.csv")
    parser.add_argument("--out", metavar="DIR", default="out/quora", help="where results go")
    parser.add_argument(
        "--prior", type=_prior, default=0.1746, help="share of duplicates in the test set"
    )
    parser.add_argument("--d", type=int, default=100, help="dimensions learned")
    parser.add_argument("--rank", type=int, default=600, help="rank of the decomposition")
    parser.add_argument("--folds", type=int, default=3, help="question-disjoint folds inside train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a small part, under a minute")
    parser.add_argument(
        "--record", action="store_true", help="append to benchmarks/results/quora.jsonl"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
