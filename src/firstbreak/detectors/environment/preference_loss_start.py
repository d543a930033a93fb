"""The first preference loss is not ln 2, where it has to start.

## What it looks for
The first logged loss of DPO with its logistic loss, against ln 2 = 0.6931. Before the first update the policy is its
own reference, every implicit reward is 0, and the loss is -log sigmoid(0) = ln 2 whatever the data, the batch and the
coefficient {kl_coef}. Where the first point is already a mean over several updates, only a loss above ln 2 tells.

## Why it matters
No update has been made, so no hyperparameter can be blamed: what differs is what policy and reference were shown.
Every later step is trained on the same wrong rows, masks or weights.

## When it is a false alarm
Policy and reference differ on purpose (another {reference_model}). The method has no reference (ORPO, CPO, SimPO).
The loss carries another term (a likelihood term, a mixture-of-experts term): then the implicit rewards start at 0
all the same. The trainer sums the loss over {grad_accumulation} backward passes instead of averaging
it: then the loss is that many times ln 2, and only the display is wrong.

## Fix
- Decode one batch: prompt, chosen and rejected must be whole, in their own rows, and padding must be masked.
- Turn off packing and padding-free batches and look whether the first loss moves to 0.6931.
- Load {reference_model} from the same weights and in the same precision as the policy.
- Compare reference log-probabilities that were computed in advance with fresh ones.

## Smallest experiment
One batch, {learning_rate} 0: the loss must be 0.6931 and every margin 0. Then the same batch one pair at a time: the
pair whose margin is not 0 shows what differs.

## References
https://arxiv.org/abs/2305.18290
https://huggingface.co/docs/trl/dpo_trainer
https://github.com/allenai/open-instruct/pull/1900
"""

from __future__ import annotations

import math

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Run, Series, Severity
from firstbreak.words import number

START = math.log(2)
LOGISTIC = frozenset({"sigmoid", "dpo", "robust", "exo_pair"})


def detect(
    run: Run,
    config: Config,
    family: str,
    pref_loss: Series | None = None,
    loss_total: Series | None = None,
    pref_nll: Series | None = None,
    pref_reward_chosen: Series | None = None,
    pref_reward_rejected: Series | None = None,
    eval_pref_reward_chosen: Series | None = None,
    eval_pref_reward_rejected: Series | None = None,
    reference_free: bool = False,
    *,
    still: float = 0.05,
    tolerance: float = 0.15,
    drift: float = 0.25,
    gross: float = 2.0,
) -> Finding | NotApplicable | NotMeasured | None:
    if family != "preference" or run.algorithm not in ("dpo", None):
        return NotApplicable("only the logistic loss of DPO starts at ln 2")
    named = config.get("loss_type")
    kinds = {str(kind) for kind in (named if isinstance(named, list | tuple) else [named]) if kind is not None}
    if reference_free:
        return NotApplicable("the implicit rewards are multiples of the log-probabilities: there is no reference")
    if kinds - LOGISTIC or pref_nll is not None:
        return NotApplicable("the loss is not the logistic one alone, so it does not start at ln 2")
    loss = loss_total if pref_loss is None else pref_loss
    if loss is None or not len(loss.finite):
        return NotMeasured("no loss is logged")
    if _begins_in_the_middle(loss):
        return NotMeasured("the log begins in the middle of the run, so the first loss is not in it")
    first, step = float(loss.finite.values[0]), float(loss.finite.steps[0])
    ratio = first / START
    untouched = loss.axis == "step" and step <= 1
    if abs(ratio - 1) <= tolerance if untouched else ratio <= 1 + drift:
        return None
    certain, off = bool(kinds) and untouched, max(ratio, 1 / max(ratio, 1e-9))
    whole = round(ratio) if ratio > 1.5 and abs(ratio - round(ratio)) < 0.05 else None
    pairs = ((pref_reward_chosen, pref_reward_rejected), (eval_pref_reward_chosen, eval_pref_reward_rejected))
    if whole is None and ratio > 1 and any(_both_start_at_0(*pair, still) for pair in pairs):
        return NotApplicable("the implicit rewards start at 0, as they have to: the loss carries another term")
    summed = f" (just {whole} times: is it summed over {whole} batches?)" if whole else ""
    return Finding(
        message=(
            f"the first loss is {number(first)} instead of ln 2 = 0.6931{summed}: policy and reference disagree before "
            "any update; decode one batch as the collator made it, before any hyperparameter is touched"
        ),
        severity=Severity.CRITICAL if certain and off >= gross else Severity.WARNING,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        metric=loss.name,
        onset=step,
        interval=(step, step),
        evidence=(Evidence(text=f"first loss {number(first)}", series=loss, until=step, level=START),),
        facts={"first": first, "ratio": ratio},
    )


def _begins_in_the_middle(loss: Series) -> bool:
    """The first point lies further from 0 than from the next one: an excerpt, or a log that was resumed."""
    steps = np.unique(loss.steps)
    return len(steps) > 1 and loss.axis in ("step", "epoch") and bool(steps[0] > 1.5 * (steps[1] - steps[0]))


def _both_start_at_0(chosen: Series | None, rejected: Series | None, still: float) -> bool:
    firsts = [s.finite.values[0] for s in (chosen, rejected) if s is not None and len(s.finite)]
    return len(firsts) == 2 and max(map(abs, firsts)) <= still
