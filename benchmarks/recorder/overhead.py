"""What the recorder costs, on the CPU: one run with it and one without, in one process, update by update in turns.

Each trainer has a thread, and only one of them runs at a time. What counts is the processor time of its thread, so that a busy
machine adds to both alike; the recorder's budget goes by the same clock. Completions have a fixed length, so that updates cost
the same whatever is sampled. Measured after the first 20 updates; the start is reported apart. A tiny model shows what is not
covered by the share, a larger one (random weights) what an update of a few hundred milliseconds pays.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Collection
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np

import firstbreak
from benchmarks.recorder.script import Script, run
from benchmarks.size import sized
from firstbreak.inside.batch import ALWAYS, BatchRecorder, Price

QUANTILES = (("median", 0.5), ("p95", 0.95))
UPDATES, START = sized((100, 20), (6, 2))
BLOCK = 10  #: updates
LARGER = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4}


class Events:
    """A callback that ignores the library's other events; its own class would have to be imported for them."""

    def __getattr__(self, name: str) -> Any:
        """The library's other events."""
        if name.startswith("on_"):
            return lambda *given, **options: None
        raise AttributeError(name)


class Turns(Events):
    """A callback that notes its thread's processor time at the end of each update, and lets the other trainer go on."""

    def __init__(self, mine: threading.Semaphore, other: threading.Semaphore) -> None:
        self.mine, self.other = mine, other
        self.ended: list[float] = []

    def on_step_end(self, *given: Any, **options: Any) -> None:
        """One more update."""
        self.ended.append(time.thread_time())
        self.other.release()
        self.mine.acquire()


def larger(model: Any) -> Any:
    """A model of the same kind with random weights, whose update takes a few hundred milliseconds."""
    config = type(model.config).from_dict({**model.config.to_dict(), **LARGER, "head_dim": None})
    return type(model)(config)


def script(*, large: bool) -> Script:
    """Updates that cost the same whatever is sampled."""
    whole = {"generation_kwargs": {"min_new_tokens": 14}}  # no end before the limit
    batch = {"per_device_train_batch_size": 32} if large else {}
    config = {"eval_strategy": "no", "log_completions": False, **whole, **batch}
    return Script(steps=UPDATES, config=config, model=[larger] if large else [])


class EverySecond(Events):
    """A callback that lets the recorder measure odd updates only, and notes the time and the recorder's own at each end."""

    def __init__(self, record: BatchRecorder, costs: Collection[Price]) -> None:
        self.record = record
        self.ended: list[tuple[float, float]] = []
        record.clock = time.thread_time
        record.due = lambda step, cost=Price.LOOK: step <= ALWAYS or (step % 2 == 1 and cost in costs)  # type: ignore[method-assign]

    def on_step_end(self, *given: Any, **options: Any) -> None:
        """One more update."""
        self.ended.append((time.thread_time(), self.record.spent))


def beside_neighbours(costs: Collection[Price]) -> dict[str, float]:
    """What a measured update costs more than the two beside it that are not measured, in one run, and what the accounts say."""
    record = firstbreak.recorder()
    clock = EverySecond(record, costs)
    with tempfile.TemporaryDirectory() as folder:
        run(script(large=True), Path(folder), [record, clock])
    took, own = np.diff(clock.ended, axis=0)[START:].T
    beside = [(part[:-2] + part[2:]) / 2 for part in (took, own)]
    apart, counted = took[1:-1] - beside[0], own[1:-1] - beside[1]  # from update START + 3 on
    measured_ones = slice(START % 2, None, 2)
    return {
        "update_ms": 1000 * float(np.median(beside[0][measured_ones])),
        "apart_ms": 1000 * float(np.median(apart[measured_ones])),
        "counted_ms": 1000 * float(np.median(counted[measured_ones])),
    }


