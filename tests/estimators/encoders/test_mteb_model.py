"""Tasks of MTEB over texts of our own, run by our encoders and similarities."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from estimators import RCMDRegressor, SentenceEncoder, fast_duplicates
from estimators.encoders import MTEBModel
from film.datasets import make_question_pairs
from tests.estimators.tiny_model import PAIRS, SCORES

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*tokens unknown to the model"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
METADATA = {
    "description": "pairs of our own",
    "reference": None,
    "dataset": {"path": "none/none", "revision": "0"},
    "category": "t2t",
    "modalities": ["text"],
    "eval_splits": ["test"],
    "eval_langs": ["eng-Latn"],
    "date": None,
    "domains": None,
    "task_subtypes": None,
    "license": None,
    "annotations_creators": None,
    "dialect": None,
    "sample_creation": None,
    "bibtex_citation": "",
}


def task_of(kind, pairs, column, values, main_score):
    """A task of MTEB, which takes seconds to import."""
    pytest.importorskip("mteb", reason="needs the extra bridges")
    from datasets import Dataset
    from mteb.abstasks.pair_classification import AbsTaskPairClassification
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    base: Any = {"STS": AbsTaskSTS, "PairClassification": AbsTaskPairClassification}[kind]

    class Local(base):
        metadata = TaskMetadata(name="Local", type=kind, main_score=main_score, **METADATA)

        def load_data(self, *args, **kwargs):
            first, second = zip(*pairs, strict=True)
            columns = {"sentence1": list(first), "sentence2": list(second), column: list(values)}
            self.dataset = {"test": Dataset.from_dict(columns)}
            self.data_loaded = True

    return Local()


def scores_of(model, task):
    import mteb

    found = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
    return found.task_results[0].scores["test"][0]


def sts(pairs=PAIRS, scores=SCORES):
    return task_of("STS", pairs, "score", scores, "cosine_spearman")


def test_an_encoder_is_judged_by_the_cosine_of_its_vectors(tiny_model):
    encoder = SentenceEncoder(tiny_model, max_length=16).fit(["a"])
    found = scores_of(MTEBModel(encoder), sts())
    first, second = (encoder.transform([pair[side] for pair in PAIRS]) for side in (0, 1))
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    expected = spearmanr(SCORES, (first * second).sum(axis=1) / lengths)[0]
    assert found["spearman"] == pytest.approx(expected, abs=1e-6)
    assert found["cosine_spearman"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_a_similarity_is_judged_by_itself(tiny_model):
    model = RCMDRegressor(tiny_model, max_length=16, epochs=0).fit(PAIRS, SCORES)
    found = scores_of(MTEBModel(model, "film-metric/rcmd"), sts())
    expected = spearmanr(SCORES, model.similarity(PAIRS))[0]
    assert found["spearman"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_a_classifier_is_judged_by_its_probabilities():
    data: Any = make_question_pairs(260, random_state=0)
    model = fast_duplicates(d=20, rank=30, cv=2).fit(data.pairs[:200], data.y[:200])
    pairs, labels = data.pairs[200:], data.y[200:].tolist()
    task = task_of("PairClassification", pairs, "labels", labels, "max_ap")
    found = scores_of(MTEBModel(model), task)
    expected = average_precision_score(labels, model.predict_proba(pairs)[:, 1])
    assert found["similarity_ap"] == pytest.approx(expected, abs=1e-9)


def test_a_matrix_has_the_similarity_of_every_pair(tiny_model):
    model = RCMDRegressor(tiny_model, max_length=16, epochs=0).fit(PAIRS, SCORES)
    texts = [["the cat sat", "run"], ["old age", "a dog sat", "run"]]
    for one in (model, model.encoder_):
        if one is model:
            adapter = MTEBModel(model)
        else:
            encoder = SentenceEncoder(tiny_model, max_length=16).fit(["a"])
            adapter = MTEBModel(encoder)
        first, second = (adapter.encode([{"text": side}]) for side in texts)
        matrix = adapter.similarity(first, second)
        assert matrix.shape == (2, 3)
        for row in range(2):
            alone = adapter.similarity_pairwise(first[[row] * 3], second)
            assert matrix[row] == pytest.approx(alone, abs=1e-6)
        assert matrix[1, 2] == pytest.approx(1, abs=1e-5)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="none of similarity, predict_proba and transform"):
        MTEBModel(3)
