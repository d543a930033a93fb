"""The committed benchmark table is what the code says of the committed corpus."""

from __future__ import annotations

import json

from benchmarks.abroad import measure as abroad
from benchmarks.abroad.tables import tables as tables_abroad
from benchmarks.lab import CORPUS, OURS, PAGE, RESULT, page, said, tables
from firstbreak_lab.bench import BenchRow, answer_of
from firstbreak_lab.corpus import archives, labels, opened
from firstbreak_lab.diagnosers import diagnosers

from firstbreak.engine.inputs import Inputs
from firstbreak.engine.registry import causes
from firstbreak.readers.read import read
from tests.every import every

FIGURES = json.loads(RESULT.read_text())
EVERY = 15  #: how many runs share one that is diagnosed again: enough to notice a changed threshold, in seconds


def test_every_run_of_the_corpus_is_in_the_table() -> None:
    assert sorted(FIGURES["answers"]) == archives(CORPUS)


def test_the_answers_are_those_of_the_code() -> None:
    def the_same(archive: str) -> None:
        with opened(CORPUS, archive) as (folder, label):
            answer, error = answer_of(diagnosers()[OURS], read(folder))
        row = BenchRow(label=label, kind="", answer=answer, seconds=0.0, error=error)
        assert said(row) == FIGURES["answers"][archive], "run `make bench`"

    every(sorted(FIGURES["answers"])[::EVERY], the_same)


def test_the_page_shows_the_table() -> None:
    made = tables_abroad(json.loads(abroad.RESULT.read_text())) | tables(FIGURES)
    assert PAGE.read_text() == page(PAGE.read_text(), made), "run `make bench`"


def test_every_injected_cause_can_be_named_in_its_run() -> None:
    """A cause that does not apply to a method can never be right, however it is weighed."""
    one_of_each = {(of.variant, of.base): (archive, of) for archive, of in labels(CORPUS).items() if of.cause}
    for archive, of in one_of_each.values():
        with opened(CORPUS, archive) as (path, _):
            assert causes()[of.cause].applies(Inputs(read(path))), archive
