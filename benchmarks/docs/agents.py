"""How to connect an agent, and the guide that ships with the package."""

from importlib import resources

from benchmarks.docs.markdown import filled


def page() -> str:
    """docs/agents.md"""
    return filled("agents", guide=resources.files("firstbreak.serve.mcp").joinpath("guide.md").read_text("utf-8"))
