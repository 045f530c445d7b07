"""Create the network of a `TripletNetwork` from its parameters, and validate them."""

from __future__ import annotations

import json
from typing import Any

from estimators.encoders import TokenEncoder, check_device
from estimators.inputs import check_bool, check_choice, check_integer, check_real, check_verbose
from estimators.training.loop.settings import check_training_parameters
from estimators.training.loop.text_vectors import TextVectors

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
    for name in ("n_random", "n_nearest"):
        check_integer(name, getattr(model, name), 0)
    if model.n_random + model.n_nearest == 0:
        raise ValueError("n_random=0 and n_nearest=0 leave nothing to mine; raise one of them")
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
    shape = [token_width, *model.channels, model.width, model.axes, model.readout]
    return TextVectors(
        network,
        model.width,
        check_device(torch, model.device),
        name=json.dumps([*shape, bool(model.residual), model.length]),
        dtype=model.dtype or "float32",
    )
