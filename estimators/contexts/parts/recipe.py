"""What the parts of a model are made by, checked and taken from an estimator's parameters."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from estimators.contexts.parts.network_training import Plan
from estimators.contexts.parts.pretrained import find_pretrained
from estimators.inputs import (
    check_bool,
    check_choice,
    check_folder,
    check_integer,
    check_real,
    check_seed,
    check_verbose,
    cloned,
)
from film.datasets import atomic_writer

SIZES = ("tiny", "small", "base", "large")

PRIORS = ("corpus", "training")
READERS = ("fixed", "maps", "bag", "lstm")
INTERACTIONS = ("bilinear", "concatenation")
LEAST_VOCABULARY = 260
"""256 bytes and 4 entries that stand for no text."""
GENERATOR_RATES = 3e-3, 5e-5
"""Learning rates of a generator from scratch, and of a pretrained one."""
SEED = "seed.json"


@dataclass(frozen=True)
class Recipe:
    """What the parts of a model depend on beside the corpus; checked."""

    sides: int
    vocabulary_size: int
    max_length: int
    word_vectors: bool
    lexical: bool
    reader: str
    width: int
    interaction: Any
    batch_size: int
    discriminator: Plan
    generator: Any
    generator_batch_size: int
    generator_plan: Plan
    held_out: float
    device: str
    keeps: bool
    """Whether states of training are kept: in a folder that outlives the fit."""
    verbose: int


def check_parameters(model: Any) -> None:
    """Raise where a parameter of a `ContextModel` is wrong, by its name."""
    check_folder("folder", model.folder)
    for name, low in (
        ("sides", 1),
        ("chunk_length", 1),
        ("vocabulary_size", LEAST_VOCABULARY),
        ("max_length", 1),
        ("width", 1),
        ("batch_size", 2),
        ("generator_batch_size", 1),
        ("n_retrieved", 1),
        ("n_contexts", 1),
    ):
        check_integer(name, getattr(model, name), low)
    if not isinstance(model.language, str):
        raise TypeError(f"language={model.language!r} must be a language code such as 'en'")
    for name in ("word_vectors", "lexical", "diverse"):
        check_bool(name, getattr(model, name))
    if model.n_ranked is not None:
        check_integer("n_ranked", model.n_ranked, 1)
    check_choice("prior", model.prior, PRIORS)
    check_choice("reader", model.reader, READERS)
    check_choice("interaction", model.interaction, INTERACTIONS)
    for name, high in (
        ("discriminator_epochs", np.inf),
        ("discriminator_learning_rate", 1.0),
        ("generator_epochs", np.inf),
        ("validation_fraction", 0.5),
    ):
        check_real(name, getattr(model, name), 0, high)
    if model.generator_learning_rate is not None:
        check_real("generator_learning_rate", model.generator_learning_rate, 0, 1.0)
    for name in ("discriminator_seconds", "generator_seconds"):
        if getattr(model, name) is not None:
            check_real(name, getattr(model, name), 1e-3)
    _size_of(model.generator)
    if model.encoder is not None:
        cloned("encoder", model.encoder)
        if not hasattr(model.encoder, "transform"):
            raise TypeError(f"encoder={model.encoder!r} must have transform; or give None")
        if model.reader not in ("fixed", "maps"):
            raise ValueError(
                f"reader={model.reader!r} reads tokens, but encoder gives the vectors; take "
                "reader='fixed' or 'maps', or encoder=None"
            )
    if model.reader == "fixed" and model.interaction == "concatenation":
        raise ValueError(
            "interaction='concatenation' learns maps, and reader='fixed' has none; take "
            "reader='maps', 'bag' or 'lstm'"
        )
    weights_of(model, model.generator is not None)
    check_seed(model.random_state)
    check_verbose(model.verbose)


def _size_of(generator: Any) -> Any:
    """Give the size of a generator as JSON holds it, or the folder of a pretrained one."""
    if generator is None or (isinstance(generator, str) and generator in SIZES):
        return generator
    if isinstance(generator, (str, os.PathLike)):
        return find_pretrained(generator)
    is_size = isinstance(generator, (tuple, list)) and len(generator) == 5
    if not is_size or not all(isinstance(each, Integral) and int(each) > 0 for each in generator):
        raise ValueError(
            f"generator={generator!r} must be one of {', '.join(map(repr, SIZES))}, five numbers "
            "as in film.contexts.Size, or None"
        )
    width, heads = generator[:2]
    if width % heads:
        raise ValueError(f"generator={generator!r}: its width {width} must divide by its heads")
    return [int(each) for each in generator]


def weights_of(model: Any, has_generator: bool) -> np.ndarray:
    """Give λ of Eq. 3, 0 for terms that the model does not have.

    Raises
    ------
    TypeError, ValueError
        If ``weights`` is wrong.
    """
    try:
        found = np.array(model.weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights={model.weights!r} must be 4 numbers") from None
    if found.shape != (4,) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"weights={model.weights!r} must be 4 finite numbers, none below 0")
    if not has_generator:
        found[1:] = 0
    if not found.any():
        raise ValueError(
            f"weights={model.weights!r} leave no term that the model has: without a generator "
            "there is the first alone"
        )
    return found


def recipe_of(model: Any, seed: int, device: str) -> Recipe:
    """Give the recipe of a `ContextModel` whose parameters are right."""
    generator = _size_of(model.generator)
    rate = model.generator_learning_rate
    if rate is None:
        rate = GENERATOR_RATES[isinstance(generator, Path)]
    return Recipe(
        sides=int(model.sides),
        vocabulary_size=int(model.vocabulary_size),
        max_length=int(model.max_length),
        word_vectors=bool(model.word_vectors),
        lexical=bool(model.lexical),
        reader=model.reader,
        width=int(model.width),
        interaction=model.interaction,
        batch_size=int(model.batch_size),
        discriminator=_plan(model, "discriminator", model.discriminator_learning_rate, seed),
        generator=generator,
        generator_batch_size=int(model.generator_batch_size),
        generator_plan=_plan(model, "generator", rate, seed),
        held_out=float(model.validation_fraction),
        device=device,
        keeps=model.folder is not None,
        verbose=int(model.verbose),
    )


def _plan(model: Any, network: str, rate: float, seed: int) -> Plan:
    seconds = getattr(model, f"{network}_seconds")
    return Plan(
        epochs=float(getattr(model, f"{network}_epochs")),
        learning_rate=float(rate),
        max_seconds=None if seconds is None else float(seconds),
        seed=seed,
    )


def seed_of(model: Any, root: Path) -> int:
    """Give the seed of a fit; without one, that of the first fit in the folder."""
    path = root / SEED
    if model.random_state is None and path.is_file():
        try:
            return int(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is damaged; delete it, or give random_state") from error
    seed = int(check_seed(model.random_state).randint(2**31 - 1))
    if model.random_state is None:
        with atomic_writer(path) as handle:
            handle.write(json.dumps(seed))
    return seed
