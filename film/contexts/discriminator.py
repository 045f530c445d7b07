"""The discriminator: how well a sentence fits its context, from a BiLSTM's end states; its loss."""

from __future__ import annotations

from typing import Any, Literal

import torch

GAIN = 5.0
"""Initial logit that a neighbour adds to a sentence with the same words."""

InteractionKind = Literal["bilinear", "concatenation"]


class Interaction(torch.nn.Module):
    """Logit that a centre sentence fits between a left and a right sentence.

    With states h of the three sentences, it is
    ``<A h_i, B h_<i + C h_>i> + a·h_i + b·h_<i + c·h_>i + d``, which is one product:
    ``<centre(h_i), left(h_<i) + right(h_>i)>``. So the vectors of sentences are computed once, and
    one product of matrices gives all sentences in all contexts. ``"concatenation"`` is the paper's
    Eq. 1, ``h·[h_<i, h_i, h_>i]`` with a bias. It adds a term of the context and a term of the
    sentence, so it ranks contexts in the same order for every sentence.

    Parameters
    ----------
    n_states : int
        Width of states. They may come from any encoder, also from a frozen one.
    kind : {"bilinear", "concatenation"}, default="bilinear"
        With or without the first term.
    width : int, default=300
        Rows of A, B and C. Not used by ``"concatenation"``.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import Interaction
    >>> head = Interaction(4, width=3)
    >>> states = torch.randn(5, 4)
    >>> contexts = head.left(states[:2]) + head.right(states[2:4])
    >>> (head.centre(states) @ contexts.T).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        n_states: int,
        kind: InteractionKind = "bilinear",
        width: int = 300,
    ) -> None:
        super().__init__()
        # The last row of each is its linear term.
        n_rows = 1 + (width if kind == "bilinear" else 0)
        maps = (torch.nn.Linear(n_states, n_rows, bias=False) for _ in range(3))
        self.centres, self.lefts, self.rights = maps
        self.bias = torch.nn.Parameter(torch.zeros(()))

    def centre(self, states: Any) -> Any:
        """Vectors of centre sentences, (b, q), from states (b, n_states)."""
        return self._vectors(self.centres, states, self.bias, first=False)

    def left(self, states: Any) -> Any:
        """Vectors of left sentences, (b, q), from states (b, n_states)."""
        return self._vectors(self.lefts, states, 1.0, first=True)

    def right(self, states: Any) -> Any:
        """Vectors of right sentences, (b, q), from states (b, n_states)."""
        return self._vectors(self.rights, states, 0.0, first=True)

    def _vectors(self, part: Any, states: Any, constant: Any, *, first: bool) -> Any:
        """Return columns whose product has all products, both linear terms and the bias."""
        projected = part(states)
        vectors, linear = projected[:, :-1], projected[:, -1:]
        ones = torch.ones_like(linear)
        ends = [linear, ones * constant] if first else [ones, linear + constant]
        return torch.cat([vectors, *ends], dim=1)


class Likeness(torch.nn.Module):
    """Logit that a sentence fits between two others, by how similar it is to them.

    With fixed vectors v of the three sentences, such as those of `spelling_states`, it is
    ``g <v_i, v_<i + v_>i> + d``. Only the numbers g ≥ 0 and d are learned. It is one product, as
    in `Interaction`.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import Likeness
    >>> head, states = Likeness(), torch.eye(3)
    >>> contexts = head.left(states[:1]) + head.right(states[1:2])
    >>> (head.centre(states) @ contexts.T).detach().flatten().round()
    tensor([ 0.,  0., -5.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.root_gain = torch.nn.Parameter(torch.tensor(GAIN**0.5))
        # Sentences without a word in common do not fit.
        self.bias = torch.nn.Parameter(torch.tensor(-GAIN))

    def centre(self, states: Any) -> Any:
        """Vectors of centre sentences, (b, q), from fixed vectors (b, n)."""
        return self._vectors(states, 1.0, self.bias)

    def left(self, states: Any) -> Any:
        """Vectors of left sentences."""
        return self._vectors(states, 0.0, 1.0)

    def right(self, states: Any) -> Any:
        """Vectors of right sentences."""
        return self._vectors(states, 0.0, 0.0)

    def _vectors(self, states: Any, *ends: Any) -> Any:
        ones = torch.ones_like(states[:, :1])
        return torch.cat([self.root_gain * states, *(ones * end for end in ends)], dim=1)


class Discriminator(torch.nn.Module):
    """Probability that left, centre and right sentence are consecutive (Section 3.2.1).

    The state of a sentence joins the last states of two LSTMs, one from left to right and one from
    right to left. `Interaction` turns three such states into a logit. Each sentence is encoded on
    its own, so a corpus is encoded once.

    Parameters
    ----------
    n_tokens : int
        Entries of the vocabulary.
    hidden : int, default=300
        Width h of the states of a direction.
    interaction : {"bilinear", "concatenation"}, default="bilinear"
        Kind of `Interaction`: ``"concatenation"`` is Eq. 1.
    width : int, default=300
        Width of the `Interaction`.
    vectors : array-like of float, shape (n_tokens, e), default=None
        Initial vectors of tokens, such as word vectors learned on the corpus; training changes
        them. None: random vectors of width e = ``hidden``.
    dropout : float, default=0.1
        Share of the entries of token vectors and of end states dropped in training.

    Notes
    -----
    ``log p(y=1)`` is ``-numpy.logaddexp(0, -logit)``. The LSTM encodes sentences of one length
    together, without padding; on a CPU, this is several times as fast as packed sequences.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import Discriminator
    >>> model = Discriminator(50, hidden=4, width=3).eval()
    >>> states = model.states(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]))
    >>> states.shape
    torch.Size([2, 8])
    >>> contexts = model.left(states) + model.right(states)
    >>> (model.centre(states) @ contexts.T).shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        n_tokens: int,
        *,
        hidden: int = 300,
        interaction: InteractionKind = "bilinear",
        width: int = 300,
        vectors: Any = None,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if vectors is None:
            vectors = torch.normal(0.0, 0.5, (n_tokens, hidden))
        start = torch.as_tensor(vectors, dtype=torch.float32).clone()
        self.embedding = torch.nn.Embedding.from_pretrained(start, freeze=False)
        self.lstm = torch.nn.LSTM(
            self.embedding.embedding_dim, hidden, bidirectional=True, batch_first=True
        )
        self.interaction = Interaction(2 * hidden, interaction, width)
        self.dropout = torch.nn.Dropout(dropout)

    def states(self, ids: Any, lengths: Any) -> Any:
        """Encode sentences, each by itself.

        Parameters
        ----------
        ids : array-like of int, shape (b, L)
            Tokens; after a sentence's end, any values in [0, n_tokens).
        lengths : array-like of int, shape (b,)
            Tokens of each sentence, in [0, L].

        Returns
        -------
        states : tensor, shape (b, 2 hidden)
            The last state of each direction; zeros for a sentence without a token.
        """
        device = self.embedding.weight.device
        ids = torch.as_tensor(ids, dtype=torch.int64, device=device)
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device=device)
        order = lengths.argsort(stable=True)
        different, counts = torch.unique_consecutive(lengths[order], return_counts=True)
        found = []
        for length, rows in zip(different.tolist(), order.split(counts.tolist()), strict=True):
            if length == 0:
                shape = len(rows), 2 * self.lstm.hidden_size
                found.append(self.embedding.weight.new_zeros(*shape))
                continue
            tokens = self.dropout(self.embedding(ids[rows, :length]))
            last = self.lstm(tokens)[1][0]
            found.append(torch.cat([last[0], last[1]], dim=1))
        return self.dropout(torch.cat(found)[order.argsort()])

    def centre(self, states: Any) -> Any:
        """Vectors of centre sentences: ``logit = <centre(s), left(l) + right(r)>``."""
        return self.interaction.centre(states)

    def left(self, states: Any) -> Any:
        """Vectors of left sentences."""
        return self.interaction.left(states)

    def right(self, states: Any) -> Any:
        """Vectors of right sentences."""
        return self.interaction.right(states)


def fit_weights(documents: Any, texts: Any, *, excluded: Any = None) -> Any:
    """Weights of all centres of a batch in all its contexts, the true centres on the diagonal.

    True centres have half of the total weight, negatives the other half. In each row, half of the
    negatives' weight goes to centres of the same document and half to centres of other documents;
    if one kind is missing, all weight goes to the other (Section 3.2.1). A centre with the same
    text as the row's is never a negative.

    Parameters
    ----------
    documents : tensor of int, shape (B,)
        Document of each triple of sentences.
    texts : tensor of int, shape (B,)
        Code of the text of each triple's centre: equal texts, equal codes.
    excluded : tensor of bool, shape (B, B), default=None
        Further centres j that are not negatives of row i, such as sentences of context i itself.

    Returns
    -------
    weights : tensor of float32, shape (B, B)
        They sum to 1. A row without a negative has no weight; without any negative, all are 0.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import fit_weights
    >>> fit_weights(torch.tensor([0, 0, 1]), torch.tensor([5, 6, 7])) * 12
    tensor([[2., 1., 1.],
            [1., 2., 1.],
            [1., 1., 2.]])
    """
    allowed = texts[:, None] != texts
    if excluded is not None:
        allowed &= ~excluded
    same = documents[:, None] == documents
    parts = [(allowed & kind).float() for kind in (same, ~same)]
    within, beyond = (part / part.sum(dim=1, keepdim=True).clamp(min=1) for part in parts)
    shares = within + beyond
    kinds = shares.sum(dim=1, keepdim=True)
    has_negative = kinds[:, 0] > 0
    n_rows = int(has_negative.sum())
    return (shares / kinds.clamp(min=1) + torch.diag(has_negative.float())) / (2 * max(n_rows, 1))


def fit_loss(logits: Any, weights: Any) -> Any:
    """Weighted binary cross-entropy of all centres of a batch in all its contexts.

    Parameters
    ----------
    logits : tensor of float, shape (B, B)
        Logit that centre j fits into context i: ``(left(l) + right(r)) @ centre(s).T``.
    weights : tensor of float, shape (B, B)
        From `fit_weights`.

    Returns
    -------
    loss : tensor, shape ()
        In nats; log 2 for logits of 0.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import fit_loss, fit_weights
    >>> weights = fit_weights(torch.tensor([0, 1]), torch.tensor([0, 1]))
    >>> fit_loss(torch.tensor([[9.0, -9.0], [-9.0, 9.0]]), weights)
    tensor(0.0001)
    """
    signs = 2 * torch.eye(len(logits), device=logits.device, dtype=logits.dtype) - 1
    losses = -torch.nn.functional.logsigmoid(signs * logits)
    # A logit with weight 0 is ignored, even if it is infinite.
    return (losses.masked_fill(weights == 0, 0) * weights).sum()
