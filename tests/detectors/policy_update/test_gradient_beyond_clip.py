"""A clipped surrogate, and one without its clip, on tokens whose ratio has left the range."""

from pathlib import Path
from typing import Any

import pytest

from tests.detectors.recorded import ADVANTAGES, MASK, proof, recorded
from tests.lazy import lazy

torch = lazy("torch")


def update(clip: float, *, penalty: float = 0.0) -> dict[str, Any]:
    """What the recorder sees of a minibatch that comes after some updates; 0.2 is configured."""
    advantages, mask = torch.tensor(ADVANTAGES).unsqueeze(1), torch.tensor(MASK)
    old = -torch.ones_like(mask)
    logps = (old + torch.linspace(-0.5, 0.5, mask.numel(), dtype=mask.dtype).view_as(mask)).requires_grad_()
    ratio = (logps - old).exp()
    clipped = torch.minimum(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))
    loss = -((clipped - penalty * logps.square()) * mask).sum() / mask.sum()
    loss.backward()
    made = {"advantages": ADVANTAGES, "logps": logps, "old_logps": old, "mask": MASK}
    return made | {"gradient": logps.grad, "clip": 0.2, "fresh": False}


def test_a_loss_without_the_clip_is_proved(tmp_path: Path) -> None:
    assert "100 % of the tokens beyond the clip range" in proof(recorded(tmp_path, "gradient-beyond-clip", update(1e9)))


@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_the_clipped_loss_is_silent(penalty: float, tmp_path: Path) -> None:
    assert recorded(tmp_path, "gradient-beyond-clip", update(0.2, penalty=penalty)).finding is None
