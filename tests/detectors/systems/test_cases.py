"""What the detectors of `systems` say of runs, and of sound look-alikes."""

import numpy as np
import pytest

from firstbreak.model import Config, Run, Severity
from firstbreak.values import replace
from tests.detectors.look import (
    CRITICAL,
    HIGH,
    MEDIUM,
    NOTICE,
    WARNING,
    Cases,
    cannot,
    each_of,
    expects,
    finds,
    found,
    passes,
)
from tests.make import noise, put, run

# gpu-idle
FELL = np.where(np.arange(80) < 40, 0.35, 0.08) * (1 + noise(80, 0.04))


def read(**curves: np.ndarray) -> Run:
    """Readings of the first GPU, or of more, beside a run of a language model."""
    return run({f"gpu.{name}".replace("_", "@gpu "): curve for name, curve in curves.items()}, trainer="verl")


def power(low_share: float) -> np.ndarray:
    return np.where(np.arange(240) % 12 < 12 * low_share, 240.0, 620.0) + noise(240, 12)


# memory-creep
CREEP = 50 + 0.12 * np.arange(200) + noise(200, 0.3)


def allowed(megabytes: int) -> Run:
    """A worker whose memory grows to 1.5 GB."""
    grown = run({"memory.cpu": np.linspace(0.33, 1.5, 77)}, algorithm="ppo")
    return replace(grown, config=Config(raw={"worker_memory_limit_mb": megabytes}))


def filling(gb: float) -> Run:
    """A replay buffer of CartPole that fills with 44,000 transitions, and the memory of the process."""
    curves = {"replay.size": 1000.0 * np.arange(1, 46), "memory.cpu": np.linspace(0.3, 0.3 + gb, 45)}
    return run(curves, algorithm="dqn", config={"env_id": "CartPole-v1"})


# memory-tight
SIZE = {"gpu.memory_size": np.full(60, 80.0)}
BUSY = (np.arange(100) % 20 >= 17).astype(float)
STEP = 40 * (1 + 0.4 * BUSY) + noise(100, 0.5)


def share(low: float, high: float) -> np.ndarray:
    return np.where(np.arange(240) % 10 < 4, low, high) + noise(240, 0.3)


# rollout-share


def timed(rollout: np.ndarray, rest: float = 40.0, whole: str = "time.step") -> Run:
    seconds = rollout * np.exp(noise(80, 0.05))
    return run({"time.rollout": seconds, whole: seconds + rest + noise(80, 0.5, seed=1)})


def lengths(longest: np.ndarray, rollout: float = 70.0) -> Run:
    times = {"time.rollout": rollout + noise(80), "time.step": np.full(80, 100.0)}
    return run(
        {"length.mean": 500 + noise(80, 10), "length.max": longest + noise(80, 50, 1), **times}, algorithm="grpo"
    )


WAIT = np.where(np.arange(80) < 45, 2.0, 40.0) + np.abs(noise(80))
# scoring-share


def timed_scoring(scoring: np.ndarray) -> Run:
    return run({"time.reward": scoring, "time.step": scoring + 60 + noise(80, 1.0)})


# step-time-spikes
CALM = 10 * np.exp(noise(200, 0.05))
EVERY_25 = np.arange(1, 200 + 1) % 25 == 0
CURVES = {
    "time.step": np.where(np.arange(200) % 4 == 0, 4 * CALM, CALM),
    "reward.mean": np.where(np.arange(200) % 4 == 0, CALM, np.nan),
}
# throughput-drop
WOBBLE = np.exp(noise(200, 0.05))


def halved(fraction: float = 0.4, at: int = 120) -> np.ndarray:
    return 1000 * WOBBLE * np.where(np.arange(200) < at, 1.0, fraction)


def averaged(speed: np.ndarray, name: str = "throughput.fps") -> Run:
    """What a trainer logs that divides all steps by all seconds since the start."""
    steps = np.cumsum(np.full(200, 2048.0))
    made = run({name: np.floor(steps / np.cumsum(2048 / speed))})
    made.series[name].steps[:] = steps
    return made


