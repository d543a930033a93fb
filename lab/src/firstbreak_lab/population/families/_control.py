"""What the control families share: a broken environment, a broken optimiser, and the faults of both."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gymnasium
import numpy as np
import torch

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism
from firstbreak_lab.population.family import TrainerFault
from firstbreak_lab.population.faults import fault
from firstbreak_lab.population.tasks import ControlTask

HALF_MAX = 65504.0  #: largest number in half precision
CRASHES = (ValueError, RuntimeError, AssertionError, OverflowError, FloatingPointError)  #: of a trainer that met a NaN

#: faults of every environment
OF_ENVIRONMENT: tuple[TrainerFault, ...] = (
    fault("observations-rescaled", (10, 1000), "times"),
    fault("observations-offset", (3, 300), "added to every feature"),
    fault("observations-incomplete", (0.3, 0.9), "share of the features that are zero"),
    fault("observations-late", (2, 8), "steps", whole=True),
    fault("actions-replaced", (0.4, 1), "share of the actions"),
    fault("dynamics-drift", (0.3, 0.8), "share of the steps with the action of the step before"),
    fault("episodes-never-end"),
    fault("length-limit-too-short", (2, 8), "steps of an episode", whole=True),
    fault("samples-alike", (3, 10), "copies of each step", whole=True),
    fault("reward-sign-flipped", (0.6, 1), "share of the rewards"),
    fault("verdicts-noisy", (3, 30), "noise over the size of a usual reward"),
    fault("reward-constant"),
    fault("scale-too-large", (30, 3000), "times"),
    fault("reward-saturated", (0.6, 1), "share of the rewards that are the largest one"),
    fault("reward-missing", (0.01, 0.3), "share of the rewards that are NaN"),
    fault(
        "reward-lost",
        (0.6, 1),
        "share of the rewards that are 0",
        link=Link.REWARD,
        accepted={Link.ENVIRONMENT: "the environment is what pays", Link.ADVANTAGE: "little is left to compare"},
    ),
    fault("rollout-worker-slow", (1, 5), "milliseconds a step"),
    fault(
        "slows-down",
        (2, 10),
        "milliseconds a step at the end of the run",
        link=Link.SYSTEMS,
        accepted={Link.ROLLOUT: "the phase that takes longer is the rollout"},
    ),
)
#: faults of every evaluation
OF_EVALUATION: tuple[TrainerFault, ...] = (
    fault("evaluation-elsewhere", (0.3, 1), "share of the actions that are random"),
    fault("stale-weights"),
)
#: faults of every continuous action
OF_ACTIONS: tuple[TrainerFault, ...] = (
    fault(
        "action-range-wrong",
        (0.005, 0.1),
        "times the action",
        link=Link.ENVIRONMENT,
        accepted={Link.ROLLOUT: "what was executed is not what was generated"},
    ),
)
#: faults of every optimiser
OF_OPTIMISER: tuple[TrainerFault, ...] = (
    fault("learning-rate-too-high", (10, 300), "times"),
    fault("updates-do-nothing", (1e-5, 1e-2), "times the step"),
    fault(
        "schedule-ends-early",
        (1e-6, 1e-2),
        "times the learning rate",
        link=Link.POLICY_UPDATE,
        accepted={},
        cause="updates-do-nothing",
    ),
    fault("updates-rounded-away", (2, 5), "bits of mantissa", whole=True),
    fault("gradients-not-finite", (0.3, 1), "share of the steps that overflow and are left out"),
    fault(
        "loss-not-finite",
        link=Link.NUMERICS,
        accepted={Link.POLICY_UPDATE: "the weights become NaN there"},
        cause="gradients-not-finite",
    ),
    fault(
        "updates-slow",
        (5, 30),
        "milliseconds an update",
        link=Link.SYSTEMS,
        accepted={Link.POLICY_UPDATE: "the phase that takes longer is the update"},
    ),
)


class Waits:
    """Time that a fault wastes. It sleeps, so that a broken run costs the machine nothing."""

    def __init__(self, broken: BrokenMechanism) -> None:
        self.broken, self.seconds = broken, 0.0

    def rollout(self) -> None:
        """One step of the environments."""
        left = 1.0 - self.broken.onset
        late = (self.broken.progress - self.broken.onset) / left
        self._sleep(self.broken("rollout-worker-slow") + late * self.broken("slows-down"))

    def update(self) -> None:
        """One step of the optimiser."""
        self._sleep(self.broken("updates-slow"))

    def _sleep(self, milliseconds: float) -> None:
        if milliseconds:
            time.sleep(milliseconds / 1000)
            self.seconds += milliseconds / 1000


class BrokenEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose observations, actions, rewards and ends pass the faults. `waits`: that of the slowest worker."""

    def __init__(self, env: Any, broken: BrokenMechanism, reward: float, waits: Waits | None = None) -> None:
        super().__init__(env)
        self.broken, self.waits, self.usual = broken, waits, reward
        self.acts = broken.fault in {one.name for one in (*OF_ENVIRONMENT, *OF_ACTIONS)}
        features = env.observation_space.shape[0]
        self.order = np.random.default_rng(broken.seed).permutation(features)
        self.seen: deque[np.ndarray] = deque(maxlen=10)
        self.last: Any = None
        self.held: tuple[Any, ...] | None = None  #: the step that is shown again
        self.shown = self.steps = 0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        seen, info = self.env.reset(**options)
        if not self.acts:
            return seen, info
        self.seen.clear()
        self.held, self.steps = None, 0
        return self._observation(seen), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        if not self.acts:
            return self.env.step(action)
        if self.waits:
            self.waits.rollout()
        self.steps += 1
        if self.held is not None and self.shown < self.broken("samples-alike"):
            self.shown += 1
            return self.held[0], self.held[1], False, False, {}
        seen, reward, terminated, truncated, info = self.env.step(self._action(action))
        reward = self._reward(float(reward))
        if (terminated or truncated) and self.broken("episodes-never-end"):
            seen, terminated, truncated = self.env.reset()[0], False, False
        truncated = truncated or bool(0 < self.broken("length-limit-too-short") <= self.steps)
        seen = self._observation(seen)
        self.held, self.shown = (seen, reward), 1
        return seen, reward, terminated, truncated, info

    def _observation(self, seen: Any) -> Any:
        broken = self.broken
        self.seen.append(seen)
        if late := int(broken("observations-late")):
            return self.seen[max(-len(self.seen), -1 - late)]
        if share := broken("observations-incomplete"):
            seen = seen.copy()
            seen[self.order[: round(share * len(seen))]] = 0
        seen = seen * np.float32(broken("observations-rescaled", 1.0)) + np.float32(broken("observations-offset"))
        return seen

    def _action(self, action: Any) -> Any:
        broken = self.broken
        before, self.last = self.last, action
        if before is not None and broken.hit("dynamics-drift"):
            return before
        if broken.hit("actions-replaced"):
            return np.zeros_like(action)
        return action * np.float32(scale) if (scale := broken("action-range-wrong")) else action

    def _reward(self, reward: float) -> float:
        broken = self.broken
        if broken.hit("reward-sign-flipped"):
            return -reward
        if broken.hit("reward-lost") or broken("reward-constant"):
            return 0.0
        if broken.hit("reward-missing"):
            return float("nan")
        if broken.hit("reward-saturated"):
            return 2 * self.usual
        if noise := broken("verdicts-noisy"):
            reward += noise * self.usual * float(broken.rng.normal())
        return reward * broken("scale-too-large", 1.0)


class EvaluationEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The environment of the evaluation, which becomes another one with the fault `evaluation-elsewhere`."""

    def __init__(self, env: Any, broken: BrokenMechanism) -> None:
        super().__init__(env)
        self.broken = broken

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        if self.broken.hit("evaluation-elsewhere"):
            space: Any = self.env.action_space
            action = (
                self.broken.rng.integers(space.n)
                if hasattr(space, "n")
                else self.broken.rng.uniform(space.low, space.high)
            )
        return super().step(action)


def environments(task: ControlTask, n: int, broken: BrokenMechanism, waits: Waits) -> list[Callable[[], Any]]:
    """Makers of `n` training environments; the first one is the slowest worker."""

    def maker(i: int) -> Callable[[], Any]:
        return lambda: BrokenEnv(task.make(), broken, task.reward, None if i else waits)

    return [maker(i) for i in range(n)]


def categorical(logits: torch.Tensor) -> Any:
    """The policy of these logits, shape (n, actions)."""
    return torch.distributions.Categorical(logits=logits)


class ParallelEnvs:
    """Environments that are stepped together, each of which begins again where it ends."""

    def __init__(self, makers: list[Callable[[], Any]], seed: int) -> None:
        self.envs = [make() for make in makers]
        self.seen = np.stack([env.reset(seed=seed + i)[0] for i, env in enumerate(self.envs)])
        self.returns, self.lengths = np.zeros(len(self.envs)), np.zeros(len(self.envs), int)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[tuple[float, int]]]:
        """Rewards and whether an episode is over, shape (n,), and return and length of each episode that is over."""
        rewards, overs = np.zeros((2, len(self.envs)), np.float32)
        episodes = []
        for i, env in enumerate(self.envs):
            seen, rewards[i], terminated, truncated, _ = env.step(actions[i])
            self.returns[i] += rewards[i]
            self.lengths[i] += 1
            overs[i] = terminated or truncated
            if overs[i]:
                episodes.append((float(self.returns[i]), int(self.lengths[i])))
                self.returns[i], self.lengths[i] = 0.0, 0
                seen = env.reset()[0]
            self.seen[i] = seen
        return rewards, overs, episodes


def break_optimiser(
    optimiser: torch.optim.Optimizer,
    broken: BrokenMechanism,
    waits: Waits,
    off: Mapping[str, Iterable[torch.nn.Parameter]] | None = None,
) -> None:
    """Let the faults of OF_OPTIMISER act in every step. `off`: fault -> parameters that it takes out of the optimiser."""
    held: list[torch.Tensor] = []
    frozen = {name: list(parameters) for name, parameters in (off or {}).items()}

    def parameters() -> list[torch.nn.Parameter]:
        return [p for group in optimiser.param_groups for p in group["params"]]

    def before(*_: Any) -> None:
        waits.update()
        for name, taken_out in frozen.items():
            for p in taken_out if broken(name) else ():
                p.grad = None
        overflows = broken.hit("gradients-not-finite")
        for p in parameters():
            if overflows:
                p.grad = None
            elif p.grad is not None and broken("loss-not-finite"):
                p.grad.fill_(float("nan"))
        held[:] = [p.detach().clone() for p in parameters()] if broken("updates-do-nothing") else []

    def after(*_: Any) -> None:
        with torch.no_grad():
            for p, old in zip(parameters(), held, strict=False):
                p.copy_(old + (p - old) * broken("updates-do-nothing"))
            if bits := broken("updates-rounded-away"):
                for p in parameters():
                    mantissa, exponent = torch.frexp(p)
                    p.copy_(torch.ldexp((mantissa * 2 ** (bits + 1)).round() / 2 ** (bits + 1), exponent))

    optimiser.register_step_pre_hook(before)
    optimiser.register_step_post_hook(after)


def learning_rate(value: float, broken: BrokenMechanism) -> float:
    """The learning rate that a schedule gives, as the optimiser and the log get it."""
    return value * broken("learning-rate-too-high", 1.0) * broken("schedule-ends-early", 1.0)
