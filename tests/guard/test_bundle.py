"""A bundle is there whole or not at all: processes are really killed, disks really full, and writers really blocked."""

from __future__ import annotations

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

from firstbreak.guard import bundle, guard
from firstbreak.guard.guard import Guard
from firstbreak.readers import Unreadable

#: writes one bundle after the other, and says on stdout that it has begun
WRITER = """
import os, sys
from pathlib import Path
from firstbreak.guard import bundle
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
        halves += any(path.name.startswith(".") for path in folder.glob(".*")) if folder.exists() else 0
        assert trials < 1000, "none of these was killed while it wrote: the test tests nothing"


def test_a_full_disk_costs_the_large_parts_and_not_the_rest(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from firstbreak.guard import bundle
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
from firstbreak.guard import bundle
from firstbreak.guard.guard import Guard
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


def foreign(path: Path) -> None:
    (path / bundle.MANIFEST).write_text(json.dumps({"schema": "other/1"}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [(changed, "has changed"), (gone, "is missing"), (torn, "cannot be read"), (foreign, "is not a bundle")],
)
def test_damage_is_named_with_its_place(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    path = bundle.write(tmp_path, "incident", {"part": b"content"}, {})
    damage(path)
    with pytest.raises(Unreadable, match=message):
        bundle.read(path)
