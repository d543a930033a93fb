"""Weights that go back, and weights that something changes, between two steps of a real optimizer."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import firstbreak
from firstbreak.live.recorder.measuring import Price
from tests.detectors.look import proved
from tests.lazy import lazy

torch = lazy("torch")
nn = lazy("torch.nn")

STEPS = 40


def found(folder: Path, between: Callable[[int, nn.Module], None], *, every: bool = False) -> set[str]:
    """What is proved where `between` runs after each step. Some steps are measured, or `every` one."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    record = firstbreak.recorder(folder)
    rarely = lambda step, cost=None: cost is Price.GLANCE or every or step <= 2 or step % 10 == 0  # noqa: E731
    record.due = rarely
    record.weights(model, optimizer)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        model(torch.randn(16, 4)).square().mean().backward()
        record.batch(step, rewards=torch.randn(8), advantages=torch.randn(8), group=4)
        optimizer.step()
        between(step, model)
    return proved(firstbreak.read(folder)) & {"old-weights-loaded", "weights-overwritten"}


def test_an_old_state_that_is_loaded_once_is_proved(tmp_path: Path) -> None:
    kept: dict[str, torch.Tensor] = {}

    def restart(step: int, model: nn.Module) -> None:
        if step == 3:
            kept.update(deepcopy(model.state_dict()))
        if step == 25:
            model.load_state_dict(kept)

    assert found(tmp_path, restart) == {"old-weights-loaded"}


def test_an_average_that_is_copied_into_the_policy_is_proved(tmp_path: Path) -> None:
    def average(step: int, model: nn.Module) -> None:
        if step % 8 == 0:
            with torch.no_grad():
                for p in model.parameters():
                    p.mul_(0.99)

    assert found(tmp_path, average) == {"weights-overwritten"}


def test_weights_that_are_lent_to_an_evaluation_and_come_back_are_no_change(tmp_path: Path) -> None:
    def lent(step: int, model: nn.Module) -> None:
        own = deepcopy(model.state_dict())
        model.load_state_dict({name: p * 0 for name, p in own.items()})
        model.load_state_dict(own)

    assert found(tmp_path / "few", lent) == set()
    assert found(tmp_path / "all", lent, every=True) == set()
