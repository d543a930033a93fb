"""What is asked of the memory ledger: the options of `firstbreak check memory`, and the plan that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from firstbreak.preflight.memory import classic, decoder
from firstbreak.preflight.memory.activations import PRECISIONS
from firstbreak.preflight.memory.ledger import ALGORITHMS, ENGINES, GIB, LOGITS, OFFLOADS, OPTIMIZERS, SHARDS, Plan
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass

NETWORKS = ("mlp", "cnn")
POSITIVE = ("gpus", "prompt", "completion", "micro_batch", "rollouts", "engine_gpus", "gpu_memory")


@dataclass(frozen=True, kw_only=True)
class Options:
    """A plan in the words of the command line: memory in GiB, `prompt` and `completion` in tokens, `micro_batch` and
    `rollouts` in sequences of one GPU. An option without a comment is the one of that name of `Plan` or `ClassicPlan`.
    """

    model: str  #: a config.json, a folder with one, a name on the Hugging Face hub, or one of NETWORKS
    algo: str
    gpus: int = 1
    gpu_memory: float = 80.0
    prompt: int = 512
    completion: int = 1024
    micro_batch: int = 1
    rollouts: int = 8
    accumulation: bool = True
    precision: str = "bf16"
    optimizer: str = "adamw"
    shard: str = "none"
    lora: int = 0
    four_bit: bool = False
    checkpointing: bool = True
    fused_attention: bool = True
    logits: str = "full"
    temperature: float = 1.0
    reference: bool = True
    critic: str | None = None  #: like `model`
    reward_model: str | None = None  #: like `model`
    engine: str = "trainer"
    engine_gpus: int = 1
    engine_share: float | None = None
    offload: Sequence[str] = ()
    host_memory: float | None = None  #: None: the memory of this machine
    observation: str = ""  #: "17" or "4x84x84"; the networks of NETWORKS need it, and `actions`
    actions: int = 0
    discrete: bool = False
    layers: str = ""  #: "256,256"; empty: those of the algorithm
    buffer: int = 1_000_000
    steps: int = 2048
    envs: int = 1
    batch: int = 256

    def plan(self) -> Plan:
        """The plan for a language model. Raises `Unreadable` where the model or an option cannot be understood."""
        self._check()
        return Plan(
            **self._of(Plan)
            | {
                "algorithm": self.algo,
                "actor": decoder.read(self.model),
                "critic": decoder.read(self.critic) if self.critic else None,
                "reward_model": decoder.read(self.reward_model) if self.reward_model else None,
                "gpu_memory": round(self.gpu_memory * GIB),
                "offload": frozenset(self.offload),
            }
        )

    def classic_plan(self) -> classic.ClassicPlan:
        """The plan for the networks of a classic algorithm. Raises `Unreadable` where an option cannot be understood."""
        _among("algo", self.algo, (*classic.OFF_POLICY, *classic.ON_POLICY))
        if not self.observation or self.actions < 1:
            raise Unreadable(self.model, "needs sizes of observations and actions", "give --observation and --actions")
        return classic.ClassicPlan(
            **self._of(classic.ClassicPlan)
            | {
                "algorithm": self.algo,
                "observation": _sizes("observation", self.observation, (3,) if self.model == "cnn" else (1,)),
                "discrete": self.discrete or self.algo == "dqn",
                "layers": _sizes("layers", self.layers, range(1, 20)) if self.layers else None,
            }
        )

    def _of(self, kind: type[Plan | classic.ClassicPlan]) -> dict[str, Any]:
        """The options that a plan has as well."""
        return {f.name: getattr(self, f.name) for f in fields(kind) if hasattr(self, f.name)}

    def _check(self) -> None:
        """Raises `Unreadable` for the first option that cannot be."""
        for name, value, known in (
            ("algo", self.algo, ALGORITHMS),
            ("precision", self.precision, tuple(PRECISIONS)),
            ("optimizer", self.optimizer, tuple(OPTIMIZERS)),
            ("shard", self.shard, SHARDS),
            ("logits", self.logits, LOGITS),
            ("engine", self.engine, ENGINES),
            *(("offload", what, OFFLOADS) for what in self.offload),
        ):
            _among(name, value, known)
        for name in POSITIVE:
            if getattr(self, name) <= 0:
                raise Unreadable(f"--{name.replace('_', '-')}", f"is {getattr(self, name)}", "give a number above 0")
        if self.four_bit and not self.lora:
            raise Unreadable("--four-bit", "weights in 4 bits cannot be trained", "add --lora 16")


def _among(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise Unreadable(f"--{name}", f"{value!r} is not known", f"give one of {', '.join(known)}")


def _sizes(name: str, text: str, dimensions: Sequence[int]) -> tuple[int, ...]:
    """`4x84x84` or `256,256` as numbers."""
    parts = text.replace("x", ",").split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts) or len(parts) not in dimensions:
        example = "4x84x84 (channels, height, width)" if 3 in dimensions and 1 not in dimensions else "17 or 256,256"
        raise Unreadable(f"--{name}", f"{text!r} is no size", f"write it like {example}")
    return tuple(int(part) for part in parts)
