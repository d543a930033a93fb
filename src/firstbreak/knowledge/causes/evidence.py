"""What the configuration or the kind of run says for a cause or against it, in nats.

Each function is what the `weights` of a row may name.
"""

import math

import numpy as np

from firstbreak.engine.common_settings import dropout_of, half_configured
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.inputs import Inputs, answer_parts
from firstbreak.engine.stats.points import median, quantile
from firstbreak.engine.stats.shape import trajectory
from firstbreak.engine.stats.smooth import smooth
from firstbreak.model import Series, Weight, WeightKind
from firstbreak.words import number, percent

HALF = 0.5  #: of what was gained
LN_2 = math.log(2)  #: the sigmoid loss of a policy that does not tell chosen from rejected
ABOVE = 1.02  #: times ln 2: more is no noise of a median (convention)
FEW = 8  #: losses below which a quarter of them says nothing (convention)
NEARLY_ALL = 0.95  #: of the completions: a limit that is too short leaves more of them (convention)
OLD = 4  #: versions; AReaL trains well with up to 8 if the loss is decoupled, others with 1 to 2
LOOSE = 20.0  #: a cap above this does not bound anything
OUT_OF_RANGE = 1e6  #: no loss of a language model has a gradient of this norm, however large the steps are
#: nats: of 71 runs with such a fault (corpus and population) 2 lost their training reward, of 136 with a wrong sign of the
#: advantage, too large steps or too much entropy 108 did
LOST = -2.0
#: share of the gain so far: of 85 runs with such a fault 2 lost so much in between, of 437 with one of environment or update 174
FELL_BACK = 0.8
GAINED = 0.3  #: of the range of the reward: a smaller gain is lost to noise (convention)
MIN_POINTS = 20  #: fewer show no fall in between, and no growth (convention)
GROWN = 3.0  #: times its early level: a distance of the engines that does not come from numerics (convention)


def reward_lost(inputs: Inputs) -> list[Weight]:
    """Against an exploited reward, where the training reward was lost, for good or in between: what is exploited pays more."""
    reward = inputs.training_score
    if reward is None:
        return []
    if trajectory(reward).lost:
        said = f"{reward.name} itself is lost, and what is exploited pays more"
    elif _fell_back(reward):
        said = f"{reward.name} itself fell back in between, and what is exploited pays more"
    else:
        return []
    return _because("reward", LOST, said)


def _fell_back(reward: Series) -> bool:
    """Whether the smoothed reward lost nearly all that it had gained, at some step."""
    if len(reward.finite) < MIN_POINTS:
        return False
    _, level = smooth(reward.finite)
    best = np.maximum.accumulate(level)
    gain = best - level[0]
    gained = gain > GAINED * np.ptp(level)
    return bool(np.any(gained & (best - level >= FELL_BACK * gain)))


def lost_or_checked(inputs: Inputs) -> list[Weight]:
    """An over-optimised reward rises, and is a model's opinion: a check of answers is no model."""
    parts = answer_parts(inputs.reward_component_mean)
    checked = _because("reward.component", -1.5, f"the reward is a check: {', '.join(parts)}") if parts else []
    return reward_lost(inputs) + checked


def stops_half_way(inputs: Inputs) -> list[Weight]:
    """A wrong sign drives the score back to its start and below; the fall does not stop half-way."""
    shape = inputs.trajectory
    if shape is None or not shape.lost or shape.drop_fraction >= HALF:
        return []
    return _because("score-lost", -1.5, "the score keeps most of what it gained")


def advantages_spread(inputs: Inputs) -> list[Weight]:
    """Advantages that are spread out in every step: their groups are not equal."""
    spread = inputs.advantage_std
    if spread is None or len(spread.finite) < 5 or quantile(spread.finite.values, 0.1) < 0.5:
        return []
    typical = float(np.median(spread.finite.values))
    return _because("advantage.std", -3.0, f"the advantages have a spread of {typical:.2g} throughout")


def pairs_below_chance(inputs: Inputs) -> list[Weight]:
    """A loss above ln 2 = 0.693: the pairs are told apart worse than by chance."""
    loss = inputs.run.series.get("pref.loss")
    of_dpo = inputs.method is Method.PREFERENCE and (inputs.run.algorithm or "").lower() == "dpo"
    if loss is None or not of_dpo or len(loss.finite) < FEW:
        return []
    late = float(np.median(loss.finite.tail(0.25).values))
    if late <= LN_2 * ABOVE:
        return []
    said = (
        f"the loss is {number(late)} in the last quarter, above ln 2 = 0.693: pairs are told apart worse than by chance"
    )
    return _because("pref.loss", 1.5, said)


def nearly_all_cut(inputs: Inputs) -> list[Weight]:
    """Nearly all completions are cut, from the first step to the last."""
    cut = inputs.truncation
    if cut is None or not len(cut.finite):
        return []
    least = min(float(np.mean(part.values)) for part in (cut.finite.head(0.1), cut.finite.tail(0.5)))
    said = f"at least {percent(least)} of the completions are cut, at the start and later"
    return _because("truncation", 2.0 if least >= NEARLY_ALL else -2.0, said)


