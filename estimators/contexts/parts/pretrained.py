"""Pretrained sequence-to-sequence models of transformers as generators."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from estimators.contexts.parts.part_folder import PartFolder, new_folder, read_part
from estimators.encoders import find_model, quiet
from film.contexts import IdTable, SentenceCorpus

FOLDER = "pretrained"
ROWS_OF_BLOCK = 8192
_FILES = ("config.json", "tokenizer.json", "model*.safetensors")


def find_pretrained(generator: Any) -> Path:
    """Give the folder of a pretrained generator, after a download where it is a hub name.

    Raises
    ------
    ValueError
        If there is none, or it is no such model.
    """
    from transformers import AutoConfig

    try:
        with quiet(0):
            folder = find_model(generator)
            config = AutoConfig.from_pretrained(folder)
        if not config.is_encoder_decoder:
            raise ValueError("it has no encoder and decoder; take one such as T5 or BART")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"generator={str(generator)!r} is neither a size nor a sequence-to-sequence model of "
            f"transformers: {error}"
        ) from error
    return folder


def files_digest(folder: Path) -> str:
    """Name a model by the content of its files."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for pattern in _FILES for path in folder.glob(pattern)):
        with path.open("rb") as handle:
            digest.update(path.name.encode() + hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


def load_pretrained(folder: Path, max_length: int, device: str) -> Any:
    """Load a model and its tokenizer, in float32; weights as safetensors alone.

    Raises
    ------
    ValueError
        If it is no sequence-to-sequence model, or damaged.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from film.contexts import PretrainedGenerator

    try:
        with quiet(0):
            tokenizer = AutoTokenizer.from_pretrained(folder)
            module = AutoModelForSeq2SeqLM.from_pretrained(
                folder, use_safetensors=True, dtype=torch.float32
            )
        return PretrainedGenerator(module, tokenizer, max_length=max_length).to(device).eval()
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"generator={str(folder)!r} cannot be used as a sequence-to-sequence model "
            f"({str(error).splitlines()[0][:300]}); give a folder such as T5's or BART's, with "
            "weights as safetensors"
        ) from error


def save_pretrained(part: PartFolder, network: Any) -> str:
    """Write a model into its part, whole or not at all; give its digest."""

    def write(folder: Path) -> None:
        with quiet(0):
            network.module.save_pretrained(folder, safe_serialization=True)
            network.tokenizer.save_pretrained(folder)

    part.folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part.folder / FOLDER, ignore_errors=True)
    new_folder(part.folder / FOLDER, write)
    return files_digest(part.folder / FOLDER)


def open_pretrained(folder: Path, device: str) -> tuple[Any, IdTable]:
    """Give the generator of a part, and the corpus in its tokens.

    Raises
    ------
    ValueError
        If files have changed since.
    """
    said = read_part(folder)
    if files_digest(folder / FOLDER) != said["weights"]:
        raise ValueError(f"{folder / FOLDER} is damaged or was changed; fit the model again")
    network = load_pretrained(folder / FOLDER, said["made_of"]["max_length"], device)
    return network.requires_grad_(False), IdTable.read(folder)


def encode_corpus(corpus: SentenceCorpus, network: Any) -> IdTable:
    """Encode all sentences by the tokenizer of a pretrained model."""
    values, lengths = [], []
    for start in range(0, corpus.n_sentences, ROWS_OF_BLOCK):
        rows = np.arange(start, min(start + ROWS_OF_BLOCK, corpus.n_sentences))
        ids, found = network.encode(corpus.texts(rows))
        values.append(ids[np.arange(ids.shape[1]) < found[:, np.newaxis]].astype(np.int32))
        lengths.append(found)
    return IdTable(np.concatenate(values), np.r_[0, np.cumsum(np.concatenate(lengths))])
