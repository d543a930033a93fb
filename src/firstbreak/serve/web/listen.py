"""Serve an app with authentication on a port, and print its address."""

import asyncio
import logging
import socket
import sys
import webbrowser
from collections import Counter
from pathlib import Path
from typing import ClassVar, NoReturn

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from firstbreak.processes import in_child
from firstbreak.serve.web.auth import AuthMiddleware, is_loopback
from firstbreak.serve.web.token import kept_token, new_token

LONGEST_HEAD = 32768  #: bytes of a request without its body; cookies of other servers of this host are among them
SLOWEST_REQUEST = 10.0  #: seconds until a request is complete
SHARED = 0.0005  #: seconds after which a diagnosis lets a page be answered; Python's own 0.005 add up to a pause
MOST_CONNECTIONS = 500  #: beyond it, the answer is 503
MOST_WAITING = 200  #: connections that have not sent a whole request; beyond it, the oldest of who has most is closed


class BoundedProtocol(H11Protocol):
    """HTTP with a limit for the size of a request's head, which httptools has not, and for its time, which neither has."""

    _late: asyncio.TimerHandle | None = None
    _waiting: ClassVar[dict["BoundedProtocol", None]] = {}  #: without a whole request, the oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.host = self.client and self.client[0]
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def _watch(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(SLOWEST_REQUEST, self.transport.abort)
            self._waiting[self] = None
            if len(self._waiting) > MOST_WAITING:  # who sends at once is not the oldest, and crowds out its own alone
                hosts = Counter(waiting.host for waiting in self._waiting)
                oldest = next(waiting for waiting in self._waiting if waiting.host == hosts.most_common(1)[0][0])
                oldest._stop_watching()
                oldest.transport.abort()

    def _stop_watching(self) -> None:
        self._waiting.pop(self, None)
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Listener(uvicorn.Server):
    """A server whose end is no error: pages that follow a run are cut off then."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def listen(
    app: ASGIApp, host: str, port: int, path: str, what: str, served: Path, *, with_token: bool, browse: bool = False
) -> None:
    """Serve until interrupted. Exits with 2 where the port is in use, or where other machines would need no token.

    The token of what is `served` is part of the printed address: other users of this machine reach its loopback address as well.
    """
    if not with_token and not is_loopback(host):
        _give_up(f"{host} can be reached from other machines; leave out --no-token, or --host")
    token, once = (kept_token(served / path.strip("/")), new_token()) if with_token else (None, None)
    listener = _bound(host, port)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}{path}"
    print(f"firstbreak: {what} at {address}{_query(token)}", file=sys.stderr, flush=True)
    if browse:
        webbrowser.open(f"{address}{_query(once)}")
    in_child(apart=True)
    sys.setswitchinterval(SHARED)
    Listener(configured(app, host, token, once)).run(sockets=[listener])


def configured(app: ASGIApp, host: str, token: str | None, once: str | None = None) -> uvicorn.Config:
    """The server of an app, behind `AuthMiddleware` and with limits."""
    return uvicorn.Config(
        AuthMiddleware(app, host, token, once),
        http=BoundedProtocol,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        limit_concurrency=MOST_CONNECTIONS,
        log_level="error",  # what a client sends wrongly is no news
        timeout_graceful_shutdown=1,
        ws="none",
        server_header=False,
    )


def _query(token: str | None) -> str:
    return f"?token={token}" if token else ""


def _bound(host: str, port: int) -> socket.socket:
    """A socket that already listens when the address is printed."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        _give_up(f"{host}:{port}: {error.strerror}; use another port, or --port 0 for any free one")
    return listener


def _give_up(why: str) -> NoReturn:
    print(f"firstbreak: {why}", file=sys.stderr)
    sys.exit(2)
