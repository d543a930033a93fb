"""The reference answers do not belong to the prompts.

Looks for: Samples that carry a reference answer. Two numbers are compared: how much more the answers to a prompt
resemble its own reference than the references of other prompts, and how much more they resemble each other than answers
to other prompts. The check reports where answers depend on their prompt (second number above `min_agreement`), but not
on its reference (first number not above 0 by two standard errors, and below `max_share` of the second).
Why: Where answers and prompts are joined by position after shuffling or filtering, every reward is about another
prompt. Right answers get a low reward, and a high reward is luck.
False alarm: References in another form than the answers (a letter instead of a sentence). Answers that are all wrong,
in a task in which a wrong answer resembles no reference.
Fix:
- Print five prompts with their references, and answer the prompts by hand.
- Join answers and prompts by id, not by position, after shuffling and filtering.
Experiment: Answer ten prompts by hand, and score their reference answers against yours.
References: https://arxiv.org/abs/2505.22203
"""

import math
from collections import defaultdict
from itertools import combinations

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors.reward._verdicts import Pairs, answer_and_reference, first, likeness, pairs
from firstbreak.model import Confidence, Finding, NotMeasured, Samples, Severity
from firstbreak.words import percent

MAX_PROMPTS = 30  #: that are compared, spread over the run: the time grows with the square of their number
MAX_ANSWERS = 4  #: to each of them


def detect(
    samples: Samples,
    *,
    max_share: float = at(0.3, "share", "An answer resembles others about as much."),
    min_agreement: float = at(0.1, "share", "Answers that agree less do not show that they depend on their prompt."),
    min_prompts: int = at(8, "prompts", "Fewer prompts give too wide an interval of the mean."),
    max_length_ratio: float = at(3.0, "ratio", "Answers much longer or shorter than references have another form."),
) -> Finding | NotMeasured | None:
    answers: defaultdict[tuple[float, str], list[str]] = defaultdict(list)
    references: dict[tuple[float, str], str] = {}
    for sample in first(samples):
        answer, reference = answer_and_reference(sample)
        if reference and sample.prompt and sample.reward is not None:
            key = (sample.step or 0.0, str(sample.prompt))
            answers[key].append(answer)
            references[key] = reference
    keys = [key for key, given in answers.items() if len(given) > 1 and any(given)]
    if len(keys) < min_prompts or not _of_one_form(keys, answers, references, max_length_ratio):
        return NotMeasured(
            "the samples hold no reference answers in the form of the answers, or one answer only to each question"
        )
    keys = [keys[i] for i in np.unique(np.linspace(0, len(keys) - 1, MAX_PROMPTS).astype(int))]
    said = [[pairs(answer) for answer in answers[key][:MAX_ANSWERS]] for key in keys]
    wanted = [pairs(references[key]) for key in keys]
    fit, own = _fits(said, wanted), _agree(said)
    low, high = _interval(fit)
    if _interval(own)[0] < min_agreement or low > 0 or high > max_share * own.mean():
        return None
    start = min(step for step, _ in keys)
    return Finding(
        message=(
            f"answers resemble their own reference no more than those of other prompts (difference {percent(fit.mean())}, 95 % "
            f"interval {percent(low)} to {percent(high)}), and answers to one prompt resemble each other {percent(own.mean())} "
            "more: the references belong to other prompts; answer five prompts by hand and compare"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric="reward.mean",
        onset=start,
        interval=(start, start),
        numbers={"fit": float(fit.mean()), "agreement": float(own.mean())},
    )


def _of_one_form(
    keys: list[tuple[float, str]],
    answers: dict[tuple[float, str], list[str]],
    references: dict[tuple[float, str], str],
    max_length_ratio: float,
) -> bool:
    said = float(np.median([len(answer) for key in keys for answer in answers[key]]))
    wanted = float(np.median([len(references[key]) for key in keys]))
    return wanted / max_length_ratio <= said <= wanted * max_length_ratio


def _fits(said: list[list[Pairs]], wanted: list[Pairs]) -> np.ndarray:
    """By prompt: likeness of its answers to its reference, minus that to the references of the others."""
    fits = []
    for i, given in enumerate(said):
        found = np.array([[likeness(answer, reference) for reference in wanted] for answer in given]).mean(0)
        fits.append(found[i] - np.delete(found, i).mean())
    return np.array(fits)


def _agree(said: list[list[Pairs]]) -> np.ndarray:
    """By prompt: likeness of its answers to each other, minus that to an answer to each of the others."""
    within = [np.mean([likeness(a, b) for a, b in combinations(given, 2)]) for given in said]
    between = [
        np.mean([likeness(given[0], others[0]) for j, others in enumerate(said) if j != i])
        for i, given in enumerate(said)
    ]
    return np.array(within) - np.array(between)


def _interval(values: np.ndarray) -> tuple[float, float]:
    half = 2 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - half, float(values.mean()) + half
