import contextlib
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import firstbreak
from firstbreak.readers import Recording, Unreadable, _tfrecord, tensorboard
from tests.lazy import lazy

pytest.importorskip("tensorboard")
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

record_writer = lazy("tensorboard.summary.writer.record_writer")

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def write(path: Path, events: list[event_pb2.Event], mode: str = "wb") -> Path:
    """The events, framed by TensorBoard's own record writer."""
    with path.open(mode) as file:
        writer = record_writer.RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())
        writer.flush()
    return path


def version() -> event_pb2.Event:
    return event_pb2.Event(wall_time=1.0, file_version="brain.Event:2")


def scalar(tag: str, step: int, value: float, wall_time: float = 1.5) -> event_pb2.Event:
    return summary(step, summary_pb2.Summary.Value(tag=tag, simple_value=value), wall_time=wall_time)


def summary(step: int, *values: summary_pb2.Summary.Value, wall_time: float = 1.5) -> event_pb2.Event:
    return event_pb2.Event(wall_time=wall_time, step=step, summary=summary_pb2.Summary(value=values))


def tensor(tag: str, plugin: str = "", **fields) -> summary_pb2.Summary.Value:
    value = summary_pb2.Summary.Value(tag=tag, tensor=tensor_pb2.TensorProto(**fields))
    if plugin:
        value.metadata.plugin_data.plugin_name = plugin
    return value


def restart(step: int) -> event_pb2.Event:
    log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    return event_pb2.Event(wall_time=2.0, step=step, session_log=log)


def points(recording: Recording) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(step, repr(value)) for step, value in zip(c.index.tolist(), c.values.tolist(), strict=True)]
        for name, c in recording.curves.items()
    }


def joined(first: Recording, second: Recording) -> dict[str, list[tuple[float, float]]]:
    both = defaultdict(list, points(first))
    for name, more in points(second).items():
        both[name] = both[name] + more
    return dict(both)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.out.tfevents.1700000000.host.77.3"


# --- what the real writers write -------------------------------------------------------------------------------------


@pytest.mark.slow  # torch writes the file
@pytest.mark.parametrize("package", ["torch.utils.tensorboard", "tensorboardX"])
def test_real_writer(tmp_path, package):
    writer = pytest.importorskip(package).SummaryWriter(str(tmp_path))
    values = [0.25, float("nan"), float("inf"), -0.5, 0.0]
    for step, value in enumerate(values):
        writer.add_scalar("train/loss", value, step * 1000, walltime=1000.0 + step)
        writer.add_scalar("losses/KL-é", -value, step * 1000)
    writer.add_histogram("weights", np.arange(10.0), 0)
    writer.add_text("notes", "a | b", 1)
    writer.close()

    recording = tensorboard.read(next(tmp_path.iterdir()))
    assert list(recording.curves) == ["train/loss", "losses/KL-é"]
    loss = recording.curves["train/loss"]
    np.testing.assert_array_equal(loss.values, values)
    np.testing.assert_array_equal(loss.index, [0, 1000, 2000, 3000, 4000])
    np.testing.assert_array_equal(loss.times, [1000, 1001, 1002, 1003, 1004])
    assert recording.indexed_by == "step"
    assert (recording.damage, recording.notes, recording.config) == ([], [], {})


def test_tensor_scalars_of_torch(tmp_path):
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    for step in range(5):
        writer.add_scalar("reward", step / 8, step, new_style=True)
        writer.add_scalar("reward/double", step / 3, step, new_style=True, double_precision=True)
    writer.close()
    curves = tensorboard.read(next(tmp_path.iterdir())).curves
    np.testing.assert_array_equal(curves["reward"].values, np.arange(5) / 8)
    np.testing.assert_array_equal(curves["reward/double"].values, np.arange(5) / 3)


def test_options_of_add_hparams(tmp_path):
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    writer.add_hparams({"lr": 1e-3, "algo": "ppo", "norm": True}, {"final": 2.0}, run_name=".")
    writer.close()
    merged: dict[str, object] = {}
    for path in tmp_path.iterdir():
        merged |= tensorboard.read(path).config
    assert merged == {"lr": 1e-3, "algo": "ppo", "norm": True}


def test_options_in_the_table_that_cleanrl_writes(tmp_path):
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    options = {"env_id": "CartPole-v1", "learning_rate": 2.5e-4, "anneal_lr": True, "target_kl": None, "clip": "a|b"}
    rows = "\n".join(f"|{key}|{value}|" for key, value in options.items())
    writer.add_text("hyperparameters", "|param|value|\n|-|-|\n" + rows)
    writer.close()
    assert tensorboard.read(next(tmp_path.iterdir())).config == options


