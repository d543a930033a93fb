"""What the detectors of `policy_update` say of runs, and of sound look-alikes."""

from typing import Any

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Checkpoint, Confidence, Config, Link, Run, Series, Severity, Status
from firstbreak.values import replace
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
from tests.make import learning, noise, put, run, series

# clip-never-acts
LATE = np.arange(60) >= 20
# kl-reward
KL_UP = np.linspace(0.01, 0.6, 200) * (1 + noise(200, 0.1))
KL_STILL = 0.1 + np.abs(noise(200, 0.01))
FLAT = noise(200, 0.1, 1)
FALLING = np.concatenate([learning(100), np.linspace(1, 0.2, 100)]) + noise(200, 0.03, 2)
DRIFTING = 0.4 * np.linspace(0.05, 1, 120) * np.exp(noise(120, 0.05))
FLAT_TEXT = {"reward.mean": 0.5 + noise(120, 0.02), "length.mean": np.full(120, 250.0)}
KL = 0.04 * (1 - np.exp(-np.linspace(0, 1, 60) / 0.6)) * np.exp(noise(60, 0.05))
# kl-spike
SPIKE_KL = 0.01 * np.exp(noise(200, 0.1)) * np.where((np.arange(200) >= 100) & (np.arange(200) % 8 == 4), 30, 1)
# learning-rate-gone
X = np.linspace(0, 1, 200)
# learning-rate-jump
SCHEDULE = np.linspace(1e-3, 1e-4, 60)
# learning-rate-negative
STEPPED_TOO_OFTEN = 1e-3 * (1 - np.arange(150) / 26)
# loss-pattern
FELL = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)
CURVES = {
    "policy.loss": 0.2 * np.where(np.arange(60) >= 36, 0.5, 1) * (1 + noise(60, 0.3, 4)),
    "reward.mean": learning(60),
}
AIMLESS = {"policy.loss": noise(120, 1, 3), "reward.mean": noise(120, 1, 4)}
# no-update
EXPLORED = {"epsilon": np.concatenate([np.linspace(1, 0.05, 10), np.full(50, 0.05)]), "reward.mean": 22 + noise(60)}
AT = np.arange(60)
MOVED = 5e-3 * (1 + np.abs(noise(60, 0.3)))


def steps(kl: Any, entropy: Any = 0.68, rate: Any = 2.5e-3, norm: Any = 10.0, clip: Any = 0.0, **config: float) -> Run:
    """A hand-written PPO for control, whose optimizer is called: its columns, around the levels that are given."""
    curves = {
        "kl.old": kl + noise(60, 1e-9),
        "policy.clip_fraction": np.full(60, clip),
        "policy.entropy": entropy + noise(60, 0.001, seed=1),
        "value.loss": 40 + noise(60, 5.0, seed=2),
        "grad.norm": norm + noise(60, 0.01, seed=3),
        "lr": np.full(60, rate),
        "episode.length": 22 + noise(60),
        "reward.mean": 22 + noise(60, seed=4),
    }
    return run(curves, algorithm="ppo", config=config)


def small(kl: float, norm: float = 10.0) -> Run:
    """The same with steps of this size and a gradient that falls to this norm."""
    made = steps(0.0, rate=1e-4, norm=np.linspace(10, norm, 60), epochs_per_batch=8)
    kept = {name: made.series[name] for name in ("policy.entropy", "grad.norm", "lr", "reward.mean")}
    return replace(made, series={**kept, "kl.old": series("kl.old", kl * (1 + np.abs(noise(60))))})


def counted(each: int) -> Run:
    """A library that counts its updates and iterations."""
    made = steps(1e-8)
    done = {"progress.updates": series("progress.updates", each * AT), "progress.iterations": series("i", AT)}
    return replace(made, trainer="sb3", series={**made.series, **done})


def pairs(logp: Any, rate: float = 5e-4) -> Run:
    """Rewards of pairs that stay at 0."""
    zeros = {f"pref.reward.{which}": np.zeros(60) for which in ("chosen", "rejected")}
    logged = {"grad.norm": np.full(60, 0.1), "lr": np.full(60, rate), "pref.logp.chosen": logp + noise(60, 0.1)}
    return run({**zeros, **logged}, algorithm="dpo", trainer="trl")


def stands(kl: float, reward: Any = 0.3) -> Run:
    """A divergence from the reference that stays where it is."""
    curves = {
        "kl.ref": kl + np.abs(noise(60, 1e-9)),
        "policy.entropy": 1.2 + noise(60, 0.02),
        "reward.mean": reward + noise(60, 0.05, seed=1),
        "grad.norm": np.full(60, 0.3),
        "lr": np.full(60, 2e-6),
    }
    return run(curves, algorithm="grpo", trainer="trl")


def halved(*, master: bool) -> Run:
    """A policy in bfloat16 that hardly moves."""
    curves = {
        "kl.ref": 5e-4 + noise(40, 1e-3),
        "reward.mean": 0.5 + noise(40, 0.02, 1),
        "grad.norm": 7 + noise(40, 0.5, 2),
    }
    made = run(curves, algorithm="ppo", trainer="openrlhf")
    return replace(made, config=replace(made.config, raw={"param_dtype": "bf16", "master_weights": master}))


OFTEN: list[dict[str, float]] = [{}, {"updates_per_batch": 24}]
PRINTED = np.repeat([4e-8, 3e-8, 2e-8, 1e-8, 0.0], 20)
RATE = 3e-4 * np.maximum(1 - AT / 30, 3e-5)
STILL = {"policy.entropy": [5.675754] * 40, "kl.old": np.zeros(40), "lr": [3e-4] * 40}
NEAR = {"kl.ref": 0.002 + np.abs(noise(200, 0.001)), "reward.mean": 0.3 + noise(200, 0.05)}
# pairs-not-told-apart
LOSS = {"loss.total": np.full(120, 0.69)}
ORDERED = {"pref.reward.accuracy": np.linspace(0.5, 0.9, 60)}
# ratio-always-one
RATIO_ONE = {"policy.ratio.mean": [1.0] * 50, "policy.clip_fraction": [0.0] * 50}
# reference-is-policy


