"""The same ledger for small networks: what Stable-Baselines3's policies and buffers hold.

Networks are counted as its `MlpPolicy` and `CnnPolicy` build them (common/policies.py, common/torch_layers.py), buffers
as common/buffers.py allocates them, in the memory of the host.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import prod

from firstbreak.preflight.memory.activations import FP32
from firstbreak.preflight.memory.ledger import CONTEXT, Entry
from firstbreak.values import dataclass

OFF_POLICY = ("sac", "td3", "ddpg", "dqn")
ON_POLICY = ("ppo", "a2c")
CONTINUOUS = ("sac", "td3", "ddpg")
LAYERS = {"sac": (256, 256), "td3": (400, 300), "ddpg": (400, 300), "dqn": (64, 64), "ppo": (64, 64), "a2c": (64, 64)}
CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  #: (channels, kernel, stride) of the "Nature" network
FEATURES = 512  #: what it ends in
INT64 = 8


@dataclass(frozen=True, kw_only=True)
class ClassicPlan:
    """An algorithm for observations as vectors or images."""

    algorithm: str
    observation: tuple[int, ...]  #: (n,), or (channels, height, width)
    actions: int  #: dimensions of an action, or the number of discrete ones
    discrete: bool = False
    layers: tuple[int, ...] | None = None  #: hidden widths; None: the algorithm's own
    buffer: int = 1_000_000  #: transitions of a replay buffer
    steps: int = 2048  #: steps of each environment in one rollout
    envs: int = 1
    batch: int = 256
    context: int = CONTEXT

    @property
    def images(self) -> bool:
        """Images are stored as bytes and read by convolutions."""
        return len(self.observation) == 3

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths behind the observation or its features."""
        if self.layers is not None:
            return self.layers
        if self.images:
            return (256, 256) if self.algorithm in CONTINUOUS else ()
        return LAYERS[self.algorithm]


def ledger(plan: ClassicPlan) -> tuple[Entry, ...]:
    """The entries, for one GPU and for the host."""
    entries = [Entry("trainer", "update", "optimizer step", "", "cuda context", plan.context)]
    for role, parameters, trained in networks(plan):
        size = parameters * FP32
        kinds = {"weights": size} | ({"gradients": size, "optimizer": 2 * size} if trained else {})
        kinds |= {"activations": plan.batch * kept(plan) * FP32} if trained else {}
        entries += [Entry("trainer", "update", "optimizer step", role, kind, bytes_) for kind, bytes_ in kinds.items()]
    name = "replay buffer" if plan.algorithm in OFF_POLICY else "rollouts"
    entries.append(Entry("host", "rollout", "always", "", name, stored(plan)))
    return tuple(entries)


def networks(plan: ClassicPlan) -> Iterator[tuple[str, int, bool]]:
    """(role, parameters, trained) of every network."""
    features, convolutions = _extractor(plan)
    pi = convolutions + _mlp((features, *plan.hidden))
    top = plan.hidden[-1] if plan.hidden else features
    match plan.algorithm:
        case "dqn":
            q = pi + _mlp((top, plan.actions))
            yield "critic", q, True
            yield "target critic", q, False
        case "sac" | "td3" | "ddpg":
            actor = pi + _mlp((top, plan.actions)) * (2 if plan.algorithm == "sac" else 1)
            heads = 1 if plan.algorithm == "ddpg" else 2
            critics = convolutions + heads * _mlp((features + plan.actions, *plan.hidden, 1))
            yield "actor", actor, True
            if plan.algorithm != "sac":
                yield "target actor", actor, False
            yield "critic", critics, True
            yield "target critic", critics, False
        case _:  # one extractor, an MLP each for policy and value
            spread = 0 if plan.discrete else plan.actions
            yield "actor", pi + _mlp((top, plan.actions)) + spread, True
            yield "critic", _mlp((features, *plan.hidden)) + _mlp((top, 1)), True


def kept(plan: ClassicPlan) -> int:
    """Numbers that one network keeps of one observation for its backward pass: what each layer reads."""
    size = plan.observation[-1]
    maps = 0
    if plan.images:
        for channels, kernel, stride in CONVOLUTIONS:
            size = (size - kernel) // stride + 1
            maps += channels * size * size
        maps += FEATURES
    return prod(plan.observation) + maps + sum(plan.hidden)


def stored(plan: ClassicPlan) -> float:
    """Bytes of the buffer."""
    observation = prod(plan.observation) * (1 if plan.images else FP32)
    action = INT64 if plan.discrete else plan.actions * FP32
    if plan.algorithm in OFF_POLICY:  # this observation, the next one, action; reward, end and time limit in float32
        return plan.buffer * (2 * observation + action + 3 * FP32)
    return plan.steps * plan.envs * (observation + action + 6 * FP32)


def _extractor(plan: ClassicPlan) -> tuple[int, int]:
    """Width of the features, and parameters of what makes them."""
    if not plan.images:
        return prod(plan.observation), 0
    before, height, width = plan.observation
    parameters = 0
    for channels, kernel, stride in CONVOLUTIONS:
        height, width = (height - kernel) // stride + 1, (width - kernel) // stride + 1
        parameters += channels * (before * kernel * kernel + 1)
        before = channels
    return FEATURES, parameters + _mlp((before * height * width, FEATURES))


def _mlp(widths: tuple[int, ...]) -> int:
    """Parameters of linear layers of these widths, one after the other."""
    return sum(a * b + b for a, b in pairwise(widths))
