"""What the detectors of `environment` say of runs, and of sound look-alikes."""

import math
import random

import numpy as np
import pytest

from firstbreak.model import Config, Run, Severity, Status
from firstbreak.values import replace
from tests.detectors.look import (
    CRITICAL,
    HIGH,
    LOW,
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
from tests.detectors.samples import dumped, numbered
from tests.make import learning, noise, put, run, series

# action-effect-moved
CLEAR = {"env.action_shown_at_once": np.full(40, 0.999)}
TURNED = np.r_[np.full(20, -0.195), np.full(20, 0.195)]
# answers-scatter


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


# episode-length-degenerate
FLAT = 5 + noise(100, 0.3)
# episodes-never-end
AGE = np.linspace(128, 2048, 16)
# far-from-known-score
STEPS = np.linspace(5_000, 100_000, 20)


def scored(score: float, env: str = "CartPole-v1", steps: np.ndarray = STEPS) -> object:
    curve = series("eval.reward", np.full(len(steps), score), steps)
    plain = run({}, algorithm="ppo", config={"env_id": env})
    plain.series["eval.reward"] = curve  # type: ignore[index]
    return plain


# prompt-truncation


def pairs_with(right: float, loss: float) -> dict[str, np.ndarray]:
    """A reward model in training: the share of pairs that it orders right, and the loss that it reaches."""
    margin, losses = np.linspace(0.1, 2.2, 30), np.linspace(0.66, loss, 30)
    return {"rm.accuracy": right + noise(30, 0.02), "rm.margin": margin, "loss.total": losses}


# preference-labels-swapped
RISE = 1 - np.exp(-np.arange(80) / 20)
RIGHT = 0.5 + 0.4 * RISE + noise(80, 0.05)
WRONG = 0.5 - 0.35 * RISE + noise(80, 0.05)
ALIKE = {
    "pref.logp.chosen": -2 + RISE,
    "pref.reward.chosen": 0.1 * (-2 + RISE),
    "pref.reward.margin": -0.05 - 0.01 * RISE,
}
# preference-loss-start


def dpo(first: float, *, loss_type: object = "sigmoid", algorithm: str = "dpo", **config: object) -> Run:
    loss = first * np.exp(-np.arange(50) / 30) + noise(50, 0.01)
    loss[0] = first
    return run({"loss.total": loss}, algorithm=algorithm, config={"loss_type": loss_type, **config})


# prompt-truncation
def longest(tokens: float, cut: str = "right") -> Run:
    made = run({"length.prompt.max": np.full(40, tokens), "length.prompt.min": np.full(40, 7.0)})
    return replace(made, config=Config(raw={"max_length": 13, "truncation_strategy": cut}))


MADE = run(
    {"length.prompt.clipped_ratio": [1.0] * 20, "length.prompt.min": [128] * 20, "length.prompt.max": [128] * 20}
)
# score-below-start
EVALUATED = np.where(np.arange(20) < 6, 290.0, 10.0) + noise(20, 3)
# score-drops-at-once
STEADY = {"kl.old": 0.01 + noise(200, 0.001), "policy.clip_fraction": 0.05 + noise(200, 0.005)}


def returns(fall_at: int) -> np.ndarray:
    return np.where(np.arange(200) < fall_at, 300.0, 40.0) + noise(200, 15.0)


# training-below-evaluation
EVALUATION = 0.4 + 0.002 * np.arange(60)

CASES: Cases = {
    "action-effect-moved": {
        "a force that pushes the other way": finds(CLEAR | {"env.action_effect": TURNED}, CRITICAL, onset=21),
        "a steady effect": passes(CLEAR | {"env.action_effect": -0.2 + noise(40, 0.005)}),
        "an effect that depends on the state says nothing": cannot(CLEAR | {"env.action_effect": noise(40)}),
        "a policy that comes to places where actions explain less is not accused": cannot({"env.action_shown_at_once":
            np.r_[np.full(12, 0.8), np.full(28, 0.14)], "env.action_effect": TURNED})},
    "action-range-unused": {
        "a policy in a range of a thousand is named": finds({"env.action_use": [0.001] * 12}, "0.1 %"),
        "a policy that holds still later": passes({"env.action_use": np.geomspace(0.5, 0.001, 12)})},
    "actions-without-effect": {
        "a low share from the start is a guess": finds({"env.action_shown": 0.2 + noise(40, 0.03)}, LOW),
        "actions that explain what they move": passes({"env.action_shown": 0.9 + noise(40, 0.04)}),
        "a policy that comes to places where actions show less": passes({"env.action_shown": np.r_[0.98 + noise(20,
            0.01), 0.2 + noise(20, 0.03)]}),
        "an environment in which no action shows is not accused": passes({"env.action_shown": np.full(40, 0.01)}),
        "actions that never reach the environment are named": finds({"env.action_shown": [0.006] * 20,
            "env.action_shown_any": [0.011] * 20}, "does not execute the actions"),
        "an effect that depends on the state is an effect": passes({"env.action_shown": [0.006] * 20,
            "env.action_shown_any": [0.7] * 20})},
    "answers-scatter": {
        "answers that scatter": finds(trained(right=0.15), "token ids", HIGH),
        "hard problems have answers that agree": passes(trained(right=0.7)),
        "a greedy evaluation bounds nothing": cannot(trained(right=0.15, eval_temperature=0.0))},
    "episode-length-degenerate": {
        "episodes that shrink to one step stop the run": finds({"episode.length": np.where(np.arange(100) < 40, 80.0,
            1.0) + np.abs(noise(100, 0.1)), "reward.mean": np.where(np.arange(100) < 40, 80.0, 1.0) + noise(100, 2.0)},
            CRITICAL, onset=41),
        "episodes that always end at once are a warning": finds({"episode.length": [1.0] * 100, "reward.mean": FLAT},
            WARNING),
        "a task of one step is expected where the score rises": expects({"episode.length": [1.0] * 100,
            "reward.mean": learning(100)}),
        "a task of fixed length is expected where the score rises": expects({"episode.length": [1000.0] * 100,
            "reward.mean": learning(100, -300, 9000)}, "1000"),
        "always at the cap without progress is a notice": finds({"episode.length": [200.0] * 100, "reward.mean": FLAT},
            NOTICE),
        "always at the cap and never rewarded is a warning": finds({"episode.length": [200.0] * 100,
            "reward.mean": [0.0] * 100}, WARNING),
        "episodes of varying length": passes({"episode.length": 100 + noise(100, 20), "reward.mean": FLAT}),
        "reaching the goal faster and faster": passes({"episode.length": 100 * np.exp(-np.arange(100) / 30) + 10,
            "reward.mean": learning(100)}),
        "text has no episodes": exempt({"length.mean": [100.0] * 100, "reward.mean": FLAT}, algorithm="grpo"),
        "a task of one step whose score hardly moves is no expectation": finds({"episode.length": [1.0] * 100,
            "reward.mean": learning(100, -49.33, -49.30)}, WARNING)},
    "episodes-never-end": {
        "a run in which no episode ends is named": finds({"env.episodes_ended": [0.0] * 16, "env.episode_age": AGE},
            "2048 steps old"),
        "episodes that end and a run that is young are healthy": [passes({"env.episodes_ended":
            np.where(np.arange(16) == 9, 1.0, 0.0), "env.episode_age": AGE}),
            passes({"env.episodes_ended": [0.0] * 16, "env.episode_age": AGE / 2})],
        "monitor files without an episode say so": [finds({"progress.env_steps": 2048.0 * np.arange(1, 18)},
            "8704 steps old", algorithm="ppo", files=tuple(f"{i}.monitor.csv" for i in range(4))),
            cannot({"progress.env_steps": 2048.0 * np.arange(1, 18), "episode.length": np.full(90, 150.0)},
            algorithm="ppo", files=tuple(f"{i}.monitor.csv" for i in range(4)))]},
    "far-from-known-score": {
        "a pole that falls as under random actions": finds(scored(30.0), "475"),
        "a pole that stands": passes(scored(480.0)),
        "a short run and an unknown environment are not judged": [cannot(scored(30.0,
            steps=np.linspace(100, 5_000, 20))),
            cannot(scored(30.0, env="MyOwn-v0"))],
        "one game under all its names": [*(finds(scored(-20.5, env=name, steps=np.linspace(1e6, 2e7, 20)),
            "-20") for name in ["PongNoFrameskip-v4", "ALE/Pong-v5", "PongDeterministic-v4"]),
            *(passes(scored(5.0, env=name, steps=np.linspace(1e6, 2e7, 20)))
            for name in ["PongNoFrameskip-v4", "ALE/Pong-v5", "PongDeterministic-v4"])],
        "a robot of another simulator is another task": [finds(scored(10.0, env="Hopper-v4",
            steps=np.linspace(1e5, 3e6, 20))),
            cannot(scored(10.0, env="HopperBulletEnv-v0", steps=np.linspace(1e5, 3e6, 20)))]},
    "observations-constant": {
        "observations that never change are critical": finds({"env.observation_constant": [1.0] * 12}, CRITICAL),
        "a few constant components": passes({"env.observation_constant": [0.75] * 12})},
    "observations-off": {
        "components that stop moving are found where they stop": finds({"env.observation_constant":
            [0.0] * 20 + [0.5] * 20}, "50 %", CRITICAL, onset=21),
        "what is constant by nature": passes({"env.observation_constant": [0.25] * 40}),
        "a policy that rests for a while": passes({"env.observation_constant": np.where(np.arange(40) % 20 < 5, 0.5,
            0.0)[::-1]}),
        "another scale": finds({"env.start_spread": np.r_[0.03 + noise(20, 0.002), 0.0003 + noise(20, 2e-5)]},
            "spread", onset=21),
        "the noise of few episodes": passes({"env.start_spread": 0.03 + noise(60, 0.006)}),
        "actions that show some steps later": finds({"env.action_shown": 0.95 + noise(20, 0.01),
            "env.action_shown_at_once": 0.01 + noise(20, 0.005)}, "late", onset=1),
        "actions that show at once": passes({"env.action_shown": 0.96 + noise(20, 0.01),
            "env.action_shown_at_once": 0.95 + noise(20, 0.01)})},
    "observations-unscaled": {
        "what is huge or far from 0 is named": [*(finds({"env.observation_size": [size] * 12,
            "env.observation_offset": [offset] * 12}, said) for size, offset,
            said in [(5000.0, 9000.0, "away from 0"), (30_000.0, 0.0, "has the size 30000")])],
        "usual sizes and those of simulators are healthy": [*(passes({"env.observation_size": [size] * 12,
            "env.observation_offset": [20.0] * 12}) for size in (1.0, 300.0))]},
    "preference-labels-swapped": {
        "a loss with its sign reversed stops the run": finds({"pref.reward.accuracy": WRONG,
            "pref.reward.margin": -2 * RISE}, CRITICAL, metric="pref.reward.accuracy", algorithm="dpo"),
        "swapped training labels show on held out pairs": finds({"pref.reward.accuracy": RIGHT,
            "pref.reward.margin": 2 * RISE, "eval.pref.reward.accuracy": WRONG, "eval.pref.reward.margin": -2 * RISE},
            metric="eval.pref.reward.accuracy", algorithm="dpo"),
        "learning": passes({"pref.reward.accuracy": RIGHT, "pref.reward.margin": 2 * RISE}, algorithm="dpo"),
        "ties before the first update are not a preference": passes({"pref.reward.accuracy":
            np.where(np.arange(80) < 5, 0.0, RIGHT), "pref.reward.margin": 2 * RISE}, algorithm="dpo"),
        "a coin is not swapped": passes({"pref.reward.accuracy": 0.5 + noise(80, 0.05),
            "pref.reward.margin": noise(80, 0.01)}, algorithm="dpo"),
        "a low accuracy with a growing margin is not it": passes({"pref.reward.accuracy": WRONG,
            "pref.reward.margin": RISE}, algorithm="dpo"),
        "only pairs have labels": exempt({"reward.mean": RIGHT}, algorithm="grpo"),
        "without a reference the accuracy begins where the model stands and has to fall": [passes({**ALIKE,
            "pref.reward.accuracy": 0.2 + noise(80, 0.05)}, algorithm="dpo"),
            finds({**ALIKE, "pref.reward.accuracy": WRONG}, algorithm="dpo")]},
    "preference-loss-start": {
        "healthy dpo starts at ln 2": passes(dpo(math.log(2))),
        "half precision does not matter": [*(passes(dpo(precision)) for precision in [0.66, 0.72])],
        "a collator that packs wrongly stops the run": finds(dpo(4.16), "4.16", "6 times", CRITICAL, onset=1),
        "a loss that is too low before any update is wrong too": finds(dpo(0.2), CRITICAL),
        "a small departure is a warning": finds(dpo(0.95), WARNING),
        "an unknown loss type is no reason to stop": finds(dpo(4.16, loss_type=None), WARNING),
        "other losses start elsewhere": [*(exempt(dpo(2.0, loss_type=loss_type)) for loss_type in ["ipo", "hinge",
            ["sigmoid", "sft"]])],
        "other algorithms start elsewhere": [*(exempt(dpo(2.0, algorithm=algorithm)) for algorithm in ["kto", "orpo",
            "grpo", "ppo"])],
        "an added likelihood term moves the start": exempt({"loss.total": [1.9] * 10, "pref.nll": [1.2] * 10},
            algorithm="dpo"),
        "no loss is not a good loss": [*(cannot({"loss.total": loss}, algorithm="dpo") for loss in ([],
            [math.nan] * 5))],
        "rewards that start at 0 show that the loss carries another term": [*(exempt({"loss.total": [2.6, 2.5],
            f"{place}pref.reward.chosen": [0.003, 0.1], f"{place}pref.reward.rejected": [-0.01, 0.05]},
            algorithm="dpo") for place in ["", "eval."])],
        "rewards that do not start at 0 excuse nothing": finds({"loss.total": [2.6, 2.5],
            "pref.reward.chosen": [0.9, 1.0], "pref.reward.rejected": [-0.7, -0.9]}, algorithm="dpo"),
        "a summed loss is told though the rewards start at 0": finds({"loss.total": [4 * math.log(2), 2.5],
            "pref.reward.chosen": [0.0, 0.1], "pref.reward.rejected": [0.0, 0.05]}, "4 times", algorithm="dpo"),
        "a method without a reference does not start at ln 2": exempt({"loss.total": [5.0] * 10,
            "pref.logp.chosen": np.linspace(-2.8, -1.2, 10), "pref.reward.chosen": 0.1 * np.linspace(-2.8, -1.2, 10)},
            algorithm="dpo")},
    "prompt-truncation": {
        "pairs that the cut made equal cost ln 2 each": [
            finds(pairs_with(0.45, 0.39), "55 % of the pairs", WARNING, algorithm="dpo"),
            cannot(pairs_with(0.7, 0.5), algorithm="dpo")],
        "cut prompts are found": [*(finds({"length.prompt.clipped_ratio": share + noise(40, 0.01)}, severity,
            onset=1) for share, severity in [(0.12, WARNING), (0.7, CRITICAL)])],
        "the onset is where longer prompts begin": finds({"length.prompt.clipped_ratio": np.where(np.arange(60) < 30,
            0.0, 0.3) + np.abs(noise(60, 0.005))}, onset=31),
        "a few long prompts are no news": passes({"length.prompt.clipped_ratio": np.abs(noise(40, 0.01))}),
        "prompts of one length that just fit are not cut": [expects(MADE, "128"),
            finds(replace(MADE, config=Config(raw={"data.truncation": "left"})), "exactly as long as the limit",
            WARNING)],
        "the longest prompt of each step is at the limit": [finds(longest(13.0), "which is max_length", WARNING),
            cannot(longest(12.0)), cannot(longest(13.0, cut="delete"))],
        "policies that write no text have no prompts": exempt({"episode.length": [10.0] * 5}, algorithm="ppo"),
        "without a number nothing is said": [*(cannot(curves) for curves in [{"length.mean": [100.0] * 5},
            {"length.prompt.clipped_ratio": [np.nan] * 5}])]},
    "score-below-start": {
        "a reward with its sign reversed": finds({"reward.mean": -learning(120, 20, 180)}, CRITICAL,
            onset=(0, 120 / 3)),
        "the size of the score does not matter": [*(finds({"reward.mean": -learning(120) * scale},
            CRITICAL) for scale in (1e-6, 1.0, 1e6))],
        "other shapes are not it": [*(passes({"reward.mean": score}) for score in [learning(120), 5 + noise(120),
            np.where(np.arange(120) < 60, learning(120), 0.2) + noise(120, 0.02),  # rose, then fell: another finding
            -200 + learning(120, 0, 300),
            np.r_[np.linspace(0, -0.3, 20), np.linspace(-0.3, 1, 100)] + noise(120, 0.02)])],  # a dip at the start
        "a first evaluation that comes late is not the start": [finds({"eval.reward": EVALUATED}),
            passes({"eval.reward": EVALUATED,
            "reward.mean": np.where(np.arange(120) < 60, learning(120, 20, 290), 10) + noise(120, 3)})],
        "the last digits of a score that stands still are no fall": passes({"eval.reward":
            -5.6166 - 1e-5 * np.arange(120)}),
        "a score that held its first level for most of the run and was lost then is another finding":
            [passes({"reward.accuracy": np.where(np.arange(120) < 100, 0.92, 0.05) + noise(120, 0.02)}),
            finds({"reward.accuracy": np.where(np.arange(120) < 20, 0.92, 0.05) + noise(120, 0.02)})]},
    "score-drops-at-once": {
        "a fall after updates of the usual size": finds({"reward.episode": returns(120), **STEADY}, WARNING,
            onset=(115, 125), algorithm="ppo"),
        "a fall after a burst of the divergence is the updates doing": passes({"reward.episode": returns(120),
            "kl.old": put(STEADY["kl.old"].copy(), np.s_[118:121], 2.0)}, algorithm="ppo"),
        "tools whose calls all take as long as the limit do not answer": [finds({"tool.runtime.mean":
            np.where(np.arange(200) < 120, 0.4 + noise(200, 0.02), 30.0)}, CRITICAL, interval=(120, 121),
            algorithm="grpo"),
            *(passes({"tool.runtime.mean": sound}, algorithm="grpo")
            for sound in ((0.4 + noise(200, 0.02)), (np.linspace(0.4, 2.0, 200) * (1 + noise(200, 0.1))), np.full(200,
            30.0)))],
        "returns that rise": passes({"reward.episode": learning(200, 20, 300), **STEADY}, algorithm="ppo")},
    "time-limits-vary": {
        "limits before their time": finds({"env.limits_early": [5.0, 3.0] * 10}, HIGH),
        "one in each window is enough": finds({"env.limits_early": [1.0] * 20}, numbers={"share": 1.0}),
        "limits of one length": passes({"env.limits_early": np.zeros(20)}),
        "a single early one": passes({"env.limits_early": [0.0] * 19 + [1.0]})},
    "training-below-evaluation": {
        "a policy that fails only in training": finds({"eval.accuracy": EVALUATION, "reward.mean": np.full(60, 0.01),
            "length.mean": np.full(60, 50.0)}, "0.4", onset=1, algorithm="grpo"),
        "training that starts where the evaluation does": passes({"eval.accuracy": EVALUATION,
            "reward.mean": EVALUATION - 0.05}, algorithm="grpo"),
        "rewards on another scale are not compared": cannot({"eval.accuracy": EVALUATION,
            "reward.mean": np.full(60, -3.0)}, algorithm="grpo")},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_a_share_of_successes_is_no_return() -> None:
    plain = run({}, algorithm="ppo", config={"env_id": "CartPole-v1"})
    plain.series["eval.success_rate"] = series("eval.success_rate", np.full(20, 0.8), STEPS)  # type: ignore[index]
    assert look("far-from-known-score", plain).status is Status.NOT_MEASURED


def test_a_score_between_0_and_1_is_no_return_of_a_robot() -> None:
    far = run({}, algorithm="sac", config={"env_id": "HalfCheetah-v4"})
    far.series["eval.reward"] = series("eval.reward", np.linspace(0, 0.8, 20), 30 * STEPS)  # type: ignore[index]
    assert look("far-from-known-score", far).status is Status.NOT_MEASURED


def test_a_score_that_was_reached_and_lost_is_another_finding() -> None:
    fallen = scored(30.0)
    fallen.series["eval.reward"].values[:12] = 480.0  # type: ignore[attr-defined]
    assert silent("far-from-known-score", fallen)


def test_stored_transitions_in_which_nothing_happens_are_found() -> None:
    assert "overwrite" in found("observations-constant", run({"env.transition_unchanged": [1.0] * 30})).message
    assert silent("observations-constant", run({"env.transition_unchanged": [1.0, 0.0] * 15}))


def test_a_first_point_that_is_a_mean_over_updates_may_be_low_but_not_high() -> None:
    late = [10, 20, 30, 40]
    low = run({"loss.total": [0.45, 0.4, 0.3, 0.2]}, algorithm="dpo")
    high = run({"loss.total": [1.4, 1.1, 0.8, 0.7]}, algorithm="dpo")
    for made in (low, high):
        made.series["loss.total"].steps[:] = late
    assert silent("preference-loss-start", low)
    assert found("preference-loss-start", high).onset == 10


def test_an_excerpt_from_the_middle_holds_no_first_loss() -> None:
    excerpt = run({"loss.total": [1.4, 1.1, 0.8, 0.7]}, algorithm="dpo")
    excerpt.series["loss.total"].steps[:] = [110, 120, 130, 140]
    assert "middle" in look("preference-loss-start", excerpt).note


@pytest.mark.parametrize("shift", [-300.0, 0.0, 300.0])
def test_a_run_that_falls_after_its_random_start_and_rises_again_is_not_stopped(shift: float) -> None:
    fall = np.linspace(100, 10, 120 // 3)
    back = np.concatenate([fall, np.linspace(10, 55, 120 - len(fall))]) + noise(120, 3)
    stays = np.concatenate([fall, np.full(120 - len(fall), 10.0)]) + noise(120, 3)
    severities = [found("score-below-start", run({"reward.mean": shift + score})).severity for score in (back, stays)]
    assert severities == [Severity.WARNING, Severity.CRITICAL]


@pytest.mark.parametrize(
    ("algorithm", "check", "never"),
    [
        ("ppo", "reward and advantage, the order of the actions", "chosen"),
        ("dqn", "the sign of the reward, the order of the actions", "advantage"),
        ("grpo", "reward and advantage, the reference answers", "actions"),
        ("dpo", "chosen and rejected", "advantage"),
    ],
)
def test_what_to_check_first_depends_on_the_method(algorithm: str, check: str, never: str) -> None:
    message = found("score-below-start", run({"reward.mean": -learning(120, 20, 180)}, algorithm=algorithm)).message
    assert check in message
    assert never not in message


def test_a_spread_of_one_is_little_in_a_range_of_sixty() -> None:
    flat = run({"policy.entropy": 1.4 + noise(60, 0.01), "reward.mean": noise(60)})
    wide = replace(flat, config=Config(raw={"action_space": "Box(0.0, 60.0, (1,), float32)"}))
    assert "range" in found("action-range-unused", wide).message
    narrow = replace(flat, config=Config(raw={"action_space": "Box(-1.0, 1.0, (1,), float32)"}))
    assert look("action-range-unused", narrow).finding is None
