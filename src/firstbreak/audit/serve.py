"""Serves the marking page on this machine, with the standard library, and saves every mark at once.

Only 127.0.0.1 is listened on. The address carries a token that cannot be guessed, and whoever asks by another host name
(DNS rebinding) or from another page (a forged post) is turned away.
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

MOST_BYTES = 1 << 12  #: of a posted mark


class Server(ThreadingHTTPServer):
    """One audit, one file of marks."""

    daemon_threads = True

    def __init__(self, audit: Audit, file: Path, known: Mapping[str, str], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.audit, self.file = audit, file
        self.marks = dict(known)
        self.samples = {key_of(pick.sample): pick.sample for pick in audit.picks}
        self.token = secrets.token_urlsafe(24)
        self.lock = Lock()

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which this server may be asked."""
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def mark(self, key: str, word: str) -> None:
        """Keep a mark; the empty word takes one back. Raises KeyError for a sample that the page does not show."""
        sample = self.samples[key]
        entry: dict[str, Any] = {"mark": word, "step": sample.step, "reward": sample.reward}
        entry |= {"prompt": sample.prompt, "completion": sample.completion}
        with self.lock:
            save(self.file, {key: entry if word else None})
            self.marks[key] = word


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if not self._welcome("/"):
            return
        page = render(self.server.audit, self.server.marks, served=True).encode("utf-8", "replace")
        self._answer(HTTPStatus.OK, page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        if not self._welcome("/marks"):
            return
        if self.headers.get("Origin", self._origins()[0]) not in self._origins():
            return self._answer(HTTPStatus.FORBIDDEN, b"posted from another page")
        try:
            length = int(self.headers.get("Content-Length", ""))
            entry = json.loads(self.rfile.read(min(max(length, 0), MOST_BYTES)))
            key, word = entry["key"], entry["mark"]
            if word not in (*MARKS, ""):
                raise ValueError(word)
            self.server.mark(key, word)
        except (ValueError, KeyError, TypeError, RecursionError):
            return self._answer(HTTPStatus.BAD_REQUEST, b"no mark of a sample of this page")
        except (OSError, Unreadable) as error:
            return self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode("utf-8", "replace"))
        self._answer(HTTPStatus.OK, b"saved")

    def _origins(self) -> list[str]:
        return [f"http://{host}" for host in self.server.hosts]

    def _welcome(self, place: str) -> bool:
        """Whether it is asked by the right name and the right path; if not, it is answered here."""
        if self.headers.get("Host") not in self.server.hosts:
            self._answer(HTTPStatus.FORBIDDEN, b"asked by another name than 127.0.0.1")
        elif not secrets.compare_digest(self.path.encode(), f"/{self.server.token}{place}".encode()):
            self._answer(HTTPStatus.NOT_FOUND, b"open the address that firstbreak has printed")
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
        """Nothing: the token is in every path, and it belongs into no log."""


def serve(audit: Audit, file: Path, known: Mapping[str, str], *, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted."""
    with Server(audit, file, known, port) as server:
        announce(f"read and mark {len(audit.picks)} samples at {server.address}")
        announce(f"marks are saved to {file}; end with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            announce(f"{sum(map(bool, server.marks.values()))} samples are marked in {file}")
