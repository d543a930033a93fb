"""Healthy runs with the noise of real ones, which a generator changes.

`make` draws one: its levels from what trainers usually log, its noise from the quantiles of real healthy runs (noise.json).
A generator copies `world.healthy`, changes some entries, and returns them. In a curve

- NaN says that nothing was logged at this step,
- LOGGED_NAN says that the trainer logged "nan", and an infinity that it logged "inf".

Signals that repeat another one (COPIES: the only reward function beside the reward, ...) follow it where a generator has
changed that one and not them. All other relations are the generator's: who makes steps longer lowers the throughput.
"""

import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.curves import ar1_noise
from benchmarks.judgement.quantiles import QUANTILES
from benchmarks.judgement.quantiles import noise as measured_noise
from firstbreak.dialects.signals import ESTIMATORS

LOGGED_NAN = sys.float_info.max  #: in a curve: the trainer logged "nan" at this step
DEFAULT_NOISE = 0.05  #: share of the value, where no real run logs a signal
MOST_NOISE = 0.4  #: share of the value: the batches of the measured runs are small, and some of their curves near 0
EVALUATION_NOISE = 0.04  #: of a share of right answers, at most: fewer than 150 answers are a fault of their own
AUTOCORRELATION = 0.3

#: signal -> the one that it repeats in a healthy run
COPIES: Mapping[str, str] = {
    "reward.component.accuracy_reward.mean": "reward.mean",
    "reward.component.accuracy_reward.std": "reward.std",
    "reward.rollout.mean": "reward.mean",
    "reward.shaped.mean": "reward.mean",
    "eval.reward.component.accuracy_reward.mean": "eval.reward",
    "pref.loss@running": "pref.loss",
    "pref.reward.accuracy@running": "pref.reward.accuracy",
    "length.terminated_mean": "length.mean",
    "length.non_aborted.mean": "length.mean",
    "length.non_aborted.clipped_ratio": "length.clipped_ratio",
}


