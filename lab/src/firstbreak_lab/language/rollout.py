"""Rollout workers that may run ahead of the trainer, as in AReaL.

A batch is *submitted* with one version of the weights. With `max_head_offpolicyness` = 0, the batch is generated and used
in the same step: the synchronous loop. Otherwise, half of its tokens are generated with this version and half with the
next one (the engine changes its weights within a sequence, and each token stores its version). Then the batch waits in a
queue until it is `max_head_offpolicyness` versions old. The first policy fills the queue at the start. For this reason,
staleness rises over the first steps and then stays constant.
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

from firstbreak_lab.language.model import EOS, PAD, Transformer, decode, encode, extend, log_probs
from firstbreak_lab.language.settings import AcceptFunction, LanguageSettings
from firstbreak_lab.language.tasks import Task, TaskProblem

Scorer = Callable[
    [list[TaskProblem], list[str]], dict[str, list[float]]
]  #: reward component -> one number per completion


@dataclass
class RolloutBatch:
    """The completions of one step, ordered by group. Tensors are (sequences,) or (sequences, max_new_tokens)."""

    problems: list[TaskProblem]
    prompt_length: int
    tokens: Tensor  #: (sequences, prompt_length + max_new_tokens), padding after the end
    behave_logp: Tensor  #: log-probability of each completion token under the weights that generated it
    versions: Tensor  #: policy version that generated each token
    rewards: Tensor  #: total reward of each sequence
    components: dict[str, Tensor]  #: reward component -> (sequences,), before its weight
    observed: Tensor  #: True for tokens of the environment
    written: int = 0  #: completion positions that have been generated so far

    @property
    def completions(self) -> list[str]:
        """The text of each completion."""
        return decode(self.tokens[:, self.prompt_length :])

    @property
    def lengths(self) -> Tensor:
        """Number of tokens of each completion, with the end-of-sequence token and the environment's answers."""
        return (self.tokens[:, self.prompt_length :] != PAD).sum(1)

    @property
    def mask(self) -> Tensor:
        """True for the tokens that the policy has generated, including the end-of-sequence token."""
        return (self.tokens[:, self.prompt_length :] != PAD) & ~self.observed

    @property
    def finished(self) -> Tensor:
        """Whether each completion has an end-of-sequence token."""
        return (self.tokens[:, self.prompt_length :] == EOS).any(1)

    def rows(self, index: Tensor) -> RolloutBatch:
        """Some of the sequences."""
        tensors: dict[str, Any] = {name: tensor[index] for name, tensor in _tensors(self).items()}
        problems = [self.problems[i] for i in index.tolist()]
        components = {name: values[index] for name, values in self.components.items()}
        return replace(self, problems=problems, components=components, **tensors)


def concatenate(batches: list[RolloutBatch]) -> RolloutBatch:
    """The sequences of several batches as one batch."""
    first = batches[0]
    tensors: dict[str, Any] = {name: torch.cat([_tensors(b)[name] for b in batches]) for name in _tensors(first)}
    problems = [problem for batch in batches for problem in batch.problems]
    components = {name: torch.cat([b.components[name] for b in batches]) for name in first.components}
    return replace(first, problems=problems, components=components, **tensors)


def _tensors(batch: RolloutBatch) -> dict[str, Tensor]:
    return {name: value for name, value in vars(batch).items() if isinstance(value, Tensor)}


class Engine:
    """The inference engine: its own copy of the weights, and their version."""

    def __init__(self, policy: Transformer, seed: int) -> None:
        self.model = copy.deepcopy(policy).requires_grad_(False)
        self.version = 0
        self.generator = torch.Generator().manual_seed(seed)

    def update_weights(self, policy: Transformer, version: int) -> None:
        """Copy the trainer's weights."""
        self.model.load_state_dict(policy.state_dict())
        self.version = version

    def write(self, batch: RolloutBatch, until: int, settings: LanguageSettings) -> None:
        """Generate up to `until` new tokens of every sequence, and store their log-probabilities and version."""
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
        # One forward pass over the whole batch, as in the trainer. The log-probabilities of the cache differ in their last
        # bits, and this rounding would hide a small real mismatch between engine and trainer.
        with torch.no_grad():
            logp, _ = log_probs(self.model, batch.tokens, batch.prompt_length, settings.temperature)
        batch.behave_logp[:, batch.written : until] = logp[:, batch.written : until]
        batch.versions[:, batch.written : until] = self.version
        batch.written = until


