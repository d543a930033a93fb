"""The return falls at once without a large update, or the tools stop answering.

Looks for: The episodes' returns fall by at least `min_drop` of their level, within a few batches. The KL divergence and
the clip fraction of the updates just before the fall are as usual. Of a language model, whose prompts differ from batch
to batch, it looks at the tools instead: the time of their calls rises to `slower` times its first level or more, and is
the same in every step from then on. Calls that all take as long as the limit are not answered.
Why: A policy that is damaged by its own updates shows this in the update first: the KL divergence, the ratio or the
gradient is many times larger than usual. A fall without such an update came from outside: other dynamics, observations
on another scale, a wrong reset, or normalisation statistics that were lost on a resume.
False alarm: A planned curriculum, or a harder level that was switched on.
Fix:
- Compare the environment's version, wrappers and normalisation statistics before and after that step.
- text: Ask the tool's service one question by hand, and end the run where calls run into their limit.
- Compare the mean and spread of the observations before and after that step.
Experiment: Run the checkpoint from before that step in today's environment, without training. If the checkpoint fails
there too, the environment changed.
References: https://github.com/DLR-RM/stable-baselines3/issues/870
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Family, Policy
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.values import replace
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)


def detect(
    reward_episode: Series | None = None,
    reward_mean: Series | None = None,
    kl_old: Series | None = None,
    policy_clip_fraction: Series | None = None,
    tool_runtime_mean: Series | None = None,
    family: Family | None = None,
    *,
    min_drop: float = at(0.35, "share", "of the return's level: smaller falls come and go in healthy runs"),
    burst_ratio: float = at(5.0, "ratio", "an update so large can have caused the fall"),
    min_updates: int = at(8, "points", "with fewer updates before the fall no usual size of an update is known"),
    slower: float = at(3.0, "ratio", "a service under load becomes slower by less"),
    alike: float = at(0.02, "share", "of the time of a call, from step to step: work varies, a limit does not"),
    min_points: int = at(30, "points", "with fewer returns a level shift cannot be separated from noise"),
) -> Finding | NotApplicable | NotMeasured | None:
    if family is not None and (family.policy is Policy.TEXT or not family.policy_known):
        if tool_runtime_mean is None:
            return NotApplicable(
                "the prompts of a batch differ, and their rewards differ with them; no time of tools is logged"
            )
        return _unanswered(tool_runtime_mean.finite, slower, alike, min_updates)
    returns = next(
        (s.finite for s in (reward_episode, reward_mean) if s is not None and len(s.finite) >= min_points), None
    )
    if returns is None:
        return NotMeasured(f"fewer than {min_points} training returns")
    binned = _binned(returns)
    floor = float(np.min(binned.values))
    logarithm = replace(binned, values=np.log(binned.values - floor + 0.05 * float(np.ptp(binned.values)) + 1e-12))
    shift = onset(logarithm, direction=-1, kinds=("level",))
    if shift is None:
        return None
    before = float(np.median(binned.between(-np.inf, shift.interval[0]).tail(0.3).values))
    after = float(np.median(binned.between(shift.interval[1]).head(0.3).values))
    lost = (before - after) / max(abs(before), abs(after), 1e-12)
    blamed = _burst((kl_old, policy_clip_fraction), shift.interval[1], burst_ratio, min_updates)
    came_back = blamed is None and median(binned.tail(0.1).values) >= before
    if (
        lost < min_drop or blamed or came_back
    ):  # without a size of the updates, a fall that came back may be any policy's
        return None
    return Finding(
        message=facts.tell(
            "the return fell from {before} to {after} ({lost}) at once near {step}{usual}; find what changed in the "
            "environment at {step}: its version, wrappers or normalisation statistics",
            before=number(before),
            after=number(after),
            lost=percent(lost),
            step=facts.at(returns, shift.step),
            usual=", after updates of the usual size" if blamed is not None else "",
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if blamed is not None else Confidence.LOW,
        **seen_since(returns, "return", shift.step, shift.interval),
        sudden=True,
        numbers={"lost": lost},
    )


def _unanswered(runtime: Series, slower: float, alike: float, least: int) -> Finding | NotMeasured | None:
    """The finding that from some step on every call of a tool takes as long as its limit."""
    if len(runtime) < 2 * least:
        return NotMeasured(f"{len(runtime)} times of tools are too few (needs {2 * least})")
    usual, late = median(runtime.values[:least]), median(runtime.values[-least:])
    if usual <= 0 or late < slower * usual or float(np.ptp(runtime.values[-least:])) > alike * late:
        return None
    quick = int(np.flatnonzero(runtime.values < late / 2)[-1])
    before, first = float(runtime.steps[quick]), float(runtime.steps[quick + 1])
    return Finding(
        message=facts.tell(
            "a call of a tool takes {late} s, the same in every step, from {first} on, and took {usual} s before: the calls run "
            "into their limit, and the policy gets no answers; ask the tool's service one question by hand",
            late=number(late),
            first=facts.at(runtime, first),
            usual=number(usual),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        **seen_since(runtime, "time in tools", first, (before, first), level=usual),
        sudden=True,
        numbers={"times": late / usual},
    )


def _binned(returns: Series, bins: int = 200) -> Series:
    """Mean returns of at most `bins` bins of equally many episodes: single episodes are too noisy to date a shift."""
    if len(returns) <= bins:
        return returns
    parts = np.array_split(np.arange(len(returns)), bins)
    return replace(
        returns,
        steps=np.array([returns.steps[p[0]] for p in parts]),
        values=np.array([returns.values[p].mean() for p in parts]),
    )


def _burst(sizes: tuple[Series | None, ...], until: float, ratio: float, min_updates: int) -> bool | None:
    """Whether one of the last updates up to this step was far larger than usual; None where no size of an update is logged."""
    burst = None
    for size in sizes:
        points = size.finite.between(-np.inf, until) if size is not None else None
        if points is None or len(points) < min_updates:
            continue
        recent, usual = points.values[-4:], points.values[:-4]
        burst = bool(burst) or float(np.max(recent)) > ratio * max(float(np.quantile(usual, 0.9)), 1e-6)
    return burst
