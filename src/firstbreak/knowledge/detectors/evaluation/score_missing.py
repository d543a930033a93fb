"""No score is recorded, so the log does not show whether the policy improves.

Looks for: Any evaluation, success rate or task reward with at least one number.
Why: In reinforcement learning a loss cannot replace a score: the loss measures the update, not the policy. The loss of
GRPO is near 0 in good runs, and the loss of a critic can grow while the return is at its maximum. Without a score,
nobody sees that a run went wrong until the end.
False alarm: The score was logged under a name that firstbreak does not know (names that look like a score are listed),
or to another file or service. This is why nothing is reported as found: evaluation is not measured. In supervised
training the loss is the score.
Fix:
- Log the mean task reward of every batch, before shaping.
- Log an evaluation on held-out prompts or in a separate environment, every {eval_interval} steps.
Experiment: Evaluate the first and the last checkpoint once, with the same protocol. The difference is the gain of the
run.
References: https://arxiv.org/abs/1709.06560 https://huggingface.co/docs/trl/grpo_trainer
"""

import re

from firstbreak.model import NotMeasured, Run, Series
from firstbreak.patterns import pattern

LIKE_A_SCORE = pattern(r"reward|return|score|accura|success|win_?rate|pass@|solve|\brew\b", re.IGNORECASE)
SHOWN = 3  #: names in the message


def detect(
    run: Run, score: Series | None = None, eval_score: Series | None = None, supervised: bool = False
) -> NotMeasured | None:
    if score is not None and eval_score is None and not supervised:
        return NotMeasured("no evaluation was recorded, and a training reward does not prove ability")
    if score is not None:
        return None
    if not run.series and not run.unknown:
        return NotMeasured("no curve was read")
    similar = [name for name in run.unknown if LIKE_A_SCORE.search(name)][:SHOWN]
    hint = f" (names that may be one: {', '.join(similar)})" if similar else ""
    return NotMeasured(
        f"none of the {len(run.series) + len(run.unknown)} recorded curves is a score{hint}: the log does not show whether the "
        "policy improves; log the mean task reward, or evaluate the first and the last checkpoint"
    )
