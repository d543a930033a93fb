"""No file, however broken, may end in anything but a Recording or one clear line."""

import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest

from firstbreak.readers import Recording, Unreadable, readers
from tests.every import every
from tests.make import some_quick
from tests.readers.files import file_of

#: A name that the reader would meet in the wild.
NAMES = {
    "csv": "progress.csv",
    "monitor": "0.monitor.csv",
    "torchrl_csv": "scalars/loss.csv",
    "dvclive": "plots/metrics/loss.tsv",
    "jsonl": "metrics.jsonl",
    "json_list": "log.json",
    "trainer_state": "trainer_state.json",
    "config_file": "config.yaml",
    "console": "train.log",
    "notebook": "train.ipynb",
    "npy": "eval.npy",
    "npz": "evaluations.npz",
    "json_points": "results.json",
    "markdown": "log.md",
    "sb3_zip": "best_model.zip",
}
BLOBS = {
    "empty": b"",
    "newline": b"\n",
    "newlines": b"\n" * 1000,
    "crlf": b"\r\n\r\n",
    "binary": bytes(range(256)) * 64,
    "nulls": bytes(10_000),
    "invalid utf-8": b"step,loss\n1,\xff\xfe\n2,0.5\n",
    "cut json": b'{"step": 1, "loss": [1, {"a": ',
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "deep python": b"{'a':" * 200_000 + b"\n",
    "deep yaml": b"a: " + b"{a: " * 2000,
    "huge header": b"c," * 10_000_000 + b"c\n",
    "one giant line": b"x" * (18 << 20),
    "giant line between good ones": b'step,loss\n1,2\n"' + b"x" * (18 << 20) + b"\n3,4\n",
    "open quote": b'step,loss\n1,"2\n' + b"3,4\n" * 50_000,
    "pickle": b"cposix\nsystem\n(S'true'\ntR.",
    "npy magic only": b"\x93NUMPY",
    "zip magic only": b"PK\x03\x04",
    "utf-16": "step,loss\n1,2\n".encode("utf-16"),
    "huge numbers": b'{"step": 1' + b"0" * 10_000 + b"}\nstep: 1" + b"0" * 10_000 + b" loss: 5\n",
    "surrogates": b'{"a": "\\ud800", "\\ud800": 1}\n{"a": "\\ud800", "\\ud800": 2}\n',
}


def own_readers() -> dict[str, ModuleType]:
    return {name: reader for name, reader in readers().items() if name in NAMES}


def test_every_name_is_a_reader():
    assert own_readers().keys() == NAMES.keys()


@pytest.mark.parametrize("name", some_quick(NAMES, 4))
def test_bad_bytes_end_in_a_recording_or_in_one_line(name: str):
    reader = own_readers()[name]

    def survived(blob: str) -> None:
        with file_of(BLOBS[blob], NAMES[name]) as path:
            assert isinstance(reader.sniff(path, BLOBS[blob][:4096]), bool)
            check(reader, path)

    every(BLOBS, survived)


@pytest.mark.parametrize("name", NAMES)
def test_a_directory_or_a_missing_file_ends_in_one_line(name: str, tmp_path: Path):
    reader = own_readers()[name]
    for path in (tmp_path, tmp_path / "missing" / NAMES[name]):
        with pytest.raises(Unreadable) as caught:
            reader.read(path)
        assert "\n" not in str(caught.value)


def check(reader: ModuleType, path: Path) -> None:
    try:
        recording = reader.read(path)
    except Unreadable as error:
        line = str(error)
    else:
        line = str(path)
        assert isinstance(recording, Recording)
        for curve in recording.curves.values():
            assert len(curve.index) == len(curve.values)
    assert str(path) in line
    assert "\n" not in line


@pytest.mark.slow
def test_a_giant_file_is_read_in_bounded_memory():
    """30 MB of lines without a number need a fraction of that."""
    line = b'{"text": "' + b"x" * 5000 + b'"}\n'
    for name in ("console", "jsonl"):
        with file_of(line * 6000, NAMES[name]) as path:
            tracemalloc.start()
            own_readers()[name].read(path)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 6 << 20, name
