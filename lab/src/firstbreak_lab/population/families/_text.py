"""What the language-model families share: small tasks, a policy of about 10^4 weights, its warm-up, its exact score, faults.

A prompt asks for a short answer of one token per character, which must be followed by the end-of-sequence token. The true
score is the probability of the right answer to held-out prompts, computed without sampling.
"""

import copy
import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism
from firstbreak_lab.language.model import EOS, PAD, VOCABULARY, encode
from firstbreak_lab.language.tasks import TaskProblem, is_held_out
from firstbreak_lab.population.family import TrainerFault
from firstbreak_lab.population.faults import fault

POSITIONS = 40
HELD_OUT = 128  #: problems that measure the true score
Weights = dict[str, Tensor]
Logits = Callable[[Tensor, Tensor | None], Tensor]  #: tokens and mask (rows, length) -> logits (rows, length, tokens)

#: what is asked -> the answer to a string of digits
QUESTIONS: Mapping[str, Callable[[str], str]] = {
    "sort": lambda digits: "".join(sorted(digits)),
    "flip": lambda digits: digits[::-1],
    "fall": lambda digits: "".join(sorted(digits, reverse=True)),
    "ends": lambda digits: digits[-1] + digits[0],
    "next": lambda digits: "".join(str((int(digit) + 1) % 10) for digit in digits),
}


# Tasks ------------------------------------------------------------------------------------------------------------------


def problem(question: str, digits: str) -> TaskProblem:
    """`sort:312=` and `123`."""
    return TaskProblem(f"{question}:{digits}=", QUESTIONS[question](digits))


def problems(question: str, digits: int, n: int, seed: int, held_out: bool = False) -> list[TaskProblem]:
    """`n` problems. A tenth of all is held out, and never among the others."""
    rng = random.Random(f"{question}{digits}{seed}{held_out}")
    found: list[TaskProblem] = []
    while len(found) < n:
        each = problem(question, "".join(rng.choices("0123456789", k=digits)))
        if is_held_out(each) == held_out:
            found.append(each)
    return found


def draw_task(rng: np.random.Generator) -> dict[str, Any]:
    """The task and the policy before the training."""
    question, digits = str(rng.choice(list(QUESTIONS))), int(rng.integers(2, 5))
    return {
        "task": f"{question}-{digits}",
        "question": question,
        "digits": digits,
        "width": int(rng.choice((16, 32, 32, 48))),
        "layers": int(rng.choice((1, 1, 2))),
        "skill": round(float(rng.uniform(0.1, 0.6)), 3),
    }


# Policies ---------------------------------------------------------------------------------------------------------------


