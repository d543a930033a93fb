"""Serve an app with authentication on a port, and print its address."""

from __future__ import annotations

import socket
import sys
import webbrowser

import uvicorn
from starlette.types import ASGIApp

from firstbreak.serve.web.auth import AuthMiddleware, is_loopback, new_token


def listen(app: ASGIApp, host: str, port: int, path: str, what: str, *, browse: bool = False) -> None:
    """Serve until interrupted. Exits with 2 where the port is in use.

    Other machines need the token, which is part of the printed address.
    """
    token = None if is_loopback(host) else new_token()
    listener = _bound(host, port)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}{path}" + (f"?token={token}" if token else "")
    print(f"firstbreak: {what} at {address}", file=sys.stderr, flush=True)
    if browse:
        webbrowser.open(address)
    guarded = AuthMiddleware(app, host, token)
    settings = uvicorn.Config(guarded, log_level="warning", timeout_graceful_shutdown=1, ws="none", server_header=False)
    uvicorn.Server(settings).run(sockets=[listener])


def _bound(host: str, port: int) -> socket.socket:
    """A socket that already listens when the address is printed."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        print(
            f"firstbreak: {host}:{port}: {error.strerror}; use another port, or --port 0 for any free one",
            file=sys.stderr,
        )
        sys.exit(2)
    return listener
