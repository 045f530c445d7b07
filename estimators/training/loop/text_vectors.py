"""A network over frozen token vectors, as the loop of training reads a transformer."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import Any

import numpy as np

TOKENS_PER_BATCH = 1024
"""Texts of like length go through the network together up to so many tokens."""


class TokenStates:
    """Frozen token vectors of texts, one after the other; each text counts as one token.

    What a network makes of a text is one vector, so to the loop of training a text is one token.

    Parameters
    ----------
    values : ndarray of float16 or float32, shape (N, h)
        Vectors of the tokens of all texts.
    lengths : ndarray of int, shape (n,)
        Number of tokens of each text; 0 for one that has none to be read.
    """

    def __init__(self, values: np.ndarray, lengths: np.ndarray) -> None:
        self.values, self.n_tokens = values, lengths
        self.token_starts = np.concatenate([[0], np.cumsum(lengths)])
        self.lengths = np.ones(len(lengths), dtype=np.int64)
        self.starts = np.arange(len(lengths) + 1)
        self.is_special = np.zeros(len(lengths), dtype=bool)

    @property
    def digest(self) -> np.ndarray:
        """Name of all vectors by their content, 16 bytes."""
        digest = hashlib.blake2b(self.n_tokens.astype("<i8").tobytes(), digest_size=16)
        digest.update(np.ascontiguousarray(self.values).data)
        return np.frombuffer(digest.digest(), dtype=np.uint8)

    def padded(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give matrices of some texts, padded with zeros, and where their tokens are."""
        lengths = self.n_tokens[texts]
        mask = np.arange(max(1, lengths.max())) < lengths[:, np.newaxis]
        x = np.zeros((*mask.shape, self.values.shape[1]), dtype=np.float32)
        places = np.repeat(self.token_starts[texts] - np.cumsum(lengths) + lengths, lengths)
        x[mask] = self.values[places + np.arange(len(places))]
        return x, mask


class TextVectors:
    """What the loop asks of a transformer, of a network that makes one vector of a text.

    Parameters
    ----------
    network : torch.nn.Module
        Called with token vectors (b, L, h) and their mask (b, L), it gives vectors (b, w).
    width : int
        Length w of a vector.
    device : str
        Where it computes.
    name : str
        What the network is, for checkpoints.
    dtype : {"float32", "float16", "bfloat16"}
        Precision of its products; weights stay in float32.
    """

    head: Any = None

    def __init__(self, network: Any, width: int, device: str, name: str, dtype: str) -> None:
        self.module, self.width = network.to(device), width
        self.device, self.dtype = device, dtype
        self.file_digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()

    def forward(self, tokens: TokenStates, batch: np.ndarray) -> tuple[Any, Any]:
        """Give vectors of some texts, (b, 1, w), and a mask of ones, (b, 1)."""
        import torch

        # Equal lengths side by side need little padding.
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
        """Give vectors of all texts without gradients, float32 (n, w)."""
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
        """Take on weights as `arrays` gave them.

        Raises
        ------
        ValueError
            If they are those of another network.
        """
        import torch

        try:
            # Arrays may be views of a file, which torch cannot write to.
            self.module.load_state_dict({n: torch.from_numpy(v.copy()) for n, v in arrays.items()})
        except RuntimeError as error:
            raise ValueError(f"weights are those of another network: {str(error)[:300]}") from error

    def set_dtype(self, dtype: str) -> None:
        """Change the precision of products."""
        self.dtype = dtype
