"""The entropy coefficient is negative: certainty is rewarded.

Looks for: A recorded coefficient of the entropy bonus below 0.
Why: The bonus is added to the objective (or subtracted from the loss), so that the policy keeps trying different
actions. With a negative coefficient, every update makes the policy more certain of what it does already, whatever this
earns. Usually the sign was turned round twice by mistake.
False alarm: Entropy is minimised on purpose, as in methods that sharpen a policy which knows the answer.
Fix:
- Set {entropy_coef} to 0, or to a positive value.
Experiment: {entropy_coef} = 0 for a tenth of the run: if the entropy stops falling, the coefficient was the reason.
References: https://arxiv.org/abs/1602.01783
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import seen_as, warning
from firstbreak.model import Config, Finding, NotMeasured, Role, Run, Series

ROLES = (Role.RELATION,)


def detect(run: Run, config: Config, policy_entropy: Series | None = None) -> Finding | NotMeasured | None:
    weight = config.recorded("entropy_coef")
    if weight is None:
        return NotMeasured("the entropy coefficient is not recorded")
    if weight >= 0:
        return None
    first = run.first_step
    return warning(
        "the entropy coefficient is {weight}: the policy is rewarded for certainty; set the coefficient to 0 or above, and "
        "check whether its sign was turned round twice",
        seen_as("entropy_coef" if policy_entropy is None else policy_entropy.name, first),
        weight=facts.setting(config, "entropy_coef"),
        numbers={"entropy_coef": weight},
    )
