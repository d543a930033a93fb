"""Loggers that write one file per metric."""

from __future__ import annotations

from firstbreak.readers import csv, dvclive, torchrl_csv
from tests.readers.files import file_of, points, read


def test_torchrl_takes_the_name_from_the_path():
    recording = read(torchrl_csv, "0,1.5\n10,nan\n", "exp/scalars/train/reward.csv")
    assert recording.indexed_by == "step"
    assert points(recording, "train/reward") == [(0, 1.5), (10, "nan")]
    assert set(read(torchrl_csv, "0,1.5\n", "reward.csv").curves) == {"reward"}


def test_torchrl_resumes():
    with file_of("0,1.5\n10,2.", "scalars/a.csv") as path:
        first = torchrl_csv.read(path)
        path.write_text("0,1.5\n10,2.5\n")
        assert points(torchrl_csv.read(path, first.resume), "a") == [(10, 2.5)]


def test_torchrl_leaves_other_tables_alone():
    for text in ("1,2,3\n", "step,value\n1,2\n", "0.5,1\n"):
        with file_of(text, "a.csv") as path:
            assert not torchrl_csv.sniff(path, text.encode())
            assert csv.sniff(path, text.encode())


def test_dvclive_takes_the_name_from_the_path():
    recording = read(dvclive, "step\tloss\n0\t0.5\n1\tnan\n2\t\n", "dvclive/plots/metrics/train/loss.tsv")
    assert recording.indexed_by == "step"
    assert points(recording, "train/loss") == [(0, 0.5), (1, "nan")]


def test_dvclive_without_points_is_empty():
    assert read(dvclive, "step\tloss\n", "dvclive/plots/metrics/loss.tsv").curves == {}
