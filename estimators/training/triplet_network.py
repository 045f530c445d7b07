"""FILM-BERT: convolutions over frozen token vectors, trained on triplets of texts."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import TokenEncoder, check_device
from estimators.inputs import (
    check_bool,
    check_choice,
    check_integer,
    check_real,
    check_seed,
    check_verbose,
    labels_or_triplets,
    nothing_mined,
    tags_of_texts,
)
from estimators.persistence import REGRESSOR, plain, read_arrays, read_fitted, savable, write_fitted
from estimators.training.loop import run_examples
from estimators.training.objectives import Examples, NPairs, Objective, TripletOrder
from estimators.training.saving import check_local_folder
from estimators.training.settings import check_training_parameters, training_settings
from estimators.training.token_states import (
    Texts,
    TextVectors,
    checked_texts,
    distinct_states,
    fitted_encoder,
    taken,
    vectors_of,
)
from film.corpus import connected_groups
from film.metric import ordered_share, triplets_from_labels
from film.threads import FIRST_USE


class Given(NamedTuple):
    """Texts with their labels or triplets."""

    texts: Texts
    labels: np.ndarray | None
    triplets: np.ndarray | None


def checked(X: Any, y: Any, name: str = "X") -> Given:
    """Check texts or token vectors, and their labels or triplets."""
    texts = checked_texts(X, name)
    if y is None:
        raise ValueError("y is None; give group labels, or triplets of shape (n_triplets, 3)")
    return Given(texts, *labels_or_triplets(y, len(texts)))


def objective_of(name: str, examples: Examples) -> Objective:
    """Return the objective with this name."""
    if name == "triplet":
        return TripletOrder()
    # All texts without words count as one text, which is similar to none.
    similar, states = examples.codes[:, :2], examples.tokens
    similar = similar[(states.n_tokens[similar] > 0).all(axis=1)]
    return NPairs(connected_groups(similar, len(states.n_tokens)))


OBJECTIVES = ("triplet", "n_pair")


def check_network_parameters(model: Any) -> None:
    """Raise if a parameter of a `TripletNetwork` is wrong; the message names it."""
    import torch

    from film.networks import AXES, LEAST_LENGTH, READOUTS

    if model.encoder is not None and not isinstance(model.encoder, TokenEncoder):
        raise TypeError(f"encoder={model.encoder!r} must be a TokenEncoder, or None")
    check_training_parameters(model, OBJECTIVES)
    check_real("margin", model.margin, 0)
    if model.epochs == 0:
        raise ValueError("epochs=0 must be above 0: the network has to be trained")
    check_integer("length", model.length, LEAST_LENGTH)
    check_integer("width", model.width, 1)
    if not isinstance(model.channels, (tuple, list)) or len(model.channels) != 3:
        raise TypeError(f"channels={model.channels!r} must be three integers")
    for each in model.channels:
        check_integer("channels", each, 1)
    for name, allowed in (("axes", AXES), ("readout", READOUTS)):
        check_choice(name, getattr(model, name), allowed)
    check_integer("n_random", model.n_random, 1)
    if model.max_triplets is not None:
        check_integer("max_triplets", model.max_triplets, 1)
    check_bool("residual", model.residual)
    check_device(torch, model.device)
    check_verbose(model.verbose)


def make_network(model: Any, token_width: int, seed: int) -> TextVectors:
    """Create the network that the parameters describe, with random weights."""
    import torch

    from film.networks import TokenConvolutions

    # Do not disturb the caller's random state.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TokenConvolutions(
            token_width,
            model.channels,
            model.width,
            axes=model.axes,
            readout=model.readout,
            residual=model.residual,
        )
    network.requires_grad_(False).eval()
    device = check_device(torch, model.device)
    return TextVectors(network, model.width, device, model.dtype or "float32")


WEIGHTS = "triplet_network.safetensors"
LEFT_OUT = {"device", "random_state", "encoder"}
"""Parameters that are not saved with the others."""
OF_ENCODER = ("model", "max_length", "batch_size", "dtype")


@savable
@dataclass(eq=False, repr=False)
class TripletNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn text vectors by convolutions over frozen token vectors: FILM-BERT.

    A frozen transformers model turns a text into a matrix, tokens × width. Four convolutions with
    poolings between them (`film.networks.TokenConvolutions`) turn it into one vector. They are
    trained on triplets of texts so that the cosine of anchor and similar text exceeds that of
    anchor and dissimilar text. Section 3.4 of the FILM paper.

    Parameters
    ----------
    encoder : TokenEncoder, default=None
        The frozen model; it is copied. None means ``TokenEncoder()``, the packaged
        all-MiniLM-L6-v2.
    length : int, default=32
        Maximum number of tokens per text, including special ones, at least 8. One warning counts
        truncated texts.
    channels : tuple of 3 int, default=(32, 64, 128)
        Output channels of the first three convolutions.
    width : int, default=128
        Number of components of a text vector.
    axes : {"both", "length"}, default="both"
        "both", as in the paper, convolves over tokens and over the components of token vectors with
        kernels of 3 × 3. Components have no natural order: "length" convolves over tokens only,
        with components as channels, at less than a fiftieth of the cost.
    readout : {"max", "mean"}, default="max"
        Final pooling.
    residual : bool, default=False
        Whether to add a linear map of the mean token vector, from which training starts. The
        paper's network has none, and was worse.
    objective : {"triplet", "n_pair"}, default="triplet"
        "triplet": the hinge of Eq. 29. "n_pair": the cross-entropy of a text's partner among all
        texts of the batch, which the paper names in its analysis; cosines are divided by ``0.05``.
    margin : float, default=0.2
        Minimum difference of the two cosines, for "triplet".
    n_random : int, default=5
        Random dissimilar texts per anchor, when triplets are mined from labels.
    max_triplets : int, default=None
        Maximum number of triplets, drawn at random. Only their texts are encoded.
    epochs : float, default=1
        Passes over the triplets, above 0.
    learning_rate : float, default=1e-3
        Initial learning rate; it falls linearly to 0.
    train_batch_size : int, default=32
        Triplets per batch.
    micro_batch_size, eval_steps, random_state
        As in `RCMDRegressor`; the score is the fraction of triplets in the right order.
    device : str, default=None
        Torch device of the network; None uses "cuda" if torch finds a GPU, else "cpu". The frozen
        model uses the encoder's device.
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision of the network's products; None means float32. Weights are always float32.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder or None
        The frozen model, identified by the digest of its files; None if `fit` received token
        vectors.
    weights_ : dict of ndarray
        Weights of the network.
    token_width_ : int
        Width of the token vectors.
    n_triplets_ : int
        Number of training triplets.
    loss_curve_ : list of float
        Loss of each step.
    scores_ : list of (int, float)
        Step and score of each evaluation.

    See Also
    --------
    FILM : A linear map with interpretable dimensions.
    RCMDRegressor : Trains the transformers model itself.

    Notes
    -----
    A text without words has the vector 0, whose cosines are 0.

    The token vectors of all texts in triplets are encoded once and stay in memory, 4 h bytes per
    token, about 20 kB for a short question at h = 384; `transform` holds those of
    4096 texts. With "both", a training step also needs about 150 kB per token of the batch.
    Training takes three times as long as `transform`; see `film.networks.TokenConvolutions`.

    References
    ----------
    FILM paper, section 3.4, Eq. 29. Hoffer and Ailon, "Deep metric learning using triplet network"
    (2015). Sohn, "Improved deep metric learning with multi-class N-pair loss objective" (2016).

    Examples
    --------
    >>> from estimators import TripletNetwork
    >>> texts = ["How old is Earth?", "What is Earth's age?", "Who won?", "Who was the winner?"]
    >>> model = TripletNetwork(epochs=5, random_state=0)
    >>> model.fit(texts, [[0, 1, 2], [2, 3, 0]]).transform(texts).shape  # doctest: +SKIP
    (4, 128)
    """

    # Required by the training loop.
    plan = "avg"
    special_tokens = True
    train_max_length = 1
    temperature = 0.05

    encoder_: TokenEncoder | None = field(init=False)
    weights_: dict[str, np.ndarray] = field(init=False)
    token_width_: int = field(init=False)
    loss_curve_: list[float] = field(init=False)
    scores_: list[tuple[int, float]] = field(init=False)

    encoder: Any = None
    _: KW_ONLY
    length: int = 32
    channels: Any = (32, 64, 128)
    width: int = 128
    axes: str = "both"
    readout: str = "max"
    residual: bool = False
    objective: str = "triplet"
    margin: float = 0.2
    n_random: int = 5
    max_triplets: Any = None
    epochs: float = 1
    learning_rate: float = 1e-3
    train_batch_size: int = 32
    micro_batch_size: Any = None
    eval_steps: int = 250
    random_state: Any = None
    device: Any = None
    dtype: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> TripletNetwork:
        """Encode the texts once and train the network.

        Parameters
        ----------
        X : iterable of str, or Ragged
            Texts, or token vectors of texts, all of one width.
        y : array-like of shape (n_texts,), or of int, shape (n_triplets, 3)
            Group labels, from which triplets are mined, or triplets of text numbers (anchor,
            similar, dissimilar).
        eval_set : tuple of (X, y), default=None
            Data for `score`, to select the best weights.

        Returns
        -------
        self : TripletNetwork
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, a triplet is out of range or repeats a text, no triplet can be
            mined, or a parameter is wrong.
        FileNotFoundError, ImportError
            If the model or a required package is missing.
        MemoryError
            If GPU memory is too small.

        Warns
        -----
        UserWarning
            If texts are truncated, or Ctrl-C stops the training; the best network is kept.
        """
        check_network_parameters(self)
        given, held = checked(X, y), None
        if eval_set is not None:
            if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 2:
                raise TypeError("eval_set must be a tuple (X, y)")
            held = checked(*eval_set, name="eval_set[0]")
        settings, encoder = training_settings(self), None
        if any(isinstance(each.texts, list) for each in (given, held) if each is not None):
            encoder = fitted_encoder(self.encoder, self.length)
        examples = self._examples(given, encoder, settings.seed, self.max_triplets)
        token_width = examples.tokens.values.shape[1]
        network, judged = make_network(self, token_width, settings.seed), None
        if held is not None:
            judged = self._examples(held, encoder, settings.seed, None)
            if judged.tokens.values.shape[1] != token_width:
                raise ValueError("eval_set holds token vectors of another width than X")

        def evaluate() -> float:
            assert judged is not None
            return ordered_share(network.vectors(judged.tokens), judged.codes)

        run = run_examples(
            self,
            network,
            examples,
            evaluate=None if judged is None else evaluate,
            objective=objective_of(self.objective, examples),
            settings=settings,
        )
        self.encoder_, self.weights_, self.token_width_ = encoder, network.arrays(), token_width
        self.n_triplets_, self.loss_curve_ = len(examples.codes), run.losses
        self.scores_ = [(score.step, score.score) for score in run.scores]
        self._network = network
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return one vector per text, to compare by cosine.

        Parameters
        ----------
        X : iterable of str, or Ragged
            At least one text, or token vectors of the fitted width.

        Returns
        -------
        vectors : ndarray of float32, shape (n_texts, width)
            0 for a text without words. Other texts affect a vector by at most 1e-5.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, texts are given but `fit` received token vectors, the width
            differs, or the encoder's files have changed since the fit.

        Warns
        -----
        UserWarning
            Once, with the number of truncated texts.
        """
        check_is_fitted(self, "weights_")
        texts = checked_texts(X, "X")
        return vectors_of(self._loaded(), self.encoder_, texts, self.length, self.verbose)

    def score(self, X: Any, y: Any) -> float:
        """Return the fraction of triplets in the right order by cosine.

        Parameters
        ----------
        X, y
            As in `fit`. ``random_state`` seeds mining from labels (0 if None).

        Returns
        -------
        share : float
            From 0 to 1; a tie counts as one half.
        """
        check_is_fitted(self, "weights_")
        given = checked(X, y)
        seed = check_seed(0 if self.random_state is None else self.random_state)
        triplets = self._triplets(given, seed.randint(2**31 - 1), None)
        used, local = np.unique(triplets, return_inverse=True)
        return ordered_share(self.transform(taken(given.texts, used)), local.reshape(-1, 3))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted network to a new folder as safetensors and JSON.

        The frozen model is not saved; the folder records its name and the digest of its files.

        Parameters
        ----------
        path : str or path-like
            A new or empty folder.

        Raises
        ------
        FileExistsError, OSError
            If ``path`` exists and is not an empty folder, or it cannot be written.
        """
        check_is_fitted(self, "weights_")
        from safetensors.numpy import save_file

        encoder, known = self.encoder_, None
        if encoder is not None:
            own = {name: plain(name, getattr(encoder, name)) for name in OF_ENCODER}
            known = {"params": own, "digest": encoder.model_digest_}
        fitted = {
            "encoder": known,
            "token_width": self.token_width_,
            "n_triplets": self.n_triplets_,
            "loss_curve": self.loss_curve_,
            "scores": [list(score) for score in self.scores_],
        }
        write_fitted(
            path,
            REGRESSOR,
            self,
            fitted,
            write=lambda folder: save_file(self.weights_, folder / WEIGHTS),
            left_out=LEFT_OUT,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], **params: Any) -> Self:
        """Load a fitted network from a folder written by `save`.

        Parameters
        ----------
        path : str or path-like
            The folder.
        **params
            Parameters to change, such as ``device``, or ``encoder`` if its files have moved.

        Returns
        -------
        model : TripletNetwork
            Fitted.

        Raises
        ------
        FileNotFoundError, ValueError
            If nothing was saved there, it is damaged, or the frozen model is missing or has
            changed since the fit.
        """
        check_local_folder(path)
        folder = Path(path).expanduser()
        with read_fitted(cls, folder, REGRESSOR) as said:
            kept, known = said["params"], said["encoder"]
            kept["channels"] = tuple(kept["channels"])
            if known is not None:
                kept["encoder"] = TokenEncoder(**known["params"])
            model = cls(**kept | params)
            check_network_parameters(model)
            model.weights_ = read_arrays(folder / WEIGHTS)
            model.token_width_ = int(said["token_width"])
            model.n_triplets_ = int(said["n_triplets"])
            model.loss_curve_ = list(said["loss_curve"])
            model.scores_ = [tuple(score) for score in said["scores"]]
            model._loaded()
        model.encoder_ = None
        if known is not None:
            model.encoder_ = fitted_encoder(model.encoder, model.length)
            if model.encoder_.model_digest_ != str(known["digest"]):
                raise ValueError(
                    f"the files of model={model.encoder.model!r} are not those that the network in "
                    f"{folder} was trained on; give encoder=TokenEncoder(...) with those files, or "
                    "fit again"
                )
        return model

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_["layers.3.bias"])

    def __sklearn_tags__(self) -> Any:
        tags_of_texts(tags := super().__sklearn_tags__()).target_tags.required = True
        return tags

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_network"}

    def _triplets(self, given: Given, seed: int, most: int | None) -> np.ndarray:
        """Return given triplets, or those mined from labels; at most ``most``, drawn at random."""
        rng, triplets = np.random.default_rng([seed, 3]), given.triplets
        if triplets is None:
            assert given.labels is not None
            triplets = triplets_from_labels(given.labels, n_random=self.n_random, random_state=rng)
            if len(triplets) == 0:
                raise nothing_mined(given.labels)
        if most is not None and len(triplets) > most:
            triplets = triplets[np.sort(rng.choice(len(triplets), most, replace=False))]
        return triplets

    def _examples(self, given: Given, encoder: Any, seed: int, most: int | None) -> Examples:
        """Return triplets as training rows, with the token vectors of their texts."""
        used, local = np.unique(self._triplets(given, seed, most), return_inverse=True)
        texts = taken(given.texts, used)
        states, numbers = distinct_states(encoder, texts, self.length, self.verbose)
        return Examples(states, numbers[local.reshape(-1, 3)], None, None)

    def _loaded(self) -> TextVectors:
        """Return the fitted network; it is created again after a copy."""
        with FIRST_USE:
            if "_network" not in vars(self):
                network = make_network(self, self.token_width_, 0)
                network.adopt(self.weights_)
                self._network = network
        return self._network
