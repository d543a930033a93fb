"""The words of a diagnosis: what each link did, what to do with the run, and what speaks for and against going on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.inputs import Inputs
from firstbreak.model import (
    Action,
    BestCheckpoint,
    Confidence,
    FirstBreak,
    Link,
    LinkStatus,
    LinkVerdict,
    Outcome,
    RankedCause,
    Run,
    Series,
    Severity,
    Status,
    Verdict,
)
from firstbreak.stats.ceiling import outlook
from firstbreak.stats.trend import trend
from firstbreak.words import number, percent

WORTH_NAMING = 0.1  #: a cause less probable than this is not named in a summary
ENOUGH = 30  #: scores in which a rise would have shown through the swings
CLOSE = 2.0  #: two causes whose odds differ by less than this factor cannot be told apart


def link_verdicts(run: Run, outcomes: Sequence[Outcome], first_break: FirstBreak | None) -> Mapping[Link, LinkVerdict]:
    """One verdict for each of the ten links."""
    return {link: _link_verdict([o for o in outcomes if o.link is link], link, first_break) for link in Link}


def _link_verdict(outcomes: list[Outcome], link: Link, first_break: FirstBreak | None) -> LinkVerdict:
    serious = [o for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    if serious:
        worst = min(serious, key=lambda o: -o.finding.severity.rank if o.finding else 0)
        assert worst.finding is not None
        critical = worst.finding.severity is Severity.CRITICAL
        first = first_break is not None and first_break.link is link
        status = LinkStatus.BROKEN if critical and (first or first_break is None) else LinkStatus.SUSPECT
        return LinkVerdict(status=status, why=worst.finding.message)
    if first_break is not None and first_break.link is link:
        return LinkVerdict(status=LinkStatus.SUSPECT, why="the findings in other links point here")
    looked = [o for o in outcomes if o.status in (Status.OK, Status.FOUND)]
    blind = [o for o in outcomes if o.status in (Status.NOT_MEASURED, Status.CRASHED)]
    if looked:
        partly = f"; {len(blind)} further checks lacked their input" if blind else ""
        return LinkVerdict(status=LinkStatus.OK, why=f"{len(looked)} checks saw nothing wrong{partly}")
    if blind:
        return LinkVerdict(
            status=LinkStatus.NOT_MEASURED, why=min((o.note for o in blind if o.note), key=len, default="")
        )
    why = outcomes[0].note if outcomes else "no detector looks at this link"
    return LinkVerdict(status=LinkStatus.NOT_APPLICABLE if outcomes else LinkStatus.NOT_MEASURED, why=why)


def judge(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    first_break: FirstBreak | None,
    best: BestCheckpoint | None,
    *,
    sure: bool,
) -> Verdict:
    """The verdict: action, and in words the realistic upside of going on, the risk, and the first thing to do.

    `sure`: "healthy" is improbable enough that a critical finding may stop the run.
    """
    action = _action(inputs, outcomes, first_break, best, sure=sure)
    return Verdict(
        action=action,
        summary=_summary(inputs, outcomes, ranked, first_break, sure=action in (Action.STOP, Action.ROLLBACK)),
        upside=upside(inputs),
        risk=risk(inputs, outcomes),
        do_first=_do_first(action, inputs, outcomes, ranked, first_break, best),
    )


def _action(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    first_break: FirstBreak | None,
    best: BestCheckpoint | None,
    *,
    sure: bool,
) -> Action:
    found = [o.finding for o in outcomes if o.finding is not None]
    critical = any(f.severity is Severity.CRITICAL and f.confidence is not Confidence.LOW for f in found)
    shape = inputs.get("trajectory")
    if critical and sure and first_break is not None:
        fell = shape is not None and shape.lost and best is not None and best.step < _last(inputs.get("score"))
        return Action.ROLLBACK if fell else Action.STOP
    doubtful = any(f.severity is not Severity.NOTICE and f.confidence is not Confidence.LOW for f in found)
    if first_break is not None or shape is None or doubtful or any(f.severity is Severity.CRITICAL for f in found):
        return Action.WATCH
    return Action.WATCH if _unmoved(inputs, outcomes) else Action.CONTINUE


def _unmoved(inputs: Inputs, outcomes: Sequence[Outcome]) -> bool:
    """The score may have gone nowhere: of public logs of such shapes, 54 learned nothing and 11 were healthy."""
    shape, score = inputs.get("trajectory"), inputs.get("score")
    if shape is None or shape.n < ENOUGH or inputs.get("solved"):
        return False
    flat = any(o.detector == "reward-flat" and o.finding is not None for o in outcomes)
    swings = shape.kind == "oscillating" and trend(score).direction <= 0
    return bool(flat or swings or np.ptp(score.values) == 0)


def _last(series: Series | None) -> float:
    return float(series.steps[-1]) if series is not None and len(series) else -np.inf


def _summary(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    first_break: FirstBreak | None,
    *,
    sure: bool,
) -> str:
    shape = inputs.get("trajectory")
    if first_break is None:
        if shape is None:
            return "Cannot tell: no score was recorded, so nothing in this log shows whether the policy improves."
        blind = _blind_links(outcomes)
        if shape.kind == "too_short":
            n = len(inputs.get("score"))
            return f"Cannot tell yet: {n} {'score is' if n == 1 else 'scores are'} too few to see a shape."
        how = "sits at its ceiling" if inputs.get("solved") else _SHAPES[shape.kind]
        if shape.kind == "oscillating" and _unmoved(inputs, outcomes):
            how = "swings, and has not risen"
        what = _SUPERVISED.get(inputs.get("score").name, "the score")
        if inputs.get("score").name == "sft.likelihood" and inputs.get("eval_loss") is None:
            blind = ["over-fitting", *blind]
        unseen = f" Cannot tell about {_join(blind)}: not measured." if blind else ""
        doubt = sum(o.finding is not None and o.finding.severity is not Severity.NOTICE for o in outcomes)
        but = f" {doubt} warning{'s' * (doubt > 1)} to look at." if doubt else ""
        return f"Nothing is broken in what was recorded: {what} {how}.{but}{unseen}"
    link = first_break.link.value.replace("_", " ")
    where = f"{link} or earlier" if first_break.or_earlier else link
    when = f" at step {number(first_break.step)}" if first_break.step is not None else ""
    broken = f"{'The loop broke first at' if sure else 'Look first at'} {where}{when}"
    top, rival = leading(ranked, first_break)
    if top is None:
        return f"{broken}; the cause cannot be told from what was recorded."
    text = f"{broken}. Most probable cause there: {_lower(top.title)} ({percent(top.probability)})."
    if rival is not None:
        text += f" Cannot be separated from: {_lower(rival.title)} ({percent(rival.probability)})."
    return text


def leading(
    ranked: Sequence[RankedCause], first_break: FirstBreak | None
) -> tuple[RankedCause | None, RankedCause | None]:
    """The most probable cause in the first broken link, and the rival that it cannot be told apart from, if any."""
    named = [c for c in ranked if c.link is not None and c.probability >= WORTH_NAMING]
    top = next((c for c in named if first_break is not None and c.link is first_break.link), None)
    rival = next(
        (c for c in named if top is not None and c is not top and c.probability * CLOSE > top.probability), None
    )
    return top, rival


_SUPERVISED = {
    "eval.likelihood": "supervised training, and the likelihood of held-out text",
    "sft.likelihood": "supervised training, and the likelihood of its own text",
}
_SHAPES = {
    "rising": "still rises",
    "plateau": "rose and holds its plateau",
    "flat": "has not moved beyond its noise",
    "declining": "falls",
    "peaked": "peaked and fell",
    "collapsed": "collapsed",
    "oscillating": "swings without settling",
    "too_short": "is too short to judge",
}


def upside(inputs: Inputs) -> str:
    """What going on can realistically bring: from the shape of the score and a fitted saturating law."""
    score, shape = inputs.get("score"), inputs.get("trajectory")
    if score is None or shape is None:
        return "cannot be estimated: no score was recorded"
    last = number(_last(score))
    if inputs.get("solved"):
        return f"little: {score.name} sits at its ceiling of {number(float(np.max(score.values)))}"
    match shape.kind:
        case "too_short":
            return f"cannot be estimated from {len(score)} scores"
        case "flat":
            return f"near zero as it stands: {score.name} has not left its first level of {number(shape.start)} by step {last}"
        case "peaked" | "collapsed" | "declining":
            return (
                f"near zero: {score.name} was {number(shape.best)} at step {number(shape.best_step)} "
                f"and is {number(shape.end)} now"
            )
        case "oscillating":
            return f"small: {score.name} swings by more than it gains; more steps do not settle it"
    view = outlook(score)
    if view is None:
        return "small: the plateau holds" if shape.kind == "plateau" else "real: the score still rises"
    _, (low, high) = view.gain(view.span)
    return (
        f"{score.name} is {number(shape.end)} now; as many steps again would change it by {number(low)} to {number(high)} "
        "(saturating laws fitted to the curve, 95 % range)"
    )


def risk(inputs: Inputs, outcomes: Sequence[Outcome]) -> str:
    """What going on can cost."""
    shape = inputs.get("trajectory")
    serious = [o.finding for o in outcomes if o.finding is not None and o.finding.severity is Severity.CRITICAL]
    if shape is not None and shape.lost:
        who = "model" if inputs.get("supervised") else "policy"
        return f"high: the {who} gets worse with every step, and the distance to its best state grows"
    if serious:
        if inputs.get("supervised"):
            return "high: each further step costs compute and makes nothing better"
        return "high: each further step costs compute and teaches the policy from a broken signal"
    if any(o.detector == "kl-reward" and o.finding is not None for o in outcomes):
        return "growing: the policy drifts from its reference without being paid for it"
    if shape is None:
        return "unknown: without a score a run can go wrong for long before anyone sees it"
    if shape.kind in ("plateau", "flat"):
        return "low for the model, but the compute buys little"
    return "low in what was recorded"


def _do_first(
    action: Action,
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    first_break: FirstBreak | None,
    best: BestCheckpoint | None,
) -> str:
    if action is Action.CONTINUE:
        return "Go on; look again after as many steps as have been trained so far."
    steps = []
    if action is Action.ROLLBACK and best is not None:
        peak = number(best.step)
        which = f"{best.path}, of the saved models the best (the peak was at step {peak})" if best.path else None
        steps.append(f"Stop, and take {which or f'the checkpoint nearest step {peak}'}.")
    elif action is Action.STOP:
        steps.append("Stop the run.")
    top, rival = leading(ranked, first_break)
    if top is not None and rival is not None and top.experiment is not None and top.experiment.text:
        steps.append(f"Tell the two causes apart first: {top.experiment.text}")
    elif top is not None and top.fix:
        steps.append(top.fix[0])
    elif inputs.get("trajectory") is None:
        steps.append("Log a score: a held-out evaluation, or at least the mean training reward.")
    elif first_break is None and _unmoved(inputs, outcomes):
        who = "the untrained model" if inputs.get("writes_text") else "random actions"
        steps.append(f"Ask whether anything was learned: score {who} in the same way, and compare.")
    return " ".join(steps) or "Look at the warnings, in order; nothing calls for a stop."


def _blind_links(outcomes: Sequence[Outcome]) -> list[str]:
    names = []
    for link in Link:
        statuses = {o.status for o in outcomes if o.link is link}
        if not statuses & {Status.OK, Status.FOUND} and Status.NOT_MEASURED in statuses:
            names.append(link.value.replace("_", " "))
    return names


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _lower(title: str) -> str:
    return title if title[:2].isupper() else title[:1].lower() + title[1:]
