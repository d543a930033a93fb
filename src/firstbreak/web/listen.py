"""Put an app behind the gate and on a port, and say where it is."""

from __future__ import annotations

import socket
import sys
import webbrowser

import uvicorn
from starlette.types import ASGIApp

from firstbreak.web.gate import Gate, is_loopback, new_token


def listen(app: ASGIApp, host: str, port: int, path: str, what: str, *, browse: bool = False) -> None:
    """Serve until interrupted; exits with 2 where the port is taken.

    Other machines need the token, which the printed address carries.
    """
    token = None if is_loopback(host) else new_token()
    listener = _bound(host, port)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}{path}" + (f"?token={token}" if token else "")
    print(f"firstbreak: {what} at {address}", file=sys.stderr, flush=True)
    if browse:
        webbrowser.open(address)
    gate = Gate(app, host, token)
    settings = uvicorn.Config(gate, log_level="warning", timeout_graceful_shutdown=1, ws="none", server_header=False)
    uvicorn.Server(settings).run(sockets=[listener])


def _bound(host: str, port: int) -> socket.socket:
    """A socket that already takes visitors when the address is printed, whatever port was asked for."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        print(f"firstbreak: {host}:{port}: {error.strerror}; take another port with --port 0", file=sys.stderr)
        sys.exit(2)
    return listener
