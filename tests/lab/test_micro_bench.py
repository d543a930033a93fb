"""The figures of the micro-lab's benchmark, on answers that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import micro
from benchmarks.lab import page, rounded


def row(
    link: str | None, *, said: str | None = None, harmful: bool = True, spoke: bool = False, algorithm: str = "grpo"
) -> dict[str, Any]:
    label = {
        "variant": "verdicts-noisy" if link else "healthy",
        "link": link,
        "algorithm": algorithm,
        "accepted": [link, "environment"] if link else [],
        "harmful": harmful and link is not None,
    }
    return {"id": "0", "label": label, "answer": {"link": said, "stop": False}, "spoke": {"reward-flat": spoke}}


ROWS = [
    row("reward", said="reward", spoke=True),
    row("reward", said="environment", spoke=True),
    row("reward", said="numerics"),
    row("reward"),
    row("reward", said="reward", harmful=False),
    row(None),
    row(None, said="numerics"),
]


def test_shares_are_counted_apart_for_faults_that_did_harm() -> None:
    scored = micro.scored(ROWS)
    assert (scored["harmful_n"], scored["harmless_n"], scored["healthy_n"]) == (4, 1, 2)
    assert (scored["harmful_found"], scored["harmful_right"], scored["harmful_accepted"]) == (0.75, 0.25, 0.5)
    assert (scored["healthy_found"], scored["harmless_found"]) == (0.5, 1.0)


def test_the_agreement_compares_the_rates_of_each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(micro, "FEWEST", 1)
    real = [row("reward", spoke=True), row("reward", spoke=True), row(None)]
    found = micro.agreement(ROWS, real)
    assert found["all"] == {"n": 1}  # silence on both sides of the healthy runs is no line
    (line,) = found["largest"]
    assert (line["micro"], line["n_micro"], line["real"], line["n_real"]) == (0.4, 5, 1.0, 2)


def test_equal_rates_differ_by_chance_alone() -> None:
    lines = [{"micro": x, "real": x, "n_micro": 10, "n_real": 10} for x in (0.1, 0.5, 0.9)]
    compared = micro.compared(lines)
    assert (compared["correlation"], compared["difference"], compared["bias"]) == (pytest.approx(1.0), 0, 0)
    assert 0 < compared["by_chance"] < 0.3


def test_a_measurement_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    micro.kept(path, [1, 2], as_row, 1)
    size = path.stat().st_size
    rows = micro.kept(path, [1, 2, 3], as_row, 1)
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert path.read_text()[:size].count("\n") == 3
    path.write_text(json.dumps({"made from": "other code"}) + "\n" + json.dumps({"id": "1", "old": True}) + "\n")
    assert "old" not in micro.kept(path, [1], as_row, 1)[0]


def as_row(job: int) -> dict[str, Any]:
    return {"id": str(job)}


def test_the_committed_page_shows_the_committed_figures() -> None:
    figures = rounded(json.loads(micro.RESULT.read_text()))
    assert page(micro.PAGE.read_text(), micro.tables(figures)) == micro.PAGE.read_text()
