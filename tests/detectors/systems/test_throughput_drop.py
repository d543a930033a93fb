"""throughput-drop: slower for good."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Run, Severity, Status
from firstbreak.values import replace
from tests.detectors.look import found, look, silent
from tests.make import noise, run, series

ID = "throughput-drop"
N = 200
WOBBLE = np.exp(noise(N, 0.05))


def halved(fraction: float = 0.4, at: int = 120) -> np.ndarray:
    return 1000 * WOBBLE * np.where(np.arange(N) < at, 1.0, fraction)


def averaged(speed: np.ndarray, name: str = "throughput.fps") -> Run:
    """What a trainer logs that divides all steps by all seconds since the start."""
    steps = np.cumsum(np.full(N, 2048.0))
    made = run({name: np.floor(steps / np.cumsum(2048 / speed))})
    made.series[name].steps[:] = steps
    return made


def test_a_lasting_drop_is_found_where_it_began() -> None:
    assert found(ID, run({"throughput.tok_s": halved()}), Severity.WARNING).onset == pytest.approx(121, abs=3)


def test_a_smaller_drop_at_once_is_a_doubtful_warning_with_its_cost() -> None:
    assert "1.7" in found(ID, run({"throughput.tok_s": halved(0.6)}), Severity.WARNING, Confidence.MEDIUM).message


def test_the_drop_from_the_highest_speed_counts() -> None:
    slow = np.linspace(800, 1000, 200) * (1 + noise(200, 0.02))
    slow[120:] /= 1.7
    finding = found(ID, run({"throughput.tok_s": slow}))
    assert finding.onset == pytest.approx(121, abs=2)
    assert finding.numbers["lost"] == pytest.approx(0.4, abs=0.05)


def test_an_average_since_the_start_hides_most_of_the_drop() -> None:
    made = averaged(halved(0.25))
    average = made.series["throughput.fps"].values
    assert average[-1] > 0.4 * average[0]
    assert found(ID, made).numbers["lost"] == pytest.approx(0.75, abs=0.05)


def test_the_clock_alone_tells_the_speed() -> None:
    assert found(ID, run({"time.elapsed": np.cumsum(1 / halved(0.3))})).severity is Severity.WARNING
    assert silent(ID, run({"time.elapsed": np.cumsum(1 / WOBBLE)}))


def test_tokens_and_phases_tell_the_speed() -> None:
    phases = {"time.rollout": 0.6 / halved(0.3), "time.train": 0.4 / halved(0.3)}
    slower = found(ID, run({**phases, "tokens.train": np.full(N, 5000.0)}))
    assert (slower.severity, slower.metric) == (Severity.WARNING, "throughput.tok_s")
    longer = {name: seconds * np.linspace(1, 3, N) for name, seconds in {"time.rollout": 1 / (1000 * WOBBLE)}.items()}
    assert silent(ID, run({"time.step": longer["time.rollout"], "tokens.train": 5000 * np.linspace(1, 3, N)}))


@pytest.mark.parametrize(
    "speed",
    [
        1000 * WOBBLE,
        1000 * WOBBLE * np.linspace(1, 2, N),
        1000 * WOBBLE * np.where((np.arange(N) > 80) & (np.arange(N) < 110), 0.3, 1.0),
        1000 * WOBBLE * np.linspace(1, 0.8, N),
    ],
    ids=["steady", "faster", "recovered", "slightly-longer"],
)
def test_healthy_speeds(speed: np.ndarray) -> None:
    assert silent(ID, run({"throughput.tok_s": speed}))


def test_random_acting_before_the_first_update_is_no_drop() -> None:
    early = averaged(1000 * WOBBLE * np.where(np.arange(N) < 8, 20.0, 1.0))
    assert look(ID, early).status is Status.NOT_MEASURED


def test_a_restart_sets_the_clock_back() -> None:
    clock = np.arange(N, dtype=float)
    assert silent(ID, run({"time.elapsed": np.where(clock < 100, clock, clock - 95)}))


@pytest.mark.parametrize("values", [[], [9.0], [9.0, 1.0], [np.nan] * 50])
def test_a_few_points_say_nothing(values: list[float]) -> None:
    for name in ("throughput.tok_s", "time.elapsed", "throughput.fps"):
        assert look(ID, run({name: values})).status is Status.NOT_MEASURED


def test_an_off_policy_method_slows_down_when_it_begins_to_learn() -> None:
    clock = np.cumsum(np.where(np.arange(N) < 60, 0.01, 1.0))
    assert found(ID, run({"time.elapsed": clock}, algorithm="ppo"))
    assert silent(ID, run({"time.elapsed": clock}, config={"learning_starts": 60}))


def test_the_first_update_of_an_off_policy_method_slows_it_down() -> None:
    speed = {"throughput.sps_instant": halved(0.05, at=50), "reward.episode": noise(N)}
    assert look(ID, run(speed)).status is Status.NOT_MEASURED  # nothing shows when updates began
    assert found(ID, run({**speed, "value.loss": np.ones(N)}, algorithm="dqn")).onset == pytest.approx(51, abs=3)
    assert found(ID, run(speed, algorithm="ppo")).severity is Severity.CRITICAL


def test_acting_before_the_first_update_is_fast_for_every_method() -> None:
    clock = {"time.elapsed": np.cumsum(np.where(np.arange(N) < 30, 0.01, 1.0))}
    updates = np.where(np.arange(N) < 40, np.nan, 1.0)
    assert look(ID, run({**clock, "policy.loss": updates}, algorithm="ppo")).status is Status.NOT_MEASURED


def test_four_times_slower_is_critical() -> None:
    assert found(ID, run({"throughput.tok_s": halved(0.2)})).severity is Severity.CRITICAL
    assert found(ID, run({"throughput.tok_s": halved(0.3)})).severity is Severity.WARNING


def test_the_time_of_a_step_alone_tells_the_speed() -> None:
    seconds = 1 / halved(0.3, at=160)
    finding = found(ID, run({"time.step": seconds}))
    assert (finding.metric, finding.severity) == ("throughput.steps_s", Severity.WARNING)
    assert finding.onset == pytest.approx(161, abs=3)
    longer = np.linspace(100, 400, N)
    assert silent(ID, run({"time.step": longer / 1000 * WOBBLE, "length.mean": longer}))


def test_a_speed_that_sinks_all_the_time_is_found() -> None:
    sinking = 1000 * WOBBLE * np.geomspace(1, 1 / 34, N)
    assert found(ID, run({"throughput.tok_s": sinking})).numbers["lost"] > 0.9


@pytest.mark.parametrize("at", [12, 60, 140, 188])
def test_a_drop_is_found_wherever_it_lies(at: int) -> None:
    assert found(ID, run({"throughput.tok_s": halved(0.3, at)}, algorithm="ppo")).onset == pytest.approx(at + 1, abs=3)


def test_shorter_texts_in_the_same_time_are_no_drop() -> None:
    shorter = {"time.step": WOBBLE, "tokens.train": np.where(np.arange(N) < 120, 5000.0, 2000.0)}
    assert silent(ID, run(shorter))


def test_the_way_back_from_a_fast_stretch_is_no_drop() -> None:
    assert silent(
        ID, run({"throughput.tok_s": 1000 * WOBBLE * np.where((np.arange(N) > 150) & (np.arange(N) < 165), 4, 1)})
    )


def test_whole_seconds_do_not_hide_what_the_average_speed_shows() -> None:
    slower = averaged(20_000 * WOBBLE * np.where(np.arange(N) < 120, 1.0, 0.3))
    steps = slower.series["throughput.fps"].steps
    seconds = run(
        {"time.elapsed": np.floor(np.cumsum(2048 / (20_000 * WOBBLE * np.where(np.arange(N) < 120, 1.0, 0.3))))}
    )
    seconds.series["time.elapsed"].steps[:] = steps
    slower.series["time.elapsed"] = seconds.series["time.elapsed"]
    assert found(ID, slower).severity is Severity.WARNING


def test_longer_texts_are_no_loss_of_speed_by_the_clock() -> None:
    length = np.geomspace(20, 100, N)
    assert silent(ID, run({"time.elapsed": np.cumsum(length / 1000 * WOBBLE), "length.mean": length}))


@pytest.mark.parametrize(("rate", "sure"), [(0.04, False), (0.12, True)])
def test_a_slow_loss_is_sure_where_steps_take_three_times_as_long(rate: float, sure: bool) -> None:
    seconds = 0.03 * (1 + rate * np.maximum(0, np.arange(60) - 10)) * np.exp(noise(60, 0.1))
    assert (found(ID, run({"time.step": seconds}, algorithm="grpo")).confidence is not Confidence.LOW) is sure


def test_a_speed_that_wanders_and_then_is_five_times_lower_is_found() -> None:
    speed = [2914, 3147, 2955, 3629, 3567, 4168, 4732, 4710, 4487, 4572, 4809, 3041, 2760, 3137, 4090, 4431, 4330, 4063]
    speed += [3260, 3164, 5102, 4941, 5266, 5298, 4253, 5204, 5191, 5131, 4923, 5082, 5099, 4920]
    speed += [1063, 1047, 1027, 921, 881, 943, 1066, 1057]
    assert found(ID, run({"throughput.tok_s": np.array(speed, float)}), Severity.CRITICAL).onset == 33


def test_a_rollout_that_serves_two_updates_hides_nothing() -> None:
    update, rollout = 0.012 * WOBBLE, 0.03 * np.where(np.arange(N) < 60, 1.0, 3.5)
    seconds = update + np.where(np.arange(N) % 2 == 0, rollout, 0.0)
    finding = found(ID, run({"time.step": seconds, "loss.total": noise(N)}))
    assert finding.numbers["lost"] == pytest.approx(1 - 0.027 / 0.0645, abs=0.03)
    assert finding.onset == pytest.approx(61, abs=4)
    assert silent(ID, run({"time.step": update + np.where(np.arange(N) % 2 == 0, 0.03, 0.0)}))


def test_steps_that_grow_more_than_their_texts() -> None:
    x = np.clip((np.arange(N) - 100) / 100, 0, 1)
    length, slower = 200 * (1 + 0.8 * x), 1 + 0.36 * x
    curves = {"length.mean": length, "time.step": 2 * (1 + 0.8 * x) * slower * WOBBLE}
    assert "each token" in found(ID, run(curves)).message
    assert silent(ID, run({**curves, "time.step": 2 * (1 + 0.8 * x) * WOBBLE}))


def test_one_part_of_a_step_that_grows_with_what_is_stored() -> None:
    def parts(replay: np.ndarray) -> Run:
        made = run({"time.train": 0.0035 + noise(14, 1e-4)}, algorithm="dqn")
        others = {"time_of_env": np.full(14, 0.001), "time_of_replay": replay}
        return replace(made, unknown={name: series(name, values) for name, values in others.items()})

    grows = np.linspace(0.0008, 0.037, 14)
    assert "what it does grows with what is stored" in found(ID, parts(grows)).message
    assert look(ID, parts(np.full(14, 0.0008))).finding is None
    assert look(ID, parts(np.minimum(grows, 0.003))).finding is None
