"""Nearly every reward is the lowest possible one.

Looks for: A score that stays at its lowest value for almost the whole run, with few points above: the share of points
within `tolerance` of the range above the lowest value, or exactly at one of 0 or less. Or a success rate that stays
near 0.
Why: A policy gradient needs differences. If 99 % of the samples get the lowest reward, nearly all advantages are 0, and
the few successful samples are too rare to teach anything.
False alarm: The first part of a hard task. A score that began higher and fell to its lowest value: the goal was
reached, and lost. A range that one outlier stretches. A constant positive score can be the highest possible one, and is
not reported. Success that is still to come, while the reward rises. A greedy evaluation can stay at its lowest value
while the training reward already rises: the goal is then found.
Fix:
- Use easier starts or prompts, a curriculum, or partial credit on the way to the goal.
- Explore more ({entropy_coef}, {temperature}), or use hindsight relabelling or demonstrations.
- Check that success is possible at all: let a scripted expert act, or give the verifier a correct answer.
Experiment: Score a known correct answer or episode with the same reward code. If the code gives the lowest reward, the
reward is broken; if not, the policy never finds success.
References: https://arxiv.org/abs/1707.01495
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_in
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    score: Series,
    trajectory: Trajectory,
    success_rate: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    episode_length: Series | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    min_share: float = at(0.75, "share", "With fewer scores at the floor, the others can still teach something."),
    min_share_exact: float = at(1 / 3, "share", "Of scores at 0 or less: no success in these, unless as many are won."),
    tolerance: float = at(0.05, "share", "Scores so near to the lowest one, in shares of the range, are equal."),
    max_success_rate: float = at(0.1, "share", "A higher success rate gives enough successful samples to learn from."),
    min_episodes: int = at(5, "episodes", "With fewer ended episodes, a running mean repeats the same returns."),
    start_points: int = at(5, "points", "The first points show whether the score began above its floor."),
    min_points: int = at(20, "points", "Fewer scores do not show what the lowest level is."),
) -> Finding | NotMeasured | None:
    training = [s for s in (reward_mean, reward_episode) if s is not None]
    if trajectory.learned or trajectory.lost or any(shape_of(s.finite).lost for s in training):
        return None  # it has been above its floor: what happened later is another finding
    logged = [s.finite for s in (eval_success_rate, success_rate) if s is not None]
    if any(len(s) >= start_points and float(np.mean(s.tail(0.5).values)) > max_success_rate for s in logged):
        return None
    rates = [s for s in logged if len(s) >= min_points]
    if len(score) < min_points and not rates:
        return NotMeasured(f"{len(score)} scores are too few to know the floor (needs {min_points})")
    if rates:
        rate = rates[0]
        late = float(np.mean(rate.tail(0.5).values))
        if any(s is not None and rises(s) for s in (eval_reward, reward_mean)):
            return None
        what = facts.tell("the success rate is {late:%} in the second half of the run", late=facts.mean(rate.tail(0.5)))
        return _finding(rate, what, 1 - late, policy)
    if score.axis == "env_steps" and episode_length is not None and len(episode_length.finite):
        ended = float(score.steps[-1] / np.median(episode_length.finite.values))
        if ended < min_episodes:  # a mean over recent episodes is written again and again while none ends
            return NotMeasured(f"about {number(ended)} episodes have ended (needs {min_episodes})")
    second_half = score.tail(0.5)
    low, high = float(score.values.min()), float(score.values.max())
    if low == high > 0:
        return NotMeasured(f"the score is always {number(low)}: the lowest and the highest score cannot be told apart")
    floor = low + tolerance * (high - low)
    share, exact = float(np.mean(second_half.values <= floor)), float(np.mean(second_half.values == low))
    won = float(np.mean(second_half.values == high))
    rare = share >= min_share or (low <= 0 and exact >= min_share_exact and won < min_share_exact)
    fell = bool(np.all(score.values[:start_points] > floor))
    if (
        not rare
        or fell
        or any(s is not None and s.name != score.name and rises(s) for s in (reward_mean, reward_episode))
    ):
        return None
    what = facts.tell(
        "{share} of the scores of the second half are at the lowest value, {low}",
        share=percent(share),
        low=facts.lowest(score.finite),
    )
    return _finding(score, what, share, policy, Severity.CRITICAL if share >= min_share else Severity.WARNING)


def _finding(curve: Series, what: str, share: float, policy: Policy, severity: Severity = Severity.CRITICAL) -> Finding:
    known = "a known correct answer" if policy is Policy.TEXT else "an episode that a scripted expert has solved"
    return graded(
        severity,
        "{what}: the goal is hardly ever reached; first compute the reward of {known}",
        seen_in(curve, "score", level=float(curve.values.min())),
        what=what,
        known=known,
        confidence=Confidence.MEDIUM,
        numbers={"share": share},
    )
