"""rlwatch (https://pypi.org/project/rlwatch), as shipped: its detectors are fed step by step, as during training.

Any alert counts as found, and its first alert as the onset. It alerts and does not advise, so it never says stop; it
names neither links nor causes.
"""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.lab.diagnosers import Answer
from firstbreak.model import Run

GIVES = frozenset({"onset"})
REQUIRES = "rlwatch"

#: its argument -> the signals that are that, the best first
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "entropy": ("policy.entropy",),
    "kl_divergence": ("kl.ref.k3", "kl.ref", "kl.ref.k1", "kl.old.k3"),
    "reward_mean": ("reward.mean", "reward.rollout.mean"),
    "reward_std": ("reward.std",),
    "advantage_std": ("advantage.std",),
    "loss": ("policy.loss", "loss.total"),
    "grad_norm": ("grad.norm",),
}


def answer(run: Run) -> Answer:
    """Its alerts over the same run."""
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    suite = DetectorSuite(RLWatchConfig())
    alerts = [alert for step, values in steps(run) for alert in suite.check_step(step, **values)]
    return Answer(
        found=bool(alerts),
        critical=any(alert.severity == "critical" for alert in alerts),
        onset=float(alerts[0].step) if alerts else None,
    )


def steps(run: Run) -> list[tuple[int, dict[str, float]]]:
    """What each step would have logged, under the names of `check_step`."""
    rows: dict[float, dict[str, float]] = {}
    for argument, names in ARGUMENTS.items():
        series = next((run.series[name] for name in names if name in run.series), None)
        if series is not None:
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
                rows.setdefault(step, {})[argument] = value
    return [(int(step), rows[step]) for step in sorted(rows)]
