"""Choose the encoder of a command or estimator: a given one, an automatic choice, or none."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, NamedTuple

from estimators.encoders.any_encoder import AnyEncoder, check_encoder, encoder_name
from estimators.encoders.model_files import PACKAGE, SHORT_NAME, find_model
from estimators.inputs import check_integer

NO_ENCODER = "none"
"""The ``encoder`` that stands for none."""

AUTO_SECONDS = 120
TEXTS_PER_SECOND = 400
"""Short texts that the packaged model encodes per second on 2 cores, as measured.

It is a constant, so that the choice does not depend on the machine or its load.
"""


class EncoderChoice(NamedTuple):
    """An encoder and why it was chosen."""

    encoder: AnyEncoder | None
    """Not fitted yet; None for no encoder."""
    name: str
    """Name for users; "none" for no encoder."""
    reason: str
    """What was chosen and why, in one sentence without a full stop."""


def resolve_encoder(encoder: Any, n_texts: int | None = None) -> EncoderChoice:
    """Return the encoder that the argument ``encoder`` selects.

    Parameters
    ----------
    encoder : object
        None or "none" for no encoder, "auto", or what `AnyEncoder` takes: the name or folder of a
        model, an object with ``encode`` or ``transform``, or a function of a list of texts.

        "auto" is the packaged all-MiniLM-L6-v2 if it is installed and encodes ``n_texts`` short
        texts in two minutes on 2 cores without a GPU, otherwise no encoder.
    n_texts : int, default=None
        Number of distinct texts to encode. None: "auto" assumes few.

    Returns
    -------
    choice : EncoderChoice
        Named tuple of encoder, name and reason.

    Raises
    ------
    TypeError
        If ``encoder`` encodes no texts.
    FileNotFoundError, ImportError
        If there is no model of that name, or it is not installed.

    See Also
    --------
    AnyEncoder : Fits and applies the encoder.

    Examples
    --------
    >>> from estimators.encoders import resolve_encoder
    >>> resolve_encoder("none").reason
    'no encoder'
    >>> choice = resolve_encoder(lambda texts: [[len(text), 1.0] for text in texts])
    >>> choice.encoder.fit_transform(["one", "three"]).shape
    (2, 2)
    """
    if n_texts is not None:
        check_integer("n_texts", n_texts, 0)
    if encoder is None or (isinstance(encoder, str) and encoder == NO_ENCODER):
        return _none("no encoder")
    if isinstance(encoder, str) and encoder == "auto":
        return _automatic(n_texts)
    if isinstance(encoder, str) and not encoder.strip():
        raise ValueError(f"encoder={encoder!r} is empty; give 'auto', 'none', a name or a folder")
    check_encoder(encoder)
    if isinstance(encoder, (str, os.PathLike)):
        try:
            find_model(encoder)
        except (FileNotFoundError, ImportError) as error:
            raise type(error)(str(error).replace("model=", "encoder=")) from error
    name = encoder_name(encoder)
    return EncoderChoice(AnyEncoder(encoder), name, f"encoder {name}, as given")


def _automatic(n_texts: int | None) -> EncoderChoice:
    missing = [name for name in (PACKAGE, "torch", "transformers") if find_spec(name) is None]
    if missing:
        return _none(
            f"no encoder, because the packaged {SHORT_NAME} is not installed "
            "(pip install 'film-metric[minilm]')"
        )
    if n_texts is not None and n_texts > AUTO_SECONDS * TEXTS_PER_SECOND:
        minutes = n_texts / TEXTS_PER_SECOND / 60
        return _none(
            f"no encoder, because {n_texts:,} texts would take the packaged {SHORT_NAME} about "
            f"{minutes:.0f} minutes on 2 cores, and auto takes at most {AUTO_SECONDS // 60}; "
            f"name {SHORT_NAME} to use it anyway"
        )
    return EncoderChoice(
        AnyEncoder(SHORT_NAME), SHORT_NAME, f"encoder {SHORT_NAME}, because it is installed"
    )


def _none(reason: str) -> EncoderChoice:
    return EncoderChoice(None, NO_ENCODER, reason)
