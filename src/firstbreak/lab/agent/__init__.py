"""An agent with tools and a real final state, trained by the trainer of the language lab."""

from firstbreak.lab.agent.registers import Registers, grpo

__all__ = ["Registers", "grpo"]
