"""What is usual for a hyperparameter, by kind of run, and how far outside a run's value is.

A value outside the range is evidence for the causes that name this setting, the further out the more; a value inside speaks
mildly against them. The ranges are wide: they hold the defaults of the trainers and what published runs use, so that only
a value that hardly anybody uses lies outside.
"""

import enum
import math
import re
from collections.abc import Mapping

from firstbreak.engine.families import UNKNOWN, Families, Family, Method, Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Config, Run, Weight, WeightKind
from firstbreak.patterns import pattern
from firstbreak.values import dataclass, replace
from firstbreak.words import number

OUTSIDE = 2.0  #: nats for a value just outside the usual range (convention)
PER_DECADE = 2.0  #: nats for each further factor of ten (convention)
MOST = 6.0  #: nats, however far outside (convention)
MOST_HARMLESS = 2.0  #: nats, where the score improved and was kept: small policies have other usual values (convention)
INSIDE = 0.5  #: nats against a cause whose only setting is not where it needs it (convention)
DECADES = 3.0  #: decades that a value of 0, or of the wrong sign, is outside (convention)


class Side(enum.Enum):
    """What is wrong with a setting under a cause."""

    HIGH = "high"
    LOW = "low"
    OFF = "off"  #: a switch, or a limit that is not set; the fix sets it


@dataclass(frozen=True)
class Range:
    """The usual range of one hyperparameter."""

    name: str
    low: float
    high: float
    families: Families
    source: str
    horizon: bool = False  #: a discount: distances are those of 1 / (1 - value)
    algorithms: tuple[str, ...] = ()  #: only these; empty: all
    anybodys: bool = False  #: only where neither trainer nor algorithm is known: it may be a table
    whole_model: bool = False  #: only where all weights of a model are trained whose name says how large it is
    #: this share of the run's environment steps is usual too, where that is less than `low`
    of_run: float | None = None

    def decades(self, value: float) -> float:
        """Factors of ten above the range, negative below it, 0 inside it."""
        if self.low <= value <= self.high:
            return 0.0
        above, edge = value > self.high, self.high if value > self.high else self.low
        if self.horizon:
            value, edge = (1 / (1 - x) if x < 1 else math.inf for x in (value, edge))
        if not (value > 0 and edge > 0):
            return DECADES if above else -DECADES
        return max(-DECADES, min(DECADES, math.log10(value) - math.log10(edge)))

    @property
    def text(self) -> str:
        """'0.7 to 1.2', '64 or more'."""
        if self.high == math.inf:
            return f"{number(self.low)} or more"
        return f"{number(self.low)} to {number(self.high)}"


_TEXT, _CONTROL = only(Policy.TEXT), only(Policy.CONTROL)
_PAIRS = only(Policy.TEXT, Method.PREFERENCE)
_SAMPLED = only(Policy.TEXT, Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)
_GROUPS = only(Policy.TEXT, Method.GROUP_RELATIVE)
_ACTOR = only(Policy.CONTROL, Method.ACTOR_CRITIC)
_VALUES = only(Policy.CONTROL, Method.VALUE_BASED)
_PPO = ("ppo", "maskableppo", "recurrentppo", "trpo")
_CONTINUOUS = ("sac", "td3", "ddpg", "tqc", "redq")
_DQN = ("dqn", "ddqn", "qrdqn", "c51", "rainbow", "iqn", "apex")

