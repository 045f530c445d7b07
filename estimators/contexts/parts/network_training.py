"""The loop that trains a network of contexts, from its first step or its checkpoint."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from estimators.training import Checkpoint

LARGEST_GRADIENT = 1.0
"""Norm to which a step's gradient is cut."""
N_JUDGED = 10
"""Evaluations of a run, spread evenly over it."""
SECONDS_BETWEEN = 60.0
"""After so many seconds a run keeps its state."""
WARM_UP = 0.02
"""Share of a run in which its learning rate rises."""


@dataclass(frozen=True)
class Plan:
    """What a run is made of beside its network and data.

    Attributes
    ----------
    epochs : float
        Passes over the data.
    learning_rate : float
        The highest; it rises over the first steps and then falls linearly to 0.
    max_seconds : float or None
        Training ends after so many seconds, with the learning rate falling to 0 until then.
        The result then depends on the machine's speed.
    seed : int
        Of dropout; the batches have their own.
    """

    epochs: float
    learning_rate: float
    max_seconds: float | None
    seed: int


class Learned(NamedTuple):
    """What a run said of itself.

    Attributes
    ----------
    losses : list of float
        Of each step.
    scores : list of (int, float)
        Steps and held-out loss of each evaluation.
    seconds : float
        Of training, over all sittings.
    is_complete : bool
        False where it was interrupted.
    """

    losses: list[float]
    scores: list[tuple[int, float]]
    seconds: float
    is_complete: bool


