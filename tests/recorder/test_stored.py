"""What a loop stores, beside what the wrapped environment was given and showed: rollouts and rows of a replay buffer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from tests.detectors.look import proved
from tests.lazy import lazy

gymnasium = lazy("gymnasium")

Tables = dict[str, np.ndarray]
DRAW = np.random.default_rng(0)


def played(folder: Path, name: str, steps: int, limit: int | None = None) -> tuple[Any, Tables]:
    """A recorder, and steps of an environment with random actions, as a sound loop stores them."""
    record, draw = firstbreak.recorder(folder, share=1), np.random.default_rng(0)
    env = record.env(gymnasium.make(name, max_episode_steps=limit))
    kept: dict[str, list[Any]] = {
        key: [] for key in ("obs", "actions", "rewards", "next_obs", "terminated", "truncated", "begins")
    }
    seen, _ = env.reset(seed=0)
    for _ in range(steps):
        low = getattr(env.action_space, "low", None)
        action = int(draw.integers(env.action_space.n)) if low is None else draw.uniform(low, -low)
        after, *told = env.step(action)
        ended = told[1] or told[2]
        begins = env.reset()[0] if ended else after
        for key, value in zip(kept, (seen, action, told[0], after, told[1], told[2], begins), strict=True):
            kept[key].append(value)
        seen = begins
    return record, {key: np.squeeze(np.array(values, np.float32)) for key, values in kept.items()}


Change = Callable[[Tables], Tables]
LATER = np.roll(np.arange(600), 7)

REPLAYED: dict[str, tuple[str, Change, str | None]] = {
    "sound": ("CartPole-v1", lambda t: {}, None),
    "sound, with a limit": ("Pendulum-v1", lambda t: {}, None),
    "a limit that ends": ("CartPole-v1", lambda t: {"dones": t["terminated"] + t["truncated"]}, None),
    "scaled rewards": ("Pendulum-v1", lambda t: {"rewards": 0.1 * t["rewards"]}, None),
    "other numbers for actions": ("CartPole-v1", lambda t: {"actions": 3 - t["actions"]}, None),
    "scaled observations": ("CartPole-v1", lambda t: {"obs": 2 * t["obs"], "next_obs": 2 * t["next_obs"]}, None),
    "the third step after": ("Pendulum-v1", lambda t: {"next_obs": np.roll(t["next_obs"], -2, 0)}, None),
    "actions of other rows": (
        "CartPole-v1", lambda t: {"actions": t["actions"][LATER]}, "actions-not-those-executed",
    ),
    "actions of the rows before": (
        "Pendulum-v1", lambda t: {"actions": np.roll(t["actions"], 1)}, "actions-not-those-executed",
    ),
    "one array twice": ("CartPole-v1", lambda t: {"next_obs": t["obs"]}, "actions-not-those-executed"),
    "an array that is overwritten": (
        "CartPole-v1", lambda t: {"obs": 0 * t["obs"] + t["obs"][-1]}, "actions-not-those-executed",
    ),
    "next observations of other rows": (
        "CartPole-v1", lambda t: {"next_obs": DRAW.permutation(t["next_obs"])}, "actions-not-those-executed",
    ),
    "no end": ("CartPole-v1", lambda t: {"dones": 0 * t["terminated"]}, "values-through-ends"),
    "limits for terminations": ("CartPole-v1", lambda t: {"dones": t["truncated"]}, "values-through-ends"),
    "after the reset": ("Pendulum-v1", lambda t: {"next_obs": t["begins"]}, "values-through-ends"),
    "rewards of other rows": ("Pendulum-v1", lambda t: {"rewards": t["rewards"][LATER]}, "rewards-of-neighbours"),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLAYED)
def test_rows_of_a_replay_buffer(case: str, tmp_path: Path) -> None:
    name, change, check = REPLAYED[case]
    record, table = played(tmp_path, name, 600, limit=20)
    stored = table | {"dones": table["terminated"]} | change(table)
    draw = np.random.default_rng(1)
    for step in range(1, 5):
        rows = draw.integers(0, 600, 128)
        given = {key: stored[key][rows] for key in ("obs", "actions", "rewards", "next_obs", "dones")}
        values = draw.normal(size=128)
        target = given["rewards"] + 0.9 * (1 - given["dones"]) * values
        record.transitions(step, **given, next_values=values, td_target=target, gamma=0.9)
    assert proved(firstbreak.read(tmp_path)) == ({check} if check else set())


ROLLED: dict[str, tuple[str, Change, str | None]] = {
    "sound": ("CartPole-v1", lambda t: {}, None),
    "sound, continuous": ("Pendulum-v1", lambda t: {}, None),
    "clipped for the environment alone": ("Pendulum-v1", lambda t: {"actions": np.arctanh(t["actions"] / 2.01)}, None),
    "clipped rewards": ("Pendulum-v1", lambda t: {"rewards": t["rewards"].clip(-5)}, None),
    "a value at the limit": ("Pendulum-v1", lambda t: {"rewards": t["rewards"] - 9 * t["truncated"]}, None),
    "actions of the step before": (
        "Pendulum-v1", lambda t: {"actions": np.roll(t["actions"], 1)}, "actions-not-those-executed",
    ),
    "rewards of the step before": (
        "Pendulum-v1", lambda t: {"rewards": np.append(0, t["rewards"][:-1])}, "rewards-of-neighbours",
    ),
    "limits for terminations": ("CartPole-v1", lambda t: {"dones": t["truncated"]}, "values-through-ends"),
}  # fmt: skip


@pytest.mark.parametrize("case", ROLLED)
def test_steps_of_a_rollout(case: str, tmp_path: Path) -> None:
    name, change, check = ROLLED[case]
    record, table = played(tmp_path, name, 128, limit=20)
    stored = table | {"dones": np.maximum(table["terminated"], table["truncated"])} | change(table)
    record.transitions(1, **{key: stored[key] for key in ("actions", "rewards", "dones")})
    assert proved(firstbreak.read(tmp_path)) == ({check} if check else set())


@pytest.mark.parametrize(("moves", "copied"), [(1.0, True), (0.0, False)])
def test_rows_that_become_another_observation_are_overwritten(moves: float, copied: bool, tmp_path: Path) -> None:
    record = firstbreak.recorder(tmp_path, share=1)
    for step in range(1, 5):
        rows, ones = np.full((64, 3), moves * step), np.ones(64)
        given = {"obs": rows, "next_obs": rows, "actions": ones, "rewards": DRAW.normal(size=64), "dones": 0 * ones}
        record.transitions(step, gamma=0.9, next_values=ones, td_target=given["rewards"] + 0.9, **given)
    assert ("actions-not-those-executed" in proved(firstbreak.read(tmp_path))) is copied


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("apart", [0, 1])
def test_environments_with_one_seed_are_copies(vector: bool, apart: int, tmp_path: Path) -> None:
    record = firstbreak.recorder(tmp_path, share=1)
    singles = [gymnasium.make("Pendulum-v1") for _ in range(3)]
    envs = (
        [record.env(gymnasium.vector.SyncVectorEnv([lambda e=e: e for e in singles]))]
        if vector
        else [*map(record.env, singles)]
    )
    seeds = [apart * i for i in range(3)]
    for env, seed in zip(envs, [seeds] if vector else seeds, strict=True):
        env.reset(seed=seed)
    for step in range(1, 5):
        for _ in range(20):
            for env in envs:
                env.step(np.full((3, 1) if vector else 1, 0.5, np.float32))
        paid = np.ones(20)
        record.transitions(step, rewards=paid, returns=paid, gamma=0.0, actions=paid, dones=0 * paid)
    assert ("samples-identical" in proved(firstbreak.read(tmp_path))) is (not apart)


@pytest.mark.parametrize(("limit", "clipped"), [(2.0, True), (np.inf, False)])
def test_an_action_that_was_clipped_before_it_was_stored(limit: float, clipped: bool, tmp_path: Path) -> None:
    record = firstbreak.recorder(tmp_path, share=1)
    record.env(gymnasium.make("Pendulum-v1"))
    for step in range(1, 4):
        drawn = DRAW.normal(0, 1.5, (64, 1)).clip(-limit, limit)
        record.transitions(step, actions=drawn, logprobs=-0.5 * (drawn / 1.5) ** 2, rewards=np.ones((64, 1)))
    assert ("clipped-actions-stored" in proved(firstbreak.read(tmp_path))) is clipped


def test_single_environments_are_compared_as_a_vector(tmp_path: Path) -> None:
    record = firstbreak.recorder(tmp_path, share=1)
    envs = [record.env(gymnasium.make("CartPole-v1")) for _ in range(3)]
    for step in range(1, 4):
        seen = [env.reset(seed=10 * step + i) for i, env in enumerate(envs)]
        taken = DRAW.integers(0, 2, (8, len(seen)))
        for row in taken:
            for env, action in zip(envs, row, strict=True):
                env.step(int(action))
        record.transitions(step, actions=taken[:, ::-1], values=np.zeros((8, 3)), rewards=np.ones((8, 3)))
    assert proved(firstbreak.read(tmp_path)) == {"actions-not-those-executed"}