CLOCK = np.cumsum(np.where(np.arange(200) < 60, 0.01, 1.0))
SPEED = {"throughput.sps_instant": halved(0.05, at=50), "reward.episode": noise(200)}
SLOWER = {
    "length.mean": 200 * (1 + 0.8 * np.clip((np.arange(200) - 100) / 100, 0, 1)),
    "time.step": 2
    * (1 + 0.8 * np.clip((np.arange(200) - 100) / 100, 0, 1))
    * (1 + 0.36 * np.clip((np.arange(200) - 100) / 100, 0, 1))
    * WOBBLE,
}

CASES: Cases = {
    "gpu-idle": {
        "a gpu that works a sixth of the time is named": finds(read(util_0=np.where(np.arange(240) % 6 == 0, 95.0,
            2.0) + noise(240, 0.5), util_1=90 + noise(240, 2)), "in 83 % of the readings", WARNING,
            metric="gpu.util@gpu 0"),
        "low power in most of the step is named": finds(read(power_0=power(5 / 6)), "takes most of a step"),
        "usual phases one level and a drift are healthy": [*(passes(read(power_0=values)) for values in [power(1 / 3),
            560 + noise(240, 30), np.linspace(200, 600, 240)])],
        "gaps while it saves": passes(read(util_0=np.where(np.arange(240) % 40 < 3, 3.0, 92.0))),
        "a lasting fall is found where it is": [finds({"perf.mfu.actor": FELL, "length.mean": [300.0] * 80},
            "fell from 0.34", onset=(38, 44)),
            finds({"gpu.util": 200 * FELL}, onset=(38, 44))],
        "shorter completions explain it": passes({"perf.mfu.actor": FELL,
            "length.mean": np.where(np.arange(80) < 40, 600.0, 150.0)}),
        "low from the start is no fall": passes({"perf.mfu.actor": 0.1 * (1 + noise(80, 0.1))}),
        "a simulator leaves the gpu idle by nature": cannot({"gpu.util@gpu 0": 5 + noise(80),
            "episode.length": [200.0] * 80}),
        "of two findings the earlier is told": finds({"gpu.util@gpu 0": 5 + noise(80), "perf.mfu.actor": FELL}, "idle",
            trainer="verl")},
    "memory-creep": {
        "a leak is found with the limit that memory reaches": finds({"memory.gpu_reserved": CREEP,
            "gpu.memory_size": np.full(200, 80.0)}, "80 GB", WARNING,
            numbers={"steps_left": pytest.approx((80 - CREEP[-1]) / 0.12, rel=0.35)}),
        "a limit far away is a notice": finds({"memory.gpu": 49 + 0.03 * np.arange(200) + noise(200, 0.05)}, NOTICE),
        "no limit is assumed": [*(finds({signal: CREEP}, NOTICE,
            numbers={"steps_left": None}) for signal in ["memory.cpu", "memory.gpu"])],
        "memory that reaches what the configuration allows a process": [*(finds(allowed(limit), WARNING, sure)
            for limit, sure in [(1536, HIGH), (4096, HIGH)])],
        "a replay buffer that fills is expected": expects({"memory.cpu": CREEP,
            "replay.size": 1000.0 * np.arange(200)}),
        "unless each of its transitions costs as much as a graph": [finds(filling(3.0), "KiB each", WARNING, HIGH),
            expects(filling(0.1))],
        "healthy memory": [*(passes({"memory.gpu_reserved": memory}) for memory in [np.full(200, 70.0),
            70 + noise(200, 1), 30 + 40 * (1 - np.exp(-np.arange(200) / 10)), CREEP[::-1],
            np.maximum.accumulate(60 + noise(200, 2))])],  # a peak since the start
        "the advice is for what grows": [finds({"memory.gpu_reserved": CREEP}, "sequence", algorithm="grpo"),
            finds({"memory.gpu_reserved": CREEP}, "buffers", algorithm="dqn")]},
    "memory-tight": {
        "a device that is nearly full is worth a line": finds({"memory.gpu": 78 + noise(60, 0.2), **SIZE}, "80 GB",
            NOTICE),
        "allocations that were tried again": finds({"memory.alloc_retries": np.arange(60) // 6}, "9 times", WARNING),
        "room to spare": passes({"memory.gpu": 60 + noise(60, 0.2), **SIZE}),
        "no size is assumed": passes({"memory.gpu": 47.4 + noise(60, 0.2)}, "size of the device is not recorded"),
        "room in both or no phases is another matter": [*(passes({"gpu.memory_share@gpu 0":
            values}) for values in [share(65.0, 80.0), share(93.0, 98.0), 97 + noise(240, 0.3)])],
        "peaks at slow steps name a background job": finds({"memory.gpu": 55 + 8 * BUSY + noise(100, 0.2),
            "time.step": STEP}, "background job", "every 20 steps", onset=18),
        "slow steps without peaks are another finding": passes({"memory.gpu": 55 + noise(100, 0.2),
            "time.step": STEP}),
        "memory that moves between two phases": passes({"memory.gpu":
            np.where(np.random.default_rng(0).uniform(size=100) < 0.5, 40.0, 52.0),
            "time.step": 40 + noise(100, 0.5)}),
        "the most serious is told first": finds({"memory.gpu": 78 + noise(60, 0.2),
            "gpu.memory_share@gpu 0": share(65.0, 98.0), **SIZE}, "one phase")},
    "rollout-share": {
        "a share that grows": finds(timed(np.where(np.arange(80) < 45, 30.0, 120.0)), WARNING, onset=(42, 50)),
        "a rollout that is nearly all of a step is a notice": finds(timed(np.full(80, 600.0)), NOTICE),
        "generation is slow by nature": passes(timed(np.full(80, 100.0))),
        "a share that falls": passes(timed(np.linspace(100, 20, 80))),
        "an iteration is a step of the outer loop": finds(timed(np.full(80, 600.0), whole="time.iteration")),
        "both times are needed": cannot({"time.rollout": [9.0] * 80}),
        "without a step time the phases are added": finds({"time.rollout": np.where(np.arange(80) < 45, 30.0,
            120.0) + noise(80), "time.train": 40 + noise(80, seed=1)}, WARNING),
        "a rollout that overlaps the step has no share": cannot({"time.rollout": 150 + noise(80),
            "time.step": [100.0] * 80}),
        "a wait that grows": finds({"time.wait_batch": WAIT, "time.step": WAIT + 40}, WARNING, onset=(43, 49)),
        "a steady long wait is a notice for where the data come from": [finds({"time.wait_frac": 0.7 + noise(80,
            0.02)}, "generation", NOTICE, algorithm="grpo"),
            finds({"time.wait_frac": 0.7 + noise(80, 0.02)}, "environments", algorithm="ppo")],
        "a short wait is the cost of fresh data and one that falls is healthy": [*(passes({"time.wait_frac":
            waits}) for waits in [0.2 + noise(80, 0.05), np.linspace(0.6, 0.1, 80)])],
        "a wait without the step or counted since the start is no share": [*(cannot({"time.wait_batch":
            5.0 * np.arange(80), **curves}) for curves in [{}, {"time.step": [100.0] * 80}])],
        "a steady tail is a notice": [finds(lengths(np.full(80, 4000.0)), "8 times the mean", NOTICE),
            finds(lengths(np.full(80, 4000.0), rollout=80.0), "8 times the mean")],
        "a tail that grows is a warning": finds(lengths(np.where(np.arange(80) < 25, 1200.0, 6000.0)), WARNING,
            onset=26),
        "a short tail and one beside a long update are healthy": [*(passes(lengths(np.full(80, longest),
            rollout)) for longest, rollout in [(1200.0, 70.0), (4000.0, 20.0)])]},
    "scoring-share": {
        "scoring that grows is found where it starts": finds(timed_scoring(np.where(np.arange(80) < 45, 5.0,
            90.0) + noise(80, 0.5)), "scor", WARNING, onset=(42, 50)),
        "a slow judge from the start is the bottleneck too": finds(timed_scoring(np.full(80, 100.0)), WARNING),
        "cheap scoring": passes(timed_scoring(np.full(80, 6.0) + noise(80, 0.5)))},
    "step-time-spikes": {
        "a background job shows its period": finds({"time.step": np.where(EVERY_25, 60.0, CALM)}, "every 25 steps",
            NOTICE, numbers={"every": 25}),
        "a job that costs much of the time is a warning": finds({"time.step": np.where(EVERY_25, 200.0, CALM)},
            WARNING),
        "a job that takes every other stretch": finds({"time.step":
            np.where((np.arange(200) >= 60) & ((np.arange(200) - 60) % 16 < 8), 6 * CALM, CALM)}, onset=61,
            numbers={"every": 16}),
        "without a step time its phases are added": finds({"time.rollout": 0.4 * CALM,
            "time.train": np.where(EVERY_25, 60.0, 0.6 * CALM)}, metric="time.step"),
        "stragglers have no period": finds({"time.step": put(CALM.copy(), [17, 31, 68, 99, 154, 161], 90.0)},
            "slowest worker"),
        "a planned job is expected": [*(expects({"time.step": np.where(EVERY_25, 60.0, CALM)}, job,
            config={option: 25}) for option, job in [("save_interval", "saving"), ("eval_interval", "evaluating")])],
        "a rollout that serves several updates is expected": [expects(CURVES,
            "every 4 steps one step is slow because of a new rollout"),
            finds({**CURVES, "reward.mean": CALM}, numbers={"every": 4})],
        "healthy times": [*(passes({"time.step": times}) for times in [CALM,
            np.where(np.arange(200) == 0, 300.0, CALM),  # compiles
            np.where(np.arange(200) < 100, CALM, 3 * CALM),  # slower for good: another finding
            np.where(EVERY_25, 1.3 * CALM, CALM),  # costs nothing
            10 * np.exp(noise(200, 0.4)), CALM * np.linspace(1, 3, 200)])],  # as long as the completions are
        "an iteration is a step of the outer loop": finds({"time.iteration": np.where(EVERY_25, 60.0, CALM)},
            metric="time.iteration"),
        "where most steps are slow the quick ones are the exception": passes({"time.step":
            np.where(np.arange(200) % 3 != 0, 5 * CALM, CALM)}),
        "a job is seen by its period where single steps do not stand out": [finds({"time.step":
            np.where(np.arange(200) % 6 == 5, 2.2, 1) * (10 * np.exp(noise(200, 0.35, 4)))}, numbers={"every": 6}),
            passes({"time.step": 10 * np.exp(noise(200, 0.35, 4))})],
        "steps that are slow because they evaluate are expected": expects({"time.rollout": CALM, "time.train": CALM,
            "time.eval": np.where(np.arange(200) % 3 == 2, 30.0, np.nan)}, "evaluating"),
        "a job that comes more often than saving is not saving": finds({"time.step": np.where(np.arange(1,
            200 + 1) % 10 == 0, 90.0, CALM)}, numbers={"every": 10}, config={"save_interval": 500})},
    "throughput-drop": {
        "a lasting drop is found where it began": finds({"throughput.tok_s": halved()}, WARNING, onset=(118, 124)),
        "a rollout that takes ever longer after its first update": finds({"time.rollout": np.geomspace(0.2, 9, 40),
            "time.train": np.full(40, 0.1), "value.loss": np.r_[np.nan, noise(39) ** 2]}, CRITICAL, algorithm="ppo"),
        "a smaller drop at once is a doubtful warning with its cost": finds({"throughput.tok_s": halved(0.6)}, "1.7",
            WARNING, MEDIUM),
        "steps that take longer with their texts": passes({"time.step": np.linspace(10, 25, 150),
            "length.total.mean": np.linspace(400, 1000, 150)}),
        "the clock alone tells the speed": [finds({"time.elapsed": np.cumsum(1 / halved(0.3))}, WARNING),
            passes({"time.elapsed": np.cumsum(1 / WOBBLE)})],
        "tokens and phases tell the speed": [finds({"time.rollout": 0.6 / halved(0.3), "time.train": 0.4 / halved(0.3),
            "tokens.train": np.full(200, 5000.0)}, WARNING, metric="throughput.tok_s"),
            passes({"time.step": ({name: seconds * np.linspace(1, 3, 200) for name,
            seconds in {"time.rollout": 1 / (1000 * WOBBLE)}.items()})["time.rollout"],
            "tokens.train": 5000 * np.linspace(1, 3, 200)})],
        "healthy speeds": [*(passes({"throughput.tok_s": speed}) for speed in [1000 * WOBBLE,
            1000 * WOBBLE * np.linspace(1, 2, 200),
            1000 * WOBBLE * np.where((np.arange(200) > 80) & (np.arange(200) < 110), 0.3, 1.0),
            1000 * WOBBLE * np.linspace(1, 0.8, 200)])],
        "random acting before the first update is no drop":
            cannot(averaged(1000 * WOBBLE * np.where(np.arange(200) < 8, 20.0, 1.0))),
        "a restart sets the clock back": passes({"time.elapsed": np.where(np.arange(200, dtype=float) < 100,
            np.arange(200, dtype=float), np.arange(200, dtype=float) - 95)}),
        "an off policy method slows down when it begins to learn": [finds({"time.elapsed": CLOCK}, algorithm="ppo"),
            passes({"time.elapsed": CLOCK}, config={"learning_starts": 60})],
        "the first update of an off policy method slows it down": [cannot(SPEED),
            finds({**SPEED, "value.loss": np.ones(200)}, onset=(48, 54), algorithm="dqn"),
            finds(SPEED, CRITICAL, algorithm="ppo")],
        "acting before the first update is fast for every method": cannot({"time.elapsed":
            np.cumsum(np.where(np.arange(200) < 30, 0.01, 1.0)),
            "policy.loss": np.where(np.arange(200) < 40, np.nan, 1.0)}, algorithm="ppo"),
        "four times slower is critical": [finds({"throughput.tok_s": halved(0.2)}, CRITICAL),
            finds({"throughput.tok_s": halved(0.3)}, WARNING)],
        "the time of a step alone tells the speed": [finds({"time.step": 1 / halved(0.3, at=160)}, WARNING,
            onset=(158, 164), metric="throughput.steps_s"),
            passes({"time.step": np.linspace(100, 400, 200) / 1000 * WOBBLE,
            "length.mean": np.linspace(100, 400, 200)})],
        "a drop is found wherever it lies": [*(finds({"throughput.tok_s": halved(0.3, at)},
            onset=(at + 1 - 3, at + 1 + 3), algorithm="ppo") for at in [12, 60, 140, 188])],
        "shorter texts in the same time are no drop": passes({"time.step": WOBBLE,
            "tokens.train": np.where(np.arange(200) < 120, 5000.0, 2000.0)}),
        "the way back from a fast stretch is no drop": passes({"throughput.tok_s":
            1000 * WOBBLE * np.where((np.arange(200) > 150) & (np.arange(200) < 165), 4, 1)}),
        "longer texts are no loss of speed by the clock": passes({"time.elapsed": np.cumsum(np.geomspace(20, 100,
            200) / 1000 * WOBBLE), "length.mean": np.geomspace(20, 100, 200)}),
        "a rollout that serves two updates hides nothing": [finds({"time.step":
            (0.012 * WOBBLE) + np.where(np.arange(200) % 2 == 0, 0.03 * np.where(np.arange(200) < 60, 1.0, 3.5), 0.0),
            "loss.total": noise(200)}, onset=(57, 65), numbers={"lost": pytest.approx(1 - 0.027 / 0.0645, abs=0.03)}),
            passes({"time.step": (0.012 * WOBBLE) + np.where(np.arange(200) % 2 == 0, 0.03, 0.0)})],
        "steps that grow more than their texts": [finds(SLOWER, "each token"),
            passes({**SLOWER,
            "time.step": 2 * (1 + 0.8 * np.clip((np.arange(200) - 100) / 100, 0, 1)) * WOBBLE})]},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_a_phase_that_is_nearly_full_is_named_beside_the_other() -> None:
    said = found("memory-tight", run({"gpu.memory_share@gpu 0": share(65.0, 98.0)}), Severity.WARNING).message
    assert said.startswith("98 % of the GPU's memory")
    assert "65 % in the other" in said


def test_the_advice_is_for_what_acts() -> None:
    slow = timed(np.full(80, 600.0))
    assert "environment" in found("rollout-share", slow).message
    slow.series["length.mean"] = slow.series["time.rollout"]  # type: ignore[index]
    assert "completion" in found("rollout-share", slow).message


def test_a_growing_wait_comes_before_a_steady_rollout() -> None:
    wait = np.where(np.arange(80) < 45, 0.1, 0.4) + noise(80, 0.02)
    both = timed(np.full(80, 600.0))
    both.series["time.wait_frac"] = run({"time.wait_frac": wait}).series["time.wait_frac"]  # type: ignore[index]
    assert "waits for data" in found("rollout-share", both, Severity.WARNING).message
