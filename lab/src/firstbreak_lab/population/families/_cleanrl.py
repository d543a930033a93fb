"""What the single-file loops in CleanRL's style share: where they log, and what is printed."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from firstbreak.model import Link
from firstbreak_lab.drawn import Trained
from firstbreak_lab.population import tasks
from firstbreak_lab.population.families._control import CRASHES, Waits

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


def trained(
    name: str,
    settings: Mapping[str, Any],
    network: nn.Module,
    act: Callable[[np.ndarray], np.ndarray],
    waits: Waits,
    out: Path,
    loop: Callable[[ScriptLog], None],
) -> Trained:
    """Run the loop of the script `name` with its log. `act`: what the network does, which is scored before and after."""
    task = tasks.TASKS[settings["task"]]
    start = tasks.score(act, task)
    log = ScriptLog(settings["logger"], {"exp_name": name, "env_id": settings["task"], **settings}, out)
    began = time.process_time()
    try:
        loop(log)
    except CRASHES as error:  # of NaN: a run that a user finds stopped
        if log.text:
            log.text.write(f"Traceback (most recent call last):\n{type(error).__name__}: {error}\n")
    seconds = time.process_time() - began + waits.seconds
    log.close()
    finite(network)
    nan = float("nan")
    score = tasks.score(act, task)
    return Trained(
        start, score, task.best, reported=nan, claimed=nan, seconds=seconds, steps=settings["total_timesteps"]
    )