def test_options_in_the_json_that_transformers_writes(tmp_path):
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    writer.add_text("args", '{"learning_rate": 1e-06, "optim_args": {"eps": 1e-8}}')
    writer.add_text("model_config", '{"vocab_size": 10}')
    writer.add_text("completions", "{ not json")
    writer.close()
    config = tensorboard.read(next(tmp_path.iterdir())).config
    assert config == {"learning_rate": 1e-06, "optim_args.eps": 1e-8, "model_config.vocab_size": 10}


@pytest.mark.slow
def test_a_killed_writer_leaves_a_readable_file(tmp_path):
    pytest.importorskip("torch.utils.tensorboard")
    program = """if True:
        import sys
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter(sys.argv[1])
        for step in range(10**9):
            writer.add_scalar("loss", step, step)
            if step == 2000:
                writer.flush()
                print("flushed", flush=True)
    """
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    recording = tensorboard.read(next(tmp_path.iterdir()))
    curve = recording.curves["loss"]
    assert len(curve.values) >= 2001
    np.testing.assert_array_equal(curve.values[:2001], np.arange(2001))
    assert recording.damage == []


# --- what the format allows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "fields", "expected"),
    [
        (types_pb2.DT_FLOAT, {"float_val": [0.25]}, 0.25),
        (types_pb2.DT_FLOAT, {"tensor_content": np.float32(-3.5).tobytes()}, -3.5),
        (types_pb2.DT_FLOAT, {}, 0.0),
        (types_pb2.DT_DOUBLE, {"double_val": [1e-300]}, 1e-300),
        (types_pb2.DT_HALF, {"tensor_content": np.float16(0.5).tobytes()}, 0.5),
        (types_pb2.DT_HALF, {"half_val": [int(np.float16(0.5).view(np.uint16))]}, 0.5),
        (types_pb2.DT_BFLOAT16, {"tensor_content": np.float32(1.5).tobytes()[2:]}, 1.5),
        (types_pb2.DT_BFLOAT16, {"half_val": [0x3FC0]}, 1.5),
        (types_pb2.DT_INT32, {"int_val": [-7]}, -7.0),
        (types_pb2.DT_INT64, {"int64_val": [1 << 40]}, float(1 << 40)),
        (types_pb2.DT_INT64, {"tensor_content": np.int64(-9).tobytes()}, -9.0),
        (types_pb2.DT_UINT8, {"int_val": [200]}, 200.0),
        (types_pb2.DT_UINT64, {"uint64_val": [1 << 63]}, float(1 << 63)),
        (types_pb2.DT_BOOL, {"bool_val": [True]}, 1.0),
    ],
)
def test_every_kind_of_tensor_scalar(file, dtype, fields, expected):
    write(file, [version()] + [summary(s, tensor("x", dtype=dtype, **fields)) for s in range(3)])
    assert points(tensorboard.read(file)) == {"x": [(s, repr(expected)) for s in (0.0, 1.0, 2.0)]}


def test_tensors_that_are_no_scalars_are_left_out(file):
    vector = TensorShapeProto(dim=[TensorShapeProto.Dim(size=2)])
    write(
        file,
        [
            summary(0, tensor("vector", dtype=1, float_val=[1, 2], tensor_shape=vector)),
            summary(0, tensor("words", "text", dtype=types_pb2.DT_STRING, string_val=[b"hello"])),
            scalar("loss", 0, 1.0),
        ],
    )
    assert list(tensorboard.read(file).curves) == ["loss"]


def test_several_values_in_one_event(file):
    def event(step: int) -> event_pb2.Event:
        a = summary_pb2.Summary.Value(tag="a", simple_value=step)
        b = tensor("b", "scalars", dtype=2, double_val=[step / 3])
        return summary(step, a, b, a)

    write(file, [event(s) for s in range(200)])
    curves = tensorboard.read(file).curves
    np.testing.assert_array_equal(curves["a"].index, np.repeat(np.arange(200), 2))
    np.testing.assert_array_equal(curves["b"].values, np.arange(200) / 3)


def test_metadata_that_only_the_first_event_of_a_tag_carries(file):
    first = summary(0, tensor("loss", "scalars", dtype=1, tensor_content=np.float32(9).tobytes()))
    later = [summary(s, tensor("loss", dtype=1, tensor_content=np.float32(s).tobytes())) for s in range(1, 5)]
    write(file, [version(), first, *later])
    np.testing.assert_array_equal(tensorboard.read(file).curves["loss"].values, [9, 1, 2, 3, 4])


def test_a_restart_within_a_file_voids_what_it_repeats(file):
    before = [scalar(tag, s, s) for s in range(0, 100, 10) for tag in ("a", "b")]
    write(file, [version(), *before, restart(40), scalar("a", 40, -1), scalar("a", 50, -2)])
    recording = tensorboard.read(file)
    np.testing.assert_array_equal(recording.curves["a"].index, [0, 10, 20, 30, 40, 50])
    np.testing.assert_array_equal(recording.curves["a"].values, [0, 10, 20, 30, -1, -2])
    np.testing.assert_array_equal(recording.curves["b"].index, [0, 10, 20, 30])
    assert recording.restarts_at == 40


