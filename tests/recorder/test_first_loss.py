"""What is asked of the first loss of an update is asked of no other: after an optimizer step, the ratio is not 1 any more."""

from collections.abc import Callable
from typing import Any

import pytest

from firstbreak.live.recorder.trainers import areal, openrlhf, rllib, verl
from tests.lazy import lazy

torch = lazy("torch")


HOOKS: dict[str, tuple[Any, Any, Callable[[Any], dict[str, Any]]]] = {
    "areal": (areal, areal.UPDATE, lambda output: {"logprobs": output, "input_data": {}}),
    "openrlhf": (openrlhf, openrlhf.ACTOR, lambda output: {"log_probs": output, "self": None}),
    "rllib": (rllib, rllib.UPDATE, lambda output: {"batch": {}, "fwd_out": {"action_dist_inputs": output}}),
    "verl": (verl, verl.ACTOR, lambda output: {"model_output": {"log_probs": output}}),
}


class Busy:
    """A recorder that has no time now."""

    def due(self, *_: Any) -> bool:
        return False


@pytest.mark.parametrize("trainer", HOOKS)
def test_a_loss_is_the_first_one_whether_there_was_time_for_it_or_not(
    trainer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, update, given_with = HOOKS[trainer]
    given = given_with(torch.zeros(4, 3, requires_grad=True))
    monkeypatch.setattr(update, "waits", True)
    assert next(hooks._loss(Busy(), given), "not looked at") == "not looked at"
    assert not update.waits
