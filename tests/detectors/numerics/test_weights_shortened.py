"""Weights that are rounded after the optimizer's step, by a real optimizer and the recorder's hooks."""

from pathlib import Path

import pytest

import firstbreak
from firstbreak.engine.detection import check
from tests.lazy import lazy

torch = lazy("torch")

BETWEEN = {
    "nothing": lambda weight: weight,
    "bfloat16": lambda weight: weight.bfloat16().float(),
    "decay": lambda weight: 0.99 * weight,
}


@pytest.mark.parametrize(("between", "proved"), [("nothing", set()), ("bfloat16", {"weights-shortened"}),
                                                 ("decay", {"weights-overwritten"})])  # fmt: skip
def test_what_happens_between_two_updates_is_told(between: str, proved: set[str], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    record = firstbreak.recorder(tmp_path, share=1e9)
    record.weights(model, optimizer)
    for step in range(1, 9):
        record.batch(step, rewards=[1.0, 0.0, 1.0, 1.0])
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(4, 16)).square().mean().backward()
            optimizer.step()
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(BETWEEN[between](weight))
    names = ["weights-shortened", "weights-overwritten", "updates-rounded", "weights-left-out"]
    outcomes = check(firstbreak.read(tmp_path), only=names)
    assert {o.detector for o in outcomes if o.finding is not None} == proved
