"""Samples whose answer can be compared with a reference answer: what the reward says, and what the reference says."""

import re
from collections import Counter
from collections.abc import Iterable

from firstbreak.model import Sample, Samples
from firstbreak.values import dataclass

REFERENCES = (
    "answer", "ground_truth", "gt", "gts", "solution", "target", "reference", "label", "expected", "gold", "gold_answer",
    "correct_answer", "expected_answer", "reference_answer",
)  # fmt: skip
MAX_SAMPLES = 20_000  #: that are compared, so that a large dump takes no longer than a small one
MAX_REFERENCE_LENGTH = 80  #: letters: a longer text is no final answer
MARKED = re.compile(r"\\boxed\{([^{}]*)\}|<answer>(.*?)</answer>|####\s*(\S[^\n]*)", re.DOTALL)
SAID = re.compile(r"\banswer is:? *(-?\$?\d[\d,]*(?:\.\d+)?)(?![\w/^%*+:]|[-.,]\d| *[*/+=^-] *\d)", re.IGNORECASE)

FORM = re.compile(r"boxed|</?answer>|####")  #: the reward asks for a mark, which a right answer may lack
CORRECT = re.compile(r"(?:.*_)?(?:accuracy|correct|correctness|exact_match)(?:_reward(?:_func)?)?", re.IGNORECASE)


@dataclass(frozen=True)
class GradedSample:
    """One sample whose final answer can be compared with a reference."""

    step: float
    rewarded: bool  #: the reward, or its part for a right answer, lies in the upper half of its range
    right: bool  #: the final answer equals the reference, letter by letter
    present: bool  #: the reference stands somewhere in the completion
    answer: str  #: the final answer
    reference: str
    cut: bool = False  #: a stop string that closes the answer's mark is missing at the end


def graded_samples(samples: Samples, max_grades: int, *, by_part: bool = False) -> list[GradedSample]:
    """The samples that can be compared, in their order; `by_part`: graded by the part of the reward for a right answer.

    None where no reference is dumped, where every reward is the same and above 0, or where rewards have more than
    `max_grades` values: then they are scores, and do not say right or wrong.
    """
    known = [(s, reference) for s in first(samples) if s.reward is not None and (reference := _reference(s))]
    parts = [part for s, _ in known if by_part and (part := paid_for_right(s)) is not None]
    rewards = parts if len(parts) == len(known) else [s.reward for s, _ in known if s.reward is not None]
    if not rewards or min(rewards) == max(rewards) > 0 or len(set(rewards)) > max_grades:
        return []
    middle = (min(rewards) + max(rewards)) / 2
    free = not any(FORM.search(str(s.prompt)) or FORM.search(str(s.completion)) for s, _ in known)
    return [
        GradedSample(
            step=s.step if s.step is not None else 0.0,
            rewarded=reward > middle,
            right=(answer := _plain(said[-1] if (said := free and SAID.findall(text)) else _final(text))) == reference,
            present=reference in _plain(text),
            answer=answer,
            reference=reference,
            cut=bool(cut),
        )
        for (s, reference), reward in zip(known, rewards, strict=True)
        for cut in (stripped(s),)
        for text in (str(s.completion) + cut,)
    ]


def paid_for_right(sample: Sample) -> float | None:
    """The part of the reward that is called accuracy, correctness or exact match, if one is dumped."""
    return next((value for name, value in sample.rewards.items() if CORRECT.fullmatch(name)), None)


def stripped(sample: Sample) -> str:
    """The stop string that ended a completion and that the engine has cut off, else an empty text."""
    stop = sample.meta.get("stop_reason")
    return stop if isinstance(stop, str) and FORM.search(stop) and not str(sample.completion).endswith(stop) else ""


def answer_and_reference(sample: Sample) -> tuple[str, str]:
    """The final answer of a sample and its reference, both without marks and case; an empty reference where there is none."""
    return _plain(_final(str(sample.completion))), _reference(sample)


Pairs = Counter[str]  #: of letters that stand side by side


def pairs(text: str) -> Pairs:
    """Pairs of letters of a text, its edges included."""
    edged = f"^{text}$"
    return Counter(edged[i : i + 2] for i in range(len(edged) - 1))


def likeness(a: Pairs, b: Pairs) -> float:
    """Dice's coefficient of two texts' pairs of letters: 0 where they share none, 1 where they are the same."""
    return 2 * (a & b).total() / (a.total() + b.total())


def first(samples: Samples) -> Iterable[Sample]:
    """The samples that are compared."""
    for i, sample in enumerate(samples):
        if i >= MAX_SAMPLES:
            return
        yield sample


def _reference(sample: Sample) -> str:
    """The reference answer of a sample where it is one short string, else an empty one."""
    value = next((sample.meta[key] for key in REFERENCES if sample.meta.get(key) not in (None, "")), None)
    text = _plain(_final(str(value))) if isinstance(value, str | int | float) else ""
    return text if len(text) <= MAX_REFERENCE_LENGTH else ""


def _final(text: str) -> str:
    """The marked final answer of a text (boxed, tagged, after ####), else the text."""
    marked = MARKED.findall(text)
    return next((part for part in marked[-1] if part), "") if marked else text


def _plain(text: str) -> str:
    return " ".join(text.replace(",", "").replace("$", "").split()).strip().rstrip(".").lower()
