"""The policy became certain too early

## What happens
The entropy falls to nearly 0 before the task is solved. All trajectories look alike, advantages vanish, and no gradient
brings the alternatives back.

## When it is healthy
Entropy that falls because the task is solved. A fine-tuned model that starts with little entropy.

## Fix
- actor_critic, group_relative: Raise {entropy_coef}.
- text: Raise {temperature}.
- actor_critic, group_relative: Raise {clip_range_high}, so that unlikely actions can recover.
- value_based: Explore longer and more: {exploration_fraction}, {exploration_final} or {action_noise}.
- Go back to a checkpoint before the fall, and lower {learning_rate}.
- Check that the data are sampled from the policy, and not greedy.

## Smallest experiment
Resume from before the fall for a tenth of the run, with more exploration: if the score now rises, the policy was certain
too early.

actor_critic, group_relative: Raise {entropy_coef} to 0.01, or to ten times its value.

value_based: Raise {exploration_final} or {action_noise}.

## References
https://arxiv.org/abs/2505.22617
"""

from firstbreak.engine.common_settings import Side

PRIOR = 1.2
FINDINGS = {
    "entropy-penalised": 0.2,
    "no-random-actions": 0.3,
    "entropy-collapse": 0.95,
    "reward-flat": 0.5,
    "outputs-alike": 0.4,
    "score-lost": 0.35,
    "zero-variance-groups": 0.3,
    "far-from-known-score": 0.3,
    "repetition-growing": 0.2,
}
SETTINGS = {"entropy_coef": Side.LOW, "exploration_fraction": Side.LOW}  # a low temperature is a cause of its own
EXPERIMENT = ("more-entropy", "more-exploration", "usual-settings")
