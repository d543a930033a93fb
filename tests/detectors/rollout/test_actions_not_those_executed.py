"""Actions that are drawn twice, in a loop round a real environment."""

from pathlib import Path

import numpy as np

import firstbreak
from tests.detectors.recorded import STEPS
from tests.lazy import lazy

gymnasium = lazy("gymnasium")

ID = "actions-not-those-executed"
ENVS, LENGTH = 2, 5


def found(folder: Path, *, again: bool = False, late: int = 0) -> str | None:
    """What is said of a loop that draws actions once, or `again` for the buffer, and makes `late` more steps before it tells."""
    record = firstbreak.recorder(folder)
    envs = record.env(gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * ENVS))
    envs.reset(seed=0)
    drawn = np.random.default_rng(0)
    for step in range(1, 5):
        kept = []
        for _ in range(LENGTH):
            action = drawn.integers(0, 2, ENVS)
            envs.step(action)
            kept.append(drawn.integers(0, 2, ENVS) if again else action)
        for _ in range(late):
            envs.step(drawn.integers(0, 2, ENVS))
        record.transitions(step, **(STEPS | {"actions": np.stack(kept)}))
    outcomes = (o for o in firstbreak.check(firstbreak.read(folder)) if o.detector == ID)
    return next((o.finding.message for o in outcomes if o.finding is not None), None)


def test_a_second_draw_for_the_buffer_is_proved(tmp_path: Path) -> None:
    assert "is stored" in (found(tmp_path, again=True) or "")


def test_steps_of_an_evaluation_between_are_no_draws_of_the_rollout(tmp_path: Path) -> None:
    assert found(tmp_path, late=LENGTH) is None


def test_where_several_environments_are_wrapped_nothing_is_compared(tmp_path: Path) -> None:
    record = firstbreak.recorder(tmp_path)
    training, other = (
        record.env(gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * ENVS)) for _ in range(2)
    )
    training.reset(seed=0)
    other.reset(seed=0)
    for _ in range(LENGTH):
        training.step(np.zeros(ENVS, int))
        other.step(np.ones(ENVS, int))
    assert "action_other" not in record.transitions(1, **(STEPS | {"actions": np.zeros((LENGTH, ENVS))}))


def test_one_draw_is_silent_also_when_it_is_told_later(tmp_path: Path) -> None:
    assert found(tmp_path / "a") is None
    assert found(tmp_path / "b", late=7) is None
