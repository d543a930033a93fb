"""The guide that ships with the package, and how to connect an agent."""

from importlib import resources


def page() -> str:
    """docs/agents.md"""
    guide = resources.files("firstbreak.serve.mcp").joinpath("guide.md").read_text("utf-8")
    head, _, rest = guide.partition("\n## ")
    connect = (
        "## Connecting\n\n`pip install 'firstbreak[mcp]'`, and in the agent's configuration:\n\n"
        '```json\n{"mcpServers": {"firstbreak": {"command": "firstbreak", "args": ["mcp", "--root", "runs"]}}}\n```\n\n'
        "Over HTTP: `firstbreak mcp --root runs --http` serves `/mcp` on this machine, and prints the address for "
        "the agent, with a token; `--no-token` leaves the token out. The tools `inspect`, "
        "`diagnose`, `explain`, `samples`, `compare` and `experiment_plan` only read, "
        "and only below the root. The server hands out this guide as the resource `firstbreak://guide`."
    )
    return f"{head}\n{connect}\n\n## {rest}"
