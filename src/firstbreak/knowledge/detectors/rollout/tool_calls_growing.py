"""The policy calls tools more and more often.

Looks for: Tool calls or turns per episode that rise to at least `growth_warning` times their first level.
Why: Each call costs time and context. A policy that is rewarded for each call, or punished for answers, calls tools
where a call does not help. An episode that uses its whole budget for calls gives no answer.
False alarm: Harder problems that need more calls: then the share of solved problems rises with the calls.
Fix:
- Reward the outcome alone. Give a bonus for a call at most once per episode, or not at all.
- Subtract a small cost for each call, and check whether the success rate stays.
Experiment: Set the bonus per call to 0 for a tenth of the run. If the calls fall and the success rate stays, the bonus
was the reason.
References: https://arxiv.org/abs/2504.11536
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity


def detect(
    tool_call_freq: Series | None = None,
    turns_mean: Series | None = None,
    eval_score: Series | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    growth_warning: float = at(1.3, "ratio", "of late to early: mixed problems change less"),
    growth_harmless: float = at(1.5, "ratio", "less may solve more problems, if they do"),
    min_evaluations: int = at(5, "evaluations", "with fewer evaluations a rise of the evaluation is not known"),
    min_points: int = at(16, "points", "with fewer points no trend is known"),
) -> Finding | NotMeasured | None:
    calls = next((s.finite for s in (tool_call_freq, turns_mean) if s and len(s.finite) >= min_points), None)
    if calls is None:
        what = "neither tool calls nor turns per episode" if policy is Policy.TEXT else "no turns per episode"
        return NotMeasured(f"{what} are logged for {min_points} steps")
    early, late = (median(part.values) for part in (calls.head(0.15), calls.tail(0.25)))
    if (
        early <= 0 or late < max(growth_warning * early, 1 + 1e-9) or not rises(calls)
    ):  # up to one, the policy learns to call
        return None
    began = departure(calls)
    gained = eval_score is not None and len(eval_score) >= min_evaluations and rises(eval_score)
    return graded(
        Severity.NOTICE if gained and late < growth_harmless * early else Severity.WARNING,
        "{calls} grew from {early} to {late} per episode; check whether the reward grows with the number of calls, and "
        "whether episodes still end with an answer",
        seen_since(calls, "calls", *(began or (None, None))),
        calls=calls.name,
        early=facts.median(calls.head(0.15)),
        late=facts.median(calls.tail(0.25)),
        confidence=Confidence.LOW if gained else Confidence.MEDIUM,
        numbers={"times": late / early},
    )
