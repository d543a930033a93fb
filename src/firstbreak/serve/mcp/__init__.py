"""The same words for agents, over the Model Context Protocol: the JSON that the command line prints, and nothing that writes."""
