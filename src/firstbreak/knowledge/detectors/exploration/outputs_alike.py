"""All outputs look the same.

Looks for:
- In samples: the completions of one prompt are nearly all the same text and follow one strategy, and they varied in
  the beginning.
- In curves: the share of distinct outputs, where it is logged, is small.
Why: The entropy of tokens can stay high while every answer follows one template. A policy with a single strategy no
longer explores, and the reward of a group cannot tell its members apart.
False alarm: Tasks with one right answer of fixed length, once they are solved.
Fix:
- Raise {temperature}. Check that rollouts are sampled and not greedy, and that the seeds of the workers differ.
- Read ten completions of one prompt.
Experiment: Sample one prompt 32 times from an early and from the latest checkpoint, and count distinct outputs.
References: https://arxiv.org/abs/2310.06452
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.inputs import SampledDiversity
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

#: share of the prompts that get one and the same text: no answer that is right for them can be the same for so many
ONE_TEXT = 0.8


def detect(
    diversity: dict[str, Series] | None = None,
    solved: bool | None = None,
    policy: Policy = Policy.TEXT,
    sampled_diversity: SampledDiversity | None = None,
    *,
    max_distinct_share: float = at(0.1, "share", "One output in ten or fewer is distinct."),
    min_points: int = at(20, "points", "Fewer steps show no level."),
) -> Finding | Expected | NotMeasured | None:
    if sampled_diversity is not None:
        return _in_samples(sampled_diversity)
    curve = next((s.finite for s in (diversity or {}).values() if len(s.finite) >= min_points), None)
    if curve is None:
        return NotMeasured("no share of distinct outputs is logged")
    if median(curve.tail(0.25).values) >= max_distinct_share:
        return None
    late = facts.median(curve.tail(0.25))
    if solved:
        return Expected(facts.tell("{late:%} of the outputs are distinct because the task is solved", late=late))
    return warning(
        "{late:%} of the outputs are distinct: the policy has one strategy left; {read}",
        seen_since(curve, curve.name, first_sustained(curve, lambda values: values < max_distinct_share)),
        late=late,
        read="read ten completions of one prompt" if policy is Policy.TEXT else "watch ten episodes",
        confidence=Confidence.MEDIUM,
    )


def _in_samples(found: SampledDiversity) -> Finding | NotMeasured | None:
    texts = found.texts.finite
    if found.step is None:
        return None if len(texts) else NotMeasured("no prompt has several samples")
    whatever = found.one_text >= ONE_TEXT
    first, last = (
        (f"{percent(float(share))} different texts" for share in texts.values[[0, -1]]) if len(texts) else ("", "")
    )
    return graded(
        Severity.WARNING if whatever else Severity.NOTICE,
        f"{percent(found.share)} of the completions follow one strategy at the end "
        f"({number(float(found.strategies.values[-1]))} in effect, {number(float(found.strategies.values[0]))} at first)"
        f"{f', and those of one prompt are {last}, {first} at first' if first else ''}"
        f"{f'; {percent(found.one_text)} of the prompts get one and the same text' if whatever else ''}: "
        "read ten completions of one prompt",
        seen_since(found.texts, "share of different texts", found.step, found.interval),
        confidence=Confidence.MEDIUM,
    )
