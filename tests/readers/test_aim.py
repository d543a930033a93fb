import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from firstbreak import read
from firstbreak.readers import Unreadable, aim
from firstbreak.readers.follow import Follower
from tests.waiting import until

pytestmark = pytest.mark.slow  # real loggers write the data

WRITER = """if True:
    from aim import Run, Text
    def start(name):
        quiet = dict(system_tracking_interval=None, log_system_params=False, capture_terminal_logs=False)
        run = Run(repo=".", **quiet)
        run.name = name
        return run
"""
TWO_RUNS = (
    WRITER
    + """
    for name, scale in ("first", 1.0), ("second", 2.0):
        run = start(name)
        run["hparams"] = {"learning_rate": 3e-4, "nested": {"gamma": 0.99}, "algo": "ppo"}
        run["seed"] = 7
        for step in range(0, 400, 2):
            run.track(scale / (step + 1), name="loss", step=step, context={"subset": "train"})
            run.track(float(step), name="reward", step=step)
        for step in range(0, 400, 100):
            run.track(scale, name="loss", step=step, context={"subset": "val"})
            run.track(Text("Once upon a time"), name="story", step=step)
        run.track(float("nan"), name="odd", step=0, context={"gpu": 1})
        run.track(float("inf"), name="odd", step=1, context={"gpu": 1})
        run.close()
"""
)
LIVE = (
    WRITER
    + """
    run, step = start("live"), 0
    for line in iter(input, "stop"):
        for step in range(step, step + int(line)):
            run.track(step, name="loss", step=step)
        step += 1
        print(step, flush=True)
    run.close()
"""
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("aim")
    folder = tmp_path_factory.mktemp("aim")
    subprocess.run([sys.executable, "-c", TWO_RUNS], cwd=folder, check=True, capture_output=True)
    return folder / ".aim"


class Writer:
    """A process with an open run, which tracks as many points as it is told to."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("aim")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-c", LIVE], cwd=folder, text=True, **pipes)

    def track(self, points: int) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{points}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.communicate("stop\n")


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


def test_a_real_run(repository):
    assert aim.claims(repository)
    assert aim.runs(repository) == ["first", "second"]
    recording = aim.read(Path(f"{repository}#second"))
    loss = recording.curves["train/loss"]
    np.testing.assert_array_equal(loss.index, np.arange(0, 400, 2))
    np.testing.assert_array_equal(loss.values, 2 / (np.arange(0, 400, 2) + 1))
    assert loss.times[0] > 1.7e9
    assert recording.curves["val/loss"].values.tolist() == [2.0] * 4
    assert recording.curves["reward"].values.tolist() == np.arange(0, 400, 2).tolist()
    np.testing.assert_array_equal(recording.curves["odd[gpu=1]"].values, [np.nan, np.inf])
    assert recording.config == {"learning_rate": 3e-4, "nested.gamma": 0.99, "algo": "ppo", "seed": 7}
    assert recording.indexed_by == "step"
    assert recording.order > 1.7e9
    assert recording.notes == ["texts, left out: story"]


def test_what_a_user_sees(repository):
    run = read(f"{repository}#first")
    assert {"loss.total", "eval.loss", "reward.mean"} <= run.series.keys()
    assert run.config.values["learning_rate"] == 3e-4


def test_a_run_must_be_chosen(repository):
    for path in (repository, repository.parent):
        with pytest.raises(Unreadable, match=r"holds 2 runs; choose one of \.aim#first, \.aim#second$"):
            read(path)
    with pytest.raises(Unreadable, match="holds no run 'third'"):
        read(f"{repository}#third")


def test_the_repository_stays_as_it_is(repository):
    before = contents(repository)
    aim.read(Path(f"{repository}#first"))
    assert contents(repository) == before


@pytest.mark.thorough
def test_a_live_run_is_followed_and_its_writer_not_disturbed(tmp_path):
    writer = Writer(tmp_path)
    try:
        assert writer.track(50) == 50
        follower = Follower(tmp_path)
        before = contents(tmp_path)
        assert follower.update()
        assert contents(tmp_path) == before
        assert len(follower.run().series["loss.total"]) == 50
        assert "going on" in " ".join(follower.run().notes)
        assert not follower.update()
        assert writer.track(5000) == 5050  # enough for RocksDB to replace files
        assert until(lambda: follower.update() and len(follower.run().series["loss.total"]) == 5050)
        assert follower.run().series["loss.total"].values.tolist() == list(range(5050))
    finally:
        writer.stop()
    assert writer.process.returncode == 0
    recording = aim.read(tmp_path / ".aim")
    assert len(recording.curves["loss"].values) == 5050
    assert recording.notes == []


@pytest.mark.thorough
def test_a_killed_run(tmp_path):
    writer = Writer(tmp_path)
    written = writer.track(700)
    os.kill(writer.process.pid, signal.SIGKILL)
    writer.process.communicate()
    recording = aim.read(tmp_path / ".aim")
    np.testing.assert_array_equal(recording.curves["loss"].values, np.arange(written))
    assert "was killed" in " ".join(recording.notes)


def test_damage_is_refused_in_one_line(repository, tmp_path):
    rng = random.Random(0)
    files = [file for file in repository.rglob("*") if file.suffix in (".sst", ".log") or "MANIFEST" in file.name]
    messages = []
    for trial in range(8):
        copy = tmp_path / str(trial) / ".aim"
        shutil.copytree(repository, copy)
        damaged = copy / rng.choice(files).relative_to(repository)
        data = bytearray(damaged.read_bytes())
        for _ in range(rng.choice((1, 20))):
            if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        damaged.write_bytes(data[: rng.choice((len(data), rng.randint(0, len(data))))])
        for name in ("first", "second"):
            try:
                messages += aim.read(Path(f"{copy}#{name}")).damage
            except Unreadable as error:
                messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)


def test_links_and_foreign_paths_are_not_followed(repository, tmp_path):
    copy = tmp_path / ".aim"
    shutil.copytree(repository, copy)
    with sqlite3.connect(copy / "run_metadata.sqlite") as db:
        db.execute("UPDATE run SET hash = '../../..' WHERE name = 'second'")
    assert aim.runs(copy) == ["first"]
    for points in (copy / "seqs" / "chunks").rglob("*.sst"):
        points.unlink()
        points.symlink_to("/dev/zero")
    recording = aim.read(copy)
    assert recording.curves == {}
    assert len(recording.damage) == 4


def test_without_aim_a_repository_is_named_with_the_way_to_export_it(tmp_path, monkeypatch):
    folder = tmp_path / ".aim"
    assert not aim.claims(folder)
    for part in ("meta", "seqs"):
        (folder / part / "chunks" / "abc").mkdir(parents=True)
    with sqlite3.connect(folder / "run_metadata.sqlite") as db:
        db.execute("CREATE TABLE run (hash TEXT, name TEXT, is_archived BOOLEAN, created_at DATETIME)")
        db.execute("INSERT INTO run VALUES ('abc', 'only', NULL, '2026-01-01 00:00:00.0')")
    assert aim.claims(folder)
    monkeypatch.setitem(sys.modules, "aim.sdk.repo", None)
    with pytest.raises(Unreadable, match=r"only Aim can decode; install it .*or export .*to_csv"):
        aim.read(folder)
