"""The recorder of a loop: `record.batch(step, rewards=..., ...)` measures every identity whose inputs are given."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.live.recorder.environment import recorded
from firstbreak.live.recorder.journal import NAME
from firstbreak.live.recorder.measuring import SHARE, Measurements, Price, arrays_of
from firstbreak.live.recorder.past import Watched
from firstbreak.live.recorder.steps import clipped, executed, identities_of, rolled, shifted_of
from firstbreak.live.recorder.weights import watch

OWN = "log.jsonl"  #: what a loop logs itself
ASKED = 4096  #: prompts that are remembered with their right answers


class BatchRecorder(Measurements):
    """Measures identities of batches and updates of a loop, and writes the numbers into `folder`."""

    def __init__(self, folder: str | Path | None = ".", share: float = SHARE, name: str = NAME) -> None:
        super().__init__(folder, share, name)
        self._asked: dict[tuple[str, str], int] = {}  #: batches that held a prompt with this right answer, two at most
        self._last: tuple[int, list[str]] = (-1, [])  #: step and prompts of the last new batch
        self._repeated = 0  #: batches in a row with the same prompts
        self._watched = Watched()  #: the environments
        self._one_row: Any = None  #: the observation of all rows of an earlier minibatch, where all had one
        self._rollout: Mapping[str, Any] = {}  #: log-probabilities and advantages of the last rollout
        self._shifted: bool | None = None  #: whether `dones` are CleanRL's, once that was seen
        self._rows, self._trained = 0, 0  #: of the last rollout, and those that its minibatches had so far

    def batch(self, step: int, **given: Any) -> dict[str, float]:
        """Measure every identity whose inputs are given, write the numbers and return them: none where no time is left.

        Inputs are numpy arrays, torch tensors or lists, with n completions of at most T tokens:
        `prompts`, `completions` (n texts), `rewards` (n,) or (n, functions), `reward_weights`, `advantages` (n,) or (n, T),
        `group` (completions of a prompt, which follow each other), `mask` (n, T): 1 where a token counts in the loss,
        `lengths` (n,): tokens that were sampled, `tool_mask` (n, T): 0 where a tool wrote, `logps` (n, T) of sampled tokens in
        the update, `old_logps`, `ref_logps`, `entropies` (n, T), `gradient` (n, T): of the loss by `logps`, `fresh`: no update
        since the batch was sampled.
        An input that is missing leaves out the identities that need it.
        """

        def measured() -> dict[str, float]:
            if given.get("prompts") is not None and given.get("references") is not None and len(self._asked) < ASKED:
                for pair in dict.fromkeys(zip(given["prompts"], map(str, given["references"]), strict=False)):
                    self._asked[pair] = min(self._asked.get(pair, 0) + 1, 2)
            asked = [pair for pair, times in self._asked.items() for _ in range(times)]
            whole = {} if _whole(given.get("group")) else {"group": None}  # parts of groups have no baseline
            known = {"asked": asked or None, "repeated": self._repeated} | _counted(given)
            return self.measure(step, known | given | whole)

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

    def log(self, step: int, **numbers: float) -> None:
        """Curves of the loop's own, such as `reward` and `eval_reward`, which a diagnosis reads as those of any log."""
        self.files.write(step, numbers, prefix="", file=OWN)

    def weights(self, model: Any, optimizer: Any) -> None:
        """Look at a torch model's weights round its optimizer's steps. The numbers are written with the next batch."""
        watch(self, model, optimizer)

    def transitions(self, step: int, **given: Any) -> dict[str, float]:
        """The same for steps of an environment, under the names of CleanRL's scripts, as arrays, tensors or lists.

        After a rollout of T steps in n environments: `rewards`, `values`, `dones`, `logprobs`, `actions` (T, n), `next_done`,
        `next_value` (n,), `advantages`, `returns` (T, n), `gamma`, `gae_lambda`, as they are used in the estimator. `dones` are
        CleanRL's, 1 where step t began an episode, or where it ended one, as `env` has seen; `episode_starts` or `ended` say it.
        In each minibatch: `newlogprob`, `logprob`, `ratio`, `entropy`, `advantages` (m,), `gradient` (m,): of the loss by
        `newlogprob`, `fresh`: no update since the rollout. For values of actions: `rewards`, `dones`, `next_values`,
        `td_target` (m,), `gamma`. What is missing leaves out the identities that need it.
        """

        def measured() -> dict[str, float]:
            arrays = arrays_of(given)
            sizes = [value.size for value in arrays.values() if isinstance(value, np.ndarray)]
            told = shifted_of(arrays, done)
            self._shifted = self._shifted if told is None else told
            made = identities_of(arrays, self._rollout, self._shifted) | executed(arrays, done)
            if "cut" in arrays:
                made["cut"] = arrays["cut"]
            elif "cut" in done and done["cut"].shape == np.shape(made.get("ended", 0.0)):
                made["cut"] = done["cut"]
            made |= self._watched.streams() | clipped(arrays, [one.space for one in self._watched.each])
            if "row_obs" in made:
                made |= {"past": past} if (past := self._watched.last()) else {}
                made |= self._before(made["row_obs"])
            self._rollout = rolled(arrays) or self._rollout
            return {"steps": float(max(sizes, default=0))} | self.measure(step, made)

        done: Mapping[str, np.ndarray] = {}
        with self.guarded("transitions"):
            if "newlogprob" in given:
                self._trained += len(given["newlogprob"])
            elif "td_target" not in given and (held := given.get("values", given.get("actions"))) is not None:
                if self._trained and self._rows:
                    self.numbers["rows_trained"] = min(1.0, self._trained / self._rows)
                self._rows, self._trained = math.prod(np.shape(held)[:2]), 0
                done = self._watched.rollout(len(held), self._rows)
        return self._written(step, Price.LOOK, measured)

    def _before(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The observation of all rows of the minibatch before, where all had one there, and all have one here."""
        if np.ptp(rows, axis=0).any():
            return {}
        before, self._one_row = self._one_row, rows[0]
        return {} if before is None else {"row_before": before}

    def _written(self, step: int, cost: Price, measured: Callable[[], dict[str, float]]) -> dict[str, float]:
        """What was measured, and what waits for a batch, in the folder; nothing where no time is left."""
        self.step = step
        if not self.due(step, cost):
            if "untrained" in self.numbers:  # what the weights were looked at for is not lost
                found, self.numbers = self.numbers, {}
                with self.measuring(Price.GLANCE, step):
                    self.files.write(step, found)
            return {}
        with self.measuring(cost, step):
            self.counted(step)
            found, self.numbers = self.numbers | measured(), {}
            self.files.write(step, found)
            return found
        return {}

    def env(self, env: Any) -> Any:
        """The same Gymnasium environment or vector of them, looked at: `env = record.env(env)`."""
        apart = Measurements(None, self.share)  # windows of steps do not use up the time of updates
        apart.files = self.files
        wrapped = recorded(env, apart)
        self._watched.each.append(wrapped.passing)
        return wrapped


def _whole(group: Any) -> bool:
    """Whether a group's size, or the names of all rows' groups, can be of whole groups: all have one size."""
    if group is None or isinstance(group, int | float):
        return True
    sizes = np.unique(np.asarray(group), return_counts=True)[1]
    return bool((sizes == sizes[0]).all())


def _counted(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """A mask of all tokens, where none is given and the loss has a gradient at each token of every row that counts."""
    told = any(given.get(name) is not None for name in ("mask", "lengths", "tool_mask"))
    led = None if told else arrays_of({"gradient": given.get("gradient")}).get("gradient")
    if led is None or np.ndim(led) != 2:
        return {}
    counts = (led != 0).any(1)
    return {"mask": np.ones_like(led)} if counts.any() and (led[counts] != 0).all() else {}
