"""Whether the format was rewarded and the answer was not: right format, wrong answer.

Reads the reward components by their names. Harmless while the value falls: a policy learns the format first, answers later.
"""

from functools import lru_cache

from firstbreak.audit.split_truth import PolicySample
from firstbreak.engine.inputs import ANSWER, FORM

UP = "the format is right and the answer is wrong more often"


def measure(sample: PolicySample) -> float:
    form, answer = roles(tuple(sample.rewards))
    if not form or not answer:
        return float("nan")
    right_form = any(sample.rewards[name] > 0 for name in form)
    return float(right_form and not any(sample.rewards[name] > 0 for name in answer))


@lru_cache(maxsize=256)
def roles(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The components that reward the format, and those that check the answer."""
    form = tuple(name for name in names if FORM.search(name))
    return form, tuple(name for name in names if ANSWER.search(name) and name not in form)
