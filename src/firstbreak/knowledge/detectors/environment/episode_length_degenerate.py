"""Episodes end at once, or only at the time limit, and the score does not change.

Looks for: The length of the episodes beside the shape of the score. A finding is a length of `max_steps` steps or fewer
over the last quarter, or exactly the same length in every episode of the run while the score stays at its first level.
Why: An episode that ends at once holds no behaviour to learn from: a wrong termination condition, a reset that leaves
the environment done, or a policy that fails on its first action. Where every episode ends at the time limit, no episode
reached a goal or failed, so nothing separates good from bad behaviour.
False alarm: The task has one step (a bandit, one answer to one prompt), or a fixed length by design (HalfCheetah,
Pendulum). In both the score changes by more than `min_gain` of its size, and then this detector says nothing. A short
episode is the aim (reach the goal fast).
Fix:
- Step the environment by hand with random actions, and print terminated, truncated and the length.
- Check which condition ends the episode, and whether the state after the reset already fulfils the condition.
- Where episodes never end: check that the goal can be reached at all. Then shape the reward, or start nearer to the
  goal.
Experiment: Run 20 episodes with random actions and 20 with a hand-written policy. If both have the same length and the
same return, the fault is in the environment, not in training.
References: https://gymnasium.farama.org/tutorials/gymnasium_basics/handling_time_limits/
https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html https://arxiv.org/abs/1712.00378
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_in, seen_since
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Expected, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    score: Series,
    trajectory: Trajectory,
    episode_length: Series | None = None,
    policy: Policy = Policy.CONTROL,
    solved: bool | None = None,
    *,
    max_steps: float = at(2.0, "steps", "an episode of one or two steps ends before it holds behaviour"),
    min_gain: float = at(0.02, "share", "of the score's size: a smaller gain (-49.33 to -49.30) is no progress"),
    min_points: int = at(8, "points", "with fewer lengths no level is known"),
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    if episode_length is None and policy is Policy.TEXT:
        return NotApplicable("only for policies that act in an environment")
    if episode_length is None:
        return NotMeasured("the length of episodes is not logged")
    lengths = episode_length.finite
    if len(lengths) < min_points or trajectory.kind == "too_short":
        return NotMeasured(f"{len(lengths)} lengths and {len(score)} scores are too few (needs {min_points})")
    early, late = (float(np.median(part.values)) for part in (lengths.head(0.25), lengths.tail(0.25)))
    constant = float(np.ptp(lengths.values)) == 0
    if late > max_steps and not constant:
        return None
    gained = trajectory.learned and trajectory.gain >= min_gain * max(abs(trajectory.start), abs(trajectory.best))
    if solved or (gained and not trajectory.lost):
        return Expected(
            facts.tell(
                "episodes last {late} steps, as the task demands: the score gained {gain}",
                late=facts.median(lengths.tail(0.25)),
                gain=number(trajectory.gain),
            )
        )
    if late <= max_steps:
        return _at_once(episode_length, score, early, late, max_steps, policy)
    return _never(episode_length, score, late, policy) if trajectory.kind == "flat" else None


def _at_once(lengths: Series, score: Series, early: float, late: float, max_steps: float, policy: Policy) -> Finding:
    fell = early > max_steps or float(lengths.finite.values[0]) > max_steps
    onset = first_sustained(lengths, lambda values: values <= max_steps)
    first = (
        "print ten conversations, and check what ends each of them"
        if policy is Policy.TEXT
        else "step the environment by hand, and check which condition ends the episode"
    )
    return graded(
        Severity.CRITICAL if fell else Severity.WARNING,
        "episodes end after {late} steps{before} and the score does not improve; {first}",
        seen_since(lengths, f"episode length {number(late)}", onset, level=max_steps, beside={"score": score}),
        late=facts.median(lengths.finite.tail(0.25)),
        before=facts.tell(" ({early} at first)", early=facts.first(lengths.finite)) if fell else "",
        first=first,
        confidence=Confidence.HIGH if fell else Confidence.MEDIUM,
        numbers={"length": late, "fell": fell},
    )


def _never(lengths: Series, score: Series, length: float, policy: Policy) -> Finding:
    rewarded = float(np.ptp(score.values)) > 0
    first = (
        "check that a right answer ends the episode"
        if policy is Policy.TEXT
        else "check by hand that the goal can be reached, then make the reward denser"
    )
    return graded(
        Severity.NOTICE if rewarded else Severity.WARNING,
        "every episode lasts exactly {length} steps and the score {course}: no episode reached a goal or failed; {first}",
        seen_in(lengths, f"always {number(length)} steps", level=length, beside={"score": score}),
        length=facts.highest(lengths),
        course="has not left its first level" if rewarded else "has never changed",
        first=first,
        confidence=Confidence.LOW if rewarded else Confidence.MEDIUM,
        numbers={"length": length, "fell": False},
    )
