"""Neptune's and ClearML's offline sessions."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.readers import Unreadable, clearml, neptune

pytestmark = pytest.mark.slow  # real loggers write the data

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

NEPTUNE = """if True:
    import neptune
    run = neptune.init_run(mode="offline", project="a/b", capture_hardware_metrics=False, capture_stdout=False,
                           capture_stderr=False, git_ref=False, source_files=[])
    run["params"] = {"lr": 1e-3, "algo": "ppo", "net": {"norm": True}}
    for i in range(20):
        run["train/reward"].append(i / 4, step=i * 2)
    run.stop()
"""
CLEARML = """if True:
    import os, time
    from clearml import Task
    Task.set_offline(True)
    task = Task.init(project_name="p", task_name="t", auto_connect_frameworks=False, auto_resource_monitoring=False,
                     auto_connect_arg_parser=False)
    task.connect({"lr": 1e-3, "net": {"norm": True}})
    log = task.get_logger()
    for i in range(30):
        log.report_scalar("train", "reward", float("nan") if i == 20 else i / 4, i)
    log.report_single_value("final", 3)
    log.flush()
    written = task.get_offline_mode_folder() / "metrics.jsonl"
    while not written.exists() or '"final"' not in written.read_text():  # `flush(wait=True)` takes ten seconds
        time.sleep(0.1)
    os._exit(0)  # closing a task scans every installed package
"""


def start(program: str, folder: Path) -> None:
    environment = {**os.environ, "HOME": str(folder), "CLEARML_CACHE_DIR": str(folder), "CLEARML_OFFLINE_MODE": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=folder, env=environment)


# --- Neptune ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_real_neptune_run(tmp_path):
    pytest.importorskip("neptune")
    start(NEPTUNE, tmp_path)
    folder = next(tmp_path.glob(".neptune/offline/run__*"))
    assert neptune.claims(folder)
    recording = neptune.read(folder)
    assert list(recording.curves) == ["train/reward"]
    np.testing.assert_array_equal(recording.curves["train/reward"].values, np.arange(20) / 4)
    np.testing.assert_array_equal(recording.curves["train/reward"].index, np.arange(0, 40, 2))
    assert recording.config == {"params.lr": 1e-3, "params.algo": "ppo", "params.net.norm": True}
    assert recording.order > 1.7e9
    file = folder / "data-1.log"
    assert neptune.sniff(file, file.read_bytes()[:4096])
    assert neptune.read(file).curves.keys() == recording.curves.keys()


def operation(kind: str, name: str, **content: object) -> str:
    return json.dumps({"obj": {"type": kind, "path": name.split("/"), **content}, "version": 1, "at": 1.0}) + "\n"


def test_neptune_files_in_order_and_live(tmp_path):
    (tmp_path / "metadata.json").write_text("{}")
    for number, step in ((10, 2), (9, 1)):
        values = [{"value": step, "step": step, "ts": 5}]
        (tmp_path / f"data-{number}.log").write_text(operation("LogFloats", "loss", values=values))
    first = neptune.read(tmp_path)
    assert first.curves["loss"].index.tolist() == [1, 2]
    odd = operation("LogFloats", "loss", values=[{"value": 10**400, "step": 3, "ts": 6}])
    with (tmp_path / "data-10.log").open("a") as file:
        file.write(
            operation("LogFloats", "loss", values=[{"value": 3, "step": 3, "ts": 6}]) + odd + "{}\n[]\nnonsense\n{"
        )
    second = neptune.read(tmp_path, resume=first.resume)
    assert second.curves["loss"].index.tolist() == [3]
    assert second.damage == ["left out 4 lines that are no Neptune operation; copy the folder again"]


def test_a_folder_without_operations(tmp_path):
    with pytest.raises(Unreadable, match=r"data-\*\.log"):
        neptune.read(tmp_path)


# --- ClearML ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_real_clearml_session(tmp_path):
    pytest.importorskip("clearml")
    start(CLEARML, tmp_path)
    folder = next(tmp_path.glob("offline/offline-*"))
    assert clearml.claims(folder)
    recording = clearml.read(folder)
    expected = np.where(np.arange(30) == 20, 0, np.arange(30) / 4)
    assert list(recording.curves) == ["train/reward"]
    np.testing.assert_array_equal(recording.curves["train/reward"].values, expected)
    assert recording.notes == ["ClearML stored NaN or infinities as 0.0: a value of exactly 0 may be one"]
    assert recording.config == {"General.lr": 1e-3, "General.net.norm": True}


def event(step: float, value: object, kind: str = "training_stats_scalar") -> dict[str, object]:
    return {"timestamp": 1000, "type": kind, "iter": step, "metric": "train", "variant": "loss", "value": value}


@pytest.fixture
def session(tmp_path) -> Path:
    folder = tmp_path / "offline-1"
    folder.mkdir()
    options = {"Args": {"lr": {"value": "0.1"}, "net/norm": {"value": "True"}, "odd": 3}, "odd": None}
    (folder / "task.json").write_text(json.dumps({"hyperparams": options}))
    lines = [[event(0, 2.0), event(-(2**31), 9.0)], [event(1, 1.0), event(1, 0, kind="plot")]]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def zipped(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    return path


def test_a_zip_file_is_read_like_its_folder(session):
    path = zipped(session)
    assert clearml.sniff(path, path.read_bytes()[:4096])
    for place in (session, path):
        recording = clearml.read(place)
        assert recording.curves["train/loss"].values.tolist() == [2, 1]
        assert recording.curves["train/loss"].index.tolist() == [0, 1]
        assert recording.config == {"Args.lr": 0.1, "Args.net.norm": True}
        assert recording.notes == []


def test_a_live_session(session):
    first = clearml.read(session)
    with (session / "metrics.jsonl").open("a") as file:
        file.write(json.dumps([event(2, 0.5), {}, None]) + "\nnonsense\n" + json.dumps([event(3, 0.1)]))
    second = clearml.read(session, resume=first.resume)
    assert second.curves["train/loss"].index.tolist() == [2]
    assert "3 lines or events" in second.damage[0]


@ANY_FILE
@given(st.data())
def test_a_damaged_zip_file_is_read_or_refused(tmp_path, data):
    folder = tmp_path / "offline-1"
    folder.mkdir(exist_ok=True)
    (folder / "task.json").write_text("{}")
    (folder / "metrics.jsonl").write_text(json.dumps([event(i, i / 3) for i in range(50)]) + "\n")
    path = zipped(folder)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    assert clearml.sniff(path, bytes(content[:4096])) in (True, False)
    try:
        clearml.read(path)
    except Unreadable as error:
        assert str(path) in str(error)  # noqa: PT017
