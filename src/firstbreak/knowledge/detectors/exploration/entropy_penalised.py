"""The entropy is penalised: certainty is rewarded.

Looks for: A recorded coefficient of the entropy bonus below 0. And the losses: what is left of the total one without those of
policy and critic is the entropy times its coefficient in `rows` of the rows, to `off` of it, with the wrong sign.
Why: The bonus is added to the objective (or subtracted from the loss), so that the policy keeps trying different
actions. With a negative coefficient, every update makes the policy more certain of what it does already, whatever this
earns. Usually the sign was turned round twice by mistake.
False alarm: Entropy is minimised on purpose, as in methods that sharpen a policy which knows the answer.
Fix:
- Set {entropy_coef} to 0, or to a positive value.
Experiment: {entropy_coef} = 0 for a tenth of the run: if the entropy stops falling, the coefficient was the reason.
References: https://arxiv.org/abs/1602.01783
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_as, seen_in, warning
from firstbreak.model import Config, Finding, NotMeasured, Role, Run, Series

ROLES = (Role.RELATION,)
USUAL = (0.5, 1.0)  #: coefficients of the critic's loss, where none is recorded


def detect(
    run: Run,
    config: Config,
    policy_entropy: Series | None = None,
    loss_total: Series | None = None,
    policy_loss: Series | None = None,
    value_loss: Series | None = None,
    *,
    off: float = at(0.1, "share", "of the term: what rounding of the losses leaves"),
    rows: float = at(0.8, "share", "Means over minibatches of other sizes differ now and then."),
    min_points: int = at(8, "rows", "Fewer can fit by chance."),
) -> Finding | NotMeasured | None:
    weight = config.recorded("entropy_coef")
    if weight is None:
        return NotMeasured("the entropy coefficient is not recorded")
    curves = [
        s for s in (loss_total, policy_loss, value_loss, policy_entropy) if s is not None and len(s) >= min_points
    ]
    if weight > 0 and len(curves) == 4 and all(np.array_equal(curves[0].steps, s.steps) for s in curves):
        total, policy, critic, entropy = (s.values for s in curves)
        coefs = [c] if (c := config.recorded("value_coef")) is not None else USUAL
        terms = [(total - policy - c * critic) / (weight * entropy.clip(1e-12)) for c in coefs]
        added, taken = (max(float(np.mean(np.abs(t - sign) < off)) for t in terms) for sign in (1.0, -1.0))
        if added >= rows > taken:
            return _added(curves[3], config)
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


def _added(entropy: Series, config: Config) -> Finding:
    return critical(
        "the total loss is that of policy and critic plus {weight} times the entropy, in which a bonus is taken off: each update "
        "makes the policy more certain; turn the sign round",
        seen_in(entropy, "entropy"),
        weight=facts.setting(config, "entropy_coef"),
    )