def follows(gap: float, kl: float) -> Run:
    """A reference at this distance from the policy, after the first batch."""
    return run({"proof.reference_gap": [0.0, *[gap] * 9], "kl.ref": [kl] * 10})


def held_out(paid: float) -> Run:
    """Held-out pairs whose log-probabilities move, and their rewards by this share of it."""
    moved = np.linspace(0, -2.0, 10)
    curves = {
        "pref.reward.chosen": noise(60, 3e-4),
        "pref.reward.rejected": noise(60, 3e-4, 1),
        "pref.logp.chosen": noise(60),
        "eval.pref.logp.rejected": moved - 6,
        "eval.pref.reward.rejected": paid * moved + noise(10, 3e-4),
    }
    return run(curves, algorithm="dpo", trainer="trl", config={"kl_coef": 0.1})


# reference-not-initial


def apart(level: float, first: float) -> Run:
    """A divergence from the reference in epochs, from this step on."""
    kl = series("kl.ref", level + noise(60, 0.1 * level), np.round(first + np.arange(60) * 10, 2))
    return Run(path="a-run", trainer="trl", series={"kl.ref": kl})


# score-lost
SWINGS = [15, 19, 42, 43, 84, 53, 112, 55, 41, 42, 36, 87, 84, 150, 75, 56, 32, 27, 30, 29, 36, 46]
ONCE = [15, 19, 42, 43, 84, 90, 112, 105, 111, 112, 106, 107, 104, 110, 75, 56, 32, 27, 30, 29, 36, 46]
OF_400 = [0.245, 0.37, 0.415, 0.49, 0.5425, 0.6775, 0.6425, 0.5675, 0.575, 0.4575, 0.44]


def _evaluated(lost: float, sd: float, training_sd: float = 0.1) -> Run:
    """Scores that lose `lost` of their gain since 40 %: eleven evaluations, and a training reward at every step."""
    x = np.linspace(0, 1, 200)
    course = np.minimum(x / 0.4, 1) - lost * np.maximum(x - 0.4, 0) / 0.6
    at = np.arange(0, 200, 19)
    evaluation = series("eval.reward", (course + noise(200, sd, seed=2))[at], at + 1)
    training = series("reward.mean", course + noise(200, training_sd))
    return Run(path="a-run", series={"eval.reward": evaluation, "reward.mean": training})


COLLAPSED = run({"eval.reward": np.concatenate([learning(100), np.full(100, 0.1)]) + noise(200, 0.03)})
DIP = np.concatenate([learning(100, sd=0.01), np.full(100, 0.72)]) + noise(200, 0.01)
ANSWERS = np.concatenate([np.full(3, 0.95), np.full(17, 0.6)]) + noise(20, 0.01)
# step-too-large
LATE_FALL = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)
MADE = {"kl.old": 0.05 + noise(120, 0.002), "reward.mean": learning(120)}
# update-size-extreme
EXTREME = {"kl.old": 3.0, "policy.clip_fraction": 0.97, "policy.ratio.mean": 40.0}

