"""A short slice of the fuzzing in every test run; `python -m tests.fuzz.run` does the rest."""

import json
import random
import sys

import pytest

from firstbreak.readers import readers
from firstbreak.readers.opening import head_of
from tests.fuzz import run
from tests.fuzz.mutate import MUTATIONS, mutate
from tests.fuzz.run import fuzz, lay_out
from tests.fuzz.seeds import names, seeds


@pytest.mark.parametrize("name", names())
def test_mutants_end_in_a_recording_or_in_one_line(name: str):
    tally = fuzz(name, executions=150, seed=1)
    assert tally.executions == 150
    assert not tally.crashes, dict(tally.first)


@pytest.mark.parametrize("name", names())
def test_the_seeds_are_whole_files_of_their_reader(name: str, tmp_path):
    for file, data in seeds(name):
        place = lay_out(name, tmp_path, file)
        (tmp_path / file).write_bytes(data)
        assert readers()[name].sniff(tmp_path / file, head_of(tmp_path / file)) or place.is_dir()
        recording = readers()[name].read(place)
        assert recording.curves or recording.config or recording.has_samples, file


def test_tallies_of_other_readers_stay(tmp_path, monkeypatch: pytest.MonkeyPatch):
    tallies = tmp_path / "fuzz.json"
    for reader in ("npy", "monitor"):
        command = ["fuzz", "--reader", reader, "--executions", "3", "--output", str(tallies)]
        monkeypatch.setattr(sys, "argv", command)
        monkeypatch.setattr(run, "limit_memory", lambda: None)
        assert run.main() == 0
    found = json.loads(tallies.read_text())
    assert (found["executions"], found["readers"].keys()) == (6, {"monitor", "npy"})


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
