"""The longest completions become shorter at one step.

Looks for: The longest completion of each batch. A finding is a fall at one step to a lower value that no later batch
exceeds, while more completions than before are cut at this value.
Why: A policy shortens its completions over many updates, and not to one exact number. A new maximum is a setting: a
smaller token limit, a context that something else fills, or a time-out. A completion that does not fit is cut and
scored as wrong, so that the policy unlearns long answers.
False alarm: A planned schedule of the length limit.
Fix:
- Find what changed at that step: {max_new_tokens}, the context length, a time-out of the engine or of a tool.
- Exclude cut completions from the loss ({mask_truncated}) until the old limit is back.
Experiment: Generate for the same prompts with the old limit, and score the answers: the share of right answers must
come back.
References: https://arxiv.org/abs/2503.14476
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, from_point, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.model import Finding, NotMeasured, Series

FAMILIES = only(Policy.TEXT)


def detect(
    truncation: Series,
    length_max: Series | None = None,
    length_total_max: Series | None = None,
    *,
    max_ratio: float = at(0.9, "ratio", "of the new longest one: a policy makes smaller steps"),
    min_rise: float = at(0.02, "share", "of cut completions: a lower limit cuts completions that fitted before"),
    min_share: float = at(0.5, "share", "of the batches whose longest completion has exactly the new limit"),
    lasting_points: int = at(8, "points", "so many batches before and after the fall show that the change lasts"),
) -> Finding | NotMeasured | None:
    longest = next(
        (s.finite for s in (length_max, length_total_max) if s is not None and len(s.finite) >= 3 * lasting_points),
        None,
    )
    if longest is None:
        return NotMeasured(f"the longest completion of a batch is not logged for {3 * lasting_points} batches")
    values = longest.values
    over = np.flatnonzero(values > np.max(values[-lasting_points:]))
    at = int(over[-1]) + 1 if len(over) else 0
    if at < lasting_points or len(values) - at < lasting_points:
        return None
    before, after = median(values[max(0, at - 2 * lasting_points) : at]), float(np.max(values[at:]))
    at_cap = float(np.mean(values[at:] == after))
    step = float(longest.steps[at])
    cut = truncation.finite
    earlier, later = cut.between(-np.inf, longest.steps[at - 1]).values, cut.between(step).values
    if not len(earlier) or not len(later) or at_cap < min_share or after >= max_ratio * before:
        return None
    if median(later[: 2 * lasting_points]) < median(earlier[-2 * lasting_points :]) + min_rise:
        return None
    return critical(
        "from {step} on, no completion is longer than {after} tokens (the longest of a batch had {before} before), and more "
        "completions are cut: a limit was lowered; compare the generation settings before and after that step",
        seen_since(longest, "longest completion", *from_point(longest, at), level=after),
        step=facts.at(longest, step),
        after=facts.highest(longest.between(step)),
        before=facts.median(
            longest.between(float(longest.steps[max(0, at - 2 * lasting_points)]), float(longest.steps[at - 1]))
        ),
        numbers={"before": before, "after": after},
    )
