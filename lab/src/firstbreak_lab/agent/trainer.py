"""The trainer of the agent: the language trainer, with an environment that writes a part of each completion."""

from firstbreak_lab.language.trainer import train

__all__ = ["train"]
