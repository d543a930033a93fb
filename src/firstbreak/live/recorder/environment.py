"""Gymnasium: `env = firstbreak.recorder("runs/mine").env(env)`, whatever trains in it.

Looks at what passes between the policy and the environment, one environment or a vector of them: observations, actions, ends
of episodes, rewards. Nothing is changed, and no random number is used. The numbers are those of Stable-Baselines3's recorder
(live/hooks/firstbreak_loop.py says how each is measured).
"""

from typing import Any

import numpy as np

from firstbreak.live.hooks.firstbreak_loop import Transitions
from firstbreak.live.recorder.measuring import Measurements, Price
from firstbreak.live.recorder.past import Past

PREFIX = "loop/"
ASKED = 32  #: steps between two questions whether there is time for a window
FILE = "recorder_env.jsonl"  #: its steps are those of the environment, and may differ from those of `recorder.jsonl`
AXIS = "env_steps"  #: a loop may count updates in its own log


class Passing:
    """What passes through a wrapper: windows of steps that follow each other, as many as the recorder has time for."""

    def __init__(self, recorder: Measurements, env: Any, *, resets_later: bool = False) -> None:
        self.recorder, self.resets_later = recorder, resets_later
        self.single = not hasattr(env, "single_action_space")
        self.copies = 1 if self.single else int(env.num_envs)
        self.space = env.action_space if self.single else env.single_action_space
        self.transitions = Transitions(self.space)
        self.past = Past(self.copies, resets=not self.single and not resets_later)
        self.seen: Any = None  #: the last observation, while a window is open
        self.steps = 0
        self.open = True  #: a window is measured
        self.asked = 0  #: steps since the last window
        self.uncounted = 0  #: steps in which no episode ended, since the last that was counted
        self.none = np.zeros(self.copies, bool)
        self.ended = self.none, self.none  #: of which copies the last step ended the episode, and by a time limit

    def began(self, seen: Any) -> None:
        """An episode began by hand."""
        self.past.began(seen)
        self.seen = self._rows(seen) if self.open else None

    def stepped(self, action: Any, seen: Any, reward: Any, terminated: Any, truncated: Any) -> None:
        """One step of the environment, or of every copy of it."""
        self.steps += self.copies
        self.past.add(action, seen, reward, terminated, truncated)
        any_ended = (terminated or truncated) if self.single else (np.any(terminated) or np.any(truncated))
        over, cut = self._ends(terminated, truncated) if any_ended else (self.none, self.none)
        if self.resets_later:  # what follows an end is the next step's observation, whatever the action
            (over, cut), self.ended = self.ended, (over, cut)
        if not self.open and (self.asked % ASKED or not self.recorder.due(self.steps, Price.LOOK)):
            self.asked += 1
            self.seen = None
            self.uncounted += 1
            if over is not self.none:
                self._count(over, cut)
            return
        self.open = True
        with self.recorder.measuring(Price.LOOK, self.steps):
            before, self.seen = self.seen, self._rows(seen)
            if before is None:  # the window begins with the next step
                self.uncounted += 1
                self._count(over, cut)
                return
            self._count(self.none, self.none)
            limits = [{"TimeLimit.truncated": one} for one in cut]
            acted, paid = (np.asarray(action)[None], [reward]) if self.single else (np.array(action), reward)
            numbers = self.transitions.add(before, acted, over, limits, paid)
            if numbers:
                self.open, self.asked = False, 0
                self.recorder.counted(self.steps)
                self.recorder.files.write(self.steps, numbers, PREFIX, FILE, AXIS)
                self.recorder.files.keep("action_effects", self.transitions.effect)

    def _count(self, over: np.ndarray, cut: np.ndarray) -> None:
        if self.uncounted:
            self.transitions.pass_over(over, cut, self.uncounted)
            self.uncounted = 0

    def _ends(self, terminated: Any, truncated: Any) -> tuple[np.ndarray, np.ndarray]:
        """Which episodes ended, and which of them by a time limit."""
        failed, cut = np.array(terminated, bool, ndmin=1), np.array(truncated, bool, ndmin=1)
        return failed | cut, cut & ~failed

    def _rows(self, seen: Any) -> Any:
        """A copy of the observation, with a row for each environment; of a dict, of each entry."""
        if isinstance(seen, dict):
            return {name: self._rows(part) for name, part in seen.items()}
        return np.array(seen)[None] if self.single else np.array(seen)


def recorded(env: Any, recorder: Measurements) -> Any:
    """The same environment, looked at. Raises TypeError for what is none of Gymnasium's."""
    import gymnasium

    if isinstance(env, gymnasium.vector.VectorEnv):
        mode = getattr(env.metadata.get("autoreset_mode"), "name", "NEXT_STEP")
        return _looked_at(gymnasium.vector.VectorWrapper, Passing(recorder, env, resets_later=mode == "NEXT_STEP"))(env)
    if isinstance(env, gymnasium.Env):
        return _looked_at(gymnasium.Wrapper, Passing(recorder, env))(env)
    raise TypeError(f"{type(env).__name__} is not a gymnasium.Env or gymnasium.vector.VectorEnv: wrap one of these")


def _looked_at(wrapper: Any, passes: Passing) -> Any:
    """A wrapper of Gymnasium's that looks at its environment, or at a vector of them."""

    class Recorded(wrapper):  # type: ignore[misc]
        """Looks at what passes."""

        passing = passes

        def reset(self, **options: Any) -> Any:
            result = self.env.reset(**options)
            self.passing.began(result[0])
            return result

        def step(self, *given: Any, **named: Any) -> Any:
            """The action is called `action`, or `actions` of a vector."""
            result = self.env.step(*given, **named)
            self.passing.stepped(*given, *named.values(), *result[:4])
            return result

    return Recorded
