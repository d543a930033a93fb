"""Tinker cookbook (Thinking Machines): metrics.jsonl, one line per batch; `test/` before a name is a held-out environment."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "Tinker cookbook"
WRITES_TEXT = True

MARKS = word_set("""
    env/all/reward/total env/all/by_group/frac_mixed env/all/by_group/frac_all_good env/all/by_group/frac_all_bad
    env/all/ac_tokens_per_turn env/all/turns_per_episode env/<tag>/by_group/<name> env/<tag>/total_ac_tokens
    optim/kl_sample_train_v1 optim/kl_sample_train_v2 kl_pre_post_v1 kl_policy_base sampling_client/step_mean
    training_client/step progress/done_frac rollout_errors/total time/sampling_time_mean
""")
STRONG = (frozenset({"train_mean_nll", "num_loss_tokens"}),)  # its supervised loop
CONFIG_MARKS = frozenset({"kl_penalty_coef", "remove_constant_reward_groups", "num_substeps", "compute_post_kl"})

PREFIXES = {"test/": "eval"}

AXIS = ("step", "progress/batch", "_step")

_TURN = "per turn: times turns per episode for a length"
_CUMULATIVE = "cumulative"

NAMES: dict[str, str | Name] = {
    "progress/batch": "progress.step",
    "progress/done_frac": "progress.frac",
    "progress": "progress.frac",
    # supervised fine-tuning
    "step": "progress.step",
    "epoch": "progress.epoch",
    "learning_rate": "lr",
    "num_tokens": "tokens.step",
    "train_mean_nll": "sft.nll",
    "nll": "sft.nll",
    "num_sequences": "samples.step",
    "num_loss_tokens": "tokens.train",
    # rewards
    "env/all/reward/total": "reward.mean",
    "env/<tag>/reward/total": "reward.mean@<tag>",
    "env/all/by_group/frac_mixed": "reward.mixed_frac",
    "env/<tag>/by_group/frac_mixed": "reward.mixed_frac@<tag>",
    "env/all/by_group/frac_all_good": Name("reward.solve_all_frac", note="equal rewards of 0.5 or more"),
    "env/<tag>/by_group/frac_all_good": "reward.solve_all_frac@<tag>",
    "env/all/by_group/frac_all_bad": Name("reward.solve_none_frac", note="equal rewards below 0.5"),
    "env/<tag>/by_group/frac_all_bad": "reward.solve_none_frac@<tag>",
    # lengths and turns
    "env/all/ac_tokens_per_turn": Name("length.per_turn", note=_TURN),
    "env/<tag>/ac_tokens_per_turn": Name("length.per_turn@<tag>", note=_TURN),
    "env/all/ob_tokens_per_turn": Name("length.obs_per_turn", note=_TURN),
    "env/<tag>/ob_tokens_per_turn": Name("length.obs_per_turn@<tag>", note=_TURN),
    "env/all/turns_per_episode": "turns.mean",
    "env/<tag>/turns_per_episode": "turns.mean@<tag>",
    "env/all/total_episodes": "samples.step",
    "env/<tag>/total_episodes": "samples.step@<tag>",
    "env/all/total_turns": "turns.total",
    "env/<tag>/total_turns": "turns.total@<tag>",
    "env/all/total_ac_tokens": "tokens.gen",
    "env/<tag>/total_ac_tokens": "tokens.gen@<tag>",
    "env/all/total_ob_tokens": "tokens.obs",
    "env/<tag>/total_ob_tokens": "tokens.obs@<tag>",
    "env/all/<path:name>": "custom.<name>",
    "env/<tag>/<path:name>": "custom.<name>@<tag>",
    # divergences and the update
    "optim/kl_sample_train_v1": Name("rollout_train.kl.k1", note="staleness included"),
    "optim/kl_sample_train_v2": Name("rollout_train.kl.k2", note="staleness included"),
    "kl_pre_post_v1": Name("kl.post.k1", note="sampling policy against the policy after the update"),
    "kl_pre_post_v2": Name("kl.post.k2", note="sampling policy against the policy after the update"),
    "kl_policy_base": "kl.ref.k1",
    "optim/entropy": Name("policy.entropy_proxy", note="of the sampler"),
    "optim/lr": "lr",
    "optim/grad_norm": "grad.norm",
    "optim/<name>": "optim.other.<name>",
    # freshness
    "sampling_client/step_<stat>": Name("policy_version.<stat>", note="staleness is training_client/step minus this"),
    "training_client/step": "policy_version.train",
    "rollout_errors/total": Name("tool.error_count", note=_CUMULATIVE),
    "rollout_errors/<type>": Name("tool.error_count@<type>", note=_CUMULATIVE),
    # time: spans of a trace
    "time/total": "time.step",
    "time/sampling_time_<stat>": "time.rollout.<stat>",
    "time/train": "time.train",
    "time/run_evals": "time.eval",
    "time/save_checkpoint": "time.save",
    "time/<span>": "time.<span>",
    "time/<span>:total": "time.<span>.sum",
    "time/<span>:mean": "time.<span>",
    "time/<span>:max": "time.<span>.max",
    "time/<span>:count": "time.<span>.count",
}

CONFIG = meanings("""
    learning_rate temperature seed | kl_coef: kl_penalty_coef | loss_type: loss_fn |
    group_size: group_size dataset_builder.group_size | batch_size: groups_per_batch dataset_builder.batch_size |
    updates_per_batch: num_substeps | max_new_tokens: max_tokens | max_staleness: async_config.max_steps_off_policy |
    dynamic_sampling: remove_constant_reward_groups | model: model_name | eval_interval: eval_every |
    save_interval: save_every
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        kl_coef=0.0 kl_in_reward=True loss_type=importance_sampling updates_per_batch=1 temperature=1.0
        dynamic_sampling=False
    """)
}

LOG = {
    "kl.ref": "set kl_penalty_coef > 0",
    "kl.post": "set compute_post_kl=True",
    **dict.fromkeys(("eval.reward", "eval.accuracy"), "add an RLTestSetEvaluator (evaluator_builders) and eval_every"),
    "reward.zero_std_frac": "frac_all_good plus frac_all_bad",
    "rollout_train.kl": "logged as optim/kl_sample_train_v1",
    "reward.component.<func>.mean": "return the parts as metrics of the environment's step",
    "policy.clip_fraction": "the loss importance_sampling does not clip; use loss_fn=ppo",
    "length.clipped_ratio": "read from the stop reasons in train_rollout_summaries.jsonl",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The cookbook's loop centres rewards within groups."""
    if "train_mean_nll" in names:
        return "sft"
    return {"ppo": "ppo", "cispo": "cispo"}.get(str(config.get("loss_fn")), "grpo")


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """A step's batch is groups times completions."""
    groups, group = values.get("batch_size"), values.get("group_size")
    return {"batch_size": groups * group} if groups and group else {}
