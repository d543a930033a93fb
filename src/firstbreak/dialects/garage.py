"""rllab and garage: progress.csv, one row per iteration; garage puts a name and "/" before what rllab logs bare.

Source: garage/_functions.py (log_performance), torch/algos/{vpg,sac,ddpg}.py, tf/algos/npo.py; rllab/sampler/base.py
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "garage"

MARKS = frozenset(
    {
        "AverageReturn",
        "AverageDiscountedReturn",
        "NumTrajs",
        "NumEpisodes",
        "AveragePolicyStd",
        "Perplexity",
        "MeanKL",
        "TotalEnvSteps",
        "Evaluation/AverageReturn",
        "Evaluation/AverageDiscountedReturn",
        "Evaluation/NumEpisodes",
        "Evaluation/NumTrajs",
        "Evaluation/TerminationRate",
        "AlphaTemperature/mean",
        "QF/Qf1Loss",
        "Average/TrainAverageReturn",
    }
)

AXIS = ("TotalEnvSteps", "NumSamples", "Iteration", "Itr", "Evaluation/Iteration")

_TRAINING = "the episodes of the iteration: on-policy garage calls its training batch Evaluation"

NAMES: dict[str, str | Name] = {
    # returns
    "AverageReturn": "reward.mean",
    "StdReturn": "reward.std",
    "MaxReturn": "reward.max",
    "MinReturn": "reward.min",
    "AverageDiscountedReturn": "reward.mean@discounted",
    "SuccessRate": "success_rate",
    "Evaluation/AverageReturn": Name("reward.mean", note=_TRAINING),
    "Evaluation/StdReturn": Name("reward.std", note=_TRAINING),
    "Evaluation/MaxReturn": Name("reward.max", note=_TRAINING),
    "Evaluation/MinReturn": Name("reward.min", note=_TRAINING),
    "Evaluation/AverageDiscountedReturn": Name("reward.mean@discounted", note=_TRAINING),
    "Evaluation/SuccessRate": Name("success_rate", note=_TRAINING),
    "Average/TrainAverageReturn": "reward.mean",
    # the policy
    "Entropy": "policy.entropy",
    "<policy>/Entropy": "policy.entropy",
    "MeanKL": Name("kl.old", note="analytic, after the step"),
    "<policy>/KL": Name("kl.old", note="analytic, after the step"),
    "AveragePolicyStd": "action.std",
    "Policy/Loss": "policy.loss",
    "Policy/AveragePolicyLoss": "policy.loss",
    # the critic
    "ExplainedVariance": "value.explained_variance",
    "<baseline>/ExplainedVariance": "value.explained_variance",
    "QF/Qf1Loss": "value.loss",
    "QF/Qf2Loss": "value.loss@q2",
    "QFunction/AverageQFunctionLoss": "value.loss",
    "QFunction/AverageQ": "value.mean",
    "QFunction/MaxQ": "value.max",
    "DQN/QFLossMean": "value.loss",
    "AlphaTemperature/mean": "alpha",
    "EpsilonGreedyPolicy/Epsilon": "epsilon",
    # progress
    "TotalEnvSteps": "progress.env_steps",
    "NumSamples": "progress.env_steps@iteration",
    "Iteration": "progress.iterations",
    "Itr": "progress.iterations",
    "Evaluation/Iteration": "progress.iterations",
    "Time": "time.elapsed",
    "TotalTime": "time.elapsed",
    "ItrTime": "time.iteration",
}

LOG = {
    "reward.mean": "log_performance() writes AverageReturn each iteration",
    "value.explained_variance": "logged by algorithms with a baseline",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """Off-policy garage evaluates a deterministic policy under the name that on-policy garage gives its training batch."""
    if not names & {"AlphaTemperature/mean", "QF/Qf1Loss", "QFunction/AverageQ", "Average/TrainAverageReturn"}:
        return {}
    moments = {"AverageReturn": "", "StdReturn": ".std", "MaxReturn": ".max", "MinReturn": ".min"}
    evaluation = {f"Evaluation/{raw}": f"eval.reward{statistic}" for raw, statistic in moments.items()}
    return {**evaluation, "Evaluation/SuccessRate": "eval.success_rate"}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """What only one family logs."""
    if "AlphaTemperature/mean" in names:
        return "sac"
    if any(name.startswith(("QFunction/", "QF/")) for name in names):
        return "ddpg"
    return "trpo" if "MeanKL" in names else None
