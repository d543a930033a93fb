"""The committed benchmark table is what the code says of the committed corpus."""

import json

from firstbreak.engine.inputs import Inputs
from firstbreak.engine.registry import causes
from firstbreak.readers.read import read
from tests.every import every
from tests.lazy import lazy

lab = lazy("benchmarks.lab")
bench = lazy("firstbreak_lab.bench")
corpus = lazy("firstbreak_lab.corpus")
diagnosers = lazy("firstbreak_lab.diagnosers")

FIGURES = json.loads(lab.RESULT.read_text())
EVERY = 15  #: how many runs share one that is diagnosed again: enough to notice a changed threshold, in seconds


def test_every_run_of_the_corpus_is_in_the_table() -> None:
    assert sorted(FIGURES["answers"]) == corpus.archives(lab.CORPUS)


def test_the_answers_are_those_of_the_code() -> None:
    def the_same(archive: str) -> None:
        with corpus.opened(lab.CORPUS, archive) as (folder, label):
            answer, error = bench.answer_of(diagnosers.diagnosers()[lab.OURS], read(folder))
        row = bench.BenchRow(label=label, kind="", answer=answer, seconds=0.0, error=error)
        assert lab.said(row) == FIGURES["answers"][archive], "run `make bench`"

    every(sorted(FIGURES["answers"])[::EVERY], the_same)


def test_every_injected_cause_can_be_named_in_its_run() -> None:
    """A cause that does not apply to a method can never be right, however it is weighed."""
    one_of_each = {
        (of.variant, of.base): (archive, of) for archive, of in corpus.labels(lab.CORPUS).items() if of.cause
    }
    for archive, of in one_of_each.values():
        with corpus.opened(lab.CORPUS, archive) as (path, _):
            assert causes()[of.cause].applies(Inputs(read(path))), archive
