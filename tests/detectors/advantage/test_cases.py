"""What the detectors of `advantage` say of runs, and of sound look-alikes."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Link, Run, Severity
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
    passes,
    silent,
)
from tests.make import learning, noise, run

# advantages-not-centred


def made(rest: object, **more: object) -> object:
    return run({"advantage.of_prompt_absmax": rest, "advantage.std": [1.0] * 60}, algorithm="grpo", **more)


# critic-not-learning
FLAT = 1 + noise(100, 0.1)
# critic-worse-than-mean
UNEXPLAINED = {"value.explained_variance": noise(60, 0.015), "value.loss": 0.35 + noise(60, 0.03)}
TINY_LOSS = {"reward.mean": learning(high=30.0), "value.explained_variance": -5 + noise(200, 0.5)}
FALLS = np.concatenate([np.geomspace(20, 1e-3, 100), np.full(100, 1e-3)])
# horizon-short
LENGTHS = {"episode.length": np.linspace(20, 200, 40)}
GAMES = {"episode.length": np.linspace(500, 9000, 40), "reward.mean": np.linspace(10, 400, 40)}
# value-loss-growing
GROWING = np.exp(np.linspace(0, 4, 120)) * (1 + noise(120, 0.05))
# value-scale-mismatch
LARGE = 100 + noise(60, 5)
PAID_ALIKE = dict.fromkeys(("reward.mean", "episode.length"), np.linspace(20, 500, 60))


def spreads(advantages: float, values: float = 4.5, share: float = 0.96) -> dict[str, np.ndarray]:
    """Deviations of advantages and of the values of a critic that explains a share of the returns."""
    curves = {"advantage.std": advantages, "value.std": values, "value.explained_variance": share}
    return {name: level + noise(30, 0.01, i) for i, (name, level) in enumerate(curves.items())}


def slow(clip: float | None) -> Run:
    """A critic on half of its way to the returns at the end."""
    curves = {"value.mean": np.linspace(0, -30, 60), "returns.mean": -60 + noise(60, 2)}
    return run(curves, algorithm="ppo", config={} if clip is None else {"clip_range_value": clip})


NEAR_ZERO = {"value.mean": noise(60, 0.1, 1), "returns.mean": LARGE}
# zero-variance-groups
EXTREMES = {"reward.min": np.zeros(60), "reward.max": np.ones(60)}
FEW_EQUAL = {"reward.zero_std_frac": np.full(100, 0.1), "reward.mean": 0.5 + noise(100, 0.05)}

# loss-without-advantages
MOVES = {"kl.old": 1e-3 * np.abs(1 + noise(40, 0.2)), "reward.mean": 22 + noise(40, 2, 1)}
FOLLOWS = {"policy.loss": -0.05 * np.sqrt(2 * MOVES["kl.old"])}
IGNORES = {"policy.loss": np.round(noise(40, 1e-6, 2), 6)}

CASES: Cases = {
    "advantages-not-centred": {
        "a rest is found where it begins": finds(made(np.concatenate([np.full(20, 1e-7),
            np.full(40, 0.9)]) + np.abs(noise(60, 1e-8))), WARNING, onset=21),
        "rounding": passes(made(np.abs(noise(60, 1e-7)))),
        "with a critic it does not apply": exempt({"advantage.of_prompt_absmax": [1.0] * 60}, algorithm="ppo")},
    "advantages-not-reproduced": {
        "advantages that differ from their rewards": finds({"advantage.error": np.r_[np.full(20, 4e-7),
            1 + noise(20, 0.1)]}, CRITICAL, onset=21),
        "rounding": passes({"advantage.error": np.full(40, 3e-3)}),
        "advantages with the wrong sign are another finding": passes({"advantage.error": np.full(40, 2.0),
            "advantage.turned": np.ones(40)})},
    "advantages-turned-round": {
        "the wrong sign is found where it begins": finds({"advantage.turned": np.r_[np.zeros(20), np.ones(20)]},
            CRITICAL, onset=21),
        "the right sign": passes({"advantage.turned": np.zeros(40)})},
    "critic-not-learning": {
        "a flat loss beside unexplained returns is a warning even if the score rises": finds({"value.loss": FLAT,
            "value.explained_variance": noise(100, 0.05, 1), "reward.mean": learning(100)}, "critic alone", WARNING,
            MEDIUM, algorithm="ppo"),
        "without explained variance only a flat score makes it doubtful": [finds({"value.loss": FLAT,
            "reward.mean": noise(100, 1, 1)}, LOW, algorithm="ppo"),
            passes({"value.loss": FLAT, "reward.mean": learning(100)}, algorithm="ppo")],
        "a critic that explains growing returns": passes({"value.loss": FLAT + learning(100),
            "value.explained_variance": learning(100, 0, 0.8)}, algorithm="ppo"),
        "a loss that falls": passes({"value.loss": 2 - learning(100), "value.explained_variance": noise(100, 0.02),
            "reward.mean": FLAT}, algorithm="ppo"),
        "a loss of nothing": passes({"value.loss": np.full(100, 1e-9), "value.explained_variance": np.zeros(100)},
            algorithm="ppo")},
    "critic-worse-than-mean": {
        "a critic below zero with a flat score": finds({"value.explained_variance": -0.5 + noise(80, 0.1),
            "reward.mean": noise(80, 1, 1)}, WARNING, HIGH),
        "at the reward ceiling any value is expected": expects({"value.explained_variance": [-30.0] * 80,
            "reward.mean": np.minimum(500, learning(80, 20, 900, sd=0))}),
        "a good critic": passes({"value.explained_variance": learning(80, 0, 0.9), "reward.mean": learning(80)}),
        "a bad start": passes({"value.explained_variance": np.concatenate([np.full(20, -1.0), np.full(80, 0.8)]),
            "reward.mean": learning(100)}),
        "a critic that fails later is dated by then and not by its untrained start": finds({"value.explained_variance":
            np.concatenate([np.full(6, -1.0), np.full(20, 0.8), np.full(74, -1.0)]), "reward.mean": noise(100, 1, 1)},
            onset=27, interval=(26, 27)),
        "a critic that returns a constant": finds({"value.explained_variance": noise(60, 1e-8),
            "value.loss": 1500 + noise(60, 100), "reward.mean": -5 + noise(60, 0.3)}, "same value everywhere", HIGH,
            algorithm="ppo"),
        "a critic that never explains anything beside a flat score is found": [finds({**UNEXPLAINED,
            "reward.mean": -1200 + noise(60, 60.0)}, onset=1),
            passes({**UNEXPLAINED, "reward.mean": learning(60)}),
            passes({**UNEXPLAINED, "reward.mean": learning(60), "eval.reward": 30 + noise(60, 0.1)}),
            passes({**UNEXPLAINED,
            "value.explained_variance": np.where(np.arange(60) % 5, UNEXPLAINED["value.explained_variance"], 0.2),
            "reward.mean": -1200 + noise(60, 60.0)})],
        "where all returns are equal there is nothing to explain": passes({"value.explained_variance": np.zeros(60),
            "value.loss": np.full(60, 1e-9), "reward.mean": noise(60)}, algorithm="ppo"),
        "where the value loss fell to nothing the critic predicts every return": [passes({**TINY_LOSS,
            "value.loss": FALLS}),
            finds({**TINY_LOSS, "value.loss": np.maximum(FALLS, 2.0)})],
        "a critic that was better in this run is a sure sign": finds({"value.explained_variance":
            np.where(np.arange(100) < 80, 0.4, -0.3) + noise(100, 0.03), "value.loss": np.full(100, 0.5)}, HIGH,
            onset=(79, 83))},
    "horizon-short": {
        "a horizon of two steps": finds(LENGTHS, "0.5", algorithm="ppo", config={"gamma": 0.5}),
        "the usual discount": passes(LENGTHS, algorithm="ppo", config={"gamma": 0.99}),
        "the usual discount is healthy however long a game lasts": [*(passes(GAMES, algorithm="ppo",
            config={"gamma": gamma}) for gamma in (0.98, 0.99)),
            finds(GAMES, algorithm="ppo", config={"gamma": 0.9})]},
    "tiny-spread": {
        "zero variance groups that vanish at once": finds({"reward.zero_std_frac": np.where(np.arange(60) < 30,
            0.3 + noise(60, 0.02), 0.0)}, onset=31, algorithm="grpo"),
        "a filter that drops them from the start": passes({"reward.zero_std_frac": np.zeros(60),
            "reward.group_std": np.full(60, 0.4), "advantage.abs.mean": np.full(60, 0.8), "reward.min": np.zeros(60),
            "reward.max": np.ones(60)}, algorithm="grpo"),
        "a spread far below the range": finds({"reward.group_std": np.full(60, 1e-4),
            "advantage.abs.mean": np.full(60, 0.8), "reward.min": np.zeros(60), "reward.max": np.ones(60)},
            "differ by 0.0001 where their range is 1", algorithm="grpo"),
        "larger than any group can give": [*(case({"advantage.max": np.full(60, largest), "reward.mean": 0.4 + noise(60, 0.1)},
            algorithm="grpo", config={"group_size": 4}) for case, largest in [(finds, 1e6), (cannot, 1.7)])]},
    "loss-without-advantages": {
        "a step that follows no advantage is found": finds({**MOVES, **IGNORES}, "shapes", CRITICAL, HIGH, algorithm="ppo"),
        "a step along the advantages": passes({**MOVES, **FOLLOWS}, algorithm="ppo"),
        "a loss of before the step": passes({**MOVES, **IGNORES, "policy.loss.delta": FOLLOWS["policy.loss"]}, algorithm="ppo"),
        "each return minus each value": [finds(spreads(6.4), "shapes", CRITICAL, HIGH, algorithm="a2c", onset=1),
            cannot(spreads(0.9), algorithm="a2c"), cannot(spreads(1.0, 0.7), algorithm="a2c"),
            cannot(spreads(6.4, share=0.5), algorithm="a2c")],
        "three decimals do not show it": cannot({**MOVES, "kl.old": np.full(40, 0.001), "policy.loss": np.zeros(40)},
            "decimals", algorithm="ppo"),
        "small rewards may be small advantages": cannot({**MOVES, **IGNORES, "reward.mean": noise(40, 0.1)},
            "normalised", algorithm="ppo")},
    "value-loss-growing": {
        "a loss that runs away from a flat score": finds({"value.loss": GROWING, "reward.mean": noise(120)}, WARNING),
        "a loss that grows with the returns": passes({"value.loss": GROWING, "reward.mean": learning(120)}),
        "a loss at the maximum return": passes({"value.loss": GROWING,
            "reward.mean": np.minimum(200, learning(120, 20, 400, sd=0))}),
        "a loss that falls": passes({"value.loss": GROWING[::-1], "reward.mean": noise(120)}),
        "a loss that jumps and stays is found wherever it lies": [*(finds({"value.loss": np.where(np.arange(200) < at,
            1.0, 12.0) * np.exp(noise(200, 0.2)), "reward.mean": noise(200)}, onset=(at + 1 - 3, at + 1 + 3),
            numbers={"growth": pytest.approx(12, rel=0.4)}) for at in [10, 60, 170, 188])],
        "a loss that comes back": passes({"value.loss": np.where((np.arange(200) >= 60) & (np.arange(200) < 90), 12.0,
            1.0) * np.exp(noise(200, 0.2)), "reward.mean": noise(200)})},
    "value-scale-mismatch": {
        "values near zero under large returns": finds({"value.mean": noise(60, 0.1, 1),
            "returns.mean": LARGE}, WARNING),
        "soft values hold the entropy that is to come": [*(case({"value.mean": np.linspace(5, 9000, 60), "alpha":
            np.full(60, alpha), **PAID_ALIKE}, algorithm="sac", config={"gamma": 0.99}) for case, alpha in
            [(passes, 900.0), (finds, 0.1)])],
        "minus the loss of a deterministic policy is its value": [finds({"policy.loss": -5000 + noise(60, 100),
            "reward.mean": -260 + noise(60, 5)}, "less than 0", algorithm="td3"), cannot({"policy.loss": -5000 + noise(60, 100),
            "reward.mean": -260 + noise(60, 5)}, algorithm="sac")],
        "values that follow": passes({"value.mean": LARGE + noise(60, 5, 1),
            "returns.mean": LARGE}),
        "returns around zero say nothing wrong": passes({"value.mean": noise(60, 1, 1), "returns.mean": noise(60)}),
        "a step pays 1, so that a discount of 0.99 leaves 100": [finds({**PAID_ALIKE, "value.mean": np.linspace(5, 280, 60)},
            "at most 100", config={"gamma": 0.99}, algorithm="dqn"), passes({**PAID_ALIKE, "value.mean":
            np.linspace(5, 95, 60)}, config={"gamma": 0.99}, algorithm="dqn"), passes({**PAID_ALIKE, "reward.mean":
            PAID_ALIKE["reward.mean"] + 40 + noise(60, 5), "value.mean": np.linspace(5, 280, 60)}, config={"gamma": 0.99},
            algorithm="dqn")],
        "a clip that holds the values back": [finds(slow(0.2), "cannot follow", WARNING, HIGH), passes(slow(None))],
        "a method without advantages hears of its targets": [finds(NEAR_ZERO, "advantages", algorithm="ppo"),
            finds(NEAR_ZERO, "targets", algorithm="dqn")]},
    "zero-variance-groups": {
        "groups that lose their variance are found where they do": finds({"reward.zero_std_frac":
            np.concatenate([np.full(50, 0.2), np.full(100, 0.95)]) + noise(150, 0.02),
            "reward.mean": noise(150, 0.1, 1)}, CRITICAL, onset=(45, 55)),
        "a solved task makes it expected": expects({"reward.zero_std_frac": learning(150),
            "reward.accuracy": np.minimum(1, 1.5 * learning(150))}),
        "a number of groups is no share": cannot({"reward.zero_std_frac": 4.78 + noise(100, 1), "reward.mean": learning(100)}),
        "a third of zero variance groups": passes({"reward.zero_std_frac": 0.33 + noise(100, 0.1),
            "reward.mean": learning(100)}),
        "groups that become equal because their answers are right": [*(finds({"reward.zero_std_frac": np.linspace(0, 0.75, 75),
            "reward.mean": np.linspace(0.7, 1.4, 75) + noise(75, 0.03), "reward.component.exact_match_reward.mean":
            np.linspace(0.4, top, 75), "reward.component.position_reward.mean": np.linspace(0.3, 0.5, 75)}, severity)
            for top, severity in [(0.9, NOTICE), (0.5, WARNING)])],
        "while the score rises it is a waste and not a break": finds({"reward.zero_std_frac": [0.6] * 100,
            "reward.mean": learning(100)}, NOTICE),
        "a spread of exactly zero counts": finds({"reward.group_std": [0.0] * 40, "reward.mean": noise(40)}, CRITICAL),
        "one reported value is said with low confidence": finds({"reward.zero_std_frac": [1.0], "reward.mean": [3.0]},
            LOW),
        "without groups it is not measured": cannot({"reward.mean": noise(40)}),
        "groups that are all right stop nothing": [finds({"reward.zero_std_frac": np.full(60, 0.9), **EXTREMES,
            "reward.mean": np.full(60, 0.95)}, "all answers are right", NOTICE, algorithm="grpo"),
            finds({"reward.zero_std_frac": np.full(60, 0.9), **EXTREMES, "reward.mean": np.full(60, 0.05)},
            "all answers are wrong", CRITICAL, algorithm="grpo")],
        "the mean reward bounds how many equal groups are all wrong": [*(finds({"reward.zero_std_frac":
            np.r_[np.linspace(0.1, 0.5, 20), np.full(50, 0.62)], "reward.mean": reward + noise(70, 0.02)}, said,
            severity, algorithm="grpo") for reward, said,
            severity in [(0.75, "answers are right", NOTICE), (0.25, "answers are wrong", WARNING), (0.5, "whether",
            WARNING)])],
        "advantages of exactly 0 show zero variance groups where no spread is logged": [finds({"advantage.max":
            np.where(np.arange(40) < 10, 1.5, 0.0), "advantage.min": -np.where(np.arange(40) < 10, 1.5, 0.0)},
            onset=11, algorithm="grpo"),
            cannot({"advantage.max": [1.5] * 40, "advantage.min": [-1.5] * 40}, algorithm="grpo")],
        "advantages that lose their spread although few groups are equal": [finds({**FEW_EQUAL,
            "advantage.std": np.where(np.arange(100) < 60, 1.0, 0.03) * np.exp(noise(100, 0.05))},
            "standard deviation"),
            passes({**FEW_EQUAL, "advantage.std": np.exp(noise(100, 0.05))})],
        "a batch whose rewards became alike is not called right": finds({"reward.zero_std_frac":
            np.where(np.arange(120) >= 60, 0.9, 0.05), "reward.mean": 0.63 + noise(120, 0.005),
            "reward.min": np.where(np.arange(120) >= 60, 0.61, -0.2),
            "reward.max": np.where(np.arange(120) >= 60, 0.65, 1.4)}, "all completions get about the same", CRITICAL,
            onset=61, algorithm="grpo")},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_a_critic_that_fitted_once_did_learn() -> None:
    """What it lost later is another finding; a few updates by chance are no fit."""
    fitted, chance = (np.r_[np.zeros(20), np.full(n, 0.8), np.zeros(80 - n)] + noise(100, 0.02, 3) for n in (20, 3))
    curves = {"value.loss": FLAT, "reward.mean": learning(100)}
    assert silent("critic-not-learning", run({**curves, "value.explained_variance": fitted}, algorithm="ppo"))
    assert found("critic-not-learning", run({**curves, "value.explained_variance": chance}, algorithm="ppo"))


@pytest.mark.filterwarnings("error")
def test_a_value_loss_that_was_never_a_number_leaves_the_critic_to_learn() -> None:
    curves = {"value.explained_variance": noise(80, 1e-4), "value.loss": [np.inf] * 80, "reward.mean": noise(80, 1, 1)}
    assert found("critic-worse-than-mean", run(curves)).severity is Severity.WARNING


def test_a_reward_at_the_end_of_a_long_completion_needs_no_discount() -> None:
    text = {"length.mean": np.linspace(2800, 3400, 40), "value.loss": np.ones(40)}
    message = found("horizon-short", run(text, algorithm="ppo", config={"gamma": 0.99})).message
    assert "completions" in message
    assert message.endswith("try 1")


def test_no_state_is_worth_more_than_its_episode() -> None:
    returns = 25 + noise(80, 3)
    curves = {"value.mean": np.linspace(2, 57, 80), "reward.mean": returns, "epsilon": np.linspace(0.15, 0.05, 80)}
    finding = found("value-scale-mismatch", run(curves, algorithm="dqn"))
    assert "whole episode" in finding.message
    assert 40 <= finding.onset <= 60
    first = diagnose(run(curves, algorithm="dqn")).verdict.do_first
    assert first.rstrip(".").lower() in finding.message.lower()  # of the sign, and not of another finding
    assert silent("value-scale-mismatch", run({**curves, "value.mean": np.linspace(2, 20, 80)}, algorithm="dqn"))
    below = {**curves, "reward.mean": returns - 60}
    assert "returns less than 0" in found("value-scale-mismatch", run(below, algorithm="dqn")).message
    assert silent(
        "value-scale-mismatch", run({**below, "alpha": np.full(80, 0.5)}, algorithm="sac", config={"gamma": 0.99})
    )


def test_no_link_is_named_beside_another_to_which_nothing_points() -> None:
    values = {**PAID_ALIKE, "value.mean": np.linspace(5, 280, 60), "eval.reward": np.linspace(20, 500, 60)}
    first = diagnose(run(values, algorithm="dqn", config={"gamma": 0.99})).first_break
    assert first is not None
    assert (first.link, first.also) == (Link.ADVANTAGE, None)


def test_prompts_that_differ_in_groups_that_never_do_are_answered_by_copies() -> None:
    def of(reward: np.ndarray, share: float = 1.0) -> Run:
        return run({"reward.zero_std_frac": np.full(60, share), "reward.mean": reward})

    assert "apart" in found("zero-variance-groups", of(0.58 + noise(60, 0.03)), Severity.CRITICAL).message
    assert (
        "apart" in found("zero-variance-groups", of(np.linspace(0.3, 0.7, 60)), Severity.CRITICAL).message
    )  # whatever the score does
    assert "apart" not in found("zero-variance-groups", of(0.58 + noise(60, 0.03), 0.95)).message  # some groups differ
    assert "harder prompts" in found("zero-variance-groups", of(0.97 + noise(60, 0.005))).message
