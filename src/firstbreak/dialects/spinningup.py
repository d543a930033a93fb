"""Spinning Up: progress.txt, tab separated. Losses, entropy and values are those before the update."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "Spinning Up"

MARKS = word_set("""
    AverageEpRet StdEpRet MaxEpRet MinEpRet AverageTestEpRet EpLen TestEpLen TotalEnvInteracts AverageVVals
    AverageQ1Vals LossPi LossV LossQ DeltaLossPi DeltaLossV ClipFrac StopIter
""")
CONFIG_MARKS = frozenset({"train_pi_iters", "train_v_iters", "steps_per_epoch", "ac_kwargs"})

AXIS = ("TotalEnvInteracts", "Epoch")

_BEFORE = "before the update"

NAMES: dict[str, str | Name] = {
    "TotalEnvInteracts": "progress.env_steps",
    "Epoch": "progress.iterations",
    "Time": "time.elapsed",
    # rewards and episodes
    "AverageEpRet": "reward.mean",
    "StdEpRet": "reward.std",
    "MaxEpRet": "reward.max",
    "MinEpRet": "reward.min",
    "EpLen": "episode.length",
    "AverageTestEpRet": "eval.reward",
    "StdTestEpRet": "eval.reward.std",
    "MaxTestEpRet": "eval.reward.max",
    "MinTestEpRet": "eval.reward.min",
    "TestEpLen": "eval.episode_length",
    # the policy update
    "LossPi": Name("policy.loss", note=f"{_BEFORE}: near 0 by construction with normalised advantages"),
    "DeltaLossPi": "policy.loss.delta",
    "KL": Name("kl.old.k1", note="full batch, last policy iteration"),
    "ClipFrac": Name("policy.clip_fraction", note="last policy iteration"),
    "StopIter": "policy.stop_iter",
    "BacktrackIters": "policy.backtrack_iters",
    # the critic
    "LossV": Name("value.loss", note=f"squared error, {_BEFORE}"),
    "LossQ": "value.loss",
    "DeltaLossV": "value.loss.delta",
    **{
        f"{word}{values}": f"value.{statistic}{part}"
        for values, part in (("VVals", ""), ("QVals", ""), ("Q1Vals", ""), ("Q2Vals", "@q2"))
        for word, statistic in (("Average", "mean"), ("Std", "std"), ("Max", "max"), ("Min", "min"))
    },
    # exploration
    "Entropy": Name("policy.entropy", note=_BEFORE),
    **dict.fromkeys(("AverageLogPi", "LogPi"), Name("policy.entropy", -1.0, "minus the mean log-probability")),
}

CONFIG = meanings("""
    target_kl gamma policy_delay seed | learning_rate: pi_lr lr | value_learning_rate: vf_lr q_lr |
    batch_size: steps_per_epoch | minibatch_size: batch_size | epochs_per_batch: train_pi_iters |
    clip_range: clip_ratio | gae_lambda: lam | entropy_coef: alpha | buffer_size: replay_size |
    learning_starts: start_steps | train_freq: update_every | tau: polyak | action_noise: act_noise |
    total_epochs: epochs | env_id: env_name env
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "ppo": options("""
        learning_rate=3e-4 value_learning_rate=1e-3 batch_size=4000 epochs_per_batch=80 clip_range=0.2 target_kl=0.01
        gamma=0.99 gae_lambda=0.97
    """),
    "sac": {"learning_rate": 1e-3, "minibatch_size": 100, "entropy_coef": 0.2, "gamma": 0.99, "buffer_size": 1_000_000},
    "td3": {"learning_rate": 1e-3, "minibatch_size": 100, "action_noise": 0.1, "gamma": 0.99, "policy_delay": 2},
}

LOG = {
    "eval.reward": "only the off-policy methods test (num_test_episodes)",
    "value.explained_variance": "compare LossV with the variance of the returns",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs."""
    if "ClipFrac" in names:
        return "ppo"
    if "BacktrackIters" in names:
        return "trpo"
    if names & {"AverageLogPi", "LogPi"}:
        return "sac"
    if "AverageQ2Vals" in names:
        return "td3"
    if "LossQ" in names:
        return "ddpg"
    return "vpg" if "LossPi" in names else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """`polyak` is what is kept of the target, `tau` what is replaced; a policy iteration takes the whole batch."""
    refined: dict[str, Any] = {"minibatches": 1} if values.get("epochs_per_batch") else {}
    if isinstance(kept := values.get("tau"), float):
        refined["tau"] = round(1.0 - kept, 12)
    return refined
