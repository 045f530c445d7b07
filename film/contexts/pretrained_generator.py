"""Generation of a sentence from those around it by a pretrained sequence-to-sequence model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from film.contexts.generators import Memory, Target, common_rows, mean_loss, row_means
from film.contexts.seq2seq import Layout

__all__ = ["PretrainedGenerator"]


class PretrainedGenerator(torch.nn.Module):
    """Probability of a sentence given those around it, by a model of transformers (Eq. 2).

    It does what `Generator` does, on ids of its own tokenizer. The encoder reads the sentences
    around together, in their order, with a token in the gap for the one that is written; so a
    memory holds no more than tokens, and every context is encoded anew with every sentence.

    Parameters
    ----------
    module : torch.nn.Module
        Model with an encoder, a decoder and logits, such as `AutoModelForSeq2SeqLM` loads.
    tokenizer : transformers.PreTrainedTokenizerBase
        Its tokenizer.
    gap : str, default=None
        Token of the tokenizer that stands for the sentence that is written. None: the mask, or
        ``<extra_id_0>`` of T5, or the end of text.
    max_length : int, default=64
        Most tokens of a sentence.

    Raises
    ------
    ValueError
        If the tokenizer has no such token or no end of text, or the module has no place for so
        long sentences or is no sequence-to-sequence model.

    Examples
    --------
    >>> from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    >>> from film.contexts import CENTRE, LEFT, RIGHT, PretrainedGenerator
    >>> def score(folder, left, sentence, right):
    ...     module = AutoModelForSeq2SeqLM.from_pretrained(folder, use_safetensors=True)
    ...     model = PretrainedGenerator(module, AutoTokenizer.from_pretrained(folder)).eval()
    ...     memories = [
    ...         model.memory(*model.encode([text]), place)
    ...         for text, place in ((left, LEFT), (right, RIGHT))
    ...     ]
    ...     target = model.target(*model.encode([sentence]), CENTRE)
    ...     return float(model.log_likelihood(memories, target))
    """

    def __init__(
        self, module: Any, tokenizer: Any, *, gap: str | None = None, max_length: int = 64
    ) -> None:
        super().__init__()
        if isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1:
            raise ValueError(f"max_length={max_length!r} must be an integer of at least 1")
        if not getattr(module.config, "is_encoder_decoder", False):
            raise ValueError(
                f"module is a {type(module).__name__}, which has no encoder and decoder; give a "
                "sequence-to-sequence model such as T5 or BART"
            )
        start = module.config.decoder_start_token_id
        if start is None:
            raise ValueError(
                "the module's config has no decoder_start_token_id; set the id that its decoder "
                "starts from"
            )
        self.module, self.tokenizer, self.max_length = module, tokenizer, max_length
        self.gap = _gap_of(tokenizer, gap)
        before, after = _around(tokenizer)
        self.before, self.after = before, after
        self.start = [start, *before]
        places = getattr(module.config, "max_position_embeddings", None)
        # Two sentences, the gap, and what stands around them.
        longest = 2 * max_length + 1 + len(before) + len(after)
        if places is not None and longest > places:
            raise ValueError(
                f"max_length={max_length} needs {longest} places for two sentences and the model "
                f"has {places}: lower max_length"
            )

    def encode(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Turn texts into ids, cut to ``max_length``.

        Parameters
        ----------
        texts : sequence of str
            At least one.

        Returns
        -------
        ids : ndarray of int64, shape (n, L)
            Without what the tokenizer puts around a text; 0 behind a text's end.
        lengths : ndarray of int64, shape (n,)
            Tokens of each.
        """
        found = self.tokenizer(
            list(texts), add_special_tokens=False, truncation=True, max_length=self.max_length
        )["input_ids"]
        lengths = np.array([len(each) for each in found], dtype=np.int64)
        ids = np.zeros((len(found), lengths.max(initial=0)), dtype=np.int64)
        for row, each in zip(ids, found, strict=True):
            row[: len(each)] = each
        return ids, lengths

    def memory(self, ids: Any, lengths: Any, place: Any) -> Memory:
        """Keep sentences, as `Generator.memory` does: each token and its place, (N, 2).

        Parameters
        ----------
        ids : array-like of int, shape (b, L)
            Tokens, from `encode`.
        lengths : array-like of int, shape (b,)
            Tokens of each sentence, from 0 to ``max_length``.
        place : int or array-like of int, shape (b,)
            Place of the sentences in their context.

        Returns
        -------
        memory : Memory
            With an empty token in front of each sentence, so that none is without.
        """
        ids, lengths = self._sentences(ids, lengths)
        layout = Layout(lengths + 1)
        places = torch.as_tensor(place, device=ids.device).expand(len(ids))
        tokens = torch.cat([ids.new_full((len(ids), 1), -1), ids], dim=1)
        both = torch.stack([tokens, places[:, None].expand(tokens.shape)], dim=2)
        return Memory.of(layout.flat(both[:, : len(layout.within)]), layout.lengths)

    def target(self, ids: Any, lengths: Any, place: int) -> Target:
        """Keep sentences that are generated, with what ends them, as `Generator.target` does."""
        ids, lengths = self._sentences(ids, lengths)
        layout = Layout(lengths + len(self.after))
        after = ids.new_tensor(self.after).expand(len(ids), -1)
        ids = torch.cat([ids, after], dim=1)
        ids = ids.scatter(
            1, lengths[:, None] + torch.arange(after.shape[1], device=ids.device), after
        )
        tokens = layout.flat(ids[:, : len(layout.within)])
        return Target(torch.full_like(tokens, place), tokens, layout.lengths)

    def token_log_probabilities(self, memories: Sequence[Memory], target: Target) -> Memory:
        """Log-probability of each token and end, as `Generator.token_log_probabilities` gives."""
        from transformers.modeling_outputs import BaseModelOutput

        n_given = common_rows([len(memory.lengths) for memory in memories])
        n_rows = common_rows([n_given, len(target.lengths)])
        read, mask = self._joined(memories, int(target.values[0]), n_given)
        encoder = self.module.get_encoder()
        states = encoder(input_ids=read, attention_mask=mask).last_hidden_state
        layout = Layout(target.lengths)
        tokens = target.tokens[layout.table].expand(n_rows, -1)
        started = torch.cat([tokens.new_tensor(self.start).expand(n_rows, -1), tokens], dim=1)
        logits = self.module(
            encoder_outputs=BaseModelOutput(states.expand(n_rows, -1, -1)),
            attention_mask=mask.expand(n_rows, -1),
            decoder_input_ids=started[:, :-1],
            use_cache=False,
        ).logits
        rows = Layout(target.lengths.expand(n_rows))
        chosen = rows.flat(logits[:, len(self.start) - 1 :])
        # In half precision the sum over the vocabulary would be rounded away.
        chosen = chosen.to(torch.promote_types(chosen.dtype, torch.float32))
        values = -torch.nn.functional.cross_entropy(chosen, rows.flat(tokens), reduction="none")
        return Memory.of(values, rows.lengths)

    def log_likelihood(self, memories: Sequence[Memory], target: Target) -> Any:
        """Mean log-probability per token, as `Generator.log_likelihood` gives, (b,)."""
        return row_means(self.token_log_probabilities(memories, target))

    def loss(
        self, sentences: Sequence[tuple[Any, Any]], places: int | Sequence[int] = (0, 1, 2)
    ) -> Any:
        """Cross-entropy of sentences given those at all other places, as `Generator.loss`."""
        return mean_loss(self, sentences, places)

    def _joined(self, memories: Sequence[Memory], place: int, n_rows: int) -> tuple[Any, Any]:
        """Tokens (b, L) of the sentences around, in order, and a mask of them."""
        device = self.module.device
        first, last, gap = (
            torch.tensor(ids, dtype=torch.int64, device=device).expand(n_rows, -1)
            for ids in (self.before, self.after, [self.gap])
        )
        tables = [(place, gap)]
        for memory in memories:
            table, mask = memory.padded()
            tokens = table[:, :, 0].masked_fill(~mask, -1)
            tables.append((int(memory.values[0, 1]), tokens.expand(n_rows, -1)))
        tables = [table for _, table in sorted(tables, key=lambda entry: entry[0])]
        joined = torch.cat([first, *tables, last], dim=1)
        # What is empty goes behind, and the rest keeps its order.
        order = (joined < 0).to(torch.int8).argsort(dim=1, stable=True)
        joined = joined.gather(1, order)
        mask = joined >= 0
        longest = int(mask.sum(dim=1).max())
        return joined.clamp(min=0)[:, :longest], mask[:, :longest].long()

    def _sentences(self, ids: Any, lengths: Any) -> tuple[Any, Any]:
        device = self.module.device
        ids = torch.as_tensor(ids, dtype=torch.int64, device=device)
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device=device)
        if ids.ndim != 2 or lengths.shape != ids.shape[:1] or not len(ids):
            raise ValueError(
                f"ids has shape {tuple(ids.shape)} and lengths {tuple(lengths.shape)}; they must "
                "be (b, L) and (b,) with b at least 1"
            )
        if int(lengths.max()) > self.max_length:
            raise ValueError(
                f"a sentence has {int(lengths.max())} tokens, more than max_length="
                f"{self.max_length}: cut sentences as encode does"
            )
        return ids, lengths


def _gap_of(tokenizer: Any, gap: str | None) -> int:
    known = tokenizer.get_vocab()
    wanted = [tokenizer.mask_token, "<extra_id_0>", tokenizer.eos_token] if gap is None else [gap]
    for token in wanted:
        if token in known:
            return known[token]
    raise ValueError(
        f"gap={gap!r} is no token of the tokenizer; give one that it has, such as a mask"
        if gap is not None
        else "the tokenizer has no mask, <extra_id_0> or end of text; give gap, one of its tokens"
    )


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Ids that the tokenizer puts before and behind a text; behind it stands one at least."""
    found = tokenizer("a", return_special_tokens_mask=True)
    ids, added = found["input_ids"], found["special_tokens_mask"]
    plain = [place for place, is_added in enumerate(added) if not is_added]
    before, after = (ids[: plain[0]], ids[plain[-1] + 1 :]) if plain else ([], [])
    if not after and tokenizer.eos_token_id is None:
        raise ValueError("the tokenizer has no end of text: set its eos_token")
    return before, after or [tokenizer.eos_token_id]