CASES: Cases = {
    "clip-fraction-high": {
        "half of the batch clipped and nothing learned": finds({"policy.clip_fraction": 0.5 + noise(80, 0.03),
            "reward.mean": noise(80, 1, 1)}, CRITICAL),
        "half of the batch clipped and a rising score is aggressive": finds({"policy.clip_fraction": [0.5] * 80,
            "reward.mean": learning(80)}, WARNING),
        "a tenth": passes({"policy.clip_fraction": 0.1 + np.abs(noise(80, 0.02)), "reward.mean": learning(80)}),
        "zero with one update per batch is expected": expects({"policy.clip_fraction": [0.0] * 80,
            "reward.mean": learning(80)}, config={"updates_per_batch": 1})},
    "clip-never-acts": {
        "ratios beyond a clip that never acts": finds({"policy.ratio.max": np.where(LATE, 4.0, 1.2),
            "policy.clip_fraction": np.where(LATE, 0.0, 0.02)}, onset=21, algorithm="ppo", config={"clip_range": 0.2}),
        "a cap on the weights in its place": exempt({"policy.ratio.max": np.where(LATE, 14.0, 1.2),
            "policy.clip_fraction": np.zeros(60)}, algorithm="ppo", config={"behave_weight_cap": 8.0}),
        "a clip that acts": passes({"policy.ratio.max": np.full(60, 4.0), "policy.clip_fraction": np.full(60, 0.05)},
            algorithm="ppo", config={"clip_range": 0.2}),
        "a divergence that clipped ratios cannot have": finds({"kl.old": np.where(LATE, 0.15, 0.002),
            "policy.clip_fraction": np.zeros(60)}, "0.15 nats", onset=21, algorithm="ppo", config={"clip_range": 0.2}),
        "a divergence that a wider clip range allows": passes({"kl.old": np.full(60, 0.15),
            "policy.clip_fraction": np.zeros(60)}, algorithm="ppo", config={"clip_range": 0.4})},
    "far-from-reference": {
        "two nats per token": finds({"kl.ref": np.r_[np.linspace(0, 2.2, 12), 2.2 + noise(60, 0.2)],
            "reward.mean": learning(72, 0.65, 0.7)}, "per token", onset=(0, 15), algorithm="grpo"),
        "what healthy runs have is healthy": [*(passes({"kl.ref": np.linspace(0, level, 60),
            "reward.mean": learning(60)}, algorithm="grpo") for level in [0.02, 0.15, 0.5])],
        "spikes that come back are another finding": passes({"kl.ref": np.where(np.arange(80) % 9 == 4, 30.0, 0.05),
            "reward.mean": learning(80)}, algorithm="grpo"),
        "the sum over a completion is not per token": exempt({"kl.ref": np.full(60, 8.0), "reward.mean": learning(60)},
            algorithm="ppo")},
    "kl-reward": {
        "rising and rising is learning": passes({"kl.ref": KL_UP,
            "reward.mean": np.linspace(0, 1, 200) + noise(200, 0.05, 3)}),
        "rising and flat has run its course": finds({"kl.ref": KL_UP, "reward.mean": FLAT}, WARNING,
            numbers={"cell": "rising/flat"}),
        "rising and declining is destructive": finds({"kl.ref": KL_UP, "reward.mean": FALLING}, CRITICAL,
            onset=(80, 130)),
        "still and rising is ideal": passes({"kl.ref": KL_STILL, "reward.mean": learning()}),
        "still and flat is convergence": passes({"kl.ref": KL_STILL, "reward.mean": FLAT}),
        "a divergence of nothing is no distance": passes({"kl.ref": KL_UP / 1000, "reward.mean": FLAT}),
        "a divergence of zero with no penalty is expected": expects({"kl.ref": [0.0] * 50,
            "reward.mean": learning(50)}, "switched off", config={"kl_coef": 0.0}),
        "a gain counts where the divergence grew": passes({"kl.ref": KL_UP,
            "reward.mean": np.concatenate([np.zeros(50), np.linspace(0, 1, 50), np.ones(100)]) + noise(200, 0.05, 4)}),
        "a slow gain over the whole run counts": passes({"kl.ref": np.linspace(0.01, 0.6, 80),
            "reward.mean": np.linspace(0.6, 0.66, 80) + noise(80, 0.05, 1)}),
        "a divergence that is logged as a sum over the completion counts per token":
            [finds(FLAT_TEXT | {"kl.ref.seq_sum": 250 * DRIFTING}, WARNING),
            passes(FLAT_TEXT | {"kl.ref.seq_sum": DRIFTING})],
        "a divergence that levels off counts where the noise hides no gain": [passes({"kl.ref": KL,
            "reward.mean": (0.25 + 0.3 * (1 - np.exp(-np.linspace(0, 1, 60) / 0.3))) + noise(60, 0.08, 2)}),
            finds({"kl.ref": KL,
            "reward.mean": (0.25 + 0.3 * np.minimum(np.linspace(0, 1, 60) / 0.3, 1)) + noise(60, 0.01, 2)},
            numbers={"cell": "rising/flat"})],
        "a divergence that grows ever faster is a sign whatever the score does": finds({"kl.ref":
            0.04 * np.where(np.arange(200) < 100, 1.0,
            100 ** ((np.arange(200) - 100) / 100)) * np.exp(noise(200, 0.05)),
            "reward.mean": np.linspace(0.2, 0.7, 200) + noise(200, 0.02)}, WARNING, HIGH)},
    "kl-spike": {
        "a spike that comes back is a notice": finds({"kl.ref": put(0.05 + np.abs(noise(100, 0.005)), 40, 2.5)},
            NOTICE, onset=41),
        "one at the very end has not come back yet": passes({"kl.ref": put(0.05 + np.abs(noise(100, 0.005)), -1,
            2.5)}),
        "one before an end as high has not come back": passes({"kl.ref": put(0.05 + np.abs(noise(120, 0.005)),
            [104, 118, 119], (0.3, 0.2, 0.18))}),
        "a slow rise is no spike": passes({"kl.ref": np.linspace(0, 0.5, 100) + noise(100, 0.01)}),
        "without a divergence it is not measured": cannot({"reward.mean": noise(60)}),
        "a spike of hundreds of nats is a warning of little certainty": finds({"kl.ref": put(0.05 + np.abs(noise(100,
            0.005)), 40, 900.0)}, "1 spike of kl.ref", WARNING, LOW),
        "what is left of rounding is no spike": passes({"kl.old": put(np.abs(noise(100, 1e-11)), 40, 1e-9)}),
        "what has extreme log probabilities is what the policy makes": [finds({"kl.ref": put(0.05 + np.abs(noise(100,
            0.005)), 40, 900.0)}, "tokens", algorithm="grpo"),
            finds({"kl.old": put(0.05 + np.abs(noise(100, 0.005)), 40, 900.0)}, "actions", algorithm="a2c")],
        "a jump that stays is no spike that came back": [*(finds({"kl.ref": put(np.where(np.arange(100) < at, 0.01,
            0.4) * np.exp(noise(100, 0.3)), at, 1.2)}, "stayed", WARNING, onset=(at + 1 - 1, at + 1 + 1)) for at in [4,
            30, 70, 95])],
        "spikes that come again and again count where the score fell from there": [finds({"kl.ref": SPIKE_KL,
            "reward.mean": np.where(np.arange(200) >= 100, 1 - np.arange(200) / 300, np.arange(200) / 150) + noise(200,
            0.03, 2)}, "learning rate", WARNING),
            finds({"kl.ref": SPIKE_KL, "reward.mean": np.arange(200) / 150 + noise(200, 0.03, 2)}, NOTICE)]},
    "learning-rate-gone": {
        "a schedule that ends after a third": finds({"lr": 1e-3 * np.maximum(1 - 3 * X, 1e-6)}, "67 % of the run",
            onset=(65, 70)),
        "usual schedules are healthy": [*(passes({"lr": 1e-3 * schedule}) for schedule in [1 - X,
            (1 + np.cos(np.pi * X)) / 2, np.maximum(0.1, 1 - 3 * X), np.minimum(1.0, 5 * X), np.exp(-4 * X)])],
        "an evaluation that stands still at no learning rate is not solved": finds({"lr": [*np.linspace(9e-4, 0, 26),
            *[0.0] * 174], "eval.reward": ([0.565, *[0.605] * 19], np.arange(10, 210, 10))}, "87 % of the run"),
        "a schedule of ten updates is no rounding": finds({"lr": [*np.linspace(9e-4, 1e-4, 9), *[0.0] * 60]},
            onset=10)},
    "learning-rate-jump": {
        "a rate that jumps": finds({"lr": np.where(np.arange(60) < 30, SCHEDULE, 10 * SCHEDULE)}, onset=31),
        "a schedule that falls": passes({"lr": SCHEDULE}),
        "a warm up": passes({"lr": np.minimum(1.0, (np.arange(60) + 1) / 10) * 1e-3})},
    "learning-rate-negative": {
        "a rate that ends at 0": passes({"lr": np.linspace(1e-3, 0, 150)})},
    "loss-pattern": {
        "a grpo loss of zero is expected": expects({"loss.total": noise(50, 0.001), "reward.mean": learning(50)},
            "by construction", algorithm="grpo"),
        "even one grpo loss of zero is expected": expects({"loss.total": [0.0], "reward.mean": [1.0]},
            algorithm="grpo"),
        "a loss that turns while the score falls is critical": finds({"policy.loss": np.concatenate([np.full(60, 0.5),
            np.full(60, -0.5)]) + noise(120, 0.1, 1), "reward.mean": FELL}, CRITICAL, onset=(55, 66)),
        "a jump that noise hides is seen where the learning rate steps": [passes(CURVES),
            finds(CURVES | {"lr": np.where(np.arange(60) >= 36, 1e-5, 1e-4)}, onset=37),
            passes(CURVES | {"lr": 1e-4 * np.linspace(1, 0, 60)})],
        "a loss that jumps while the score falls is a warning": finds({"policy.loss": np.concatenate([np.full(60,
            -0.02), np.full(60, -0.4)]) * (1 + noise(120, 0.2, 1)), "reward.mean": FELL}, WARNING),
        "oscillation round zero with a flat score is a notice": finds({"policy.loss": noise(120, 1, 3),
            "reward.mean": noise(120, 1, 4)}, NOTICE),
        "a turn under a rising score": passes({"policy.loss": np.concatenate([np.full(60, 0.5),
            np.full(60, -0.5)]) + noise(120, 0.1, 1), "reward.mean": learning(120)}),
        "without a loss it is not measured": cannot({"reward.mean": learning(60)}),
        "the dust of a loss that is zero is no jump": passes({"policy.loss": np.where(np.arange(120) < 60, 1e-12,
            1e-9) * (1 + noise(120, 0.1)),
            "reward.mean": np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)}, algorithm="ppo"),
        "a method without advantages is advised to check its critic": [finds(AIMLESS, "advantages", algorithm="ppo"),
            finds(AIMLESS, "critic", algorithm="td3")],
        "below zero after positive is a warning where the score does not rise": finds({"policy.loss":
            np.where(np.arange(120) < 80, 0.5, -0.5) + noise(120, 0.1, 1), "reward.mean": noise(120)}, WARNING,
            onset=81),
        "a group relative loss with a level of its own can jump": finds({"policy.loss": np.where(np.arange(120) < 60,
            0.07, 0.035) + noise(120, 0.004), "reward.mean": learning(120)}, onset=61, algorithm="grpo"),
        "the noise of a group relative loss round zero does not jump": expects({"policy.loss": noise(120,
            1) * np.where(np.arange(120) < 60, 0.01, 0.03), "reward.mean": learning(120)}, algorithm="grpo")},
    "no-update": {
        "a gradient of exactly zero is critical": finds({"grad.norm": [0.0] * 50, "reward.mean": noise(50)}, CRITICAL,
            onset=1),
        "zero variance groups leave nothing to update with": expects({"grad.norm": [0.0] * 50,
            "reward.zero_std_frac": [1.0] * 50, "reward.mean": noise(50)}),
        "a schedule that ends at zero": passes({"lr": np.linspace(1e-4, 0, 50), "grad.norm": 1 + np.abs(noise(50))}),
        "a learning rate of zero": finds({"lr": [0.0] * 50}, metric="lr"),
        "without a gradient norm it is not measured": cannot({"reward.mean": noise(50)}),
        "a policy that never moves is found without a gradient norm": finds({"policy.entropy": [5.675754] * 40,
            "kl.old": -np.abs(noise(40, 1e-9)), "lr": [3e-4] * 40}, CRITICAL, algorithm="ppo"),
        "a divergence that is taken before the step": passes({"policy.entropy": np.linspace(1.6, 1.1, 40),
            "kl.old": noise(40, 1e-9), "lr": [3e-4] * 40}, algorithm="ppo"),
        "columns that a loop never fills and a score that rises say that it learns": [passes({**STILL,
            "policy.entropy": np.zeros(40)}, algorithm="grpo"),
            passes({**STILL, "reward.mean": learning(40)}, algorithm="grpo")],
        "exploration that ends before the first gradient step": finds(EXPLORED, "learning_starts", CRITICAL,
            trainer="sb3", algorithm="dqn"),
        "learning may begin while exploration goes on": cannot({name: values[:11] for name,
            values in EXPLORED.items()}, trainer="sb3", algorithm="dqn"),
        "a log without losses shows nothing of a trainer that may not write them": [cannot(EXPLORED, algorithm="dqn"),
            passes({**EXPLORED, "value.loss": np.ones(60), "lr": [1e-4] * 60}, trainer="sb3", algorithm="dqn")],
        "updates that end within the run are found where they end": [*(finds({"grad.norm":
            np.where(np.arange(100) < at, 1 + np.abs(noise(100, 0.2)), 0.0), "reward.mean": noise(100)}, CRITICAL,
            onset=at + 1) for at in [2, 30, 70])],
        "a schedule that has run out a little early": passes({"lr": np.maximum(0, np.linspace(1e-4, -2e-6, 500))}),
        "a solved task leaves nothing to update with": expects({"grad.norm": np.where(np.arange(100) < 60,
            1 + np.abs(noise(100, 0.2)), 0.0), "reward.accuracy": np.minimum(1, np.arange(100) / 50)}),
        "a gradient that is zero now and then": passes({"grad.norm": np.where(np.arange(100) % 3 == 0,
            1 + np.abs(noise(100, 0.2)), 0.0), "reward.mean": noise(100)}),
        "a policy that stays at its reference beside a score that stands is found": [finds({**NEAR,
            "grad.norm": 0.3 + np.abs(noise(200, 0.1))}, "too small", WARNING),
            passes({**NEAR, "reward.mean": learning(200), "grad.norm": 0.3 + np.abs(noise(200, 0.1))})],
        "weights that are restored from some step on are found there": finds(steps(np.where(AT < 30, MOVED, 0.0),
            clip=np.where(AT < 30, 0.1, 0.0), epochs_per_batch=4), onset=31),
        "a decay that is printed with too few decimals is healthy": [passes({"lr": PRINTED, "pref.loss":
            0.6 + noise(100, 0.05)}), passes({"lr": PRINTED}, of="learning-rate-gone")],
        "a rate that ends at zero is a matter of its schedule": [passes({"lr": np.repeat([4e-4, 0.0], 50)}),
            finds({"lr": np.repeat([4e-4, 0.0], 50)}, onset=51, of="learning-rate-gone")],
        "steps that are rounded away are found by how little the policy moves": [finds(small(2e-6), "rounded away"),
            passes(small(2e-3)), passes(small(2e-6, norm=0.1))],  # nothing more to learn
        "an optimizer that holds other parameters is found": [
            *(finds(steps(1e-8, **config), "holds other parameters", CRITICAL, onset=1) for config in OFTEN),
            # which would name the log-probabilities
            *(passes(steps(1e-8, **config), of="ratio-always-one") for config in OFTEN)],
        "old log probabilities that are computed again leave a policy that moves": [
            passes(steps(1e-8, entropy=np.linspace(0.69, 0.5, 60))),
            finds(steps(1e-8, entropy=np.linspace(0.69, 0.5, 60)), of="ratio-always-one")],
        "a library that counts its epochs says that batches are used again": [finds(counted(10)), passes(counted(1))],
        "pairs whose policy stays at its reference": [finds(pairs(-35.0), "holds other parameters"),
            passes(pairs(-35.0), of="reference-is-policy"),
            passes(pairs(-35.0 + AT / 10)),  # it moves: so does the reference
            finds(pairs(-35.0 + AT / 10), of="reference-is-policy"), passes(pairs(-35.0, rate=5e-10))],
        "a divergence from the reference that stays at 0": [finds(stands(0.0), "kl.ref is 2.325e-09 at most"),
            passes(stands(1e-4)), passes(stands(0.0, reward=AT / 60))],
        "weights in bfloat16 without a copy in float32 round small steps away": [
            finds(halved(master=False), "round small steps away"), passes(halved(master=True)),
            finds(replace(halved(master=True), config=Config(raw={"policy.param_storage.optimizer": "bfloat16"})), "round")],
        "a policy that has reason not to move is sound": [passes(steps(MOVED, epochs_per_batch=4)),
            passes(steps(1e-8, updates_per_batch=1)),  # the divergence is that before the step
            passes(steps(0.0, rate=1e-8, updates_per_batch=24)),  # so small that a divergence is rounding
            passes(steps(MOVED * (RATE / 3e-4) ** 2, rate=RATE, epochs_per_batch=4)),
            passes(steps(MOVED * 0.7**AT, entropy=0.6 * 0.7**AT, epochs_per_batch=4)),  # certain
            passes(steps(np.where(AT < 30, MOVED, 0.0), norm=np.where(AT < 30, 10.0, 0.5),
                epochs_per_batch=4)),  # nothing more to learn
            passes(steps(1e-8, clip=0.1, updates_per_batch=24))]},
    "pairs-not-told-apart": {
        "an accuracy of one half": finds({"rm.accuracy": 0.5 + noise(120, 0.08), **LOSS}, "as by chance",
            algorithm="reward"),
        "pairs that are learned are silent": [passes({"rm.accuracy": np.linspace(0.5, 0.8, 120), **LOSS},
            algorithm="reward"),
            passes({"pref.reward.accuracy": 0.6 + noise(120, 0.08), **LOSS}, algorithm="dpo")],
        "pairs in order, and next to nothing between them": finds({**ORDERED, "pref.reward.margin": np.linspace(1e-4, 3e-3,
            60)}, "hardly moved", WARNING, HIGH, algorithm="dpo", config={"kl_coef": 0.1, "total_steps": 60}),
        "a small beta makes a small margin": passes({**ORDERED, "pref.reward.margin": np.linspace(1e-4, 3e-3, 60)},
            algorithm="dpo", config={"kl_coef": 0.001, "total_steps": 60}),
        "a run that has just begun": passes({**ORDERED, "pref.reward.margin": np.linspace(1e-4, 3e-3, 60)},
            algorithm="dpo", config={"kl_coef": 0.1, "total_steps": 600})},
    "preference-loss-above-chance": {
        "a held out loss above ln 2 is found although the accuracy grows": finds({"eval.loss": np.linspace(0.9, 0.76,
            8), "eval.pref.reward.accuracy": np.linspace(0.55, 0.64, 8), "loss.total": 0.5 + noise(8, 0.1)}, CRITICAL,
            metric="eval.loss", algorithm="dpo"),
        "a loss at or below chance is healthy": [*(passes({"loss.total": np.r_[1.2, 0.9, np.full(20, late)]},
            algorithm="dpo") for late in [0.3, 0.6931, 0.70])],
        "batches that swing around chance": passes({"loss.total": 0.72 + noise(40, 0.3)}, algorithm="dpo"),
        "other losses have another chance level": exempt({"loss.total": np.full(20, 1.5)}, algorithm="orpo")},
    "rate-not-as-configured": {
        "a rate in force that is higher than configured is reported": [
            finds({"lr": np.full(30, 3e-4)}, "find what sets it", config={"learning_rate": 1e-4}, algorithm="ppo"),
            passes({"lr": np.full(30, 1e-4)}, config={"learning_rate": 1e-4}, algorithm="ppo")]},
    "ratio-always-one": {
        "four updates and a ratio of one": finds(RATIO_ONE, "used 4 times", WARNING, config={"updates_per_batch": 4}),
        "one update makes it expected": expects(RATIO_ONE, config={"updates_per_batch": 1}),
        "without the number of updates it is not measured": cannot(RATIO_ONE, trainer="sb3"),
        "a ratio that moves": passes({"policy.ratio.mean": 1 + noise(50, 0.01)}, config={"updates_per_batch": 4}),
        "a divergence of exactly zero counts too": finds({"kl.old": [0.0] * 50}, metric="kl.old",
            config={"updates_per_batch": 4}),
        "a policy that has become certain cannot move": passes({**RATIO_ONE, "policy.entropy": [1e-9] * 50},
            config={"updates_per_batch": 4}),
        "a divergence that three decimals hide is not measured": [cannot({"kl.old": [0.0] * 50,
            "policy.entropy": [round(x, 3) for x in (0.4 + noise(50, 0.05))]}, config={"updates_per_batch": 4}),
            finds({"kl.old": [0.0] * 50, "policy.entropy": 0.4 + noise(50, 0.05)}, config={"updates_per_batch": 4})],
        "groups with equal rewards cannot move it": expects({"policy.ratio.mean": np.ones(50),
            "reward.zero_std_frac": np.ones(50)}, config={"updates_per_batch": 4})},
    "reference-is-policy": {
        "a reference that is the policy in a loop is proved": [finds(follows(0.0, 1e-5), "the reference follows the policy"),
            passes(follows(0.01, 0.01)), passes(follows(0.0, 0.0))],  # no update moves the policy: another fault
        "rewards of held out pairs move as far as their log probabilities": [
            finds(held_out(0.0), "the reference follows the policy"), passes(held_out(0.1))]},
    "reference-not-initial": {
        "a loop that begins at its first step has made no update": [
            finds({"proof.reference_gap": [1.8, 1.9, 2.0]}, "differ by 1.8 nats"),
            passes({"proof.reference_gap": [0.0, 0.4, 0.5]})],
        "the first row of a log may be a mean over several updates": [finds(apart(0.8, 10),
            "nats at the first row of the log"),
            passes(apart(0.1, 10)),  # a few updates may go so far
            cannot(apart(0.8, 5000))]},  # a later part of a run
    "score-lost": {
        "it names no model that is not known": [finds(replace(COLLAPSED,
            checkpoints=Checkpoint(step=100.0, path="checkpoint-100")),
            "that best checkpoint is better than this one"),
            finds(COLLAPSED, "a model that was saved")],
        "a fall in a few evaluations does not stop a run": finds({"eval.reward": [9.0, 250.0, 490.0, 500.0, 495.0,
            10.0, 9.0, 11.0], "eval.reward.std": [5.0] * 8, "eval.reward.count": [5.0] * 8}, WARNING, MEDIUM),
        "a small loss is a warning": finds({"eval.reward": np.concatenate([learning(100, sd=0.01),
            np.full(100, 0.75)]) + noise(200, 0.01)}, WARNING),
        "a dip of noisy returns that nobody evaluated names no break": [finds({"reward.mean": DIP}, NOTICE,
            algorithm="a2c"),
            finds({"reward.mean": DIP}, WARNING, algorithm="grpo")],
        "a dip that recovers": passes({"eval.reward": put(learning(200), np.s_[120:130], 0.3)}),
        "one bad last evaluation": passes({"eval.reward": put(learning(60, sd=0.02), -1, 0.5)}),
        "a plateau": passes({"eval.reward": learning(200)}),
        "in a log that begins in mid run a loss is a share of the level": [*(finds({"eval.reward": (
            np.interp(np.arange(200), [0, 100, 200], [1360, 1400, bottom]) + noise(200, 2), 7000 + np.arange(200))},
            "of its level", severity) for bottom, severity in [(1340.0, WARNING), (300.0, CRITICAL)])],
        "a small part of the gain says little": finds({"reward.mean": np.concatenate([np.linspace(0, 1, 60),
            np.full(40, 0.8)]) + noise(100, 0.01)}, WARNING, LOW, algorithm="grpo"),
        "right answers are looked at where the reward is lost in its noise": [finds({"reward.mean": noise(20),
            "reward.accuracy": ANSWERS}, metric="reward.accuracy"),
            passes({"reward.mean": noise(20), "reward.accuracy": 0.6 + noise(20, 0.01)}),
            passes({"reward.mean": learning(20), "reward.accuracy": ANSWERS}),
            finds({"reward.mean": noise(20), "reward.accuracy": np.where(np.arange(20) < 1, 0.99, 0.6)}, CRITICAL)],
        "a third of the gain lost by both scores is critical": finds(_evaluated(0.35, 0.05),
            "training reward fell as well", CRITICAL),
        "a fall that is not certain is a guess": finds(_evaluated(0.4, 0.2, training_sd=0.3), "may have peaked",
            WARNING, LOW),
        "evaluations that keep their level are no loss": passes(_evaluated(0.0, 0.05))},
    "step-too-large": {
        "a jump in the divergence with a falling score is critical": finds({"kl.old": np.concatenate([np.full(60,
            0.01), np.full(60, 0.5)]) * (1 + noise(120, 0.1, 1)), "reward.mean": LATE_FALL}, CRITICAL,
            onset=(55, 66)),
        "large steps with a score that rises are only a warning": finds({"kl.old": 0.3 + noise(120, 0.02, 1),
            "reward.mean": learning(120)}, WARNING),
        "the target is the measure where there is one": [finds(MADE, "times its target of 0.01",
            config={"target_kl": 0.01}),
            passes(MADE)],
        "small steps": passes({"kl.old": 0.01 + np.abs(noise(120, 0.002)), "reward.mean": learning(120)}),
        "a spike that recovers": passes({"kl.old": put(0.01 + np.abs(noise(120, 0.002)), 60, 0.5),
            "reward.mean": learning(120)}),
        "one update beyond all measure is enough where the score was lost": finds({"kl.old":
            put(put(0.01 + np.abs(noise(120, 0.002)), np.s_[60:], 0.0), 60, 17.9), "reward.mean": LATE_FALL},
            CRITICAL, onset=61),
        "steps that become too large are found wherever in the run": [*(finds({"kl.old": np.where(np.arange(120) < at,
            0.01, 0.5) * (1 + noise(120, 0.1, 1)), "reward.mean": learning(120)}, onset=at + 1) for at in [2, 36, 84,
            110])],
        "steps that were too large and are small again": passes({"kl.old":
            np.where((np.arange(120) > 30) & (np.arange(120) < 70), 0.5, 0.01) * (1 + noise(120, 0.1, 1)),
            "reward.mean": learning(120)})},
    "update-size-extreme": {
        "three values of a pasted table are enough": [*(finds({name: [EXTREME[name]] * 3,
            "reward.mean": [0.1, 0.1, 0.0]}, CRITICAL, metric=name) for name in EXTREME)],
        "one value is a warning": finds({"kl.old": [3.0], "reward.mean": [0.1]}, WARNING),
        "small updates are left alone": [*(passes({**curves,
            "reward.mean": [0.1, 0.2, 0.3]}) for curves in [{"kl.old": [0.02, 0.03, 0.01]},
            {"policy.clip_fraction": [0.3, 0.4, 0.2]}, {"policy.ratio.mean": [1.0, 1.2, 0.9]},
            {"kl.old": [0.02, 3.0, 0.01]},  # one batch
            {"kl.old": [-5e-07, 0.0, -2e-04]}])],  # the mean of log-ratios, which verl and AReaL log
        "a course is the business of others": exempt({"kl.old": [3.0] * 80, "reward.mean": learning(80)}),
        "a norm in proportion to the updates is that of all gradients so far": finds({"grad.norm": 0.5 * np.arange(1,
            61) * (1 + noise(60, 0.02)), "kl.old": [0.02] * 60, "reward.mean": noise(60)}, "optimizer.zero_grad()",
            onset=1),
        "other growth of the norm is not a sum": [*(exempt({"grad.norm": norms, "kl.old": [0.02] * 60,
            "reward.mean": noise(60)}) for norms in ((0.5 * np.arange(1, 61) * np.exp(noise(60, 0.3))),
            (0.5 * np.exp(0.08 * np.arange(1, 61)) * (1 + noise(60, 0.02))), 0.5 + 0.02 * np.arange(1, 61)))]},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


