"""Markdown tables of metrics."""

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


def test_a_counter_says_how_far_the_run_is():
    text = "| Steps | Acc |\n|---|---|\n| 1\u201380 | 0.25 |\n| **81-160** | 0.5 |\n| 240/2200 | 0.75 |\n"
    recording = read(markdown, text, "log.md")
    assert points(recording, "Steps") == [(0, 80), (1, 160), (2, 240)]


def test_underscores_inside_a_name_are_no_emphasis():
    rows = "".join(f"| {i} | **{i}.5** | _{i}_ |\n" for i in range(3))
    recording = read(markdown, f"| step (cum) | reward_mean | _kl_ |\n|---|---|---|\n{rows}", "log.md")
    assert list(recording.curves) == ["step", "reward_mean", "kl"]


def test_the_largest_table_is_the_run_with_those_of_the_same_steps():
    def rows(*steps: int, **names: float) -> str:
        cells = "".join(f"| {s} | {' | '.join(str(v * s) for v in names.values())} |\n" for s in steps)
        return f"| step | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n{cells}\n"

    text = rows(1, 2, 3, 4, reward=1, kl=2) + "Another run:\n" + rows(5, 6, 7, reward=9, loss=9)
    recording = read(markdown, text + rows(1, 2, 3, 4, entropy=3), "log.md")
    assert set(recording.curves) == {"step", "reward", "kl", "entropy"}
    assert [value for _, value in points(recording, "reward")] == [1, 2, 3, 4]


def test_a_monitor_that_repeats_a_measurement_counts_it_once_and_says_that_the_run_stands():
    seen = [(10, 0.25), (10, 0.25), (20, 0.5), (30, 0.5), (30, 0.5), (30, 0.5)]
    rows = "".join(f"| 23:{i}:00 | {step}/90 | {value} |\n" for i, (step, value) in enumerate(seen, 10))
    recording = read(markdown, "| Time | Iteration | rg (Success) |\n|---|---|---|\n" + rows, "monitor.md")
    assert [value for _, value in points(recording, "Iteration")] == [10, 20, 30]
    assert recording.notes == ["the last 2 rows repeat the one before: the run stood still, or had ended"]


def test_quoted_lines_of_a_log_are_read_where_there_is_no_table():
    lines = "".join(f"Episode {5 * i}: Reward={i / 4}, KL=0.5\n" for i in range(1, 11))
    recording = read(markdown, f"# Report\n\nThe log:\n\n```\n{lines}```\n", "summary.md")
    assert recording.format == "markdown"
    assert [value for _, value in points(recording, "Reward")] == [i / 4 for i in range(1, 11)]
    with file_of(lines, "README.md") as path:
        assert not markdown.sniff(path, lines.encode())


@pytest.mark.parametrize(
    "text",
    [
        "# Usage\n\n```\nEpisode 5: Reward=0.5\nEpisode 10: Reward=0.6\n```\n",
        "# Options\n\n" + "".join(f"- option_{i}: {i}\n" for i in range(20)),
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


def test_a_table_may_count_in_the_names_of_a_trainer():
    rows = "".join(f"| {i}.5 | {i}0 |\n" for i in range(1, 5))
    recording = read(markdown, f"| episode_reward_mean | episodes_total |\n|---|---|\n{rows}", "progress.md")
    assert points(recording, "episode_reward_mean") == [(i - 1, i + 0.5) for i in range(1, 5)]
