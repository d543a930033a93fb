"""Prompts, short answers that end with EOS, and a linear softmax policy over them, whose accuracy is known exactly.

A prompt is a vector of features. Its right completion begins with the tokens that a hidden teacher chooses, and ends before
the limit. The logits of position t are `features @ weights[:, t]`, so what is learned of one prompt helps others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EOS = 0


@dataclass(frozen=True)
class Prompts:
    """A set of prompts with the right answers."""

    features: np.ndarray  #: (prompts, features); the first feature is 1
    answers: np.ndarray  #: (prompts, longest answer), tokens
    lengths: np.ndarray  #: (prompts,): tokens of each answer

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: np.ndarray) -> Prompts:
        return Prompts(self.features[rows], self.answers[rows], self.lengths[rows])


@dataclass(frozen=True)
class SequenceTask:
    """Prompts for training, held-out prompts of the same kind, and a base model that solves some of them."""

    training: Prompts
    held_out: Prompts
    base: np.ndarray  #: (features, limit, tokens): weights before the training


def task(
    rng: np.random.Generator, *, prompts: int, features: int, tokens: int, answer: int, limit: int, skill: float
) -> SequenceTask:
    """A task whose base model has learned the share `skill` of what the teacher knows."""
    teacher = rng.normal(size=(features, answer, tokens - 1))

    def drawn(n: int) -> Prompts:
        x = rng.normal(size=(n, features)) / np.sqrt(features - 1)
        x[:, 0] = 1.0
        right = 1 + np.einsum("nf,flv->nlv", x, teacher).argmax(2)
        return Prompts(x, right, rng.integers(1, answer + 1, n))

    base = 0.2 * rng.normal(size=(features, limit, tokens))
    base[:, :answer, 1:] += 4.0 * skill * teacher
    base[0, :answer, EOS] -= 2.0
    base[0, answer:, EOS] += rng.uniform(-1.0, 1.0)
    return SequenceTask(drawn(prompts), drawn(64), base)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Log-probabilities over the last axis."""
    shifted = logits - logits.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def log_policy(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Log-probabilities (prompts, positions, tokens)."""
    positions, tokens = weights.shape[1:]
    return log_softmax((features @ weights.reshape(len(weights), -1)).reshape(-1, positions, tokens))


def sample(log_p: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Tokens (prompts, completions, positions), one for each uniform random number of that shape."""
    below = np.cumsum(np.exp(log_p), -1)[:, None]
    return np.asarray(np.minimum((below < uniform[..., None]).sum(-1), log_p.shape[-1] - 1))


def taken(log_p: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The log-probability of each sampled token, (prompts, completions, positions)."""
    return np.take_along_axis(log_p, tokens.swapaxes(1, 2), 2).swapaxes(1, 2)


def push(coefficients: np.ndarray, tokens: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """The gradient with respect to the logits of sum(coefficients * log-probability of the tokens)."""
    n, _, positions = tokens.shape
    at = (np.arange(n)[:, None, None] * positions + np.arange(positions)) * log_p.shape[-1] + tokens
    picked = np.bincount(at.ravel(), coefficients.ravel(), log_p.size).reshape(log_p.shape)
    return np.asarray(picked - coefficients.sum(1)[..., None] * np.exp(log_p))


def to_weights(features: np.ndarray, of_logits: np.ndarray) -> np.ndarray:
    """The gradient with respect to the weights."""
    return np.asarray((features.T @ of_logits.reshape(len(features), -1)).reshape(-1, *of_logits.shape[1:]))


def lengths(tokens: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of each completion, EOS included, and which completions have ended before the limit."""
    ends = tokens[..., :limit] == EOS
    ended = ends.any(-1)
    return np.where(ended, ends.argmax(-1) + 1, limit), ended


def right(prompts: Prompts, tokens: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """Which completions have ended and begin with the right answer."""
    answer = prompts.answers.shape[1]
    beyond = np.arange(answer) >= prompts.lengths[:, None]
    return np.asarray(ended & ((tokens[..., :answer] == prompts.answers[:, None]) | beyond[:, None]).all(-1))


def accuracy(weights: np.ndarray, prompts: Prompts) -> float:
    """The exact probability of a right completion, as the mean over the prompts."""
    p = np.exp(log_policy(weights, prompts.features))
    needed = np.arange(p.shape[1]) < prompts.lengths[:, None]
    answers = np.zeros(p.shape[:2], int)
    answers[:, : prompts.answers.shape[1]] = prompts.answers
    begins = np.where(needed, np.take_along_axis(p, answers[..., None], 2)[..., 0], 1.0).prod(1)
    goes_on = np.where(needed, 1.0, 1.0 - p[..., EOS]).prod(1)
    return float((begins * (1.0 - goes_on)).mean())
