"""LLaMA-Factory: trainer_log.jsonl beside the files of the Hugging Face Trainer; PPO is a fork of TRL 0.9."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name, trl
from firstbreak.dialects._table import meanings

TITLE = "LLaMA-Factory"
WRITES_TEXT = True

MARKS = frozenset({"current_steps", "percentage", "total_steps", "elapsed_time", "remaining_time", "total_tokens"})
CONFIG_MARKS = frozenset({"finetuning_type", "pref_beta", "pref_loss", "ppo_score_norm", "stage"})

PREFIXES = trl.PREFIXES

AXIS = ("current_steps", *trl.AXIS)

NAMES: dict[str, str | Name] = {
    **trl.NAMES,
    "current_steps": "progress.step",
    "percentage": "progress.percent",
    "lr": "lr",
    "accuracy": "pref.reward.accuracy",
    "throughput": "throughput.tok_s",
    "total_tokens": "tokens.total",
    "eval_loss": "eval.loss",
}

NOT_CONVERTED = {**trl.NOT_CONVERTED, "total_steps": "the planned length of training, repeated in every line"}

CONFIG = trl.CONFIG | meanings("""
    kl_coef: pref_beta | loss_type: pref_loss | max_total_tokens: cutoff_len | target_kl: ppo_target |
    normalize_reward: ppo_score_norm | model: model_name_or_path | dataset: dataset
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": {"learning_rate": 5e-5, "grad_clip": 1.0},
    "dpo": {"kl_coef": 0.1, "loss_type": "sigmoid"},
    "ppo": {"epochs_per_batch": 4, "target_kl": 6.0, "max_total_tokens": 2048},
}

LOG = {
    "eval.loss": "set eval_strategy: steps, eval_steps and val_size",
    "pref.reward.accuracy": "logged as rewards/accuracies with stage: dpo",
    "kl.ref": "stage: ppo logs objective/kl to the tracker only (report_to)",
    "grad.norm": "logged in trainer_state.json; set logging_steps: 1",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """As for TRL."""
    return trl.context(names)


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The stage that the configuration names; else as for TRL."""
    stages = {"rm": "reward", "pt": "sft"}
    if stage := config.get("stage"):
        return stages.get(str(stage), str(stage))
    return trl.algorithm(names, config)
