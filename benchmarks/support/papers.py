"""Every table and figure of the four papers, and the results of ours that stand beside it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.support.picks import TRAINED


class Ours(NamedTuple):
    """A result of ours, and what it is called."""

    name: str
    bench: str
    case: str
    metric: str
    times: float = 1.0


class Piece(NamedTuple):
    """A table or figure: what the paper has, what we have or why not, and how to make ours."""

    name: str
    paper: str
    ours: tuple[Ours, ...] = ()
    why: str = ""
    how: str = ""


_MINILM = "all-MiniLM-L6-v2"
_ALIGN = "chunk vectors and neighbours, joined"
_HERE = f"{_MINILM}, bfloat16: here"
_BATCH = "CPU, 2 torch threads: {} texts, 32 tokens, width 768"
_SPEED = f"{_MINILM}, generated, 2 torch threads: 512 pairs, 128 tokens, 128 texts a batch"


def _made(name: str, table: str) -> str:
    """Give the command, where it is still one, and its table."""
    here = Path(__file__).parents[1].joinpath(f"{name.split()[0]}.py").is_file()
    return f"`python -m benchmarks.{name}`, " * here + f"[table](benchmarks/{table})"


def _aligned(name: str, case: str) -> Ours:
    return Ours(name, "ists", f"{_MINILM}: {case}", "f1_clrcmd", 100)


_QUORA = "duplicates.md#film-and-the-knn-rule-on-the-same-pairs"
_NETWORK = "metric-learning.md#film-bert"
_STS = "token-similarity.md"
_TRAIN = "trained-encoders.md#token-similarity-trained"
_TOKEN_SPEED = "token-similarity.md#speed"
_SURROGATES = "contexts.md#surrogates-tables-2-3-8-10-and-56"
_CHOICE = "contexts.md#choice-of-contexts-54"
_SECTIONS = "contexts.md#argument-facets-and-wikipedia-sections-tables-4-and-5"

PAPERS = {
    "papers_film": (
        Piece(
            "Table 1, accuracy on Quora",
            "FILM 86.83, FILM-BERT 88.09; 384,000 training pairs, split by rows",
            (
                Ours("rule of FILM", "quora", "quora: Pairwise kNN, inductive", "accuracy", 100),
                Ours(
                    "network",
                    "triplet_network",
                    "quora: 20000 triplets: along length, from the means, hinge, margin 1",
                    "accuracy",
                    100,
                ),
                Ours(
                    "`fast_duplicates`",
                    "duplicates",
                    "quora: fast_duplicates, collection",
                    "accuracy",
                    100,
                ),
            ),
            "a tenth of the pairs, and no question shared",
            _made("quora", _QUORA),
        ),
        Piece(
            "Log loss on Kaggle's test set",
            "0.32141 at 17.46 % duplicates",
            (
                Ours(
                    "dev at that share",
                    "duplicates",
                    "quora: fast_duplicates, collection",
                    "log_loss_at_prior",
                ),
            ),
            "the labels of the test set are not public; `film submit` writes the file",
            _made("duplicates", "duplicates.md#the-fast-classifier"),
        ),
        Piece(
            "Table 2, Pearson × 100 on STS-B",
            "FILM 57.68, word2vec 56.5, GloVe 40.6",
            (
                Ours("FILM", "sts_film", "STS-B test: FILM cosine", "pearson"),
                Ours("TF-IDF", "sts_film", "STS-B test: TF-IDF cosine, characters", "pearson"),
                Ours("GloVe", "sts_film", "STS-B test: averaged GloVe, cosine", "pearson"),
            ),
            "GloVe 6B, 50 wide; characters in place of words make most of the difference",
            _made("sts_film", "metric-learning.md#supervised-sts-b"),
        ),
        Piece(
            "Table 3, speed and memory",
            "network 80 minutes on a GPU, FILM under 30 on a CPU",
            (
                Ours(
                    "FILM of means, in seconds,",
                    "triplet_network",
                    "quora: 20000 triplets: FILM of means",
                    "training_seconds",
                ),
                Ours(
                    "network on a CPU",
                    "triplet_network",
                    "quora: 20000 triplets: along length, wider, mean readout, hinge, margin 1",
                    "training_seconds",
                ),
            ),
            "from 20,000 triplets",
            _made("triplet_network", _NETWORK),
        ),
        Piece(
            "Figures 1 and 2, loss and gradient by step",
            "curves of one run",
            why="`loss_curve_`, `gradient_norm_curve_`, drawn for both solvers",
            how="[gallery](examples/plot_convergence.py)",
        ),
        Piece(
            "Figure 3, log loss per sample",
            "histogram of the losses of test samples",
            why="not drawn; `ScoreHistogramDisplay` draws the scores of both classes, not losses",
            how="`ScoreHistogramDisplay.from_predictions`",
        ),
        Piece(
            "Figure 4, rates by k",
            "lowest log loss at k = 1; k = 36 is taken",
            (
                Ours(
                    "log loss, k by it",
                    "quora",
                    "quora: Pairwise kNN, collection, k and mode (both) by log loss",
                    "log_loss",
                ),
            ),
            "`KCurveDisplay` draws TPR, TNR, FPR, FNR by k",
            "`make demo`",
        ),
        Piece(
            "Figure 5, first row of L",
            "78,113 coefficients",
            why="`words_of_dimension` names the words",
            how="[example](method-film.md#interpretation-the-papers-figure-5)",
        ),
    ),
    "papers_clrcmd": (
        Piece(
            "Table 1, mean of seven STS sets",
            "BERT-base, NLI: CLRCMD 82.11, SimCSE-avg 81.67, -cls 81.57; RoBERTa-base 82.76",
            (
                Ours("untrained", "sts", f"{_MINILM}: RCMD", "mean"),
                Ours("mean pooling", "sts", f"{_MINILM}: mean pooling", "mean"),
                Ours("trained", "rcmd_train", TRAINED, "mean"),
                Ours("same rows, RCMD", "rcmd_train", f"{_HERE}: rcmd, mean of 4 seeds", "mean"),
                Ours("mean pooling", "rcmd_train", f"{_HERE}: avg, mean of 3 seeds", "mean"),
                Ours("[CLS]", "rcmd_train", f"{_HERE}: cls, mean of 3 seeds", "mean"),
            ),
            "a model of a fifth of the size; rows of the test sets left out; NLI is read by "
            "`film.datasets.read_nli` and not part of what was measured",
            _made("rcmd_train", _TRAIN),
        ),
        Piece(
            "Table 2, alignment F1 on iSTS",
            "images 87.25, headlines 90.55; which files is not said",
            (
                _aligned("RCMD, images, train", "images: RCMD"),
                _aligned("headlines, train", "headlines: RCMD"),
                _aligned("`align`, images, train", f"images: {_ALIGN}"),
                _aligned("headlines, train", f"headlines: {_ALIGN}"),
            ),
            "nothing trained",
            _made("ists", "token-similarity.md#aligned-chunks"),
        ),
        Piece("Figure 1", "an illustration"),
        Piece(
            "Figure 2, three case studies",
            "heat maps of contributions",
            why="similarities and how concentrated the contributions are",
            how="`python -m benchmarks.paper_pairs`, "
            "[table](method-rcmd.md#the-papers-three-case-studies-figure-2)",
        ),
        Piece(
            "Table 3, memory by batch size",
            "sparse form 4.6, 6.1, 10.6, 25.8 GB at 16, 32, 64, 128",
            tuple(
                Ours(f"at {b}:", "rcmd_memory", f"{_BATCH.format(f'{b} x {2 * b}')}, ours", "peak")
                for b in (16, 32, 64, 128)
            ),
            "MB; similarities alone, without the encoder, on a CPU",
            _made("rcmd_memory", "token-similarity.md#memory-of-training"),
        ),
        Piece(
            "Figure 3, inference time by length",
            "no difference up to 48 tokens",
            (Ours("of encoding, 128 tokens, in %:", "token_speed", _SPEED, "rcmd_percent"),),
            "",
            _made("token_speed", _TOKEN_SPEED),
        ),
    ),
    "papers_matching": (
        Piece(
            "Table 1, gain over [CLS], seven STS sets",
            "−1.3 to +12.7 points by model",
            (
                Ours("matching", "sts", f"{_MINILM}: matching, both", "gain_over_cls"),
                Ours("mean pooling", "sts", f"{_MINILM}: mean pooling", "gain_over_cls"),
            ),
            "over one model, which was trained for mean pooling",
            _made("sts", _STS),
        ),
        Piece("Table 2", "names of the models"),
        Piece(
            "Table 3, parts and weights",
            "both ahead of significance, learned weights ahead of none and of idf",
            (
                Ours("both", "sts", f"{_MINILM}: matching, both", "mean"),
                Ours("significance", "sts", f"{_MINILM}: matching, significance", "mean"),
                Ours("uniqueness", "sts", f"{_MINILM}: matching, uniqueness", "mean"),
                Ours("idf", "sts", f"{_MINILM}: matching, both, idf", "mean"),
                Ours("learned", "token_weights", f"{_MINILM}: matching, learned", "mean"),
            ),
            "mean of seven sets",
            _made("token_weights", "token-similarity.md#learned-weights-of-tokens"),
        ),
        Piece(
            "Figure 1, running time",
            "12.9 and 9.1 % more than encoding",
            (Ours("of encoding, 128 tokens, in %:", "token_speed", _SPEED, "matching_percent"),),
            "",
            _made("token_speed", _TOKEN_SPEED),
        ),
        Piece(
            "Figure 2, a pair of STS-B",
            "0.967",
            (Ours("over MiniLM", "paper_pairs", "token matching", "similarity_matching"),),
            "raw products there, cosines here",
            "`python -m benchmarks.paper_pairs`, "
            "[table](method-rcmd.md#the-papers-three-case-studies-figure-2)",
        ),
    ),
    "papers_contexts": (
        Piece(
            "Table 1, sentences per second on a CPU",
            "48; by length 91",
            (
                Ours("as they come", "contexts", "1: as they come", "sentences_a_second"),
                Ours("by length", "contexts", "1: length batching", "sentences_a_second"),
            ),
            "",
            _made("contexts --case speed", "contexts.md#speed-table-1"),
        ),
        Piece(
            "Table 2, seven STS sets",
            "Origin 76.93, surrogates 74.06 and 75.20; 100 billion words",
            (
                Ours(
                    "Origin, STS-B", "contexts", "whole: Origin from scratch, 500 contexts", "STS-B"
                ),
                Ours("surrogate, mean", "contexts", "2: Surrogate from scratch", "mean"),
            ),
            "8.5 million words of 91 books",
            _made("contexts", _SURROGATES),
        ),
        Piece(
            "Table 3, supervised STS-B",
            "87.91 to 90.69",
            (
                Ours("from scratch", "contexts", "3: Surrogate from scratch, STS-B train", "STS-B"),
                Ours("from MiniLM", "contexts", "3: Surrogate from MiniLM, STS-B train", "STS-B"),
            ),
            "",
            _made("contexts", _SURROGATES),
        ),
        Piece(
            "Table 4, argument facets",
            "Origin 56.20 Pearson",
            why="the set may not be passed on; reader and recipe are tested on made files",
            how=_made("contexts --afs FOLDER", _SECTIONS),
        ),
        Piece(
            "Table 5, Wikipedia sections",
            "surrogates 71.40, 73.50",
            why="the set may not be passed on; reader and recipe are tested on made files",
            how=_made("contexts --sections FILE", _SECTIONS),
        ),
        Piece(
            "Table 6, training size",
            "49.41 at 10 million words, 78.47 at 100 billion",
            (
                Ours("at 1.5 million words:", "contexts", "6: 12.5 % of the documents", "sample"),
                Ours("at 8.5 million:", "contexts", "6: 100 % of the documents", "sample"),
            ),
            "400 pairs; the default reads spelling, and so needs little text",
            _made("contexts --case sizes", _CHOICE),
        ),
        Piece(
            "Table 7, size of C",
            "66.25 at 20, 73.93 at 100, 78.47 at 500",
            tuple(
                Ours(f"at {n}:", "contexts", f"7: {n} contexts", "sample") for n in (20, 100, 500)
            ),
            "400 pairs",
            _made("contexts", _CHOICE),
        ),
        Piece(
            "5.4, choice of contexts",
            "two steps 78.47, random 34.45, without diversity 76.32",
            (
                Ours("two steps", "contexts", "5.4: two-step choice", "sample"),
                Ours("random", "contexts", "5.4: random contexts, draw 1", "sample"),
                Ours("without diversity", "contexts", "5.4: without diversity", "sample"),
            ),
            "[why random is no worse](method-contexts.md#departures-and-why)",
            _made("contexts --case choice", _CHOICE),
        ),
        Piece(
            "Table 8, pairs for the surrogate",
            "74.02 at 100,000, 77.32 at 100 million",
            (
                Ours("at 2,348:", "contexts", "8: 2348 pairs", "STS-B"),
                Ours("at 23,484:", "contexts", "8: 23484 pairs", "STS-B"),
            ),
            "",
            _made("contexts", _SURROGATES),
        ),
        Piece(
            "Table 9, terms of Eq. 3",
            "each term adds 0.5 to 2 points",
            (
                Ours("all", "contexts", "9: Origin from scratch", "sample"),
                Ours("discriminative alone", "contexts", "9: discriminative alone", "sample"),
            ),
            "a tiny generator, 40 minutes on a core",
            _made("contexts --case terms", _CHOICE),
        ),
        Piece(
            "5.6, both texts at once",
            "compared with the Siamese form",
            (
                Ours("Siamese", "contexts", "5.6: Siamese, from MiniLM", "sample"),
                Ours("at once", "contexts", "5.6: both texts at once, from MiniLM", "sample"),
            ),
            "",
            _made("contexts", _SURROGATES),
        ),
        Piece(
            "Table 10, three examples",
            "scores of three pairs",
            tuple(Ours(f"pair {n}:", "contexts", "10: Origin", f"example_{n}") for n in (1, 2, 3)),
            "",
            _made("contexts --case examples", _SURROGATES),
        ),
    ),
}
