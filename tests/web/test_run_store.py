"""The store: every run has its line, whatever happens to one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from firstbreak.diagnosis.diagnose import diagnose
from firstbreak.model import Diagnosis, Run
from firstbreak.serve.web import app
from firstbreak.serve.web import run_store as store
from firstbreak.serve.web.run_store import MOST_OPEN, RunStore
from tests.web.serving import write_jsonl


def looked(folder: Path) -> RunStore:
    found = RunStore(folder)
    found.survey()
    for entry in found.entries():
        entry.update()
        found.tidy()
    return found


def test_a_run_that_breaks_the_diagnosis_costs_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("good", "odd"):
        write_jsonl(tmp_path / name / "metrics.jsonl", 60)

    def fragile(run: Run) -> Diagnosis:
        if run.path.endswith("odd"):
            raise ZeroDivisionError("a mistake of ours")
        return diagnose(run)

    monkeypatch.setattr(store, "diagnose", fragile)
    lines = {line.name: line for line in looked(tmp_path).summaries()}
    assert "ZeroDivisionError: a mistake of ours" in lines["odd"].problem
    assert lines["good"].action is not None


def test_memory_is_bounded_and_what_was_closed_opens_again(tmp_path: Path) -> None:
    names = [f"run{i:02}" for i in range(MOST_OPEN + 4)]
    for name in names:
        write_jsonl(tmp_path / name / "metrics.jsonl", 40)
    found = looked(tmp_path)
    assert sum(entry.run is not None for entry in found.entries()) == MOST_OPEN
    assert all(line.action is not None for line in found.summaries())
    for name in names:
        entry = found.entry(name)
        assert entry is not None
        assert entry.run is not None
        assert len(entry.run.series["reward.mean"]) == 40


def test_nothing_is_read_twice_that_has_not_changed(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 60)
    found = looked(tmp_path)
    (entry,) = found.entries()
    before = entry.revision
    entry.update()
    assert entry.revision == before
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 1, start=60)
    entry.update()
    assert entry.revision == before + 1
    assert entry.run is not None
    assert entry.run.last_step == 60


def test_a_run_that_was_not_looked_for_yet_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 60)
    monkeypatch.setattr(app, "SURVEY_PATIENCE", 0.0)
    with pytest.raises(HTTPException) as refused:
        app.Site(tmp_path)._known("one")
    assert refused.value.status_code == 503
