"""Servers over a folder of runs: a local web page for people (`web`), the Model Context Protocol for agents (`mcp`)."""
