"""The code of trainers that writes samples: what it writes is read, and what somebody else wrote is not counted as theirs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.statements.carriers.__main__ import counted
from benchmarks.statements.carriers.carrier import carriers
from benchmarks.statements.carriers.dumps import WRITERS, Row
from benchmarks.statements.carriers.trainers_code import BY_HAND, by_trainer, writers_of

from firstbreak.readers.read import read
from firstbreak.readers.tool_turns import tool_turns

EPISODE = """I look.
<tool_call>
{"name": "search", "arguments": {"item": "lamp"}}
</tool_call><|im_end|>
<|im_start|>tool
<tool_response>
three lamps
</tool_response><|im_end|>
<|im_start|>assistant
There are three.<|im_end|>"""
ROWS = [Row(step, "How many?", EPISODE, {"success": float(i)}, group=1) for step in (1, 2) for i in range(2)]


@pytest.mark.parametrize(
    ("writer", "name"), [("trl", "TRL"), ("verl", "verl"), ("verl_v1", "verl"), ("areal", "AReaL")]
)
def test_what_a_trainer_writes_is_read_and_counted(writer: str, name: str, tmp_path: Path) -> None:
    if name != "TRL" and not (Path(sys.prefix) / "trackers" / name.lower()).exists():
        pytest.skip(f"{name} is not installed: make setup-test")
    WRITERS[writer](tmp_path, ROWS)
    assert writers_of(tmp_path) == {name}
    samples = list(read(tmp_path).samples)
    assert [(s.step, s.reward) for s in samples] == [(r.step, r.reward) for r in ROWS]
    for sample in samples:
        assert "How many?" in sample.prompt
        assert sample.completion.endswith("There are three.<|im_end|>")
        assert [turn.tool for turn in tool_turns(sample.completion)] == ["search"]


def test_a_file_that_is_edited_or_begun_by_hand_is_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "1.jsonl"
    with by_trainer("TRL", tmp_path):
        file.write_text("a")
    assert writers_of(tmp_path) == {"TRL"}
    file.write_text("ab")
    assert writers_of(tmp_path) == {BY_HAND}
    with by_trainer("TRL", tmp_path):
        file.write_text("abc")
    assert writers_of(tmp_path) == {BY_HAND}


def test_pairs_are_counted_by_who_wrote_them() -> None:
    pytest.importorskip("trl")
    known = carriers()
    said = counted([known["carriers.second_people"], known["carriers.failed_calls_are_paid_in_data"]])
    assert said.startswith("2 of 7 dumps of samples (28.6%)") or not (Path(sys.prefix) / "trackers").exists()
