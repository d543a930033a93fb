"""The same tokens through both engines

## What is done
One minibatch a step, synchronous, learning rate 0, and log-probabilities computed by the trainer as well.

## What it tells
With equal weights, trainer and engine must give each sampled token the same probability. What is left over is
precision, another kernel, another sampling setting or another template: nothing that training can repair.

## When it misleads
Engines differ by about 0.001 nats a token by rounding alone, mixtures of experts by ten times as much.

## References
https://arxiv.org/abs/2510.26788
https://fengyao.notion.site/off-policy-rl
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, is_off
from firstbreak.inputs import Inputs

OVERRIDES = {
    "learning_rate": 0.0,
    "max_staleness?": 0,
    "minibatches?": 1,
    "recompute_logprob?": True,
    "use_decoupled_loss?": True,
}
QUESTIONS = (
    Question(
        asks="do trainer and engine give the same tokens different probabilities?",
        answer=is_off(
            {
                "behave_ratio_max": 1.0,
                "behave_ratio_mean": 1.0,
                "rollout_train_ratio_mean": 1.0,
                "rollout_train_kl": 0.0,
                "rollout_train_logp_absdiff_mean": 0.0,
                "policy_ratio_max": 1.0,
            },
            tolerance=0.02,
        ),
        yes={
            "engines-disagree": 0.98,
            "sampling-differs-from-scoring": 0.98,
            "sampler-differs-from-policy": 0.95,
        },
        otherwise=0.02,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
