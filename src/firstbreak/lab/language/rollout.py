"""Rollout: a small fleet of workers that may run ahead of the trainer, as in AReaL.

A batch is *submitted* under some version of the weights. With `max_head_offpolicyness` = 0 it is finished at once and
used at once: the synchronous loop. Otherwise half of its tokens are written under the weights of that moment and half
under the next version's (the engine swaps weights in mid-sequence, and each token remembers its version), and the batch
waits in a queue until it is `max_head_offpolicyness` versions old. At the start the queue is filled by the first policy,
so staleness rises over the first steps and then stays.
"""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from firstbreak.lab.language.model import EOS, PAD, Transformer, decode, encode, extend, log_probs
from firstbreak.lab.language.settings import AcceptFunction, Settings
from firstbreak.lab.language.tasks import Problem, Task

Score = Callable[[list[Problem], list[str]], dict[str, list[float]]]  #: reward component -> one number a completion


@dataclass
class Batch:
    """Completions of one step, group after group. Tensors are (sequences,) or (sequences, max_new_tokens)."""

    problems: list[Problem]
    prompt_length: int
    tokens: Tensor  #: (sequences, prompt_length + max_new_tokens), padding where nothing is written
    behave_logp: Tensor  #: log-probability of each completion token under the weights that wrote it
    versions: Tensor  #: policy version that wrote each token
    rewards: Tensor  #: total reward of each sequence
    components: dict[str, Tensor]  #: reward component -> (sequences,), before its weight
    observed: Tensor  #: True for tokens that an environment has written
    written: int = 0  #: completion positions that have been generated so far

    @property
    def completions(self) -> list[str]:
        """The text of each completion."""
        return decode(self.tokens[:, self.prompt_length :])

    @property
    def lengths(self) -> Tensor:
        """Tokens of each completion, the end-of-sequence token and an environment's answers included."""
        return (self.tokens[:, self.prompt_length :] != PAD).sum(1)

    @property
    def mask(self) -> Tensor:
        """True for the tokens that the policy has written, the end-of-sequence token included."""
        return (self.tokens[:, self.prompt_length :] != PAD) & ~self.observed

    @property
    def finished(self) -> Tensor:
        """Whether each completion ended by itself."""
        return (self.tokens[:, self.prompt_length :] == EOS).any(1)

    def rows(self, index: Tensor) -> Batch:
        """Some of the sequences."""
        tensors: dict[str, Any] = {name: tensor[index] for name, tensor in _tensors(self).items()}
        problems = [self.problems[i] for i in index.tolist()]
        components = {name: values[index] for name, values in self.components.items()}
        return replace(self, problems=problems, components=components, **tensors)


def concatenate(batches: list[Batch]) -> Batch:
    """All the sequences of several batches."""
    first = batches[0]
    tensors: dict[str, Any] = {name: torch.cat([_tensors(b)[name] for b in batches]) for name in _tensors(first)}
    problems = [problem for batch in batches for problem in batch.problems]
    components = {name: torch.cat([b.components[name] for b in batches]) for name in first.components}
    return replace(first, problems=problems, components=components, **tensors)


def _tensors(batch: Batch) -> dict[str, Tensor]:
    return {name: value for name, value in vars(batch).items() if isinstance(value, Tensor)}


class Engine:
    """The inference engine: its own copy of the weights, and the version that they carry."""

    def __init__(self, policy: Transformer, seed: int) -> None:
        self.model = copy.deepcopy(policy).requires_grad_(False)
        self.version = 0
        self.generator = torch.Generator().manual_seed(seed)

    def update_weights(self, policy: Transformer, version: int) -> None:
        """Receive the trainer's weights."""
        self.model.load_state_dict(policy.state_dict())
        self.version = version

    def write(self, batch: Batch, until: int, settings: Settings) -> None:
        """Complete every sequence up to `until` new tokens, and note their log-probabilities and version."""
        start = batch.prompt_length + batch.written
        tokens = extend(
            self.model,
            batch.tokens[:, :start],
            until - batch.written,
            generator=self.generator,
            temperature=settings.temperature,
            top_p=settings.top_p,
            respond=responder(settings.task, batch.problems, batch.prompt_length),
        )
        batch.tokens[:, start : tokens.shape[1]] = tokens[:, start:]
        # One forward pass over the whole batch, just as the trainer does it: the cache's log-probabilities differ in
        # their last bits, and that rounding would hide a small but real mismatch between engine and trainer.
        with torch.no_grad():
            logp, _ = log_probs(self.model, batch.tokens, batch.prompt_length, settings.temperature)
        batch.behave_logp[:, batch.written : until] = logp[:, batch.written : until]
        batch.versions[:, batch.written : until] = self.version
        batch.written = until


