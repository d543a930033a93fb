"""The policy loss shows no direction, turns round, or jumps.

Looks for: The policy loss can do four things. Its size stays calm or shrinks slowly: this is in order. It oscillates
round zero with as many values above as below. Its sign was positive and becomes negative for good. Its size grows or
shrinks at once by `ratio_warning`, and stays there. And a supervised loss can be fitted to below `fitted` of its start
while not one held-out answer is right. What the learning rate and the gradient norm did at that step is told with it.
Why: The loss is the last quantity before the optimizer. A change of sign or a jump says that something changed
abruptly: the data, the learning rate, or the scale of the advantages.
False alarm: With normalised or group-relative advantages the loss is about 0 by construction, and its sign means
nothing: this is reported as expected, unless nearly all of its values have one sign. If the score rises from that step
on, the sign does not count; a change of sign is critical only where the score fell from that step on. A jump is always
worth a line, and a warning if the score was lost. A planned step of the learning rate moves the loss with it.
Fix:
- Find out what changed at that step: the stage of the data, the schedule of the learning rate, the scale of the reward,
  or a resumed run.
- If the loss has no direction and the score is flat, stop: the updates are noise.
Experiment: Repeat the updates around the jump from the last checkpoint with the same seed: a jump that comes back is in
the data, and a jump that does not come back was numerical.
References: https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.families import Method
from firstbreak.engine.stats.breaks import CALMING
from firstbreak.engine.stats.changes import changes
from firstbreak.engine.stats.direction import SURE, fell_since, move, rises
from firstbreak.engine.stats.oscillation import SignReversal, oscillation, sign_reversal
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Series, Severity, Statistic
from firstbreak.values import replace
from firstbreak.words import number, quoted

CENTRED = frozenset({Method.GROUP_RELATIVE})

CLOSE = 0.05  #: of the run: changes of two curves that are so near are one (convention)

EITHER_SCORE = True


def detect(
    policy_loss: Series | None = None,
    loss_total: Series | None = None,
    method: Method | None = None,
    trajectory: Trajectory | None = None,
    score: Series | None = None,
    eval_score: Series | None = None,
    training_score: Series | None = None,
    lr: Series | None = None,
    grad_norm: Series | None = None,
    *,
    ratio_warning: float = at(1.5, "ratio", "A loss that really doubled is measured as 1.5 to 2.6."),
    ratio_beside: float = at(1.5, "ratio", "Of rate or norm, at the step: noise moves less."),
    tolerance: float = at(1e-6, "loss", "A smaller loss is rounding, whatever it was before."),
    near_zero: float = at(0.1, "loss", "Small against a normalised advantage, whose size is 1."),
    min_either_side: float = at(0.25, "share", "Of the losses on either side of zero: round it."),
    one_sided: float = at(0.9, "share", "Nine losses in ten of one sign are no noise round 0."),
    fitted: float = at(0.1, "share", "A model that predicts its targets so well gives some right answers."),
    min_evaluations: int = at(4, "evaluations", "Fewer may come before the first right answer."),
    min_points: int = at(20, "points", "Fewer losses show no pattern."),
) -> Finding | Expected | NotMeasured | None:
    of_policy = method in (Method.GROUP_RELATIVE, Method.ACTOR_CRITIC)
    if not of_policy and loss_total is not None and eval_score is not None:
        scores, losses = eval_score.finite, loss_total.finite
        never = len(scores) >= min_evaluations and not scores.values.any() and len(losses) >= min_points
        if never and 0 < float(np.median(losses.tail(0.1).values)) < fitted * float(np.max(losses.head(0.1).values)):
            return _fits_something_else(losses, scores)
    loss = policy_loss if policy_loss is not None else loss_total if of_policy else None
    if loss is None:
        return NotMeasured("no policy loss is logged")
    if len(loss.finite) < min_points and method not in CENTRED:
        return NotMeasured(f"{len(loss.finite)} losses are too few to see a pattern (needs {min_points})")
    few = len(loss.finite) < min_points
    leap = None if few else _leap(loss, lr, ratio_warning, ratio_beside, tolerance, one_sided)
    reversal = None if few else sign_reversal(loss, one_sided)
    if method in CENTRED and leap is None and reversal is None and _about_zero(loss, near_zero):
        return Expected(
            f"{quoted(loss.raw or loss.name)} is about 0 by construction: group-relative advantages average to 0 and the "
            "ratio starts at 1, so the loss says nothing about progress; the gradient norm and the reward do"
        )
    learned = trajectory is not None and trajectory.kind in ("rising", "plateau")
    lost = trajectory is not None and trajectory.lost

    def fell(step: float) -> bool:
        return fell_since(step, eval_score, training_score)

    if not learned and reversal is None and not few:
        reversal = sign_reversal(loss)
    stopped = score is None or not rises(score.finite.between(reversal.step if reversal else 0.0))
    if reversal is not None and stopped and reversal.before > tolerance and reversal.after < -tolerance:
        return _turned_round(loss, reversal, fell=fell(reversal.step), lost=lost, scored=score is not None)
    if leap is not None:
        beside = _simultaneous(leap.step, lr, grad_norm, ratio_beside)
        return _jumped(loss, leap, beside, harmed=lost or fell(leap.step))
    flat = trajectory is not None and trajectory.kind == "flat"
    return _without_direction(loss, method, min_either_side) if flat else None


def _fits_something_else(loss: Series, scores: Series) -> Finding:
    return _finding(
        loss,
        facts.tell(
            "the loss fell from {before} to {after}, and {score} is 0 in all {n} evaluations: the model fits something else than "
            "what is asked; print the predicted and the target token of one sequence, shifted by one, without padding",
            before=facts.of(Statistic.LARGEST, loss.head(0.1)),
            after=facts.median(loss.tail(0.1)),
            score=scores.name,
            n=facts.count(scores),
        ),
        Severity.WARNING,
        float(scores.steps[0]),
        Confidence.HIGH,
    )


def _turned_round(loss: Series, reversal: SignReversal, *, fell: bool, lost: bool, scored: bool) -> Finding:
    ends = scored and fell
    harmed = ends or lost
    return _finding(
        loss,
        facts.tell(
            "the loss changed its sign from {before} to {after} at {step}{beside}: the updates now push the other way; {then}",
            before=number(reversal.before),
            after=number(reversal.after),
            step=facts.at(loss, reversal.step),
            beside=" and the score fell" if harmed else "",
            then="check what changed there" if ends else "check what changed there, and stop if the score falls",
        ),
        Severity.CRITICAL if ends else Severity.WARNING if scored or harmed else Severity.NOTICE,
        reversal.step,
        Confidence.HIGH if ends else Confidence.MEDIUM,
    )


def _jumped(loss: Series, leap: _Leap, beside: str, *, harmed: bool) -> Finding:
    return _finding(
        loss,
        facts.tell(
            "the size of the loss {moved} at once from {before} to {after} at {step}{fell}{beside}: check what changed there in "
            "the data, the learning rate or the scale of the reward",
            moved="rose" if leap.ratio > 1 else "fell",
            before=number(leap.before),
            after=number(leap.after),
            step=facts.at(loss, leap.step),
            fell=" and the score fell" if harmed else "",
            beside=beside,
        ),
        Severity.WARNING if harmed else Severity.NOTICE,
        leap.step,
    )


def _without_direction(loss: Series, method: Method | None, min_either_side: float) -> Finding | None:
    """A loss round zero, where the score is flat."""
    swing = oscillation(loss)
    if swing is None or not swing.directionless or min(swing.positive, 1 - swing.positive) < min_either_side:
        return None
    return _finding(
        loss,
        facts.tell(
            "the loss oscillates round zero ({mean} on average) and the score is flat: the updates have no common direction; "
            "check {source} before you train longer",
            mean=facts.mean(loss.finite),
            source="the critic" if method is Method.VALUE_BASED else "the advantages",
        ),
        Severity.NOTICE,
        float(loss.steps[0]),
    )


class _Leap(NamedTuple):
    """A sudden change of size that stayed."""

    step: float
    before: float
    after: float

    @property
    def ratio(self) -> float:
        return abs(self.after / self.before) if self.before else float("inf")

    def reaches(self, factor: float) -> bool:
        return self.ratio >= factor or self.ratio * factor <= 1


def _leap(
    loss: Series, lr: Series | None, ratio_warning: float, ratio_beside: float, tolerance: float, one_sided: float
) -> _Leap | None:
    """The first sudden change of the size of the loss that stayed, by a factor or by an amount; or a smaller one at a step
    at which the learning rate jumped. The dust of a loss that is zero has none."""
    positive = float(np.mean(loss.finite.values > 0))
    if max(positive, 1 - positive) < one_sided:
        return None
    for log in (True, False):
        for change in changes(loss, kinds=("level",), log=log, families=CALMING):
            leap = _Leap(change.step, change.before, change.after)
            if change.lasting and leap.reaches(ratio_warning) and max(abs(leap.before), abs(leap.after)) > tolerance:
                return leap
    size = replace(loss.finite, values=np.abs(loss.finite.values))
    moved = (_moved(size, step, ratio_beside) for step, _, _ in _jumps(lr, ratio_beside))
    return next((leap for leap in moved if leap is not None), None)


def _moved(size: Series, step: float, factor: float) -> _Leap | None:
    """How a positive curve moved at a known step, where it did so by this factor at least."""
    moved = move(size, step)
    leap = _Leap(step, moved.before, moved.after) if moved is not None and abs(moved.sigma) >= SURE else None
    return leap if leap is not None and leap.reaches(factor) else None


def _jumps(lr: Series | None, factor: float) -> list[_Leap]:
    """Where a learning rate jumps by this factor at least, while it hardly moves before and after."""
    if lr is None or len(lr.finite) < 4:
        return []
    steps, rates = lr.finite.steps, lr.finite.values
    moves = np.abs(np.diff(np.log(np.maximum(rates, 1e-300))))
    alone = (moves[1:-1] >= np.log(factor)) & (np.maximum(moves[:-2], moves[2:]) < np.log(factor) / 4)
    return [_Leap(float(steps[i]), float(rates[i - 1]), float(rates[i])) for i in np.flatnonzero(alone) + 2]


def _simultaneous(step: float, lr: Series | None, grad_norm: Series | None, factor: float) -> str:
    """What else changed at that step, in words."""
    reach = CLOSE * float(lr.steps[-1] - lr.steps[0]) if lr is not None and len(lr) else 0.0
    rates = [("the learning rate", jump) for jump in _jumps(lr, factor) if abs(jump.step - step) <= reach]
    norm = _moved(grad_norm.finite, step, factor) if grad_norm is not None else None
    found = [*rates, *([("the gradient norm", norm)] if norm is not None else [])]
    return "".join(f", and {what} went from {number(x.before)} to {number(x.after)}" for what, x in found)


def _about_zero(loss: Series, near_zero: float) -> bool:
    """Small against the unit size of a normalised advantage."""
    values = loss.finite.values
    return bool(len(values)) and abs(float(values.mean())) < near_zero


def _finding(
    loss: Series, message: str, severity: Severity, step: float, confidence: Confidence = Confidence.MEDIUM
) -> Finding:
    return graded(severity, message, seen_since(loss, "policy loss", step, level=0.0), confidence=confidence)
