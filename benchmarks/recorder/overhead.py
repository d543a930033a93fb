"""What the recorder costs, on the CPU: one run, in which it is taken off and put on again every few updates.

A block of updates with the recorder stands between two without it, in the same thread and memory, so that their difference has no
other source. What counts is the processor time of the thread; the recorder's budget goes by the same clock, which stands still
while it is off. Completions have a fixed length, so that updates cost the same whatever is sampled. Measured after the first 20
updates; the start is reported apart. A tiny model shows what is not covered by the share, a larger one (random weights) what an
update of a few hundred milliseconds pays.
"""

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
from firstbreak.live.recorder.trl.callback import Recorder

QUANTILES = (("median", 0.5), ("p95", 0.95))
START = sized(20, 2)  #: updates
BLOCK = sized(10, 1)  #: updates
PAIRS = sized(60, 3)  #: blocks with the recorder
LARGER = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4}


class Blocks:
    """A callback, before the recorder, that takes it off and puts it on again. It notes the time at the start of each update."""

    def __init__(self, record: Recorder) -> None:
        self.record = record
        self.began: list[float] = []  #: processor time
        self.counted: list[float] = []  #: what the recorder's own accounts say then
        self.before: set[int] = set()  #: hooks that are not the recorder's
        self.kept: list[tuple[dict[Any, Any], dict[Any, Any]]] = []  #: what was taken off, and from where
        self.off = 0.0  #: seconds
        self.since = 0.0  #: when it was taken off
        record.clock = lambda: time.thread_time() - self.off

    def on_train_begin(self, *given: Any, optimizer: Any, model: Any, **more: Any) -> None:
        """The recorder is not there yet."""
        self.places = hooks(optimizer, model)
        self.before = {id(hook) for place in self.places for hook in place.values()}

    def on_step_begin(self, *given: Any, **more: Any) -> None:
        """One more update."""
        self.began.append(time.thread_time())
        self.counted.append(self.record.spent)
        if with_recorder(len(self.began) - 1):
            self.put_on()
        elif not self.kept:
            self.take_off()

    def take_off(self) -> None:
        """Nothing of the recorder is called any more."""
        assert self.record.wrapped is not None
        trainer = vars(self.record.wrapped.trainer)
        wrapped = {
            name: value for name, value in trainer.items() if "WrappedMethods." in getattr(value, "__qualname__", "")
        }
        self.kept = [(trainer, wrapped)]
        for place in self.places:
            self.kept.append((place, {key: hook for key, hook in place.items() if id(hook) not in self.before}))
        for place, mine in self.kept:
            for key in mine:
                del place[key]
        self.record.on_step_end = lambda *given, **more: None  # type: ignore[method-assign]
        self.since = time.thread_time()

    def put_on(self) -> None:
        """As it was."""
        if self.kept:
            for place, mine in self.kept:
                place |= mine
            self.kept = []
            del self.record.on_step_end
            self.off += time.thread_time() - self.since

    def __getattr__(self, name: str) -> Any:
        """The library's other events."""
        if name.startswith("on_"):
            return lambda *given, **options: None
        raise AttributeError(name)


def hooks(optimizer: Any, model: Any) -> list[dict[Any, Any]]:
    """Where torch keeps the hooks that a recorder uses."""
    inner = getattr(optimizer, "optimizer", optimizer)
    return [inner._optimizer_step_pre_hooks, inner._optimizer_step_post_hooks, model._forward_hooks]


def with_recorder(update: int) -> bool:
    """Of an update, from 0: the start is measured, then every second block."""
    return update < START or (update - START) // BLOCK % 2 == 1


def larger(model: Any) -> Any:
    """A model of the same kind with random weights, whose update takes a few hundred milliseconds."""
    config = type(model.config).from_dict({**model.config.to_dict(), **LARGER, "head_dim": None})
    return type(model)(config)


def script(*, large: bool) -> Script:
    """Updates that cost the same whatever is sampled."""
    whole = {"generation_kwargs": {"min_new_tokens": 14}}  # no end before the limit
    batch = {"per_device_train_batch_size": 32} if large else {}
    config = {"eval_strategy": "no", "log_completions": False, **whole, **batch}
    return Script(steps=START + BLOCK * (2 * PAIRS + 1) + 1, config=config, model=[larger] if large else [])


def in_blocks(*, large: bool) -> dict[str, float]:
    """Shares of an update without the recorder, over blocks with it that stand between two without: the mean with its standard
    error, the median and the 95th percentile; that percentile of blocks without it, which is noise; and the mean by the
    recorder's own accounts.
    """
    record = firstbreak.recorder()
    clock = Blocks(record)
    with tempfile.TemporaryDirectory() as folder:
        run(script(large=large), Path(folder), [clock, record])
    took, counted = (
        np.diff(clock_of)[START:].reshape(-1, BLOCK).mean(axis=1) for clock_of in (clock.began, clock.counted)
    )
    without = took[::2]
    usual = float(np.median(without))
    paid = (took[1::2] - (without[:-1] + without[1:]) / 2) / usual
    noise = (without[1:-1] - (without[:-2] + without[2:]) / 2) / usual
    return {
        "update_ms": 1000 * usual,
        "mean": float(paid.mean()),
        "standard_error": float(paid.std(ddof=1) / np.sqrt(len(paid))),
        **{f"block_{label}": float(np.quantile(paid, q)) for label, q in QUANTILES},
        "noise_p95": float(np.quantile(noise, 0.95)),
        "accounts": float(counted[1::2].mean() / usual),
        "start_s": record.start,
    }


def measured() -> dict[str, Any]:
    """The keys of results/recorder.json that say what it costs."""
    return {
        "environment": around_environment(),
        "overhead": {name: in_blocks(large=large) for name, large in (("tiny", False), ("larger", True))},
        "device": "cpu",
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
