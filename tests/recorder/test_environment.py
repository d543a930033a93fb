"""The recorder around a Gymnasium environment: what is sound is silent, what is broken is named, and nothing is changed."""

import json
from collections import deque
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.engine.detection import check
from firstbreak.live.hooks.firstbreak_loop import Transitions
from firstbreak.live.recorder.environment import FILE
from firstbreak.model import Run
from firstbreak.readers.read import read
from tests.lazy import lazy

gymnasium = lazy("gymnasium")
gymnasium_vector = lazy("gymnasium.vector")

ENVIRONMENT = {
    "observations-off", "action-effect-moved", "actions-without-effect", "time-limits-vary", "observations-constant",
}  # fmt: skip


@cache
def late() -> Any:
    class Late(gymnasium.ObservationWrapper[Any, Any, Any]):
        """Shows what was seen three steps ago."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.seen: deque[Any] = deque(maxlen=4)

        def observation(self, observation: Any) -> Any:
            self.seen.append(observation)
            return self.seen[0]

    return Late


@cache
def reversed(after: int = 1200) -> Any:
    class Reversed(gymnasium.Wrapper[Any, Any, Any, Any]):
        """Pushes the other way after so many steps."""

        steps = 0

        def step(self, action: Any) -> Any:
            self.steps += 1
            return self.env.step(1 - action if self.steps > after else action)

    return Reversed


@cache
def cart() -> Any:
    class Cart(gymnasium.Env[Any, Any]):
        """Two forces push two carts; after so many steps, the second one pushes the other way."""

        observation_space, action_space = gymnasium.spaces.Box(-9, 9, (2,)), gymnasium.spaces.Box(-1, 1, (2,))

        def __init__(self, after: float) -> None:
            self.after, self.steps, self.place = after, 0, np.zeros(2)

        def reset(self, **options: Any) -> Any:
            self.place = np.zeros(2)
            return self.place.copy(), {}

        def step(self, action: Any) -> Any:
            self.steps += 1
            forces = action * np.array([2.0, -1.0 if self.steps > self.after else 1.0])
            self.place = 0.9 * self.place + 0.1 * forces
            return self.place.copy(), 1.0, False, self.steps % 100 == 0, {}

    return Cart


@pytest.mark.parametrize("after", [1500, np.inf])
def test_the_effect_of_each_action_on_each_component_is_kept(tmp_path: Path, after: float) -> None:
    env, draw = firstbreak.recorder(tmp_path, share=1.0).env(cart()(after)), np.random.default_rng(0)
    env.reset()
    for _ in range(3000):
        if env.step(draw.uniform(-1, 1, 2))[3]:
            env.reset()
    assert found(read(tmp_path)) == (set() if np.isinf(after) else {"action-effect-moved"})
    effects = np.load(tmp_path / "recorder_arrays" / "action_effects.arrays")
    assert effects["first"].shape[0] == 2, "of each action, on each component"
    assert np.allclose(effects["first"], effects["last"], atol=0.05 * np.abs(effects["first"]).max()) == np.isinf(after)


def test_a_component_whose_effect_was_not_clear_at_first_has_not_moved() -> None:
    draw, seen = np.random.default_rng(0), Transitions()
    place, moved = np.zeros(2), []
    for step in range(4 * 129):
        action, state = (
            draw.uniform(-1, 1),
            draw.uniform(-1, 1) if step < 258 else 1.0,
        )  # the second effect is that of a state
        told = seen.add(place[None], np.array([[action]]), np.array([False]), [{}], [0.0])
        moved += [told["action_effect_moved"]] if "action_effect_moved" in told else []
        place = np.array([0.5 * place[0] + action, 0.5 * place[1] + state * action])
    assert moved
    assert max(moved) < 0.1


@cache
def zero() -> Any:
    class Zero(gymnasium.ObservationWrapper[Any, Any, Any]):
        """Shows nothing."""

        def observation(self, observation: Any) -> Any:
            return np.zeros_like(observation)

    return Zero


def single(wrap: Any) -> Any:
    return wrap(gymnasium.make("CartPole-v1"))


def later(wrap: Any) -> Any:
    return gymnasium_vector.SyncVectorEnv([lambda: single(wrap)] * 4)


def at_once(wrap: Any) -> Any:
    return gymnasium_vector.SyncVectorEnv(
        [lambda: single(wrap)] * 4, autoreset_mode=gymnasium_vector.AutoresetMode.SAME_STEP
    )


def played(env: Any, steps: int, seed: int = 0) -> list[Any]:
    """Random actions; what came of them."""
    rng, vector = np.random.default_rng(seed), isinstance(env, gymnasium.vector.VectorEnv)
    seen, _ = env.reset(seed=seed)
    course = [np.array(seen)]
    for _ in range(steps):
        seen, reward, terminated, truncated, _ = env.step(
            rng.integers(0, 2, env.num_envs) if vector else int(rng.integers(2))
        )
        course += [np.array(seen), np.array(reward)]
        if not vector and (terminated or truncated):
            course.append(env.reset()[0])
    return course


def recorded(folder: Path, env: Any, steps: int) -> Run:
    played(firstbreak.recorder(folder, share=1.0).env(env), steps)
    return read(folder)


def found(run: Run) -> set[str]:
    return {
        outcome.detector for outcome in check(run) if outcome.detector in ENVIRONMENT and outcome.finding is not None
    }


@pytest.mark.parametrize("make", [single, at_once, pytest.param(later, marks=pytest.mark.thorough)])
def test_a_sound_environment_is_silent(tmp_path: Path, make: Any) -> None:
    run = recorded(tmp_path, make(lambda env: env), 3000)
    assert {"env.action_shown", "env.episodes_ended"} <= set(run.series)
    assert float(run.series["env.action_shown_at_once"].values.min()) > 0.9, "the actions of CartPole decide the speed"
    assert found(run) == set()


@pytest.mark.parametrize("make", [single, at_once, pytest.param(later, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    ("wrap", "name"), [(late, "observations-off"), (reversed, "action-effect-moved"), (zero, "observations-constant")]
)
def test_what_is_broken_is_named(tmp_path: Path, make: Any, wrap: Any, name: str) -> None:
    assert name in found(recorded(tmp_path, make(wrap()), 3000))


@pytest.mark.parametrize("make", [single, at_once, pytest.param(later, marks=pytest.mark.thorough)])
def test_the_course_is_the_same_bit_by_bit(tmp_path: Path, make: Any) -> None:
    without = played(make(lambda env: env), 500)
    beside = played(firstbreak.recorder(tmp_path).env(make(lambda env: env)), 500)
    assert all(np.array_equal(a, b) for a, b in zip(without, beside, strict=True))


def test_a_killed_process_loses_no_window(tmp_path: Path) -> None:
    played(firstbreak.recorder(tmp_path, share=1.0).env(single(lambda env: env)), 1000)
    rows = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert len(rows) >= 7
    assert rows[-1]["env_steps"] <= 1000


def test_without_time_only_the_first_windows_are_measured(tmp_path: Path) -> None:
    played(firstbreak.recorder(tmp_path, share=0.0).env(single(lambda env: env)), 2000)
    assert len((tmp_path / FILE).read_text().splitlines()) <= 3


def test_what_is_no_environment_is_refused() -> None:
    with pytest.raises(TypeError, match="wrap one of these"):
        firstbreak.recorder().env([])


def test_a_tensorboard_run_of_ones_own_loop_and_the_recorder_are_one_run(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path))
    for step in range(128, 3000, 128):
        writer.add_scalar("charts/episodic_return", 20.0, step)
        writer.add_scalar("losses/value_loss", 1.0, step)
        writer.add_scalar("losses/approx_kl", 0.01, step)
    writer.close()
    run = recorded(tmp_path, single(zero()), 3000)
    assert {"env.observation_constant", "value.loss"} <= set(run.series)
    assert "observations-constant" in found(run)


def test_a_loop_that_counts_updates_keeps_its_own_axis(tmp_path: Path) -> None:
    rows = [{"step": i, "return": float(i), "entropy": 1.0, "value_loss": 1.0, "lr": 1e-3} for i in range(1, 31)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = recorded(tmp_path, single(zero()), 3000)
    assert (run.first_step, run.last_step) == (1, 30)
    assert run.series["env.observation_constant"].steps[-1] > 30


def test_what_passes_in_an_environment_does_not_use_up_the_time_of_updates(tmp_path: Path) -> None:
    record = firstbreak.recorder(tmp_path)
    played(record.env(single(lambda env: env)), 2000)
    assert "ratio_first" in record.transitions(1, newlogprob=[-0.5, -0.7], logprob=[-0.5, -0.7], fresh=True)
