"""Too few updates, or copies of the target network, for the steps of the run.

Looks for: The uses of one transition, (updates x {minibatch_size}) / environment steps, against `min_uses`; and the
copies of the target network in the whole run, environment steps / {target_update_interval}, against `min_copies`. Both
only where nothing was learned.
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

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Method, only
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Config, Fact, Finding, Message, NotMeasured, Role, Series
from firstbreak.words import number

FAMILIES = only(Method.VALUE_BASED)
ROLES = (Role.RELATION,)


def detect(
    score: Series,
    config: Config,
    progress_updates: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    min_uses: float = at(0.5, "uses", "DQN of 2015 uses a transition 8 times; half of the data is never drawn here."),
    min_copies: float = at(2.0, "copies", "With fewer, an action is judged by two rewards."),
    min_points: int = at(5, "points", "Fewer scores do not show that nothing was learned."),
) -> Finding | NotMeasured | None:
    curve = score.finite
    if len(curve) < min_points or curve.axis != "env_steps":
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


def _finding(curve: Series, since: float, said: str, **given: Fact | Message | str) -> Finding:
    message = facts.tell(said, **given)
    seen = seen_since(curve, curve.name, since)
    return warning(message, seen)
