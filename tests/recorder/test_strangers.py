"""The scripts of strangers: what is written down of them holds, and one of them is made and judged."""

from pathlib import Path

import pytest
from benchmarks.recorder import strangers

from firstbreak.model import Link

FAULT = "rew_upper"  #: of the quickest loop: the verifier wants upper case


@pytest.mark.parametrize("name", strangers.SETS)
def test_every_run_has_a_script_and_a_link_or_is_sound(name: str) -> None:
    for run, row in strangers.planned(name).items():
        assert (strangers.HERE / name / row["command"][0]).is_file(), run
        assert row["link"] is None or row["link"] in set(Link), run
        assert row["link"] or not row["effect"], run


@pytest.mark.thorough
@pytest.mark.trainer
def test_a_strangers_fault_is_made_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = strangers.planned("loop_2")
    monkeypatch.setattr(strangers, "planned", lambda name: {FAULT: planned[FAULT]})
    strangers.make(tmp_path, "loop_2")
    found = strangers.score(tmp_path, "loop_2")
    assert (found["harmful"], found["right"]) == (1, 1), found
