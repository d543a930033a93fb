"""firstbreak serve [DIR]"""

import sys
from pathlib import Path

import click


@click.command("serve")
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(exists=True, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port; 0 for any.")
@click.option("--no-token", is_flag=True, help="On this machine only: open the page to every user, without the token.")
@click.option(
    "--baseline",
    metavar="FOLDER",
    type=click.Path(exists=True, path_type=Path),
    help="Your earlier runs: each page says how its run stands beside the healthy ones of the same task.",
)
@click.option("--open/--no-open", "browse", default=False, help="Open the page in the browser.")
def command(folder: Path, host: str, port: int, no_token: bool, baseline: Path | None, browse: bool) -> None:
    """Serve a local web page over the runs below DIR: the list, and each run with its curves, with live updates.

    The printed address opens the page in one browser: its token becomes a cookie. It is the same at the next start.

    Needs the extra `web` (pip install 'firstbreak[web]'). Nothing leaves the machine. Stop with Ctrl-C.
    """
    try:
        from firstbreak.serve.web.app import Site
        from firstbreak.serve.web.listen import listen
    except ModuleNotFoundError as error:
        click.echo(f"firstbreak: serve: {error.name} is not installed; pip install 'firstbreak[web]'", err=True)
        sys.exit(2)
    app = Site(folder, baseline).app()
    listen(app, host, port, "/", f"{folder} is shown", folder, with_token=not no_token, browse=browse)
