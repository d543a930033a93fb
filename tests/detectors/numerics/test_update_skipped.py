"""update-skipped: steps that were generated and not learned from."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import run

ID = "update-skipped"
N = 100
OK, SCALE = "optim.update_ok", "optim.loss_scale"


def test_skipped_steps_are_found_where_they_began() -> None:
    applied = np.where((np.arange(N) > 50) & (np.arange(N) % 6 == 0), 0.0, 1.0)
    assert found(ID, run({OK: applied}), Severity.WARNING).onset == 55


def test_a_run_that_mostly_skips_stops() -> None:
    assert found(ID, run({OK: np.where(np.arange(N) > 30, 0.25, 1.0)})).severity is Severity.CRITICAL


def test_a_loss_scale_that_keeps_falling_is_found() -> None:
    scale = 2.0 ** (16 - np.maximum(0, np.arange(N) - 40) // 8)
    assert found(ID, run({SCALE: scale})).severity is Severity.WARNING


def test_the_scaler_may_look_for_its_level_at_the_start() -> None:
    assert silent(ID, run({SCALE: np.where(np.arange(N) < 10, 2.0 ** (16 - np.arange(N)), 2.0**7)}))


def test_a_scale_that_halves_and_doubles_is_healthy() -> None:
    assert silent(ID, run({SCALE: np.where(np.arange(N) % 20 < 10, 4096.0, 2048.0)}))


def test_every_step_applied_is_healthy() -> None:
    assert silent(ID, run({OK: [1.0] * N, SCALE: [65536.0] * N}))
