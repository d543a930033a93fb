"""Real published runs and excerpts: all are read, none breaks the contract, and sure healthy ones are left in peace."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read
from firstbreak.reports import html, markdown, terminal
from firstbreak.reports import json as json_report
from tests.lazy import lazy

jsonschema = lazy("jsonschema")
benchmarks = lazy("benchmarks")

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def table(shared: Path) -> list[benchmarks.report_card.Row]:
    return list(benchmarks.report_card.rows(shared))


def test_all_runs_and_cases_are_read(table: list[benchmarks.report_card.Row]) -> None:
    assert sum(r.kind == "run" for r in table) >= 41
    assert sum(r.kind == "case" for r in table) >= 8
    assert not [r.id for r in table if r.action == "unreadable"]


def test_no_sure_healthy_run_is_stopped(table: list[benchmarks.report_card.Row]) -> None:
    healthy = [r for r in table if r.reader == "healthy" and r.confidence == "high"]
    assert len(healthy) >= 20
    assert not [r.id for r in healthy if r.action in ("stop", "rollback")]


def test_the_right_link_or_earlier_in_three_of_five_sure_broken_ones(table: list[benchmarks.report_card.Row]) -> None:
    wrong = [r for r in table if r.reader == "wrong" and r.confidence == "high"]
    missed = [r.id for r in wrong if not r.agrees]
    assert len(missed) <= 2 * len(wrong) / 5, missed


def test_each_disagreement_is_argued(table: list[benchmarks.report_card.Row]) -> None:
    assert {r.id for r in table if not r.agrees} == set(benchmarks.report_card.ARGUMENTS)


def test_the_committed_page_is_what_the_code_says(table: list[benchmarks.report_card.Row]) -> None:
    def told(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("| ")]

    assert told(benchmarks.report_card.PAGE.read_text()) == told(benchmarks.report_card.page(table)), (
        "run `make report-card` and commit the page"
    )


def test_every_diagnosis_keeps_the_schema_and_renders(shared: Path) -> None:
    schema = json.loads((shared / "diagnosis.schema.json").read_text())
    paths = [shared / "runs" / r["id"] for r in csv.DictReader((shared / "runs" / "index.csv").open())]
    paths += sorted((shared / "cases").glob("c*.csv"))
    for path in paths:
        dx = diagnose(read(find_runs(path)[0]))
        jsonschema.validate(json.loads(json_report.render(dx)), schema)
        assert not [o for o in dx.outcomes if o.status == "crashed"], path
        assert dx.verdict.summary.split()[0].lower() in markdown.render(dx).lower()
        assert max(map(len, terminal.render(dx, width=80, color=False).splitlines())) <= 80
        assert html.render(dx).lower().startswith("<!doctype html>")
