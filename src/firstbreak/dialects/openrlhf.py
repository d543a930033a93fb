"""OpenRLHF: PPO family, DPO and reward models. TensorBoard and wandb put `train/` before the names, the console does not."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name, Older
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "OpenRLHF"
WRITES_TEXT = True

MARKS = word_set("""
    ppo_kl ppo_clip_ratio vllm_kl logprobs_diff group_reward_std actor_lr actor_grad_norm dynamic_filtering_pass_rate
    rollout/reward_mean rollout/response_length_mean rollout/truncated_rate timing/make_experience timing/ppo_train
    perf/experience_maker/<k> eval_<source>_pass<int:n> reject_reward act_loss gen_len tot_len
""")
STRONG = (frozenset({"chosen_reward", "reject_reward"}),)  # DPO and reward models: others write `rejected`
CONFIG_MARKS = frozenset({"init_kl_coef", "algo.kl.init_coef", "n_samples_per_prompt", "rollout.n_samples_per_prompt"})

PREFIXES = {"train/": "", "eval/": ""}  # evaluation names say `eval` a second time

AXIS = ("train/global_step", "global_step", "step")

NAMES: dict[str, str | Name] = {
    "global_step": "progress.step",
    # rewards
    "rollout/reward_<stat>": Name("reward.<stat>", note="over the whole rollout batch"),
    "reward": Name("reward.mean@trained", note="before clipping, normalisation and length penalty"),
    "score": "reward.score",
    "group_reward_std": "reward.group_std",
    "return": Name("returns.mean", note="shaped reward summed over tokens: near 0 for group baselines by construction"),
    "dynamic_filtering_pass_rate": Name(
        "filter.accepted_per_prompt", 0.01, "percent of prompts times samples per prompt"
    ),
    # lengths
    "rollout/response_length_<stat>": "length.<stat>",
    "response_length": "length.mean@trained",
    "gen_len": "length.mean",
    "total_length": "length.total.mean",
    "tot_len": "length.total.mean",
    "rollout/truncated_rate": "length.clipped_ratio",
    "truncated": Name("length.clipped_ratio@trained", note="finish reason is length"),
    "rollout/num_samples": "samples.step",
    # divergences and the update
    "kl": Name("kl.ref", note="k1 clamped to +-10 by default; 0 without a reference model"),
    "logprobs_diff": "kl.ref.k1",
    "ppo_kl": "kl.old.k1",
    "vllm_kl": "rollout_train.kl.k1",
    "policy_loss": "policy.loss",
    "act_loss": "policy.loss",
    "ppo_clip_ratio": "policy.clip_fraction",
    **dict.fromkeys(
        ("entropy_loss", "ent_loss"), Name("policy.entropy", note="plus the entropy, in spite of the name")
    ),
    "actor_lr": "lr",
    "act_lr": "lr",
    "actor_grad_norm": Name("grad.norm", note="last optimizer step of the batch"),
    "grad_norm": "grad.norm",
    "lr": "lr",
    # the critic
    "critic_loss": "value.loss",
    "critic_lr": "value.lr",
    "values": "value.mean",
    # preferences (reward models: see context)
    "loss": "pref.loss",
    "loss_mean": "pref.loss@running",
    "acc": "pref.reward.accuracy",
    "acc_mean": "pref.reward.accuracy@running",
    "chosen_reward": "pref.reward.chosen",
    "reject_reward": "pref.reward.rejected",
    "nll_loss": "pref.nll",
    # evaluation
    "eval_<source>_pass1": Name("eval.accuracy@<source>", note="mean reward: an accuracy only for rewards of 0 and 1"),
    "eval_<source>_pass<int:n>": Name(
        "eval.pass_at_k@<source>", note="mean of the best reward of n; stays 0 for n = 1"
    ),
    "eval_response_length_<stat>": "eval.length.<stat>",
    "eval_<source>_response_length_<stat>": "eval.length.<stat>@<source>",
    "eval_truncated_rate": "eval.length.clipped_ratio",
    "eval_<source>_truncated_rate": "eval.length.clipped_ratio@<source>",
    "eval_num_samples": "eval.samples.step",
    "eval_loss": "eval.pref.loss",
    "acc_eval": "eval.pref.reward.accuracy",
    # time
    "timing/step_total": Name("time.step", note="wall clock, not the sum of the parts, in asynchronous runs"),
    "timing/generation": "time.rollout",
    "timing/make_experience": "time.experience",
    "timing/ppo_train": "time.train",
    "timing/broadcast": "time.update_weights",
    "timing/<phase>": "time.<phase>",
    "perf/experience_maker/<phase>": "time.<phase>",
}

NOT_CONVERTED = {
    "generated_samples (table/text)": "one text per step, read as a sample",
    "generated_samples": "one text per step, read as a sample",
    "<extra_logs key>": "a reward function or agent may log any name: it is listed as recorded and not understood",
}

CONFIG = meanings("""
    learning_rate: actor.adam.lr actor_learning_rate learning_rate |
    value_learning_rate: critic.adam.lr critic_learning_rate | grad_clip: actor.max_norm max_norm |
    kl_coef: algo.kl.init_coef init_kl_coef beta | kl_estimator: algo.kl.estimator kl_estimator |
    target_kl: algo.kl.target kl_target | clip_range: actor.eps_clip eps_clip | clip_range_value: value_clip |
    dual_clip: actor.dual_clip | entropy_coef: actor.entropy_coef entropy_loss_coef |
    advantage_estimator: algo.advantage.estimator advantage_estimator | gamma: algo.advantage.gamma gamma |
    gae_lambda: algo.advantage.lambd lambd | group_size: rollout.n_samples_per_prompt n_samples_per_prompt |
    batch_size: rollout.batch_size rollout_batch_size | minibatch_size: train.batch_size train_batch_size |
    epochs_per_batch: train.max_epochs max_epochs | max_total_tokens: data.max_len | max_new_tokens: generate_max_len |
    max_prompt_tokens: prompt_max_len | temperature: rollout.temperature temperature | top_p: rollout.top_p top_p |
    eval_temperature: eval.temperature eval_temperature |
    dynamic_sampling: algo.dynamic_filtering_enable dynamic_filtering |
    is_correction: actor.is_correction_enable enable_vllm_is_correction | reward_clip: reward_clip_range |
    model: pretrain | dataset: prompt_data | max_prompts: data.max_samples max_samples | total_epochs: num_episodes |
    seed: seed | eval_interval: eval_steps | save_interval: save_steps
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        learning_rate=1e-6 grad_clip=1.0 kl_coef=0.01 kl_estimator=k1 kl_in_reward=True clip_range=0.2 group_size=1
        epochs_per_batch=1 batch_size=1024 minibatch_size=128 temperature=1.0 eval_temperature=0.6
        dynamic_sampling=False is_correction=False gamma=1.0 gae_lambda=1.0 clip_range_value=0.5
    """),
    "dpo": {"kl_coef": 0.1, "kl_in_reward": False},
}

OLDER = (  # openrlhf/cli/train_ppo_ray.py at the tags
    Older("0.9.7", {"": {"max_new_tokens": 1024, "clip_range_value": None}}, names=("total_length", "response_length")),
    Older(
        "0.7.0",
        {"": {"max_new_tokens": 1024, "clip_range_value": 0.2, "gae_lambda": None, "eval_temperature": None}},
        names=("perf/experience_maker/",),
    ),
)

LOG = {
    "policy.entropy": "set --actor.entropy_coef 0 (logs the entropy without a bonus)",
    "rollout_train.kl": "set --actor.is_correction_enable",
    "kl.ref": "set --algo.kl.init_coef > 0 and give a reference model",
    "eval.accuracy": "set --eval.dataset and --eval.steps",
    "eval.reward": "set --eval.dataset and --eval.steps",
    "reward.group_std": "logged as group_reward_std with n_samples_per_prompt > 1",
    "reward.component.<func>.mean": "return the parts in extra_logs of the reward function",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """A reward model in training logs the words of the DPO trainer."""
    bare = {name.removeprefix("train/") for name in names}
    if "chosen_reward" not in bare or bare & {"nll_loss", "loss_mean", "acc_mean"}:
        return {}
    return {
        "loss": "rm.loss",
        "acc": "rm.accuracy",
        "chosen_reward": "rm.reward.chosen",
        "reject_reward": "rm.reward.rejected",
    }


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The advantage estimator; without the configuration, a critic means PPO."""
    for key in ("algo.advantage.estimator", "advantage_estimator"):
        if config.get(key):
            text = str(config[key]).lower()
            return {"gae": "ppo", "group_norm": "grpo", "reinforce_baseline": "reinforce++"}.get(text, text)
    bare = {name.removeprefix("train/") for name in names}
    if "chosen_reward" in bare:
        return "dpo" if bare & {"nll_loss", "loss_mean", "acc_mean"} else "reward"
    if "critic_loss" in bare:
        return "ppo"
    return "grpo" if "group_reward_std" in bare else None
