"""The critic alone on fixed rollouts, and the targets where episodes end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.cli.check import critic as command
from firstbreak.model import Action, Status
from firstbreak.preflight import critic
from firstbreak.preflight.critic import targets, training
from firstbreak.preflight.critic.rollouts import Rollouts
from firstbreak.readers import Unreadable
from tests.command import printed
from tests.lazy import lazy
from tests.preflight.reports import found, page

critics = lazy("tests.preflight.critics")

pytestmark = pytest.mark.slow

HERE = "tests.preflight.critics"
STEPS, ENVS = 400, 4


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for these returns."""
    monkeypatch.setattr(training, "STEPS", 300)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that ask nothing of a fit."""
    monkeypatch.setattr(training, "STEPS", 1)


def walk(seed: int = 0, limit: int = 25) -> dict[str, np.ndarray]:
    """A state that decides how the episode goes; ends by chance (terminated) or after `limit` steps (truncated)."""
    rng = np.random.default_rng(seed)
    data = {n: np.zeros((STEPS, ENVS)) for n in ("rewards", "values", "final_values")}
    data |= {n: np.zeros((STEPS, ENVS), bool) for n in ("terminated", "truncated")}
    observations = np.zeros((STEPS, ENVS, 3))
    level, age = rng.normal(size=ENVS), np.zeros(ENVS, int)
    for t in range(STEPS):
        observations[t] = np.stack([level, age / limit, rng.normal(size=ENVS)], axis=1)
        data["rewards"][t] = level
        data["values"][t] = 5 * level + rng.normal(size=ENVS)
        data["final_values"][t] = 5 * level
        age += 1
        data["terminated"][t] = rng.random(ENVS) < 0.05
        data["truncated"][t] = (age >= limit) & ~data["terminated"][t]
        over = data["terminated"][t] | data["truncated"][t]
        level, age = np.where(over, rng.normal(size=ENVS), level), np.where(over, 0, age)
    return {"observations": observations, **data}


def targets_of(
    data: dict[str, np.ndarray], gamma: float, lam: float, cut: np.ndarray, final: np.ndarray | None = None
) -> np.ndarray:
    """GAE targets that cut the future at `cut`, and add gamma * final_values at `final`."""
    r, v = data["rewards"], data["values"]
    out = np.zeros_like(r)
    out[-1] = r[-1]
    for t in range(STEPS - 2, -1, -1):
        future = gamma * ((1 - lam) * v[t + 1] + lam * out[t + 1])
        out[t] = r[t] + np.where(cut[t], 0, future)
        if final is not None:
            out[t] += np.where(final[t], gamma * data["final_values"][t], 0)
    return out


def saved(path: Path, data: dict[str, np.ndarray], **more: Any) -> str:
    np.savez(path / "rollouts.npz", **{**data, **more})
    return str(path / "rollouts.npz")


def shifted(ends: np.ndarray, by: int) -> np.ndarray:
    out = np.roll(ends, by, axis=0)
    out[0 if by > 0 else -1] = False
    return out


CASES = {
    "right": (lambda d: targets_of(d, 0.97, 0.9, d["terminated"] | d["truncated"], d["truncated"]), {}),
    "through every end": (
        lambda d: targets_of(d, 0.97, 0.9, np.zeros((STEPS, ENVS), bool)),
        {"critic-terminal-mask": "next episode's first state", "critic-truncation": "next episode's first state"},
    ),
    "limits are failures": (
        lambda d: targets_of(d, 0.97, 0.9, d["terminated"] | d["truncated"]),
        {"critic-truncation": "counts as a failure"},
    ),
    "a step late": (
        lambda d: targets_of(d, 0.97, 0.9, shifted(d["terminated"] | d["truncated"], 1)),
        {"critic-terminal-mask": "shifted by one step", "critic-truncation": "next episode's first state"},
    ),
    "a step early": (
        lambda d: targets_of(d, 0.97, 0.9, shifted(d["terminated"] | d["truncated"], -1)),
        {"critic-terminal-mask": "shifted by one step", "critic-truncation": "next episode's first state"},
    ),
}


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize("name", CASES)
def test_what_the_targets_do_at_an_end_is_read_from_the_targets(name: str, tmp_path: Path) -> None:
    make, expected = CASES[name]
    data = walk()
    report = critic.check(saved(tmp_path, data, returns=make(data)))
    said = {k: v for k, v in found(report).items() if k != "critic-fits"}
    assert said.keys() == expected.keys()
    assert all(words in said[probe] for probe, words in expected.items())
    assert report.numbers["gamma"] == pytest.approx(0.97, abs=2e-3)
    assert report.numbers["lambda"] == pytest.approx(0.9, abs=5e-3)


@settings(max_examples=15)
@given(st.floats(0.8, 1), st.floats(0, 1), st.integers(0, 50))
def test_any_discount_and_lambda_are_found(gamma: float, lam: float, seed: int) -> None:
    data = walk(seed)
    ends = data["terminated"] | data["truncated"]
    rollouts = Rollouts(
        source="",
        observations=data["observations"],
        rewards=data["rewards"],
        terminated=data["terminated"],
        truncated=data["truncated"],
        values=data["values"],
        returns=targets_of(data, gamma, lam, ends),
    )
    told = targets.recursion(rollouts)
    assert not isinstance(told, str)
    assert told.gamma == pytest.approx(gamma, abs=1e-6)
    assert told.lam == pytest.approx(lam, abs=1e-5)


@pytest.mark.usefixtures("untrained")
def test_targets_in_another_order_are_not_judged(tmp_path: Path) -> None:
    data = walk()
    mixed = np.random.default_rng(0).permutation(targets_of(data, 0.97, 0.9, data["terminated"]))
    report = critic.check(saved(tmp_path, data, returns=mixed))
    assert {o.detector: o.status for o in report.outcomes}["critic-terminal-mask"] is Status.NOT_MEASURED


def test_discounted_rewards_stop_at_ends_and_go_on_at_truncations_with_a_value() -> None:
    rollouts = Rollouts(
        source="",
        observations=np.zeros((5, 1, 1)),
        rewards=np.ones((5, 1)),
        terminated=np.array([[False], [True], [False], [False], [False]]),
        truncated=np.array([[False], [False], [False], [True], [False]]),
        final_values=np.full((5, 1), 10.0),
    )
    assert rollouts.monte_carlo(0.5).ravel().tolist() == [1.5, 1.0, 4.0, 6.0, 1.0]
    assert rollouts.episodes.ravel().tolist() == [0, 0, 1, 1, 2]
    assert rollouts.whole.ravel().tolist() == [True] * 4 + [False]


@pytest.mark.parametrize(
    ("name", "scale", "said"),
    [
        ("dead", 1, "lacks an input or is too"),
        ("Blind", 1, "lacks an input or is too"),
        ("sound", 3000, "normalise returns"),
        ("Detached", 1, "no gradient"),
        ("WrongShape", 1, "not one value each"),
    ],
)
def test_a_critic_that_cannot_fit_is_named_with_the_reason(
    name: str, scale: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = walk()
    data["rewards"] = data["rewards"] * scale
    report = critic.check(saved(tmp_path, data), critic=f"{HERE}:{name}", gamma=0.9)
    assert said in found(report)["critic-fits"]
    assert report.action is (Action.WATCH if scale > 1 else Action.STOP)


def test_a_sound_critic_fits_and_noise_is_not_its_fault(tmp_path: Path) -> None:
    data = walk()
    good = critic.check(saved(tmp_path, data), critic=f"{HERE}:sound", gamma=0.9)
    assert found(good) == {}
    assert good.numbers["fits"][0]["explained_variance"] > 0.7
    low, high = good.numbers["fits"][0]["interval"]
    assert low < good.numbers["fits"][0]["explained_variance"] < high
    noise = {**data, "observations": np.random.default_rng(1).normal(size=data["observations"].shape)}
    bad = critic.check(saved(tmp_path, noise), critic=f"{HERE}:sound", gamma=0.9)
    assert "shifted rows" in found(bad)["critic-fits"]


def test_the_critic_has_its_own_weights_back_afterwards(tmp_path: Path) -> None:
    module = critics.sound()
    before = [p.detach().clone() for p in module.parameters()]
    flat = {k: v.reshape(STEPS * ENVS, *v.shape[2:]) for k, v in walk().items()}
    batch = training.split(flat["observations"], None, flat["rewards"], np.repeat(np.arange(160), 10))
    assert training.fit("own", module, batch, normalised=False).train > 0.9
    assert all(bool((a == b).all()) for a, b in zip(before, module.parameters(), strict=True))


def test_constant_returns_are_expected_to_explain_nothing(tmp_path: Path) -> None:
    data = walk()
    report = critic.check(saved(tmp_path, data, returns=np.ones((STEPS, ENVS))))
    outcomes = {o.detector: o for o in report.outcomes}
    assert outcomes["critic-returns-vary"].expected
    assert outcomes["critic-fits"].status is Status.NOT_MEASURED


@pytest.mark.parametrize("name", ["ppo", pytest.param("dqn", marks=pytest.mark.thorough)])
def test_a_model_of_stable_baselines_is_checked_with_its_own_rollouts(name: str) -> None:
    report = critic.check(f"{HERE}:{name}", steps=1000)
    assert not [o.note for o in report.outcomes if o.status is Status.CRASHED]
    assert report.action is not Action.STOP
    assert report.numbers["fits"][0]["train_r2"] > 0.2
    if name == "ppo":
        assert report.numbers["gamma"] == pytest.approx(0.99, abs=1e-3)
        assert report.numbers["lambda"] == pytest.approx(0.95, abs=5e-3)
        assert {o.detector: o.status for o in report.outcomes}["critic-terminal-mask"] is Status.OK


def test_the_command_prints_a_page_and_sets_the_exit_code(tmp_path: Path) -> None:
    data = walk()
    through = targets_of(data, 0.97, 0.9, np.zeros((STEPS, ENVS), bool))
    path = saved(tmp_path, data, returns=through)
    assert "critic-terminal-mask" in page(command, path, code=1)
    said = json.loads(printed(command, path, "--format", "json", "--fail-on", "never"))
    assert said["findings"][0]["link"] == "advantage"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"rewards": np.ones(3)}, "holds no observations"),
        ({"observations": np.ones((3, 1)), "rewards": np.ones(3)}, "where episodes end"),
        ({"observations": np.ones((4, 1)), "rewards": np.ones(3), "dones": np.ones(3)}, "has shape"),
    ],
)
def test_arrays_that_are_no_rollouts_say_what_is_missing(
    arrays: dict[str, np.ndarray], said: str, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match=said):
        critic.check(saved(tmp_path, arrays))


def test_a_file_that_would_have_to_be_unpickled_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, {"observations": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(Unreadable, match="plain arrays"):
        critic.check(path)


def test_a_file_that_is_not_there_is_said_without_the_systems_numbers(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as refused:
        critic.check(str(tmp_path / "rollouts.npz"))
    assert str(refused.value) == (
        f"{tmp_path}/rollouts.npz: is no .npz file of plain arrays (No such file or directory); write it with numpy.savez"
    )


def test_a_trunk_that_no_gradient_reaches_is_named(tmp_path: Path) -> None:
    data = walk()
    path = saved(tmp_path, data, returns=CASES["right"][0](data))
    assert "no gradient reaches 2 tensors" in found(critic.check(path, critic=f"{HERE}:Cut"))["critic-gradient"]
    assert "critic-gradient" not in found(critic.check(path, critic=f"{HERE}:sound"))


def test_what_does_better_is_not_denied(tmp_path: Path) -> None:
    data = walk()
    report = critic.check(saved(tmp_path, data, returns=CASES["right"][0](data)), critic=f"{HERE}:HalfBlind")
    said = found(report)["critic-fits"]
    fits = {f["critic"]: f["explained_variance"] for f in report.numbers["fits"]}
    assert fits["reference, 2 x 64"] > fits["as it is"] + critic.CLEARLY
    assert "no other network" not in said
    assert "reference, 2 x 64" in said or "two layers of 64" in said


def test_done_flags_of_either_reason_leave_a_time_limit_a_time_limit(tmp_path: Path) -> None:
    data = walk()
    ends = data.pop("terminated") | data["truncated"]
    kept = {"dones": ends, "timeouts": data.pop("truncated")}
    returns = targets_of(data, 0.97, 0.9, ends, kept["timeouts"])
    assert found(critic.check(saved(tmp_path, data, returns=returns, **kept))) == {}


@pytest.mark.usefixtures("untrained")
def test_terminations_of_one_length_are_a_time_limit(tmp_path: Path) -> None:
    data = walk()
    ends = np.zeros((STEPS, ENVS), bool)
    ends[24::25] = True
    kept = {name: data[name] for name in ("observations", "rewards", "values")} | {"terminated": ends}
    report = critic.check(saved(tmp_path, kept, returns=targets_of(data, 0.97, 0.9, ends)))
    assert "that is a time limit" in found(report)["critic-truncation"]


@pytest.mark.usefixtures("untrained")
def test_a_models_own_rollouts_tell_time_limits_from_terminations() -> None:
    pytest.importorskip("stable_baselines3")
    report = critic.check(f"{HERE}:pendulum")
    answers = {o.detector: o for o in report.outcomes}
    assert "no episode ends by termination" in answers["critic-terminal-mask"].note
    assert answers["critic-truncation"].status is Status.NOT_MEASURED
