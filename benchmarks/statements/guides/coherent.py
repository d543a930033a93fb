"""Changes of a healthy run that keep its curves in agreement: a score moves with its evaluation, a length with its tokens.

`pace`, `shape`, `factor`: one number for each step of the world, (n,).
"""

from __future__ import annotations

import numpy as np

from benchmarks.curves import ar1_noise
from benchmarks.statements.statement import Curves
from benchmarks.statements.worlds import AUTOCORRELATION, COPIES, GPUS, World
from firstbreak.dialects.signals import lookup
from firstbreak.engine.stats.noise import quasi_difference
from firstbreak.engine.stats.normal import z_to_t

#: standard errors that one must ask for, because healthy runs of the lab show falls of up to 4.4, and of up to 3.1 where at
#: most `FEW` evaluations fall alone (python -m benchmarks.falls)
ASKED, ASKED_ALONE, FEW = 4.5, 3.8, 25
SEEN = 1.88  #: standard errors above what is asked for: 97 % of such falls are that clear
#: share of the gain that only the training reward lost: healthy runs of the lab lose up to 44 % of it at five standard errors
ALONE = 0.5

#: scores on training data, and on held-out data, in any trainer's choice of them
TRAINED = (
    "reward.mean",
    "reward.episode",
    "reward.rollout.mean",
    "reward.filtered.mean",
    "reward.shaped.mean",
    "reward.token_shaped.mean",
    "reward.step.mean",
    "reward.accuracy",
    "reward.pass_at_k",
    "group.correct_frac.mean",
    "score.mean",
    "success_rate",
)
HELD_OUT = ("eval.reward", "eval.accuracy", "eval.success_rate", "eval.pass_at_k")
#: what moves with the score on training data, and on held-out data
WITH_TRAINED = (
    "reward.max",
    "reward.min",
    "episode.length",
    "returns.mean",
    "value.mean",
    "value.pred.mean",
    "value.target.mean",
)
WITH_HELD_OUT = ("eval.episode_length", "eval.reward.std")
#: what follows the machine, the clock or the schedule, whatever the policy learns
SCHEDULED = (
    "time",
    "memory",
    "gpu",
    "perf",
    "throughput",
    "progress",
    "tokens",
    "config",
    "lr",
    "epsilon",
    "replay",
    "policy_version",
    "samples",
)


