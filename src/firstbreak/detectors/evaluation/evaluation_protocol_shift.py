"""The evaluation jumps at a step where nothing in training moved.

## What it looks for
A sudden change of the gap between the evaluation and the training reward, clear of its noise, at which the training
reward itself does not change: a fall, or a rise with which the length of what is evaluated jumps. A second evaluation
that stands still says it more clearly: the policy is the same, so the two ask different questions from then on.

## Why it matters
Skill that comes overnight comes in training as well. A jump that only the evaluation sees is a change of the
question: another temperature, length limit, prompt template, tool permission, episode cap or split. Numbers before
and after cannot be compared, and the best checkpoint of the two halves together is chosen by the protocol.

## When it is a false alarm
The training reward is a proxy (a process reward, a reward that was already at its ceiling) and the skill is new: the
evaluated samples then look different, not only longer or shorter. A greedy policy finds the way before the sampled one, or
was stuck and catches up with it: a rise to a level that training has or gets is not reported. Neither is a fall after
which evaluations are as good as before again.

## Fix
- Write the evaluation's settings ({eval_temperature}, {max_new_tokens}, split, template, seeds) beside every score,
  or a hash of them.
- Evaluate the checkpoints of one side of the jump again, with the protocol of the other.

## Smallest experiment
Evaluate one old checkpoint with today's protocol. If it jumps as well, the protocol changed and not the policy.

## References
https://arxiv.org/abs/1709.06009
https://github.com/verl-project/verl/issues/6202
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.onset import Onset, level_shift
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.stats.smooth import smooth
from firstbreak.words import number

SIDE = 3  #: evaluations on either side of a cliff
DEEP, STEEP = 0.25, 0.6  #: share of the level that is lost, and share of the loss that one step makes
AROUND = 0.15  #: of the run: what training did within this distance of the jump is compared


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    eval_length_mean: Series | None = None,
    eval_length_clipped_ratio: Series | None = None,
    eval_accuracy: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_pass_at_k: Series | None = None,
    eval_reward: Series | None = None,
    *,
    min_points: int = 12,
    size: float = 4.0,
) -> Finding | NotMeasured | None:
    if len(eval_score) < min_points:
        return NotMeasured(f"{len(eval_score)} evaluations are too few to see a jump (needs {min_points})")
    if reward_mean is None or len(reward_mean.finite) < min_points:
        return NotMeasured("no training reward is logged, so nothing says whether a jump of the evaluation is skill")
    scale = _scale(eval_score, reward_mean)
    jump = level_shift(_gap(eval_score, reward_mean, scale))
    if jump is None or jump.size < size:
        jump = _cliff(eval_score, size)
    if jump is None or _moved(reward_mean, scale, jump) or _came_back(eval_score, jump):
        return None
    lengths = (eval_length_mean, eval_length_clipped_ratio)  # of texts: an episode is as long as the policy makes it
    beside = next((curve for curve in lengths if curve is not None and _jumps_with(curve, jump)), None)
    others = (eval_accuracy, eval_success_rate, eval_pass_at_k, eval_reward)
    unmoved = next((o for o in others if o is not None and o.name != eval_score.name and _stays(o, jump)), None)
    if beside is None and unmoved is None and (jump.direction > 0 or scale == 0):
        return None  # late skill, or luck where nothing was learned, looks the same
    if unmoved is None and eval_score.name == "eval.reward" and _reached(eval_score, reward_mean, jump):
        return None
    before, after = (float(np.mean(side)) for side in _sides(eval_score, jump))
    return Finding(
        message=(
            f"{eval_score.name} jumped from {number(before)} to {number(after)} at step {number(jump.step)}"
            f"{f', {beside.name} jumped with it,' if beside is not None else ''} and training "
            f"{f'and {unmoved.name} stayed on their' if unmoved is not None else 'stayed on its'} course; "
            "evaluate an old checkpoint with today's protocol"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM if beside is None and unmoved is None else Confidence.HIGH,
        metric=eval_score.name,
        onset=jump.step,
        interval=jump.interval,
        evidence=(
            Evidence(text="evaluation", series=eval_score, since=jump.step),
            Evidence(text="training reward", series=reward_mean, since=jump.step),
            *([Evidence(text="length", series=beside, since=jump.step)] if beside is not None else []),
        ),
        facts={"before": before, "after": after},
    )


def _cliff(evaluation: Series, size: float) -> Onset | None:
    """A fall from one evaluation to the next, in a curve that is still rising and so has no level to shift from."""
    values, steps = evaluation.values, evaluation.steps
    falls = np.diff(values)
    usual = float(np.median(np.abs(falls)))
    at = int(np.argmin(falls)) + 1
    if not SIDE <= at <= len(values) - SIDE or usual == 0:
        return None
    before, after = float(np.median(values[at - SIDE : at])), float(np.median(values[at : at + SIDE]))
    whole = before - after
    if whole < size * usual or whole < DEEP * abs(before) or -falls[at - 1] < STEEP * whole:
        return None
    return Onset(
        step=float(steps[at]),
        interval=(float(steps[at - 1]), float(steps[at])),
        kind="level",
        direction=-1,
        size=whole / usual,
        before=before,
        after=after,
        p=float("nan"),
    )


def _scale(eval_score: Series, reward_mean: Series) -> float:
    """What one unit of the training reward is worth in units of the evaluation: 1, or the ratio of their ranges."""
    if not shape_of(reward_mean).learned:
        return 0.0
    if eval_score.name == "eval.reward":
        return 1.0
    return float(np.ptp(smooth(eval_score)[1]) / np.ptp(smooth(reward_mean)[1]))


def _gap(eval_score: Series, reward_mean: Series, scale: float) -> Series:
    """The evaluation minus what training would lead to expect: skill is in both and cancels, a new protocol is not."""
    steps, trained = smooth(reward_mean)
    return replace(eval_score, values=eval_score.values - scale * np.interp(eval_score.steps, steps, trained))


def _moved(reward_mean: Series, scale: float, jump: Onset) -> bool:
    """Whether the training reward itself made half of the jump, either way; two standard errors are granted to it."""
    before, after = _sides(reward_mean, jump)
    if min(len(before), len(after)) < 3:
        return True
    error = noise_scale(reward_mean.finite.values) * float(np.sqrt(1 / len(before) + 1 / len(after)))
    moved = abs(float(np.mean(after)) - float(np.mean(before))) + 2 * error
    return scale * moved >= abs(jump.after - jump.before) / 2


def _came_back(eval_score: Series, jump: Onset) -> bool:
    """Whether a fallen evaluation is past the middle of its fall again: a new protocol stays, a bad policy need not."""
    before, after = (float(np.mean(side)) for side in _sides(eval_score, jump))
    later = eval_score.between(jump.interval[1]).values
    if after >= before or len(later) < SIDE:
        return False
    lowest = np.min(np.lib.stride_tricks.sliding_window_view(later, SIDE), axis=1)
    return bool(np.max(lowest) >= (before + after) / 2)


def _reached(eval_score: Series, reward_mean: Series, jump: Onset) -> bool:
    """Whether training is, or comes later, past the middle of a rise: skill that the greedy policy showed first."""
    before, after = (float(np.mean(side)) for side in _sides(eval_score, jump))
    later = reward_mean.finite.between(jump.interval[0])
    return before < after and len(later) > 0 and float(np.max(smooth(later)[1])) >= (before + after) / 2


def _stays(other: Series, jump: Onset) -> bool:
    """Whether another evaluation of the same policy moved by less than half of the jump, both as shares of their levels.

    Two standard errors are counted against it: a curve too noisy to tell does not stay.
    """
    before, after = _sides(other, jump)
    if min(len(before), len(after)) < 2 or np.mean(before) <= 0 or jump.before <= 0:
        return False
    error = noise_scale(other.finite.values) * float(np.sqrt(1 / len(before) + 1 / len(after)))
    moved = abs(float(np.mean(after) - np.mean(before))) + 2 * error
    return moved / float(np.mean(before)) < abs(jump.after - jump.before) / jump.before / 2


def _sides(curve: Series, jump: Onset) -> tuple[np.ndarray, np.ndarray]:
    """What a curve did shortly before and shortly after the jump."""
    points = curve.finite
    near = AROUND * float(np.ptp(points.steps))
    before = points.between(jump.interval[0] - near, np.nextafter(jump.interval[0], -np.inf))
    return before.values, points.between(jump.interval[1], jump.interval[1] + near).values


def _jumps_with(curve: Series, jump: Onset) -> bool:
    other = level_shift(curve)
    return other is not None and other.interval[0] <= jump.interval[1] and other.interval[1] >= jump.interval[0]