class RolloutWorkers:
    """Generates and scores batches for the trainer."""

    def __init__(self, settings: LanguageSettings, engine: Engine, score: Scorer) -> None:
        self.settings, self.engine, self.score = settings, engine, score
        self.rng = random.Random(settings.seed)
        self.draw: Callable[[random.Random, int], list[TaskProblem]] = settings.task.draw
        self.queue: deque[RolloutBatch] = deque()  #: submitted, oldest first
        self.finished_rewards: list[Tensor] = []  #: of every rollout that was finished for the current batch
        self.finished_groups = 0

    def prepare_batch(self, should_accept_fn: AcceptFunction | None) -> RolloutBatch:
        """A batch whose rollouts began at most `max_head_offpolicyness` versions ago.

        `should_accept_fn` gets the rewards of each group. Rejected groups are replaced by new ones, from up to four
        batches. If fewer groups are accepted, the batch is smaller. If none is accepted, the last batch is used.
        """
        self.finished_rewards, self.finished_groups = [], 0
        group, wanted = self.settings.n_samples, self.settings.batch_size
        accepted: list[RolloutBatch] = []
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

    def _next(self) -> RolloutBatch:
        """The oldest batch of the queue, complete and scored. A new batch is added to the queue."""
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

    def _write(self, batch: RolloutBatch, until: int) -> None:
        if batch.written < until:
            self.engine.write(batch, until, self.settings)

    def _submit(self) -> RolloutBatch:
        problems = self.draw(self.rng, self.settings.batch_size)
        problems = [problem for problem in problems for _ in range(self.settings.n_samples)]
        prompts = encode([problem.prompt for problem in problems])
        nothing = torch.zeros(len(problems), self.settings.max_new_tokens)
        return RolloutBatch(
            problems=problems,
            prompt_length=prompts.shape[1],
            tokens=torch.cat([prompts, torch.full_like(nothing, PAD, dtype=torch.long)], dim=1),
            behave_logp=nothing,
            versions=nothing.long(),
            rewards=nothing[:, 0],
            components={},
            observed=nothing.bool(),
        )

    def _grade(self, batch: RolloutBatch) -> None:
        """Score each completion. The reward is the weighted sum of the components."""
        texts = batch.completions
        if (environment := self.settings.task.environment) is not None:
            for row, text in zip(batch.observed, texts, strict=True):
                row[: len(text)] = torch.tensor(environment.observed(text))
        batch.components = {name: torch.tensor(values) for name, values in self.score(batch.problems, texts).items()}
        batch.rewards = sum(
            (self.settings.reward_weights[name] * values for name, values in batch.components.items()),
            torch.zeros(len(texts)),
        )


def scorer(settings: LanguageSettings) -> Scorer:
    """All reward functions of the settings, applied to every completion."""

    def score(problems: list[TaskProblem], completions: list[str]) -> dict[str, list[float]]:
        return {name: list(map(function, problems, completions)) for name, function in settings.rewards.items()}

    return score


def responder(task: Task, problems: list[TaskProblem], prompt_length: int) -> Callable[[Tensor], Tensor] | None:
    """The function that gives the environment's next token (see `extend`). None if the task has no environment."""
    environment = task.environment
    if environment is None:
        return None

    def respond(tokens: Tensor) -> Tensor:
        texts = decode(tokens[:, prompt_length:])
        answers = [environment.respond(problem, text) for problem, text in zip(problems, texts, strict=True)]
        return torch.tensor([encode([answer])[0, 0].item() if answer else PAD for answer in answers])

    return respond


def complete(
    policy: Transformer, task: Task, problems: list[TaskProblem], n: int, temperature: float, generator: torch.Generator
) -> list[str]:
    """One completion of every problem, generated by the same code as the rollouts."""
    prompts = encode([problem.prompt for problem in problems])
    respond = responder(task, problems, prompts.shape[1])
    tokens = extend(policy, prompts, n, generator=generator, temperature=temperature, respond=respond)
    return decode(tokens[:, prompts.shape[1] :])