def test_purge_step_of_torch_is_reported_for_the_files_before(tmp_path):
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path), purge_step=20)
    writer.add_scalar("loss", 1.0, 20)
    writer.close()
    recording = tensorboard.read(next(tmp_path.iterdir()))
    assert recording.restarts_at == 20
    assert points(recording) == {"loss": [(20.0, "1.0")]}


def test_files_are_ordered_by_the_time_and_number_in_their_names(tmp_path):
    names = [
        "events.out.tfevents.1700000000.gpu-7.lab.org.123.0",
        "events.out.tfevents.1700000000.gpu-7.lab.org.123.1",
        "events.out.tfevents.1700000001.gpu-7.lab.org.9.0.v2",
        "events.out.tfevents.1700000002.myhost",
    ]
    orders = [tensorboard.read(write(tmp_path / name, [version()])).order for name in names]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)
    assert orders[0] == 1700000000


def test_recognised_by_name_or_by_content(tmp_path, file):
    assert tensorboard.sniff(file, b"")
    assert tensorboard.sniff(Path("renamed.bin"), write(tmp_path / "renamed.bin", [version()]).read_bytes())
    assert not tensorboard.sniff(Path("progress.csv"), b"step,loss\n0,1\n")


@pytest.mark.parametrize("events", [[], [version()]], ids=["zero bytes", "crashed at the start"])
def test_files_without_a_scalar_are_no_error(file, events):
    recording = tensorboard.read(write(file, events))
    assert recording.curves == {}
    assert recording.damage == []


# --- any file --------------------------------------------------------------------------------------------------------

tags = st.sampled_from(["loss", "a/b", "", "é" * 80, "x" * 300])
steps = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))
numbers = st.floats(width=32)
values = st.one_of(
    st.builds(lambda tag, x: summary_pb2.Summary.Value(tag=tag, simple_value=x), tags, numbers),
    st.builds(lambda tag, x: tensor(tag, "scalars", dtype=1, float_val=[x]), tags, numbers),
    st.builds(lambda tag, x: tensor(tag, dtype=9, int64_val=[x]), tags, st.integers(-(2**63), 2**63 - 1)),
)
events = st.lists(
    st.builds(lambda step, time, vs: summary(step, *vs, wall_time=time), steps, st.floats(0, 2e9), st.lists(values)),
    max_size=30,
)


def expected(written: list[event_pb2.Event]) -> dict[str, list[tuple[float, str]]]:
    """The points as TensorBoard's own protobuf classes see them."""
    found = defaultdict(list)
    for event in written:
        for value in event.summary.value:
            number = (
                value.simple_value
                if value.HasField("simple_value")
                else [*value.tensor.float_val, *value.tensor.int64_val][0]
            )
            found[value.tag].append((float(event.step), repr(float(number))))
    return dict(found)


@ANY_FILE
@given(events)
def test_reads_what_was_written(tmp_path, written):
    recording = tensorboard.read(write(tmp_path / "tfevents", written))
    assert points(recording) == expected(written)
    assert recording.damage == recording.notes == []


@ANY_FILE
@given(events, st.floats(0, 1))
@example([scalar("loss", 1, 2.0), scalar("loss", 2, 3.0)], 0.9)
def test_a_file_cut_anywhere_gives_its_whole_records_and_goes_on_from_there(tmp_path, written, fraction):
    path = write(tmp_path / "tfevents", written)
    whole = path.read_bytes()
    cut = round(len(whole) * fraction)
    path.write_bytes(whole[:cut])
    first = tensorboard.read(path)
    assert first.damage == []
    path.write_bytes(whole)
    second = tensorboard.read(path, resume=first.resume)
    assert joined(first, second) == expected(written)
    assert tensorboard.read(path, resume=second.resume).curves == {}


@ANY_FILE
@given(st.data())
def test_a_damaged_record_costs_itself_alone(tmp_path, data):
    written = [scalar(tag, step, step) for step in range(20) for tag in ("a", "b")]
    path = write(tmp_path / "tfevents", written)
    damaged = bytearray(path.read_bytes())
    size = len(damaged) // len(written) + 1
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged)
    recording = tensorboard.read(path)
    lost = sum(map(len, expected(written).values())) - sum(map(len, points(recording).values()))
    assert lost == 1
    place = int(recording.damage[0].removeprefix("byte ").split(":")[0].split(" ")[0])
    assert at - size < place <= at


