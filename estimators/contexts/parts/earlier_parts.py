"""Read models of contexts that an earlier version saved."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from film.unpacking import check_array


def read_parts(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return settings and arrays from the state of a `ContextModel` that held files.

    Raises
    ------
    KeyError, TypeError, ValueError
        If a file is missing or damaged.
    """
    from safetensors.numpy import load

    files = {name: each.tobytes() for name, each in state["_files"].items()}
    parts = dict(state["_parts"])
    corpus = parts.pop("corpus")
    said = {kind: json.loads(files[f"{name}/part.json"]) for kind, name in parts.items()}
    names = [json.loads(line)[0] for line in files[f"{corpus}/documents.jsonl"].splitlines()]
    settings = {"seed": state["_seed"], "names": names}
    settings["chunk_length"] = json.loads(files[f"{corpus}/corpus.json"])["chunk_length"]
    settings["tokenizer"] = said["vocabulary"]["said"]["tokenizer"]
    settings["max_length"] = said["vocabulary"]["made_of"]["max_length"]
    text = files[f"{corpus}/sentences.txt"].removesuffix(b"\n")
    arrays = {"text": np.frombuffer(text, dtype=np.uint8)}
    arrays["documents"] = np.frombuffer(files[f"{corpus}/documents.bin"], dtype="<i4")
    arrays["codes"] = np.frombuffer(files[f"{corpus}/hashes.bin"], dtype="<i8")
    for kind in ("retrieval", "spelling", "discriminator"):
        weights = load(files[f"{parts[kind]}/weights.safetensors"])
        arrays |= {f"{kind}.{name}": each for name, each in weights.items()}
    content = files[f"{parts['discriminator']}/contexts.npy"]
    check_array(io.BytesIO(content), len(content), "contexts.npy")
    arrays["contexts"] = np.load(io.BytesIO(content), allow_pickle=False)
    return settings, arrays


class TokenReader:
    """The BiLSTM discriminator of an earlier model, which reads texts beside their vectors.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Arrays of the model.
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        import torch

        own = {name.partition(".")[2]: torch.tensor(each) for name, each in arrays.items()
               if name.startswith("discriminator.")}  # fmt: skip
        self.embedding, self.maps = own["embedding.weight"], own["interaction.centres.weight"]
        self.gain, self.bias = own["interaction.root_gain"], own["interaction.bias"]
        self.lstm = torch.nn.LSTM(
            self.embedding.shape[1], own["lstm.weight_hh_l0"].shape[1], bidirectional=True
        )
        weights = {name[5:]: each for name, each in own.items() if name.startswith("lstm.")}
        self.lstm.load_state_dict(weights)

    def centres(self, ids: list[np.ndarray], states: np.ndarray) -> np.ndarray:
        """Return vectors of texts from their tokens and their vectors."""
        import torch

        found = []
        with torch.inference_mode():
            for own, state in zip(ids, torch.from_numpy(states), strict=True):
                ends = torch.zeros(2 * self.lstm.hidden_size)
                if len(own):
                    ends = self.lstm(self.embedding[torch.from_numpy(own).long()])[1][0].ravel()
                mapped, alike = self.maps @ ends, self.gain.ravel() * state
                last = torch.stack([torch.ones(()), mapped[-1] + self.bias.sum()])
                found.append(torch.cat([mapped[:-1], alike, last]))
        return torch.stack(found).numpy()
