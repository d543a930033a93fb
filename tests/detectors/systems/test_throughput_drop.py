"""throughput-drop: slower for good."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Run, Severity, Status
from firstbreak.values import replace
from tests.detectors.look import found, look
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


@pytest.mark.parametrize("values", [[], [9.0], [9.0, 1.0], [np.nan] * 50])
def test_a_few_points_say_nothing(values: list[float]) -> None:
    for name in ("throughput.tok_s", "time.elapsed", "throughput.fps"):
        assert look(ID, run({name: values})).status is Status.NOT_MEASURED


def test_a_speed_that_sinks_all_the_time_is_found() -> None:
    sinking = 1000 * WOBBLE * np.geomspace(1, 1 / 34, N)
    assert found(ID, run({"throughput.tok_s": sinking})).numbers["lost"] > 0.9


def test_whole_seconds_do_not_hide_what_the_average_speed_shows() -> None:
    slower = averaged(20_000 * WOBBLE * np.where(np.arange(N) < 120, 1.0, 0.3))
    steps = slower.series["throughput.fps"].steps
    seconds = run(
        {"time.elapsed": np.floor(np.cumsum(2048 / (20_000 * WOBBLE * np.where(np.arange(N) < 120, 1.0, 0.3))))}
    )
    seconds.series["time.elapsed"].steps[:] = steps
    slower.series["time.elapsed"] = seconds.series["time.elapsed"]
    assert found(ID, slower).severity is Severity.WARNING


@pytest.mark.parametrize(("rate", "sure"), [(0.04, False), (0.12, True)])
def test_a_slow_loss_is_sure_where_steps_take_three_times_as_long(rate: float, sure: bool) -> None:
    seconds = 0.03 * (1 + rate * np.maximum(0, np.arange(60) - 10)) * np.exp(noise(60, 0.1))
    assert (found(ID, run({"time.step": seconds}, algorithm="grpo")).confidence is not Confidence.LOW) is sure


def test_a_speed_that_wanders_and_then_is_five_times_lower_is_found() -> None:
    speed = [2914, 3147, 2955, 3629, 3567, 4168, 4732, 4710, 4487, 4572, 4809, 3041, 2760, 3137, 4090, 4431, 4330, 4063]
    speed += [3260, 3164, 5102, 4941, 5266, 5298, 4253, 5204, 5191, 5131, 4923, 5082, 5099, 4920]
    speed += [1063, 1047, 1027, 921, 881, 943, 1066, 1057]
    assert found(ID, run({"throughput.tok_s": np.array(speed, float)}), Severity.CRITICAL).onset == 33


def test_one_part_of_a_step_that_grows_with_what_is_stored() -> None:
    def parts(replay: np.ndarray) -> Run:
        made = run({"time.train": 0.0035 + noise(14, 1e-4)}, algorithm="dqn")
        others = {"time_of_env": np.full(14, 0.001), "time_of_replay": replay}
        return replace(made, unknown={name: series(name, values) for name, values in others.items()})

    grows = np.linspace(0.0008, 0.037, 14)
    assert "what it does grows with what is stored" in found(ID, parts(grows)).message
    assert look(ID, parts(np.full(14, 0.0008))).finding is None
    assert look(ID, parts(np.minimum(grows, 0.003))).finding is None
