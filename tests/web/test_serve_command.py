"""`firstbreak serve` as it is started: what it prints opens the page, and nothing else does."""

import contextlib
import os
import pty
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.command import FIRSTBREAK
from tests.make import write_jsonl
from tests.waiting import PATIENCE
from tests.web.serving import Served

BROWSER = "text/html,application/xhtml+xml"
SERVE = [*FIRSTBREAK, "serve"]


@contextmanager
def started(folder: Path, *options: str) -> Iterator[tuple[Served, str]]:
    """The server, and the path that it printed."""
    write_jsonl(folder / "one" / "metrics.jsonl", 40)
    command = [*SERVE, str(folder), "--port", "0", *options]
    place = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=place) as process:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/\S*)", process.stderr.readline())
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            assert found is not None
            yield Served(int(found[1])), found[2]
        finally:
            process.terminate()


def test_on_this_machine_too_the_printed_link_opens_and_no_other(tmp_path: Path) -> None:
    with started(tmp_path) as (served, printed):
        assert served.get("/")[0] == 401
        status, headers, _ = served.get(printed, accept=BROWSER)
        assert (status, headers["location"]) == (303, "/")
        assert served.get("/", cookie=headers["set-cookie"].partition(";")[0])[0] == 200


def test_an_open_page_goes_on_after_a_restart_because_the_token_is_kept_for_this_user_alone(tmp_path: Path) -> None:
    def token() -> str:
        with started(tmp_path) as (_, printed):
            return printed.partition("token=")[2]

    first = token()
    assert token() == first
    (kept,) = (tmp_path / "state" / "firstbreak").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.chmod(0o644)  # others may have read it
    second = token()
    assert second != first
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    kept.symlink_to(tmp_path / "elsewhere")
    assert token() not in (first, second)
    assert not (tmp_path / "elsewhere").exists()


def test_the_token_can_be_left_out_on_this_machine_only(tmp_path: Path) -> None:
    with started(tmp_path, "--no-token") as (served, printed):
        assert printed == "/"
        assert served.get("/")[0] == 200
    refused = subprocess.run(
        [*SERVE, str(tmp_path), "--no-token", "--host", "0.0.0.0"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "leave out --no-token" in refused.stderr


def test_ctrl_c_ends_it_in_one_line_while_a_page_follows(tmp_path: Path) -> None:
    """In a terminal, as a person does it: the traceback of what was cut off is no news."""
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 40)
    child, terminal = pty.fork()
    if not child:
        os.execv(SERVE[0], [*SERVE, str(tmp_path), "--port", "0", "--no-token"])
    said = os.read(terminal, 1000)
    while not (found := re.search(rb":(\d+)/\s", said)):
        said += os.read(terminal, 1000)
    with socket.create_connection(("127.0.0.1", int(found[1]))) as follower:
        follower.sendall(b"GET /live/?seen=1 HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n" % found[1])
        assert b"text/event-stream" in follower.recv(1000)
        os.write(terminal, b"\x03")
        after = b""
        with contextlib.suppress(OSError):  # the terminal is gone with the last who writes to it
            while more := os.read(terminal, 1000):
                after += more
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert [line for line in after.decode().replace("^C", "").split("\r\n") if line] == ["firstbreak: stopped"]
