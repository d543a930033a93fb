"""reward-turns-round: the same reward with the other sign, from one step to the next."""

import numpy as np

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Confidence, Link, Run, Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "reward-turns-round"
CALM = 0.05 + 0.01 * np.abs(noise(100, seed=1))


def judged(before: np.ndarray, after: np.ndarray, kl: np.ndarray = CALM) -> Run:
    return run({"reward.mean": np.concatenate([before, after]), "kl.ref": kl}, algorithm="grpo")


def test_a_sign_that_turns_is_found_at_its_step() -> None:
    made = judged(0.6 + noise(60, 0.1), -0.5 + noise(40, 0.1, seed=2))
    finding = found(ID, made)
    assert (finding.severity, finding.confidence, finding.onset) == (Severity.CRITICAL, Confidence.HIGH, 61.0)
    said = diagnose(made)
    assert said.first_break is not None
    assert (said.first_break.link, said.causes[0].id) == (Link.REWARD, "reward-sign-wrong")


def test_costs_that_become_rewards_turn_as_well() -> None:
    assert found(ID, judged(-200 + noise(50, 10), 190 + noise(50, 10)))


def test_a_fall_below_zero_is_another_thing() -> None:
    assert silent(ID, judged(0.6 + noise(60, 0.1), -0.1 + noise(40, 0.02))), "of another size"
    assert silent(ID, judged(np.linspace(0.6, -0.6, 60), np.full(40, -0.6))), "little by little"
    assert silent(ID, judged(noise(60, 0.5), noise(40, 0.5))), "around zero all along"
    assert silent(ID, run({"reward.mean": learning(100, -1, 1)}))


def test_after_a_jump_of_the_policy_anything_may_follow() -> None:
    burst = np.r_[CALM[:58], 3.0, 4.0, CALM[60:]]
    assert silent(ID, judged(0.6 + noise(60, 0.1), -0.5 + noise(40, 0.1, seed=2), burst))


def test_a_first_success_after_nothing_but_failures_is_no_reversal() -> None:
    """An episode that runs into its limit always costs the same."""
    rewards = np.concatenate([np.full(20, -1.5), [1.0, 1.0, 0.95, 0.55, 0.9], 0.9 + noise(60, 0.1)])
    assert silent(ID, run({"reward.mean": rewards}))
