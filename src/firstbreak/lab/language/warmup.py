"""Supervised warm-up: a policy that is never right gets no gradient from rewards, so demonstrations come first."""

from __future__ import annotations

import os
import random
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor
from torch.nn import functional as F

from firstbreak.lab.language import tasks
from firstbreak.lab.language.model import EOS, PAD, Transformer, decode, encode, extend
from firstbreak.lab.language.tasks import Problem, Task

BATCH = 128
MAX_STEPS = 1500
MAX_NEW_TOKENS = 16


def warmed_up(task: Task, accuracy: float, seed: int) -> Transformer:
    """A policy taught until its samples are right in `accuracy` of all cases; taught once, then read from the cache."""
    torch.manual_seed(seed)
    model = Transformer()
    cached = _folder() / f"{task.name}-{task.max_filler}-{accuracy}-{seed}.pt"
    if cached.exists():
        model.load_state_dict(torch.load(cached, weights_only=True))
        return model
    _teach(model, task, accuracy, random.Random(seed))
    cached.parent.mkdir(parents=True, exist_ok=True)
    partial = cached.with_suffix(f".{os.getpid()}")
    torch.save(model.state_dict(), partial)
    partial.replace(cached)
    return model


def _teach(model: Transformer, task: Task, accuracy: float, rng: random.Random) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(MAX_STEPS):
        if step % 5 == 0 and _accuracy(model, task.draw(rng, BATCH)) >= accuracy:
            return
        prompts, completions = _demonstrations(task, task.draw(rng, BATCH), rng)
        logits = model(torch.cat([prompts, completions[:, :-1]], dim=1))[:, prompts.shape[1] - 1 :]
        loss = F.cross_entropy(logits.flatten(0, 1), completions.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    raise RuntimeError(f"{task.name}: not right in {accuracy:.0%} of all cases after {MAX_STEPS} steps")


def _demonstrations(task: Task, problems: list[Problem], rng: random.Random) -> tuple[Tensor, Tensor]:
    answers = [encode([task.demonstration(problem, rng)])[0] for problem in problems]
    completions = torch.full((len(problems), max(map(len, answers)) + 1), PAD)
    for row, answer in zip(completions, answers, strict=True):
        row[: len(answer)], row[len(answer)] = answer, EOS
    return encode([problem.prompt for problem in problems]), completions


def _accuracy(model: Transformer, problems: list[Problem]) -> float:
    prompts = encode([problem.prompt for problem in problems])
    tokens = extend(model, prompts, MAX_NEW_TOKENS, generator=torch.Generator().manual_seed(0))
    completions = decode(tokens[:, prompts.shape[1] :])
    return mean(tasks.accuracy(p, c) for p, c in zip(problems, completions, strict=True))


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "firstbreak" / "warmup"
