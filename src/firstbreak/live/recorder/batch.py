"""The recorder of a loop: `record.batch(step, rewards=..., ...)` measures every identity whose inputs are given."""

from __future__ import annotations

import enum
import inspect
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak import plugins
from firstbreak.live.recorder.journal import NAME, ProofFiles
from firstbreak.live.recorder.steps import executed, identities_of, rolled

LOG = logging.getLogger("firstbreak.recorder")
SHARE = 0.02  #: of the run's time
ASKED = 4096  #: prompts that are remembered with their right answers
ALWAYS = 2  #: first updates, which are measured whatever they cost


class Price(enum.Enum):
    """What a measurement costs."""

    GLANCE = "glance"  #: a few elements of the weights, in every step
    LOOK = "look"  #: arithmetic on what is there
    WORK = "work"  #: passes through the model, calls of the reward functions


SHARES = {Price.GLANCE: 0.15, Price.LOOK: 0.5, Price.WORK: 0.35}  #: of the time that all measurements may take

Reading = float | tuple[float, str]
Measure = Callable[..., Mapping[str, Reading]]


class BatchRecorder:
    """Measures identities of batches and updates, and writes the numbers into `folder`.

    `share` limits the time of all measurements but the first ones, as a share of the run's; with 1, nothing is left out. No
    random number is used. An error in here never reaches training: it is logged once as a warning.
    """

    def __init__(self, folder: str | Path | None = ".", share: float = SHARE, name: str = NAME) -> None:
        self.files = ProofFiles(None if folder is None else Path(folder), name)
        self.share = share
        self.step = 0  #: of the last batch
        self.numbers: dict[str, float] = {}  #: of the current step, not written yet
        self.clock = time.perf_counter
        self._began: float | None = None  #: when the first steps were over
        self._spent = dict.fromkeys(Price, 0.0)  #: seconds after the first steps
        self._granted: dict[Price, int] = {}  #: the last step that might cost so much
        self._taken = dict.fromkeys(Price, 0.0)  #: seconds that the measurements took in that step
        self.start = 0.0  #: seconds in the first steps
        self._steps: set[int] = set()
        self._failed: set[str] = set()
        self._asked: dict[tuple[str, str], int] = {}  #: batches that held a prompt with this right answer, two at most
        self._last: tuple[int, list[str]] = (-1, [])  #: step and prompts of the last new batch
        self._repeated = 0  #: batches in a row with the same prompts
        self._passing: Any = None  #: what passes through the wrapped environment; None where several are
        self._envs = 0  #: environments that were wrapped
        self._told = 0  #: steps of the environment until the last rollout
        self._rollout: Mapping[str, Any] = {}  #: log-probabilities and advantages of the last rollout
        self._measuring = False  #: the time in a measurement within another one counts once

    def due(self, step: int, cost: Price = Price.LOOK) -> bool:
        """Whether this step may cost so much: it is one of the first, or time is left for what the last one took."""
        if self._granted.get(cost) == step:
            return True
        left = self.share * SHARES[cost] * self._elapsed - self._spent[cost]
        granted = self._first(step) or self.share >= 1 or self._taken[cost] <= left
        if granted:
            self._granted[cost], self._taken[cost] = step, 0.0
        return granted

    @property
    def _elapsed(self) -> float:
        """Seconds since the first steps were over."""
        return 0.0 if self._began is None else self.clock() - self._began

    def _first(self, step: int) -> bool:
        return step in self._steps or len(self._steps) < ALWAYS

    @property
    def spent(self) -> float:
        """Seconds that were spent after the first steps."""
        return sum(self._spent.values())

    def counted(self, step: int) -> None:
        """This step was measured."""
        if len(self._steps) < ALWAYS:
            self._steps.add(step)
            self._began = self.clock() if len(self._steps) == ALWAYS else None

    def batch(self, step: int, **given: Any) -> dict[str, float]:
        """Measure every identity whose inputs are given, write the numbers and return them: none where no time is left.

        Inputs are numpy arrays, torch tensors or lists, with n completions of at most T tokens:
        `prompts`, `completions` (n texts), `rewards` (n,) or (n, functions), `reward_weights`, `advantages` (n,) or (n, T),
        `group` (completions of a prompt, which follow each other), `mask` (n, T): 1 where a token counts in the loss,
        `lengths` (n,): tokens that were sampled, `logps` (n, T) of the sampled tokens in the update, `old_logps`, `ref_logps`
        (n, T), `entropies` (n, T), `gradient` (n, T): of the loss by `logps`, `fresh`: no update since the batch was sampled.
        An input that is missing leaves out the identities that need it.
        """

        def measured() -> dict[str, float]:
            if given.get("prompts") is not None and given.get("references") is not None and len(self._asked) < ASKED:
                for pair in dict.fromkeys(zip(given["prompts"], map(str, given["references"]), strict=False)):
                    self._asked[pair] = min(self._asked.get(pair, 0) + 1, 2)
            asked = [pair for pair, times in self._asked.items() for _ in range(times)]
            return self.measure(step, {"asked": asked or None, "repeated": self._repeated} | given)

        if given.get("fresh", True) and not given.get("since"):
            self.batch_begins(step, given.get("prompts"))
        return self._written(step, Price.WORK if "score" in given else Price.LOOK, measured)

    def batch_begins(self, step: int, prompts: Sequence[str] | None) -> int:
        """How many batches before this new one had its prompts in their order. Another call for a step changes nothing."""
        if step != self._last[0]:
            now = [] if prompts is None else [str(prompt) for prompt in prompts]
            self._repeated = self._repeated + 1 if now and now == self._last[1] else 0
            self._last = step, now
        return self._repeated

    def weights(self, model: Any, optimizer: Any) -> None:
        """Look at a torch model's weights round its optimizer's steps. The numbers are written with the next batch."""
        from firstbreak.live.recorder.weights import watch

        watch(self, model, optimizer)

    def transitions(self, step: int, **given: Any) -> dict[str, float]:
        """The same for steps of an environment, under the names of CleanRL's scripts, as arrays, tensors or lists.

        After a rollout of T steps in n environments: `rewards`, `values`, `dones`, `logprobs`, `actions` (T, n), `next_done`,
        `next_value` (n,), `advantages`, `returns` (T, n), `gamma`, `gae_lambda`, as they are used in the estimator. In a
        minibatch: `newlogprob`, `logprob`, `ratio`, `entropy`, `advantages` (m,), `gradient` (m,): of the loss by `newlogprob`,
        `fresh`: no update since the rollout. For values of actions: `rewards`, `dones`, `next_values`, `td_target` (m,), `gamma`.
        What is missing leaves out the identities that need it.
        """

        def measured() -> dict[str, float]:
            arrays = _arrays(given)
            sizes = [value.size for value in arrays.values() if isinstance(value, np.ndarray)]
            made = identities_of(arrays, self._rollout) | executed(arrays, done)
            self._rollout = rolled(arrays) or self._rollout
            return {"steps": float(max(sizes, default=0))} | self.measure(step, made)

        done: Sequence[np.ndarray] = ()
        if "actions" in given and self._passing is not None:  # nothing else was stepped since the last rollout
            told, self._told = self._told, self._passing.steps
            steps, copies = len(given["actions"]), self._passing.copies
            done = self._passing.last(steps) if self._told - told == steps * copies else ()
        return self._written(step, Price.LOOK, measured)

    def _written(self, step: int, cost: Price, measured: Callable[[], dict[str, float]]) -> dict[str, float]:
        """What was measured, and what waits for a batch, in the folder; nothing where no time is left."""
        self.step = step
        if not self.due(step, cost):
            return {}
        with self.measuring(cost, step):
            self.counted(step)
            found, self.numbers = self.numbers | measured(), {}
            self.files.write(step, found)
            return found
        return {}

    def env(self, env: Any) -> Any:
        """The same Gymnasium environment or vector of them, looked at: `env = record.env(env)`."""
        from firstbreak.live.recorder.environment import recorded

        apart = BatchRecorder(None, self.share)  # windows of steps do not use up the time of updates
        apart.files = self.files
        wrapped = recorded(env, apart)
        self._envs += 1
        self._passing = wrapped.passing if self._envs == 1 else None
        return wrapped

    def measure(self, step: int, given: Mapping[str, Any]) -> dict[str, float]:
        """The numbers of every identity whose inputs are given; places are written down."""
        arrays = _arrays(given)
        found: dict[str, float] = {}
        for name, (needs, uses, measure) in identities().items():
            if not needs <= arrays.keys():
                continue
            wanted = {key: arrays[key] for key in (needs | uses) & arrays.keys()}
            with self.guarded(name):
                for signal, reading in measure(**wanted).items():
                    value, place = reading if isinstance(reading, tuple) else (reading, "")
                    found[signal] = float(value)
                    if not math.isfinite(value):  # what goes in is not finite, if nothing else has told
                        found["nonfinite"] = max(found.get("nonfinite", 0.0), 1.0)
                        place = f"{signal} cannot be worked out: a number of this update is not finite"
                        self.files.locate(step, "nonfinite", place, wanted)
                    elif place:
                        self.files.locate(step, signal, place, wanted)
        return found

    @contextmanager
    def measuring(self, cost: Price, step: int) -> Iterator[None]:
        """Time in here is the recorder's; errors in here are logged and go no further."""
        if self._measuring:  # the time in a measurement within another one counts once
            with self.guarded("recorder"):
                yield
            return
        began, self._measuring = self.clock(), True
        try:
            with self.guarded("recorder"):
                yield
        finally:
            self._measuring = False
            took = self.clock() - began
            if self._granted.get(cost) == step:
                self._taken[cost] += took
            if self._first(step):
                self.start += took
            else:
                self._spent[cost] += took

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """Errors in here are logged once and go no further."""
        try:
            yield
        except Exception as error:
            if what not in self._failed:
                self._failed.add(what)
                LOG.warning("%s was not measured: %s: %s", what, type(error).__name__, error)


@cache
def identities() -> Mapping[str, tuple[frozenset[str], frozenset[str], Measure]]:
    """Name -> (inputs that are needed, inputs that are used, function), one for each file of the folder."""
    found = {}
    for name, module in plugins.modules(
        "firstbreak.live.recorder.identities", "measure", "firstbreak.identities"
    ).items():
        parameters = inspect.signature(module.measure).parameters.values()
        needs = frozenset(p.name for p in parameters if p.default is p.empty)
        found[name] = needs, frozenset(p.name for p in parameters) - needs, module.measure
    return found


def _arrays(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in ((n, _array(v)) for n, v in given.items()) if value is not None}


def _array(value: Any) -> Any:
    """Tensors and lists of numbers as float64 arrays; texts, flags and functions as they are."""
    if value is None or isinstance(value, str | bool | int | float | Mapping) or callable(value):
        return value
    if hasattr(value, "detach"):
        value = value.detach().float().cpu().numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        value = value.tolist()
    if isinstance(value, list | tuple):
        if value and not isinstance(value[0], int | float | list | type(None)):
            return list(value)
        value = np.array(value, dtype=float)
    return np.asarray(value, dtype=float)
