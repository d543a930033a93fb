"""A restart of a real TRL run, with and without the weights of its checkpoint."""

from pathlib import Path
from typing import Any

import pytest

import firstbreak
from tests.lazy import lazy

torch = lazy("torch")
language = lazy("tests.guard.language")

pytestmark = pytest.mark.trainer

ID = "resumed-with-other-weights"


def found(folder: Path, *, forget: bool) -> str | None:
    """What is said of a run of two updates that goes on for two more, and loses what it loaded where it is to `forget`."""
    options: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2}
    first = language.trainer(folder, "grpo", max_steps=2, **options)
    first.add_callback(firstbreak.recorder())
    first.train()
    second = language.trainer(folder, "grpo", max_steps=4, **options)
    if forget:
        second._load_from_checkpoint = lambda *given, **more: None
        with torch.no_grad():
            for p in second.model.parameters():
                p.mul_(1.5)
    second.add_callback(firstbreak.recorder())
    second.train(resume_from_checkpoint=str(Path(second.args.output_dir) / "checkpoint-2"))
    outcomes = (o for o in firstbreak.check(firstbreak.read(second.args.output_dir)) if o.detector == ID)
    return next((o.finding.message for o in outcomes if o.finding is not None), None)


def test_a_checkpoint_that_is_not_loaded_is_proved(tmp_path: Path) -> None:
    assert "Proved at step 3: before the first update after the restart" in (found(tmp_path, forget=True) or "")


def test_a_checkpoint_that_is_loaded_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path, forget=False) is None
