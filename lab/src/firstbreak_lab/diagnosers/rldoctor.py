"""rl-doctor (https://pypi.org/project/rldoctor), as shipped.

Every curve for which rl-doctor has a field is passed under the name of this field, so that the benchmark compares
statistics and not names. A warning or worse counts as found. A critical finding counts as a stop, because the command
line of rl-doctor fails a build then. rl-doctor does not name links, causes or onsets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.model import Run, Series
from firstbreak_lab.diagnosers import DiagnoserAnswer

GIVES = frozenset({"stop"})
REQUIRES = "rl_doctor"

#: field of rl-doctor -> the signals that fit it, the best first
FIELDS: Mapping[str, tuple[str, ...]] = {
    "reward_mean": ("reward.mean", "reward.rollout.mean"),
    "reward_std": ("reward.std",),
    "reward_max": ("reward.max",),
    "reward_min": ("reward.min",),
    "eval_score": ("eval.reward", "eval.accuracy"),
    "zero_var_group_frac": ("reward.zero_std_frac",),
    "advantage_mean": ("advantage.mean",),
    "advantage_std": ("advantage.std",),
    "entropy": ("policy.entropy",),
    "kl": ("kl.ref.k3", "kl.ref", "kl.ref.k1", "kl.old.k3"),
    "pg_clipfrac": ("policy.clip_fraction",),
    "pg_clipfrac_low": ("policy.clip_fraction.low",),
    "pg_clipfrac_high": ("policy.clip_fraction.high",),
    "grad_norm": ("grad.norm",),
    "lr": ("lr",),
    "policy_loss": ("policy.loss", "loss.total"),
    "response_len_mean": ("length.mean", "length.total.mean"),
    "response_len_max": ("length.max", "length.total.max"),
    "response_len_clip_ratio": ("length.clipped_ratio",),
    "prompt_len_mean": ("length.prompt.mean",),
    "value_explained_var": ("value.explained_variance",),
    "throughput": ("throughput.tokens", "throughput.fps"),
    "time_per_step": ("time.step",),
}
#: option of rl-doctor -> our name
OPTIONS: Mapping[str, str] = {
    "group_size": "group_size",
    "batch_size": "batch_size",
    "max_response_length": "max_new_tokens",
    "kl_coef": "kl_coef",
    "entropy_coef": "entropy_coef",
    "clip_eps_low": "clip_range",
    "learning_rate": "learning_rate",
}


def answer(run: Run) -> DiagnoserAnswer:
    """The diagnosis of rl-doctor for the run."""
    from rl_doctor import Severity, diagnose, run_from_records

    options: dict[str, Any] = {theirs: run.config.get(ours) for theirs, ours in OPTIONS.items()}
    worst = diagnose(run_from_records(records(run), {**options, "algorithm": run.algorithm})).worst
    return DiagnoserAnswer(
        found=worst >= Severity.WARNING, critical=worst >= Severity.CRITICAL, stop=worst >= Severity.CRITICAL
    )


def records(run: Run) -> list[dict[str, float]]:
    """One record per step, for `run_from_records` of rl-doctor. A curve that was not logged at a step is missing there."""
    rows: dict[float, dict[str, float]] = {}
    for field, names in FIELDS.items():
        series = _first(run, names)
        if series is not None:
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
                rows.setdefault(step, {"step": step})[field] = value
    for name, series in run.series.items():
        if name.startswith("reward.component.") and name.endswith(".mean"):
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
                component = name.removeprefix("reward.component.").removesuffix(".mean")
                rows.setdefault(step, {"step": step})[f"rewards/{component}/mean"] = value
    return [rows[step] for step in sorted(rows) if np.isfinite(step)]


def _first(run: Run, names: tuple[str, ...]) -> Series | None:
    return next((run.series[name] for name in names if name in run.series), None)