def progress(world: World, signal: str) -> np.ndarray:
    """The healthy curve of a signal without its noise, at every step, (n,)."""
    values = world.healthy[signal]
    at = np.flatnonzero(np.isfinite(values))
    logged = values[at]
    half = max(1, len(at) // 40)
    sums = np.concatenate([[0.0], np.cumsum(logged)])
    i = np.arange(len(at))
    low, high = np.maximum(i - half, 0), np.minimum(i + half + 1, len(at))
    return np.asarray(np.interp(np.arange(world.n), at, (sums[high] - sums[low]) / (high - low)))


def levels(world: World, signal: str) -> tuple[float, float]:
    """Where the healthy curve begins, and where it ends.

    A score on held-out data keeps its distance to the one on training data, which is better known than its own level.
    """
    if world.family == "text" and signal in HELD_OUT and "reward.mean" in world.healthy:
        start, end = levels(world, "reward.mean")
        gap = float(np.nanmean(world.healthy[signal] - saturating(world, "reward.mean")))
        return start + gap, end + gap
    course = saturating(world, signal)
    return float(course[0]), float(course[-max(1, world.n // 10) :].mean())


def saturating(world: World, signal: str) -> np.ndarray:
    """The rise or fall, ever slower, that is nearest to the healthy curve of a signal, (n,)."""
    at = np.isfinite(world.healthy[signal])
    logged = world.healthy[signal][at]
    fits: list[tuple[float, np.ndarray]] = []
    for tau in (0.15, 0.25, 0.4, 0.6, 2.0):
        shape = np.stack([np.ones(world.n), 1 - np.exp(-world.x / tau)], axis=1)
        course = shape @ np.linalg.lstsq(shape[at], logged, rcond=None)[0]
        fits.append((float(np.sum((course[at] - logged) ** 2)), course))
    return min(fits, key=lambda fit: fit[0])[1]


def sd(world: World, signal: str) -> float:
    """Noise of one step of a signal."""
    if signal in world.noise:
        return world.noise[signal]
    return float(np.nanstd(world.healthy[signal] - progress(world, signal)))


def within(world: World, signal: str, curve: np.ndarray) -> np.ndarray:
    """`curve` where the trainer logs this signal, in the range that the signal can have, (n,)."""
    healthy = world.healthy[signal]
    least, most = float(np.nanmin(healthy)), float(np.nanmax(healthy))
    meaning = lookup(signal)
    if (meaning is not None and meaning.unit == "fraction") or (
        least >= 0 and most <= 1 and signal in TRAINED + HELD_OUT
    ):
        curve = np.clip(curve, 0.0, 1.0)
    elif least > 0:
        curve = np.maximum(curve, 0.02 * least)
    elif least == 0:
        curve = np.maximum(curve, 0.0)
    return np.where(np.isfinite(healthy), curve, np.nan)


def put(world: World, curves: Curves, signal: str, course: np.ndarray, scale: float = 1.0) -> None:
    """Give a signal this course (n,) and its noise times `scale`, where this trainer logs it."""
    if signal in world.healthy:
        noise = scale * sd(world, signal) * ar1_noise(world.rng, world.n, 0.3)
        curves[signal] = within(world, signal, course + noise)


def put_ratio(world: World, curves: Curves, signal: str, course: np.ndarray) -> None:
    """The same for a signal whose noise is a share of its level (a divergence, a gradient norm, a time)."""
    if signal in world.healthy:
        share = sd(world, signal) / max(float(np.nanmedian(np.abs(world.healthy[signal]))), 1e-12)
        noise = np.clip(ar1_noise(world.rng, world.n, 0.3), -4, 4)
        curves[signal] = within(world, signal, course * np.exp(np.clip(share, 0.02, 0.15) * noise))


def score(
    world: World, curves: Curves, shape: np.ndarray, among: tuple[str, ...] = TRAINED, scale: float = 1.0
) -> None:
    """Give scores a shape: 0 is where the healthy run begins, 1 is where it ends. What moves with them follows."""
    also = (WITH_TRAINED if "reward.mean" in among else ()) + (WITH_HELD_OUT if "eval.reward" in among else ())
    for signal in among + also:
        if signal in world.healthy and signal not in COPIES:
            start, end = levels(world, signal)
            put(world, curves, signal, start + (end - start) * shape, scale)
    if "reward.mean" in among:
        _spread(world, curves, shape)


def _spread(world: World, curves: Curves, shape: np.ndarray) -> None:
    """The spread of rewards that are 0 or 1 follows from their mean."""
    if world.family != "text":
        return
    start, end = levels(world, "reward.mean")
    right = np.clip(start + (end - start) * shape, 0.0, 1.0)
    spread = np.sqrt(right * (1 - right))
    put(world, curves, "reward.std", spread)
    put(world, curves, "reward.group_std", 0.75 * spread)


def scores(world: World, curves: Curves, shape: np.ndarray, scale: float = 1.0) -> None:
    """Give one shape to the scores on training and on held-out data."""
    score(world, curves, shape, TRAINED + HELD_OUT, scale)


def paced(world: World, pace: np.ndarray) -> Curves:
    """The healthy run as if what it learns were read at another progress: `pace` in [0, 1], (n,). Its noise stays.

    `minimum(x / 0.4, 1)` is a run that has learned everything at 40 %, `0 * x` one that learns nothing.
    """
    curves = dict(world.healthy)
    for signal, healthy in world.healthy.items():
        if signal.partition(".")[0] in SCHEDULED or signal in COPIES or not np.isfinite(healthy).any():
            continue
        course = progress(world, signal)
        curves[signal] = within(world, signal, np.interp(pace, world.x, course) + (healthy - course))
    return curves


def settled(world: World, at: float) -> Curves:
    """A run that has learned everything at progress `at`; nothing changes afterwards, and its score is flat."""
    curves = paced(world, np.minimum(world.x / at, 1.0))
    scores(world, curves, climb(world, at))
    return curves


def unlearned(world: World) -> Curves:
    """A run that learns nothing: every level is that of its first steps."""
    curves = paced(world, 0.05 * world.x)
    scores(world, curves, 0.0 * world.x)
    return curves


def unevaluated(curves: Curves) -> Curves:
    """The same run without any evaluation."""
    return {signal: curve for signal, curve in curves.items() if not signal.startswith("eval.")}


def climb(world: World, top: float) -> np.ndarray:
    """A score that climbs, ever slower, and is flat from progress `top` on, (n,)."""
    x = np.minimum(world.x / top, 1.0)
    return np.asarray(1 - (1 - x) ** 2)


def peak(world: World, top: float, lost: float) -> np.ndarray:
    """A score that climbs to 1 at progress `top` and has lost `lost` of it at the end, (n,)."""
    fall = np.clip((world.x - top) / (1 - top), 0, 1)
    return np.asarray(climb(world, top) - lost * fall)


def visible(
    world: World, lost: float, top: float = 0.5, among: tuple[str, ...] = TRAINED + HELD_OUT, least: float = 0.0
) -> float:
    """A loss after progress `top`, as a share of the gain, that stands out of the noise of `among`: less is no decline.

    An observer who knows its course sees it in 97 % of the draws (`clear`). Of one step's noise it is at least 1, in a
    short run more; of one evaluation's noise it is at least 3. `least`: where only the training reward is logged.
    """
    needed, power = [lost], 0.0
    for signal, noises in (("reward.mean", max(1.0, 14 / world.n**0.5)), ("eval.reward", 3.0)):
        if signal in world.healthy and signal in among:
            start, end = levels(world, signal)
            gain = max(abs(end - start), 1e-12)
            needed.append(noises * sd(world, signal) / gain)
            power += (gain * certainty(world, signal, top)) ** 2
    if not ("eval.reward" in world.healthy and "eval.reward" in among):
        needed.append(least)
    return float(min(max(*needed, clear(world, among) / max(power, 1e-12) ** 0.5), 1.0))


def clear(world: World, among: tuple[str, ...]) -> float:
    """Standard errors at which an observer who knows the course of a decline sees it in 97 % of the draws.

    Of a training reward he knows the noise. That of ten evaluations which fall alone he learns from them, so that his test
    is a t-test (power by Johnson and Welch's approximation of the noncentral t).
    """
    if "reward.mean" in among or "eval.reward" not in world.healthy:
        return ASKED + SEEN
    n = int(np.isfinite(world.healthy["eval.reward"]).sum())
    df = n - 3
    t = float(z_to_t(ASKED_ALONE if n <= FEW else ASKED, df))
    return t * (1 - 1 / (4 * df)) + SEEN * (1 + t**2 / (2 * df)) ** 0.5


def certainty(world: World, signal: str, top: float) -> float:
    """Standard errors of a fall by 1 from progress `top` to the end, where its course and the noise are known."""
    at = np.flatnonzero(np.isfinite(world.healthy[signal]))
    rho = AUTOCORRELATION ** float(np.median(np.diff(at)))
    design = np.column_stack([np.ones(len(at)), climb(world, top)[at], after(world, top)[at]])
    white = quasi_difference(design, rho) / (sd(world, signal) * np.sqrt(1 - rho**2))
    return float(abs(np.linalg.qr(white)[1][-1, -1]))


def after(world: World, at: float) -> np.ndarray:
    """0 up to progress `at`, then rising to 1 at the end, (n,)."""
    return np.clip((world.x - at) / (1 - at), 0, 1)


def since(world: World, at: float, over: float = 0.01) -> np.ndarray:
    """0 up to progress `at`, 1 a moment later, (n,)."""
    return np.clip((world.x - at) / over, 0, 1)


def divergences(world: World) -> tuple[str, ...]:
    """Every divergence from the reference model that this trainer logs, and its penalty."""
    return tuple(s for s in world.healthy if s == "reward.kl_penalty" or f"{s}.".startswith(("kl.ref.", "kl.loss.")))


def drifting(world: World, curves: Curves, growth: np.ndarray) -> None:
    """Multiply the divergence from the reference (and its penalty) by `growth` (n,), from a level that has settled.

    Before `growth` sets in, the divergence has risen to a small level and stays there.
    """
    for signal in divergences(world):
        level = 0.5 * float(np.nanmedian(world.healthy[signal]))
        put_ratio(world, curves, signal, level * (0.05 + 0.95 * np.minimum(world.x / 0.1, 1)) * growth)


def lengths(world: World, curves: Curves, factor: np.ndarray) -> None:
    """Multiply the tokens of a completion, and what is counted or timed with them, by `factor` (n,)."""
    none = np.zeros(world.n)
    prompt = world.healthy.get("length.prompt.mean", none)
    limit = float(world.config.get("max_new_tokens", np.inf))
    for signal, healthy in world.healthy.items():
        stem, meaning = signal.removeprefix("eval."), lookup(signal)
        if not stem.startswith("length.") or "prompt" in stem or meaning is None or meaning.unit != "tokens":
            continue
        with_prompt = stem in ("length.total.mean", "length.correct.mean", "length.incorrect.mean")
        asked = prompt if with_prompt else none
        if signal not in COPIES:
            curves[signal] = np.minimum((healthy - asked) * factor + asked, limit + asked)
    if "time.rollout" in world.healthy:
        slower(world, curves, factor)
    completions = world.healthy.get("length.mean", world.healthy.get("length.total.mean", none) - prompt)
    samples = float(np.nanmean(world.healthy["samples.step"])) if "samples.step" in world.healthy else 512.0
    for signal in ("tokens.step", "tokens.train"):
        if signal in world.healthy:
            curves[signal] = world.healthy[signal] + samples * completions * (factor - 1)
    speed(world, curves)


def slower(world: World, curves: Curves, factor: np.ndarray) -> None:
    """The rollout takes `factor` (n,) times as long, and the step with it."""
    curves["time.rollout"] = world.healthy["time.rollout"] * factor
    for step in ("time.step", "time.iteration"):
        if step in world.healthy:
            curves[step] = world.healthy[step] + curves["time.rollout"] - world.healthy["time.rollout"]
    if "time.elapsed" in curves and "time.iteration" in curves:
        curves["time.elapsed"] = np.cumsum(curves["time.iteration"])
    speed(world, curves)


def speed(world: World, curves: Curves) -> None:
    """Tokens per second follow from the tokens and the time of a step."""
    if {"throughput.tok_s_gpu", "tokens.step", "time.step"} <= curves.keys():
        curves["throughput.tok_s_gpu"] = curves["tokens.step"] / curves["time.step"] / GPUS


def elongated(world: World, curves: Curves, times: float, course: np.ndarray) -> None:
    """Lengths that grow `times`-fold along `course` (n,), 0 to 1, from far below the healthy length, under the limit."""
    lengths(world, curves, np.asarray(times ** (course - 0.75)))