@pytest.mark.parametrize(("updates", "spoken"), [(6, True), (3, False)])
def test_some_updates_at_the_end_are_enough(updates: int, spoken: bool) -> None:
    clip = np.where(np.arange(80) < 80 - updates, 0.05, 0.5)
    assert (
        look("clip-fraction-high", run({"policy.clip_fraction": clip, "reward.mean": learning(80)})).finding is not None
    ) is spoken


def test_few_evaluations_are_enough_where_the_reward_of_every_step_agrees() -> None:
    kl = np.concatenate([np.full(100, 0.02), np.linspace(0.02, 0.1, 100)]) * (1 + noise(200, 0.05))
    stops = np.minimum(np.linspace(0, 2, 200), 0.5) + noise(200, 0.03, 1)
    at = np.arange(0, 200, 20)
    evaluation = {"eval.accuracy": series("eval.accuracy", stops[at] + noise(10, 0.01, 2), at)}

    def evaluated(reward: np.ndarray) -> Run:
        trained = run({"kl.ref": kl, "reward.mean": reward})
        return replace(trained, series={**trained.series, **evaluation})

    assert found("kl-reward", evaluated(stops)).numbers["cell"] == "rising/flat"
    assert silent("kl-reward", evaluated(np.linspace(0, 1, 200) + noise(200, 0.03, 1)))


