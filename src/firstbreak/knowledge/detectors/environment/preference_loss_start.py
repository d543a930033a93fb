"""The first preference loss is not ln 2, as DPO demands.

Looks for: The first logged loss of DPO with its logistic loss, against ln 2 = 0.6931. Before the first update the
policy equals its reference model, and every implicit reward is 0. So the loss is -log sigmoid(0) = ln 2, whatever the
data, the batch and {kl_coef} are. Where the first point is already a mean over several updates, only a loss above ln 2
is a finding.
Why: No update has been made, so no hyperparameter can be the reason: policy and reference model got different inputs,
or have different weights. Every later step trains on the same wrong rows, masks or weights.
False alarm: Policy and reference model differ on purpose (another {reference_model}). The method has no reference model
(ORPO, CPO, SimPO). The loss contains another term (a likelihood term, a mixture-of-experts term): then the implicit
rewards still start at 0. The trainer reports the sum of the loss over {grad_accumulation} backward passes instead of
the mean: then the loss is that many times ln 2, and only the logged value is wrong.
Fix:
- Decode one batch: prompt, chosen and rejected must be whole, in their own rows, and padding must be masked.
- Turn off packing and padding-free batches, and check whether the first loss becomes 0.6931.
- Load {reference_model} from the same weights and in the same precision as the policy.
- Where the reference log-probabilities were computed in advance, compare some of them with fresh ones.
Experiment: Run one batch with {learning_rate} set to 0: the loss must be 0.6931 and every margin 0. Then run the same
batch one pair at a time: the pair whose margin is not 0 shows the difference.
References: https://arxiv.org/abs/2305.18290 https://huggingface.co/docs/trl/dpo_trainer
https://github.com/allenai/open-instruct/pull/1900
"""

import math

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_as
from firstbreak.engine.families import Method, only
from firstbreak.model import (
    Confidence,
    Config,
    Evidence,
    Finding,
    NotApplicable,
    NotMeasured,
    Role,
    Run,
    Series,
    Severity,
)
from firstbreak.words import number

ROLES = (Role.RELATION,)
FAMILIES = only(Method.PREFERENCE)

START = math.log(2)  #: the loss of a policy that equals its reference model: https://arxiv.org/abs/2305.18290
LOGISTIC = frozenset({"sigmoid", "dpo", "robust", "exo_pair"})


def detect(
    run: Run,
    config: Config,
    pref_loss: Series | None = None,
    loss_total: Series | None = None,
    pref_nll: Series | None = None,
    pref_reward_chosen: Series | None = None,
    pref_reward_rejected: Series | None = None,
    eval_pref_reward_chosen: Series | None = None,
    eval_pref_reward_rejected: Series | None = None,
    reference_free: bool = False,
    *,
    tolerance: float = at(0.15, "ratio", "half precision moves the first loss to 0.66 to 0.72", "tests"),
    tolerance_later: float = at(0.25, "ratio", "a first point may be a mean over several updates"),
    ratio_critical: float = at(2.0, "ratio", "so far off are other inputs or weights, no rounding"),
    multiple_tolerance: float = at(0.05, "ratio", "a loss this near to a whole multiple of ln 2 is a sum over batches"),
    max_start_reward: float = at(0.05, "nats", "implicit rewards below this are 0 up to rounding"),
) -> Finding | NotApplicable | NotMeasured | None:
    if run.algorithm not in ("dpo", None):
        return NotApplicable("only the logistic loss of DPO starts at ln 2")
    kinds = loss_kinds(config)
    if reference_free:
        return NotApplicable("the implicit rewards are multiples of the log-probabilities: there is no reference model")
    if kinds - LOGISTIC or pref_nll is not None:
        return NotApplicable("the loss is not the logistic one alone, so it does not start at ln 2")
    loss = loss_total if pref_loss is None else pref_loss
    if loss is None or not len(loss.finite):
        return NotMeasured("no loss is logged")
    if _begins_in_the_middle(loss):
        return NotMeasured("the log begins in the middle of the run, so the first loss is not in it")
    first, step = float(loss.finite.values[0]), float(loss.finite.steps[0])
    ratio = first / START
    if first < 0:
        return NotApplicable("the loss is negative, which the logistic one never is: its sign is turned round")
    untouched = loss.axis == "step" and step <= 1
    if abs(ratio - 1) <= tolerance if untouched else ratio <= 1 + tolerance_later:
        return None
    certain, off = bool(kinds) and untouched, max(ratio, 1 / max(ratio, 1e-9))
    whole = round(ratio) if ratio > 1.5 and abs(ratio - round(ratio)) < multiple_tolerance else None
    pairs = ((pref_reward_chosen, pref_reward_rejected), (eval_pref_reward_chosen, eval_pref_reward_rejected))
    if whole is not None and not kinds and whole & (whole - 1):
        whole = None  # where the loss is not named: batches are summed by twos, fours and eights
    if whole is None and ratio > 1 and any(_both_start_at_0(*pair, max_start_reward) for pair in pairs):
        return NotApplicable("the implicit rewards start at 0, as DPO demands: the loss contains another term")
    summed = f" ({whole} times that: the trainer may sum the loss over {whole} batches)" if whole else ""
    return graded(
        Severity.CRITICAL if certain and off >= ratio_critical else Severity.WARNING,
        "the first loss is {first} instead of ln 2 = 0.6931{summed}: policy and reference model differ before any update; "
        "decode one batch as the collator made it, before you change a hyperparameter",
        seen_as(
            loss.name, step, drawn=(Evidence(text=f"first loss {number(first)}", series=loss, until=step, level=START),)
        ),
        first=facts.first(loss.finite),
        summed=summed,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        numbers={"first": first, "ratio": ratio},
    )


def loss_kinds(config: Config) -> set[str]:
    """The names of the loss that are recorded: one, or those of a sum."""
    named = config.get("loss_type")
    return {str(kind) for kind in (named if isinstance(named, list | tuple) else [named]) if kind is not None}


def _begins_in_the_middle(loss: Series) -> bool:
    """The first point lies further from 0 than from the next one: an excerpt, or a log that was resumed."""
    steps = np.unique(loss.steps)
    return len(steps) > 1 and loss.axis in ("step", "epoch") and bool(steps[0] > 1.5 * (steps[1] - steps[0]))


def _both_start_at_0(chosen: Series | None, rejected: Series | None, max_reward: float) -> bool:
    firsts = [s.finite.values[0] for s in (chosen, rejected) if s is not None and len(s.finite)]
    return len(firsts) == 2 and max(map(abs, firsts)) <= max_reward
