"""The preference data or its collator is wrong

## What happens
Chosen and rejected are swapped, cut, padded or packed wrongly, or the reference log-probabilities belong to other
sequences. Training goes on, but with pairs that no labeller prefers. The same holds for a reward model that was trained on
such pairs.

## When it is healthy
With a sigmoid loss the first value is ln 2 = 0.693, and the accuracy of the implicit reward rises from one half.

## Fix
- preference: Print ten pairs after the collator, decoded, with the tokens that count for the loss.
- preference: Compare the first loss with ln 2 = 0.693: before the first update, policy and reference model are equal.
- actor_critic, group_relative: Print ten pairs of the reward model's training data, and score both answers with the reward
  model: the chosen answer must score higher.
- Check that no pair is identical, cut or swapped.

## Smallest experiment
Read ten pairs without their labels, choose the better answer of each pair, and compare your choices with the labels.

preference: Run one batch with {learning_rate} set to 0: the loss must be ln 2 and the margin 0. Then train a few steps,
once as now and once with chosen and rejected swapped: the margin must grow with another sign.

actor_critic, group_relative: Score ten right answers, ten wrong answers and an empty answer with the reward model: the right
answers must score highest.

## References
https://arxiv.org/abs/2305.18290
https://github.com/allenai/open-instruct/pull/1900
"""

from __future__ import annotations

import math
import re

import numpy as np

from firstbreak.engine.families import Method, Policy, only
from firstbreak.engine.inputs import Inputs, answer_parts
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight
from firstbreak.patterns import pattern
from firstbreak.words import number

LN_2 = math.log(2)  #: the sigmoid loss of a policy that does not tell chosen from rejected
ABOVE = 1.02  #: times ln 2: more is no noise of a median (convention)
FEW = 8  #: losses below which a quarter of them says nothing (convention)
OF_A_MODEL = pattern(r"(^|[^a-z])(rm|prm|orm)([^a-z]|$)|reward.?model|preference", re.IGNORECASE)

FAMILIES = only(Policy.TEXT)
FINDINGS = {
    "pairs-wrong": 0.5,
    "chosen-texts-unlikely": 0.4,
    "pairs-not-told-apart": 0.6,
    "reward-against-references": 0.7,
    "preference-loss-start": 0.6,
    "preference-labels-swapped": 0.5,
    "wrong-answers-paid": 0.4,
    "preference-saturated": 0.3,
    "preference-loss-above-chance": 0.4,
    "reward-up-evaluation-down": 0.5,
    "score-below-start": 0.3,
    "score-lost": 0.4,
    "right-completions-no-longer-paid": 0.3,
    "right-completions-unpaid": 0.3,
}
EXPERIMENT = ("reward-probe", "data-probe")


def applies(inputs: Inputs) -> bool:
    """Preference optimisation, and rewards of texts that a model has learned from pairs, as far as names tell."""
    if inputs.method is Method.PREFERENCE:
        return True
    return not answer_parts(inputs.reward_component_mean) and _has_a_reward_model(inputs)


def _has_a_reward_model(inputs: Inputs) -> bool:
    run = inputs.run
    logged = (*(inputs.reward_component_mean or {}), *(name for name in run.series if name.startswith("rm.")))
    recorded = (name for name, value in run.config.raw.items() if value)
    return any(OF_A_MODEL.search(name) for name in logged) or any(OF_A_MODEL.search(str(name)) for name in recorded)


def weights(inputs: Inputs) -> list[Weight]:
    """A loss above ln 2 = 0.693: the pairs are told apart worse than by chance."""
    loss = inputs.run.series.get("pref.loss")
    of_dpo = inputs.method is Method.PREFERENCE and (inputs.run.algorithm or "").lower() == "dpo"
    if loss is None or not of_dpo or len(loss.finite) < FEW:
        return []
    late = float(np.median(loss.finite.tail(0.25).values))
    if late <= LN_2 * ABOVE:
        return []
    text = (
        f"the loss is {number(late)} in the last quarter, above ln 2 = 0.693: pairs are told apart worse than by chance"
    )
    return [configured("pref.loss", 1.5, text)]
