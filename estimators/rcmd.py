"""Similarity of texts as relaxed optimal transport between contextual tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators._token_regressor import TokenRegressor
from estimators._validation import check_choice, check_integer
from estimators.token_encoder import TokenEncoder
from film._exact_transport import check_solver
from film.ragged import Ragged
from film.transport import METHODS, ragged_similarities, transport


class RCMDRegressor(TokenRegressor):
    """Judge pairs by transport between the tokens of a transformers model, and say why.

    Tokens of one text are matched with those of the other by their cosines; a plan says how much
    each match counts. This is RCMD of Lee et al., "Toward interpretable semantic textual similarity
    via optimal transport-based contrastive sentence learning" (2022), and its relatives.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub or a local folder; None is the packaged
        all-MiniLM-L6-v2 (extra ``minilm``).
    similarity : {"rcmd", "rcmd1", "rcmd2", "cmd", "avg", "cls"}, default="rcmd"
        Name of the plan. "rcmd": each token meets its best match on the other side, from both
        sides. "rcmd1" and "rcmd2": from the first and the second side alone, so that order
        matters. "cmd": exact optimal transport (extra ``transport``). "avg": the cosine of mean
        vectors. "cls": the cosine of first tokens.
    objective : {"regression"}, default="regression"
        What `predict` is to give: a line through similarity, in the units of y.
    epochs : {0}, default=0
        Passes of training: none, the model is used as it is.
    special_tokens : bool, default=True
        Whether tokens such as [CLS] and [SEP] take part.
    weights : {"idf", "words"} or mapping of str to float, default=None
        Mass of each token. None: all alike. "idf": rare ones more, counted on the texts of `fit`.
        "words": none for tokens without letter or digit. A mapping from tokens of the vocabulary,
        1 for others.
    max_length : int, default=128
        Most tokens a text, special ones included.
    batch_size : int, default=32
        A batch has at most ``32 * batch_size`` tokens.
    device : str, default=None
        As torch names it. None is "cuda" where torch sees a GPU, else "cpu".
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision inside the model; None is float32.
    cache : str or path-like, default=None
        Folder of your own where encodings are kept.
    n_jobs : int, default=1
        Processes for "cmd".
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder
        Gives the token vectors.
    slope_, intercept_ : float
        Least squares line from similarity to the y of `fit`; 1 and 0 without y.
    token_weights_ : ndarray of float64, shape (n_vocabulary,), or None
        Mass of each entry of the vocabulary.

    See Also
    --------
    TokenMatchingRegressor : Also minds how unique a match is.
    film.transport.transport : The equations.

    Notes
    -----
    Time is that of encoding; the transport of a pair of 20 tokens takes some 40 µs on one core.
    Pairs go through in blocks, so memory does not grow with their number; give a ``cache`` where
    texts of one block come again in others. Where all tokens of a text weigh nothing, they weigh
    alike.

    Examples
    --------
    >>> from estimators import RCMDRegressor
    >>> pairs = [("A man plays a guitar.", "Someone is playing guitar."), ("Hi", "Bye")]
    >>> model = RCMDRegressor().fit(pairs, [4.5, 1.0])  # doctest: +SKIP
    >>> model.explain(pairs[:1])[0].top(1)  # doctest: +SKIP
    [('guitar', 'guitar', 0.1...)]
    """

    def __init__(
        self,
        model: Any = None,
        *,
        similarity: str = "rcmd",
        objective: str = "regression",
        epochs: int = 0,
        special_tokens: bool = True,
        weights: Any = None,
        max_length: int = 128,
        batch_size: int = 32,
        device: Any = None,
        dtype: Any = None,
        cache: Any = None,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.similarity = similarity
        self.objective = objective
        self.epochs = epochs
        self.special_tokens = special_tokens
        self.weights = weights
        self.max_length = max_length
        self.batch_size = batch_size
        self.device = device
        self.dtype = dtype
        self.cache = cache
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def similarity(self) -> Any:
        """Method that gives the similarity of pairs; the parameter is in `get_params`."""
        return super().similarity

    @similarity.setter
    def similarity(self, value: str) -> None:
        # One name for the parameter and for the method, which an attribute would hide: the
        # property goes before what the instance keeps under its name.
        vars(self)["similarity"] = value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Has no effect: no parameter is an estimator.

        Returns
        -------
        params : dict
            Among them ``similarity``, the name of the plan.
        """
        return {**super().get_params(deep), "similarity": self._kind}

    @property
    def _kind(self) -> Any:
        return vars(self)["similarity"]

    @property
    def _title(self) -> str:
        return self._kind.upper()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("similarity", self._kind, METHODS)
        check_choice("objective", self.objective, ("regression",))
        if check_integer("epochs", self.epochs, 0):
            raise ValueError(f"epochs={self.epochs!r}: the model is not trained yet; give epochs=0")
        check_integer("n_jobs", self.n_jobs, 1)
        if self._kind == "cls" and self.weights is not None:
            raise ValueError("similarity='cls' compares one token a text; give weights=None")
        if self._kind == "cls" and not self.special_tokens:
            raise ValueError("similarity='cls' compares [CLS] tokens; give special_tokens=True")
        if self._kind == "cmd":
            check_solver()

    def _check_encoder(self, encoder: TokenEncoder) -> None:
        if self._kind == "cls" and not encoder._loaded().puts_special_token_first():
            raise ValueError(
                "similarity='cls' needs a first token that stands for the text, and this model's "
                "tokenizer puts none there; give similarity='rcmd'"
            )

    def _similarities(self, tokens: Ragged, weights: Any, codes: Any, advance: Any) -> np.ndarray:
        return ragged_similarities(
            tokens,
            tokens,
            self._kind,
            pairs=codes,
            weights1=weights,
            weights2=weights,
            n_jobs=self.n_jobs,
            advance=advance,
        )

    def _contributions(self, x1: Any, w1: Any, x2: Any, w2: Any) -> tuple[Any, np.ndarray]:
        found = transport(x1, x2, self._kind, weights1=w1, weights2=w2)
        return found.similarity, found.contributions
