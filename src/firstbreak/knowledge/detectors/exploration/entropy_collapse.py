"""The policy stops trying different things before the task is solved.

Looks for: Entropy that falls below `max_share` of its first values, at whatever step, or lies near 0 from the
beginning, while the score is flat, falls, or stopped far below its ceiling. Entropy that falls while the score keeps
rising is learning. Near the ceiling of the score, low entropy is the end of learning. The finding is critical where the
score does not rise, and where the entropy went at once and the gains ended with it.
Why: A policy that always does the same gets the same reward: there is nothing to compare any more, and no gradient can
bring the lost alternatives back.
False alarm: The task is solved, or the training reward rises while the entropy falls. Continuous policies have
differential entropy, which may be negative and has no lower limit at 0: only policies whose entropy is never negative
are judged. A column of zeros beside groups whose rewards differ was never computed.
Fix:
- Raise {entropy_coef} or {temperature}. A higher {clip_range_high} lets unlikely actions recover.
- Lower {learning_rate}, or raise {kl_coef}.
- Check that rollouts are sampled, and do not take the most likely action.
Experiment: Resume from before the onset with {entropy_coef} times ten for a tenth of the run: if the entropy holds and
the score rises, the collapse was the break.
References: https://arxiv.org/abs/2505.22617 https://arxiv.org/abs/1602.01783
"""

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.changes import settled, turned
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.smooth import smooth
from firstbreak.engine.stats.trend import trend
from firstbreak.knowledge.detectors.exploration._words import entropy_weight
from firstbreak.model import Confidence, Config, Expected, Fact, Finding, Interval, NotMeasured, Series, Severity
from firstbreak.values import replace
from firstbreak.words import number

AT_ONCE = 0.1  #: of the time before it: what took less came at once (convention)


def detect(
    policy_entropy: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    reward_mean: Series | None = None,
    reward_group_std: Series | None = None,
    method: Method | None = None,
    score: Series | None = None,
    policy: Policy = Policy.TEXT,
    config: Config | None = None,
    *,
    max_share: float = at(0.15, "share", "Little of the entropy of the start is left at the end."),
    low: float = at(0.01, "nats", "A discrete policy then takes one action in more than 99 of 100 cases."),
    low_stuck: float = at(0.03, "nats", "Where models succeed they come down to this."),
    poor: float = at(0.5, "share", "More failures than successes."),
    no_share: float = at(0.075, "share", "Healthy runs keep more, wherever they score below 0.9.", "lab"),
    good: float = at(0.9, "share", "Of successes: little is left to try."),
    material: float = at(0.07, "share", "Of the gain so far, won in the second half: less is a plateau."),
    most: float = at(0.5, "share", "Of the gain: what is learned afterwards was not prevented."),
    min_points: int = at(10, "points", "Fewer values show no fall."),
) -> Finding | Expected | NotMeasured | None:
    entropy = enough(policy_entropy.finite, min_points, "values of the entropy")
    if not entropy.values.any() and reward_group_std is not None and reward_group_std.finite.values.any():
        return NotMeasured("the entropy is 0 in every row, but the answers to one prompt differ: it was not computed")
    discrete = bool(np.all(entropy.values >= -1e-9))
    start, late = _first(entropy).value, settled(entropy)
    rewarded = reward_mean is not None and rises(reward_mean)
    stuck = not rewarded and trajectory is not None and (trajectory.lost or trajectory.kind == "flat")
    gone = discrete and start > 0 and late < no_share * start
    low_score = policy is Policy.CONTROL or _is_below(score, good if gone else poor)
    failing = stuck and low_score
    dead = discrete and late < (low_stuck if failing else low)
    fell = discrete and start > 0 and late < max_share * start
    if not (dead or fell):
        return None
    fall = facts.tell("entropy fell from {start} to {late}", start=_first(entropy), late=facts.settled(entropy))
    if solved:
        return Expected(facts.tell("{fall} because the task is solved", fall=fall))
    if score is not None and (solves := _enough(score, config)) is not None:
        what = "{fall}, and {score} of {end} is above {solves}, which counts as solved"
        end = facts.settled(score)
        return Expected(facts.tell(what, fall=fall, score=score.name, end=end, solves=number(solves)))
    floor = max(max_share * start, low)
    since, interval = _fall(entropy, start, floor)
    longer = max((c.finite for c in (reward_mean, score) if c is not None), key=len, default=None)
    improving = rewarded or (trajectory is not None and trajectory.kind in ("rising", "plateau"))
    learned = improving and _learned_after(longer, interval[1], most)
    if improving and not dead and not (low_score and not _still_gains(longer, material, min_points)):
        return None
    return graded(
        Severity.CRITICAL if stuck or _ended(longer, interval, min_points) else Severity.WARNING,
        "entropy is {late} nats (it began at {start}) and the score {course}: the policy always does nearly the same; "
        "raise the {weight} or lower the learning rate",
        seen_since(policy_entropy, "entropy", since, interval, metric="policy.entropy", level=floor),
        late=facts.settled(entropy),
        start=_first(entropy) if start > 0 else facts.first(entropy),
        course=_course(stuck, improving and not dead, learned),
        weight=entropy_weight(method),
        confidence=Confidence.HIGH
        if dead and stuck
        else Confidence.LOW
        if learned
        else Confidence.HIGH
        if turned(entropy.values <= no_share * start) is not None
        else Confidence.MEDIUM,
        numbers={"start": start, "late": late},
    )


