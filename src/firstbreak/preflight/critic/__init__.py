"""Can the value function fit the returns of fixed rollouts, and are the returns right where episodes end?

The policy is left out: the rollouts are fixed, and only the critic is trained. A critic that cannot learn under these
conditions will not learn while the policy moves.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from firstbreak.model import Expected, Link, NotMeasured
from firstbreak.preflight import Answer, Report, ReportTable, ask, critical, histogram, target, warning
from firstbreak.preflight.critic import targets
from firstbreak.preflight.critic.rollouts import Rollouts, from_npz, from_sb3
from firstbreak.preflight.critic.training import Fit, explained, fit, reference, split
from firstbreak.readers import Unreadable
from firstbreak.words import number, percent

GAMMA = 0.99  #: discount factor where neither the targets nor the user give one: the default of most trainers
MIN_EPISODES = 8  #: whole episodes: with fewer, the held-out quarter has fewer than two (convention)
MIN_VARIANCE_EXPLAINED = 0.2  #: explained variance below which a critic does not help (convention)
GOOD_VARIANCE_EXPLAINED = 0.5  #: explained variance from which a critic helps (convention)
CLEARLY = 0.15  #: difference of explained variances that is not a matter of seeds (convention)
#: standard deviation of the returns as a share of the largest return: less is float32 noise (convention)
MIN_SPREAD = 1e-3


def check(rollouts: str, *, critic: str | None = None, gamma: float | None = None, steps: int = 4000) -> Report:
    """Check a critic on `rollouts`: an .npz file, or `module:factory` of a Stable-Baselines3 model with an environment.

    `critic` is `module:factory` of a torch module, observations (M, ...) -> values (M,) or (M, 1); a Stable-Baselines3
    model brings its own, and without any a small network is tried. `gamma` discounts where the trainer's targets are not
    given; `steps` are collected from an off-policy model. Raises `Unreadable`.
    """
    data = _rollouts(rollouts, steps)
    module = data.module if critic is None else _module(critic)
    found = targets.recursion(data)
    discount = gamma or (found.gamma if isinstance(found, targets.Recursion) else GAMMA)
    returns = data.monte_carlo(discount) if data.returns is None else data.returns
    keep = data.whole if data.returns is None else np.ones_like(data.ends)
    fits = _fits(data, module, returns, keep, critic)
    outcomes = (
        ask("critic-returns-vary", Link.ADVANTAGE, lambda: _vary(returns[keep], data.episodes[keep])),
        ask("critic-terminal-mask", Link.ADVANTAGE, lambda: targets.mask(data, found)),
        ask("critic-truncation", Link.ADVANTAGE, lambda: targets.truncation(data, found)),
        ask("critic-fits", Link.ADVANTAGE, lambda: _verdict(fits)),
        ask("critic-gradient", Link.ADVANTAGE, lambda: _gradient(fits)),
    )
    facts = [
        ("Rollouts", f"{data.source}: {data.rewards.size} steps of {len(np.unique(data.episodes))} episodes"),
        ("Targets", targets.said(found) if data.returns is not None else f"rewards discounted by {number(discount)}"),
    ]
    if data.values is not None:
        now = explained(returns.ravel(), data.values.ravel().astype(float))
        facts.append(("Before training", f"explained variance {now:.2f}"))
    return Report(
        check="critic",
        target=rollouts,
        outcomes=outcomes,
        checked=tuple(facts),
        exhibits=(histogram("Returns", {"steps": returns[keep]}), *_table(fits)),
        numbers={
            "fits": [] if isinstance(fits, str) else [_plain(f) for f in fits],
            **({"gamma": found.gamma, "lambda": found.lam} if isinstance(found, targets.Recursion) else {}),
        },
    )


def _rollouts(name: str, steps: int) -> Rollouts:
    if name.endswith(".npz"):
        return from_npz(name)
    loaded = target.load(name)
    model = loaded if hasattr(loaded, "get_env") else loaded()
    if not hasattr(model, "get_env"):
        raise Unreadable(name, f"a {type(model).__name__} is no Stable-Baselines3 model", "give an .npz of rollouts")
    return from_sb3(name, model, steps)


def _module(name: str) -> Any:
    loaded = target.load(name)
    module = loaded if hasattr(loaded, "parameters") and not isinstance(loaded, type) else loaded()
    if not hasattr(module, "parameters"):
        raise Unreadable(name, f"a {type(module).__name__} is no torch module", "name an nn.Module, or what makes one")
    return module


def _fits(data: Rollouts, module: Any, returns: np.ndarray, keep: np.ndarray, name: str | None) -> list[Fit] | str:
    """The critic as it is, with normalised targets, and the reference; or why nothing can be fitted."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: pip install torch"
    if not np.isfinite(returns[keep]).all() or not np.isfinite(np.asarray(data.observations, float)).all():
        return "observations or returns are not finite"
    episodes = data.episodes[keep]
    if len(np.unique(episodes)) < MIN_EPISODES:
        return f"{len(np.unique(episodes))} whole episodes are too few to hold some of them out; give more steps"
    if isinstance(_vary(returns[keep], episodes), Expected):
        return "the returns are nearly constant, so there is nothing to explain"
    wants_actions = module is not None and data.returns is None and name is None
    actions = data.actions[keep] if wants_actions and data.actions is not None else None
    batch = split(data.observations[keep], actions, returns[keep].astype(float), episodes)
    own = [] if module is None else [("as it is", module, False), ("with normalised returns", module, True)]
    tried = [*own, ("reference, 2 x 64", reference(batch), True)]
    return [fit(label, critic, batch, normalised=scaled) for label, critic, scaled in tried]


