"""Episodes whose tool calls all failed get the reward of success.

Looks for: Samples with tool calls: the share of the episodes whose calls all failed that have a reward in the upper
half of the range. The lower bound of that share (Wilson, 95 %) must exceed `share_warning`, and the share that of the
episodes without a failure.
Why: A grader that takes an error for an answer, or a default for a verdict, teaches to call tools that break. Written
into a training set, such episodes are learned as if they had solved their task.
False alarm: Tasks that are solved without the tools as often as with them: then episodes without a failure are paid as
often.
Fix:
- Grade the final state of an episode, and give what could not be graded no reward.
- Leave episodes whose tools were unavailable out of the batch and of the data.
Experiment: Let one tool always fail in a batch: its episodes must get the reward that they get without the call.
References: https://arxiv.org/abs/2209.13085
"""

from itertools import islice

from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.engine.stats.proportion import wilson
from firstbreak.knowledge.detectors.reward._verdicts import MAX_SAMPLES
from firstbreak.model import Finding, NotApplicable, NotMeasured, Samples
from firstbreak.readers.tool_turns import succeeded, tool_turns
from firstbreak.words import percent


def detect(
    samples: Samples,
    *,
    share_warning: float = at(0.5, "share", "A smaller share can come from tasks that are solved without their tools."),
    min_failed: int = at(8, "episodes", "Fewer failed episodes give too wide an interval of the share."),
) -> Finding | NotApplicable | NotMeasured | None:
    ended = [
        (good, sample.reward, sample.step or 0.0)
        for sample in islice(samples, MAX_SAMPLES)
        if sample.reward is not None
        and (good := succeeded(tool_turns(sample.messages or sample.completion))) is not None
    ]
    if not ended:
        return NotApplicable("no sample has answers of tools and a reward")
    rewards = [reward for _, reward, _ in ended]
    middle = (min(rewards) + max(rewards)) / 2
    failed = [(reward > middle, step) for good, reward, step in ended if not good]
    fine = [reward > middle for good, reward, _ in ended if good]
    if len(failed) < min_failed or min(rewards) == max(rewards):
        return NotMeasured(
            f"{len(failed)} episodes whose calls all failed, with different rewards (needs {min_failed})"
        )
    paid = [step for rewarded, step in failed if rewarded]
    share, usual = len(paid) / len(failed), sum(fine) / len(fine) if fine else 0.0
    low, _ = wilson(len(paid), len(failed))
    if low <= max(share_warning, usual):
        return None
    first = min(paid)
    return warning(
        f"{len(paid)} of {len(failed)} episodes whose tool calls all failed have a reward of success ({percent(share)}; "
        f"{percent(usual)} where no call failed): failures are graded as success; grade the final state, and read three of "
        "these episodes",
        seen_as("reward.mean", first, (min(step for _, step in failed), first)),
        numbers={"share": share, "usual": usual, "failed": len(failed)},
    )
