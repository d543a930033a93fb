"""All outputs look the same.

Looks for:
- In samples: the completions of one prompt are nearly all the same text and follow one strategy, and they varied in
  the beginning.
- In curves: the share of distinct outputs, where it is logged, is small. Or the shortest and the longest completion of
  a step become equally long and stay so.
Why: The entropy of tokens can stay high while every answer follows one template. A policy with a single strategy no
longer explores, and the reward of a group cannot tell its members apart.
False alarm: Tasks with one right answer of fixed length, once they are solved. Answers of a fixed form (one line of
JSON): lengths become equal while the policy learns the form, and the entropy holds; equal lengths from the start are a
different case. Answers of one length whose rewards differ within a group (the number of an action) are not the same
answer.
Fix:
- Raise {temperature}. Check that rollouts are sampled and not greedy, and that the seeds of the workers differ.
- Read ten completions of one prompt.
Experiment: Sample one prompt 32 times from an early and from the latest checkpoint, and count distinct outputs.
References: https://arxiv.org/abs/2310.06452
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.inputs import SampledDiversity
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import late_median, median
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

#: share of the prompts that get one and the same text: no answer that is right for them can be the same for so many
ONE_TEXT = 0.8


def detect(
    diversity: dict[str, Series] | None = None,
    length_min: Series | None = None,
    length_max: Series | None = None,
    solved: bool | None = None,
    truncation: Series | None = None,
    policy_entropy: Series | None = None,
    zero_variance_groups: Series | None = None,
    policy: Policy = Policy.TEXT,
    sampled_diversity: SampledDiversity | None = None,
    *,
    max_distinct_share: float = at(0.1, "share", "One output in ten or fewer is distinct."),
    min_equal_share: float = at(0.9, "share", "In nearly all late steps shortest and longest are equally long."),
    max_truncated_share: float = at(0.5, "share", "Where most are truncated, their equal length is the limit."),
    max_equal_share_at_start: float = at(0.5, "share", "A form may have been learned since."),
    min_entropy_share: float = at(0.8, "share", "Of its early level: with so much left, the entropy has held."),
    max_zero_variance_share: float = at(0.9, "share", "With fewer, answers differ in their rewards."),
    min_points: int = at(20, "points", "Fewer steps show no level."),
) -> Finding | Expected | NotMeasured | None:
    if sampled_diversity is not None:
        return _in_samples(sampled_diversity)
    distinct = next((s.finite for s in (diversity or {}).values() if len(s.finite) >= min_points), None)
    if distinct is not None:
        curve = distinct
        late = median(curve.tail(0.25).values)
        alike = late < max_distinct_share
        what: str = facts.tell("{late:%} of the outputs are distinct", late=facts.median(curve.tail(0.25)))
        since = first_sustained(curve, lambda values: values < max_distinct_share)
    elif length_min is not None and length_max is not None and len(length_min.finite) >= min_points:
        curve = length_max.finite
        low = np.interp(curve.steps, length_min.finite.steps, length_min.finite.values)
        equal = (low == curve.values).astype(float)
        cut = truncation is not None and late_median(truncation) > max_truncated_share
        early_equal = float(np.mean(equal[: len(equal) // 10 + 1]))
        a_form = early_equal < max_equal_share_at_start and _holds(policy_entropy, min_entropy_share)
        differ = (
            zero_variance_groups is not None
            and float(np.mean(zero_variance_groups.finite.tail(0.25).values)) < max_zero_variance_share
        )
        late_equal = float(np.mean(equal[-len(equal) // 4 :]))
        alike = late_equal > min_equal_share and not cut and not a_form and not differ
        what = (
            f"in {percent(late_equal)} of the last steps the shortest and the longest completion have the same length"
        )
        since = float(curve.steps[np.argmax(equal)])
    else:
        return NotMeasured("neither distinct outputs nor shortest and longest lengths are logged")
    if not alike:
        return None
    if solved:
        return Expected(f"{what} because the task is solved")
    read = "read ten completions of one prompt" if policy is Policy.TEXT else "watch ten episodes"
    return warning(
        "{what}: the policy has one strategy left; {read}",
        seen_since(curve, curve.name, since),
        what=what,
        read=read,
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


def _holds(entropy: Series | None, min_entropy_share: float) -> bool:
    """Whether the entropy of the tokens is nearly that of the start."""
    points = entropy.finite if entropy is not None else None
    if points is None or len(points) < 4:
        return False
    early, late = (median(part.values) for part in (points.head(0.25), points.tail(0.25)))
    return late > 0 and late >= min_entropy_share * early
