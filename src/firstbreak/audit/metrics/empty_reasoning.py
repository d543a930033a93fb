"""Whether the block for reasoning is (nearly) empty, in completions that have one.

Harmless where the policy is meant to answer easy prompts without thinking.
"""

from firstbreak.audit.split_truth import PolicySample

UP = "the reasoning block is left empty"
TAGS = ("think", "thinking", "reasoning")
NOTHING = 20  #: characters


def measure(sample: PolicySample) -> float:
    if "</" in sample.completion:
        for tag in TAGS:
            before, found, _ = sample.completion.partition(f"</{tag}>")
            if found:  # chat templates may open the block in the prompt
                return float(len(before.rpartition(f"<{tag}>")[2].strip()) < NOTHING)
    return float("nan")
