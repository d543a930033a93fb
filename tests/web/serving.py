"""Runs on disk, and a server over them."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firstbreak.serve.web.app import Site
from firstbreak.serve.web.listen import Listener, configured
from tests.make import write_jsonl
from tests.reports.fixtures import HOSTILE
from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
HOSTILE_NAME = HOSTILE.encode("utf-8", "replace").decode().replace("/", "∕").replace("\x00", "")[:120]


@dataclass
class Served:
    """A running server."""

    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(
        self, path: str, method: str = "GET", body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of one request. `host` and others replace what a browser would send."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"host": f"127.0.0.1:{self.port}", **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        if body:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        data = answer.read()
        connection.close()
        return answer.status, found, data


@contextlib.contextmanager
def serving(
    folder: Path, host: str = "127.0.0.1", token: str | None = None, once: str | None = None, port: int = 0
) -> Iterator[Served]:
    """A server in a thread, as `firstbreak serve` starts it; it listens on loopback whatever `host` it believes in."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    server = Listener(configured(Site(folder).app(), host, token, once))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Served(listener.getsockname()[1])
    server.should_exit = True
    thread.join(10)


def write_hostile(folder: Path) -> None:
    """A run whose folder, metric names and samples all try to break out of the page."""
    run = folder / HOSTILE_NAME
    attack = HOSTILE.encode("utf-8", "replace").decode()
    write_jsonl(run / "metrics.jsonl", 60, extra={attack: 1.0, f"train/{attack}": 2.0, "</script><script>x": 3.0})
    with (run / "completions.jsonl").open("w", encoding="utf-8") as file:
        for step in range(40):
            sample = {"step": step, "prompt": attack, "completion": attack * 3, "reward": 1.0, attack: attack}
            file.write(json.dumps(sample) + "\n")
