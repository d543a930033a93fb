"""What the detectors of `exploration` say of runs, and of sound look-alikes."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import (
    CRITICAL,
    HIGH,
    LOW,
    MEDIUM,
    NOTICE,
    WARNING,
    Cases,
    cannot,
    each_of,
    exempt,
    expects,
    finds,
    found,
    look,
    passes,
    silent,
)
from tests.make import learning, noise, run, series

# bonus-above-reward


def played(alpha: Any) -> Run:
    """A pendulum: about 6 of cost in each of 200 steps."""
    return run(
        {"alpha": alpha, "reward.mean": -1200 + noise(20, 50), "episode.length": np.full(20, 200.0)}, algorithm="sac"
    )


def held(alpha: np.ndarray, learns: float = 0.0) -> Run:
    """Five actions of which none is preferred; an episode costs 1.2."""
    paid = -1.2 + learns * learning(60) + noise(60, 0.05)
    curves = {
        "alpha": alpha,
        "reward.mean": paid,
        "policy.entropy": np.full(60, 1.58),
        "episode.length": np.full(60, 60.0),
    }
    return run(curves, algorithm="sac")


CANCELLING = {"alpha": np.full(20, 0.5), "reward.mean": 1 + noise(20, 0.2), "episode.length": np.full(20, 100.0)}
# entropy-at-maximum
RANDOM = math.log(2)
# entropy-collapse
FALLEN = np.concatenate([np.full(30, 1.4), np.linspace(1.4, 0.001, 20), np.full(100, 0.001)]) + np.abs(noise(150, 1e-4))
CERTAIN = {"policy.entropy": FALLEN, "reward.mean": noise(150)}
FALLS_SLOWLY = {
    "policy.entropy": np.geomspace(1.07, 0.12, 150),
    "reward.mean": np.r_[np.linspace(-500, -83, 40), np.full(110, -83.0)] + noise(150, 4),
}
# entropy-runaway
GROWING = np.linspace(1, 4, 120) + noise(120, 0.05)
FALLING = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)
WIDENING = np.exp(np.linspace(0, 3.5, 120)) + noise(120, 0.02)
STOPPED = {
    "policy.entropy": np.linspace(1.42, 4.8, 120) + noise(120, 0.02),
    "reward.mean": learning(120),
    "episode.length": np.full(120, 200.0),
}
X = np.arange(120.0)
# outputs-alike
FEW_DISTINCT = {"diversity.distinct": [0.03] * 100, "reward.mean": noise(100)}
# random-actions-remain
FALLS = np.maximum(0.05, 1 - np.arange(100) / 30)
SET_BACK = np.where(np.arange(100) < 60, FALLS, 0.9)
# repetition-growing
REPEATING = np.clip(0.02 + 0.4 * np.maximum(0, np.arange(120) - 60) / 60 + noise(120, 0.01), 0, 1)

CASES: Cases = {
    "bonus-above-reward": {
        "a fixed bonus above the reward": finds(played(np.full(20, 20.0)), "at random", HIGH),
        "a small fixed bonus": passes(played(np.full(20, 0.2))),
        "a temperature that is tuned is not the users": passes(played(np.linspace(20, 10, 20))),
        "a bonus that is tuned and stays above the reward": [finds(held(np.linspace(0.6, 0.9, 60)), "lower the target", HIGH),
            passes(held(np.linspace(0.9, 0.2, 60))), passes(held(np.linspace(0.6, 0.9, 60), learns=5.0))],
        "without returns nothing is said": cannot({"alpha": np.full(20, 20.0)}, algorithm="sac"),
        "rewards that cancel in the return are known where they are recorded": [finds(CANCELLING, algorithm="sac"),
            passes(CANCELLING | {"env.reward_size": np.ones(20)}, algorithm="sac")]},
    "entropy-at-maximum": {
        "a policy that learns and stays random": finds({"policy.entropy": 0.99 * RANDOM + noise(60, 0.002),
            "reward.mean": learning(60, 20, 400)}, "entropy bonus", WARNING, algorithm="ppo"),
        "entropy that falls with learning": passes({"policy.entropy": np.linspace(RANDOM, 0.5, 60),
            "reward.mean": learning(60, 20, 400)}, algorithm="ppo"),
        "a flat score is another finding": passes({"policy.entropy": np.full(60, RANDOM), "reward.mean": noise(60)},
            algorithm="ppo"),
        "continuous actions have no largest entropy": exempt({"policy.entropy": np.full(60, RANDOM),
            "reward.mean": learning(60), "action.std": np.ones(60)}, algorithm="ppo"),
        "an entropy that begins elsewhere is not judged": cannot({"policy.entropy": np.full(60, 0.9),
            "reward.mean": learning(60)}, algorithm="ppo"),
        "an entropy that exceeds its start has another maximum": cannot({"policy.entropy": np.linspace(RANDOM,
            1.1 * RANDOM, 60), "reward.mean": learning(60, 20, 400)}, algorithm="ppo")},
    "entropy-collapse": {
        "a collapse with a flat score is critical": finds({"policy.entropy": FALLEN, "reward.mean": noise(150)},
            CRITICAL, onset=(30, 52)),
        "dead from the beginning is critical": finds({"policy.entropy": [0.0] * 150, "reward.mean": [-21.0] * 150},
            CRITICAL),
        "a solved task makes it expected": expects({"policy.entropy": FALLEN,
            "reward.accuracy": np.minimum(1, 1.5 * learning(150))}),
        "a fall while the score rises is learning": passes({"policy.entropy": np.linspace(1.4, 0.1, 150),
            "reward.mean": np.linspace(0, 1, 150) + noise(150, 0.05)}),
        "differential entropy may be negative": passes({"policy.entropy": np.linspace(3, -2, 150),
            "reward.mean": noise(150)}),
        "zeros beside groups that differ were not computed": cannot({"policy.entropy": [0.0] * 150,
            "reward.mean": noise(150), "reward.group_std": [0.5] * 150}),
        "a method without a bonus in its loss is advised to change its coefficient": [finds(CERTAIN,
            "entropy bonus", algorithm="ppo"),
            finds(CERTAIN, "entropy coefficient", algorithm="sac")],
        "a collapse is found at whatever step": [*(finds({"policy.entropy": np.where(np.arange(150) < at, 1.4,
            0.02) * np.exp(noise(150, 0.1)), "reward.mean": noise(150)}, CRITICAL, onset=(at + 1 - 5, at + 1 + 5),
            algorithm="ppo") for at in [4, 10, 100, 140])],
        "a collapse where the score stopped halfway is a warning": finds({"policy.entropy":
            1.4 * np.exp(-np.linspace(0, 4, 150)),
            "reward.mean": np.minimum(np.linspace(0, 1.5, 150), 0.5) + noise(150, 0.03)}, "stopped rising", WARNING),
        "a policy that learns with little entropy left is hardly accused": [*(finds({"policy.entropy":
            np.maximum(1.4 * np.exp(-np.linspace(0, 60, 150)), 0.004) * np.exp(noise(150, 0.1)),
            "reward.mean": 30 * (1 - np.exp(-rate * np.linspace(0, 1, 150))) + noise(150, 0.3)}, confidence,
            algorithm="ppo") for rate, confidence in [(3, LOW), (60, MEDIUM)])],
        "a score above what counts as solved in a known environment needs no entropy": [expects(FALLS_SLOWLY,
            "above -100, which counts as solved", algorithm="ppo", config={"env_id": "Acrobot-v1"}),
            finds(FALLS_SLOWLY, algorithm="ppo")]},
    "entropy-runaway": {
        "entropy that grows while the score falls is critical": finds({"policy.entropy": GROWING,
            "reward.mean": FALLING}, CRITICAL),
        "a late starter that begins to explore": passes({"policy.entropy": GROWING, "reward.mean": learning(120)}),
        "the spread of the actions counts too": finds({"action.std": GROWING, "reward.mean": FALLING},
            metric="action.std"),
        "without either it is not measured": cannot({"reward.mean": FALLING}),
        "actions that become noise are found without a score": [*(finds(curves, "bounds",
            WARNING) for curves in ({"action.std": WIDENING}, {"action.std": WIDENING, "reward.mean": noise(120)}))],
        "a bonus that widens gaussian actions is found where the score has stopped to rise": [finds(STOPPED,
            "widens the actions beyond their bounds", WARNING, HIGH, algorithm="ppo", config={"entropy_coef": 0.5}),
            passes(STOPPED, algorithm="ppo", config={"entropy_coef": 0.0}),
            passes({**STOPPED, "reward.mean": X}, algorithm="ppo", config={"entropy_coef": 0.5}),
            passes({**STOPPED, "policy.entropy": (np.linspace(1.42, 4.8, 120) + noise(120, 0.02)) / 4},
            algorithm="ppo", config={"entropy_coef": 0.5})],
        "noise that widens while the score rises": passes({"action.std": WIDENING, "reward.mean": learning(120)}),
        "a discrete policy without a score may open up": passes({"policy.entropy": WIDENING})},
    "entropy-stays-high": {
        "entropy and score that both stand still": finds({"policy.entropy": 1.38 + noise(100, 0.005),
            "reward.mean": noise(100, 1, 1)}, "99.8 %", WARNING),
        "a score that rises": passes({"policy.entropy": [1.38] * 100, "reward.mean": learning(100)}),
        "an entropy that falls is another matter": passes({"policy.entropy": np.linspace(1.38, 0.7, 100),
            "reward.mean": noise(100)}),
        "the first entropy of a log that begins in mid run is no start": cannot({
            "policy.entropy": (1.38 + noise(100, 0.005), 5000 + np.arange(100)),
            "reward.mean": (noise(100, 1, 1), 5000 + np.arange(100))})},
    "no-random-actions": {
        "an epsilon of 0 is a warning unless something was learned": [*(finds({"epsilon": [0.0] * 100,
            "reward.mean": (learning(100, 20, 180) if learns else np.full(100, 20.0)) + noise(100, 3)},
            "the share of random actions is 0 at most", severity, algorithm="dqn") for learns,
            severity in [(False, WARNING), (True, NOTICE)])],
        "one that begins above 0": passes({"epsilon": np.maximum(0, 1 - np.arange(100) / 20)}, algorithm="dqn")},
    "outputs-alike": {
        "few distinct outputs": finds({"diversity.distinct": np.concatenate([np.full(40, 0.9),
            np.full(60, 0.03)]) + np.abs(noise(100, 0.005)), "reward.mean": noise(100)}, WARNING, onset=(38, 44)),
        "many distinct outputs": passes({"diversity.distinct": [0.9] * 100, "reward.mean": noise(100)}),
        "without either it is not measured": cannot({"reward.mean": noise(50)}),
        "the advice is for what acts": [finds(FEW_DISTINCT, "completions", algorithm="grpo"),
            finds(FEW_DISTINCT, "episodes", algorithm="ppo")]},
    "random-actions-remain": {
        "an epsilon that stays high is named": finds({"epsilon": np.maximum(0.7, FALLS)}, "still random at the end",
            algorithm="dqn"),
        "schedules that fall are silent": [*(passes({"epsilon": epsilon}, algorithm="dqn") for epsilon in [FALLS,
            np.linspace(1, 0.6, 100),  # the log ends before the schedule
            np.where(np.arange(100) == 50, 0.9, FALLS),  # one value
            np.where(np.arange(100) < 60, FALLS, 0.2)])]},  # a little more
    "repetition-growing": {
        "a share that grows is a warning even while the reward rises": finds({"text.repetition_frac": REPEATING,
            "reward.mean": learning(120)}, WARNING, HIGH, onset=(50, 80), algorithm="grpo"),
        "with a lost score it is sure": finds({"text.repetition_frac": REPEATING,
            "reward.mean": np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03, 1)}, HIGH,
            algorithm="grpo"),
        "a steady or small share is healthy": [*(passes({"text.repetition_frac": level * (1 + noise(120, 0.1)),
            "reward.mean": learning(120)}, algorithm="grpo") for level in (0.3, 0.01)),
            passes({"text.repetition_frac": np.linspace(0.001, 0.03, 120), "reward.mean": learning(120)},
            algorithm="grpo")]},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_low_entropy_from_the_start_matters_where_the_policy_fails() -> None:
    low = 0.02 * np.exp(noise(150, 0.1))
    failing, succeeding = ({"policy.entropy": low, "reward.accuracy": s + noise(150, 0.02)} for s in (0.1, 0.8))
    assert found("entropy-collapse", run(failing, algorithm="grpo")).severity is Severity.CRITICAL
    assert silent("entropy-collapse", run(succeeding, algorithm="grpo"))


@pytest.mark.parametrize(("left", "spoken"), [(0.03, True), (0.12, False)])
def test_a_policy_that_succeeds_half_the_time_needs_some_entropy(left: float, spoken: bool) -> None:
    entropy = np.maximum(np.exp(-np.linspace(0, 8, 150)), left) * np.exp(noise(150, 0.1))
    score = 0.6 - 0.3 * np.exp(-np.linspace(0, 12, 150)) + noise(150, 0.02)
    outcome = look("entropy-collapse", run({"policy.entropy": entropy, "reward.accuracy": score}, algorithm="grpo"))
    assert (outcome.finding is not None) is spoken


def test_text_whose_entropy_multiplies_while_the_evaluation_gains_nothing() -> None:
    late = np.clip((np.arange(120) - 50) / 30, 0, 1)
    entropy = (0.5 + 1.5 * late) * (1 + noise(120, 0.05, 1))
    curves = {"policy.entropy": entropy, "reward.mean": np.arange(120) / 120, "length.mean": np.full(120, 300.0)}
    steps = np.arange(1, 121, 6.0)
    flat, rising = (series("eval.accuracy", v + noise(20, 0.01, 2), steps) for v in (np.full(20, 0.5), steps / 200))
    finding = found(
        "entropy-runaway", replace(r := run(curves, algorithm="grpo"), series={**r.series, "eval.accuracy": flat})
    )
    assert "read some completions" in finding.message
    assert silent("entropy-runaway", replace(r, series={**r.series, "eval.accuracy": rising}))


def test_ten_noisy_evaluations_hide_no_training_reward_that_rises() -> None:
    evaluated = series("eval.reward", 0.3 + noise(10, 0.1), np.arange(0, 100, 10))
    for reward, says in ((learning(100), False), (noise(100, 1, 1), True)):
        made = run({"policy.entropy": 1.38 + noise(100, 0.005), "reward.mean": reward})
        shown = Run(path="a-run", series={**made.series, "eval.reward": evaluated})
        assert (look("entropy-stays-high", shown).status is Status.FOUND) == says


def test_a_score_at_its_maximum_is_not_undecided() -> None:
    for level, says in ((0.99, False), (0.3, True)):
        made = {"policy.entropy": 1.38 + noise(100, 0.005), "eval.accuracy": level + noise(100, 0.003)}
        assert (look("entropy-stays-high", run(made, algorithm="grpo")).status is Status.FOUND) == says


def test_an_epsilon_that_is_set_back_is_named_with_its_step_and_what_it_cost() -> None:
    fallen = np.where(np.arange(100) < 60, learning(100, 20, 180), 22) + noise(100, 4)
    finding = found("random-actions-remain", run({"epsilon": SET_BACK, "reward.mean": fallen}, algorithm="dqn"))
    assert finding.onset == 61
    assert "rose from 0.05 to 0.9 at step 61" in finding.message
    assert "and the training reward fell" in finding.message
    assert "fell" not in found("random-actions-remain", run({"epsilon": SET_BACK}, algorithm="dqn")).message
