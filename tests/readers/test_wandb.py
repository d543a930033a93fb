import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.readers import Unreadable, wandb
from tests.readers.blocklog import field, wandb_file, wandb_item, wandb_row
from tests.waiting import until

pytestmark = pytest.mark.slow  # real loggers write the data

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def read_bytes(path: Path, data: bytes, resume=None):
    path.write_bytes(data)
    return wandb.read(path, resume=resume)


# --- what wandb writes -----------------------------------------------------------------------------------------------

LOGGER = """if True:
    import sys, wandb
    settings = wandb.Settings(console="off", silent=True, x_disable_stats=True, x_disable_meta=True)
    config = {"lr": 1e-3, "optimizer": {"betas": [0.9, 0.95], "name": "adam"}, "seed": None}
    run = wandb.init(mode="offline", dir=sys.argv[1], project="p", config=config, settings=settings)
"""
FINISHED = (
    LOGGER
    + """
    for i in range(200):
        run.log({"train/reward": i / 4, "nest": {"deep": {"k": -i}}, "stage": "warm-up"}, step=i * 10)
    run.log({"train/reward": float("nan"), "kl": float("inf"), "h": wandb.Histogram([1, 2])}, step=5000)
    run.log({"train/reward": 1, "kl": float("-inf"), "ok": True}, step=5010)
    run.config.update({"later": 7})
    run.finish(exit_code=3)
"""
)
KILLED = (
    LOGGER
    + """
    for i in range(10**9):
        run.log({"i": i, "padding": "x" * 200})
"""
)


def run_files(folder: Path) -> list[Path]:
    return list(folder.glob("wandb/offline-run-*/run-*.wandb"))


def written(folder: Path) -> int:
    """How many points of a live run have reached its file."""
    try:
        return len(wandb.read(run_files(folder)[0]).curves["i"].values)
    except (IndexError, KeyError, Unreadable):
        return 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    pytest.importorskip("wandb")
    folder = tmp_path_factory.mktemp("finished")
    subprocess.run([sys.executable, "-c", FINISHED, str(folder)], check=True, capture_output=True)
    return run_files(folder)[0]


def test_rows_of_a_real_run(finished):
    assert wandb.sniff(finished, finished.read_bytes()[:4096])
    recording = wandb.read(finished)
    curves = recording.curves
    assert recording.indexed_by == "row"
    np.testing.assert_array_equal(curves["_step"].values, [*range(0, 2000, 10), 5000, 5010])
    np.testing.assert_array_equal(curves["train/reward"].values, [*np.arange(200) / 4, np.nan, 1])
    np.testing.assert_array_equal(curves["nest.deep.k"].values, -np.arange(200.0))
    np.testing.assert_array_equal(curves["kl"].values, [np.inf, -np.inf])
    np.testing.assert_array_equal(curves["kl"].index, [200, 201])
    np.testing.assert_array_equal(curves["kl"].times, curves["_timestamp"].values[200:])
    assert curves["ok"].values.tolist() == [1.0]
    assert not any(name.startswith("h") for name in curves)
    assert "not numbers, left out: h" in recording.notes
    assert recording.damage == []


def test_the_folder_of_a_run_is_one_recording(finished):
    assert wandb.claims(finished.parent)
    assert not wandb.claims(finished.parent.parent)
    first = wandb.read(finished.parent)
    assert first.curves.keys() == wandb.read(finished).curves.keys()
    assert wandb.read(finished.parent, resume=first.resume).curves == {}


def test_config_of_a_real_run(finished):
    recording = wandb.read(finished)
    assert recording.config == {
        "lr": 1e-3,
        "optimizer.betas": [0.9, 0.95],
        "optimizer.name": "adam",
        "seed": None,
        "later": 7,
        "stage": "warm-up",
    }
    assert recording.order > 1.7e9


def test_how_a_real_run_ended(finished):
    assert "the run ended with exit code 3" in wandb.read(finished).notes


@pytest.mark.thorough
def test_a_killed_run(tmp_path):
    pytest.importorskip("wandb")
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], start_new_session=True)
    try:
        assert until(lambda: written(tmp_path) > 500)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    recording = wandb.read(run_files(tmp_path)[0])
    values = recording.curves["i"].values
    np.testing.assert_array_equal(values, np.arange(len(values)))
    assert recording.damage == []
    assert "no exit record: the run is still going on, or was killed" in recording.notes


# --- what the format allows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [True, False], ids=["keys since 0.17", "keys before"])
def test_step_zero_and_rows_without_a_step_item(tmp_path, nested):
    rows = [wandb_row(step, {"loss": step / 2}, nested) for step in (0, 7, 300)]
    curves = read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves
    assert curves["_step"].values.tolist() == [0, 7, 300]
    assert curves["loss"].values.tolist() == [0, 3.5, 150]


def test_records_larger_than_a_block(tmp_path):
    rows = [wandb_row(s, {"text": "x" * 100_000, "loss": s}) for s in range(5)]
    assert read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves["loss"].values.tolist() == [0, 1, 2, 3, 4]


def test_a_column_that_is_sometimes_text(tmp_path):
    rows = [wandb_row(s, {"x": v}) for s, v in enumerate([1, "2", None, [3], 4.5])]
    curve = read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves["x"]
    assert curve.values.tolist() == [1, 4.5]
    assert curve.index.tolist() == [0, 4]


def test_a_column_that_is_absent_from_some_rows(tmp_path):
    rows = [wandb_row(s, {"x": s} if s % 3 else {"y": s}) for s in range(9)]
    curves = read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves
    assert curves["x"].index.tolist() == [1, 2, 4, 5, 7, 8]
    assert curves["y"].index.tolist() == [0, 3, 6]


