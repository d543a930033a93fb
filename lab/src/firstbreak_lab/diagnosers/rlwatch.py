"""rlwatch (https://pypi.org/project/rlwatch), as shipped: its detectors get the run step by step, as during training.

Any alert counts as found. The step of the first alert is the onset. rlwatch gives no advice to stop, and does not name
links or causes.
"""

from collections.abc import Mapping

from firstbreak.model import Run
from firstbreak_lab.diagnosers import DiagnoserAnswer

GIVES = frozenset({"onset"})
REQUIRES = "rlwatch"

#: argument of rlwatch -> the signals that fit it, the best first
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "entropy": ("policy.entropy",),
    "kl_divergence": ("kl.ref.k3", "kl.ref", "kl.ref.k1", "kl.old.k3"),
    "reward_mean": ("reward.mean", "reward.rollout.mean"),
    "reward_std": ("reward.std",),
    "advantage_std": ("advantage.std",),
    "loss": ("policy.loss", "loss.total"),
    "grad_norm": ("grad.norm",),
}


def answer(run: Run) -> DiagnoserAnswer:
    """The alerts of rlwatch for the run."""
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    suite = DetectorSuite(RLWatchConfig())
    alerts = [alert for step, values in steps(run) for alert in suite.check_step(step, **values)]
    return DiagnoserAnswer(
        found=bool(alerts),
        critical=any(alert.severity == "critical" for alert in alerts),
        onset=float(alerts[0].step) if alerts else None,
    )


def steps(run: Run) -> list[tuple[int, dict[str, float]]]:
    """The values of each step, under the argument names of `check_step`."""
    rows: dict[float, dict[str, float]] = {}
    for argument, names in ARGUMENTS.items():
        series = next((run.series[name] for name in names if name in run.series), None)
        if series is not None:
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
                rows.setdefault(step, {})[argument] = value
    return [(int(step), rows[step]) for step in sorted(rows)]
