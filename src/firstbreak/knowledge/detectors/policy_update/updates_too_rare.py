"""Too few updates, or copies of the target network, for the steps of the run.

Looks for: The uses of one transition, (updates x {minibatch_size}) / environment steps, against `min_uses`; and the
copies of the target network in the whole run, environment steps / {target_update_interval}, against `min_copies`. Both
only where nothing was learned. Or a target network whose values stay at their first level while those of the network leave
them, or the norm of whose weights never changes.
Why: A transition that no update draws teaches nothing: DQN draws each about 8 times, SAC and TD3 256 times. Each copy
of the target network carries a reward one step further back. With one copy, an action is judged by the next two
rewards.
False alarm: Data from a simulator that is so fast that most of them can be thrown away.
Fix:
- Lower {train_freq}, or raise {gradient_steps}, until an update follows after each one to four steps.
- Lower {target_update_interval}, or raise {tau}, so that the target network is copied a hundred times in the run.
Experiment: A tenth of the run with one update for each step: the loss and the values must move.
References: https://www.nature.com/articles/nature14236
https://stable-baselines3.readthedocs.io/en/master/modules/dqn.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Method, only
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Config, Fact, Finding, Message, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern
from firstbreak.words import number

FAMILIES = only(Method.VALUE_BASED)
ROLES = (Role.RELATION,)
WEIGHTS = pattern(
    r"(?:.*[/._ |])?(?:abs_|\|)*(?:w|theta|weights?|params?|q?net)(?:[_ ]?norm)?(?:[_ (]?(?:tgt|targ\w*)\)?)?(?:[_ ]?norm)?\|*",
    re.IGNORECASE,
)
TARGET = pattern(r"tgt|targ|frozen|lagged|slow", re.IGNORECASE)
OF_LOSS = pattern(r"td|backup|bellman|return|^y", re.IGNORECASE)  #: targets of a loss, which hold the reward
ROWS = 20  #: (convention)
STILL, LEAST = (
    0.1,
    0.2,
)  #: of the way that the values go; and of their last level, which that way has to be (convention)


def detect(
    config: Config,
    score: Series | None = None,
    progress_updates: Series | None = None,
    value_mean: Series | None = None,
    value_target_mean: Series | None = None,
    run: Run | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    min_uses: float = at(0.5, "uses", "DQN of 2015 uses a transition 8 times; half of the data is never drawn here."),
    min_copies: float = at(2.0, "copies", "With fewer, an action is judged by two rewards."),
    min_points: int = at(5, "points", "Fewer scores do not show that nothing was learned."),
) -> Finding | NotMeasured | None:
    if run is not None and (still := _weights_still(run)):
        return still
    if value_mean is not None and value_target_mean is not None:
        left = _left_behind(value_mean.finite, value_target_mean.finite)
        if left is not None:
            return left
    curve = score.finite if score is not None else None
    if curve is None or len(curve) < min_points or curve.axis != "env_steps":
        return NotMeasured(f"no score at {min_points} numbers of environment steps")
    if solved or (trajectory is not None and trajectory.learned):
        return None
    first, steps = float(curve.steps[0]), float(curve.steps[-1])
    batch, interval, tau = (config.recorded(name) for name in ("minibatch_size", "target_update_interval", "tau"))
    updates = progress_updates.finite if progress_updates is not None else None
    if batch and updates is not None and len(updates) and updates.axis == curve.axis:
        first = min(first, float(updates.steps[0]))
        uses = float(updates.values[-1]) * batch / float(updates.steps[-1])
        if uses < min_uses:
            return _finding(
                updates,
                first,
                "{updates} updates of {batch} transitions in {steps} environment steps: a transition is used {uses} times on "
                "average; update more often (train_freq, gradient_steps)",
                updates=facts.last(updates),
                batch=number(batch),
                steps=number(float(updates.steps[-1])),
                uses=number(uses),
            )
    if not interval or (copies := steps * (tau or 1.0) / interval) >= min_copies:
        return None
    taken = facts.tell(", {tau} of it each time", tau=facts.setting(config, "tau")) if tau and tau < 1 else ""
    return _finding(
        curve,
        first,
        "the target network is copied every {interval} steps{taken}, {copies} whole copies in a run of {steps}: the values see "
        "no further than the next rewards; copy the target network more often",
        interval=number(interval),
        taken=taken,
        copies=number(copies),
        steps=number(steps),
    )


def _weights_still(run: Run) -> Finding | None:
    """The norm of the target network's weights is one number, and that of the network's weights is not."""
    norms = {name: s.finite for name, s in run.unknown.items() if WEIGHTS.fullmatch(name) and len(s.finite) >= ROWS}
    norms |= {
        s.raw: s.finite for s in (run.series.get("policy.weight_norm"),) if s is not None and len(s.finite) >= ROWS
    }
    target = next((s for name, s in norms.items() if TARGET.search(name) and np.ptp(s.values) == 0), None)
    own = next((s for name, s in norms.items() if not TARGET.search(name) and np.ptp(s.values) > 0), None)
    if target is None or own is None:
        return None
    return _finding(
        target,
        float(target.steps[0]),
        "the weights of the target network have the norm {norm} in each of {n} rows, while those of the network go from {first} "
        "to {last}: the target network is never copied; check from which weights, and into which, it is copied",
        norm=facts.first(target),
        n=facts.count(target),
        first=facts.first(own),
        last=facts.last(own),
    )


def _left_behind(values: Series, targets: Series) -> Finding | None:
    """The mean value of the target network stays where it began, and that of the network leaves it."""
    if min(len(values), len(targets)) < ROWS or not TARGET.search(targets.raw) or OF_LOSS.search(targets.raw):
        return None
    began, now, first, last = (median(part.values) for s in (values, targets) for part in (s.head(0.1), s.tail(0.25)))
    moved = abs(now - began)
    if (
        moved < LEAST * abs(now)
        or abs(last - first) > STILL * moved
        or abs(now - last) < abs(began - first) + moved / 2
    ):
        return None
    return _finding(
        targets,
        float(targets.steps[0]),
        "the mean value of the target network stays at {target}, while that of the network goes from {began} to {now}: its "
        "weights may never be copied; compare both networks after an update of the target",
        target=facts.median(targets),
        began=facts.median(values.head(0.1)),
        now=facts.median(values.tail(0.25)),
    )


def _finding(curve: Series, since: float, said: str, **given: Fact | Message | str) -> Finding:
    message = facts.tell(said, **given)
    seen = seen_since(curve, curve.name, since)
    return warning(message, seen)
