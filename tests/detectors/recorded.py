"""What a detector says of batches that the recorder of a loop measured, wrote and read again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.engine.detection import check
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.identities.parameters import Sampled
from firstbreak.model import Outcome
from firstbreak.readers.read import read

PROMPTS = [f"What is {i // 4} + {i // 4}?" for i in range(8)]
REWARDS = np.array([1.0, 0, 0, 0.5, 0, 0, 1, 1])
GROUPS = REWARDS.reshape(2, 4)
ADVANTAGES = ((GROUPS - GROUPS.mean(1, keepdims=True)) / (GROUPS.std(1, ddof=1, keepdims=True) + 1e-4)).ravel()
BATCH = {"prompts": PROMPTS, "rewards": REWARDS, "advantages": ADVANTAGES, "group": 4, "scaled": "group"}
LENGTHS = np.array([3.0, 5, 2, 4, 5, 1, 2, 5])
MASK = (np.arange(5) < LENGTHS.reshape(-1, 1)).astype(float)
GRADIENT = -ADVANTAGES.reshape(-1, 1) * MASK  #: of the loss by each log-probability


DRAWN = np.random.default_rng(0)
STEPS: dict[str, Any] = {
    "rewards": DRAWN.normal(size=(5, 2)),
    "values": DRAWN.normal(5, 1, size=(5, 2)),
    "dones": np.array([[0.0, 0], [0, 0], [0, 0], [0, 1], [0, 0]]),
    "next_done": np.zeros(2),
    "next_value": np.array([5.0, 6]),
    "gamma": 0.99,
    "gae_lambda": 0.95,
}  #: of two environments; in the second one, step 2 ends an episode


def estimated(*, ends: bool = True) -> dict[str, np.ndarray]:
    """Advantages and returns of these steps, or those of episodes that never end."""
    held = np.zeros((5, 2))
    ahead, following = np.zeros(2), STEPS["next_value"]
    for t in reversed(range(5)):
        alive = 1 - ends * (STEPS["dones"][t + 1] if t < 4 else STEPS["next_done"])
        held[t] = ahead = (
            STEPS["rewards"][t] + 0.99 * alive * following - STEPS["values"][t] + 0.99 * 0.95 * alive * ahead
        )
        following = STEPS["values"][t]
    return {"advantages": held, "returns": held + STEPS["values"]}


STEPS |= estimated()


def recorded(folder: Path, detector: str, *batches: dict[str, Any]) -> Outcome:
    """How the detector ends on a run in which these batches were measured, at steps 1, 2, ..."""
    return _recorded(folder, detector, batches, BatchRecorder.batch)


def recorded_steps(folder: Path, detector: str, *batches: dict[str, Any]) -> Outcome:
    """The same for steps of an environment."""
    return _recorded(folder, detector, batches, BatchRecorder.transitions)


def _recorded(folder: Path, detector: str, batches: tuple[dict[str, Any], ...], measure: Callable[..., Any]) -> Outcome:
    record = BatchRecorder(folder, share=1e9)
    for step, given in enumerate(batches, 1):
        measure(record, step, **given)
    (outcome,) = check(read(folder), only=[detector])
    return outcome


def proof(outcome: Outcome) -> str:
    """The text of a proof."""
    assert outcome.finding is not None, outcome
    assert "Proved at step" in outcome.finding.message
    return str(outcome.finding.message)


def weights(**changed: Any) -> Sampled:
    """A parameter that one sound update changed."""
    told: dict[str, Any] = {
        "name": "layer.weight",
        "size": 100,
        "trainable": True,
        "owned": True,
        "gradient": np.ones(4),
        "before": np.zeros(4),
        "after": np.full(4, 0.1),
        "last": np.zeros(4),
    }
    return Sampled(**told | changed)


def drawn(seed: int, *, temperature: float = 1.0, edited: float = 0.0) -> dict[str, Any]:
    """A batch of 32 samples of 16 tokens, drawn from a policy at a temperature, of which a share is edited afterwards."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(32, 16, 20)) * 2
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    noise = rng.gumbel(size=logits.shape)
    tokens = (logits / temperature + noise).argmax(-1)
    tokens = np.where(rng.random(tokens.shape) < edited, rng.integers(0, 20, tokens.shape), tokens)
    own = np.take_along_axis(logp, tokens[..., None], -1)[..., 0]
    entropies = -(np.exp(logp) * logp).sum(-1)
    return {"logps": own, "entropies": entropies, "mask": np.ones_like(own), "fresh": True}
