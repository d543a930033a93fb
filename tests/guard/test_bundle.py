"""A bundle is there whole or not at all: processes are really killed, disks really full, and writers really blocked."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from firstbreak.live.guard import bundle, guard
from firstbreak.live.guard.guard import Guard
from firstbreak.readers import Unreadable
from tests.waiting import until

#: writes one bundle after the other, and says on stdout that it has begun
WRITER = """
import os, sys
from pathlib import Path
from firstbreak.live.guard import bundle
print("ready", flush=True)
for i in range(10_000):
    parts = {f"part{j}": os.urandom(200_000) for j in range(5)}
    bundle.write(Path(sys.argv[1]), f"incident-{i:05d}", parts, {"number": i})
    print(i, flush=True)
"""


def test_a_process_killed_at_any_moment_leaves_whole_bundles_only(tmp_path: Path) -> None:
    moments, halves, trials = random.Random(0), 0, 0
    while trials < 10 or not halves:
        folder, trials = tmp_path / str(trials), trials + 1
        with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(moments.uniform(0.0, 0.1))
            child.send_signal(signal.SIGKILL)
            finished = [int(line) for line in child.stdout.read().split()]
        kept = [bundle.read(path)["number"] for path in bundle.complete(folder)]
        assert set(finished) <= set(kept), "a bundle that was said to be written is there"
        assert len(kept) <= len(finished) + 1
        halves += any(folder.glob(f".*{bundle.HALF}"))
        bundle.sweep(folder)
        assert not any(folder.glob(".*")), "a half bundle is left"
        assert [bundle.read(path)["number"] for path in bundle.complete(folder)] == kept
        assert trials < 1000, "none of these was killed while it wrote: the test tests nothing"


def test_a_full_disk_costs_the_large_parts_and_not_the_rest(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from firstbreak.live.guard import bundle
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
def large(file):
    for _ in range(100):
        file.write(b"x" * 10_000)
print(bundle.write(Path(sys.argv[1]), "incident", {"state.pt": large, "README.md": b"what happened"}, {}))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    manifest = bundle.read(Path(done.stdout.strip()))
    assert list(manifest["files"]) == ["README.md"]
    assert "File too large" in manifest["lost"]["state.pt"]


#: stops at once, with a state that is larger than the disk; says whether it stopped, and what of the bundle was lost
STOPPING = """
import os, sys
from firstbreak.live.guard import bundle
from firstbreak.live.guard.guard import Guard
guard = Guard("stop", folder=sys.argv[1], on_decision=lambda decision: None)
guard.attach("torch", lambda: {"state.pt": lambda file: file.write(os.urandom(10_000_000))}, update_hooks=False)
guard.stop("seen enough")
decision = guard.observe(1, {"loss": 1.0})
print(decision.stop, decision.bundle and bundle.read(decision.bundle)["lost"])
"""


@pytest.mark.parametrize(
    ("disk", "said"),
    [
        ("size=1m none $1", "True {'state.pt': 'OSError: [Errno 28] No space left on device'}"),
        ("size=1m none $1; cat /dev/zero > $1/full 2> /dev/null", "True None"),
        ("size=1m,ro none $1", "True None"),
    ],
    ids=["small", "full", "read-only"],
)
def test_a_disk_of_its_own(tmp_path: Path, disk: str, said: str) -> None:
    """Mounted for one process alone."""
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        subprocess.run([*mount, "mount -t tmpfs none /mnt"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine lets nobody mount a disk for a single process")
    line = f'mount -t tmpfs -o {disk}; exec "$2" -c "$3" "$1"'
    done = subprocess.run([*mount, line, "sh", str(tmp_path), sys.executable, STOPPING], capture_output=True, text=True)
    assert done.stdout.strip() == said, done.stderr


def test_where_nothing_can_be_written_training_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard("stop", folder="/proc/no/such/place")
    guard.stop("seen enough")
    with caplog.at_level(logging.WARNING):
        decision = guard.observe(1, {"loss": 1.0})
    assert decision.stop
    assert decision.bundle is None
    assert "bundle failed, and training continues" in caplog.text


def test_a_disk_that_hangs_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "WRITING", 0.1)
    pipe = tmp_path / "disk"
    os.mkfifo(pipe)

    def blocked(file: BinaryIO) -> None:
        pipe.read_bytes()  # nobody ever writes into it

    hanging = Guard("stop", folder=tmp_path)
    hanging.attach("torch", lambda: {"state.pt": blocked}, update_hooks=False)
    hanging.stop("seen enough")
    with caplog.at_level(logging.WARNING):
        decision = hanging.observe(1, {"loss": 1.0})
    assert decision.stop
    assert decision.bundle is None
    assert "takes longer than 0.1 s" in caplog.text
    with pipe.open("wb"):  # lets the thread end
        pass


def test_a_part_that_cannot_be_saved_is_listed_and_the_others_are_kept(tmp_path: Path) -> None:
    def fails(file: BinaryIO) -> None:
        file.write(b"half")
        raise TypeError("cannot pickle a lock")

    path = bundle.write(tmp_path, "incident", {"state.pt": fails, "config.json": b"{}"}, {})
    manifest = bundle.read(path)
    assert manifest["lost"] == {"state.pt": "TypeError: cannot pickle a lock"}
    assert not (path / "state.pt").exists()


def test_an_adapter_that_raises_costs_its_files_only(tmp_path: Path) -> None:
    def raises() -> dict[str, bundle.FileContent]:
        raise RuntimeError("CUDA error: device-side assert triggered")

    broken = Guard("stop", folder=tmp_path)
    broken.attach("torch", raises, update_hooks=False)
    broken.stop("seen enough")
    decision = broken.observe(1, {"loss": 1.0})
    assert decision.bundle is not None
    assert "metrics.jsonl" in bundle.read(decision.bundle)["files"]


def test_a_bundle_that_is_being_written_is_not_swept(tmp_path: Path) -> None:
    def slow(file: BinaryIO) -> None:
        bundle.sweep(tmp_path)
        file.write(b"content")

    assert bundle.read(bundle.write(tmp_path, "incident-1", {"part": slow}, {}))["files"]["part"]["bytes"] == 7


def test_the_next_guard_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    half = tmp_path / f".incident-1-x{bundle.HALF}"
    half.mkdir()
    (half / "state.pt").write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    Guard(folder=tmp_path)
    assert until(lambda: not half.exists())
    assert (tmp_path / ".git").exists()


def test_a_file_that_is_swapped_after_the_check_is_refused(tmp_path: Path) -> None:
    """Before the tensors of a bundle are loaded, its files were checked: what is opened then is looked at again."""
    shared = pytest.importorskip("firstbreak.live.guard.adapters.torch")
    pytest.importorskip("torch")
    path = bundle.write(tmp_path, "incident", {"state.pt": b"content"}, {})
    bundle.read(path)
    pipe("state.pt")(path)
    with pytest.raises(Unreadable, match="no regular file"):
        shared.load(path / "state.pt")


def test_bundles_of_the_same_step_do_not_meet(tmp_path: Path) -> None:
    paths = {bundle.write(tmp_path, "incident-7", {"n": str(i).encode()}, {}) for i in range(3)}
    assert {path.name for path in paths} == {"incident-7", "incident-7-2", "incident-7-3"}


def changed(path: Path) -> None:
    (path / "part").write_bytes(b"other")


def gone(path: Path) -> None:
    (path / "part").unlink()


def torn(path: Path) -> None:
    manifest = path / bundle.MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:40])


def manifest(content: object) -> Callable[[Path], None]:
    return lambda path: Path(path / bundle.MANIFEST).write_text(json.dumps(content)) and None


def with_files(files: object) -> Callable[[Path], None]:
    return manifest({"schema": bundle.SCHEMA, "files": files})


def deep(path: Path) -> None:
    (path / bundle.MANIFEST).write_text("[" * 100_000)


def pipe(name: str) -> Callable[[Path], None]:
    def swap(path: Path) -> None:
        (path / name).unlink()
        os.mkfifo(path / name)

    return swap


def link(path: Path) -> None:
    (path / "part").unlink()
    (path / "part").symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (changed, "has changed"),
        (gone, "is missing"),
        (torn, "cannot be read"),
        (deep, "cannot be read"),
        (manifest({"schema": "other/1"}), "is not a bundle"),
        (manifest([]), "is not a bundle"),
        (with_files([]), "'files' is no dict"),
        (with_files({"part": 1}), "names no file"),
        (with_files({"part": {}}), "has changed"),
        (with_files({"../part": {"sha256": ""}}), "names no file"),
        (with_files({"a\0b": {"sha256": ""}}), "names no file"),
        (with_files({"": {"sha256": ""}}), "names no file|directory"),
        (pipe("part"), "no regular file"),
        (pipe(bundle.MANIFEST), "no regular file"),
        (link, "link out of the folder"),
    ],
)
def test_damage_is_named_with_its_place(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    path = bundle.write(tmp_path, "incident", {"part": b"content"}, {})
    damage(path)
    with pytest.raises(Unreadable, match=message):
        bundle.read(path)
