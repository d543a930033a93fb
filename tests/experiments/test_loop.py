"""What the hooks measure of an environment and of advantages, in environments with known properties."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from firstbreak.live.hooks.firstbreak_loop import WINDOW, Transitions, advantages, compared

Seen = Callable[[np.ndarray, int], np.ndarray]


def described(
    seen: Seen = lambda state, t: state, executed: float = 1.0, limited: bool = False, windows: int = 2
) -> list[dict[str, float]]:
    """A cart that an action pushes left or right, in four copies; episodes last 20 steps, or 7 to 20 with early limits."""
    rng, found = np.random.default_rng(0), Transitions()
    state, ages, measured = rng.uniform(-0.05, 0.05, (4, 2)), np.zeros(4, int), []
    for t in range(windows * (WINDOW + 1)):
        actions = rng.integers(2, size=4)
        before, done_with = seen(state, t), np.where(rng.random(4) < executed, actions, 0)
        state = state + np.stack([0.1 * state[:, 1], 0.2 * (2 * done_with - 1)], axis=1)
        ages += 1
        dones = (ages >= 20) | (limited & (ages >= 7) & (rng.random(4) < 0.1))
        infos = [{"TimeLimit.truncated": True} for _ in range(4)]
        if row := found.add(before, actions, dones, infos):
            measured.append(row)
        state[dones], ages[dones] = rng.uniform(-0.05, 0.05, (int(dones.sum()), 2)), 0
    return measured


def test_a_sound_environment_answers_at_once_and_with_the_same_effect() -> None:
    first, last = described()
    assert first["action_shown_at_once"] > 0.95
    assert first["action_effect"] == pytest.approx(last["action_effect"])
    assert abs(first["action_effect"]) > 0.1
    assert first["observation_constant"] == first["limits_early"] == 0


def test_an_observation_that_comes_late_is_found() -> None:
    states: list[np.ndarray] = []

    def late(state: np.ndarray, t: int) -> np.ndarray:
        states.append(state.copy())
        return states[max(0, len(states) - 4)]

    row = described(late)[-1]
    assert row["action_shown"] > row["action_shown_at_once"] + 0.3


def test_what_is_blinded_or_rescaled_in_the_middle_shows_as_a_change() -> None:
    blind = described(lambda state, t: state * [1, t <= WINDOW])
    assert (blind[0]["observation_constant"], blind[-1]["observation_constant"]) == (0, 0.5)
    small = described(lambda state, t: state * (1 if t <= WINDOW else 0.01))
    assert small[0]["start_spread"] > 20 * small[-1]["start_spread"]


def test_actions_that_are_not_executed_explain_less() -> None:
    assert described(executed=0.4)[0]["action_shown"] < 0.6


def test_of_a_policy_that_always_does_the_same_nothing_can_be_said() -> None:
    found, rows = Transitions(), []
    state = np.random.default_rng(0).normal(size=(4, 2))
    for _ in range(WINDOW + 1):
        rows.append(found.add(state, np.ones(4, int), np.zeros(4, bool), [{}] * 4))
        state = state + 0.1 * state[:, ::-1]
    assert "observation_constant" in rows[-1]
    assert not {"action_shown", "action_effect"} & rows[-1].keys()


def test_the_size_of_a_steps_reward_and_its_mean_are_measured() -> None:
    rng, seen = np.random.default_rng(0), Transitions()
    measured: dict[str, float] = {}
    for _ in range(WINDOW + 1):
        one = rng.normal(size=(2, 3)), rng.normal(size=(2, 1)), np.zeros(2, dtype=bool)
        measured = seen.add(*one, [{}, {}], np.array([3.0, -1.0])) or measured
    assert measured["step_reward"] == 1.0
    assert measured["reward_size"] == pytest.approx(5**0.5)


def test_time_limits_at_different_lengths_are_counted() -> None:
    assert described(limited=True)[-1]["limits_early"] > 0


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arrays(float, (5, 2), elements=st.floats(-2, 2)), st.floats(0.5, 1), st.integers(0, 4))
def test_advantages_without_decay_are_returns_to_the_end_minus_values(
    rewards: np.ndarray, gamma: float, end: int
) -> None:
    values, last, dones = np.full((5, 2), 0.3), np.full(2, 0.7), np.zeros((5, 2))
    dones[end] = 1
    found = advantages(rewards, values, last, dones, gamma, 1.0)
    to_end = sum(gamma**k * rewards[k] for k in range(end + 1))
    np.testing.assert_allclose(found[0], to_end - 0.3, atol=1e-9)
    assert compared(found, found)["advantage_error"] == 0


def test_advantages_with_the_opposite_sign_are_distinguished_from_wrong_ones() -> None:
    own = np.random.default_rng(0).normal(size=(50, 2))
    turned = np.where(np.arange(50)[:, None] < 20, -own, own)
    assert compared(turned, own)["advantage_turned"] == 0.4
    assert compared(own + 0.3, own)["advantage_turned"] < 0.05
    assert compared(own + 0.3, own)["advantage_error"] > 0.1


def pushed(observe: Callable[[np.ndarray], np.ndarray], moves: bool, *, turned: bool = False) -> dict[str, float]:
    """A window of a point in a plane that is pushed, and seen by `observe`; pushes of a state that turns their direction."""
    rng, found = np.random.default_rng(0), Transitions(Box(-2.0, 2.0))
    at = rng.normal(size=(4, 2))
    for _ in range(WINDOW + 1):
        push = rng.normal(size=(4, 1))
        got = found.add(observe(at), push, np.zeros(4, bool), [{}] * 4)
        way = np.sign(at[:, 1:]) if turned else 1.0
        at = 0.9 * at + np.hstack([moves * way * push, rng.normal(size=(4, 1))])
    return got


class Box:
    """The range of an action."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = np.array([low]), np.array([high])


def test_sizes_offsets_and_the_use_of_the_range_are_measured() -> None:
    plain, far = pushed(lambda at: at, True), pushed(lambda at: at + 5000, True)
    assert plain["observation_offset"] == 0
    assert far["observation_offset"] > 1000
    assert far["observation_size"] == pytest.approx(5000, rel=0.01)
    assert plain["action_use"] == pytest.approx(0.5, abs=0.05)
    assert plain["episodes_ended"] == 0
    assert plain["episode_age"] == WINDOW + 1


def test_an_effect_that_the_state_turns_is_told_from_none() -> None:
    assert pushed(lambda at: at, True, turned=True)["action_shown_any"] > 0.3
    assert pushed(lambda at: at, False)["action_shown_any"] < 0.06
