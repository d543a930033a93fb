"""The agent's trainer is the language trainer: an environment writes a part of each completion, and that is all."""

from firstbreak.lab.language.trainer import train

__all__ = ["train"]
