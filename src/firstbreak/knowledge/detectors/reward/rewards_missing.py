"""The reward has no number for part of the steps.

Looks for: A reward, a component of it, or a score that is NaN or empty in `min_share` of the steps, or from some step
on to the end, although the same rows hold other numbers, as they do where the reward has one.
Why: An update needs the reward of its batch. Without it the batch was dropped, or its NaN reaches the advantages, the
loss and one step later every weight.
False alarm: Rows of another kind (evaluations, summaries) hold other columns and are not counted. A mean over the
episodes that ended is empty in rows in which none ended, and before the first one ends: in a control task only a reward
that stays away is reported. A reward that is missing after the loss was NaN is a consequence, and reported as expected.
Fix:
- Call the reward function on the samples of one such step: a judge that timed out, a parser that failed, a division
  by 0.
- Leave samples without a grade out of the batch, count them, and log their share.
- text: Let the trainer stop, not skip, when a reward is no number.
Experiment: Repeat the run with a learning rate of 0 for a tenth of its steps: rewards that are still missing come from
the reward function, and not from the policy.
References: https://huggingface.co/docs/trl/grpo_trainer
https://stable-baselines3.readthedocs.io/en/master/guide/checking_nan.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_as
from firstbreak.engine.families import Method, Policy, without
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.points import among
from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Run, Series, Severity
from firstbreak.words import number, percent

FAMILIES = without(Method.SUPERVISED)
REWARD = re.compile(r"reward\.(rollout\.|episode\.|component\..+\.)?mean|reward\.(episode|accuracy)|success_rate")
UPDATE = re.compile(r"loss\.total|policy\.loss|value\.loss|grad\.norm")


def detect(
    run: Run,
    policy: Policy = Policy.TEXT,
    *,
    min_share: float = at(0.25, "share", "Of the steps: fewer are failures of single batches."),
    same_rows: float = at(0.8, "share", "Of a curve's points: where it stands beside the reward."),
    min_end: float = at(0.05, "share", "Of the steps, up to the end: a run hardly ends so."),
    min_points: int = at(5, "points", "Fewer missing rewards are an accident."),
) -> Finding | Expected | NotMeasured | None:
    rewards = [s for name, s in run.series.items() if REWARD.fullmatch(name) and len(s)]
    if not rewards:
        return NotMeasured("no reward is logged")
    rows = [s for name, s in run.series.items() if not REWARD.fullmatch(name) and not name.startswith("eval.")]
    numbers = [s.steps[~np.isnan(s.values)] for s in rows]
    places = list({place.tobytes(): place for place in numbers}.values())  # most curves stand in the same rows
    found = []
    for curve in rewards:
        if np.isnan(curve.values).sum() < min_points:
            continue
        steps, missing = _of_its_rows(curve, places, same_rows)
        if int(missing.sum()) < min_points:
            continue
        end = for_good(missing, same_rows)
        stays = end is not None and len(missing) - end >= max(min_points, min_end * len(missing))
        if stays or (policy is Policy.TEXT and float(missing.mean()) >= min_share):
            first = int(end if stays and end is not None else np.argmax(missing))
            found.append((float(steps[first]), curve, steps, missing, stays))
    if not found:
        return None
    since, curve, steps, missing, stays = min(found, key=lambda each: each[0])
    broken = [
        float(s.steps[np.argmax(bad)]) for s in rows if UPDATE.fullmatch(s.name) and (bad := np.isnan(s.values)).any()
    ]
    if broken and min(broken) < since:
        return Expected(
            facts.tell(
                "{curve} is missing from {since} on, after the loss was NaN at {broken}",
                curve=curve.name,
                since=facts.at(curve, since),
                broken=number(min(broken)),
            )
        )
    count, left = int(missing.sum()), steps < since
    until = "to the end" if stays else f"on ({percent(float(missing[~left].mean()))} of them)"
    also = ", ".join(each[1].name for each in found if each[1] is not curve)
    serious = policy is Policy.TEXT and curve.name in ("reward.mean", "reward.rollout.mean")
    return graded(
        Severity.CRITICAL if serious else Severity.WARNING,
        "{curve} has no number in {count} of {n} steps, from {since} {until}{also}: these batches teach nothing, or their "
        "NaN reaches the weights; call the reward function on the samples of one such step",
        seen_as(
            curve.name,
            since,
            (float(steps[max(int(left.sum()) - 1, 0)]), since),
            drawn=tuple(Evidence(text=f"{each[1].name}: no number", series=each[1], since=each[0]) for each in found),
        ),
        curve=curve.name,
        count=f"{count}",
        n=f"{len(missing)}",
        since=facts.at(curve, since),
        until=until,
        also=f" (also {also})" if also else "",
        confidence=Confidence.HIGH if policy is Policy.TEXT or stays else Confidence.MEDIUM,
        numbers={"missing": count, "of": len(missing), "lasting": stays},
    )


def _of_its_rows(reward: Series, rows: list[np.ndarray], same_rows: float) -> tuple[np.ndarray, np.ndarray]:
    """The steps (n,) of the training's own rows from the first number of the reward on, and whether it is missing there.

    Its own rows are those that hold a number of a curve that usually stands beside the reward. `rows`: the steps of each other
    curve's numbers.
    """
    has = ~np.isnan(reward.values)
    begun = int(np.argmax(has)) if has.any() else 0
    steps, missing = reward.steps[begun:], ~has[begun:]
    own = np.zeros(len(steps), bool)
    for row in rows:
        there = among(steps, row)
        if there.any() and (missing.all() or float(there[~missing].mean()) >= same_rows):
            own |= there
    return steps[own], missing[own]