def more_equal_than_cut(inputs: Inputs) -> list[Weight]:
    """The limit makes a group equal by cutting all of it: far more zero-variance groups have another reason."""
    equal, cut = inputs.zero_variance_groups, inputs.truncation
    if equal is None or cut is None or not len(equal.finite) or not len(cut.finite):
        return []
    groups, completions = (float(np.mean(s.finite.tail(0.5).values)) for s in (equal, cut))
    if groups < 0.5 or groups - completions < 0.4:
        return []
    said = f"{percent(groups)} of the groups have zero variance, and only {percent(completions)} of the completions are cut"
    return _because("zero-variance groups", -2.0, said)


def huge_from_the_start(inputs: Inputs) -> list[Weight]:
    """A norm that is out of range from the first logged update on, which large steps do not make."""
    norms = inputs.grad_norm
    if inputs.policy is not Policy.TEXT or norms is None or not len(norms.finite):
        return []
    first = norms.finite.values[0]
    return _because("grad.norm", 2.0, f"the first gradient norm is {first:.2g}") if first >= OUT_OF_RANGE else []


def dropout_configured(inputs: Inputs) -> list[Weight]:
    """A dropout in the configuration, where the identity itself was not measured."""
    named = dropout_of(inputs.run)
    if not named or "proof.dropout" in inputs.run.series:
        return []
    what = " and ".join(f"{name} {value:g}" for name, value in named.items())
    return _because("config", 1.5, f"the configuration has {what}")


def built_without_wrappers(inputs: Inputs) -> list[Weight]:
    """Wrappers in the script that only the training environment has."""
    missing = inputs.evaluation_lacks
    return _because("config", 1.5, f"only the training environment has {missing}") if missing else []


def sampled_otherwise(inputs: Inputs) -> list[Weight]:
    """With sampling options other than 1, a difference is more probably theirs; numerics alone give a constant one."""
    logged = inputs.run.series
    apart = (inputs.first_ratio, logged.get("rollout_train.kl"), logged.get("rollout_train.logp_absdiff.mean"))
    for curve in (s.finite for s in apart if s is not None and len(s.finite) >= MIN_POINTS):
        early, late = (median(np.abs(part.values)) for part in (curve.head(0.2), curve.tail(0.25)))
        if late >= GROWN * early:
            return _because(curve.name, -1.5, f"{curve.name} grows, and numerics give a constant difference")
    known = [inputs.run.config.number(name) for name in ("temperature", "top_p")]
    if any(value is not None and value != 1 for value in known):
        return _because("config", -1.0, "rollouts are sampled with a temperature or top-p other than 1")
    return []


def sampling_options(inputs: Inputs) -> list[Weight]:
    """Sampling options other than 1, which the log-probabilities have to be computed with."""
    known = {name: inputs.run.config.number(name) for name in ("temperature", "top_p")}
    changed = {name: value for name, value in known.items() if value is not None and value != 1}
    if None in known.values() or any(name in inputs.run.config.defaulted for name in known):
        return []
    if not changed:
        said = "according to the configuration, rollouts are sampled at temperature 1 and top-p 1"
        return _because("config", -0.5, said)
    what = " and ".join(f"{name} {value:g}" for name, value in changed.items())
    return _because("config", 1.0, f"rollouts are sampled with {what}")


def older_than_allowed(inputs: Inputs) -> list[Weight]:
    """Data older than the recorded limit allows: a queue cannot do that, standing weights can."""
    limit, ages = inputs.run.config.number("max_staleness"), inputs.staleness_max
    if limit is None or ages is None or not len(ages.finite):
        return []
    age = float(np.median(ages.finite.tail(0.25).values))
    if age > limit + 2:
        return _because("config", 3.0, f"data are {age:g} versions old, and the limit is {limit:g}")
    return []


def planned_age(inputs: Inputs) -> list[Weight]:
    """How old the data may be by plan."""
    age = inputs.run.config.number("max_staleness")
    if age is None or "max_staleness" in inputs.run.config.defaulted:
        return []
    weight = 1.5 if age >= OLD else -3.0 if age <= 1 else 0.0
    return _because("config", weight, f"data may be {age:g} versions old")


def cap_on_old_data(inputs: Inputs) -> list[Weight]:
    """Old data by plan, with a cap on their weights or without, and what one weight stands for."""
    config = inputs.run.config
    age, cap = config.number("max_staleness"), config.number("behave_weight_cap")
    if not age:
        return []
    if str(config.get("importance_level") or "").startswith("seq"):
        return _because("config", 2.0, "one weight is the product over a whole sequence")
    if cap is None or cap > LOOSE:
        return _because("config", 2.0, f"data may be {age:g} versions old and weights are not capped")
    return _because("config", -2.0, f"weights are capped at {cap:g}")


def _because(finding: str, weight: float, text: str) -> list[Weight]:
    """What the configuration or the kind of run says: `weight` nats for a cause, for the reason in `text`."""
    return [Weight(kind=WeightKind.CONFIGURATION, finding=finding, weight=weight, text=text)]


def kept_in_half(inputs: Inputs) -> list[Weight]:
    """Weights in bfloat16 and no copies of them in float32, which would collect small steps."""
    said = "the configuration keeps weights in bfloat16, without copies in float32"
    return _because("config", 2.0, said) if half_configured(inputs.run.config) else []