@dataclass(frozen=True, kw_only=True)
class World:
    """One run to be made: how long, how often evaluated, how noisy, and from which seed."""

    rng: np.random.Generator
    n: int  #: steps that are logged
    eval_every: int  #: logged steps between two evaluations
    family: str  #: "text" (a language model) or "control"
    trainer: str  #: "trl", "sb3", ...: the dialect
    method: str  #: "grpo", "ppo", "dqn", "dpo", ...: what the trainer's file says of the algorithm
    noise: Mapping[str, float]  #: signal -> standard deviation of one step, drawn from the quantiles of real runs
    effect: float  #: in [0, 1]: where between the small and the large real effects the statement's change lies
    healthy: Mapping[str, np.ndarray]  #: signal -> its curve in a healthy run of this trainer, noise included, (n,)
    steps: np.ndarray  #: (n,) as the trainer counts them: training steps, or environment steps
    config: dict[str, Any] = field(
        default_factory=dict
    )  #: canonical hyperparameter -> value; a generator may change it

    @property
    def x(self) -> np.ndarray:
        """Progress through the run, 0 to 1, (n,)."""
        return np.linspace(0.0, 1.0, self.n)

    def between(self, small: float, large: float) -> float:
        """A size of effect between a small and a large one, geometrically where both are positive."""
        if small > 0 and large > 0:
            return float(small * (large / small) ** self.effect)
        return float(small + (large - small) * self.effect)

    def noisy(self, signal: str, curve: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """`curve` (n,) with this signal's noise: autocorrelated, heavy-tailed, its real standard deviation times `scale`."""
        sd = self.noise.get(signal, DEFAULT_NOISE * float(np.nanmedian(np.abs(curve))))
        return curve + scale * sd * ar1_noise(self.rng, self.n, AUTOCORRELATION)

    def evaluated(self, curve: np.ndarray) -> np.ndarray:
        """`curve` (n,) at the steps that are evaluated, NaN elsewhere."""
        out = np.full(self.n, np.nan)
        out[:: self.eval_every] = curve[:: self.eval_every]
        return out

    def slowed(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """Every curve of time and speed, where step i and its rollout take `times[i]` times as long, (n,)."""
        out: dict[str, np.ndarray] = {}
        step = self.healthy.get("time.step", self.healthy.get("time.iteration"))
        if "time.rollout" in self.healthy and step is not None:  # the rollout takes all of the extra time
            out["time.rollout"] = self.healthy["time.rollout"] + (times - 1) * step
        elif "time.rollout" in self.healthy:
            out["time.rollout"] = self.healthy["time.rollout"] * times
        for name, curve in self.healthy.items():
            if name in ("time.step", "time.iteration"):
                out[name] = curve * times
            elif name in ("throughput.sps", "throughput.fps"):  # mean since the start
                out[name] = curve * np.arange(1, self.n + 1) / np.cumsum(times)
            elif name.startswith("throughput."):
                out[name] = curve / times
            elif name == "time.elapsed":
                out[name] = np.cumsum(np.diff(curve, prepend=0.0) * times)
        return out

    def onset(self, low: float = 0.3, high: float = 0.7) -> int:
        """A step at which something changes, drawn between two shares of the run."""
        return int(self.rng.uniform(low, high) * self.n)


@dataclass(frozen=True)
class Clean:
    """A healthy curve before its noise."""

    values: np.ndarray  #: (n,)
    low: float = -np.inf
    high: float = np.inf
    sd: float | None = (
        None  #: of the noise, in the signal's unit, where no real run logs it; None: a share of the value
    )
    fixed: bool = False  #: the noise is `sd`, whatever real runs show: their unit or their batch is another one
    like: str = ""  #: the signal whose noise it has, where that is another one
    evaluated: bool = False


def make(trainer: str, method: str, n: int, eval_every: int, seed: int) -> World:
    """A healthy run of this trainer and method: `n` logged steps, an evaluation every `eval_every` of them."""
    from benchmarks.judgement.trainers import TRAINERS  # which knows the signals that a trainer logs

    spec = TRAINERS[trainer]
    rng = np.random.default_rng(seed)
    effect = float(rng.uniform())
    family = spec.family
    draw = _text if family == "text" else _control
    clean, config = draw(rng, n, trainer, method)
    names = spec.names(method)
    known = measured_noise()[family]
    noise: dict[str, float] = {}
    healthy: dict[str, np.ndarray] = {}
    at = np.zeros(n, bool)
    at[::eval_every] = True
    for signal, curve in clean.items():
        # the noise of one signal does not depend on which others a trainer logs
        own = np.random.default_rng([seed, zlib.crc32(signal.encode())])
        share, sd = _size(own, curve.like or signal, known, curve)
        noise[signal] = sd
        if signal not in names or signal in COPIES:
            continue
        wave = ar1_noise(own, n, 0.0 if curve.evaluated else AUTOCORRELATION)
        values = curve.values * np.maximum(1 + share * wave, 0.05) if share else curve.values + sd * wave
        values = np.clip(values, curve.low, curve.high)
        healthy[signal] = np.where(at, values, np.nan) if curve.evaluated else values
    _derive(healthy, clean, names)
    for copy, source in COPIES.items():
        if copy in names and source in healthy:
            healthy[copy] = healthy[source]
            noise[copy] = noise[source]
    return World(
        rng=rng,
        n=n,
        eval_every=eval_every,
        family=family,
        trainer=trainer,
        method=method,
        noise=noise,
        effect=effect,
        healthy=healthy,
        steps=np.arange(1, n + 1) * float(spec.steps_per_row),
        config=config,
    )


def completed(world: World, curves: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """`curves`, where copies that the generator left alone follow what it has changed."""
    out = dict(curves)
    for copy, source in COPIES.items():
        if copy not in out or source not in out or source not in world.healthy or copy not in world.healthy:
            continue
        untouched = out[copy] is world.healthy[copy] or np.array_equal(out[copy], world.healthy[copy], equal_nan=True)
        if untouched and not np.array_equal(out[source], world.healthy[source], equal_nan=True):
            out[copy] = out[source]
    return out


def _size(rng: np.random.Generator, signal: str, known: Mapping[str, Any], curve: Clean) -> tuple[float, float]:
    """Standard deviation of the noise: as a share of the curve where it is multiplied (else 0), and at its usual level."""
    level = float(np.median(np.abs(curve.values)))
    if curve.sd == 0 or curve.fixed:
        return 0.0, float(curve.sd or 0.0)
    names = (signal, *(f"{signal}.{estimator}" for estimator in ESTIMATORS))
    quantiles = next((known[name] for name in names if name in known), {})
    if curve.sd is None:
        share = min(_drawn(rng, quantiles.get("relative"), DEFAULT_NOISE), MOST_NOISE)
        return share, share * level
    sd = _drawn(rng, quantiles.get("absolute"), curve.sd)
    return 0.0, min(sd, EVALUATION_NOISE) if curve.evaluated else sd


def _drawn(rng: np.random.Generator, quantiles: Sequence[float] | None, default: float) -> float:
    """A size between the 10 % and the 90 % quantile of real runs."""
    at = rng.uniform(0.1, 0.9)
    return default if quantiles is None else float(np.interp(at, QUANTILES, quantiles))


def _derive(healthy: dict[str, np.ndarray], clean: Mapping[str, Clean], names: Mapping[str, Any]) -> None:
    """What a trainer works out of other numbers of the same step."""
    phases = [s for s in clean if s in PHASES]
    if "time.step" in healthy and (logged := [healthy[s] for s in phases if s in healthy]):
        unlogged = sum((clean[s].values for s in phases if s not in healthy), np.zeros(1))
        healthy["time.step"] = np.sum(logged, axis=0) + unlogged + 0.02 * clean["time.step"].values
    if "throughput.tok_s_gpu" in healthy:
        healthy["throughput.tok_s_gpu"] = healthy["tokens.step"] / healthy["time.step"] / GPUS
    if "reward.kl_penalty" in healthy and "kl.ref" in clean and "kl.ref" not in names:
        healthy["reward.kl_penalty"] = np.minimum(healthy["reward.kl_penalty"], 0.0)
    if {"pref.reward.margin", "pref.reward.chosen", "pref.reward.rejected"} <= healthy.keys():
        healthy["pref.reward.margin"] = healthy["pref.reward.chosen"] - healthy["pref.reward.rejected"]
    if "length.max" in healthy:
        healthy["length.max"] = np.maximum(healthy["length.max"], 1.2 * healthy["length.mean"])


PHASES = ("time.rollout", "time.train", "time.update_weights", "time.old_logp", "time.ref_logp", "time.train_critic")
GPUS = 8
LIMIT = 1024  #: tokens of a completion
EPISODE_LIMIT = 1000  #: environment steps


def _progress(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Progress through the run, and skill: it rises from 0 and saturates at 1; both (n,)."""
    x = np.linspace(0.0, 1.0, n)
    tau = rng.uniform(0.25, 0.6)
    return x, (1 - np.exp(-x / tau)) / (1 - np.exp(-1 / tau))


def _text(rng: np.random.Generator, n: int, trainer: str, method: str) -> tuple[dict[str, Clean], dict[str, Any]]:
    """Every signal that a trainer of language models may log, and the hyperparameters."""
    x, skill = _progress(rng, n)
    one, u = np.ones(n), rng.uniform
    if method == "dpo":
        return _preference(rng, x, skill)
    right = u(0.15, 0.35) + u(0.3, 0.45) * skill
    length = u(200, 400) * (1 + u(0.0, 0.25) * skill)
    prompt = u(80, 200)
    samples = 512
    asynchronous = trainer == "areal" and method == "grpo"
    lr = 1e-6 if method != "ppo" else 3e-6
    seconds = u(25, 80)
    spread = np.sqrt(right * (1 - right))
    kl = u(0.01, 0.05) * (0.03 + skill + u(0.0, 0.3) * x)
    coefficient = 0.1 if trainer == "areal" else 0.001
    memory = u(45, 62)
    gap = u(0.0, 0.03)
    small = dict(low=0.0, high=1.0)
    clean = {
        "reward.mean": Clean(right, 0, 1, 0.05),
        "reward.std": Clean(spread, 0, 1, 0.01, fixed=True),
        "reward.max": Clean(one, sd=0.0),
        "reward.min": Clean(0 * one, sd=0.0),
        "reward.component.accuracy_reward.mean": Clean(right, 0, 1, 0.05),
        "reward.component.accuracy_reward.std": Clean(spread, 0, 1, 0.01, fixed=True),
        "reward.rollout.mean": Clean(right, 0, 1, 0.05),
        "reward.shaped.mean": Clean(right, 0, 1, 0.05),
        "reward.group_std": Clean(0.75 * spread, 0, 1, 0.015),
        "reward.zero_std_frac": Clean(0.15 + 0.2 * skill, sd=0.03, **small),
        "reward.kl_penalty": Clean(-coefficient * kl, -np.inf, 0),
        "eval.reward": Clean(right - gap, 0, 1, 0.02, evaluated=True),
        "eval.reward.component.accuracy_reward.mean": Clean(right - gap, 0, 1, 0.03, evaluated=True),
        "eval.length.mean": Clean(0.98 * length, 1, LIMIT, evaluated=True),
        "length.mean": Clean(length, 1, LIMIT),
        "length.max": Clean(np.minimum(2.6 * length, LIMIT), 1, LIMIT),
        "length.min": Clean(0.25 * length, 1, LIMIT),
        "length.terminated_mean": Clean(length, 1, LIMIT),
        "length.total.mean": Clean(prompt + length, 1),
        "length.prompt.mean": Clean(prompt * one, 1, sd=0.02 * prompt),
        "length.prompt.clipped_ratio": Clean(0 * one, sd=0.0),
        "length.clipped_ratio": Clean(u(0.005, 0.03) * one, sd=0.003, **small),
        "length.correct.mean": Clean(prompt + 0.95 * length, 1),
        "length.incorrect.mean": Clean(prompt + 1.1 * length, 1),
        "length.aborted_frac": Clean(0 * one, sd=0.0),
        "length.non_aborted.mean": Clean(length, 1, LIMIT),
        "length.non_aborted.clipped_ratio": Clean(0.01 * one, **small),
        "kl.ref": Clean(kl, 0),
        "kl.ref.seq_sum": Clean(kl * length, 0),
        "kl.old": Clean(u(3e-4, 2e-3) * one, 0),
        "kl.coef": Clean(coefficient * one, sd=0.0),
        "loss.total": Clean(0.002 * skill, sd=0.004),
        "policy.loss": Clean(0.002 * (1 - skill), sd=0.006),
        "policy.clip_fraction": Clean(u(0.004, 0.02) * one, **small),
        "policy.clip_fraction.low": Clean(u(0.002, 0.008) * one, **small),
        "policy.clip_fraction.high": Clean(u(0.002, 0.01) * one, **small),
        "policy.clip_fraction.dual": Clean(u(0.0001, 0.0006) * one, **small),
        "policy.ratio.mean": Clean(one, sd=8e-4),
        "policy.entropy": Clean(u(0.3, 0.9) * (1 - u(0.15, 0.4) * skill), 0.01),
        "policy.entropy_proxy.seq_sum": Clean(0.6 * length * (1 - 0.2 * skill), 0.01),
        "grad.norm": Clean(u(0.15, 0.8) * (1 - 0.2 * skill), 1e-4),
        "lr": Clean(lr * one, sd=0.0),
        "advantage.mean": Clean(0 * one, sd=0.01),
        "advantage.max": Clean(2.2 * one),
        "advantage.min": Clean(-2.2 * one),
        "returns.mean": Clean(right if method == "ppo" else 0 * one, sd=0.01),
        "value.loss": Clean(0.03 + 0.09 * (1 - skill), 0),
        "value.mean": Clean(right, sd=0.02),
        "value.pred.mean": Clean(right, sd=0.02),
        "value.target.mean": Clean(right, sd=0.02),
        "value.explained_variance": Clean(0.1 + u(0.35, 0.6) * skill, -1, 1, 0.04),
        "value.clip_fraction": Clean(u(0.005, 0.03) * one, **small),
        "value.grad_norm": Clean(u(0.5, 3.0) * (1 - 0.4 * skill), 1e-3),
        "value.lr": Clean(10 * lr * one, sd=0.0),
        "value.update_ok": Clean(one, sd=0.0),
        "optim.update_ok": Clean(one, sd=0.0),
        "rollout_train.logp_absdiff.mean": Clean(u(0.006, 0.02) * one, 0),
        "rollout_train.logp_absdiff.max": Clean(u(0.3, 0.9) * one, 0, sd=0.05),
        "rollout_train.ratio.mean": Clean(one, sd=6e-4),
        "rollout_train.kl": Clean(u(3e-4, 1.2e-3) * one),
        "rollout_train.prob_absdiff.mean": Clean(u(0.003, 0.008) * one, 0),
        "staleness.mean": Clean(u(0.6, 1.6) * one, 0, 2, 0.08),
        "staleness.max": Clean(2 * one, sd=0.0),
        "behave.ratio.mean": Clean(one, sd=0.002),
        "behave.ratio.max": Clean(u(2.5, 4.5) * one, 1, 5),
        "behave.kl": Clean(u(0.002, 0.008) * one),
        "behave.ratio_cap_frac": Clean(u(5e-4, 3e-3) * one, **small),
        "policy_version.train": Clean(np.arange(1.0, n + 1), sd=0.0),
        "time.rollout": Clean(u(0.45, 0.6) * seconds * length / length[0], 0),
        "time.train": Clean(u(0.2, 0.28) * seconds * one, 0),
        "time.update_weights": Clean(0.03 * seconds * one, 0),
        "time.old_logp": Clean(0.06 * seconds * one, 0),
        "time.ref_logp": Clean(0.05 * seconds * one, 0),
        "time.train_critic": Clean((0.12 if method == "ppo" else 0.0) * seconds * one, 0),
        "time.step": Clean(seconds * one, 0),
        "time.eval": Clean(0.6 * seconds * one, 0, evaluated=True),
        "throughput.tok_s_gpu": Clean(samples * (prompt + length) / seconds / GPUS, 0),
        "throughput.episodes_per_s": Clean(samples / seconds * one, 0),
        "tokens.step": Clean(samples * (prompt + length), 1),
        "tokens.train": Clean(samples * length, 1),
        "tokens.total": Clean(np.cumsum(samples * (prompt + length)), sd=0.0),
        "perf.mfu.actor": Clean(u(0.25, 0.42) * one, **small),
        "memory.gpu": Clean(memory * one, 0, sd=0.15),
        "memory.gpu_reserved": Clean((memory + u(3, 9)) * one, 0, sd=0.1),
        "memory.cpu": Clean(u(60, 140) * one, 0),
        "samples.step": Clean(samples * one, sd=0.0),
        "progress.epoch": Clean((np.arange(n) + 1) / n, sd=0.0),
    }
    config: dict[str, Any] = {
        "learning_rate": lr,
        "group_size": 1 if method == "ppo" else 8,
        "max_new_tokens": LIMIT,
        "clip_range": 0.2,
        "temperature": 1.0,
        "kl_coef": coefficient,
        "total_steps": n,
        "seed": 1,
    }
    if asynchronous:
        config |= {"max_staleness": 2, "use_decoupled_loss": True, "recompute_logprob": True, "behave_weight_cap": 5.0}
    return clean, config


def _preference(rng: np.random.Generator, x: np.ndarray, skill: np.ndarray) -> tuple[dict[str, Clean], dict[str, Any]]:
    """Direct preference optimisation: implicit rewards start at 0, and the loss at log 2."""
    one, u = np.ones(len(x)), rng.uniform
    beta = 0.1
    chosen, rejected = u(0.0, 0.35) * skill, -u(0.5, 1.1) * skill
    margin = chosen - rejected
    accuracy = 0.5 + u(0.15, 0.28) * skill
    loss = np.log(2) * (1 - 0.3 * skill) - 0.02 * margin
    memory = u(45, 62)
    clean = {
        "loss.total": Clean(loss, 0, sd=0.02),
        "pref.loss": Clean(loss, 0, sd=0.02),
        "pref.reward.chosen": Clean(chosen, sd=0.04),
        "pref.reward.rejected": Clean(rejected, sd=0.04),
        "pref.reward.margin": Clean(margin, sd=0.05),
        "pref.reward.accuracy": Clean(accuracy, 0, 1, 0.04),
        "pref.logp.chosen": Clean(-u(180, 320) + chosen / beta, sd=6.0),
        "pref.logp.rejected": Clean(-u(180, 320) + rejected / beta, sd=6.0),
        "pref.logits.chosen": Clean(-u(1.0, 2.5) * one, sd=0.05),
        "pref.logits.rejected": Clean(-u(1.0, 2.5) * one, sd=0.05),
        "eval.loss": Clean(loss + u(0.0, 0.02), 0, sd=0.008, evaluated=True),
        "eval.pref.loss": Clean(loss + u(0.0, 0.02), 0, sd=0.008, evaluated=True),
        "eval.pref.reward.accuracy": Clean(accuracy - u(0.0, 0.02), 0, 1, 0.012, evaluated=True),
        "eval.pref.reward.margin": Clean(0.95 * margin, sd=0.02, evaluated=True),
        "eval.pref.reward.chosen": Clean(0.95 * chosen, sd=0.02, evaluated=True),
        "eval.pref.reward.rejected": Clean(0.95 * rejected, sd=0.02, evaluated=True),
        "policy.token_accuracy": Clean(u(0.55, 0.7) * one, 0, 1, 0.01),
        "grad.norm": Clean(u(2, 12) * one, 1e-3),
        "lr": Clean(5e-7 * (1 - x) + 1e-12, sd=0.0),
        "tokens.total": Clean(np.cumsum(60_000 * one), sd=0.0),
        "memory.gpu": Clean(memory * one, 0, sd=0.15),
        "progress.epoch": Clean((np.arange(len(x)) + 1) / len(x), sd=0.0),
    }
    return clean, {"learning_rate": 5e-7, "kl_coef": beta, "total_steps": len(x), "seed": 1}


def _control(rng: np.random.Generator, n: int, trainer: str, method: str) -> tuple[dict[str, Clean], dict[str, Any]]:
    """Every signal that a trainer of control policies may log, and the hyperparameters."""
    x, skill = _progress(rng, n)
    one, u = np.ones(n), rng.uniform
    start, best = u(40, 120), u(700, 2800)
    reward = start + (best - start) * skill
    length = 150 + (u(650, 850) - 150) * skill
    lr = {"ppo": 3e-4, "a2c": 7e-4, "dqn": 1e-4, "sac": 3e-4}[method]
    if (trainer, method) == ("cleanrl", "ppo"):
        lr = 2.5e-4
    rate = lr * (1 - x) + 1e-9 if (trainer, method) == ("cleanrl", "ppo") else lr * one  # CleanRL anneals by default
    value = 0.02 * reward + 2
    fps = {"ppo": u(900, 2500), "a2c": u(900, 2500), "dqn": u(300, 800), "sac": u(100, 250)}[method]
    from benchmarks.judgement.trainers import TRAINERS

    per_row = TRAINERS[trainer].steps_per_row
    seconds = per_row / fps
    on_policy = method in ("ppo", "a2c")
    small = dict(low=0.0, high=1.0)
    single = "reward.episode" if trainer == "cleanrl" else ""  # CleanRL logs single episodes
    clean = {
        "reward.mean": Clean(reward, like=single),
        "reward.max": Clean(1.25 * reward),
        "reward.min": Clean(0.4 * reward),
        "episode.length": Clean(length, 1, EPISODE_LIMIT),
        "eval.reward": Clean(1.05 * reward, evaluated=True),
        "eval.reward.std": Clean(0.12 * reward, 0.1, evaluated=True),
        "eval.episode_length": Clean(length, 1, EPISODE_LIMIT, evaluated=True),
        "policy.entropy": Clean(u(1.2, 2.2) * (1 - u(0.2, 0.5) * skill), 0.05),
        "policy.loss": Clean(
            -value if method == "sac" else -0.008 * one, sd=0.3 if method == "sac" else 0.004, fixed=True
        ),
        "policy.clip_fraction": Clean(u(0.06, 0.16) * one, **small),
        "policy.clip_range": Clean(0.2 * one, sd=0.0),
        "kl.old": Clean(u(0.004, 0.011) * one, 0),
        "kl.old.k1": Clean(u(0.001, 0.003) * one, sd=5e-4),
        "kl.coef": Clean(0.2 * one, sd=0.0),
        "lr": Clean(rate, sd=0.0),
        "loss.total": Clean(u(8, 25) * (1 - 0.5 * skill)),
        "value.loss": Clean((u(20, 60) if on_policy else u(0.4, 1.5)) * (1 - 0.5 * skill), 0),
        "value.explained_variance": Clean(0.15 + u(0.5, 0.75) * skill, -1, 0.98, 0.03),
        "value.mean": Clean(value, sd=0.3, fixed=True),
        "value.loss@qf1": Clean(u(0.4, 1.5) * one, 0),
        "epsilon": Clean(np.clip(1 - x / 0.15, 0.05, 1.0), sd=0.0),
        "alpha": Clean(0.05 + 0.6 * np.exp(-x / 0.15), 0.001),
        "alpha.loss": Clean(-0.3 * np.exp(-x / 0.2), sd=0.08, fixed=True),
        "action.std": Clean(1 - u(0.2, 0.5) * skill, 0.05, sd=0.002),
        "grad.norm": Clean(u(0.5, 3.0) * one, 1e-3, sd=0.2, fixed=True),
        "throughput.fps": Clean(fps * one, 1, sd=0.004 * fps, fixed=True),
        "throughput.sps": Clean(fps * one, 1, sd=0.004 * fps, fixed=True),
        "throughput.sps_instant": Clean(fps * one, 1, sd=0.02 * fps, fixed=True),
        "time.elapsed": Clean(seconds * np.arange(1, n + 1), sd=0.0),
        "time.iteration": Clean(seconds * one, 0),
        "time.step": Clean(0.98 * seconds * one, 0),
        "time.rollout": Clean(0.55 * seconds * one, 0),
        "time.train": Clean(0.38 * seconds * one, 0),
        "time.update_weights": Clean(0.01 * seconds * one, 0),
        "progress.iterations": Clean(np.arange(1.0, n + 1), sd=0.0),
        "progress.updates": Clean(10.0 * np.arange(1, n + 1), sd=0.0),
        "progress.episodes": Clean(np.cumsum(np.maximum(1.0, np.round(per_row / length))), sd=0.0),
        "perf.ram_util": Clean(u(0.3, 0.6) * one, **small, sd=0.003),
        "perf.cpu_util": Clean(u(0.4, 0.7) * one, **small, sd=0.02),
    }
    config: dict[str, Any] = {"learning_rate": lr, "gamma": 0.99, "total_steps": int(per_row * n), "seed": 1}
    if method == "ppo":
        config |= {"clip_range": 0.2, "n_envs": 8, "n_steps": int(per_row // 8), "gae_lambda": 0.95}
    return clean, config
