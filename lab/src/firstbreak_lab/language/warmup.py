"""Supervised warm-up on demonstrations. A policy that is never right gets no gradient from rewards."""

import os
import random
import zlib
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor
from torch.nn import functional as F

from firstbreak_lab.language.model import EOS, PAD, Transformer, encode
from firstbreak_lab.language.rollout import complete
from firstbreak_lab.language.tasks import Task, TaskProblem

BATCH = 128
MAX_STEPS = 1500
MAX_NEW_TOKENS = 16


def warmed_up(task: Task, accuracy: float, seed: int) -> Transformer:
    """A policy that is trained until a share `accuracy` of its samples is right. The result is cached."""
    torch.manual_seed(seed)
    model = Transformer()
    cached = _folder() / f"{task.name}-{_fingerprint(task)}-{accuracy}-{seed}.pt"
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
        if step % 5 == 0 and _accuracy(model, task, task.draw(rng, BATCH)) >= accuracy:
            return
        prompts, completions, taught = _demonstrations(task, task.draw(rng, BATCH), rng)
        logits = model(torch.cat([prompts, completions[:, :-1]], dim=1))[:, prompts.shape[1] - 1 :]
        loss = F.cross_entropy(logits.flatten(0, 1), taught.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    raise RuntimeError(
        f"{task.name}: accuracy is below {accuracy:.0%} after {MAX_STEPS} warm-up steps; use a lower accuracy"
    )


def _demonstrations(task: Task, problems: list[TaskProblem], rng: random.Random) -> tuple[Tensor, Tensor, Tensor]:
    """Prompts, right completions, and the target tokens, without the tokens of an environment."""
    texts = [task.demonstration(problem, rng) for problem in problems]
    completions = torch.full((len(problems), max(map(len, texts)) + 1), PAD)
    taught = completions.clone()
    for row, lesson, text in zip(completions, taught, texts, strict=True):
        row[: len(text)], row[len(text)] = encode([text])[0], EOS
        lesson[:] = row
        if task.environment is not None:
            lesson[: len(text)][torch.tensor(task.environment.observed(text))] = PAD
    return encode([problem.prompt for problem in problems]), completions, taught


def _accuracy(model: Transformer, task: Task, problems: list[TaskProblem]) -> float:
    completions = complete(model, task, problems, MAX_NEW_TOKENS, 1.0, torch.Generator().manual_seed(0))
    return mean(map(task.grade, problems, completions))


def _fingerprint(task: Task) -> str:
    """Eight digits that change if the demonstrations change."""
    rng = random.Random(0)
    lessons = [problem.prompt + task.demonstration(problem, rng) for problem in task.draw(rng, 32)]
    return f"{zlib.crc32(repr(lessons).encode()):08x}"


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "firstbreak" / "warmup" / os.environ.get("FIRSTBREAK_TEST_SEED", "")  # weights of other seeds