def _vary(returns: np.ndarray, episodes: np.ndarray) -> Answer:
    if not np.isfinite(returns).all():
        bad = int(np.sum(~np.isfinite(returns)))
        return critical(
            f"{bad} of {returns.size} returns are not finite: one of them makes every weight NaN; check rewards first"
        )
    spread, size = float(returns.std()), float(np.abs(returns).max())
    if spread <= MIN_SPREAD * size or spread == 0:
        return Expected(
            f"the returns are nearly constant (standard deviation {number(spread)}, largest {number(size)}): explained variance "
            "divides by their variance, and says nothing here"
        )
    return f"standard deviation {number(spread)}, between {number(float(returns.min()))} and {number(float(returns.max()))}"


def _verdict(fits: list[Fit] | str) -> Answer:
    """Whether the critic fits the returns, and if not, why."""
    if isinstance(fits, str):
        return NotMeasured(fits)
    own, best = fits[0], fits[-1]
    if own.error:
        return critical(f"the critic cannot be trained: {own.error}")
    said = (
        f"the critic explains {_share(own.held_out)} of the variance of unseen episodes (95 % interval "
        f"{_share(own.interval[0])} to {_share(own.interval[1])}), {_share(own.train)} of training episodes"
    )
    if own is best:
        return _data(said, own, ())
    scaled = fits[1]
    if own.train < MIN_VARIANCE_EXPLAINED and scaled.train >= GOOD_VARIANCE_EXPLAINED:
        return warning(
            f"{said}; with normalised returns the same network explains {_share(scaled.held_out)}: the returns are too large for "
            "it; normalise returns or rewards"
        )
    if max(own.train, scaled.train) < best.train - 0.3 and best.train >= GOOD_VARIANCE_EXPLAINED:
        return critical(
            f"{said}; two layers of 64 explain {_share(best.held_out)} of the same returns: the network lacks an input or is too "
            "small; check its inputs, its size, and dead units"
        )
    return _data(said, own, fits[1:])


def _data(said: str, own: Fit, others: Sequence[Fit]) -> Answer:
    """What the data allow to learn: nothing, only the training episodes, or unseen episodes as well."""
    better = max((f for f in others if not f.error), key=lambda f: f.held_out, default=own)
    ahead = better.held_out > own.held_out + CLEARLY and better.interval[0] > own.interval[1]
    if ahead or (own.train < MIN_VARIANCE_EXPLAINED and better.train > own.train + CLEARLY):
        remedy = (
            "normalise returns or rewards"
            if better is others[0] and len(others) > 1
            else "the network lacks an input or is too small; check its inputs first"
        )
        return warning(
            f"{said}; {better.name}: {_share(better.held_out)} of unseen and {_share(better.train)} of training episodes, so "
            f"another critic does better: {remedy}"
        )
    if own.train < MIN_VARIANCE_EXPLAINED:
        alone = ", and no other network that was tried does better" if others else ""
        return warning(
            f"{said}{alone}: the observations do not determine the return; look for shifted rows, "
            "missing state, or rewards that are noise"
        )
    if own.held_out < MIN_VARIANCE_EXPLAINED <= own.interval[1]:
        return NotMeasured(f"{said}: too few episodes to say more; give a longer rollout")
    if own.held_out < MIN_VARIANCE_EXPLAINED:
        return warning(
            f"{said}: the critic memorises the episodes; collect more episodes for each update, or make the critic smaller"
        )
    return said


def _gradient(fits: list[Fit] | str) -> Answer:
    if isinstance(fits, str):
        return NotMeasured(fits)
    own = fits[0]
    if own.error:
        return NotMeasured("the critic could not be trained")
    if own.unreached:
        return warning(
            f"no gradient reaches {own.unreached} tensors of the critic's weights, so these stay as they were drawn: the graph "
            "is cut before them (detach(), no_grad(), .data, numpy), or forward does not use them; cut nothing inside the critic",
            unreached=own.unreached,
        )
    if own.silent:
        return warning(
            f"{own.silent} tensors of the critic's weights get a gradient of exactly 0: units are dead or not connected; check "
            "the activations for a large input"
        )
    return "a gradient reaches every weight of the value function"


def _share(value: float) -> str:
    return percent(value) if np.isfinite(value) else "?"


def _plain(fitted: Fit) -> dict[str, Any]:
    return {
        "critic": fitted.name,
        "train_r2": fitted.train,
        "explained_variance": fitted.held_out,
        "interval": fitted.interval,
        "error": fitted.error,
    }


def _table(fits: Sequence[Fit] | str) -> tuple[ReportTable, ...]:
    if isinstance(fits, str):
        return ()
    rows = tuple(
        (f.name, f"{f.train:.2f}", f"{f.held_out:.2f}", f"{f.interval[0]:.2f} to {f.interval[1]:.2f}")
        for f in fits
        if not f.error
    )
    columns = ("critic, trained alone", "R2 seen", "explained, unseen", "95 % interval")
    return (ReportTable(title="Explained variance of the returns", columns=columns, rows=rows),)
