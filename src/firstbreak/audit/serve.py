"""Serves the marking page on this machine, with the standard library, and saves every mark at once.

The server listens on 127.0.0.1 only. The address contains a token that cannot be guessed. Requests with another host name
(DNS rebinding) or from another page (a forged POST) are refused.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from firstbreak.audit.audit import Audit
from firstbreak.audit.marks import MARKS, key_of, save
from firstbreak.audit.page import policy, render
from firstbreak.readers import Unreadable

MOST_BYTES = 1 << 12  #: size of a posted mark


class Server(ThreadingHTTPServer):
    """One audit, one file of marks."""

    daemon_threads = True

    def __init__(self, audit: Audit, file: Path, known: Mapping[str, str], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.audit, self.file = audit, file
        self.marks = dict(known)
        self.samples = {key_of(chosen.sample): chosen.sample for chosen in audit.selected}
        self.token = secrets.token_urlsafe(24)
        self.lock = Lock()

    @property
    def hosts(self) -> tuple[str, str]:
        """The host names that this server answers to."""
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def mark(self, key: str, word: str) -> None:
        """Save a mark. The empty mark removes an earlier one. Raises KeyError for a sample that is not on the page."""
        sample = self.samples[key]
        entry: dict[str, Any] = {"mark": word, "step": sample.step, "reward": sample.reward}
        entry |= {"prompt": sample.prompt, "completion": sample.completion}
        with self.lock:
            save(self.file, {key: entry if word else None})
            self.marks[key] = word


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if not self._allowed("/"):
            return
        page = render(self.server.audit, self.server.marks, served=True).encode("utf-8", "replace")
        self._answer(HTTPStatus.OK, page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        if not self._allowed("/marks"):
            return
        if self.headers.get("Origin", self._origins()[0]) not in self._origins():
            return self._answer(HTTPStatus.FORBIDDEN, b"the request comes from another page")
        try:
            length = int(self.headers.get("Content-Length", ""))
            entry = json.loads(self.rfile.read(min(max(length, 0), MOST_BYTES)))
            key, word = entry["key"], entry["mark"]
            if word not in (*MARKS, ""):
                raise ValueError(word)
            self.server.mark(key, word)
        except (ValueError, KeyError, TypeError, RecursionError):
            return self._answer(HTTPStatus.BAD_REQUEST, b"not a mark of a sample of this page")
        except (OSError, Unreadable) as error:
            return self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode("utf-8", "replace"))
        self._answer(HTTPStatus.OK, b"saved")

    def _origins(self) -> list[str]:
        return [f"http://{host}" for host in self.server.hosts]

    def _allowed(self, place: str) -> bool:
        """Whether host name and path of the request are right. If not, the request is refused here."""
        if self.headers.get("Host") not in self.server.hosts:
            self._answer(HTTPStatus.FORBIDDEN, b"the host name of the request is not 127.0.0.1")
        elif not secrets.compare_digest(self.path.encode(), f"/{self.server.token}{place}".encode()):
            self._answer(HTTPStatus.NOT_FOUND, b"open the address that firstbreak printed")
        else:
            return True
        return False

    def _answer(self, status: HTTPStatus, content: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy(served=True) + "; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because every path contains the token."""


def serve(audit: Audit, file: Path, known: Mapping[str, str], *, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted."""
    with Server(audit, file, known, port) as server:
        announce(f"read and mark {len(audit.selected)} samples at {server.address}")
        announce(f"marks are saved to {file}; stop with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            announce(f"{sum(map(bool, server.marks.values()))} samples are marked in {file}")
