"""advantages-not-centred: compared with other prompts."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "advantages-not-centred"


def made(rest: object, **more: object) -> object:
    return run({"advantage.of_prompt_absmax": rest, "advantage.std": [1.0] * 60}, algorithm="grpo", **more)


def test_a_rest_is_found_where_it_begins() -> None:
    finding = found(ID, made(np.concatenate([np.full(20, 1e-7), np.full(40, 0.9)]) + np.abs(noise(60, 1e-8))))
    assert finding.onset == 21
    assert finding.severity is Severity.WARNING


def test_rounding_is_healthy() -> None:
    assert silent(ID, made(np.abs(noise(60, 1e-7))))


def test_with_a_critic_it_does_not_apply() -> None:
    assert look(ID, run({"advantage.of_prompt_absmax": [1.0] * 60}, algorithm="ppo")).status is Status.NOT_APPLICABLE
