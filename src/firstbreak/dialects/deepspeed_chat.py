"""DeepSpeed-Chat (DeepSpeedExamples): step 2 trains a reward model, step 3 is PPO; both print their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "DeepSpeed-Chat"
WRITES_TEXT = True

MARKS = frozenset(
    {"act_loss", "cri_loss", "unsuper_loss", "ppo_ep", "average reward score", "Average reward score"}
    | {"Unsupervised Loss", "PPO Epoch", "EMA reward score"}
)
STRONG = (frozenset({"chosen_last_scores (higher is better)", "acc (higher is better)"}),)

_REWARD = Name("reward.mean", note="of the reward model, without the KL penalty")
_CHOSEN = Name("eval.rm.reward.chosen", note="of the first 99 batches of the held-out pairs")

NAMES: dict[str, str | Name] = {
    # step 3: PPO
    "average reward score": _REWARD,
    "Average reward score": _REWARD,
    "reward": _REWARD,
    "act_loss": "policy.loss",
    "Actor Loss": "policy.loss",
    "cri_loss": "value.loss",
    "Critic Loss": "value.loss",
    "E2E latency": "time.step",
    "Generate time": "time.rollout",
    "Training time": "time.train",
    # step 2: the reward model
    "chosen_last_scores (higher is better)": _CHOSEN,
    "rejected_last_scores (lower is better)": "eval.rm.reward.rejected",
    "acc (higher is better)": "eval.pref.reward.accuracy",
}

AXIS = ("step", "Step", "global_step", "epoch", "Epoch")

NOT_CONVERTED = {
    "unsuper_loss": "the loss on an unsupervised data set; 0 where none is given",
    "Unsupervised Loss": "the loss on an unsupervised data set; 0 where none is given",
    "ppo_ep": "how often a batch of experience was trained on, repeated in every line",
    "PPO Epoch": "how often a batch of experience was trained on, repeated in every line",
    "EMA reward score": "a smoothed copy of the average reward score",
    "actor_loss_sum": "the sum over the epoch so far",
    "critic_loss_sum": "the sum over the epoch so far",
    "skipped": "a count of the actor and of the critic in turn",
}

CONFIG = {
    "actor_learning_rate": "learning_rate",
    "actor_model_name_or_path": "model",
    "model_name_or_path": "model",
    "kl_ctl": "kl_coef",
    "cliprange": "clip_range",
    "lam": "gae_lambda",
    "ppo_epochs": "epochs_per_batch",
    "max_answer_seq_len": "max_new_tokens",
    "data_path": "dataset",
}

DEFAULTS: dict[str, dict[str, Any]] = {
    "ppo": {"kl_coef": 0.1, "clip_range": 0.2, "gamma": 1.0, "gae_lambda": 0.95, "epochs_per_batch": 1},
}

LOG = {
    "reward.mean": "printed in every step; --enable_tensorboard also writes it as `reward`",
    "kl.ref": "log (log_probs - ref_log_probs).mean() in DeepSpeedPPOTrainer.compute_rewards",
    "policy.entropy": "log the entropy of the actor's logits in train_rlhf",
    "eval.reward": "--print_answers shows texts; score held-out prompts with the reward model",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """PPO, or a reward model."""
    return "reward" if "acc (higher is better)" in names else "ppo"
