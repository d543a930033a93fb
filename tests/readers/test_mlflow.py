import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from firstbreak.readers import Unreadable, mlflow_sqlite, mlflow_store

pytestmark = pytest.mark.slow  # real loggers write the data

WRITER = """if True:
    import os, sys
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # MLflow 3.17 refuses the file store otherwise
    import mlflow
    mlflow.set_tracking_uri(sys.argv[1])
    mlflow.set_experiment("exp")
    for name in ("first", "second"):
        with mlflow.start_run(run_name=name):
            mlflow.log_params({"lr": 1e-3, "algo": "ppo", "anneal": True})
            for i in range(20):
                mlflow.log_metric("train/loss", 1 / (i + 1), step=i * 10)
            mlflow.log_metrics({"nan": float("nan"), "inf": float("inf"), "low": float("-inf")}, step=5)
"""


def write(uri: str) -> None:
    pytest.importorskip("mlflow")
    subprocess.run([sys.executable, "-c", WRITER, uri], check=True, capture_output=True)


def check_first_run(recording) -> None:
    loss = recording.curves["train/loss"]
    np.testing.assert_array_equal(loss.index, np.arange(0, 200, 10))
    np.testing.assert_array_equal(loss.values, 1 / np.arange(1, 21))
    assert loss.times[0] > 1.7e9
    ends = {name: recording.curves[name].values.tolist() for name in ("inf", "low")}
    assert ends == {"inf": [np.inf], "low": [-np.inf]}
    assert np.isnan(recording.curves["nan"].values).all()
    assert recording.config == {"lr": 1e-3, "algo": "ppo", "anneal": True}
    assert recording.indexed_by == "step"
    assert recording.order > 1.7e9
    assert recording.damage == recording.notes == []


# --- database --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_database(tmp_path_factory) -> Path:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("alembic")
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    write(f"sqlite:///{path}")
    return path


@pytest.mark.thorough
def test_a_real_database(real_database):
    assert mlflow_sqlite.sniff(real_database, real_database.read_bytes()[:4096])
    assert mlflow_sqlite.runs(real_database) == ["first", "second"]
    check_first_run(mlflow_sqlite.read(Path(f"{real_database}#first")))
    with pytest.raises(Unreadable, match=r"holds 2 runs; choose one of mlflow\.db#first, mlflow\.db#second"):
        mlflow_sqlite.read(real_database)


def database(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE experiments (experiment_id INTEGER)")
    db.execute("CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT, lifecycle_stage TEXT)")
    db.execute("CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT)")
    db.execute("CREATE TABLE metrics (key, value FLOAT, timestamp BIGINT, run_uuid, step BIGINT, is_nan BOOLEAN)")
    db.execute("INSERT INTO runs VALUES ('id1', 'gone', 'FINISHED', 0, 'deleted'), ('id2', '', 'RUNNING', 5, 'active')")
    return db


def log(db: sqlite3.Connection, *steps: int) -> None:
    db.executemany("INSERT INTO metrics VALUES ('loss', ?, 1000, 'id2', ?, 0)", [(s / 2, s) for s in steps])


def test_a_live_database_with_a_deleted_run(tmp_path):
    path = tmp_path / "mlflow.db"
    db = database(path)
    log(db, 0, 1)
    first = mlflow_sqlite.read(path)
    assert first.curves["loss"].values.tolist() == [0, 0.5]
    assert first.notes == ["MLflow's status of the run: RUNNING"]
    log(db, 2, 1)
    second = mlflow_sqlite.read(path, resume=first.resume)
    assert second.curves["loss"].index.tolist() == [2, 1]
    assert not second.replaces
    assert mlflow_sqlite.read(path, resume=second.resume).curves == {}
    db.close()


def test_a_value_that_is_text_is_no_number(tmp_path):
    db = database(tmp_path / "mlflow.db")
    log(db, 0, 1)
    db.execute("INSERT INTO metrics VALUES ('loss', 'abc', 1000, 'id2', 2, 0)")
    assert mlflow_sqlite.read(tmp_path / "mlflow.db").curves["loss"].values.tolist() == [0, 0.5]


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_real_file_store(tmp_path):
    write(f"file://{tmp_path}/mlruns")
    claimed = sorted(f for f in tmp_path.rglob("*") if f.is_dir() and mlflow_store.claims(f))
    assert len(claimed) == 2
    assert claimed[0].parent == claimed[1].parent
    first = next(f for f in claimed if (f / "tags" / "mlflow.runName").read_text() == "first")
    check_first_run(mlflow_store.read(first))


@pytest.fixture
def run(tmp_path) -> Path:
    (tmp_path / "metrics" / "train").mkdir(parents=True)
    (tmp_path / "params").mkdir()
    (tmp_path / "meta.yaml").write_text("start_time: 1500\nstatus: 1\n")
    return tmp_path


def test_a_live_file_store(run):
    loss = run / "metrics" / "train" / "loss"
    loss.write_text("1000 0.5 0\n2000 nan 1\n3000 0.2")
    first = mlflow_store.read(run)
    np.testing.assert_array_equal(first.curves["train/loss"].values, [0.5, np.nan])
    assert first.curves["train/loss"].times.tolist() == [1, 2]
    assert first.order == 1.5
    assert first.notes == ["MLflow's status of the run: RUNNING"]
    with loss.open("a") as file:
        file.write("5 2\n")
    (run / "metrics" / "kl").write_text("1 2 3\n")
    second = mlflow_store.read(run, resume=first.resume)
    assert second.curves["train/loss"].values.tolist() == [0.25]
    assert second.curves["kl"].index.tolist() == [3]
    loss.write_text("9 9 9\n")
    third = mlflow_store.read(run, resume=second.resume)
    assert third.replaces
    assert third.curves["train/loss"].values.tolist() == [9]
    assert third.curves["kl"].values.tolist() == [2]


def test_lines_of_the_time_before_steps_and_broken_lines(run):
    (run / "metrics" / "loss").write_bytes(b"1 0.5\n2 0.25\n\xff\xfe\n1 2 3 4\n4 0.125\n")
    recording = mlflow_store.read(run)
    assert recording.curves["loss"].index.tolist() == [0, 1, 4]
    assert recording.damage == ["metrics/loss: left out 2 lines that are no `time value step`; copy it again"]


def test_a_folder_with_a_loop_of_links(run):
    (run / "metrics" / "loop").symlink_to(run, target_is_directory=True)
    (run / "metrics" / "dangling").symlink_to(run / "absent")
    (run / "metrics" / "loss").write_text("1 2 3\n")
    (run / "meta.yaml").write_text(": [")
    recording = mlflow_store.read(run)
    assert recording.curves["loss"].values.tolist() == [2]
    assert any("dangling" in line for line in recording.unread)
    assert any("meta.yaml" in line for line in recording.damage)


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(Unreadable, match="no MLflow run"):
        mlflow_store.read(tmp_path)
