"""Training samples from a narrower distribution than the policy has.

Looks for: The sampling options of the rollouts: {temperature} below `min_temperature`, or {top_p} below `min_top_p`.
Why: Training needs different answers to one prompt. At a low temperature the completions and their rewards are nearly
the same, so that little advantage is left. With a low top-p, the trainer's log-probabilities are not those that the
tokens were sampled with.
False alarm: Distillation and evaluation use a low temperature on purpose. A temperature of 0.6 to 1 and a top-p of 0.9
or more are usual in training.
Fix:
- Sample rollouts at {temperature} 1 and {top_p} 1; keep other values for the evaluation.
- If you want a lower temperature in training, divide the trainer's logits by the same temperature.
Experiment: Sample one prompt 32 times at {temperature} 1 and 32 times at the present setting, and count the distinct
answers.
References: https://arxiv.org/abs/2503.14476
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_as
from firstbreak.engine.families import SAMPLED, Method, Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.model import Config, Finding, NotApplicable, NotMeasured, Role, Series, Severity

ROLES = (Role.RELATION,)
FAMILIES = only(
    Policy.TEXT,
    *(m for m in SAMPLED if m is not Method.PREFERENCE),
    why="nothing is sampled from a language model during this training",
)


def detect(
    config: Config,
    zero_variance_groups: Series | None = None,
    *,
    min_temperature: float = at(0.45, "temperature", "training samples at 0.6 to 1"),
    min_top_p: float = at(0.8, "share", "training samples with a top-p of 0.9 or more"),
    min_equal: float = at(0.8, "share", "of the groups with equal rewards: there is hardly anything to learn from"),
) -> Finding | NotApplicable | NotMeasured | None:
    known = {name: config.number(name) for name in ("temperature", "top_p") if name not in config.defaulted}
    if all(value is None for value in known.values()):
        return NotMeasured("the temperature and the top-p of the rollouts are not recorded")
    temperature, top_p = known.get("temperature"), known.get("top_p")
    too_cold = temperature is not None and 0 <= temperature < min_temperature
    too_narrow = top_p is not None and 0 < top_p < min_top_p
    if not too_cold and not too_narrow:
        return None
    narrow = {"a temperature of {value}": ("temperature", too_cold), "a top-p of {value}": ("top_p", too_narrow)}
    what = (facts.tell(said, value=facts.setting(config, name)) for said, (name, holds) in narrow.items() if holds)
    groups = zero_variance_groups.finite if zero_variance_groups is not None else None
    equal = groups is not None and len(groups) > 0 and median(groups.values) >= min_equal
    first = float(groups.steps[0]) if groups is not None and equal else None
    return graded(
        Severity.CRITICAL if equal else Severity.WARNING,
        "rollouts are sampled with {what}: the completions of one prompt hardly differ; sample rollouts with 1, and keep "
        "the lower value for the evaluation",
        seen_as(onset=first),
        what=facts.joined(what, " and "),
        numbers={"temperature": temperature, "top_p": top_p},
    )
