"""Readings of the machine: nvidia-smi and wandb, on the steps of the run beside them."""

import json
from pathlib import Path

import numpy as np
import pytest

from firstbreak.readers import Unreadable, nvidia_smi
from firstbreak.readers.read import read

HEAD = "timestamp, index, name, utilization.gpu [%], power.draw [W], memory.used [MiB], memory.total [MiB]\n"


def smi(path: Path, rows: int = 40, junk: str = "") -> Path:
    lines = [
        f"2026/11/20 10:{i // 6:02d}:{10 * (i % 6):02d}.000, {gpu}, H100, {50 + gpu} %, {300 + i}.50 W, 40960 MiB, 81920 MiB\n"
        for i in range(rows)
        for gpu in range(2)
    ]
    path.write_text(HEAD + "".join(lines) + junk)
    return path


def log(folder: Path, **columns: list[float]) -> None:
    rows = [{"step": i, "reward": 0.1 * i, **{k: v[i] for k, v in columns.items()}} for i in range(20)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_readings_of_nvidia_smi_are_spread_over_the_run(tmp_path: Path) -> None:
    smi(tmp_path / "gpu.csv", junk="2026/11/20 11:00:00.000, [N/A]\n")
    log(tmp_path)
    run = read(tmp_path)
    used = run.series["gpu.util@gpu 1"]
    assert (used.axis, len(used), used.steps[0], used.steps[-1]) == ("step", 40, 0, 19)
    assert set(used.values) == {51.0}
    assert run.series["memory.gpu@gpu 0"].values[0] == 40.0
    assert run.series["gpu.memory_share@gpu 0"].values[0] == 50.0
    assert run.series["gpu.power@gpu 0"].values[3] == 303.5
    assert any("spread over the steps" in note for note in run.notes)
    assert any("1 lines are no readings" in damage for damage in run.damage)


def test_a_clock_in_the_log_puts_readings_where_they_belong(tmp_path: Path) -> None:
    start = 1.79e9
    log(tmp_path, _timestamp=[start + 60 * i for i in range(20)])
    rows = [
        {"_timestamp": start + 10 * i, "_runtime": 10.0 * i, "system.gpu.0.gpu": 70.0, "system.cpu": 3.0}
        for i in range(60)
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    used = read(tmp_path).series["gpu.util"]
    assert np.allclose(np.diff(used.steps), 1 / 6)
    assert used.steps[-1] == pytest.approx(59 / 6)


def test_readings_alone_stay_on_their_clock(tmp_path: Path) -> None:
    run = read(smi(tmp_path / "gpu.csv"))
    assert run.series["gpu.util@gpu 0"].axis == "second"


def test_appended_readings_are_read_on(tmp_path: Path) -> None:
    first = nvidia_smi.read(smi(tmp_path / "gpu.csv", 3))
    smi(tmp_path / "gpu.csv", 5)
    later = nvidia_smi.read(tmp_path / "gpu.csv", first.resume)
    assert len(later.curves["system.gpu.0.gpu"].values) == 2
    assert not later.replaces


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "gpu.csv").write_text("")
    with pytest.raises(Unreadable, match="no header yet"):
        nvidia_smi.read(tmp_path / "gpu.csv")