def in_turns(*, large: bool, first: bool = True) -> dict[bool, tuple[np.ndarray, float]]:
    """With and without the recorder: seconds of each update after the start, and those of the recorder at the start.

    `first`: whether the one with the recorder begins. The second thread of a process pays other prices for memory.
    """
    turns = {True: threading.Semaphore(int(first)), False: threading.Semaphore(int(not first))}
    made: dict[bool, tuple[np.ndarray, float]] = {}

    def trained(recorded: bool) -> None:
        turns[recorded].acquire()
        clock, record = Turns(turns[recorded], turns[not recorded]), firstbreak.recorder()
        record.clock = time.thread_time
        try:
            with tempfile.TemporaryDirectory() as folder:
                run(script(large=large), Path(folder), [record, clock] if recorded else [clock])
        finally:
            made[recorded] = np.diff(clock.ended)[START - 1 :], record.start
            turns[not recorded].release()

    threads = [threading.Thread(target=trained, args=(recorded,)) for recorded in (first, not first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made


def both_orders(*, large: bool) -> dict[bool, tuple[np.ndarray, float]]:
    """The same with each of them first once."""
    parts = [in_turns(large=large, first=first) for first in (True, False)]
    return {
        recorded: (np.concatenate([part[recorded][0] for part in parts]), median(part[recorded][1] for part in parts))
        for recorded in (True, False)
    }


def measured() -> dict[str, Any]:
    """The keys of results/recorder.json that say what it costs."""
    return {
        "environment": around_environment(),
        "measured_update": {
            "look": beside_neighbours({Price.LOOK}),
            "look_and_work": beside_neighbours({Price.LOOK, Price.WORK}),
        },
        "overhead": {name: paid(both_orders(large=large)) for name, large in (("tiny", False), ("larger", True))},
        "device": "cpu",
    }


def paid(made: dict[bool, tuple[np.ndarray, float]]) -> dict[str, float]:
    """Shares of the median update without the recorder: of all updates together, of single ones and of blocks of them."""
    (with_it, start), (without, _) = made[True], made[False]
    usual = float(np.median(without))
    each = (with_it - without) / usual
    blocks = [part.mean() for part in np.array_split(each, max(len(each) // BLOCK, 1))]
    return {
        "update_ms": 1000 * usual,
        "mean": float(each.mean()),
        "update_median": float(np.median(with_it)) / usual - 1,
        "paired_median": float(np.median(each)),
        "paired_p95": float(np.quantile(each, 0.95)),
        "block_median": float(np.median(blocks)),
        "block_p95": float(np.quantile(blocks, 0.95)),
        "start_s": start,
    }


def around_environment(blocks: int = sized(40, 2), steps: int = 5_000) -> dict[str, float]:
    """What `record.env(env)` costs: microseconds of processor time per step of CartPole with random actions.

    Blocks of the wrapped and the bare environment in turns, with the same seeds. The first block stands apart: its windows come
    before the budget limits them. `wrapper` is an environment in gymnasium's own empty wrapper.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = {
            "bare": gymnasium.make("CartPole-v1"),
            "wrapper": gymnasium.Wrapper(gymnasium.make("CartPole-v1")),
            "recorded": firstbreak.recorder(folder).env(gymnasium.make("CartPole-v1")),
        }
        seconds: dict[str, list[float]] = {name: [] for name in made}
        for block in range(blocks + 1):
            for name in sorted(made, reverse=bool(block % 2)):
                seconds[name].append(walked(made[name], steps, block) / steps)
    each = {name: [1e6 * one for one in some] for name, some in seconds.items()}
    over = {name: np.subtract(each[name], each["bare"])[1:] for name in ("wrapper", "recorded")}
    return {
        "step_us": median(each["bare"][1:]),
        "first_block_us": each["recorded"][0] - each["bare"][0],
        **{f"{name}_{label}_us": float(np.quantile(some, q)) for name, some in over.items() for label, q in QUANTILES},
    }


def walked(env: gymnasium.Env[Any, Any], steps: int, seed: int) -> float:
    """Seconds of processor time of so many steps with random actions, ends of episodes included."""
    actions = np.random.default_rng(seed).integers(0, 2, steps)
    env.reset(seed=seed)
    began = time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return time.process_time() - began
