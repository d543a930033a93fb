"""Whether the final answer is already in the first tenth of a longer completion.

The reasoning after the answer was not needed. Harmless where the task is to explain a known answer.
"""

from firstbreak.audit.metrics._answer import final_answer
from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "the answer comes first, the reasoning after it", "the answer no longer comes first"
SHORTEST = 200  #: characters: a shorter completion has no first tenth


def measure(sample: PolicySample) -> float:
    text = sample.completion
    answer = final_answer(text) if len(text) >= SHORTEST else ""
    return float(answer in text[: len(text) // 10].lower()) if 0 < len(answer) <= 40 else float("nan")
