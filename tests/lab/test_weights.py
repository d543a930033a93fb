"""Counting, and the limits below which a run is accused and stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from firstbreak_lab import weights

from firstbreak.diagnosis import likelihood
from tests.lab.runs import STEPS, label, small, write


@pytest.mark.parametrize(("healthy", "share"), [(40, 0.05), (99, 0.05), (120, 0.02)])
def test_a_new_healthy_run_lies_below_the_limit_no_more_often_than_promised(healthy: int, share: float) -> None:
    rng = np.random.default_rng(0)
    below = [rng.random() <= weights.conformal_limit(list(rng.random(healthy)), share) for _ in range(4000)]
    assert 0.2 * share < np.mean(below) < share + 3 * np.sqrt(share / len(below))


def test_too_few_healthy_runs_promise_nothing() -> None:
    assert weights.conformal_limit([0.9] * 10, 0.05) == 0.0


def test_only_the_training_split_is_counted_and_harmless_faults_are_left_out(tmp_path: Path) -> None:
    small(tmp_path)
    for seed in range(6):
        write(tmp_path, label("groups-mixed", seed), loss=float("nan"))
    checked = list(weights.examine(tmp_path))
    counts = weights.count(checked)
    assert {run.label.seed % 2 for run in checked} == {0}
    assert counts["groups-mixed"]["non-finite-values"] == [3, 3, 3]
    assert counts["healthy"]["non-finite-values"] == [0, 0, 3]
    calm = weights.count(weights.examine(tmp_path, harmless=lambda label: True))
    assert set(calm) == {"healthy"}


def test_healthy_runs_are_also_checked_at_earlier_steps(tmp_path: Path) -> None:
    for run in weights.examine(small(tmp_path)):
        ends = [one.run.last_step for one in run.earlier]
        shares = np.arange(1, weights.CHECKS) / weights.CHECKS
        assert ends == ([] if run.label.link else [np.floor(STEPS * share) for share in shares])


def test_more_checks_need_a_stricter_limit(tmp_path: Path) -> None:
    checked = list(weights.examine(small(tmp_path)))
    once = weights.healthy_probabilities(checked, weights.at_the_end)
    often = weights.healthy_probabilities(checked, weights.at_every_check)
    assert len(once) == len(often) == sum(run.label.link is None for run in checked)
    assert all(a <= b for a, b in zip(often, once, strict=True))


def test_what_is_written_is_what_the_ranking_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "MEASURED", tmp_path / "measured.json")
    path = weights.write(small(tmp_path / "corpus"), {"command": "a test"})
    written = json.loads(path.read_text())
    assert written["runs"] == {"groups-mixed": 3, "healthy": 3}
    assert written["calibrated_on"] == 3
    assert written["accuse_below"] == written["stop_below"] == 0.0  # three runs promise nothing
    assert label("groups-mixed").cause in written["counts"]