def test_it_is_worth_a_line_and_no_more() -> None:
    kl = 0.05 + np.abs(noise(100, 0.005))
    kl[[10, 30, 50]] = 3.0
    assert found("kl-spike", run({"kl.ref": kl})).severity is not Severity.WARNING


def test_a_divergence_that_grows_as_the_policy_learns_is_healthy() -> None:
    for grown in (0.4 * (1 - np.exp(-np.arange(1, 101) / 20)), np.geomspace(0.001, 0.4, 100)):
        finding = look("kl-spike", run({"kl.ref": grown * np.exp(noise(100, 0.3))})).finding
        assert finding is None or "stayed" not in finding.message


def test_a_rate_of_exactly_0_is_told_once() -> None:
    curves = {"lr": np.where(X < 0.5, 1e-3, 0.0)}
    assert found("learning-rate-gone", run(curves)).severity is Severity.CRITICAL
    assert silent("no-update", run(curves))


def test_a_rate_below_0_is_proved_with_its_first_value() -> None:
    finding = found("learning-rate-negative", run({"lr": STEPPED_TOO_OFTEN}))
    assert "the learning rate is negative (-3.846e-05)" in finding.message
    assert finding.onset == 28
    silent("learning-rate-gone", run({"lr": STEPPED_TOO_OFTEN}))


