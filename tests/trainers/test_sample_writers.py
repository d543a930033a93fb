"""The code of trainers that writes samples: what it writes is read."""

import sys
from pathlib import Path

import pytest

from firstbreak.readers.read import read
from firstbreak.readers.tool_turns import tool_turns
from tests.trainers.sample_writers import WRITERS, Row

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
ROWS = [Row(step, "How many?", EPISODE, float(i)) for step in (1, 2) for i in range(2)]


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_trainer_writes_is_read(writer: str, tmp_path: Path) -> None:
    trainer = writer.partition("_")[0]
    if trainer == "trl":
        pytest.importorskip("trl")
    elif not (Path(sys.prefix) / "trackers" / trainer).exists():
        pytest.skip(f"{trainer} is not installed: make setup-test")
    WRITERS[writer](tmp_path, ROWS)
    samples = list(read(tmp_path).samples or ())
    assert [(s.step, s.reward) for s in samples] == [(r.step, r.reward) for r in ROWS]
    for sample in samples:
        assert "How many?" in sample.prompt
        assert sample.completion.endswith("There are three.<|im_end|>")
        assert [turn.tool for turn in tool_turns(sample.completion)] == ["search"]
