"""Broken environments are named, healthy ones are left in peace."""

import json
from pathlib import Path

import numpy as np
import pytest

from firstbreak.cli.check import env as command
from firstbreak.model import Action, Finding, NotMeasured, Severity, Status
from firstbreak.preflight import Report, env
from firstbreak.preflight.env import baseline, contract, ends, episodes, worlds
from firstbreak.preflight.env.episodes import Episode
from firstbreak.readers import Unreadable
from tests.command import printed
from tests.lazy import lazy
from tests.preflight.defects import BROKEN, BROKEN_ELSEWHERE, HEALTHY
from tests.preflight.reports import page
from tests.waiting import PATIENCE

gym = lazy("gymnasium")
the_broken = lazy("tests.preflight.broken")

pytestmark = pytest.mark.slow

HERE = "tests.preflight.broken"
NEEDS_EXPERT = {"RewardReversed", "RewardIsNoise"}


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine plays as many episodes as an idle one."""
    monkeypatch.setattr(worlds, "SECONDS", PATIENCE)
    for module in (episodes, baseline):
        monkeypatch.setattr(module, "SPELL", PATIENCE)
    monkeypatch.setattr(env, "RECORDED_STEPS", 600)


def checked(name: str, expert: str | None = None, episodes: int = 20, steps: int = 1000) -> Report:
    return env.check(f"{HERE}:{name}", episodes=episodes, steps=steps, expert=expert)


def recorded_only(name: str) -> Report:
    """With hardly more than the random episodes that are recorded, for probes that look at nothing else."""
    return checked(name, episodes=2, steps=100)


def loud(report: Report) -> set[str]:
    """The probes that would make a person look: findings above a notice."""
    return {o.detector for o in report.findings if o.finding is not None and o.finding.severity.rank}


@pytest.mark.parametrize("name", [*BROKEN, *BROKEN_ELSEWHERE])
def test_the_defect_is_found_by_its_own_probe(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "StepHangs":
        monkeypatch.setattr(worlds, "SECONDS", 0.5)
    expert = f"{HERE}:to_the_middle" if name in NEEDS_EXPERT else None
    long = name == "RewardAlwaysZero"  # the others show themselves at once
    report = checked(name, expert, episodes=30 if long else 10, steps=2500 if long else 400)
    assert {**BROKEN, **BROKEN_ELSEWHERE}[name] in loud(report)
    assert not [o.note for o in report.outcomes if o.status is Status.CRASHED]


def test_a_reward_that_is_noise_is_found_without_an_expert() -> None:
    assert "env-reward-timing" in loud(recorded_only("RewardIsNoise"))


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_environment_of_any_interface_is_left_in_peace(name: str) -> None:
    report = checked(name, episodes=10, steps=400)
    assert loud(report) == set()
    assert report.action is Action.CONTINUE
    assert not [o.note for o in report.outcomes if o.status is Status.CRASHED]
    assert {o.detector: o.status for o in report.outcomes}["env-expert-beats-random"] is Status.OK


@pytest.mark.parametrize(
    "name",
    [
        "CartPole-v1",
        "MountainCarContinuous-v0",
        "FrozenLake-v1",
        *(pytest.param(other, marks=pytest.mark.thorough) for other in ("Blackjack-v1", "Acrobot-v1")),
    ],
)
def test_gymnasiums_own_environments_are_left_in_peace(name: str) -> None:
    report = env.check(name, episodes=20, steps=2500 if name.startswith("Mountain") else 1000)
    assert loud(report) == set()
    assert not [o.note for o in report.outcomes if o.status is Status.CRASHED]


def test_a_reversed_reward_is_told_from_one_that_says_nothing() -> None:
    reversed_, noise = (checked(name, f"{HERE}:to_the_middle") for name in sorted(NEEDS_EXPERT, reverse=True))
    assert "sign of the reward is reversed" in reversed_.summary
    said = {o.detector: o.finding.message for o in noise.findings if o.finding}["env-expert-beats-random"]
    assert "sign" not in said.partition(":")[2].partition("The expert")[0]
    assert "do not train yet" in said


def test_the_expert_is_shown_beside_random_with_an_interval() -> None:
    report = checked("Corridor", f"{HERE}:to_the_middle")
    low, high = report.numbers["probability_of_improvement_interval"]
    assert 0.9 < low <= report.numbers["probability_of_improvement"] <= high <= 1
    assert report.exhibits[0].columns == ("random", "expert")
    assert np.mean(report.numbers["expert_returns"]) > np.mean(report.numbers["random_returns"])


def test_the_command_prints_a_page_and_sets_the_exit_code() -> None:
    assert "a linear rule returns" in page(command, f"{HERE}:Corridor", "--episodes", "20", "--steps", "1000")
    broken = printed(command, f"{HERE}:RewardNaN", "--format", "json", code=1)
    assert json.loads(broken)["findings"][0]["detector"] == "env-reward-is-number"


@pytest.mark.parametrize("target", ["NoSuchEnv-v0", "nowhere:make", f"{HERE}:Missing", f"{HERE}:FAR"])
def test_a_wrong_name_is_a_wrong_call(target: str) -> None:
    with pytest.raises(Unreadable):
        env.check(target)


@pytest.mark.parametrize("target", ["pettingzoo.classic.rps_v2:parallel_env", "pettingzoo.classic.tictactoe_v3:env"])
def test_pettingzoos_own_games_are_left_in_peace(target: str) -> None:
    report = env.check(target, episodes=10, steps=400)
    assert loud(report) == set()
    assert dict(report.checked)["Interface"] == "PettingZoo"
    masks = {o.detector: o.status for o in report.outcomes}["env-action-masks"]
    assert masks is (Status.OK if "tictactoe" in target else Status.NOT_APPLICABLE)


def test_another_agent_can_be_looked_at_and_must_exist() -> None:
    assert env.check(f"{HERE}:Pair", episodes=10, steps=500, agent="right").action is Action.CONTINUE
    with pytest.raises(Unreadable, match="its agents are left, right"):
        env.check(f"{HERE}:Pair", agent="middle")


def test_one_environment_cannot_show_what_new_ones_would_do() -> None:
    outcomes = {o.detector: o.status for o in env.check(f"{HERE}:ONE", episodes=10, steps=500).outcomes}
    assert outcomes["env-state-leak"] is Status.NOT_MEASURED
    assert outcomes["env-shared-state"] is Status.NOT_MEASURED


def test_environments_are_closed_afterwards() -> None:
    before = the_broken.Counted.open
    env.check(f"{HERE}:Counted", episodes=10, steps=500)
    assert the_broken.Counted.open == before


def test_a_factory_that_raises_is_a_finding() -> None:
    report = env.check("builtins:int.from_bytes")
    assert report.findings[0].detector == "env-opens"


def test_a_slow_environment_is_worth_knowing_and_no_defect() -> None:
    slow, fast = ends.throughput(0.05), ends.throughput(1e-4)
    assert isinstance(slow, Finding)
    assert "13.9 hours" in slow.message
    assert slow.severity is Severity.NOTICE
    assert isinstance(fast, str)
    assert "10000 steps a second" in fast


def test_an_environment_that_ends_the_process_is_a_finding(tmp_path: Path) -> None:
    module = tmp_path / "leaving.py"
    module.write_text(
        "import gymnasium as gym\n\n\nclass Leaving(gym.Env):\n"
        "    observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)\n\n"
        "    def reset(self, *, seed=None, options=None):\n        return self.observation_space.sample(), {}\n\n"
        "    def step(self, action):\n        raise SystemExit(3)\n"
    )
    report = env.check(f"{module}:Leaving")
    assert ["raises SystemExit: 3" in o.finding.message for o in report.findings if o.finding] == [True]


def test_what_never_answered_is_not_called_right() -> None:
    nothing = [Episode()]
    seen = (contract.answers(nothing, "env-answers"), contract.infos(nothing), contract.flags(nothing))
    seen += (contract.finite(nothing), contract.in_space(nothing, None), contract.rewards_are_numbers(nothing))
    assert all(isinstance(answer, NotMeasured) for answer in (*seen, contract.kept(nothing)))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere.py:Env", "there is no file nowhere.py"),
        ("{tmp}/leaves.py:Env", "cannot be imported: SystemExit: 4; run `python "),
        ("{tmp}/fails.py:Env", "cannot be imported: AttributeError"),
        ("{tmp}/empty.py:Env", "empty.py has no Env; check the name"),
    ],
)
def test_a_target_that_cannot_be_had_says_why(target: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text("import sys\n\nsys.exit(4)\n")
    (tmp_path / "fails.py").write_text("import sys\n\nsys.no_such_thing\n")
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(Unreadable, match=said):
        env.check(target.format(tmp=tmp_path))


# --- what the user brings, and when a reward comes -------------------------------------------------------------------


def answer_of(report: Report, probe: str) -> str:
    outcome = next(o for o in report.outcomes if o.detector == probe)
    assert outcome.status is not Status.CRASHED, outcome.note
    return outcome.finding.message if outcome.finding is not None else outcome.note


@pytest.mark.parametrize(
    ("expert", "name", "said"),
    [
        ("says_0_3", "Corridor", "are not in the action space Discrete(2), first 0.3"),
        ("far_too_hard", "Continuous", "leave the action space"),
    ],
)
def test_an_expert_whose_actions_are_not_in_the_space_is_named(expert: str, name: str, said: str) -> None:
    assert said in answer_of(checked(name, f"{HERE}:{expert}"), "env-expert-actions")


def test_the_policy_is_held_against_the_space_without_an_expert() -> None:
    report = env.check(f"{HERE}:Continuous", episodes=2, steps=100, policy=f"{HERE}:far_too_hard")
    assert "env-policy-actions" in loud(report)
    report = env.check(f"{HERE}:Continuous", episodes=2, steps=100, policy=f"{HERE}:GaussianPolicy")
    assert "env-policy-actions" not in loud(report)  # a Gaussian of the usual size leaves [-1, 1] now and then


def test_a_reward_that_is_none_is_called_so() -> None:
    report = checked("RewardSometimesNone")
    assert "are not usable: None" in answer_of(report, "env-reward-is-number")
    assert not [o for o in report.findings if "nan" in o.finding.message]


@pytest.mark.parametrize("name", ["RewardLate", "RewardLateContinuous"])
def test_a_late_reward_is_counted_in_steps(name: str) -> None:
    assert "comes 3 steps late" in answer_of(recorded_only(name), "env-reward-timing")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["MountainCarContinuous-v0", "Pendulum-v1"])
def test_rewards_in_time_are_left_in_peace(name: str) -> None:
    assert "no other step explains clearly more" in answer_of(
        env.check(name, episodes=2, steps=100), "env-reward-timing"
    )


def test_a_small_picture_shows_a_late_reward_in_the_cells_that_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "RECORDED_STEPS", 2000)
    assert "comes 2 steps late" in answer_of(recorded_only("picked_late"), "env-reward-timing")
    assert "no other step explains clearly more" in answer_of(recorded_only("picked"), "env-reward-timing")


# --- Stable-Baselines3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vectorised", pytest.param("vectorised_and_normalised", marks=pytest.mark.thorough)])
def test_vectorised_environments_of_stable_baselines_are_checked_as_what_they_are(name: str) -> None:
    pytest.importorskip("stable_baselines3")
    report = checked(name, f"{HERE}:to_the_middle")
    assert loud(report) == set()
    assert report.action is Action.CONTINUE
    assert not [o.note for o in report.outcomes if o.status is Status.CRASHED]
    assert dict(report.checked)["Interface"].startswith("Stable-Baselines3 ")
    assert "last observation in infos" in answer_of(report, "env-vector-autoreset")
    assert "different effects" in answer_of(report, "env-action-effect")


@pytest.mark.thorough
def test_normalisation_is_seen_where_the_observations_are_huge() -> None:
    pytest.importorskip("stable_baselines3")
    assert "env-observation-scale" in loud(recorded_only("vectorised_and_huge"))
    assert "env-observation-scale" not in loud(recorded_only("vectorised_huge_and_normalised"))


def test_a_picture_that_stays_black_is_named_and_a_dark_one_is_not() -> None:
    def episode(lit: int) -> list[Episode]:
        frames = [np.zeros((5, 5, 3), np.uint8) for _ in range(20)]
        for i, frame in enumerate(frames):
            frame[i % 5, 0, 0] = lit
        return [Episode(observations=frames)]

    space = gym.spaces.Box(0, 255, (5, 5, 3), np.uint8)
    found = contract.observation_scale(episode(0), space)
    assert isinstance(found, Finding)
    assert found.severity is Severity.CRITICAL
    assert isinstance(contract.observation_scale(episode(200), space), str)
