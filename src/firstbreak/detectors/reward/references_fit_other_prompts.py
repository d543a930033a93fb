"""The reference answers have nothing to do with what is answered.

## What it looks for
Samples that carry a reference answer: how much the answers to a prompt resemble its reference more than they resemble the
references of other prompts, beside how much they resemble each other more than answers to other prompts. Answers that
plainly depend on their prompt, and no more on its reference than on any other (two standard errors, and less than
`share` of the former), are answers to another question.

## Why it matters
Where answers and prompts are joined by position after shuffling or filtering, every verdict is about another prompt.
Right answers are punished, and what is paid is chance.

## When it is a false alarm
References in another form than answers (a letter for a sentence); answers that are all wrong in a task in which wrong ones
resemble nothing.

## Fix
- Print five prompts with their references, and answer them by hand.
- Join answers and prompts by id, and not by position, after shuffling and filtering.

## Smallest experiment
Score the reference answers of ten prompts that you have answered by hand.

## References
https://arxiv.org/abs/2505.22203
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations

import numpy as np

from firstbreak.detectors.reward._verdicts import Pairs, answer_and_reference, first, likeness, pairs
from firstbreak.model import Confidence, Finding, NotMeasured, Samples, Severity
from firstbreak.words import percent

PROMPTS = 30  #: that are compared, spread over the run
EACH = 4  #: completions of each
LIKE = 3.0  #: times that answers may be longer or shorter than references, to be of one form


def detect(
    samples: Samples, *, share: float = 0.3, depends: float = 0.1, min_prompts: int = 8
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
    if len(keys) < min_prompts or not _of_one_form(keys, answers, references):
        return NotMeasured("no samples with several answers and a reference of the same form to each of some prompts")
    keys = [keys[i] for i in np.unique(np.linspace(0, len(keys) - 1, PROMPTS).astype(int))]
    said = [[pairs(answer) for answer in answers[key][:EACH]] for key in keys]
    wanted = [pairs(references[key]) for key in keys]
    fit, own = _fits(said, wanted), _agree(said)
    low, high = _interval(fit)
    if _interval(own)[0] < depends or low > 0 or high > share * own.mean():
        return None
    start = min(step for step, _ in keys)
    return Finding(
        message=(
            f"answers resemble the references of other prompts as much as their own (difference {percent(fit.mean())}, "
            f"95 % {percent(low)} to {percent(high)}; answers to one prompt resemble each other {percent(own.mean())} more): "
            "the references belong elsewhere; answer five prompts by hand and compare"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric="reward.mean",
        onset=start,
        interval=(start, start),
        facts={"fit": float(fit.mean()), "agreement": float(own.mean())},
    )


def _of_one_form(
    keys: list[tuple[float, str]], answers: dict[tuple[float, str], list[str]], references: dict[tuple[float, str], str]
) -> bool:
    said = float(np.median([len(answer) for key in keys for answer in answers[key]]))
    wanted = float(np.median([len(references[key]) for key in keys]))
    return wanted / LIKE <= said <= wanted * LIKE


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
