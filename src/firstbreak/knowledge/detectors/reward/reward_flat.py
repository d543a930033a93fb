"""The score never leaves its first level.

Looks for: A score that stays flat from the first points to the last: no rise, no fall, only noise, and no line through
the points that certainly rises (a slow learner may reach no new level before the end). The finding says how large a
rise could still hide in the noise. It is critical only where a rise of `hidden_rise_critical` standard deviations would
have shown, and has low confidence where even one of `hidden_rise_low_confidence` would not. An exploration rate shows
more: while the rate is high, the log shows the score of random actions. If greedy actions score the same later, nothing
was learned.
Why: A break anywhere in the loop can look like this. What to do depends on the link that is broken, so the other
findings have to explain a flat score.
False alarm: Late starters: in a hard exploration problem, the score can be flat for a third of the run and then rise. A
score that starts at its highest value cannot rise. A learning rate that is still in its warm-up at the last step has
hardly moved the policy. An evaluation that begins after the learning: the training reward then rises before it. A log
that begins in mid-run does not show what was learned before, and is not reported.
Fix:
- Look at the other findings first: a flat score is a symptom.
- Evaluate the untrained policy. If it scores the same, nothing was learned; if it scores less, the curve began too late.
- Train on ten easy prompts, or on an easier task. If the score does not rise there, the loop is broken, not the data.
Experiment: Replace the reward by a very easy one (output length, a constant action): it must rise within 20 updates.
References: https://andyljones.com/posts/rl-debugging.html
"""

from collections.abc import Sequence

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_in
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.trend import trend
from firstbreak.knowledge.detectors._start import continued
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Role, Series, Severity
from firstbreak.words import number

ROLES = (Role.SCORE_UNMOVED,)


