"""The parts of a model made one after the other, and its fixed set of contexts chosen."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from estimators.contexts.parts.building import (
    build_discriminator,
    build_frozen_states,
    build_retrieval,
    build_spelling,
    build_table,
    open_array,
    open_spelling,
    open_table,
)
from estimators.contexts.parts.generator_training import build_generator
from estimators.contexts.parts.part_folder import read_part
from estimators.contexts.parts.recipe import recipe_of, seed_of
from estimators.encoders import check_device
from estimators.inputs import cloned, progress_bar
from film.contexts import SentenceCorpus, diverse_contexts, write_corpus

CORPUS = "corpus"


class Fitted(NamedTuple):
    """What a fit has learned, beside the files of its parts.

    Attributes
    ----------
    parts : dict of str to str
        Names of the parts' folders; that of a corpus that was given is a path.
    digest : str
        Of the corpus and the weights.
    seed : int
        Of the fit.
    sides : int
        Sentences a side.
    encoder : estimator or None
        Fitted.
    contexts : ndarray of int64
        The fixed set.
    losses, scores : list
        As `Learned` has them, of the discriminator.
    generator_losses, generator_scores : list
        Of the generator; empty without one.
    perplexities : dict of str to float
        Of the generator.
    is_complete : bool
        False where a training was interrupted.
    """

    parts: dict[str, str]
    digest: str
    seed: int
    sides: int
    encoder: Any
    contexts: np.ndarray
    losses: list[float]
    scores: list[Any]
    generator_losses: list[float]
    generator_scores: list[Any]
    perplexities: dict[str, float]
    is_complete: bool


def fit_parts(model: Any, documents: Any, root: Path) -> Fitted:
    """Make all parts of a `ContextModel`, or find them made.

    Parameters
    ----------
    model : ContextModel
        With right parameters.
    documents : callable, SentenceCorpus or path of one
        What `check_documents` gave, or a corpus.
    root : Path
        Folder of the parts.
    """
    import torch

    device, seed = check_device(torch, model.device), seed_of(model, root)
    recipe = recipe_of(model, seed, device)
    corpus = _corpus(model, documents, root)
    contexts = _fixed_set(model, corpus, seed)
    is_ours = corpus.folder == (root / CORPUS).absolute()
    parts = {CORPUS: CORPUS if is_ours else os.fspath(corpus.folder)}
    parts["vocabulary"] = build_table(root, corpus, recipe)
    parts["retrieval"] = build_retrieval(root, corpus, recipe.verbose)
    encoder, frozen = None, None
    sources = [parts["vocabulary"]] if recipe.reader in ("bag", "lstm") else []
    if model.encoder is not None or recipe.lexical or not sources:
        if model.encoder is None:
            parts["spelling"] = build_spelling(root, corpus, recipe)
            fixed: Any = open_spelling(root / parts["spelling"])
        else:
            fixed = encoder = cloned("encoder", model.encoder).fit(list(corpus.iterate_texts()))
        encodings = build_frozen_states(root, corpus, fixed, recipe)
        frozen = open_array(root / encodings / "states.npy")
        sources.append(encodings)
    parts["discriminator"], is_complete = build_discriminator(
        root, corpus, *open_table(root / parts["vocabulary"]), frozen, recipe, sources
    )
    said = read_part(root / parts["discriminator"])["said"]
    generator: dict[str, Any] = {"losses": [], "scores": [], "perplexities": {}}
    if recipe.generator is not None:
        parts["generator"], ended = build_generator(
            root, corpus, *open_table(root / parts["vocabulary"]), parts["vocabulary"], recipe
        )
        is_complete &= ended
        generator = read_part(root / parts["generator"])["said"]
    return Fitted(
        parts=parts,
        digest=digest_of(corpus, root, parts),
        seed=seed,
        sides=recipe.sides,
        encoder=encoder,
        contexts=contexts,
        losses=said["losses"],
        scores=[tuple(each) for each in said["scores"]],
        generator_losses=generator["losses"],
        generator_scores=[tuple(each) for each in generator["scores"]],
        perplexities=generator["perplexities"],
        is_complete=is_complete,
    )


def digest_of(corpus: SentenceCorpus, root: Path, parts: dict[str, str]) -> str:
    """Name a fitted model by its corpus and weights."""
    weights = {kind: read_part(root / name)["weights"] for kind, name in _others(parts)}
    text = json.dumps([corpus.digest, weights], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _others(parts: dict[str, str]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in parts.items() if kind != CORPUS]


def _corpus(model: Any, documents: Any, root: Path) -> SentenceCorpus:
    if isinstance(documents, SentenceCorpus):
        return documents
    if not isinstance(documents, Callable):
        return SentenceCorpus(documents)
    with progress_bar(model.verbose, "corpus") as advance:
        return write_corpus(
            root / CORPUS,
            documents(),
            chunk_length=int(model.chunk_length),
            language=model.language,
            advance=advance and (lambda n: advance("documents")),
        )


def _fixed_set(model: Any, corpus: SentenceCorpus, seed: int) -> np.ndarray:
    n, sides = int(model.n_contexts), int(model.sides)
    n_centres = len(corpus.centres(sides))
    shape = (
        f"documents hold {corpus.n_sentences} sentences in {corpus.n_documents} documents and "
        f"{corpus.n_chunks} chunks"
    )
    if n_centres < 2:
        raise ValueError(
            f"{shape}, and {n_centres} of the sentences have sides={sides} neighbours on each side "
            "in their document, which is too few to learn from; give longer documents"
        )
    try:
        return diverse_contexts(
            corpus,
            n,
            sides=sides,
            max_jaccard=0.5 if model.diverse else np.inf,
            one_per_chunk=bool(model.diverse),
            random_state=seed,
        )
    except ValueError as error:
        raise ValueError(
            f"n_contexts={n} is more than there are: {shape}, with {n_centres} contexts "
            f"({error}); give n_contexts= a lower number, more documents, or, in Python, "
            "diverse=False"
        ) from error
