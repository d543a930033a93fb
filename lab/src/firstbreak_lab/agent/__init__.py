"""An agent with tools, trained by the trainer of the language lab. Success depends on the final state."""

from firstbreak_lab.agent.registers import Registers, grpo

__all__ = ["Registers", "grpo"]
