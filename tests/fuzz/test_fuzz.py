"""A short slice of the fuzzing in every test run; `python -m tests.fuzz.run` does the rest."""

from __future__ import annotations

import random

import pytest

from firstbreak.engine.registry import readers
from tests.fuzz.mutate import MUTATIONS, mutate
from tests.fuzz.run import fuzz
from tests.fuzz.seeds import seeds


@pytest.mark.parametrize("name", sorted(seeds()))
def test_mutants_end_in_a_recording_or_in_one_line(name: str):
    tally = fuzz(name, executions=400, seed=1)
    assert tally.executions == 400
    assert not tally.crashes, dict(tally.first)


@pytest.mark.parametrize("name", sorted(seeds()))
def test_the_seeds_are_whole_files_of_their_reader(name: str, tmp_path):
    for file, data in seeds()[name]:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        assert readers()[name].sniff(path, data[:4096])
        recording = readers()[name].read(path)
        assert recording.curves or recording.config or recording.has_samples, file


def test_a_broken_reader_is_caught(monkeypatch: pytest.MonkeyPatch):
    def crash(path, resume=None):
        raise KeyError("oops")

    monkeypatch.setattr(readers()["csv"], "read", crash)
    tally = fuzz("csv", executions=10, seed=0)
    assert sum(tally.crashes.values()) == 10


def test_mutants_differ_and_can_be_made_again():
    data = b"step,loss\n1,0.5\n2,0.25\n" * 4
    mutants = [mutate(random.Random(i), data, b"other") for i in range(200)]
    assert len(set(mutants)) > 190
    assert mutants == [mutate(random.Random(i), data, b"other") for i in range(200)]
    for mutation in MUTATIONS:
        assert any(mutation(random.Random(i), bytearray(data), b"other") != data for i in range(20)), mutation