def train_network(
    network: Any,
    batches: Callable[[int], list[Any]],
    loss: Callable[[Any], Any],
    plan: Plan,
    *,
    judge: Callable[[], float] | None,
    checkpoint: Checkpoint | None,
    verbose: int,
    title: str,
) -> Learned:
    """Train a network in place by Adam, and leave it with the weights of the best evaluation.

    Parameters
    ----------
    network : torch.nn.Module
        Its weights are changed in place; it is left in evaluation mode.
    batches : callable
        Gives the batches of an epoch by its number, the same whenever asked, and in each epoch as
        many as in the first.
    loss : callable
        Gives the loss of a batch, a tensor of no dimension.
    plan : Plan
        Of the run.
    judge : callable or None
        Gives the loss of held-out rows, the lower the better; None: the last weights stay.
    checkpoint : Checkpoint or None
        Where the state is kept; a run goes on from there, and ends (on a CPU, without
        ``max_seconds``) at the weights that it would have without the interruption.
    verbose : int
        Whether to show progress.
    title : str
        Names the run in the bar and in messages.

    Returns
    -------
    learned : Learned
        Losses, evaluations and time.

    Raises
    ------
    ValueError
        If a loss is not finite, or the checkpoint is damaged or of another run.

    Warns
    -----
    UserWarning
        If Ctrl-C stopped the run; the best weights so far are kept.
    """
    import torch
    from tqdm.auto import tqdm

    run = _Run(network, plan, len(batches(0)))
    run.resume(checkpoint)
    is_complete, last_kept = True, time.monotonic()
    devices = [p.device for p in network.parameters() if p.device.type != "cpu"][:1]
    epoch, rows = -1, []
    try:
        # The caller's random state is left alone.
        with (
            torch.random.fork_rng(devices=devices),
            tqdm(total=run.total, initial=run.step, desc=title, disable=not verbose) as bar,
        ):
            while run.progress < 1:
                number, place = divmod(run.step, run.n_batches)
                if number != epoch:
                    epoch, rows = number, batches(number)
                run.take_step(lambda batch=rows[place]: loss(batch), title)
                ends = run.progress >= 1
                is_due = int(run.progress * N_JUDGED) > len(run.scores)
                if judge is not None and (ends or is_due):
                    run.judge(judge)
                is_late = time.monotonic() - last_kept > SECONDS_BETWEEN
                if checkpoint is not None and is_late and not ends:
                    run.keep(checkpoint)
                    last_kept = time.monotonic()
                bar.update()
                bar.set_postfix_str(run.shown, refresh=False)
    except KeyboardInterrupt:
        is_complete = False
        warnings.warn(
            f"training of the {title} was interrupted after step {run.step} of {run.total}; what "
            "it has learned is kept"
            + ("" if checkpoint is None else ", and another fit in the same folder goes on"),
            UserWarning,
            stacklevel=5,
        )
    finally:
        network.eval()
        run.optimizer.zero_grad(set_to_none=True)
    if run.best_arrays is not None:
        adopt_arrays(network, run.best_arrays)
    return Learned(run.losses, run.scores, run.seconds, is_complete)


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
        self.best_arrays: dict[str, np.ndarray] | None = None

    @property
    def step(self) -> int:
        return len(self.losses)

    @property
    def progress(self) -> float:
        """Share of the run that is done, by steps or by time, whichever is more."""
        by_steps = self.step / self.total if self.total else 1.0
        limit = self.plan.max_seconds
        return by_steps if limit is None else max(by_steps, self.seconds / limit)

    @property
    def shown(self) -> str:
        held = f", held out {self.scores[-1][1]:.4f}" if self.scores else ""
        return f"loss {np.mean(self.losses[-50:]):.4f}{held}"

    def take_step(self, loss: Callable[[], Any], title: str) -> None:
        import torch

        started = time.monotonic()
        # Every step seeds its dropout by its number, so that a run goes on as if never stopped.
        seed = np.random.SeedSequence([self.plan.seed, self.step])
        torch.manual_seed(int(seed.generate_state(1, np.uint64)[0]) >> 1)
        self.network.train()
        rise = min(1.0, (self.progress + 1 / self.total) / WARM_UP)
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.learning_rate * rise * (1 - self.progress)
        found = loss()
        value = float(found.detach())
        if not np.isfinite(value):
            raise ValueError(
                f"the loss of the {title} is {value} at step {self.step}: lower its learning "
                f"rate, {self.plan.learning_rate}"
            )
        self.optimizer.zero_grad(set_to_none=True)
        found.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, LARGEST_GRADIENT)
        self.optimizer.step()
        self.network.eval()
        self.losses.append(value)
        self.seconds += time.monotonic() - started

    def judge(self, judge: Callable[[], float]) -> None:
        import torch

        with torch.inference_mode():
            found = float(judge())
        if not self.scores or found < min(score for _, score in self.scores):
            self.best_arrays = arrays_of(self.network)
        self.scores.append((self.step, found))

    def keep(self, checkpoint: Checkpoint) -> None:
        arrays = {f"now.{name}": value for name, value in arrays_of(self.network).items()}
        for name, value in (self.best_arrays or {}).items():
            arrays[f"best.{name}"] = value
        for number, state in self.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                arrays[f"optimizer.{number}.{name}"] = value.cpu().numpy()
        said = {"losses": self.losses, "scores": self.scores, "seconds": self.seconds}
        checkpoint.save(self.step, arrays, said)

    def resume(self, checkpoint: Checkpoint | None) -> None:
        found = None if checkpoint is None else checkpoint.load()
        if found is None:
            return
        import torch

        arrays, said = found
        parts: dict[str, dict[str, np.ndarray]] = {"now": {}, "best": {}, "optimizer": {}}
        for name, value in arrays.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = value
        adopt_arrays(self.network, parts["now"])
        self.best_arrays = parts["best"] or None
        state: dict[int, dict[str, Any]] = {}
        for name, value in parts["optimizer"].items():
            number, _, rest = name.partition(".")
            state.setdefault(int(number), {})[rest] = torch.from_numpy(value)
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.losses = said["losses"]
        self.scores = [(step, score) for step, score in said["scores"]]
        self.seconds = said["seconds"]


def arrays_of(network: Any) -> dict[str, np.ndarray]:
    """Give copies of all weights of a network, by name."""
    found = network.state_dict().items()
    return {name: value.detach().cpu().numpy().copy() for name, value in found}


def adopt_arrays(network: Any, arrays: dict[str, np.ndarray]) -> None:
    """Put weights that `arrays_of` gave into a network of the same shape.

    Raises
    ------
    ValueError
        If a name or shape does not fit.
    """
    import torch

    try:
        network.load_state_dict({n: torch.from_numpy(v) for n, v in arrays.items()})
    except RuntimeError as error:
        raise ValueError(f"weights do not fit the network: {str(error)[:300]}") from error
