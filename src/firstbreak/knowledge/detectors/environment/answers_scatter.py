"""Answers to training prompts agree less than the evaluation allows.

Looks for: How often two answers to one prompt are equal in the first third of the run, beside the evaluation's first
score a. A policy that is right with probability p gives two equal answers with probability p^2 or more. So over prompts
of one kind, at least a^2 of the pairs are equal. The upper bound of the measured share (`standard_errors` standard
errors over prompts) has to lie below `max_ratio` of a^2.
Why: The policy does not know the training prompts as well as the evaluation's prompts: another template, a missing
start token or role, another tokenisation. Prompts that are only hard look different: their answers agree, and are
wrong.
False alarm: Training problems that are another task than the evaluation's, on purpose. Long answers of which no final
answer is marked.
Fix:
- Print one training prompt and one evaluation prompt as token ids, side by side.
- Build both with the same function.
Experiment: Put ten of the evaluation's problems through one training rollout, and compare the answers.
References: https://github.com/huggingface/trl/issues/5224
"""

import math
from collections import Counter, defaultdict

import numpy as np

from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.knowledge.detectors._start import starts
from firstbreak.knowledge.detectors.reward._verdicts import answer_and_reference, first
from firstbreak.model import Config, Finding, NotMeasured, Samples, Series
from firstbreak.words import number, percent


def detect(
    samples: Samples,
    config: Config,
    eval_score: Series | None = None,
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_component_mean: dict[str, Series] | None = None,
    *,
    max_ratio: float = at(0.5, "ratio", "of what the evaluation implies: training may be harder"),
    standard_errors: float = at(2.0, "standard errors", "a difference that chance hardly makes"),
    max_answer_length: float = at(40, "characters", "longer answers differ in their wording"),
    min_prompts: int = at(4, "prompts", "with fewer prompts the standard error is not known"),
    first_share: float = at(0.04, "share", "so early the policy has hardly learned anything"),
    first_points: int = at(3, "points", "with fewer rewards the mean is mostly noise"),
) -> Finding | NotMeasured | None:
    if (asked := config.number("eval_temperature")) is None or asked != config.number("temperature"):
        return NotMeasured("the evaluation is not known to sample at the training's temperature")
    found = starts((eval_score, eval_reward), reward_mean, reward_component_mean, first_share, first_points)
    if isinstance(found, NotMeasured):
        return found
    _, score, curve = found
    answers: defaultdict[tuple[float, str], list[str]] = defaultdict(list)
    for sample in first(samples):
        if sample.prompt and sample.step is not None:
            answers[sample.step, str(sample.prompt)].append(answer_and_reference(sample)[0])
    steps = [step for step, _ in answers]
    until = min(steps, default=0.0) + (max(steps, default=0.0) - min(steps, default=0.0)) / 3
    shares = np.array([_equal(given) for (step, _), given in answers.items() if step <= until and len(given) > 1])
    typical = float(np.median([len(answer) for given in answers.values() for answer in given] or [0]))
    if len(shares) < min_prompts or not 0 < typical <= max_answer_length or not 0 < score <= 1:
        return NotMeasured("no samples with several short answers to each of some prompts")
    high = float(shares.mean() + standard_errors * shares.std(ddof=1) / math.sqrt(len(shares)))
    if high >= max_ratio * score**2:
        return None
    start = float(curve.steps[0])
    return warning(
        f"two answers to one training prompt are equal in {percent(float(shares.mean()))} of the pairs; a policy that "
        f"scores {number(score)} in the evaluation gives equal answers in at least {percent(score**2)}: training and "
        "evaluation build their prompts in different ways; print one prompt of each as token ids",
        seen_as(curve.name, start),
        numbers={"agree": float(shares.mean()), "least": score**2},
    )


def _equal(answers: list[str]) -> float:
    """The share of pairs that are equal."""
    n = len(answers)
    return sum(count * (count - 1) for count in Counter(answers).values()) / (n * (n - 1))
