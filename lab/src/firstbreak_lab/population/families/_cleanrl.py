"""What the single-file loops in CleanRL's style share: where they log, and what is printed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from firstbreak.model import Link

LOGGERS = ("tensorboard", "tensorboard", "tensorboard+stdout", "stdout")
CANNOT: Mapping[Link, str] = {Link.EVALUATION: "CleanRL's scripts evaluate once, after the training, if at all"}


class ScriptLog:
    """TensorBoard as CleanRL's scripts write it, and the lines that they print."""

    def __init__(self, kind: str, settings: Mapping[str, Any], out: Path) -> None:
        self.writer = SummaryWriter(str(out)) if "tensorboard" in kind else None
        self.text = (out / "stdout.log").open("w") if "stdout" in kind else None
        if self.writer:
            rows = "\n".join(f"|{name}|{value}|" for name, value in settings.items())
            self.writer.add_text("hyperparameters", f"|param|value|\n|-|-|\n{rows}")

    def scalars(self, numbers: Mapping[str, float], step: int) -> None:
        """Numbers of one step. The speed is printed too."""
        if self.writer:
            for name, number in numbers.items():
                self.writer.add_scalar(name, number, step)
        if self.text and "charts/SPS" in numbers:
            self.text.write(f"SPS: {numbers['charts/SPS']}\n")

    def episode(self, total: float, length: int, step: int) -> None:
        """An episode that is over."""
        self.scalars({"charts/episodic_return": total, "charts/episodic_length": length}, step)
        if self.text:
            self.text.write(f"global_step={step}, episodic_return={total}\n")

    def close(self) -> None:
        """Write what is left."""
        if self.writer:
            self.writer.close()
        if self.text:
            self.text.close()


def finite(network: nn.Module) -> nn.Module:
    """The network, with weights of 0 where they are not finite."""
    if not all(bool(torch.isfinite(p).all()) for p in network.parameters()):
        for p in network.parameters():
            p.data.zero_()
    return network