def _enough(score: Series, config: Config | None) -> float | None:
    """What counts as solved in a known environment, where the score is above it at the end."""
    known = None if config is None else environments.known(config)
    returns = score.name.startswith(("reward", "eval.reward"))
    return known.solved if known and returns and settled(score) >= known.solved else None


def _course(stuck: bool, stopped: bool, learned: bool) -> str:
    if stuck:
        return "does not rise"
    if learned:
        return "rose all the same"
    return "stopped rising below its ceiling" if stopped else "is not at its ceiling"


def _still_gains(curve: Series | None, material: float, min_points: int) -> bool:
    """Whether the run still learns in its second half; so it counts where too few scores show whether it does."""
    if curve is None or len(late := curve.tail(0.5)) < min_points:
        return True
    return rises(late) and trend(late).change >= material * shape_of(curve).gain


def _learned_after(curve: Series | None, since: float, most: float) -> bool:
    """Whether the run won most of its gain after the entropy was gone."""
    if curve is None or since <= curve.steps[0]:
        return False
    start, then, end = settled(curve, float(curve.steps[0])), settled(curve, since), settled(curve)
    return end - start > 0 and end - then >= most * (end - start)


def _ended(curve: Series | None, interval: Interval, min_points: int) -> bool:
    """Whether the entropy went at once in mid-run, and the gains ended with it: learning takes it little by little."""
    if curve is None:
        return False
    before, after = curve.between(-np.inf, interval[0]), curve.between(interval[1])
    at_once = interval[1] - interval[0] <= AT_ONCE * (interval[0] - float(curve.steps[0]))
    if not at_once or min(len(before), len(after)) < min_points:
        return False
    return rises(before.tail(0.5)) and not rises(after)


def _is_below(score: Series | None, limit: float) -> bool:
    """Whether a score that is a share of successes ends below `limit`; of others nobody knows what is much."""
    if score is None or float(score.values.min()) < 0 or float(score.values.max()) > 1:
        return False
    return settled(score) < limit


def _first(entropy: Series) -> Fact:
    """The level of the first three values, or of the first twentieth where it is higher: a collapse can take two updates."""
    few, more = facts.median(entropy.head(3 / len(entropy))), facts.median(entropy.head(0.05))
    return max(few, more, key=lambda level: level.value)


def _fall(entropy: Series, start: float, floor: float) -> tuple[float, Interval]:
    """When the entropy fell below half of its start; this lies between three quarters of the start and the floor."""
    first = float(entropy.steps[0])
    steps, level = smooth(entropy)
    course = replace(entropy, steps=steps, values=level)

    def below(limit: float) -> float | None:
        return first_sustained(course, lambda values: values < limit)

    above, half, bottom = below(0.75 * start), below(0.5 * start), below(floor)
    step = first if half is None else half
    return step, (min(step, first if above is None else above), max(step, step if bottom is None else bottom))
