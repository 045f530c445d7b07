"""What the cases of `benchmarks.contexts` share: data, the stated sample, models, results."""

from __future__ import annotations

import argparse
import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.data.pairs import ScoredPairs
from benchmarks.data.sts import read_sts_benchmark
from benchmarks.support.bootstrap import correlation, difference, drawn
from benchmarks.support.folders import film_data
from benchmarks.support.records import RESULTS, record
from film.datasets import make_question_pairs

N_SAMPLE, SEED = 400, 0
QUICK_SAMPLE = 24
QUICK_MODEL = {"width": 16, "n_contexts": 12}
"""Settings of `ContextModel` in a quick run."""
SAMPLE = "sample: "
"""How cases of the table of the sample begin."""


class Sample(NamedTuple):
    """Pairs that rows are compared on, with their scores."""

    name: str
    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]

    def first(self, n: int) -> Sample:
        """Give n of the pairs, at random and always the same."""
        rows = np.random.default_rng(SEED).permutation(len(self.pairs))[:n]
        return Sample(f"{n} of {self.name}", self.pairs[rows], self.scores[rows])


class Bench:
    """One run: its options, and what cases ask for, made when it is first asked for."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.quick = bool(options.quick)
        self.work = Path(options.work)
        self.results = Path(options.out) if options.out else RESULTS
        self.records = bool(options.out) or not self.quick
        self.ranks: dict[str, NDArray[np.float64]] = {}

    @functools.cached_property
    def data(self) -> Path:
        """Folder of the public sets.

        Raises
        ------
        FileNotFoundError
            When none is named.
        """
        home = Path(self.options.data) if self.options.data else film_data()
        if home is None or not (home / "sts").is_dir():
            raise FileNotFoundError(
                "no data: name the folder that holds sts and books by --data or "
                "FILM_DATA, or run with --quick, which makes its own"
            )
        return home

    @functools.cached_property
    def test(self) -> Sample:
        """STS-B test; in a quick run made pairs, whose scores are 0 and 1."""
        if self.quick:
            return _made("test", seed=1)
        data = read_sts_benchmark(self.data / "sts" / "STSBenchmark" / "sts-test.csv")
        return _sample("STS-B test", data)

    @functools.cached_property
    def sample(self) -> Sample:
        """The stated sample: 400 pairs of STS-B test, seed 0."""
        return self.test.first(QUICK_SAMPLE if self.quick else N_SAMPLE)

    @functools.cached_property
    def draws(self) -> NDArray[np.uint16]:
        """Bootstrap draws of the sample, the same for all rows."""
        return drawn(len(self.sample.pairs), 200 if self.quick else 2000)

    @functools.cached_property
    def corpus(self) -> Any:
        """Sentences of the books; in a quick run those of made documents."""
        from film.contexts import make_corpus, read_documents
        from film.datasets import make_documents

        made = make_documents(40, random_state=0) if self.quick else None
        return make_corpus(made or read_documents(self.data / "books"))

    @property
    def size(self) -> int:
        """|C_s| of the sample."""
        return self.options.contexts or (6 if self.quick else 100)

    @functools.cache  # noqa: B019
    def origin(self) -> Any:
        """Load the model of contexts from scratch that is given, or train one."""
        from estimators import ContextModel

        folder = Path(self.options.model or self.work / "models" / "origin")
        if self.options.model or folder.exists():
            return ContextModel.load(folder)
        settings = dict(QUICK_MODEL if self.quick else {}) | json.loads(self.options.settings)
        model = ContextModel(random_state=SEED, verbose=not self.quick, **settings)
        model.fit(self.corpus).save(folder)
        return model

    def similarity(self, size: int, centre: str) -> NDArray[np.float64]:
        """Similarity of the pairs of the sample by so many contexts of each text."""
        from estimators import ContextRegressor

        regressor = ContextRegressor(self.origin(), n_contexts=size, centre=centre)
        return regressor.fit(self.sample.pairs).similarity(self.sample.pairs)

    def tell(self, case: str, metric: str, value: float, unit: str = "", **more: Any) -> None:
        """Print one result, and record it unless the run is a trial."""
        print(f"{case}: {metric} {value:.4g} {unit}".rstrip(), flush=True)
        if self.records:
            record("contexts", case, metric, round(value, 4), unit, folder=self.results, **more)

    def tell_row(
        self,
        case: str,
        similarity: NDArray[np.float64],
        *,
        rival: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """Record a row of the sample: its correlation, interval, and lead over another row."""
        scores = self.sample.scores
        found = correlation(np.asarray(similarity, dtype=np.float64), scores, self.draws)
        self.ranks[case] = rankdata(similarity)
        self.tell(case, "sample", found.value, seed=SEED)
        self.tell(case, "sample_low", found.low, seed=SEED)
        self.tell(case, "sample_high", found.high, seed=SEED)
        if seconds is not None:
            self.tell(case, "seconds", seconds, "s")
        if rival is not None:
            self._tell_lead(case, case, rival)

    def tell_lead(self, case: str, rival: str) -> None:
        """Record the lead of one row of the sample over another, both of this run, as a case."""
        names = case.removeprefix(SAMPLE), rival.removeprefix(SAMPLE)
        self._tell_lead("lead: {} over {}".format(*names), case, rival)

    def _tell_lead(self, label: str, case: str, rival: str) -> None:
        found = difference(self.ranks[case], self.ranks[rival], self.sample.scores, self.draws)
        for metric, value in zip(("ahead", "ahead_low", "ahead_high"), found, strict=True):
            self.tell(label, metric, value, rival=rival)


def _made(name: str, seed: int) -> Sample:
    data = make_question_pairs(QUICK_SAMPLE, random_state=seed)
    assert data.y is not None
    return Sample(f"made {name}", data.pairs, np.asarray(data.y, dtype=np.float64))


def _sample(name: str, data: ScoredPairs) -> Sample:
    return Sample(name, data.pairs, data.scores)
