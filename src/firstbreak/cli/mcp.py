"""firstbreak mcp"""

import sys
from pathlib import Path

import click


@click.command("mcp")
@click.option(
    "--root",
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of runs; paths outside of it are refused.",
)
@click.option("--http", is_flag=True, help="Serve over HTTP at /mcp, not over standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="With --http: the port; 0 for any."
)
@click.option("--no-token", is_flag=True, help="On this machine only, with --http: answer all users without a token.")
def command(root: Path, http: bool, host: str, port: int, no_token: bool) -> None:
    """Serve tools for agents, over the Model Context Protocol: survey, brief, curve, inspect, diagnose, explain, samples,
    audit, compare, experiment plan.

    Needs the extra `mcp` (pip install 'firstbreak[mcp]'). All tools only read. In the configuration of an agent:
    command "firstbreak", arguments ["mcp", "--root", "runs"].
    """
    try:
        from firstbreak.serve.mcp.server import create
    except ModuleNotFoundError as error:
        click.echo(f"firstbreak: mcp: {error.name} is not installed; pip install 'firstbreak[mcp]'", err=True)
        sys.exit(2)
    from firstbreak.processes import in_child

    server = create(root)
    if not http:
        in_child(restarts=0)  # a client that has said hello would not say it again
        server.run("stdio")
        return
    from mcp.server.transport_security import TransportSecuritySettings

    from firstbreak.serve.web.listen import listen

    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # AuthMiddleware does this
    app = server.streamable_http_app(stateless_http=True, transport_security=unguarded)
    listen(app, host, port, "/mcp", f"the tools over {root} are", Path(root), with_token=not no_token)
