"""What the recorder costs, on the CPU: pairs of one run with and without it, update by update.

Both runs of a pair do the same work (their weights are the same bit for bit), one after the other, in turns. Measured after the
first 20 updates; the start is reported apart. The model is tiny, so that an update takes a fraction of a second: on a larger one,
the same arithmetic is a smaller part.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np

import firstbreak
from benchmarks.recorder.script import Script, run
from benchmarks.size import sized

QUANTILES = (("median", 0.5), ("p95", 0.95))
UPDATES, START = sized((60, 20), (6, 2))


class Clock:
    """A callback that notes the processor time at the end of each update: waiting for other programs does not count."""

    def __init__(self) -> None:
        self.ended: list[float] = []

    def on_step_end(self, *given: Any, **options: Any) -> None:
        """One more update."""
        self.ended.append(time.process_time())

    def __getattr__(self, name: str) -> Any:
        """The library's other events."""
        if name.startswith("on_"):
            return lambda *given, **options: None
        raise AttributeError(name)


def trained(*, recorded: bool) -> tuple[np.ndarray, bytes, float]:
    """Seconds of each update after the start, the last weights, and the seconds that the recorder spent at the start."""
    clock, record = Clock(), firstbreak.recorder()
    script = Script(steps=UPDATES, config={"eval_strategy": "no", "log_completions": False})
    with tempfile.TemporaryDirectory() as folder:
        trainer = run(script, Path(folder), [record, clock] if recorded else [clock])
    weights = b"".join(p.detach().numpy().tobytes() for p in trainer.model.parameters())
    return np.diff(clock.ended)[START - 1 :], weights, record.start


def measured(pairs: int = sized(4, 1)) -> dict[str, Any]:
    """The keys of results/recorder.json that say what it costs."""
    shares, each, starts, same = [], [], [], True
    for i in range(pairs):
        order = (True, False) if i % 2 else (False, True)
        made = {recorded: trained(recorded=recorded) for recorded in order}
        (without, weights, _), (with_it, others, start) = made[False], made[True]
        same &= weights == others
        shares.append(float(with_it.sum() / without.sum()) - 1)
        each.append((with_it - without) / np.median(without))
        starts.append(start)
    return {
        "environment": around_environment(),
        "overhead_fraction": median(shares),
        "overhead_fractions": shares,
        "overhead_update_median": float(np.median(np.concatenate(each))),
        "overhead_update_p95": float(np.quantile(np.concatenate(each), 0.95)),
        "start_s": median(starts),
        "device": "cpu",
        "bit_identical": same,
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