def test_it_is_the_first_break_before_what_it_does_to_the_critic() -> None:
    """As in a run whose score was kept while the value loss grew a millionfold."""
    score = np.r_[np.linspace(-500, -80, 20), np.full(130, -80.0)] + noise(150, 5)
    value = np.r_[np.full(28, 0.06), 0.06 * 1.15 ** np.arange(122)]
    made = run({"lr": STEPPED_TOO_OFTEN, "reward.mean": score, "value.loss": value}, algorithm="ppo")
    dx = diagnose(made)
    assert dx.first_break is not None
    assert dx.first_break.link is Link.POLICY_UPDATE
    assert dx.causes[0].id == "schedule-too-short"


def test_what_changed_at_the_step_of_a_jump_is_told_with_it() -> None:
    late = np.arange(120) >= 60
    loss = 0.2 * np.where(late, 0.5, 1) * (1 + noise(120, 0.15, 1))
    curves = {"policy.loss": loss, "reward.mean": learning(120), "lr": 1e-4 * np.where(late, 0.1, 1)}
    message = found("loss-pattern", run(curves)).message
    assert "the learning rate went from 0.0001 to 1e-05" in message
    assert "gradient" not in message
    norms = np.where(late, 6.0, 1.0) * (1 + noise(120, 0.1, 2))
    assert "the gradient norm went from" in found("loss-pattern", run(curves | {"grad.norm": norms})).message


