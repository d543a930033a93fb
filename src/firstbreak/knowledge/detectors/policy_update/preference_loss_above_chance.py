"""The preference loss stays above that of a model that was never trained.

Looks for: The logistic loss on preference pairs, on held-out ones where it is logged: its median in the second half of
the run, and nearly every value there, against ln 2 = 0.6931, the loss of a policy that equals its reference model.
Why: The model prefers the chosen answers with less right than the one that training began with: where it is wrong, it
is wrong with certainty. The accuracy of the implicit rewards can grow at the same time, because it does not count by
how much.
False alarm: A loss that contains another term (a likelihood term), or that is summed over {grad_accumulation} batches.
Other losses than the logistic one.
Fix:
- Lower {learning_rate} by ten: implicit rewards of -10 and less are far from the reference.
- Raise {kl_coef}, train for fewer steps, and keep the checkpoint with the lowest held-out loss.
- Where the training loss is as high: decode ten pairs, and check that chosen and rejected are not swapped.
Experiment: Train for a tenth of the run with {learning_rate} / 10: the held-out loss must fall below 0.6931.
References: https://arxiv.org/abs/2305.18290
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_in
from firstbreak.engine.families import Method, only
from firstbreak.knowledge.detectors.environment.preference_loss_start import LOGISTIC, START, loss_kinds
from firstbreak.model import Config, Finding, NotApplicable, NotMeasured, Role, Run, Series

ROLES = (Role.RELATION,)
FAMILIES = only(Method.PREFERENCE)


def detect(
    run: Run,
    config: Config,
    eval_loss: Series | None = None,
    pref_loss: Series | None = None,
    loss_total: Series | None = None,
    pref_nll: Series | None = None,
    reference_free: bool = False,
    *,
    tolerance: float = at(0.05, "ratio", "Of ln 2: pairs that nobody can tell apart leave the loss near it."),
    min_share: float = at(0.75, "share", "Of the losses of the second half: single bad batches are chance."),
    min_points: int = at(4, "points", "Fewer losses of the second half may be chance."),
) -> Finding | NotApplicable | NotMeasured | None:
    if run.algorithm not in ("dpo", None) or reference_free or loss_kinds(config) - LOGISTIC or pref_nll is not None:
        return NotApplicable("only the logistic loss of DPO is ln 2 for a model that was never trained")
    losses = [s.finite for s in (eval_loss, pref_loss, loss_total) if s is not None]
    loss = next((s for s in losses if len(s.tail(0.5)) >= min_points), None)
    if loss is None:
        return NotMeasured(f"the loss is not logged {min_points} times in the second half of the run")
    late = loss.tail(0.5)
    limit = START * (1 + tolerance)
    if float(np.median(late.values)) <= limit or float(np.mean(late.values > limit)) < min_share:
        return None
    first = float(loss.steps[int(np.argmax(loss.values > limit))])
    return critical(
        "{curve} is {late} in the second half, above ln 2 = 0.6931: the model is worse on these pairs than before training; "
        "lower the learning rate, and check some pairs",
        seen_in(loss, "loss", first, (float(loss.steps[0]), first), level=START),
        curve=loss.name,
        late=facts.median(late),
    )
