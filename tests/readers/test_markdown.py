"""Markdown tables of metrics."""

from __future__ import annotations

import pytest

from firstbreak.readers import markdown
from tests.readers.files import file_of, points, read


def test_a_heading_with_a_table_for_each_step():
    text = "# My run\n\nSome words.\n\n" + "".join(
        f"## Step {i} (warm-up)\n\n| Metric | Value |\n|:---|---:|\n| **reward** | {i / 4} |\n| `kl` | 1e-3 |\n"
        f"| clipped | 25% |\n| note | fine |\n\nIt goes well | so far.\n\n"
        for i in range(4)
    )
    recording = read(markdown, text, "log.md")
    assert points(recording, "step") == [(i, i) for i in range(4)]
    assert points(recording, "reward") == [(i, i / 4) for i in range(4)]
    assert points(recording, "clipped") == [(i, 0.25) for i in range(4)]


def test_a_row_for_each_step():
    text = "| Training Loss | Step | Reward |\n|:--:|--|--|\n| No log | 10 | 0.5 |\n| 0.4 | 20 | nan |\n| 0.3 | 30 | None |\n"
    recording = read(markdown, text, "README.md")
    assert points(recording, "Step") == [(0, 10), (1, 20), (2, 30)]
    assert points(recording, "Training Loss") == [(1, 0.4), (2, 0.3)]
    assert points(recording, "Reward") == [(0, 0.5), (1, "nan")]
    assert recording.nulls["Reward"].tolist() == [2]


@pytest.mark.parametrize(
    "text",
    [
        "# A model\n\nJust words.\n",
        "| Model | Score |\n|---|---|\n| a | 1 |\n| b | 2 |\n| c | 3 |\n| d | 4 |\n",
        "| Option | Value |\n|---|---|\n| lr | 0.1 |\n",
        "| Step | What to do |\n|---|---|\n| 1 | install |\n| 2 | run |\n| 3 | read |\n",
        "## Step 1: install\n\n| Package | Version |\n|---|---|\n| torch | 2.8 |\n",
    ],
)
def test_other_tables_are_left_alone(text: str):
    with file_of(text, "README.md") as path:
        assert not markdown.sniff(path, text.encode())
