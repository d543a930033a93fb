"""Loggers that write one file per metric."""

import numpy as np
import pytest

from firstbreak.readers import Unreadable, csv, dvclive, torchrl_csv
from firstbreak.readers.read import read as read_run
from tests.readers.files import file_of, points, read

pytestmark = pytest.mark.slow  # real loggers write the data


def test_torchrl_takes_the_name_from_the_path():
    recording = read(torchrl_csv, "0,1.5\n10,nan\n", "exp/scalars/train/reward.csv")
    assert recording.indexed_by == "step"
    assert points(recording, "train/reward") == [(0, 1.5), (10, "nan")]
    assert set(read(torchrl_csv, "0,1.5\n", "reward.csv").curves) == {"reward"}


def test_a_real_logger_of_torchrl(tmp_path):
    loggers = pytest.importorskip("torchrl.record.loggers.csv")
    logger = loggers.CSVLogger(exp_name="exp", log_dir=str(tmp_path))
    logger.log_hparams({"lr": 3e-4, "env": "CartPole-v1", "loss": {"gamma": 0.99}, "wide": None})
    for step in range(0, 50, 10):
        logger.log_scalar("train/reward", 1.5 * step, step=step)
        logger.log_scalar("loss_objective", float("nan") if step == 20 else 0.5, step=step)
    run = read_run(tmp_path)
    assert run.formats == ("torchrl_csv",)
    assert run.series["reward.mean"].values.tolist() == [0.0, 15.0, 30.0, 45.0, 60.0]
    assert run.series["reward.mean"].steps.tolist() == [0, 10, 20, 30, 40]
    assert np.isnan(run.unknown["loss_objective"].values).sum() == 1
    assert run.config.raw == {"env": "CartPole-v1", "loss.gamma": 0.99, "lr": 3e-4, "wide": None}


def test_options_that_are_none_are_refused():
    with file_of("nothing here\n", "exp/texts/hparams0.txt") as path, pytest.raises(Unreadable, match="no options"):
        torchrl_csv.read(path)


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
