"""The critic has nothing left to predict, though episodes still end differently.

## What it looks for
A value loss whose largest values, too, fall to less than 1 / `times` of its own highest level while the score is not at
its ceiling and the returns still differ from one episode to the next. A loss is a square of returns: what they have
shrunk by themselves is taken off first.

## Why it matters
A critic that is never wrong predicts a target that no longer depends on what happens: values are bootstrapped through
the ends of episodes (a done flag that is ignored, ends that are taken for time limits), so every state is worth the same,
and the advantages are noise.

## When it is a false alarm
A solved task whose episodes all run into the time limit, where the values really are all the same. A loss that is small
in most minibatches and large where an episode ends, as with few steps per update, is not reported. A critic that
explains more than `explained` of the returns is right because it has learned them: a target that no longer depended on
what happens would leave it nothing to explain. Running means over many episodes (`ep_len_mean`) do not show whether two
episodes differ.

## Fix
- Print reward, done, time limit and bootstrapped target for one episode end: after a real end the target is the reward.
- In Gymnasium, bootstrap where `truncated`, never where `terminated`.

## Smallest experiment
An environment that ends after one step with reward 1: its value must be 1, not 1 / (1 - {gamma}).

## References
https://arxiv.org/abs/1712.00378
https://github.com/DLR-RM/stable-baselines3/issues/284
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number

LARGE = 0.98  #: quantile: a critic that is never wrong, not only mostly
HELD = 0.99  #: quantile: of a long curve the first updates of an untrained critic are no level that it held


def detect(
    value_loss: Series,
    family: str | None = None,
    episode_length: Series | None = None,
    reward_episode: Series | None = None,
    reward_mean: Series | None = None,
    value_explained_variance: Series | None = None,
    solved: bool | None = None,
    *,
    times: float = 100.0,
    differ: float = 0.05,
    explained: float = 0.5,
    min_points: int = 20,
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    if family not in ("on_policy", None):
        return NotApplicable("only where a critic learns the returns of whole episodes")
    loss = value_loss.finite
    if len(loss) < min_points:
        return NotMeasured(f"{len(loss)} value losses are too few (needs {min_points})")
    ends = next(
        (s.finite for s in (reward_episode, episode_length) if s is not None and len(s.finite) >= min_points), None
    )
    if ends is None:
        return NotMeasured("neither returns nor lengths of single episodes are logged")
    smooth = np.convolve(loss.values, np.ones(5) / 5, mode="valid")
    top = float(np.quantile(smooth, HELD, method="higher"))
    late = float(np.quantile(smooth[3 * len(smooth) // 4 :], LARGE))
    if top <= 0 or late * times * _shrunk(reward_episode or reward_mean) ** 2 > top:
        return None
    last = ends.tail(0.25).values
    apart = float(np.std(np.diff(last)) / np.sqrt(2))  # of neighbours: a trend of running means is no spread
    if solved or apart < differ * abs(np.mean(last)):
        return Expected(f"the value loss fell to {number(late)} because episodes all end alike")
    known = value_explained_variance.finite.tail(0.25).values if value_explained_variance is not None else np.empty(0)
    if len(known) and np.median(known) > explained:
        return Expected(f"the value loss fell to {number(late)} because the critic explains the returns")
    since = first_sustained(loss, lambda values: values * 10 < top)
    return Finding(
        message=(
            f"the value loss fell from {number(top)} to {number(late)} although returns still vary by "
            f"{number(apart)}: the critic's targets no longer depend on how episodes end; print the "
            "target at one episode end"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="value.loss",
        onset=since,
        interval=None if since is None else (float(loss.steps[0]), since),
        evidence=(Evidence(text="value loss", series=value_loss, since=since),),
        facts={"times": top / late if late > 0 else np.inf},
    )


def _shrunk(returns: Series | None) -> float:
    """How many times smaller the returns are now than when they were largest; 1 where that is not known."""
    sizes = np.abs(returns.finite.values) if returns is not None else np.empty(0)
    if len(sizes) < 20:
        return 1.0
    levels = [float(np.median(part)) for part in np.array_split(sizes, 20)]
    return max(levels) / levels[-1] if levels[-1] > 0 else 1.0