@pytest.mark.parametrize("factor", [2.2, 0.45])
@pytest.mark.parametrize("at", [12, 60, 108])
def test_a_loss_that_is_doubled_or_halved_at_once_is_worth_a_line(at: int, factor: float) -> None:
    loss = -0.2 * np.where(np.arange(120) < at, 1, factor) * (1 + noise(120, 0.1, 1))
    learns = {"reward.mean": learning(120)}
    for score, severity in (({}, "notice"), (learns, "notice"), ({"reward.mean": FELL}, "warning")):
        finding = found("loss-pattern", run({"policy.loss": loss, **score}))
        assert (finding.severity.value, finding.onset) == (severity, at + 1)


def test_round_zero_means_round_zero() -> None:
    wandering = 1 + 0.3 * np.sin(np.arange(120) / 19) + noise(120, 0.05)
    assert silent("loss-pattern", run({"policy.loss": wandering, "reward.mean": noise(120, 1, 4)}))
    heavy = np.abs(np.random.default_rng(0).standard_cauchy(120))
    finding = look("loss-pattern", run({"policy.loss": heavy, "reward.mean": noise(120, 1, 4)})).finding
    assert finding is None or "round zero" not in finding.message


@pytest.mark.parametrize(
    ("defaulted", "status"),
    [({"minibatches", "epochs_per_batch"}, Status.NOT_MEASURED), ({"epochs_per_batch"}, Status.FOUND)],
)
def test_a_product_of_defaults_does_not_say_how_often_a_batch_is_used(defaulted: set[str], status: Status) -> None:
    made = run(RATIO_ONE, config={"minibatches": 4, "epochs_per_batch": 1, "updates_per_batch": 4}, trainer="sb3")
    guessed = replace(made, config=replace(made.config, defaulted=frozenset(defaulted)))
    assert look("ratio-always-one", guessed).status is status


