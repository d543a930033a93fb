"""What the detectors of `reward` say of runs, and of sound look-alikes."""

import random
from dataclasses import replace

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Confidence, Link, Run, Sample, Samples, Severity, Status
from tests.detectors.look import (
    CRITICAL,
    HIGH,
    NOTICE,
    WARNING,
    Cases,
    cannot,
    dump,
    each_of,
    exempt,
    expected,
    expects,
    finds,
    found,
    look,
    passes,
    silent,
)
from tests.detectors.samples import Row, dumped, numbered
from tests.make import learning, noise, put, run, series

# failed-calls-paid


def episodes(paid: float, usual: float, n: int = 120) -> Samples:
    """A third of the episodes have failed calls only; the rewards are those of chances."""
    rng = random.Random(0)
    kept = []
    for i in range(n):
        broke = i % 3 == 0
        said = "Error: connection refused" if broke else f"order {i} is open"
        call = {"function": {"name": "look", "arguments": {"order": {"id": i}}}}
        messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": said}]
        reward = float(rng.random() < (paid if broke else usual))
        kept.append(Sample(step=float(i // 30), completion="...", messages=messages, reward=reward))
    return Samples(lambda: iter(kept), ("samples.jsonl",))


# failures-pay
LATE = np.arange(80) >= 30
FAILING = np.where(LATE, 0.25, 0.01) + np.abs(noise(80, 0.01))
# references-fit-other-prompts


def slips(answer: str, rng: random.Random) -> str:
    """The answer, often with one digit wrong."""
    place = rng.randrange(len(answer))
    return answer[:place] + str(rng.randrange(10)) + answer[place + 1 :]


def rows(shift: int) -> list[Row]:
    rng, asked = random.Random(0), numbered(20)
    return [
        (float(i), prompt, slips(right, rng), asked[(i + shift) % 20][1], 0.0)
        for i, (prompt, right) in enumerate(asked)
        for _ in range(4)
    ]


# return-mirrored


def played(trained: np.ndarray, evaluated: np.ndarray) -> Run:
    at = np.linspace(1, len(trained), len(evaluated))
    made = run({"reward.episode": trained}, algorithm="ppo")
    return type(made)(**{**vars(made), "series": {**made.series, "eval.reward": series("eval.reward", evaluated, at)}})


# reward-at-floor
GREEDY = np.where(np.arange(25) == 20, -400.0, -1000.0)
CURVES = {"eval.success_rate": [0.0] * 60, "eval.reward": learning(60, 10, 90)}
MADE = {"reward.episode": np.where(np.arange(200) % 10 < 3, 1.0, -0.6)}
# reward-constant
X = np.linspace(0, 1, 120)
RISES = np.round(0.3 + 0.5 * X + noise(120, 0.06), 3)
ENTROPY = 1.5 - X + noise(120, 0.03, 1)
LENGTH = 30 + noise(120, 2.0, 2)
# reward-flat
EXPLORING = np.concatenate([np.linspace(1, 0.05, 40), np.full(160, 0.05)])
SWINGS = np.where(np.arange(200) >= 40, 4 * np.sign(np.sin(np.arange(200) / 8)), 0.0)
# reward-outlier
MEAN = noise(100, 0.1)
# reward-proxy-only
RISING = learning(100, 0, 3)


def parts(answer: object, form: object = RISING) -> object:
    total = np.asarray(answer) + np.asarray(form)
    return run(
        {"reward.mean": total, "reward.component.format.mean": form, "reward.component.check_answer.mean": answer}
    )


CREEPING = np.linspace(0.0, 0.008, 100) + noise(100, 0.0005)
TAG_ONLY = {"reward.mean": RISING, "reward.component.tag.mean": RISING, "reward.component.success.mean": [0.0] * 100}
PAID_TO_LIVE = {"reward.mean": learning(200, -25, -5), "episode.length": learning(200, 25, 5)}
# reward-scale-apart
SKILL = np.linspace(20, 200, 40)
# reward-turns-round
CALM = 0.05 + 0.01 * np.abs(noise(100, seed=1))


def judged(before: np.ndarray, after: np.ndarray, kl: np.ndarray = CALM) -> Run:
    return run({"reward.mean": np.concatenate([before, after]), "kl.ref": kl}, algorithm="grpo")


# reward-up-evaluation-down
UP = learning(150)
LEVEL = np.minimum(np.arange(150) / 50, 1) + noise(150, 0.03)
# rewards-missing
STEP = np.arange(120)
BESIDE = {"length.mean": 200 + noise(120, 5), "loss.total": noise(120, 0.01, 3)}


def without_rewards(where: np.ndarray) -> np.ndarray:
    return np.where(where, np.nan, learning(120))


# wrong-answers-paid

RIGHT, WRONG_PAID, WRONG = ("7", "7", 1.0), ("3", "9", 1.0), ("3", "9", 0.0)


def formed(text: str) -> Run:
    """A reward for the form that is never paid, and ten samples with this text, an eleventh with all tags."""
    drawn = [Sample(completion=said) for said in [text] * 10 + ["<think>a</think><answer>b</answer>"]]
    curves = {"reward.component.format.mean": [0.0] * 50, "reward.component.right.mean": learning(50)}
    return run(curves, algorithm="grpo", samples=Samples(lambda: iter(drawn), ("1.jsonl",)))


CASES: Cases = {
    "failed-calls-paid": {
        "failures with the reward of success are found in four steps": finds({}, "40 of 40", numbers={"failed": 40},
            algorithm="grpo", samples=episodes(1.0, 0.5)),
        "failures that are not paid are left alone": passes({}, algorithm="grpo", samples=episodes(0.0, 0.6)),
        "tasks that are solved as often without their tools are left alone": passes({}, algorithm="grpo",
            samples=episodes(0.7, 0.75)),
        "without tools it does not apply": exempt({}, algorithm="grpo",
            samples=Samples(lambda: iter([Sample(completion="x", reward=1.0)]), "samples.jsonl"))},
    "failures-pay": {
        "failures that rise with the reward": finds({"reward.mean": np.where(LATE, 0.95, 0.7) + noise(80, 0.02),
            "tool.failure_freq": FAILING}, onset=(25, 45), algorithm="grpo"),
        "failures that lower the reward": passes({"reward.mean": np.where(LATE, 0.4, 0.7) + noise(80, 0.02),
            "tool.failure_freq": FAILING}, algorithm="grpo")},
    "references-fit-other-prompts": {
        "references of other prompts": finds({}, "belong to other prompts", CRITICAL, algorithm="grpo",
            samples=dumped(rows(shift=1))),
        "wrong answers near their own reference": passes({}, algorithm="grpo", samples=dumped(rows(shift=0))),
        "answers that do not depend on their prompt say nothing against the references": passes({}, algorithm="grpo",
            samples=dumped([(step, prompt, "00000", answer, reward) for step, prompt, _, answer,
            reward in rows(shift=1)])),
        "references of another form are not compared": cannot({}, algorithm="grpo",
            samples=dumped([(step, prompt, said * 5, "a", reward) for step, prompt, said, _,
            reward in rows(shift=1)])),
        "a dump without references is not measured": cannot({}, algorithm="grpo",
            samples=dumped([(step, prompt, said, "", reward) for step, prompt, said, _, reward in rows(shift=1)]))},
    "return-mirrored": {
        "a sign that turns in mid run": finds(played(np.r_[100 + noise(100, 10), -100 + noise(100, 10)],
            100 + noise(14, 5)), HIGH, onset=(100, 135)),
        "returns of mostly random actions are those of no policy": [*(case({"reward.episode": -1.2 + noise(60, 0.1),
            "eval.reward": 0.9 + noise(60, 0.1), "epsilon": np.maximum(np.linspace(1, low, 60), 0.02)}, algorithm="dqn")
            for case, low in [(cannot, 0.2), (finds, -2.5)])],
        "returns that agree": passes(played(learning(200, 20, 200), learning(14, 25, 210))),
        "returns that cross zero while they grow": passes(played(np.linspace(-200, 180, 200),
            np.linspace(-150, 230, 14))),
        "without evaluations nothing is said": cannot(played(np.ones(50), np.ones(2))),
        "a handful of training returns cannot be compared with each evaluation": cannot(played(np.array([-2.8, 1.1,
            -0.2, -0.4]), 0.3 + noise(30, 0.02))),
        "a success rate is no return": cannot({"reward.episode": -0.6 + noise(200, 0.05),
            "eval.success_rate": 0.3 + noise(200, 0.02)}, algorithm="ppo"),
        "an evaluation that stands still mirrors nothing": passes(played(np.linspace(20, 90, 200),
            np.full(20, -80.0)))},
    "reward-at-floor": {
        "a score that hardly ever leaves its floor": finds({"reward.mean": np.where(np.arange(200) % 25 == 0, 1.0,
            0.0)}, "96 %", CRITICAL),
        "a success rate near zero": finds({"success_rate": np.clip(0.02 + noise(60, 0.02), 0, 1),
            "reward.mean": noise(60)}, metric="success_rate"),
        "half of the games are won": passes({"reward.episode": np.where(np.arange(200) % 2, 1.0, -1.0)}, algorithm="ppo"),
        "success that comes": passes({"success_rate": learning(60), "reward.mean": noise(60)}),
        "a constant positive score may be the ceiling": cannot({"eval.reward": [500.0] * 40}),
        "a constant score at zero is the floor": finds({"reward.mean": [0.0] * 40}),
        "a noisy score": passes({"reward.mean": noise(100)}),
        "a greedy evaluation at the floor beside training that rises is healthy": [finds({"eval.reward": GREEDY,
            "reward.mean": [-1000.0] * 25}),
            passes({"eval.reward": GREEDY, "reward.mean": learning(200, -1000, -700)})],
        "a score that fell to its floor had been above it": passes({"reward.mean":
            1500 + 30000 * np.exp(-np.arange(200) / 6)}),
        "a reward that rises leads to a success that is still to come": [passes(CURVES),
            finds({**CURVES, "eval.reward": 10 + noise(60)})],
        "what to score first is what the policy makes": [finds({"reward.mean": [0.0] * 40}, "a known correct answer",
            algorithm="grpo"),
            finds({"reward.mean": [0.0] * 40, "episode.length": [200.0] * 40}, "scripted expert", algorithm="dqn")],
        "a goal that training reached at first was lost and is not never reached": [passes({"eval.success_rate":
            [0.0] * 200, "reward.mean": np.r_[np.full(30, 0.3), np.full(170, -0.6)] + noise(200, 0.05)}),
            finds({"eval.success_rate": [0.0] * 200, "reward.mean": -0.6 + noise(200, 0.05)})],
        "a few evaluations that succeed deny it": [finds(MADE),
            passes(MADE | {"eval.success_rate": ([0.25] * 12, np.linspace(1, 200, 12))})]},
    "reward-component-dead": {
        "a constant part among moving ones is named": finds({"reward.component.format.mean": learning(50),
            "reward.component.strict.mean": [0.0] * 50}, "strict (always 0)", NOTICE),
        "a form that samples have and no reward pays": [finds(formed("<think>a</think>\n<answer>b</answer>"), "have the form",
            WARNING), finds(formed("b"), NOTICE)],
        "all parts moving": passes({"reward.component.a.mean": learning(50), "reward.component.b.mean": noise(50)}),
        "all parts constant is another finding": passes({"reward.component.a.mean": [0.0] * 50,
            "reward.component.b.mean": [1.0] * 50})},
    "reward-constant": {
        "a verifier that fails is found at its step": finds({"reward.mean": np.where(np.arange(120) < 80, RISES, 0.0),
            "policy.entropy": ENTROPY, "length.mean": LENGTH}, "40 points", CRITICAL, onset=80 + 1,
            interval=(80, 80 + 1)),
        "a policy that collapses at once": passes({"reward.mean": np.where(np.arange(120) < 80, RISES, 0.0),
            "policy.entropy": np.where(np.arange(120) < 80, ENTROPY, 3.2 + noise(120, 0.03, 3)), "length.mean": LENGTH}),
        "a policy that slides to the floor": passes({"reward.mean": np.round(np.clip(np.interp(np.arange(120),
            [0, 50, 80], [0.6, 0.6, 0.0]), 0, 1) * (1 + noise(120, 0.05, 4)), 2), "policy.entropy": ENTROPY,
            "length.mean": LENGTH}),
        "a policy that stands still": passes({"reward.mean": np.where(np.arange(120) < 80, RISES, 0.0),
            "policy.entropy": np.where(np.arange(120) < 80, ENTROPY, ENTROPY[80])}),
        "a task that is solved": passes({"reward.mean": np.minimum(1.0, np.round(0.3 + 1.2 * X + noise(120, 0.03, 5),
            2)), "policy.entropy": ENTROPY, "length.mean": LENGTH}),
        "a sparse reward that stays away for a while": passes({"reward.mean":
            put((np.random.default_rng(6).random(120) < 0.1).astype(float), np.s_[-15:], 0.0),
            "policy.entropy": ENTROPY, "length.mean": LENGTH})},
    "reward-flat": {
        "a long flat score is critical": finds({"reward.mean": noise(600)}, "nothing was learned (95 %", CRITICAL),
        "an evaluation of noise beside a training reward that rose and fell is expected": expects({
            "reward.mean": np.r_[learning(100), learning(100)[::-1]],
            "eval.reward": (noise(12), np.linspace(1, 200, 12))}),
        "a score that rises": passes({"reward.mean": learning()}),
        "a late starter": passes({"reward.mean": np.concatenate([np.zeros(100), np.linspace(0, 1, 100)]) + noise(200,
            0.05)}),
        "a constant positive score may be the ceiling": cannot({"eval.reward": [500.0] * 30}),
        "an evaluation that starts at the ceiling of training is solved": passes({"eval.reward": [500.0] * 30,
            "reward.mean": learning(200, 20, 480, sd=0.01)}),
        "an evaluation that begins after the learning is expected": expects({
            "eval.reward": (450 + noise(30, 5), np.linspace(90, 200, 30)), "reward.mean": learning(200, 20, 480)},
            "begins after the learning, at step 90"),
        "an evaluation that moves in its last digits is constant": finds({"eval.reward":
            -5.6166 - 1e-5 * np.arange(60)}, "nothing was learned"),
        "a rate that is still warmed up excuses a flat score": [cannot({"reward.mean": noise(600),
            "lr": np.linspace(1e-9, 1e-6, 600)}),
            finds({"reward.mean": noise(600), "lr": np.minimum(np.linspace(0, 1e-5, 600), 1e-6)})],
        "a log that begins in mid run does not hold what was learned": cannot({
            "reward.mean": (noise(600), 5000 + np.arange(600))}),
        "a slow learner that reaches no new level still learns": passes({"reward.mean": np.linspace(0.6, 0.66,
            80) + noise(80, 0.05, 1)}),
        "a greedy policy that scores like random actions has learned nothing": finds({"reward.mean": -6 + noise(200),
            "epsilon": EXPLORING}, "random", HIGH, algorithm="dqn"),
        "swings about the level of random actions are no learning": [finds({"reward.mean": -6 + SWINGS + noise(200,
            2.5), "epsilon": EXPLORING}, "random", algorithm="dqn"),
            passes({"reward.mean": -6 + SWINGS + 12 * (np.arange(200) >= 40) + noise(200, 0.5), "epsilon": EXPLORING},
            algorithm="dqn")]},
    "reward-outlier": {
        "extreme rewards that come again and again": finds({"reward.mean": MEAN,
            "reward.max": put(1 + noise(100, 0.1, 1), [20, 50, 80], 500.0)}, WARNING, onset=21),
        "low rewards that come again while the score rises": [finds({"reward.mean": np.linspace(0, 3, 100) + MEAN,
            "reward.min": -put(1 + noise(100, 0.1, 1), [20, 50, 80], 500.0), "reward.max": 20 + noise(100, 0.1, 2)},
            metric="reward.min"),
            passes({"reward.mean": np.linspace(0, 3, 100) + MEAN,
            "reward.max": put(1 + noise(100, 0.1, 1), [20, 50, 80], 500.0), "reward.min": noise(100, 0.1, 2) - 1})],
        "ordinary extremes": passes({"reward.mean": MEAN, "reward.max": 1 + noise(100, 0.1, 1),
            "reward.min": -1 + noise(100, 0.1, 2)}),
        "without extremes it is not measured": cannot({"reward.mean": MEAN}),
        "batches that are spread out again and again": [passes({"reward.mean": MEAN,
            "reward.std": 0.4 + noise(100, 0.02, 1)}),
            finds({"reward.mean": MEAN, "reward.std": put(0.4 + noise(100, 0.02, 1), [20, 50, 80], 6.0)},
            "clip or normalise", onset=21)],
        "sparse rewards in small batches": passes({"reward.mean": MEAN,
            "reward.std": put(put(0.1 + 0.02 * noise(100, 1, 1), np.s_[::2], 0.0), np.s_[::6], 1.4)})},
    "reward-proxy-only": {
        "an answer part that never moves is critical": finds(parts([-2.0] * 100), "format", "check_answer is -2",
            CRITICAL),
        "an answer part that only wobbles is a warning": finds(parts(0.1 + noise(100, 0.05)), WARNING),
        "a goal that is never reached beside a reward that has levelled off": [finds({"reward.mean": LEVEL,
            "eval.success_rate": np.zeros(150)}, "something else than success"), passes({"reward.mean": LEVEL,
            "eval.success_rate": learning(150, seed=2) / 9}), passes({"success_rate": np.zeros(150),
            "reward.mean": np.arange(150) / 50 + noise(150, 0.03)})],
        "few points show a share of successes that falls": finds({"reward.mean": np.linspace(18, 34, 19) + noise(19, 0.5),
            "success_rate": np.linspace(0.35, 0.1, 19) + noise(19, 0.02)}, "share of successes falls", algorithm="ppo"),
        "an answer part that rises too": passes(parts(learning(100))),
        "an answer part at its ceiling": passes(parts(np.ones(100))),
        "without an answer part it cannot be told": cannot({"reward.mean": RISING,
            "reward.component.format.mean": RISING, "reward.component.style.mean": RISING}),
        "the reward of the environment checks the task": finds({"reward.mean": RISING,
            "reward.component.tag.mean": RISING, "reward.component.env_reward.mean": [0.0] * 100}, "env_reward"),
        "an answer part that hardly leaves zero is hardly ever right": [finds(parts(CREEPING), "hardly rises"),
            passes(parts(10 * CREEPING))],
        "the message speaks of what the policy makes": [finds({**TAG_ONLY, "episode.length": [200.0] * 100},
            "watch the episodes"),
            finds(TAG_ONLY, "read the completions", algorithm="grpo")],
        "a return that settles without a success is found": [finds({**PAID_TO_LIVE, "success_rate": [0.0] * 200},
            "something else than success pays"),
            passes({**PAID_TO_LIVE, "success_rate": learning(200, 0, 0.7)})]},
    "reward-scale-apart": {
        "rewards times a hundred": finds({"eval.reward": SKILL, "reward.mean": 100 * SKILL}, "100", algorithm="ppo"),
        "a factor moves with the returns": passes({"eval.reward": -700 + noise(60, 40), "reward.mean":
            np.linspace(-70, -13, 60)}, algorithm="ppo"),
        "a training return that lags": passes({"eval.reward": SKILL, "reward.mean": 0.5 * SKILL}, algorithm="ppo"),
        "rewards that are clipped to their sign are healthy": [expects({"eval.reward": SKILL * 3,
            "reward.mean": np.round(SKILL / 15)}, algorithm="sac"),
            finds({"eval.reward": SKILL * 3, "reward.mean": SKILL * 3 / 40.5}, "times those", algorithm="sac")]},
    "reward-turns-round": {
        "costs that become rewards turn as well": finds(judged(-200 + noise(50, 10), 190 + noise(50, 10))),
        "a fall below zero is another thing": [passes(judged(0.6 + noise(60, 0.1), -0.1 + noise(40, 0.02))),
            passes(judged(np.linspace(0.6, -0.6, 60), np.full(40, -0.6))),
            passes(judged(noise(60, 0.5), noise(40, 0.5))),
            passes({"reward.mean": learning(100, -1, 1)})],
        "after a jump of the policy anything may follow": passes(judged(0.6 + noise(60, 0.1),
            -0.5 + noise(40, 0.1, seed=2), np.r_[CALM[:58], 3.0, 4.0, CALM[60:]])),
        "a first success after nothing but failures is no reversal": passes({"reward.mean": np.concatenate([np.full(20,
            -1.5), [1.0, 1.0, 0.95, 0.55, 0.9], 0.9 + noise(60, 0.1)])})},
    "reward-up-evaluation-down": {
        "an evaluation that falls under a rising reward is critical": finds({"reward.mean": UP,
            "eval.accuracy": np.concatenate([np.linspace(0.3, 0.6, 50), np.linspace(0.6, 0.1, 100)]) + noise(150, 0.02,
            1)}, CRITICAL, onset=(40, 90)),
        "an evaluation that stays flat is a warning": finds({"reward.mean": UP,
            "eval.accuracy": 0.3 + noise(150, 0.02, 1)}, WARNING),
        "one of two evaluations falls": finds({"reward.mean": UP, "eval.accuracy@math": learning(150, seed=1) / 9,
            "eval.accuracy@facts": np.r_[np.linspace(0.3, 0.6, 50), np.linspace(0.6, 0.1, 100)] + noise(150, 0.02)}, CRITICAL),
        "both rising": passes({"reward.mean": UP, "eval.accuracy": learning(150, seed=1)}),
        "both falling is another finding": passes({"reward.mean": -UP, "eval.accuracy": -learning(150, seed=1)}),
        "the same curve under two names is not compared": exempt({"reward.mean": UP, "eval.reward": UP}),
        "few evaluations say nothing": cannot({"reward.mean": UP}),
        "an evaluation whose noise can hide the rise is not called flat": passes({"reward.mean":
            np.clip(0.3 + 0.1 * UP, 0, 1),
            "eval.accuracy": put(np.full(150, np.nan), np.arange(0, 150, 15), 0.3 + np.array([0.08, -0.1, 0.0, 0.1,
            -0.08, 0.06, -0.1, 0.1, 0.08, -0.02]))}),
        "two low evaluations at the end are no more than a warning": finds({"reward.mean": UP,
            "eval.accuracy": put(np.full(150, np.nan), np.s_[::10], np.append(np.linspace(0.3, 0.8, 13), [0.3, 0.3]))},
            WARNING),
        "an evaluation that rises follows whatever its unit": passes({
            "reward.mean": learning(80, 0.5, 0.9, sd=0.2), "eval.accuracy": ([0.469, 0.547, 0.641, 0.734, 0.734, 0.672,
            0.75, 0.719, 0.797, 0.797], np.arange(8, 81, 8))}, algorithm="grpo")},
    "rewards-missing": {
        "rewards that stay away are found where they end": [*(finds({"reward.mean": without_rewards(at <= STEP),
            **BESIDE}, f"from step {at + 1} to the end", CRITICAL, onset=at + 1, algorithm="grpo") for at in [3, 60,
            110])],
        "a component without numbers is a warning": finds({"reward.mean": learning(120),
            "reward.component.style.mean": without_rewards(STEP >= 60), **BESIDE}, WARNING,
            metric="reward.component.style.mean", algorithm="grpo"),
        "a reward that never had a number": finds({"reward.mean": np.full(120, np.nan), **BESIDE}, onset=1,
            algorithm="grpo"),
        "single failures are a gap": passes({"reward.mean": without_rewards(STEP % 30 == 7), **BESIDE},
            algorithm="grpo"),
        "rows of another kind are not counted": passes({"reward.mean": without_rewards(STEP % 2 == 1),
            "length.mean": np.where(STEP % 2 == 1, np.nan, BESIDE["length.mean"]),
            "eval.accuracy": np.where(STEP % 2 == 1, 0.5 + noise(120, 0.1), np.nan),
            "grad.norm": np.where(STEP % 2 == 1, 1 + noise(120, 0.1), np.nan)}, algorithm="grpo"),
        "steps in which no episode ended": passes({"reward.episode": without_rewards((STEP < 10) | (noise(120) > 0.3)),
            "value.loss": 1 + noise(120, 0.1)}, algorithm="ppo"),
        "an episode reward that stays away is no reason to stop": finds({"reward.episode": without_rewards(STEP >= 60),
            "value.loss": 1 + noise(120, 0.1)}, WARNING, algorithm="ppo"),
        "rewards that are missing after the loss are a consequence": expects({**BESIDE,
            "reward.mean": without_rewards(STEP >= 61), "loss.total": np.where(STEP >= 60, np.nan, noise(120))},
            algorithm="grpo"),
        "without a reward it is not measured": cannot(BESIDE, algorithm="grpo")},
    "right-answers-unpaid": {
        "right answers that get nothing": finds({}, "20 of 30", algorithm="grpo",
            samples=dump(*([("7", "7", 0.0)] * 20 + [("8", "8", 1.0)] * 10 + [("3", "9", 0.0)] * 10))),
        "boxed answers are read": finds({}, CRITICAL, algorithm="grpo",
            samples=dump(*([(r"so it is \boxed{7}", "7", 0.0)] * 20 + [("3", "9", 1.0)] * 2))),
        "a parser of the last digits misses thousands": [finds({}, "20 of 40", algorithm="grpo",
            samples=dump(*([(f"so the answer is ${i % 7 + 1},{i:03d}.", f"{i % 7 + 1}{i:03d}",
            0.0) for i in range(20)]), *([(f"7 * 1 = 7, the answer is {i}.", f"{i}", 1.0) for i in range(20)]))),
            passes({}, algorithm="grpo",
            samples=dump(*([(f"so the answer is ${i % 7 + 1},{i:03d}.", f"{i % 7 + 1}{i:03d}",
            0.0) for i in range(20)]), *([("so \\boxed{5}", "5", 1.0)] * 9)))],
        "a verifier that agrees": passes({}, algorithm="grpo",
            samples=dump(*([("7", "7", 1.0)] * 20 + [("3", "9", 0.0)] * 20))),
        "scores do not say right or wrong": cannot({}, algorithm="grpo",
            samples=dump(*([("7", "7", i / 40) for i in range(40)])))},
    "wrong-answers-paid": {
        "an error that the policy exploits": finds({}, "the share grows", CRITICAL, algorithm="grpo",
            samples=dump(*([RIGHT, WRONG] * 20 + [WRONG_PAID] * 40))),
        "a verifier that agrees": passes({}, algorithm="grpo", samples=dump(*[RIGHT, WRONG] * 20)),
        "a reward that compares with something else is not accused": cannot({}, algorithm="grpo",
            samples=dump(*[WRONG_PAID, WRONG] * 20)),
        "one number that is paid for a prompt": passes({}, algorithm="grpo",
            samples=Samples(lambda: iter([Sample(step=i, prompt="3+4=?", completion=f"${5 + i % 3}$", reward=0.0,
            rewards={"accuracy": float(i % 3 == 2)}) for i in range(60)]), "completions.parquet"))},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


@pytest.mark.parametrize(("length", "status"), [(98_000.0, Status.NOT_MEASURED), (200.0, Status.FOUND)])
def test_one_endless_episode_whose_return_is_repeated_is_no_floor(length: float, status: Status) -> None:
    at = 98_000 + 1000 * np.arange(70)
    curves = {"reward.mean": np.full(70, -17_500.0), "episode.length": np.full(70, length)}
    made = {name: replace(series(name, values, at), axis="env_steps") for name, values in curves.items()}
    assert look("reward-at-floor", Run(path="a-run", series=made)).status is status


def test_batches_without_a_single_success_are_the_floor_however_many_hold_one() -> None:
    rare = np.random.default_rng(0).binomial(64, 0.01, 60) / 64
    assert 0.4 < np.mean(rare == 0) < 0.75
    assert "hardly ever reached" in found("reward-at-floor", run({"reward.mean": rare})).message
    assert silent("reward-at-floor", run({"reward.mean": 0.98 + rare}))


def test_a_short_flat_score_is_a_warning_with_what_could_hide() -> None:
    assert found("reward-flat", run({"reward.mean": noise(60)}), Severity.WARNING).numbers["hidden"] > 0.5


def test_where_the_noise_hides_a_whole_gain_nothing_is_said_of_learning() -> None:
    finding = found("reward-flat", run({"eval.reward": noise(10)}), confidence=Confidence.LOW)
    assert "too few to show a rise" in finding.message
    assert "nothing was learned" not in finding.message
    assert "nothing was learned" in found("reward-flat", run({"reward.mean": noise(600)})).message


def test_an_evaluation_that_is_flat_beside_a_reward_that_rises_is_not_said_to_begin_later() -> None:
    note = expected("reward-flat", run({"eval.reward": 450 + noise(30, 5), "reward.mean": learning(200, 20, 480)}))
    assert "begins after" not in note


def test_an_evaluation_that_is_lost_beside_a_reward_that_rises_is_not_called_expected() -> None:
    steps = np.arange(1, 202, 20)
    lost = series("eval.accuracy", [0.29, 0.28, *[0.0] * 9], steps)
    log = run({"reward.mean": learning(200, 0.6, 2.0, sd=0.01)})
    outcome = look("reward-flat", replace(log, series={**log.series, "eval.accuracy": lost}))
    assert not outcome.expected
    assert "not what is evaluated" in outcome.note


def test_while_actions_are_mostly_random_nothing_is_said_of_the_policy() -> None:
    finding = found(
        "reward-flat", run({"reward.mean": -6 + noise(200), "epsilon": np.linspace(1, 0.15, 200)}, algorithm="dqn")
    )
    assert "random" not in finding.message


def test_an_evaluation_never_acts_at_random() -> None:
    curves = {"eval.reward": -6 + noise(200), "epsilon": EXPLORING}
    assert "random" not in found("reward-flat", run(curves, algorithm="dqn")).message
    assert "random" in found("reward-flat", run({**curves, "reward.mean": -7 + noise(200)}, algorithm="dqn")).message


@pytest.mark.parametrize(("paid", "says"), [(77.0, True), (20.0, False)])
def test_episodes_that_fail_and_return_more_than_those_that_succeed(paid: float, says: bool) -> None:
    fails = np.random.default_rng(0).random(4000) < np.interp(np.arange(4000), (0, 1500, 4000), (0.8, 0.45, 0.55))
    made = {"reward.episode": np.where(fails, paid, 30.0) + noise(4000), "episode.length": np.where(fails, 200.0, 60.0)}
    of_100 = np.convolve(~fails, np.ones(100) / 100)[99:4000:100]

    def told(share: np.ndarray) -> str:
        logged = {"success_rate": series("success_rate", share, np.arange(100, 4001, 100))}
        whole = run({**made, "reward.mean": learning(4000, 20, 55)}, algorithm="a2c")
        return str(look("reward-proxy-only", replace(whole, series={**whole.series, **logged})).finding)

    assert ("not to succeed pays" in told(of_100)) == says
    assert "not to succeed pays" not in told(1 - of_100)  # an episode that ends early has failed


def test_a_sign_that_turns_is_found_at_its_step() -> None:
    made = judged(0.6 + noise(60, 0.1), -0.5 + noise(40, 0.1, seed=2))
    finding = found("reward-turns-round", made)
    assert (finding.severity, finding.confidence, finding.onset) == (Severity.CRITICAL, Confidence.HIGH, 61.0)
    said = diagnose(made)
    assert said.first_break is not None
    assert (said.first_break.link, said.causes[0].id) == (Link.REWARD, "reward-sign-wrong")


@pytest.mark.parametrize(("end", "separates"), [(0.9, False), (0.4, True)])
def test_a_return_that_is_evaluated_no_lower_than_in_training_is_not_reported(end: float, separates: bool) -> None:
    ahead = np.interp(np.arange(150), [0, 80, 110, 149], [0.2, 1.5, end, end]) + noise(150, 0.02, 1)
    outcome = look("reward-up-evaluation-down", run({"reward.mean": 0.6 * UP, "eval.reward": ahead}))
    assert (outcome.status is Status.FOUND) is separates
    message = outcome.finding.message if outcome.finding is not None else ""
    assert ("watch the episodes" in message) is separates
    rated = run({"reward.mean": 0.6 * UP, "eval.reward": ahead}, algorithm="grpo")  # a learned reward: another unit
    assert "read the completions" in found("reward-up-evaluation-down", rated).message


@pytest.mark.parametrize(("falls_for", "separates"), [(50, False), (2, True)])
def test_a_return_that_rises_because_fewer_actions_are_random_is_no_gain(falls_for: int, separates: bool) -> None:
    """Of a greedy policy that is right from the start, the training return shows the schedule."""
    epsilon = np.maximum(0.05, 1 - np.arange(150) / falls_for)
    rises = 20 + 150 * np.minimum(1, np.arange(150) / 50) + noise(150, 4)
    made = run({"epsilon": epsilon, "reward.mean": rises, "eval.reward": 120 + noise(150, 4, 1)}, algorithm="dqn")
    assert (look("reward-up-evaluation-down", made).status is Status.FOUND) is separates


def test_half_of_the_rewards_missing_is_critical_and_counted() -> None:
    finding = found(
        "rewards-missing", run({"reward.mean": without_rewards(noise(120) > 0), **BESIDE}, algorithm="grpo")
    )
    assert finding.severity is Severity.CRITICAL
    assert f"{finding.numbers['missing']} of " in finding.message
    assert 40 < finding.numbers["missing"] < 80


def test_a_reward_that_is_nan_one_row_before_the_loss_is_the_break_of_the_reward() -> None:
    curves = {
        **BESIDE,
        "reward.mean": without_rewards(STEP >= 60),
        "loss.total": np.where(STEP > 60, np.nan, noise(120)),
    }
    first = diagnose(run(curves, algorithm="grpo")).first_break
    assert first is not None
    assert (first.link, first.step) == (Link.REWARD, 61)


@pytest.mark.parametrize(("paid", "broken"), [(0.0, True), (1.0, False)])
def test_a_stop_string_that_the_engine_cuts_off_leaves_right_answers_unpaid(paid: float, broken: bool) -> None:
    parts = {"r_think": 1.0, "r_correct": paid}
    stopped = {"target": 17, "stop_reason": "</answer>"}
    cut = [Sample(step=i, completion="<answer> 17", reward=0.2 + paid, rewards=parts, meta=stopped) for i in range(20)]
    none = Sample(step=20, completion="3", reward=0.0, rewards=dict.fromkeys(parts, 0.0), meta={"target": 4})
    logged = run({}, algorithm="grpo", samples=Samples(lambda: iter([*cut, none]), ("samples.jsonl",)))
    assert (
        "cuts the stop string" in found("right-answers-unpaid", logged).message
        if broken
        else silent("right-answers-unpaid", logged)
    )


@pytest.mark.parametrize(("asked", "broken"), [("3+4=?", True), ("what is in the picture?", False)])
def test_several_numbers_that_are_paid_for_one_prompt_cannot_all_be_right(asked: str, broken: bool) -> None:
    """Whose text leaves out what it asks about, a prompt may have several right answers."""
    drawn = [
        Sample(step=i, prompt=asked, completion=f"${5 + i % 3}$", reward=1.2, rewards={"accuracy_reward": 1.0})
        for i in range(60)
    ]
    logged = run({}, algorithm="grpo", samples=Samples(lambda: iter(drawn), ("completions.parquet",)))
    assert (
        ("40 of 60" in found("wrong-answers-paid", logged).message)
        if broken
        else look("wrong-answers-paid", logged).status is Status.NOT_MEASURED
    )
