import json
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.readers import Unreadable, swanlab
from tests.readers.blocklog import block_log, field, varint

pytestmark = pytest.mark.slow  # real loggers write the data

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
HEADER = b":SWL\xd6\xe1\x02"

WRITER = """if True:
    import sys, swanlab
    config = {"lr": 1e-3, "model": {"layers": [1, 2]}, "sort": "asc"}
    swanlab.init(project="p", config=config, logdir=sys.argv[1], mode="offline")
    for i in range(30):
        swanlab.log({"train/loss": 1 / (i + 1), "zero": 0.0, "bad": float("nan")}, step=i * 5)
    swanlab.log({"inf": float("-inf"), "note": swanlab.Text("hello")}, step=7)
    swanlab.finish()
"""


@pytest.mark.thorough
def test_a_real_run(tmp_path):
    pytest.importorskip("swanlab")
    subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path)], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )
    folder = next(tmp_path.glob("run-*"))
    assert swanlab.claims(folder)
    recording = swanlab.read(folder)
    curves = recording.curves
    assert list(curves) == ["train/loss", "zero", "bad", "inf"]
    np.testing.assert_array_equal(curves["train/loss"].values, 1 / np.arange(1, 31))
    np.testing.assert_array_equal(curves["zero"].index, np.arange(0, 150, 5))
    assert not curves["zero"].values.any()
    assert np.isnan(curves["bad"].values).all()
    assert curves["inf"].values.tolist() == [-np.inf]
    assert curves["inf"].times[0] > 1.7e9
    assert recording.config == {"lr": 1e-3, "model.layers": [1, 2], "sort": "asc"}
    assert recording.damage == recording.notes == []
    file = next(folder.glob("*.swanlab"))
    assert swanlab.sniff(file, file.read_bytes()[:4096])
    assert swanlab.read(file).curves.keys() == curves.keys()


def point(name: str, step: int, value: float) -> bytes:
    number = field(5, varint(1 << 3 | 1) + struct.pack("<d", value)) if value else field(5, b"")
    return field(13, field(1, name) + (field(2, step) if step else b"") + field(4, field(1, 100)) + number)


@ANY_FILE
@given(
    st.lists(st.tuples(st.sampled_from(["loss", "a/é"]), st.integers(-5, 10**12), st.floats(allow_nan=False))),
    st.floats(0, 1),
)
def test_a_file_cut_anywhere_gives_its_whole_points_and_goes_on_from_there(tmp_path, points, fraction):
    whole = block_log(HEADER, (point(*p) for p in points))
    path = tmp_path / "run-x.swanlab"
    path.write_bytes(whole[: round(len(whole) * fraction)])
    first = swanlab.read(path)
    path.write_bytes(whole)
    second = swanlab.read(path, resume=first.resume)
    found: dict[str, list[tuple[float, float]]] = {}
    for recording in (first, second):
        for name, curve in recording.curves.items():
            found.setdefault(name, []).extend(zip(curve.index, curve.values, strict=True))
    expected: dict[str, list[tuple[float, float]]] = {}
    for name, step, value in points:
        expected.setdefault(name, []).append((float(step), value))
    assert found == expected


def test_how_a_run_ended(tmp_path):
    path = tmp_path / "run-x.swanlab"
    path.write_bytes(block_log(HEADER, [field(10, field(12, field(1, 50)))]))
    assert swanlab.read(path).order == 50
    assert swanlab.read(path).notes == ["no finish record: the run is still going on, or was killed"]
    path.write_bytes(block_log(HEADER, [field(11, field(1, 2))]))
    assert swanlab.read(path).notes == ["the run crashed"]


@ANY_FILE
@given(st.lists(st.binary(max_size=40), max_size=9))
def test_records_that_are_no_swanlab_records(tmp_path, records):
    path = tmp_path / "run-x.swanlab"
    path.write_bytes(block_log(HEADER, [*records, *(field(13, record) for record in records), point("loss", 3, 2.0)]))
    assert 2.0 in swanlab.read(path).curves["loss"].values


def test_another_version_of_the_format(tmp_path):
    (tmp_path / "run-x.swanlab").write_bytes(b":SWL\xd6\xe1\x09" + bytes(50))
    with pytest.raises(Unreadable, match="version"):
        swanlab.read(tmp_path / "run-x.swanlab")


def test_text_logs_without_a_record_file(tmp_path):
    folder = tmp_path / "run-1"
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "swanlab-metadata.json").write_text("{}")
    time = "2026-11-21T10:52:27+00:00"
    for column, slices in {"train%2Floss": [[1.5, "NAN"], ["INF"]], "4": [[7]], "5": [[["a.png"]]]}.items():
        (folder / "logs" / column).mkdir(parents=True)
        step = 0
        for number, values in enumerate(slices, 1):
            with (folder / "logs" / column / f"{number}000.log").open("w") as file:
                for value in values:
                    print(json.dumps({"index": step, "data": value, "create_time": time}), file=file)
                    step += 1
    (folder / "logs" / "4" / "1000.log").open("a").write("{}\nnonsense\n")
    assert swanlab.claims(folder)
    recording = swanlab.read(folder)
    np.testing.assert_array_equal(recording.curves["train/loss"].values, [1.5, np.nan, np.inf])
    np.testing.assert_array_equal(recording.curves["train/loss"].index, [0, 1, 2])
    assert recording.curves["4"].values.tolist() == [7]
    assert set(recording.curves) == {"train/loss", "4"}
    assert recording.damage == ["logs: left out 2 lines that hold no point; copy the folder again"]
    assert len(recording.notes) == 1
    assert swanlab.read(folder, resume=recording.resume).curves == {}


def test_an_empty_folder(tmp_path):
    assert not swanlab.claims(tmp_path)
    with pytest.raises(Unreadable, match="no record file"):
        swanlab.read(tmp_path)
