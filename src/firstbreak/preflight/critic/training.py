"""Train only the value function, on fixed rollouts, and measure what it explains of held-out episodes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from firstbreak.model import Interval
from firstbreak.preflight import intervals
from firstbreak.preflight.critic.rollouts import Wrapped
from firstbreak.values import dataclass

HELD_OUT = 0.25  #: share of the episodes (convention)
STEPS, BATCH, RATE = 1500, 256, 1e-3  #: of the training: enough for two layers of 64 (convention)
THREADS = 1  #: of torch, so that the result is the same everywhere


@dataclass(frozen=True)
class Fit:
    """How well one critic explains the returns."""

    name: str
    train: float  #: R2 on the steps it was trained on
    held_out: float  #: explained variance on other episodes
    interval: Interval  #: of `held_out`, by a bootstrap over episodes
    silent: int  #: tensors of weights whose gradient is exactly 0, of the value function's own
    unreached: int = 0  #: tensors of weights that have no gradient at all, of the value function's own
    error: str = ""  #: why it could not be trained, where it could not


@dataclass(frozen=True)
class Batch:
    """Steps of whole episodes in rows."""

    observations: np.ndarray  #: (M, ...)
    actions: np.ndarray | None  #: (M, ...)
    returns: np.ndarray  #: (M,)
    episodes: np.ndarray  #: (M,) int
    seen: np.ndarray  #: (M,) bool: trained on


def split(observations: np.ndarray, actions: np.ndarray | None, returns: np.ndarray, episodes: np.ndarray) -> Batch:
    """Whole episodes are held out, because neighbouring steps are nearly equal."""
    numbers = np.unique(episodes)
    rng = np.random.default_rng(0)
    held = rng.permutation(numbers)[: max(1, round(HELD_OUT * len(numbers)))]
    return Batch(observations, actions, returns, episodes, ~np.isin(episodes, held))


def fit(name: str, critic: Any, batch: Batch, *, normalised: bool) -> Fit:
    """Train `critic` with Adam on the squared error, and put its weights back; targets are standardised if `normalised`."""
    import torch

    owner, _ = _parts(critic)
    before, threads = {key: value.clone() for key, value in owner.state_dict().items()}, torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        return _fit(name, critic, batch, normalised)
    except Exception as error:  # the user's network may raise anything
        return Fit(name, np.nan, np.nan, (np.nan, np.nan), 0, error=f"{type(error).__name__}: {error}")
    finally:
        owner.load_state_dict(before)
        torch.set_num_threads(threads)


def _fit(name: str, critic: Any, batch: Batch, normalised: bool) -> Fit:
    import torch

    owner, call = _parts(critic)
    owner.train()
    seen = batch.returns[batch.seen]
    centre, scale = (float(seen.mean()), float(seen.std()) or 1.0) if normalised else (0.0, 1.0)
    observations = torch.as_tensor(np.asarray(batch.observations, np.float32))
    actions = None if batch.actions is None else torch.as_tensor(np.asarray(batch.actions, np.float32))
    targets = torch.as_tensor(((batch.returns - centre) / scale).astype(np.float32))
    rows = torch.as_tensor(np.flatnonzero(batch.seen))

    def values(at: Any) -> Any:
        out = call(owner, observations[at], None if actions is None else actions[at])
        if out.numel() != len(at):
            raise ValueError(f"it gives {tuple(out.shape)} for {len(at)} observations, not one value each")
        return out.reshape(-1)

    optimiser = torch.optim.Adam(owner.parameters(), lr=RATE)
    generator = torch.Generator().manual_seed(0)
    for _ in range(STEPS):
        at = rows[torch.randint(len(rows), (min(BATCH, len(rows)),), generator=generator)]
        loss = ((values(at) - targets[at]) ** 2).mean()
        if not loss.requires_grad:
            raise ValueError("its output carries no gradient: look for detach() or no_grad() in forward")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    silent = sum(p.grad is not None and not bool(p.grad.abs().sum() > 0) for p in owner.parameters())
    # of a policy, which has an actor too, those named so
    first = critic.own if isinstance(critic, Wrapped) else ""
    own = [p for name, p in owner.named_parameters() if p.requires_grad and name.startswith(first)]
    unreached = sum(p.grad is None for p in own)
    owner.eval()
    with torch.no_grad():
        parts = torch.split(torch.arange(len(targets)), 4096)
        predicted = torch.cat([values(part) for part in parts]).numpy() * scale + centre
    return _scored(name, predicted, batch, silent, unreached)


def _parts(critic: Any) -> tuple[Any, Callable[[Any, Any, Any], Any]]:
    if isinstance(critic, Wrapped):
        return critic.owner, critic.call
    return critic, lambda owner, observations, actions: owner(observations)


def _scored(name: str, predicted: np.ndarray, batch: Batch, silent: int, unreached: int) -> Fit:
    seen = batch.seen
    error = (batch.returns - predicted)[seen]
    train = 1 - float(np.mean(error**2) / np.var(batch.returns[seen]))
    returns, guess, episodes = batch.returns[~seen], predicted[~seen], batch.episodes[~seen]
    interval = bootstrap(returns, guess, episodes)
    return Fit(name, train, explained(returns, guess), interval, silent, unreached)


def explained(returns: np.ndarray, predicted: np.ndarray) -> float:
    """1 - var(returns - predicted) / var(returns), shape (n,); as SB3 and CleanRL log it. NaN for constant returns."""
    variance = float(np.var(returns))
    return 1 - float(np.var(returns - predicted)) / variance if variance > 0 else float("nan")


def bootstrap(returns: np.ndarray, predicted: np.ndarray, episodes: np.ndarray) -> Interval:
    """95 % interval of the explained variance, whole episodes drawn anew."""
    _, place = np.unique(episodes, return_inverse=True)
    counts = np.bincount(place).astype(float)
    sums = [np.bincount(place, x) for x in (returns, returns**2, returns - predicted, (returns - predicted) ** 2)]
    drawn = intervals.resamples(len(counts))
    n, r, r2, e, e2 = (column[drawn].sum(axis=1) for column in (counts, *sums))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 1 - (e2 / n - (e / n) ** 2) / (r2 / n - (r / n) ** 2)
    finite = values[np.isfinite(values)]
    return intervals.percentile(finite) if finite.size else (float("nan"), float("nan"))


def reference(batch: Batch) -> Any:
    """The critic to compare with: two layers of 64 on standardised observations, and on the actions if there are any."""
    import torch
    from torch import nn

    flat = np.asarray(batch.observations, np.float32).reshape(len(batch.observations), -1)
    centre, spread = torch.as_tensor(flat.mean(axis=0)), torch.as_tensor(flat.std(axis=0) + 1e-6)
    extra = 0 if batch.actions is None else int(np.prod(batch.actions.shape[1:]))
    net = nn.Sequential(nn.Linear(flat.shape[1] + extra, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def call(owner: Any, observations: Any, actions: Any) -> Any:
        inputs = ((observations.reshape(len(observations), -1) - centre) / spread).clip(-10, 10)
        if actions is not None:
            inputs = torch.cat([inputs, actions.reshape(len(actions), -1)], dim=1)
        return owner(inputs)

    return Wrapped(net, call)