#: the first row of a name that holds for a run counts
USUAL: tuple[Range, ...] = (
    Range("learning_rate", 1e-8, 2e-5, _TEXT, "published runs 5e-7 to 1e-5, Open-R1 2e-5", whole_model=True),
    Range("learning_rate", 1e-7, 2e-3, _TEXT, "defaults of TRL, verl and OpenRLHF 1e-6; adapters up to 1e-3"),
    Range("learning_rate", 1e-5, 1.0, _CONTROL, "tables and linear policies 0.01 to 1 (Sutton and Barto)", anybodys=True),
    Range("learning_rate", 1e-5, 1e-2, _CONTROL, "defaults of Stable-Baselines3 and CleanRL 1e-4 to 1e-3; RSL-RL up to 1e-2"),
    Range("kl_coef", 0.5, 10.0, _PAIRS, "SimPO's authors use 2 to 10", algorithms=("simpo",)),
    Range("kl_coef", 0.01, 1.0, _PAIRS, "TRL's DPO, KTO and ORPO 0.1; published runs 0.01 to 0.5"),
    Range("kl_coef", 0.0, 0.3, _SAMPLED, "defaults: TRL 0, verl 0.001, OpenRLHF 0.01, TRL's PPO 0.05"),
    Range("gamma", 0.9, 0.9999, _CONTROL, "arXiv:2006.05990; RL Zoo 0.9 to 0.9999", horizon=True),
    Range("gae_lambda", 0.8, 1.0, _ACTOR, "arXiv:2006.05990; RL Zoo 0.8 to 1", horizon=True),
    Range("entropy_coef", 0.0, 0.05, _ACTOR, "arXiv:2006.05990; Stable-Baselines3 0, CleanRL 0.01"),
    Range("entropy_coef", 0.0, 0.02, _SAMPLED, "verl 0 to 0.001"),
    Range("value_coef", 0.01, 10.0, _ACTOR, "Stable-Baselines3 and CleanRL 0.5; RL Zoo 0.2 to 1; RLlib 1"),
    Range("value_coef", 0.01, 10.0, _SAMPLED, "TRL's PPO 0.1; OpenRLHF and verl train the critic apart"),
    Range("epochs_per_batch", 1, 30, _ACTOR, "PPO: Stable-Baselines3 10, CleanRL 4, RL Zoo up to 20"),
    Range("epochs_per_batch", 1, 8, _SAMPLED, "TRL and verl 1, TRL's PPO 4"),
    Range("clip_range", 0.05, 0.5, _ACTOR, "PPO 0.1 to 0.4"),
    Range("clip_range", 1e-4, 0.5, _SAMPLED, "GRPO 0.2; GSPO clips whole sequences at 3e-4"),
    Range("batch_size", 64, math.inf, _ACTOR, "PPO 512 and more; A2C has no least", algorithms=_PPO),
    Range("minibatch_size", 16, math.inf, _VALUES, "DQN 32, SAC and TD3 100 to 256"),
    Range("group_size", 4, math.inf, _GROUPS, "TRL 8; published GRPO runs 4 to 64"),
    Range("temperature", 0.7, 1.2, _TEXT, "defaults of TRL, verl and OpenRLHF 1"),
    Range("buffer_size", 1e4, math.inf, _VALUES, "Stable-Baselines3 1e6; RL Zoo 1e4 and more, 8 to 100 % of short runs",
          of_run=0.08),
    Range("target_update_interval", 10, 4e4, _VALUES, "RL Zoo 10 to 10000", algorithms=_DQN),
    Range("tau", 5e-4, 0.05, _VALUES, "SAC, TD3 and DDPG 0.001 to 0.02", algorithms=_CONTINUOUS),
    Range("exploration_final", 0.0, 0.15, _VALUES, "Stable-Baselines3 0.05; RL Zoo 0.01 to 0.1"),
    Range("exploration_fraction", 0.005, 0.8, _VALUES, "Stable-Baselines3 0.1, CleanRL 0.5; Nature DQN 0.02"),
)  # fmt: skip