class RolloutWorkers:
    """What the trainer asks for batches."""

    def __init__(self, settings: Settings, engine: Engine, score: Score) -> None:
        self.settings, self.engine, self.score = settings, engine, score
        self.rng = random.Random(settings.seed)
        self.draw: Callable[[random.Random, int], list[Problem]] = settings.task.draw
        self.queue: deque[Batch] = deque()  #: submitted, oldest first
        self.finished_rewards: list[Tensor] = []  #: of every finished rollout since the last batch was handed out
        self.finished_groups = 0

    def prepare_batch(self, should_accept_fn: AcceptFunction | None) -> Batch:
        """A batch whose rollouts began at most `max_head_offpolicyness` versions ago.

        `should_accept_fn` sees the rewards of each group. More groups are fetched in the place of rejected ones, up to
        four batches' worth; what was accepted by then is the batch (a whole batch where nothing was).
        """
        self.finished_rewards, self.finished_groups = [], 0
        group, wanted = self.settings.n_samples, self.settings.batch_size
        accepted: list[Batch] = []
        for _ in range(4):
            batch = self._next()
            self.finished_rewards.append(batch.rewards)
            rewards = batch.rewards.view(-1, group)
            self.finished_groups += len(rewards)
            if should_accept_fn is None:
                return batch
            keep = torch.tensor([should_accept_fn(r) for r in rewards.tolist()])
            if keep.any():
                accepted.append(batch.rows(keep.repeat_interleave(group).nonzero().squeeze(1)))
            if sum(len(b.problems) for b in accepted) >= wanted * group:
                break
        whole = concatenate(accepted) if accepted else batch
        return whole.rows(torch.arange(min(len(whole.problems), wanted * group)))

    def _next(self) -> Batch:
        """The oldest batch, complete and scored; the queue is filled up behind it."""
        full, ahead = self.settings.max_new_tokens, self.settings.max_head_offpolicyness
        for waiting in self.queue:
            self._write(waiting, full)
        while len(self.queue) <= ahead:
            self.queue.append(self._submit())
            self._write(self.queue[-1], full // 2 if ahead else full)
        batch = self.queue.popleft()
        self._write(batch, full)
        self._grade(batch)
        return batch

    def _write(self, batch: Batch, until: int) -> None:
        if batch.written < until:
            self.engine.write(batch, until, self.settings)

    def _submit(self) -> Batch:
        problems = self.draw(self.rng, self.settings.batch_size)
        problems = [problem for problem in problems for _ in range(self.settings.n_samples)]
        prompts = encode([problem.prompt for problem in problems])
        nothing = torch.zeros(len(problems), self.settings.max_new_tokens)
        return Batch(
            problems=problems,
            prompt_length=prompts.shape[1],
            tokens=torch.cat([prompts, torch.full_like(nothing, PAD, dtype=torch.long)], dim=1),
            behave_logp=nothing,
            versions=nothing.long(),
            rewards=nothing[:, 0],
            components={},
            observed=nothing.bool(),
        )

    def _grade(self, batch: Batch) -> None:
        """Score each completion; the reward is the weighted sum of its components."""
        texts = batch.completions
        if (environment := self.settings.task.environment) is not None:
            for row, text in zip(batch.observed, texts, strict=True):
                row[: len(text)] = torch.tensor(environment.observed(text))
        batch.components = {name: torch.tensor(values) for name, values in self.score(batch.problems, texts).items()}
        batch.rewards = sum(
            (self.settings.reward_weights[name] * values for name, values in batch.components.items()),
            torch.zeros(len(texts)),
        )


def scorer(settings: Settings) -> Score:
    """All reward functions of the settings, applied to every completion."""

    def score(problems: list[Problem], completions: list[str]) -> dict[str, list[float]]:
        return {name: list(map(function, problems, completions)) for name, function in settings.rewards.items()}

    return score


def responder(task: Task, problems: list[Problem], prompt_length: int) -> Callable[[Tensor], Tensor] | None:
    """The environment's part in writing a batch (see `extend`), where the task has one."""
    environment = task.environment
    if environment is None:
        return None

    def respond(tokens: Tensor) -> Tensor:
        texts = decode(tokens[:, prompt_length:])
        answers = [environment.respond(problem, text) for problem, text in zip(problems, texts, strict=True)]
        return torch.tensor([encode([answer])[0, 0].item() if answer else PAD for answer in answers])

    return respond


def complete(
    policy: Transformer, task: Task, problems: list[Problem], n: int, temperature: float, generator: torch.Generator
) -> list[str]:
    """One completion of every problem, by the code that also rolls out."""
    prompts = encode([problem.prompt for problem in problems])
    respond = responder(task, problems, prompts.shape[1])
    tokens = extend(policy, prompts, n, generator=generator, temperature=temperature, respond=respond)
    return decode(tokens[:, prompts.shape[1] :])
