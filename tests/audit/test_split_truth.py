"""The wall: what looks for shifts cannot see the truth, by type, by value and by import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import firstbreak.audit
from firstbreak.audit.split_truth import GOLD, HIDDEN, REFERENCE, split
from firstbreak.model import Sample
from tests.every import every

AUDIT = Path(firstbreak.audit.__file__).parent


def test_the_truth_is_taken_out_of_what_detectors_see() -> None:
    recorded = Sample(
        completion="42",
        rewards={"format": 1.0, "human_score": 0.2},
        meta={"answer": "43", "info": {"ground_truth": "43", "split": "train"}, "turns": [{"gold": 1, "text": "x"}]},
    )
    seen, oracle = split(recorded)
    assert oracle.score == 0.2
    assert oracle.reference == "43"
    assert seen.rewards == {"format": 1.0}
    assert seen.meta == {"info": {"split": "train"}, "turns": [{"text": "x"}]}


NAMES = [*GOLD[:3], *REFERENCE[:3], "a", "b"]
_json = st.recursive(
    st.none() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(NAMES), _json, max_size=4))
def test_no_hidden_name_is_left_however_deep(meta: dict[str, object]) -> None:
    def names(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value) | {name for inner in value.values() for name in names(inner)}
        return {name for inner in value for name in names(inner)} if isinstance(value, list) else set()

    seen, _ = split(Sample(meta=meta))
    assert not names(dict(seen.meta)) & HIDDEN


def test_a_metric_that_asks_for_the_truth_fails_at_run_time() -> None:
    seen, _ = split(Sample(completion="x", meta={"gold_score": 1.0}))
    with pytest.raises(AttributeError):
        seen.score  # type: ignore[attr-defined]  # noqa: B018


METRIC = """from firstbreak.audit.split_truth import {name}


def measure(sample: {name}) -> float:
    return sample.score or 0.0
"""
MODEL = """from typing import Any

EMPTY: dict[str, Any] = {}
Sample = Any
"""


@pytest.mark.thorough
def test_a_metric_that_asks_for_the_truth_does_not_pass_mypy(tmp_path: Path) -> None:
    """The real wall, beside as little of the package as it needs: checking numpy would take half a minute."""
    package = tmp_path / "firstbreak" / "audit"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package.parent / "model.py").write_text(MODEL)
    (package / "split_truth.py").write_text((AUDIT / "split_truth.py").read_text())
    files = [package / "of_policy.py", package / "of_oracle.py"]
    for file, name in zip(files, ("PolicySample", "Oracle"), strict=True):
        file.write_text(METRIC.format(name=name))
    # in a process of its own: a module of mypy recurses without end where another thread looks through all modules
    mypy = [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir=/dev/null", *map(str, files)]
    said = subprocess.run(mypy, capture_output=True, text=True).stdout
    assert 'of_policy.py:5: error: "PolicySample" has no attribute "score"' in said
    assert "of_oracle.py" not in said, "the same line passes where it may look"


#: what looks at samples without the ledger of evaluations, beside every metric and every row
WITHOUT_LEDGER = {"selection.py", "diversity.py", "embeddings.py", "table.py", "shift.py", "judge.py"}


def test_only_scoring_imports_the_oracle() -> None:
    def blind(path: Path) -> None:
        tree = ast.walk(ast.parse(path.read_text()))
        names = {a.name for node in tree if isinstance(node, ast.ImportFrom) for a in node.names}
        if path.name not in ("scoring.py", "blind.py"):
            assert names & {"Oracle", "split"} == set()
        if path.parent.name in ("metrics", "rows") or path.name in WITHOUT_LEDGER:
            assert "Ledger" not in names

    every(sorted(AUDIT.rglob("*.py")), blind, name=lambda p: p.relative_to(AUDIT))