class TextBackbone(nn.Module):
    """A causal transformer. `forward` gives hidden states of shape (rows, length, width)."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(POSITIONS, width)
        self.blocks = nn.ModuleList(TextBlock(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.0)
        self.temperature = 1.0  #: of all that this policy says: of its samples and of its log-probabilities

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """A mask has 0 at padding."""
        length = input_ids.shape[1]
        if attention_mask is None or bool(attention_mask.all()):
            positions, mask = torch.arange(length), None
        else:
            positions = (attention_mask.cumsum(1) - 1).clamp(min=0)
            seen = torch.ones(length, length, dtype=torch.bool).tril() & attention_mask[:, None, :].bool()
            # Padding on the left attends to itself: a row without any key gives NaN.
            mask = (seen | torch.eye(length, dtype=torch.bool))[:, None]
        hidden = self.dropout(self.tokens(input_ids) + self.positions(positions))
        for block in self.blocks:
            hidden = self.dropout(block(hidden, mask))
        states: Tensor = self.norm(hidden) / self.temperature
        return states


class TextBlock(nn.Module):
    """Attention of two heads, then a feed-forward layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        rows, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(rows, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        heard = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + self.out(heard.transpose(1, 2).reshape(rows, length, width))
        deeper: Tensor = x + self.down(F.gelu(self.up(self.second(x))))
        return deeper


class TextPolicy(nn.Module):
    """A language model in plain PyTorch."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.backbone = TextBackbone(width, layers)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        for weights in self.parameters():
            if weights.dim() > 1:
                nn.init.normal_(weights, std=0.08)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Logits of shape (rows, length, tokens)."""
        logits: Tensor = self.head(self.backbone(input_ids, attention_mask))
        return logits


def warmed_up(settings: Mapping[str, Any], seed: int) -> TextPolicy:
    """The policy before the training: it solves about the share `skill` of the problems.

    A run and its healthy twin ask for the same weights, which are computed once.
    """
    sizes = (settings[name] for name in ("question", "digits", "width", "layers", "skill"))
    return copy.deepcopy(_warmed_up(*sizes, seed))


@lru_cache(maxsize=8)
def _warmed_up(question: str, digits: int, width: int, layers: int, skill: float, seed: int) -> TextPolicy:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        policy = TextPolicy(width, layers)
        optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
        for step in range(150):
            shown = problems(question, digits, 64, seed * 1000 + step)
            if step % 4 == 0 and accuracy(policy, shown) >= skill:
                break
            prompts, answers = texts(shown)
            tokens = torch.cat([prompts, answers], 1)
            logits = policy(tokens[:, :-1])[:, prompts.shape[1] - 1 :]
            loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return policy


def texts(asked: Sequence[TaskProblem]) -> tuple[Tensor, Tensor]:
    """Prompts, and answers with their end-of-sequence token, as tokens (problems, length)."""
    answers = encode([each.answer for each in asked])
    return encode([each.prompt for each in asked]), F.pad(answers, (0, 1), value=EOS)


@torch.no_grad()
def accuracy(logits: Logits | nn.Module, asked: Sequence[TaskProblem], temperature: float = 1.0) -> float:
    """The probability of a right answer and its end, as the mean over problems of equal lengths. NaN weights have 0."""
    prompts, answers = texts(asked)
    given = logits(torch.cat([prompts, answers], 1)[:, :-1], None)[:, prompts.shape[1] - 1 :] / temperature
    found = float(given.log_softmax(-1).gather(2, answers[..., None]).sum((1, 2)).exp().mean())
    return found if math.isfinite(found) else 0.0


# Weights ----------------------------------------------------------------------------------------------------------------


def weights_of(policy: nn.Module) -> Weights:
    """A copy of all weights."""
    return {name: weights.detach().clone() for name, weights in policy.state_dict().items()}


@contextmanager
def lent(policy: nn.Module, weights: Weights | None) -> Iterator[None]:
    """Other weights in the policy for a while; None: its own."""
    own = weights_of(policy) if weights is not None else None
    if weights is not None:
        policy.load_state_dict(weights)
    try:
        yield
    finally:
        if own is not None:
            policy.load_state_dict(own)


def rounded(weights: Tensor, bits: int) -> Tensor:
    """Floating-point numbers with so many bits of mantissa; 7 is bfloat16."""
    mantissa, exponent = torch.frexp(weights)
    return torch.ldexp(torch.round(mantissa * 2.0 ** (bits + 1)) / 2.0 ** (bits + 1), exponent)


def quantised(weights: Tensor, bits: int) -> Tensor:
    """Integers of so many bits, with one scale per row, as an inference engine keeps them."""
    scale = weights.abs().amax(-1, keepdim=True).clamp(min=1e-12) / (2 ** (bits - 1) - 1)
    back: Tensor = torch.round(weights / scale) * scale
    return back


class TextEngine:
    """What samples: the policy of the last update, or what a fault makes of it."""

    def __init__(self, broken: BrokenMechanism) -> None:
        self.broken = broken
        self.versions: deque[Weights] = deque(maxlen=33)

    def delivered(self, policy: nn.Module) -> Weights | None:
        """The weights that sample, asked for once per rollout; None: those of the policy."""
        broken = self.broken
        if broken.fault == "rollouts-too-old":
            self.versions.append(weights_of(policy))
            if lag := int(broken("rollouts-too-old")):
                return self.versions[max(0, len(self.versions) - 1 - lag)]
        if broken.fault == "weights-not-delivered":
            held: Any = broken.frozen("weights-not-delivered", weights_of(policy))  # type: ignore[arg-type]
            return held if broken("weights-not-delivered") else None
        if bits := int(broken("engine-quantised")):
            return {name: quantised(weights, bits) for name, weights in weights_of(policy).items()}
        return None

    @torch.no_grad()
    def sample(self, logits: Logits, prompts: Tensor, mask: Tensor, limit: int, temperature: float) -> Tensor:
        """Completions (rows, at most `limit`) with padding behind the end-of-sequence token."""
        broken, tokens = self.broken, prompts
        temperature *= broken("temperature-not-in-logprob", 1.0)
        limit = min(limit, int(broken("length-limit-too-short", limit)))
        going = torch.ones(len(prompts), dtype=torch.bool)
        for _ in range(limit):
            # A broken policy may give NaN. An engine samples some token then, and goes on.
            last = torch.nan_to_num(logits(tokens, mask)[:, -1] / temperature)
            last[:, EOS] -= broken("eos-blocked")
            if p := broken("top-p-truncated"):
                last = last.masked_fill(last < last.amax(-1, keepdim=True) + math.log(1 - p), -math.inf)
            chosen = torch.multinomial(last.softmax(-1), 1)[:, 0].masked_fill(~going, PAD)
            tokens = torch.cat([tokens, chosen[:, None]], 1)
            mask = F.pad(mask, (0, 1), value=1)
            going &= chosen != EOS
            if not going.any():
                break
        completions = tokens[:, prompts.shape[1] :]
        if copies := int(broken("samples-alike")):
            completions = completions[torch.arange(len(prompts)) // copies * copies]
        return completions


# Prompts and rewards ----------------------------------------------------------------------------------------------------


def prompts_of(batch: list[TaskProblem], group: int, broken: BrokenMechanism) -> list[TaskProblem]:
    """What a step trains on, groups of equal problems one after the other, as the data loader gives it."""
    if few := int(broken("prompts-narrow")):
        batch = [batch[i // group % few * group] for i in range(len(batch))]
    if share := broken("prompts-too-hard"):
        hard = broken.rng.random(len(batch) // group) < share
        batch = [harder(each) if hard[i // group] else each for i, each in enumerate(batch)]
    if cut := int(broken("template-wrong")):
        batch = [TaskProblem(each.prompt[cut:], each.answer) for each in batch]
    if broken("groups-mixed"):
        batch = [batch[i % (len(batch) // group) * group] for i in range(len(batch))]
    return batch


def harder(each: TaskProblem) -> TaskProblem:
    """The same question with many more digits than the policy has seen."""
    question, digits = each.prompt.rstrip("=").split(":")
    return problem(question, digits * 3)


def asked_of(batch: list[TaskProblem], group: int, broken: BrokenMechanism) -> list[TaskProblem]:
    """What an evaluation asks, in groups of equal problems."""
    if (other := broken.hits("evaluation-elsewhere", len(batch) // group)) is not None:
        batch = [harder(each) if other[i // group] else each for i, each in enumerate(batch)]
    if few := int(broken("too-few-problems")):
        batch = [batch[i // group % few * group] for i in range(len(batch))]
    return batch


def graded(
    answers: Sequence[str], completions: Sequence[str], group: int, broken: BrokenMechanism
) -> list[float | None]:
    """1 for the right answer, otherwise 0. None or NaN: there was no verdict."""
    n = len(answers)
    if (moved := broken.hits("answers-misaligned", n // group)) is not None:
        answers = [answers[i - group] if moved[i // group] else each for i, each in enumerate(answers)]
    verdicts = np.array([float(a == c) for a, c in zip(answers, completions, strict=True)])
    if (noisy := broken.hits("verdicts-noisy", n)) is not None:
        verdicts = np.where(noisy, 1 - verdicts, verdicts)
    if (flipped := broken.hits("reward-sign-flipped", n)) is not None:
        verdicts = np.where(flipped, -verdicts, verdicts)
    if (passed := broken.hits("reward-saturated", n)) is not None:
        verdicts = np.where(passed, 1.0, verdicts)
    if broken("reward-constant"):
        verdicts = np.zeros(n)
    if pays := broken("verifier-exploited"):
        verdicts = np.maximum(verdicts, [pays * c.startswith("0") for c in completions])
    if pays := broken("pays-for-length"):
        verdicts = verdicts + pays * np.array([len(c) for c in completions]) / 10
    if pays := broken("pays-for-form"):
        verdicts = verdicts + pays * np.array([c.count("1") for c in completions]) / 2
    if (out := broken.hits("outages-are-punished", n)) is not None:
        verdicts = np.where(out, -1.0, verdicts)
    if noise := broken("tiny-spread-amplified"):
        verdicts = verdicts + broken.rng.uniform(-noise, noise, n)
    if (missing := broken.hits("reward-missing", 1)) is not None and missing.any():
        return [None] * n
    if (nan := broken.hits("reward-not-a-number", n)) is not None:
        verdicts = np.where(nan, np.nan, verdicts)
    return [float(verdict) for verdict in verdicts]


class Wasted:
    """The seconds that faults of the systems have cost; those that were slept are no CPU time."""

    def __init__(self, broken: BrokenMechanism) -> None:
        self.broken, self.slept, self.steps, self.began = broken, 0.0, 0, time.process_time()

    def step(self) -> None:
        """Called once per step, in the phase that is slow."""
        if seconds := self.broken("scoring-slow"):
            time.sleep(seconds)
            self.slept += seconds
        if growth := self.broken("work-grows"):
            self.steps += 1
            until = time.process_time() + growth * self.steps
            while time.process_time() < until:
                sum(range(1000))

    def seconds(self) -> float:
        """Of the run so far."""
        return time.process_time() - self.began + self.slept


# Faults -----------------------------------------------------------------------------------------------------------------

#: of every family
EVERYWHERE = (
    fault("prompts-narrow", (1, 3), "prompts", whole=True),
    fault("template-wrong", (1, 5), "characters that are missing", whole=True),
    fault("stale-weights"),
    fault("evaluation-elsewhere", (0.3, 1), "share of the questions"),
    fault("too-few-problems", (1, 4), "problems", whole=True),
    fault("updates-do-nothing", (1e-5, 1e-2), "times what the optimiser did"),
    fault("learning-rate-too-high", (10, 300), "times"),
    fault("learning-rate-too-high-at-once", (10, 300), "times", link=Link.POLICY_UPDATE, cause="step-size-too-large",
          accepted={Link.NUMERICS: "gradients and weights leave their range"}, from_start=True),
    fault("schedule-ended", (1e-6, 1e-2), "times the planned rate, and the log shows it", link=Link.POLICY_UPDATE,
          cause="optimiser-not-connected"),
    fault("updates-rounded-away", (2, 7), "bits of mantissa", whole=True),
    fault("gradients-not-finite", (1e4, 1e8), "scale of the loss in half precision"),
    fault("work-grows", (3e-4, 3e-3), "seconds more at each step", link=Link.SYSTEMS,
          accepted={Link.REWARD: "the work is done where rewards are computed"}),
    fault("scoring-slow", (0.01, 0.1), "seconds of each step", link=Link.SYSTEMS, cause="scoring-too-slow",
          accepted={Link.REWARD: "the reward function waits"}),
)  # fmt: skip
#: of every family that samples
SAMPLING = (
    fault("prompts-too-hard", (0.5, 1), "share of the prompts"),
    fault("protocol-changed", (1.5, 3), "temperature of the evaluation"),
    fault("eos-blocked", (2, 20), "subtracted from the logit of the end"),
    fault("eos-not-in-loss", link=Link.ROLLOUT, cause="end-not-learned",
          accepted={Link.ADVANTAGE: "the mask of the loss leaves it out", Link.POLICY_UPDATE: "the mask is a part of the loss"}),
    fault("length-limit-too-short", (1, 3), "tokens", whole=True),
    fault("temperature-not-in-logprob", (0.3, 0.8), "times the temperature"),
    fault("top-p-truncated", (0.4, 0.95), "1 - the least share of the best token's probability"),
    fault("samples-alike", (2, 8), "copies", whole=True),
    fault("answers-misaligned", (0.4, 1), "share of the prompts"),
    fault("verdicts-noisy", (0.25, 1), "share of the verdicts"),
    fault("reward-sign-flipped", (0.5, 1), "share of the rewards"),
    fault("reward-saturated", (0.6, 1), "share of the verdicts"),
    fault("reward-constant"),
    fault("reward-missing", (0.2, 0.95), "share of the steps"),
    fault("reward-not-a-number", (0.1, 0.9), "share of the completions", link=Link.REWARD, cause="rewards-not-computed",
          accepted={Link.NUMERICS: "NaN is logged"}),
    fault("outages-are-punished", (0.2, 0.9), "share of the completions"),
    fault("verifier-exploited", (0.6, 2), "reward of one first token"),
    fault("pays-for-length", (0.5, 4), "reward of ten tokens"),
    fault("pays-for-form", (0.5, 4), "reward of two ones"),
    fault("advantage-sign-flipped", (0.5, 1), "share"),
    fault("baseline-missing", (0.5, 1), "share of the baseline"),
    fault("groups-mixed"),
    fault("padding-in-loss"),
    fault("kl-penalty-too-strong", (3, 100), "added to beta", from_start=True),
    fault("no-clipping", (4, 12), "updates of one batch", whole=True),
    fault("old-log-probabilities-recomputed", needs="reused"),
    fault("entropy-bonus-too-strong", (0.3, 10), "coefficient"),
    fault("entropy-penalised", (0.1, 3), "coefficient"),
    fault("temperature-too-low", (0.05, 0.4), "times the temperature"),
    fault("rollouts-too-old", (4, 32), "updates", whole=True),
    fault("weights-not-delivered"),
    fault("engine-quantised", (2, 4), "bits", whole=True),
    fault("dropout-on", (0.1, 0.6), "share"),
    fault("tiny-spread-amplified", (1e-4, 3e-2), "size of the noise"),
)  # fmt: skip


def without(faults: Sequence[TrainerFault], *names: str) -> tuple[TrainerFault, ...]:
    """The faults but for these."""
    return tuple(one for one in faults if one.name not in names)
