"""actions-show-late: the policy sees the past."""

from __future__ import annotations

from firstbreak.model import Confidence, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "actions-show-late"


def test_actions_that_show_some_steps_later_are_found() -> None:
    curves = {"env.action_shown": 0.95 + noise(20, 0.01), "env.action_shown_at_once": 0.01 + noise(20, 0.005)}
    finding = found(ID, run(curves))
    assert finding.confidence is Confidence.HIGH
    assert finding.onset == 1


def test_actions_that_show_at_once_are_healthy() -> None:
    curves = {"env.action_shown": 0.96 + noise(20, 0.01), "env.action_shown_at_once": 0.95 + noise(20, 0.01)}
    assert silent(ID, run(curves))


def test_few_windows_say_nothing() -> None:
    curves = {"env.action_shown": [0.9, 0.9], "env.action_shown_at_once": [0.0, 0.0]}
    assert look(ID, run(curves)).status is Status.NOT_MEASURED
