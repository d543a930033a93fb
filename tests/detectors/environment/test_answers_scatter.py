"""answers-scatter: training prompts that the policy does not know."""

import random

import numpy as np

from firstbreak.model import Confidence, Run, Status
from tests.detectors.look import found, look, silent
from tests.detectors.samples import dumped, numbered
from tests.make import run

ID = "answers-scatter"


def trained(right: float, paid: bool = False, **config: float) -> Run:
    """A policy that scores 0.6 in the evaluation, and says the same to a training prompt with probability `right`."""
    rng = random.Random(0)
    samples = dumped(
        (float(i), prompt, answer if rng.random() < right else str(rng.random()), answer, float(paid))
        for i, (prompt, answer) in enumerate(numbered(30))
        for _ in range(8)
    )
    curves = {"reward.mean": np.full(30, 0.02), "eval.reward": np.full(30, 0.6)}
    return run(curves, algorithm="grpo", samples=samples, config={"temperature": 1.0, "eval_temperature": 1.0} | config)


def test_answers_that_scatter_are_found() -> None:
    finding = found(ID, trained(right=0.15), confidence=Confidence.HIGH)
    assert "token ids" in finding.message


def test_hard_problems_have_answers_that_agree() -> None:
    assert silent(ID, trained(right=0.7))


def test_a_greedy_evaluation_bounds_nothing() -> None:
    assert look(ID, trained(right=0.15, eval_temperature=0.0)).status is Status.NOT_MEASURED
