"""Adapter that lets the training loop use a network over frozen token vectors."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import Any

import numpy as np

TOKENS_PER_BATCH = 1024
"""Maximum tokens of similar-length texts that pass through the network together."""


class TokenStates:
    """Frozen token vectors of texts, concatenated; the training loop counts a text as one token.

    The network returns one vector per text.

    Parameters
    ----------
    values : ndarray of float16 or float32, shape (N, h)
        Vectors of the tokens of all texts.
    lengths : ndarray of int, shape (n,)
        Number of tokens of each text; may be 0.
    """

    def __init__(self, values: np.ndarray, lengths: np.ndarray) -> None:
        self.values, self.n_tokens = values, lengths
        self.token_starts = np.concatenate([[0], np.cumsum(lengths)])
        self.lengths = np.ones(len(lengths), dtype=np.int64)
        self.starts = np.arange(len(lengths) + 1)
        self.is_special = np.zeros(len(lengths), dtype=bool)

    @property
    def digest(self) -> np.ndarray:
        """Hash of all vectors, 16 bytes."""
        digest = hashlib.blake2b(self.n_tokens.astype("<i8").tobytes(), digest_size=16)
        digest.update(np.ascontiguousarray(self.values).data)
        return np.frombuffer(digest.digest(), dtype=np.uint8)

    def padded(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrices of texts, padded with zeros, and their masks."""
        lengths = self.n_tokens[texts]
        mask = np.arange(max(1, lengths.max())) < lengths[:, np.newaxis]
        x = np.zeros((*mask.shape, self.values.shape[1]), dtype=np.float32)
        places = np.repeat(self.token_starts[texts] - np.cumsum(lengths) + lengths, lengths)
        x[mask] = self.values[places + np.arange(len(places))]
        return x, mask


class TextVectors:
    """Gives a network that returns one vector per text the interface of a transformer.

    Parameters
    ----------
    network : torch.nn.Module
        Called with token vectors (b, L, h) and their mask (b, L); returns vectors (b, w).
    width : int
        Width w of a vector.
    device : str
        Device of the network.
    name : str
        Description of the network, for checkpoints.
    dtype : {"float32", "float16", "bfloat16"}
        Precision of its products; weights stay in float32.
    """

    head: Any = None

    def __init__(self, network: Any, width: int, device: str, name: str, dtype: str) -> None:
        self.module, self.width = network.to(device), width
        self.device, self.dtype = device, dtype
        self.file_digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()

    def forward(self, tokens: TokenStates, batch: np.ndarray) -> tuple[Any, Any]:
        """Return vectors of texts, (b, 1, w), and a mask of ones, (b, 1)."""
        import torch

        # Texts of equal length need little padding.
        order = np.argsort(-tokens.n_tokens[batch], kind="stable")
        found, done = [], 0
        while done < len(order):
            longest = max(1, int(tokens.n_tokens[batch[order[done]]]))
            some = order[done : done + max(1, TOKENS_PER_BATCH // longest)]
            x, mask = (
                torch.from_numpy(part).to(self.device) for part in tokens.padded(batch[some])
            )
            found.append(self.module(x, mask).float())
            done += len(some)
        back = torch.from_numpy(np.argsort(order)).to(self.device)
        vectors = torch.cat(found)[back]
        return vectors[:, None], torch.ones(len(batch), 1, dtype=torch.bool, device=self.device)

    def vectors(self, tokens: TokenStates) -> np.ndarray:
        """Return vectors of all texts without gradients, float32, shape (n, w)."""
        import torch

        half = self.dtype != "float32"
        kind = torch.device(self.device).type
        with (
            torch.inference_mode(),
            torch.autocast(kind, getattr(torch, self.dtype)) if half else nullcontext(),
        ):
            return self.forward(tokens, np.arange(len(tokens.n_tokens)))[0][:, 0].cpu().numpy()

    def arrays(self) -> dict[str, np.ndarray]:
        """Copy all weights."""
        state = self.module.state_dict()
        return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def adopt(self, arrays: dict[str, np.ndarray]) -> None:
        """Load weights returned by `arrays`.

        Raises
        ------
        ValueError
            If they belong to another network.
        """
        import torch

        try:
            # Arrays may be read-only views of a file.
            self.module.load_state_dict({n: torch.from_numpy(v.copy()) for n, v in arrays.items()})
        except RuntimeError as error:
            raise ValueError(f"weights are those of another network: {str(error)[:300]}") from error

    def set_dtype(self, dtype: str) -> None:
        """Change the precision of products."""
        self.dtype = dtype