def detect(
    score: Series,
    trajectory: Trajectory,
    solved: bool | None = None,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    eval_trajectory: Trajectory | None = None,
    lr: Series | None = None,
    epsilon: Series | None = None,
    *,
    hidden_rise_critical: float = at(0.5, "standard deviations", "So small a rise is no progress."),
    hidden_rise_low_confidence: float = at(2.0, "standard deviations", "The curve says little."),
    random_epsilon: float = at(0.5, "share", "At this exploration rate, half of the actions and more are random."),
    greedy_epsilon: float = at(0.2, "share", "At this exploration rate, most actions are the policy's own."),
    min_random_points: int = at(5, "points", "Fewer points do not show what random actions score."),
    tolerance: float = at(1e-3, "share", "A smaller change is the last digits of a repeated evaluation."),
    min_points: int = at(10, "points", "Fewer scores do not show a flat curve."),
) -> Finding | Expected | NotMeasured | str | None:
    enough(score, min_points, "scores", "to call a curve flat")
    size = float(np.max(np.abs(score.values)))
    constant = float(np.ptp(score.values)) <= tolerance * size
    acting = [reward_mean, reward_episode] if score.name.startswith("eval.") else [score]  # evaluations do not explore
    explored = next((s.finite for s in acting if s is not None and len(s.finite)), None)
    random = (
        epsilon is not None
        and explored is not None
        and _no_better_than_random(explored, epsilon.finite, random_epsilon, greedy_epsilon, min_random_points)
    )
    flat = trajectory.kind == "flat" or constant or (random and trajectory.kind == "oscillating")
    if not flat or solved:
        return None
    if constant and score.values[0] > 0:
        return NotMeasured(
            f"the score is always {number(trajectory.start)}: the lowest and the highest score cannot be told apart"
        )
    first = float(score.steps[0])
    if continued(score):
        return NotMeasured(f"the log begins at {facts.at(score, first)}: what was learned before is not in it")
    training = [s.finite for s in (reward_mean, reward_episode) if s is not None and s.name != score.name]
    if any(rises(s) or shape_of(s).learned for s in training):
        return _beside_learning(score, training)
    if eval_trajectory is not None and eval_trajectory.learned:
        return f"{score.name} does not rise while the evaluation does: it is not what is learned from"
    if lr is not None and _warming_up(lr.finite):
        return NotMeasured("the learning rate is still in its warm-up at the last step: nothing can have been learned")
    line = trend(score)
    if line.rising:
        return None
    largest = max(abs(v) for v in line.interval) * float(np.ptp(score.steps))
    hidden = largest / line.noise if line.noise > 0 else 0.0
    sure = line.noise > 0 and hidden < hidden_rise_critical
    hides = not random and hidden >= hidden_rise_low_confidence
    bound = _largest_rise(score)
    so = (
        ", and greedy actions score no more than random ones: nothing was learned"
        if random
        else ": nothing was learned"
        if constant or not hidden
        else ", too few to show a rise"
        if largest >= np.ptp(score.values)
        else f": nothing was learned (95 %: no rise above {number(bound)})"
        if bound < hidden_rise_critical * line.noise
        else f", and a rise of up to {number(bound)} could hide in the noise"
    )
    return graded(
        Severity.CRITICAL if sure else Severity.WARNING,
        "{score} does not rise: it is {level} on average, from {low} to {high}, over {n} points{so}; {look}",
        seen_in(score, "score", first, (first, float(score.steps[len(score) // 10])), level=trajectory.start),
        score=score.name,
        level=facts.mean(score),
        n=facts.count(score),
        low=facts.lowest(score),
        high=facts.highest(score),
        so=so,
        look="evaluate more often and on more samples"
        if hides and not constant
        else "look for an earlier link of the loop that gives no signal",
        confidence=Confidence.HIGH if sure or random else Confidence.LOW if hides else Confidence.MEDIUM,
        numbers={"hidden": hidden},
    )


def _largest_rise(score: Series) -> float:
    """The largest even rise of the mean that the two halves of a curve leave possible, at 95 %."""
    halves = (score.finite.head(0.5).values, score.finite.tail(0.5).values)
    error = np.hypot(*(np.std(half) / np.sqrt(max(len(half), 1)) for half in halves))
    return 2 * max(0.0, float(np.mean(halves[1]) - np.mean(halves[0])) + 1.96 * float(error))


def _beside_learning(score: Series, training: Sequence[Series]) -> Expected | str:
    """Why the score of a run whose training reward rises says nothing: it begins later, or is judged with that reward."""
    risen = [began[0] for s in training if (began := departure(s)) is not None]
    if risen and score.steps[0] > min(risen):
        told = facts.tell(
            "{score} is flat because it begins after the learning, at {step}: the training reward rises before",
            score=score.name,
            step=facts.at(score, float(score.steps[0])),
        )
        return Expected(told)
    if float(np.median(score.tail(0.5).values)) < float(score.values[0]) - trend(score).noise:
        return f"{score.name} does not rise while the training reward does: something was learned, and not what is evaluated"
    return Expected(
        f"{score.name} is flat while the training reward rises: what was learned is not what is evaluated, or little"
    )


def _no_better_than_random(
    score: Series, epsilon: Series, random_epsilon: float, greedy_epsilon: float, min_random_points: int
) -> bool:
    """The mean score of a policy that explores little lies within the noise of what random actions scored.

    False while less than half of the log is greedy: the evidence is a long time without random actions, not the end of a
    schedule.
    """
    if score.axis != epsilon.axis or not len(epsilon):
        return False
    rate = np.interp(score.steps, epsilon.steps, epsilon.values)
    random, greedy = score.values[rate >= random_epsilon], score.values[rate <= greedy_epsilon]
    if len(random) < min_random_points or 2 * len(greedy) < len(score):
        return False
    return bool(np.mean(greedy) <= np.mean(random) + 2 * np.std(random))


def _warming_up(lr: Series) -> bool:
    """The rate has risen from next to nothing, point by point, to the end."""
    values = lr.values
    rising = len(values) >= 5 and bool(np.all(np.diff(values) >= 0))
    return rising and bool(values[0] < 0.2 * values[-1] and values[-1] > np.median(lr.tail(0.2).values))
