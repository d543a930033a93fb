"""Wrong answers are rewarded.

Looks for: Samples that carry a reference answer: the share of the rewarded ones that do not contain the reference. The
lower bound of that share (Wilson, 95 %) must exceed `share_warning`, in all samples or in those of the second half of
the run. It is sure where the share grows, where most wrong answers are paid, or where one wrong answer is paid for
several references.

Without references: final answers that are numbers, to one prompt with numbers, that the part of the reward called accuracy,
correctness or exact match pays. At most one of them is right: those more than `tolerance` from the most frequent one count as
wrong.
Why: Reward hacking and lenient verifiers look like this in the samples. A share that grows says that the policy
exploits an error of the verifier. A share that is there from the start says that the verifier has the error.
False alarm: Answers that are equal in another notation (1/2 and 0.5): then the share is there from the start and does
not grow, and right answers are rewarded as well. Prompts to which several numbers are right, or whose text leaves out
what they ask about.
Fix:
- Read ten rewarded samples without the reference, and find out why the verifier rewarded them. A reference that the verifier
  cannot parse must not pay.
- Add them to the tests of the verifier, then resume from the checkpoint before the share grew.
Experiment: Score one batch of answers that are wrong on purpose (shuffled references): nearly none may be rewarded.
References: https://arxiv.org/abs/2210.10760
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from firstbreak.engine.checks import at, enough, graded, seen_as
from firstbreak.engine.stats.proportion import wilson
from firstbreak.knowledge.detectors.reward._verdicts import (
    GradedSample,
    answer_and_reference,
    first,
    graded_samples,
    paid_for_right,
)
from firstbreak.model import Confidence, Finding, Interval, NotMeasured, Role, Samples, Severity
from firstbreak.words import percent

ROLES = (Role.RELATION,)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def detect(
    samples: Samples,
    *,
    share_warning: float = at(0.15, "share", "A smaller share can come from answers in another notation."),
    share_critical: float = at(0.5, "share", "From here on, most rewards are for wrong answers."),
    min_rewarded: int = at(8, "samples", "Fewer rewarded samples give too wide an interval of the share."),
    max_grades: int = at(8, "values", "A reward of more values is a score, and does not say right or wrong."),
    tolerance: float = at(0.05, "share", "Verifiers that allow for rounding pay numbers so close to the right one."),
) -> Finding | NotMeasured | None:
    compared = graded_samples(samples, max_grades) or _several_paid(samples, max_grades, tolerance)
    if not compared:
        return NotMeasured("no samples with a reward and a reference answer that could be compared")
    rewarded = enough([s for s in compared if s.rewarded], min_rewarded, "rewarded samples")
    if not any(s.right for s in rewarded) and all(not s.present for s in rewarded):
        return NotMeasured("no rewarded sample contains its reference: the reward compares with something else")
    middle = (min(s.step for s in compared) + max(s.step for s in compared)) / 2
    early, late = [s for s in rewarded if s.step <= middle], [s for s in rewarded if s.step > middle]
    low = max(_wrong(rewarded)[0], _wrong(late)[0])
    if low <= share_warning:
        return None
    grows = _wrong(late)[0] > _wrong(early)[1]
    wrong = [s for s in rewarded if not s.present]
    onset = min(s.step for s in wrong)
    what = "reference" if wrong[0].reference else "right"
    return graded(
        Severity.CRITICAL if grows and low > share_critical else Severity.WARNING,
        f"{len(wrong)} of {len(rewarded)} rewarded samples do not contain the {what} answer "
        f"({percent(len(wrong) / len(rewarded))}{', and the share grows' if grows else ''}): wrong answers are "
        "rewarded; read ten of these samples and find out why the verifier rewarded them",
        seen_as("reward.mean", onset, (min(s.step for s in compared), onset)),
        confidence=Confidence.HIGH if grows or _blind(compared, min_rewarded) > share_critical else Confidence.MEDIUM,
        numbers={"share": len(wrong) / len(rewarded), "grows": grows},
    )


def _several_paid(samples: Samples, max_grades: int, tolerance: float) -> list[GradedSample]:
    """Numbers as answers to prompts with numbers, graded without a reference: the most frequent paid one counts as right."""
    numbers: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)  # prompt -> step, answer, part
    for s in first(samples):
        part, answer = paid_for_right(s), answer_and_reference(s)[0]
        if part is not None and NUMBER.fullmatch(answer) and any(map(str.isdigit, s.prompt)):
            numbers[s.prompt].append((s.step or 0.0, float(answer), part))
    parts = {part for given in numbers.values() for _, _, part in given}
    if len(parts) > max_grades or max(parts, default=0.0) <= 0:
        return []
    graded = []
    for given in numbers.values():
        paid = [number for _, number, part in given if part > max(parts) / 2]
        right = Counter(paid).most_common(1)[0][0] if paid else math.nan
        for step, number, part in given:
            near = math.isclose(number, right, rel_tol=tolerance)
            graded.append(GradedSample(step, part > max(parts) / 2, near, near, str(number), ""))
    return graded


def _blind(compared: Sequence[GradedSample], least: int) -> float:
    """Lower bound of the share of wrong answers that are rewarded, where right ones are written as the reference is.

    1 where one wrong answer is rewarded for several references.
    """
    wrong = [s for s in compared if not s.present]
    paid_for = defaultdict(set)  # the references that one and the same answer is paid for
    for s in wrong:
        if s.rewarded:
            paid_for[s.answer].add(s.reference)
    if max(map(len, paid_for.values()), default=0) >= least // 2:
        return 1.0
    right = sum(s.right and s.rewarded for s in compared)
    return wilson(sum(s.rewarded for s in wrong), len(wrong))[0] if min(right, len(wrong)) >= least else 0.0


def _wrong(rewarded: Sequence[GradedSample]) -> Interval:
    """The 95 % interval of the share of wrong answers."""
    return wilson(sum(not s.present for s in rewarded), len(rewarded)) if rewarded else (0.0, 0.0)
