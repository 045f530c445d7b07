"""The loop that trains a network of contexts, from the start or after an interruption."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from film.datasets import atomic_writer

LARGEST_GRADIENT = 1.0
"""Norm to which gradients are clipped."""
N_EVALUATIONS = 10
"""Number of evaluations, spread evenly over a run."""
SECONDS_BETWEEN = 60.0
"""Seconds between two saves of the state."""
WARM_UP = 0.02
"""Share of a run with a rising learning rate."""


@dataclass(frozen=True)
class Plan:
    """Settings of a run.

    Parameters
    ----------
    epochs : float
        Passes over the batches.
    learning_rate : float
        Peak learning rate, after a linear warm-up; it then falls linearly to 0.
    max_seconds : float or None
        Maximum seconds of training; the learning rate then falls with time.
    seed : int
        Seeds dropout.
    """

    epochs: float
    learning_rate: float
    max_seconds: float | None
    seed: int


class Learned(NamedTuple):
    """Results of a run.

    Attributes
    ----------
    losses : list of float
        Loss of each step.
    scores : list of (int, float)
        Steps and held-out loss of each evaluation.
    is_complete : bool
        False if Ctrl-C ended it.
    """

    losses: list[float]
    scores: list[tuple[int, float]]
    is_complete: bool


def train_network(
    network: Any,
    batches: Callable[[int], list[Any]],
    loss: Callable[[Any], Any],
    plan: Plan,
    *,
    evaluate: Callable[[], float] | None,
    state_file: Path | None,
    verbose: int,
    title: str,
) -> Learned:
    """Train a network in place with Adam, and keep the weights of the best evaluation.

    Parameters
    ----------
    network : torch.nn.Module
        Parameters that require a gradient are trained.
    batches : callable
        Maps the number of an epoch to its batches.
    loss : callable
        Maps a batch to a tensor of shape ().
    plan : Plan
        Epochs, learning rate and seed.
    evaluate : callable or None
        Returns the held-out loss.
    state_file : Path or None
        File to which the state is saved each minute, and from which a run continues.
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

    run = _Run(network, plan, len(batches(0)))
    if state_file is not None and state_file.is_file():
        run.load(state_file)
    is_complete, last_kept = True, time.monotonic()
    devices = [p.device for p in network.parameters() if p.device.type != "cpu"][:1]
    epoch, rows = -1, []
    try:
        # The caller's random state does not change.
        with (
            torch.random.fork_rng(devices=devices),
            tqdm(total=run.total, initial=run.step, desc=title, disable=not verbose) as bar,
        ):
            while run.progress < 1:
                number, place = divmod(run.step, run.n_batches)
                if number != epoch:
                    epoch, rows = number, batches(number)
                value = run.take_step(loss, rows[place])
                if not np.isfinite(value):
                    raise ValueError(f"the loss of the {title} is {value} at step {run.step}")
                ends = run.progress >= 1
                is_due = int(run.progress * N_EVALUATIONS) > len(run.scores)
                if evaluate is not None and (ends or is_due):
                    run.evaluate(evaluate)
                if state_file is not None and time.monotonic() - last_kept > SECONDS_BETWEEN:
                    run.save(state_file)
                    last_kept = time.monotonic()
                bar.update()
    except KeyboardInterrupt:
        is_complete = False
        warnings.warn(
            f"training of the {title} was interrupted after step {run.step} of {run.total}; its "
            "best weights are kept, and another fit in the same folder continues",
            UserWarning,
            stacklevel=5,
        )
    finally:
        network.eval()
    if run.best is not None:
        network.load_state_dict(run.best)
    return Learned(run.losses, run.scores, is_complete)


class _Run:
    """State of a run between two steps."""

    def __init__(self, network: Any, plan: Plan, n_batches: int) -> None:
        import torch

        self.network, self.plan, self.n_batches = network, plan, n_batches
        self.total = max(plan.epochs > 0, round(plan.epochs * n_batches))
        self.parameters = [each for each in network.parameters() if each.requires_grad]
        self.optimizer = torch.optim.Adam(self.parameters, lr=plan.learning_rate)
        self.losses: list[float] = []
        self.scores: list[tuple[int, float]] = []
        self.seconds = 0.0
        self.best: dict[str, Any] | None = None

    @property
    def step(self) -> int:
        return len(self.losses)

    @property
    def progress(self) -> float:
        """Finished share of the run, by steps or by time, whichever is larger."""
        by_steps = self.step / self.total if self.total else 1.0
        return max(by_steps, self.seconds / (self.plan.max_seconds or np.inf))

    def take_step(self, loss: Callable[[Any], Any], batch: Any) -> float:
        import torch

        started = time.monotonic()
        # Every step seeds its dropout by its number, so that a run goes on as if never stopped.
        seed = np.random.SeedSequence([self.plan.seed, self.step])
        torch.manual_seed(int(seed.generate_state(1, np.uint64)[0]) >> 1)
        self.network.train()
        rise = min(1.0, (self.progress + 1 / self.total) / WARM_UP)
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.learning_rate * rise * (1 - self.progress)
        found = loss(batch)
        self.optimizer.zero_grad(set_to_none=True)
        found.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, LARGEST_GRADIENT)
        self.optimizer.step()
        self.network.eval()
        self.losses.append(float(found.detach()))
        self.seconds += time.monotonic() - started
        return self.losses[-1]

    def evaluate(self, evaluate: Callable[[], float]) -> None:
        import torch

        with torch.inference_mode():
            found = float(evaluate())
        if not self.scores or found < min(score for _, score in self.scores):
            self.best = copy.deepcopy(self.network.state_dict())
        self.scores.append((self.step, found))

    def save(self, path: Path) -> None:
        import torch

        state = {name: getattr(self, name) for name in ("losses", "scores", "seconds", "best")}
        state["network"] = self.network.state_dict()
        state["optimizer"] = self.optimizer.state_dict()
        with atomic_writer(path, "wb") as handle:
            torch.save(state, handle)

    def load(self, path: Path) -> None:
        import torch

        state = torch.load(path, weights_only=True)
        self.network.load_state_dict(state.pop("network"))
        self.optimizer.load_state_dict(state.pop("optimizer"))
        vars(self).update(state)


def arrays_of(network: Any) -> dict[str, np.ndarray]:
    """Return copies of all weights of a network, by name."""
    found = network.state_dict().items()
    return {name: value.detach().cpu().numpy().copy() for name, value in found}


def adopt_arrays(network: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Put the weights that `arrays_of` returned into a network, and return it ready for use."""
    import torch

    try:
        network.load_state_dict({n: torch.from_numpy(v) for n, v in arrays.items()})
    except RuntimeError as error:
        raise ValueError(f"weights do not fit the network: {str(error)[:300]}") from error
    return network.requires_grad_(False).eval()
