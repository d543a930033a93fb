"""The store: every run has its line, whatever happens to one of them."""

import re
from pathlib import Path

import anyio
import pytest
from starlette.exceptions import HTTPException

from firstbreak.compare import baseline
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Diagnosis, Run
from firstbreak.readers.read import read
from firstbreak.serve.web import app, pages
from firstbreak.serve.web import run_store as store
from firstbreak.serve.web.run_store import MOST_OPEN, RunStore
from tests.compare.test_baseline import write as write_run
from tests.make import write_jsonl
from tests.there import there
from tests.waiting import PATIENCE


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
        entry = there(found.entry(name))
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


def test_each_run_stands_beside_the_earlier_ones_which_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        write_run(tmp_path / "old" / f"s{seed}", seed=seed)
    for seed in range(7, 9):
        write_run(tmp_path / "new" / f"s{seed}", seed=seed)
    write_run(tmp_path / "new" / "off", seed=9, kl_from=60)
    reads: list[Path] = []

    def counting(path: Path, trainer: str | None = None) -> Run:
        reads.append(path)
        return read(path, trainer=trainer)

    monkeypatch.setattr(baseline, "read", counting)
    found = RunStore(tmp_path / "new", tmp_path / "old")
    found.survey()
    entry = there(found.entry("off"))
    assert entry.diagnosis is not None
    page = pages.run.page(entry.summary, entry.diagnosis, "/live/off", [], {}, [])
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert "First departure policy update: kl.ref.k1" in text
    assert 'href="#run-baseline"' in page
    for name in ("s7", "s8"):
        other = there(found.entry(name))
        assert other.diagnosis is not None
        assert other.diagnosis.baseline is not None
        assert len(other.diagnosis.baseline.runs) == 5
    assert len(reads) == 5
    write_run(tmp_path / "old" / "s5", seed=5)
    (tmp_path / "new" / "s7" / "metrics.jsonl").touch()
    again = there(found.entry("s7"))
    assert again.diagnosis is not None
    assert again.diagnosis.baseline is not None
    assert len(again.diagnosis.baseline.runs) == 6
    assert len(reads) == 6


def test_a_folder_of_earlier_runs_that_has_gone_costs_a_line(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new" / "metrics.jsonl", 40)
    found = RunStore(tmp_path / "new", tmp_path / "gone")
    found.survey()
    (entry,) = found.entries()
    entry.update()
    assert entry.diagnosis is not None
    assert entry.diagnosis.baseline is not None
    assert "gone: no such file or folder" in entry.diagnosis.baseline.left_out[0]


def test_verdicts_go_on_while_nobody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "LIST_EVERY", 0.02)
    monkeypatch.setattr(app, "UNWATCHED_EVERY", 0.05)
    log = tmp_path / "grows" / "metrics.jsonl"
    write_jsonl(log, 60)
    site = app.Site(tmp_path)

    async def served() -> None:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(site._update_store)
                while not site._surveyed.is_set() or site.store.entries()[0].run is None:
                    await anyio.sleep(0.02)
                write_jsonl(log, 30, start=60)
                while site.store.entries()[0].run.last_step != 89:
                    await anyio.sleep(0.02)
                tasks.cancel_scope.cancel()

    anyio.run(served)


def test_small_runs_are_diagnosed_before_large_ones_and_none_waits_for_a_busy_one(tmp_path: Path) -> None:
    for name, rows in (("a-large", 400), ("b-small", 40), ("c-middle", 120)):
        write_jsonl(tmp_path / name / "metrics.jsonl", rows)
    found = RunStore(tmp_path)
    found.survey()
    assert [entry.name for entry in found.waiting()] == ["b-small", "c-middle", "a-large"]
    middle = next(entry for entry in found.entries() if entry.name == "c-middle")
    with middle._lock:
        assert middle.busy
        assert [entry.name for entry in found.waiting()] == ["b-small", "a-large"]
        found.tidy()  # closes none that is being diagnosed
    assert not middle.busy
