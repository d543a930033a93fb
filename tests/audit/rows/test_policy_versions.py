"""policy-versions: which policy made each sample, and how old it was."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from firstbreak.audit.audit import Audit, audit
from firstbreak.audit.metrics.policy_age import oldest
from firstbreak.model import Status
from firstbreak.readers.read import read
from tests.audit.dumps import dump, honest, plain, row
from tests.there import there

ID = "policy-versions"


def trl_like(folder: Path, age: int, **extra: Any) -> Audit:
    """A dump whose every number is a reward, if it is not known to be something else."""
    rng = random.Random(0)
    with (folder / "completions.jsonl").open("w") as out:
        for step in range(1, 31):
            for i in range(8):
                entry = {"step": step, "prompt": f"p{i // 4}", "completion": f"text {rng.random()}", "accuracy": rng.random(),
                         "advantage": 0.0, "policy_version": max(0, step - age), **extra}  # fmt: skip
                out.write(json.dumps(entry) + "\n")
    run = read(str(folder))
    assert run.samples is not None
    return audit(run.samples)


def test_old_versions_are_found_and_a_version_is_no_reward(tmp_path: Path) -> None:
    found = trl_like(tmp_path, 9, human_score=0.4)
    assert found.table.parts == ["accuracy"]
    said = there(row(found, ID).finding)
    assert said.numbers["late"] == 9


def test_fresh_versions_are_told(tmp_path: Path) -> None:
    outcome = row(trl_like(tmp_path, 1), ID)
    assert outcome.status is Status.OK
    assert "1 updates old" in outcome.note


def test_without_versions_it_says_so() -> None:
    found = audit(dump(plain, honest))
    assert row(found, ID).status is Status.NOT_MEASURED
    assert any("nothing records" in note for note in found.notes)


@pytest.mark.parametrize(
    ("recorded", "version"),
    [
        (3, 3.0),
        ([5, 4, 4], 4.0),
        ([[2, 7], [3, 1]], 2.0),
        ([-1, 6], 6.0),
        ("x", None),
        (None, None),
        (True, None),
        ([], None),
    ],
)
def test_the_oldest_version(recorded: Any, version: float | None) -> None:
    assert oldest(recorded) == version
