"""Score the same tokens with both engines

## What is done
One minibatch for each step, no asynchronous rollouts, learning rate 0. The trainer computes the log-probabilities as well.

## What it tells
With equal weights, trainer and inference engine must give each sampled token the same probability. A difference comes from
precision, a different kernel, a different sampling setting or a different template. Training cannot repair it.

## When it misleads
Engines differ by about 0.001 nats per token because of rounding, mixture-of-experts models by ten times as much.

## References
https://arxiv.org/abs/2510.26788
https://fengyao.notion.site/off-policy-rl
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import is_off
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {
    "learning_rate": 0.0,
    "max_staleness?": 0,
    "minibatches?": 1,
    "recompute_logprob?": True,
    "use_decoupled_loss?": True,
}
QUESTIONS = (
    ask(
        "do trainer and inference engine give the same tokens different probabilities?",
        is_off(
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
        "engines-disagree sampling-differs-from-scoring 0.98, sampler-differs-from-policy 0.95, otherwise 0.02",
    ),
)
