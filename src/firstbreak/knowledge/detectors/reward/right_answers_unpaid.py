"""Right answers are not rewarded.

Looks for: Samples that carry a reference answer: the share of those whose final answer equals the reference, letter by
letter, and whose reward (its part called accuracy, correctness or exact match, where one is dumped) lies in the lower
half of the range. The final answer is what is boxed, tagged or follows ####, with the stop string that the engine has
cut off (`stop_reason`); where neither prompts nor completions have such a mark, it is the number after "the answer is".
The lower bound of that share (Wilson, 95 %) must exceed `share_warning`.
Why: A verifier that misses right answers punishes what it should teach. If nearly no right answer is rewarded, the
reference belongs to another prompt or the sign is wrong. If some are, the verifier makes random errors or its parser is
too strict.
False alarm: A reward that also asks for form, length or a process, which a right answer can lack. A dump whose
reference column is not what the reward compares with.
Fix:
- Print ten right answers that were not rewarded, with what the verifier extracted from them.
- Where samples lack the stop string, let the engine keep it (`include_stop_str_in_output` in vLLM), or accept answers without it.
- Check that answers and prompts are joined by id, not by position, after shuffling and filtering.
Experiment: Score the reference answers themselves: each must get the full reward.
References: https://arxiv.org/abs/2505.22203
"""

from firstbreak.engine.checks import at, enough, graded, seen_as
from firstbreak.engine.stats.proportion import wilson
from firstbreak.knowledge.detectors.reward._verdicts import graded_samples
from firstbreak.model import Finding, NotMeasured, Samples, Severity
from firstbreak.words import percent


def detect(
    samples: Samples,
    *,
    share_warning: float = at(0.1, "share", "A smaller share can come from answers that lack the required form."),
    share_critical: float = at(0.5, "share", "From here on, most right answers are punished."),
    min_right: int = at(8, "samples", "Fewer right answers give too wide an interval of the share."),
    max_grades: int = at(8, "values", "A reward of more values is a score, and does not say right or wrong."),
) -> Finding | NotMeasured | None:
    compared = graded_samples(samples, max_grades, by_part=True)
    if not compared:
        return NotMeasured("no samples with a reward and a reference answer that could be compared")
    right = enough([s for s in compared if s.right], min_right, "right answers among the samples")
    missed = [s for s in right if not s.rewarded]
    low, _ = wilson(len(missed), len(right))
    if low <= share_warning:
        return None
    first = min(s.step for s in missed)
    cut = sum(s.cut for s in missed) > len(missed) / 2
    what = "the engine cuts the stop string off, so that the answer's mark is not closed; keep it in the output"
    return graded(
        Severity.CRITICAL if low > share_critical else Severity.WARNING,
        f"{len(missed)} of {len(right)} answers that equal the reference were not rewarded "
        f"({percent(len(missed) / len(right))}): "
        + (what if cut else "the verifier misses right answers; score the references, each must get the full reward"),
        seen_as("reward.mean", first, (min(s.step for s in compared), first)),
        numbers={"share": len(missed) / len(right), "right": len(right)},
    )
