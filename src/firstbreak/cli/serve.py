"""firstbreak serve [DIR]"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import click


@click.command("serve")
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; others than this machine's need the token.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes any free one.")
@click.option("--open/--no-open", "open_", default=False, help="Open the page in the browser.")
def command(folder: Path, host: str, port: int, open_: bool) -> None:
    """A local web page over the runs below DIR: the list, each run with its curves, and what changes while it trains.

    Needs the extra `web` (pip install 'firstbreak[web]'). Nothing leaves the machine. Ends with Ctrl-C.
    """
    try:
        import uvicorn

        from firstbreak.web.app import create
        from firstbreak.web.gate import is_loopback, new_token
    except ModuleNotFoundError as error:
        click.echo(f"firstbreak: serve: {error.name} is not installed; pip install 'firstbreak[web]'", err=True)
        sys.exit(2)
    token = None if is_loopback(host) else new_token()
    listener = _listen(host, port)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}/" + (f"?token={token}" if token else "")
    click.echo(f"firstbreak: {folder} is shown at {address}", err=True)
    if open_:
        click.launch(address)
    settings = uvicorn.Config(
        create(folder, host=host, token=token),
        log_level="warning",
        timeout_graceful_shutdown=1,
        ws="none",
        server_header=False,
    )
    uvicorn.Server(settings).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that is already ours when the address is printed, whatever port was asked for."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        click.echo(f"firstbreak: {host}:{port}: {error.strerror}; take another port with --port 0", err=True)
        sys.exit(2)
    return listener