def test_a_name_of_130_bytes_whose_length_looks_like_a_value(tmp_path):
    name = "n" * 130
    rows = [wandb_row(s, {name: s, "x": s}) for s in range(3)]
    assert read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves[name].values.tolist() == [0, 1, 2]


def test_many_rows_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(wandb, "_FLUSH_ROWS", 10)
    rows = [wandb_row(s, {"x": s, "odd" if s % 2 else "even": s}) for s in range(105)]
    curves = read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves
    np.testing.assert_array_equal(curves["x"].index, np.arange(105))
    np.testing.assert_array_equal(curves["odd"].values, np.arange(1, 105, 2))


def test_an_empty_file_is_a_run_that_has_not_begun(tmp_path):
    assert wandb.sniff(tmp_path / "run-x.wandb", b"")
    assert read_bytes(tmp_path / "run-x.wandb", b"").curves == {}


def test_another_version_of_the_format(tmp_path):
    with pytest.raises(Unreadable, match="version"):
        read_bytes(tmp_path / "r.wandb", b":W&B\xe1\xbe\x07" + bytes(100))


# --- any file --------------------------------------------------------------------------------------------------------

names = st.sampled_from(["loss", "a/b", "nest.k", "é", "n" * 140])
cells = st.dictionaries(names, st.one_of(st.floats(), st.integers(-(2**60), 2**60), st.booleans()), max_size=5)


def expected(rows: list[dict[str, float]]) -> dict[str, list[tuple[float, str]]]:
    found: dict[str, list[tuple[float, str]]] = {}
    for i, row in enumerate(rows):
        for name, value in {**row, "_step": i}.items():
            found.setdefault(name, []).append((i, repr(float(value))))
    return found


def points(*recordings) -> dict[str, list[tuple[float, str]]]:
    found: dict[str, list[tuple[float, str]]] = {}
    for recording in recordings:
        for name, c in recording.curves.items():
            found.setdefault(name, []).extend(zip(c.index.tolist(), map(repr, c.values.tolist()), strict=True))
    return found


@ANY_FILE
@given(st.lists(cells, max_size=20), st.floats(0, 1))
def test_a_file_cut_anywhere_gives_its_whole_rows_and_goes_on_from_there(tmp_path, rows, fraction):
    whole = wandb_file(wandb_row(i, row) for i, row in enumerate(rows))
    path = tmp_path / "r.wandb"
    first = read_bytes(path, whole[: round(len(whole) * fraction)])
    second = read_bytes(path, whole, first.resume)
    assert points(first, second) == expected(rows)
    assert first.damage == second.damage == []
    assert wandb.read(path, resume=second.resume).curves == {}


@ANY_FILE
@given(st.data())
def test_a_damaged_byte_costs_one_row(tmp_path, data):
    whole = bytearray(wandb_file(wandb_row(i, {"loss": i, "pad": "x" * 3000}) for i in range(40)))
    at = data.draw(st.integers(7, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    recording = read_bytes(tmp_path / "r.wandb", bytes(whole))
    steps = recording.curves["_step"].values
    lost = sorted(set(range(40)) - set(steps.tolist()))
    assert len(lost) <= 1  # even where the damage hides where the next row begins
    assert lost == list(range(lost[0], lost[-1] + 1)) if lost else True
    assert bool(recording.damage or recording.notes) or not lost


@ANY_FILE
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_records_that_are_no_wandb_records(tmp_path, records):
    data = wandb_file([wandb_row(0, {"loss": 1}), *records, wandb_row(1, {"loss": 2})])
    assert {1.0, 2.0} <= set(read_bytes(tmp_path / "r.wandb", data).curves["loss"].values)


@ANY_FILE
@given(st.binary(max_size=200))
def test_noise_behind_the_header(tmp_path, noise):
    assert isinstance(read_bytes(tmp_path / "r.wandb", b":W&B\xe1\xbe\x00" + noise).curves, dict)


@ANY_FILE
@given(st.data())
def test_damage_behind_a_valid_checksum(tmp_path, data):
    row = bytearray(wandb_row(3, {"loss": 1.5, "nest.k": 2, "n" * 140: 3}))
    for _ in range(data.draw(st.integers(1, 4))):
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.integers(0, 255))
    curves = read_bytes(tmp_path / "r.wandb", wandb_file([bytes(row), wandb_row(4, {"loss": 2.5})])).curves
    assert curves["loss"].values[-1] == 2.5


@pytest.mark.parametrize("value", [b"[" * 100_000, b"1" * 5000, b"{", b"", b"1,2", b"\xff"], ids=lambda v: repr(v[:9]))
def test_values_that_are_no_json_cost_themselves(tmp_path, value):
    broken = field(2, wandb_item("loss", 0) + field(1, field(2, "bad") + field(16, value)))
    rows = [wandb_row(0, {"loss": 3, "bad": 1}), broken, wandb_row(2, {"loss": 4, "bad": 2})]
    curves = read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves
    assert curves["loss"].values.tolist() == [3, 0, 4]
    assert curves["bad"].values.tolist() == [1, 2]
    assert curves["bad"].index.tolist() == [0, 2]


def test_an_integer_beyond_the_range_of_floats_is_infinite(tmp_path):
    rows = [wandb_row(0, {"x": 10**400}), wandb_row(1, {"x": 2})]
    assert read_bytes(tmp_path / "r.wandb", wandb_file(rows)).curves["x"].values.tolist() == [np.inf, 2]
