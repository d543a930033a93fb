"""What is asked of the first loss of an update is asked of no other: after an optimizer step, the ratio is not 1 any more."""

from __future__ import annotations

from typing import Any

import pytest

from firstbreak.inside.trainers import areal, openrlhf, rllib, verl
from tests.lazy import lazy

torch = lazy("torch")


OUTPUT = torch.zeros(4, 3, requires_grad=True)
HOOKS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "areal": (areal, areal.UPDATE, {"logprobs": OUTPUT, "input_data": {}}),
    "openrlhf": (openrlhf, openrlhf.ACTOR, {"log_probs": OUTPUT, "self": None}),
    "rllib": (rllib, rllib.UPDATE, {"batch": {}, "fwd_out": {"action_dist_inputs": OUTPUT}}),
    "verl": (verl, verl.ACTOR, {"model_output": {"log_probs": OUTPUT}}),
}


class Busy:
    """A recorder that has no time now."""

    def due(self, *_: Any) -> bool:
        return False


@pytest.mark.parametrize("trainer", HOOKS)
def test_a_loss_is_the_first_one_whether_there_was_time_for_it_or_not(
    trainer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, update, given = HOOKS[trainer]
    monkeypatch.setattr(update, "waits", True)
    assert next(hooks._loss(Busy(), given), "not looked at") == "not looked at"
    assert not update.waits