@pytest.mark.parametrize(("trainer", "clipped", "warned"), [(None, 0.0, True), (None, 0.1, False), ("sb3", 0.0, False)])
def test_a_script_for_control_that_does_not_log_its_epochs(trainer: str | None, clipped: float, warned: bool) -> None:
    """A library stores the old log-probabilities, so there 0 means one update per batch."""
    curves = {"kl.old": [0.0] * 50, "policy.clip_fraction": [clipped] * 50, "episode.length": 20 + noise(50)}
    said = look("ratio-always-one", run(curves, trainer=trainer))
    assert (said.finding is not None) is warned
    if warned:
        assert "if each batch is used more than once" in said.finding.message


def test_a_collapse_names_the_best_step() -> None:
    curve = np.concatenate([learning(100), np.full(100, 0.1)]) + noise(200, 0.03)
    finding = found("score-lost", run({"eval.reward": curve}), Severity.CRITICAL)
    assert finding.interval is not None
    assert finding.interval[0] <= 101 <= finding.interval[1] + 5
    assert "a model that was saved near that step is better than this one" in finding.message


@pytest.mark.parametrize(
    ("name", "scores", "stops"),
    [("eval.reward", SWINGS, False), ("eval.reward", ONCE, True), ("eval.accuracy", OF_400, True)],
)
def test_a_loss_is_lasting_beyond_its_error_and_where_none_like_it_was_regained(
    name: str, scores: list[float], stops: bool
) -> None:
    assert (diagnose(run({name: scores})).verdict.action is Action.ROLLBACK) == stops


@pytest.mark.parametrize("shift", [-100.0, 0.0, 100.0])
def test_a_loss_that_is_being_made_up_does_not_stop_a_run(shift: float) -> None:
    climb, fallen = 100 * learning(80), np.full(80, 10.0)
    back = found(
        "score-lost", run({"eval.reward": shift + np.concatenate([climb, np.linspace(10, 60, 80)]) + noise(160, 3)})
    )
    stays = found("score-lost", run({"eval.reward": shift + np.concatenate([climb, fallen]) + noise(160, 3)}))
    assert (back.severity, stays.severity) == (Severity.WARNING, Severity.CRITICAL)
    assert "rises again" in back.message
    assert "rises again" not in stays.message


def test_what_training_lost_counts_unless_the_evaluation_denies_it() -> None:
    few = series("eval.reward", 5 + noise(12, 6), np.linspace(1, 300, 12))
    kept = series("eval.reward", np.minimum(np.linspace(-4, 20, 12), 12) + noise(12, 0.3), np.linspace(1, 300, 12))

    def evaluated(end: float, evaluation: Series) -> Run:
        earned = np.concatenate([np.linspace(-4, 12, 200), np.full(100, end)]) + noise(300, 0.5)
        return Run(path="a-run", series={**run({"reward.mean": earned}).series, "eval.reward": evaluation})

    collapsed = found("score-lost", evaluated(-4.0, few))
    assert (collapsed.severity, collapsed.metric) == (Severity.CRITICAL, "reward.mean")
    found("score-lost", evaluated(4.0, few), Severity.WARNING, Confidence.MEDIUM)
    found("score-lost", evaluated(9.0, few), Severity.WARNING, Confidence.LOW)
    assert silent("score-lost", evaluated(9.0, kept))
    assert found("score-lost", evaluated(-4.0, kept)).severity is Severity.WARNING


def test_a_method_without_epochs_is_not_advised_to_stop_them() -> None:
    made = {"kl.old": 0.3 + noise(120, 0.02, 1), "reward.mean": learning(120)}
    assert "epochs" in found("step-too-large", run(made, algorithm="ppo")).message
    assert "epochs" not in found("step-too-large", run(made, algorithm="sac")).message


def test_updates_that_grow_sixfold_for_good_count_where_the_score_falls_from_there() -> None:
    late = np.arange(120) >= 70
    curves = {"kl.old": 0.002 * np.where(late, 8, 1) * np.exp(noise(120, 0.2, 1))}
    fallen = np.where(late, 0.4, np.arange(120) / 100) + noise(120, 0.03, 2)
    rising = np.arange(120) / 100 + noise(120, 0.03, 2)
    assert abs(found("step-too-large", run(curves | {"reward.mean": fallen}, algorithm="ppo")).onset - 71) <= 2
    assert silent("step-too-large", run(curves | {"reward.mean": rising}, algorithm="ppo"))
    clipped = {"policy.clip_fraction": np.where(late, 0.4, 0.08)}
    assert (
        found("step-too-large", run(curves | clipped | {"reward.mean": rising}, algorithm="ppo")).severity
        is Severity.WARNING
    )


def test_a_pasted_table_of_huge_updates_names_the_update_among_the_links() -> None:
    curves = {"kl.old": [2.0, 5.0, 9.0], "policy.clip_fraction": [0.95, 0.97, 0.99], "reward.mean": [0.5, 0.2, 0.1]}
    first = diagnose(run(curves, algorithm="ppo")).first_break
    assert first is not None
    assert Link.POLICY_UPDATE in first.links
