"""Completions fit their own prompt's answer no better than another's.

Looks for: The recorder scores completions again in the place of another prompt's completions. Three numbers are
compared over all measurements: how much more a completion gets in its own place, in standard deviations of the reward;
the error of that; and how much more alike the last words of completions are that have one prompt. The check reports
where completions depend on their prompt (third number above `min_agreement`), and the first number is not above 0 by
two standard errors and below `max_share` of the third with its 95 % interval, as is its mean in the second half of the
measurements. Where the data has many different answers, it also reports where more than `above` of the prompts whose
completions agree have another prompt's answer.
Why: The reward does not depend on the prompt: the right answers belong to other prompts, or the prompts have lost the
question. A high reward is luck.
False alarm: A policy that has learned another task before, and does not begin to learn this one.
Fix:
- Print five prompts with their right answers, and answer the prompts by hand.
- Join answers and prompts by id after shuffling and filtering.
Experiment: Answer ten prompts by hand, and score your answers through the trainer's own function.
References: https://arxiv.org/abs/2505.22203
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_since
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, NotMeasured, Role, Series
from firstbreak.words import number

ROLES = (Role.PROOF,)


def detect(
    config: Config,
    proof_answer_elsewhere: Series | None = None,
    proof_own_lift: Series | None = None,
    proof_own_error: Series | None = None,
    proof_own_agreement: Series | None = None,
    *,
    max_share: float = at(0.5, "share", "Completions that agree and are right get about twice as much more."),
    min_agreement: float = at(0.15, "share", "Completions that agree less do not show what they depend on."),
    min_points: int = at(6, "measurements", "Fewer have a wide interval."),
    above: float = at(0.9, "share", "By chance, wrong completions are other prompts' answers."),
) -> Finding | NotMeasured | None:
    what = "{value:%} of the prompts whose completions agree have another prompt's answer in the data: join both by id"
    if proof_answer_elsewhere is not None:
        found = proved(proof_answer_elsewhere, config, what, above=above)
        if found is not None:
            return found
    if proof_own_lift is None or proof_own_error is None or proof_own_agreement is None:
        return None if proof_answer_elsewhere is not None else NotMeasured("no recorder measured it")
    lift, error, alike = proof_own_lift.finite, proof_own_error.finite.values, proof_own_agreement.finite.values
    if not len(lift) == len(error) == len(alike) or len(lift) < min_points:
        return None
    agreement, mean = float(alike.mean()), float(lift.values.mean())
    either = 2 * float(np.sqrt((error**2).sum())) / len(lift)
    late = float(lift.values[len(lift) // 2 :].mean())
    if agreement < min_agreement or mean - either > 0 or max(mean + either, late) > max_share * agreement:
        return None
    began, step = float(lift.steps[0]), float(lift.steps[-1])
    return critical(
        "completions get {lift} standard deviations more against their own answer than another prompt's (at most "
        f"{number(mean + either)}), and agree with each other {{alike:%}} more within a prompt: answer five prompts by hand",
        seen_since(lift, "gain of a completion against its own answer", began, (began, step), level=0.0),
        lift=facts.mean(lift),
        alike=facts.mean(proof_own_agreement.finite),
    )
