"""Files of a run are opened in one way: nothing vanishes because it is packed, encoded, locked or no file at all."""

import bz2
import gzip
import importlib.util
import json
import lzma
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from firstbreak.cli import main
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action
from firstbreak.readers import Unreadable, opening
from firstbreak.readers.follow import Follower
from firstbreak.readers.read import read
from tests.test_cli import DEMO, healthy

TABLE = "step,reward\n" + "".join(f"{i},{i / 7}\n" for i in range(1, 40))


def refuse(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As `chmod 000` does, which root does not notice."""
    real = os.open

    def guarded(path: object, *rest: object, **more: object) -> int:
        if os.path.basename(str(path)) == name:
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", guarded)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        ("", lambda data: data.decode().encode("utf-16")),
        ("", lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be")),
        ("", lambda data: data.decode().encode("utf-8-sig")),
        (".gz", lambda data: gzip.compress(data.decode().encode("utf-16"))),
    ],
)
@pytest.mark.parametrize("name", ["progress.csv", "metrics.jsonl", "train.log"])
def test_packed_and_encoded_logs_are_read_as_plain_ones(
    name: str, suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    rows = [line.split(",") for line in TABLE.splitlines()[1:]]
    text = TABLE if name.endswith("csv") else "".join(f'{{"step": {s}, "reward": {r}}}\n' for s, r in rows)
    (tmp_path / f"{name}{suffix}").write_bytes(pack(text.encode()))
    for place in (tmp_path, tmp_path / f"{name}{suffix}"):
        run = read(place)
        (curve,) = [s for s in run.series.values() if s.raw == "reward"]
        assert len(curve) == 39
        assert curve.values[-1] == pytest.approx(39 / 7)
        assert not run.damage


def test_zstd_is_read_or_named(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path / "run")
    if importlib.util.find_spec("zstandard"):
        import zstandard  # type: ignore[import-not-found]

        (tmp_path / "a.csv.zst").write_bytes(zstandard.compress(TABLE.encode()))
        assert len(read(tmp_path / "a.csv.zst").series)
    else:
        (tmp_path / "run" / "a.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 30)
        run = read(tmp_path / "run")
        assert run.unread == ("a.csv.zst",)
        assert any("zstandard" in line for line in run.damage)


def half(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(os.urandom(3000))[:1500])


def closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(TABLE)
    refuse(monkeypatch, path.name)


def gone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.symlink_to(path.with_name("moved.csv"))


def pipe(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(path)


def zeros(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"\0" * 5000)


@pytest.mark.parametrize("spoil", [half, closed, gone, pipe, zeros])
def test_a_log_that_cannot_be_read_is_named_and_health_is_withheld(
    spoil: Callable[[Path, pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    healthy(tmp_path)
    assert diagnose(read(tmp_path)).verdict.action is Action.CONTINUE
    spoil(tmp_path / "eval.csv", monkeypatch)
    with pytest.raises(SystemExit) as done:
        main(["diagnose", str(tmp_path), "--format", "json"])
    assert done.value.code == 2
    diagnosis = json.loads(capsys.readouterr().out)
    assert any("eval.csv" in line for line in diagnosis["run"]["damage"])
    assert diagnosis["verdict"]["action"] == "watch"
    assert diagnosis["verdict"]["summary"].startswith("Cannot tell: `eval.csv")
    follower = Follower(tmp_path)
    follower.update()
    assert follower.run().unread == read(tmp_path).unread


def test_what_broke_is_still_said_beside_a_log_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(DEMO, tmp_path / "run")
    closed(tmp_path / "run" / "eval.csv", monkeypatch)
    dx = diagnose(read(tmp_path / "run"))
    assert dx.verdict.action is Action.ROLLBACK
    assert dx.run.unread == ("eval.csv",)


@pytest.mark.parametrize("name", ["config.json", "requirements.txt", "conf.yaml", "model.pt"])
def test_files_without_a_score_withhold_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(tmp_path)
    (tmp_path / name).write_text("{}")
    refuse(monkeypatch, name)
    assert diagnose(read(tmp_path)).verdict.action is Action.CONTINUE


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(tmp_path)
    (tmp_path / "tb").mkdir()
    real = os.scandir

    def guarded(path: str) -> object:
        if os.path.basename(path) == "tb":
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert read(tmp_path).unread == ("tb",)


def test_what_unpacks_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED", 1 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TABLE.encode() + b" " * (4 << 20)))
    with pytest.raises(Unreadable, match="unpacks to more than"):
        read(tmp_path / "a.csv.gz")