@ANY_FILE
@given(st.binary(max_size=400))
def test_noise_between_records_is_skipped(tmp_path, noise):
    path = write(tmp_path / "tfevents", [version(), scalar("a", 0, 1)])
    path.write_bytes(path.read_bytes() + noise)
    write(path, [scalar("a", s, 1) for s in range(1, 5)], mode="ab")
    assert [step for step, _ in points(tensorboard.read(path))["a"]] == [0, 1, 2, 3, 4]


@ANY_FILE
@given(st.binary(max_size=300))
@example(b"\xff" * 12)
def test_noise_alone_is_refused_or_empty(tmp_path, noise):
    path = tmp_path / "tfevents"
    path.write_bytes(noise)
    with contextlib.suppress(Unreadable):
        assert tensorboard.read(path).curves == {}


@ANY_FILE
@given(st.lists(st.binary(max_size=60), max_size=10))
def test_valid_records_that_hold_no_event(tmp_path, payloads):
    path = tmp_path / "tfevents"
    with path.open("wb") as file:
        for payload in payloads:
            record_writer.RecordWriter(file).write(payload)
    write(path, [scalar("loss", 3, 1.0)], mode="ab")
    assert (3.0, "1.0") in points(tensorboard.read(path))["loss"]


@ANY_FILE
@given(st.data())
def test_damage_behind_a_valid_checksum(tmp_path, data):
    event = summary(
        3, tensor("a", "scalars", dtype=1, float_val=[0.5]), summary_pb2.Summary.Value(tag="b", simple_value=1)
    )
    payload = bytearray(event.SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    path = write(tmp_path / "tfevents", [event] * 3)
    with path.open("ab") as file:
        record_writer.RecordWriter(file).write(bytes(payload))
    write(path, [scalar("loss", 3, 1.0)], mode="ab")
    recording = tensorboard.read(path)
    assert recording.curves["loss"].values.tolist() == [1]
    assert points(recording)["a"][:3] == [(3.0, "0.5")] * 3


def test_records_that_lie_across_pieces_of_the_file(tmp_path, monkeypatch):
    image = summary_pb2.Summary.Value(tag="frame", image=summary_pb2.Summary.Image(encoded_image_string=bytes(90_000)))
    written = [scalar(f"metric/{i % 7}", i, i / 4) for i in range(500)]
    path = write(tmp_path / "tfevents", [*written[:250], summary(1, image), *written[250:]])
    whole = points(tensorboard.read(path))
    assert whole == expected(written)
    monkeypatch.setattr(_tfrecord, "_SMALLEST_PIECE", 101)
    monkeypatch.setattr(_tfrecord, "_LARGEST_PIECE", 101)
    assert points(tensorboard.read(path)) == whole
    path.write_bytes(path.read_bytes()[:5000] + b"?" * 3000 + path.read_bytes()[5000:])
    recording = tensorboard.read(path)
    assert sum(map(len, points(recording).values())) == 499  # the record that the noise cut in two
    assert any("3000 bytes hold no event record" in line for line in recording.damage)


def test_a_record_that_would_not_fit_the_memory_is_passed_over(file, monkeypatch):
    image = summary_pb2.Summary.Value(tag="frame", image=summary_pb2.Summary.Image(encoded_image_string=bytes(90_000)))
    write(file, [scalar("a", 0, 1), summary(1, image), scalar("a", 2, 3)])
    monkeypatch.setattr(_tfrecord, "_SMALLEST_PIECE", 1000)
    monkeypatch.setattr(_tfrecord, "_LARGEST_PIECE", 1000)
    monkeypatch.setattr(_tfrecord, "_LARGEST", 50_000)
    recording = tensorboard.read(file)
    assert recording.curves["a"].index.tolist() == [0, 2]
    assert "hold no event record" in recording.damage[0]


def test_a_replaced_file_is_read_from_its_start(file):
    write(file, [version(), *(scalar("a", s, 1) for s in range(9))])
    resume = tensorboard.read(file).resume
    write(file, [version(), scalar("b", 0, 1)])
    recording = tensorboard.read(file, resume=resume)
    assert list(recording.curves) == ["b"]
    assert recording.replaces


def test_a_file_that_is_no_event_file(file):
    file.write_bytes(b"step,loss\n" * 50)
    with pytest.raises(Unreadable, match=r"events\.out\.tfevents"):
        tensorboard.read(file)


@pytest.mark.parametrize(("also", "clock"), [([], True), (["time/fps"], False)])
def test_events_time_a_log_that_names_no_time(tmp_path, also, clock):
    events = [
        scalar(tag, step, 1.0, 100.0 + 2 * step)
        for step in range(20)
        for tag in ("rollout/ep_rew_mean", "train/loss", *also)
    ]
    run = firstbreak.read(write(tmp_path / "events.out.tfevents.1", [version(), *events]))
    assert ("time.elapsed" in run.series) is clock
    if clock:
        assert run.series["time.elapsed"].values.tolist() == [2.0 * step for step in range(20)]
