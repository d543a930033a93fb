"""observations-constant: the policy sees nothing that changes."""

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import run

ID = "observations-constant"


def test_observations_that_never_change_are_critical() -> None:
    assert found(ID, run({"env.observation_constant": [1.0] * 12})).severity is Severity.CRITICAL


def test_a_few_constant_components_are_healthy() -> None:
    assert silent(ID, run({"env.observation_constant": [0.75] * 12}))


def test_stored_transitions_in_which_nothing_happens_are_found() -> None:
    assert "overwrite" in found("observations-constant", run({"env.transition_unchanged": [1.0] * 30})).message
    assert silent("observations-constant", run({"env.transition_unchanged": [1.0, 0.0] * 15}))
