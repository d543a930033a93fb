"""A reward model: the transformer of the language lab with one output, trained on pairs (Bradley and Terry, 1952)."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from firstbreak_lab.language.model import EOS, PAD, Transformer, encode
from firstbreak_lab.language.rollout import complete
from firstbreak_lab.language.tasks import Task, TaskProblem

MAX_NEW_TOKENS = 12
STEPS, BATCH = 250, 64


@dataclass(frozen=True)
class Pairs:
    """Pairs of completions of the same prompts, as tokens of shape (pairs, length) and as texts."""

    chosen: Tensor
    rejected: Tensor
    problems: list[TaskProblem]
    better: list[str]
    worse: list[str]


def pairs(policy: Transformer, task: Task, n: int, *, seed: int, swapped: float = 0.0) -> Pairs:
    """`n` pairs of the policy's samples, ordered by the true quality. A share `swapped` has chosen and rejected exchanged."""
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    problems: list[TaskProblem] = []
    better: list[str] = []
    worse: list[str] = []
    while len(problems) < n:
        drawn = task.draw(rng, 512)
        two = [complete(policy, task, drawn, MAX_NEW_TOKENS, 1.0, generator) for _ in range(2)]
        for problem, a, b in zip(drawn, *two, strict=True):
            a_grade, b_grade = task.grade(problem, a), task.grade(problem, b)
            if a_grade == b_grade:
                continue
            first, second = (a, b) if (a_grade > b_grade) != (rng.random() < swapped) else (b, a)
            problems.append(problem)
            better.append(first)
            worse.append(second)
    problems, better, worse = problems[:n], better[:n], worse[:n]
    return Pairs(_tokens(problems, better), _tokens(problems, worse), problems, better, worse)


def fit(policy: Transformer, data: Pairs, *, seed: int) -> Transformer:
    """A reward model trained on these pairs. Its body is initialised from the policy."""
    torch.manual_seed(seed)
    model = policy.with_outputs(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        rows = torch.randint(len(data.chosen), (BATCH,))
        margin = _reward(model, data.chosen[rows]) - _reward(model, data.rejected[rows])
        loss = -F.logsigmoid(margin).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


@torch.no_grad()
def scores(model: Transformer, problems: list[TaskProblem], completions: list[str]) -> list[float]:
    """The reward of each completion."""
    rewards: list[float] = _reward(model, _tokens(problems, completions)).tolist()
    return rewards


@torch.no_grad()
def accuracy(model: Transformer, data: Pairs) -> float:
    """Share of the pairs whose chosen completion has the higher reward."""
    return float((_reward(model, data.chosen) > _reward(model, data.rejected)).float().mean())


def _tokens(problems: list[TaskProblem], completions: list[str]) -> Tensor:
    """Prompt, completion, end-of-sequence token and padding. All rows have the same length."""
    prompts = encode([problem.prompt for problem in problems])
    tokens = torch.full((len(problems), prompts.shape[1] + MAX_NEW_TOKENS + 1), PAD)
    tokens[:, : prompts.shape[1]] = prompts
    for row, text in zip(tokens[:, prompts.shape[1] :], completions, strict=True):
        if text:
            row[: len(text)] = encode([text])[0]
        row[len(text)] = EOS
    return tokens


def _reward(model: Transformer, tokens: Tensor) -> Tensor:
    """The output at the end-of-sequence token."""
    ends = (tokens == EOS).float().argmax(1)
    outputs: Tensor = model(tokens)
    return outputs[torch.arange(len(tokens)), ends, 0]