_BILLIONS = pattern(r"(?<![\d.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)  #: Qwen2.5-0.5B, Llama-3.1-8B
MASTER = pattern(r"master_?(?:weights?|params?)$", re.IGNORECASE)
WEIGHT_TYPE = pattern(r"(?:param(?:eter)?s?|model|weights?|torch)[._]?d?type$", re.IGNORECASE)
OPTIMIZER_TYPE = pattern(
    r"(?:optim(?:izer)?[._]?(?:states?)?|master_?(?:weights?)?)[._]?(?:d?type|precision)$|(?:storage|dtypes?|precision)\.optim(?:izer)?$",
    re.IGNORECASE,
)
_ADAPTER = pattern(r"lora|peft|adapter", re.IGNORECASE)

#: hyperparameters whose value in force is logged: what is logged counts before what is configured
LOGGED = {
    "learning_rate": "lr",
    "kl_coef": "kl.coef",
    "entropy_coef": "entropy.coef",
    "clip_range": "policy.clip_range",
}


def usual_range(name: str, inputs: Inputs) -> Range | None:
    """The usual range of a hyperparameter in runs of this kind, where one is known; of either kind where that is not known."""
    found = _of_kind(name, inputs.family, inputs)
    if found is None or inputs.family.policy_known or inputs.run.trainer is not None:
        return found
    other = _of_kind(name, replace(inputs.family, policy=Policy.TEXT), inputs)
    return found if other is None else replace(found, low=min(found.low, other.low), high=max(found.high, other.high))


def _of_kind(name: str, family: Family, inputs: Inputs) -> Range | None:
    algorithm = (inputs.run.algorithm or "").lower()
    anybodys = inputs.run.trainer is None and not algorithm
    whole = _trains_whole_model(inputs.run)
    fitting = (
        u
        for u in USUAL
        if u.name == name
        and u.families.include(family)
        and (anybodys or not u.anybodys)
        and (whole or not u.whole_model)
    )
    found = next((u for u in fitting if not u.algorithms or algorithm in u.algorithms), None)
    if found is None or found.of_run is None or (steps := inputs.run.config.number("total_steps")) is None:
        return found
    return replace(found, low=min(found.low, found.of_run * steps))


def _trains_whole_model(run: Run) -> bool:
    """Whether the name of the model says that it has 0.3 billion parameters or more, and the options that it has no adapter."""
    size = _BILLIONS.search(str(run.config.get("model") or ""))
    adapter = [value for key, value in run.config.raw.items() if _ADAPTER.search(key)]
    on = [value for value in adapter if value not in (None, False, 0, "", "none")]
    return size is not None and float(size[1]) >= 0.3 and bool(adapter) and not on


def logged(run: Run, name: str) -> tuple[float, float] | None:
    """(largest, last) of a hyperparameter's logged values, where they are logged."""
    curve = run.series.get(LOGGED.get(name, ""))
    if curve is None or not len(curve.finite):
        return None
    return float(curve.finite.values.max()), float(curve.finite.values[-1])


def in_force(run: Run, name: str) -> float | None:
    """The value that the run used: the largest logged one, else the recorded one; None where only a default is known."""
    if (seen := logged(run, name)) is not None:
        return seen[0]
    value = run.config.recorded(name)
    if name == "tau" and value is not None:  # a whole copy now and then is a small share at each step
        return value / max(1.0, run.config.number("target_update_interval") or 1.0)
    return value


def set_to(run: Run, name: str) -> float | None:
    """The value that a trial changes: the recorded one, else the largest logged one, else the trainer's default."""
    recorded, seen = run.config.number(name), logged(run, name)
    return recorded if seen is None or (recorded is not None and name not in run.config.defaulted) else seen[0]


def is_on(run: Run, name: str) -> bool | None:
    """Whether a switch is on, or a limit set; None where the run did not record it."""
    if name not in run.config.values or name in run.config.defaulted:
        return None
    value = run.config.get(name)
    return bool(value) and str(value).lower() not in ("none", "false", "0", "0.0")


def amiss(name: str, side: Side, inputs: Inputs) -> bool:
    """Whether a setting is outside what is usual, on this side."""
    value, range_ = in_force(inputs.run, name), usual_range(name, inputs)
    if side is Side.OFF or value is None or range_ is None:
        return False
    return range_.decades(value) * (1 if side is Side.HIGH else -1) > 0


def settled(name: str, side: Side, inputs: Inputs) -> bool:
    """Whether a setting is already where a fix would move it: on, or at the far end of what is usual."""
    if side is Side.OFF:
        return is_on(inputs.run, name) is True
    value, range_ = in_force(inputs.run, name), usual_range(name, inputs)
    if value is None:
        return False
    if name == "buffer_size" and inputs.run.axis == "env_steps" and value >= (inputs.run.last_step or math.inf):
        return True  # it holds the whole run
    if side is Side.HIGH:
        return value <= (range_.low if range_ is not None else 0)
    return range_ is not None and value >= range_.high


def weights(settings: Mapping[str, Side], inputs: Inputs) -> list[Weight]:
    """The evidence of the settings that a cause names: each that is outside the usual range, on its side, speaks for it.

    Where none is, they speak against it together, and the less the more of them there are: a cause with many ways to
    come about is seldom ruled out by its settings.
    """
    asked = [
        (side, name, value, range_)
        for name, side in settings.items()
        if side is not Side.OFF
        and (range_ := usual_range(name, inputs)) is not None
        and (value := in_force(inputs.run, name)) is not None
    ]
    most = MOST_HARMLESS if inputs.kept or inputs.solved else MOST
    if outside := [w for one in asked if (w := _outside(*one, inputs.run, most)) is not None]:
        return outside
    if not asked:
        return []
    text = ", ".join(f"{inputs.run.config.option(name)} {number(value)}" for _, name, value, _ in asked)
    return [_weight(-INSIDE / len(settings), f"{text}: usual, or on the other side of it")]


_DIRECTION = {Side.HIGH: "above", Side.LOW: "below"}


def _outside(side: Side, name: str, value: float, range_: Range, run: Run, most: float) -> Weight | None:
    away = range_.decades(value) * (1 if side is Side.HIGH else -1)
    if away <= 0:
        return None
    text = f"{run.config.option(name)} is {number(value)}, {_DIRECTION[side]} what is usual ({range_.text})"
    return _weight(min(most, OUTSIDE + PER_DECADE * away), text)


def _weight(weight: float, text: str) -> Weight:
    return Weight(kind=WeightKind.CONFIGURATION, finding="config", weight=weight, text=text)


def dropout_of(run: Run) -> dict[str, float]:
    """The options of the configuration that switch dropout on: `lora_dropout`, `resid_pdrop`, ..."""
    given = {k: v for k, v in run.config.raw.items() if isinstance(v, int | float) and 0 < v < 1}
    return {k: float(v) for k, v in given.items() if any(word in k.lower() for word in ("dropout", "_pdrop"))}


def half_configured(config: Config) -> bool:
    """Whether no copy in float32 collects small steps: the optimizer's states are in bfloat16, or it has no master weights."""
    alone = any(MASTER.search(name) and value is False for name, value in config.raw.items())
    return in_half(config, WEIGHT_TYPE if alone else OPTIMIZER_TYPE)


def in_half(config: Config, types: re.Pattern[str] = WEIGHT_TYPE) -> bool:
    """Whether the weights, or what else has such a type, are in bfloat16."""
    halves = ("bfloat16", "bf16")
    return any(str(value).rpartition(".")[2] in halves for name, value in config.raw.items() if types.search(name))
