"""The loop that trains a network of contexts."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LARGEST_GRADIENT = 1.0
"""Norm to which gradients are clipped."""
N_EVALUATIONS = 10
"""Number of evaluations, spread evenly over a run."""
WARM_UP = 0.02
"""Share of a run with a rising learning rate."""


class Plan(NamedTuple):
    """Settings of a run."""

    epochs: float
    learning_rate: float
    """Peak learning rate, after a linear warm-up; it then falls linearly to 0."""
    max_seconds: float | None
    """Maximum seconds of training; the learning rate then falls with time."""
    seed: int
    """Seeds dropout."""


class Learned(NamedTuple):
    """Results of a run."""

    losses: list[float]
    """Loss of each step."""
    scores: list[tuple[int, float]]
    """Steps and held-out loss of each evaluation."""
    is_complete: bool
    """False if Ctrl-C ended it."""


def train_network(
    task: Any,
    plan: Plan,
    *,
    evaluate: Callable[[], float] | None,
    verbose: int,
    title: str,
) -> Learned:
    """Train a network in place with Adam, and keep the weights of the best evaluation.

    Parameters
    ----------
    task : DiscriminatorTask or GeneratorTask
        Its network is trained with its batches and its loss.
    plan : Plan
        Epochs, learning rate and seed.
    evaluate : callable or None
        Returns the held-out loss.
    verbose : int
        Whether to show progress.
    title : str
        Name of the network in messages.

    Returns
    -------
    learned : Learned
        Losses and scores.

    Raises
    ------
    ValueError
        If a loss is not finite.

    Warns
    -----
    UserWarning
        If Ctrl-C ended the training.
    """
    import torch
    from tqdm.auto import tqdm

    network, n_batches = task.network, len(task.batches(0))
    total = max(plan.epochs > 0, round(plan.epochs * n_batches))
    parameters = [each for each in network.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=plan.learning_rate)
    losses: list[float] = []
    scores: list[tuple[int, float]] = []
    best, rows, seconds, is_complete = None, [], 0.0, True

    def progress() -> float:
        """Finished share of the run, by steps or by time, whichever is larger."""
        by_steps = len(losses) / total if total else 1.0
        return max(by_steps, seconds / (plan.max_seconds or np.inf))

    devices = [p.device for p in parameters if p.device.type != "cpu"][:1]
    try:
        # The caller's random state does not change.
        with (
            torch.random.fork_rng(devices=devices),
            tqdm(total=total, desc=title, disable=not verbose) as bar,
        ):
            while progress() < 1:
                started = time.monotonic()
                epoch, place = divmod(len(losses), n_batches)
                rows = rows if place else task.batches(epoch)
                # Every step seeds its dropout by its number.
                seed = np.random.SeedSequence([plan.seed, len(losses)])
                torch.manual_seed(int(seed.generate_state(1, np.uint64)[0]) >> 1)
                network.train()
                rise = min(1.0, (progress() + 1 / total) / WARM_UP)
                for group in optimizer.param_groups:
                    group["lr"] = plan.learning_rate * rise * (1 - progress())
                loss = task.loss(rows[place])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, LARGEST_GRADIENT)
                optimizer.step()
                network.eval()
                if not np.isfinite(value := float(loss.detach())):
                    raise ValueError(f"the loss of the {title} is {value} at step {len(losses)}")
                losses.append(value)
                seconds += time.monotonic() - started
                is_due = int(progress() * N_EVALUATIONS) > len(scores)
                if evaluate is not None and (progress() >= 1 or is_due):
                    with torch.inference_mode():
                        score = float(evaluate())
                    if not scores or score < min(score for _, score in scores):
                        best = copy.deepcopy(network.state_dict())
                    scores.append((len(losses), score))
                bar.update()
    except KeyboardInterrupt:
        is_complete = False
        warnings.warn(
            f"training of the {title} was interrupted after step {len(losses)} of {total}; its "
            "best weights are kept",
            UserWarning,
            stacklevel=5,
        )
    finally:
        network.eval()
    if best is not None:
        network.load_state_dict(best)
    return Learned(losses, scores, is_complete)
