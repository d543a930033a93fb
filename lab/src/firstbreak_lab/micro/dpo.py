"""DPO on pairs that a hidden judge has ordered, logged as TRL's DPOTrainer does. Rafailov et al., arXiv:2305.18290."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.micro import sequences
from firstbreak_lab.micro.logs import Clock, Log
from firstbreak_lab.micro.optimizer import Adam
from firstbreak_lab.micro.sequences import Prompts, SequenceTask

TRAINERS = ("trl",)


@dataclass(frozen=True, kw_only=True)
class DpoSettings:
    """One draw of the population."""

    prompts: int  #: each with one pair
    features: int
    tokens: int
    answer: int
    limit: int
    skill: float
    steps: int
    log_every: int
    eval_every: int  #: 0: no evaluation
    batch: int
    lr: float
    schedule: str
    warmup: float
    width: float
    beta: float
    label_noise: float  #: share of the pairs that the judge orders at random
    speed: float


def draw(rng: np.random.Generator, points: int) -> DpoSettings:
    """Settings of a run that a person could have started, with about so many logged points."""
    answer = int(rng.integers(2, 5))
    width = 10.0 ** rng.uniform(2, 4)
    log_every = int(rng.choice((1, 5, 10, 10)))
    steps = min(points * log_every, max(300, points))
    return DpoSettings(
        prompts=int(2 ** rng.uniform(8, 11)),
        features=int(rng.integers(4, 13)),
        tokens=int(rng.integers(4, 11)),
        answer=answer,
        limit=answer + int(rng.integers(2, 10)),
        skill=rng.uniform(0.2, 0.8),
        steps=steps,
        log_every=log_every if steps >= 30 * log_every else 1,
        eval_every=int(rng.choice((0, 0, 10, 25, 50, 100))),
        batch=int(rng.choice((8, 16, 32, 64))),
        lr=10.0 ** rng.uniform(-2.2, -1.2) / width * min(1.0, (100 / steps) ** 0.5),
        schedule=str(rng.choice(("linear", "linear", "constant"))),
        warmup=float(rng.choice((0.0, 0.1))),
        width=width,
        beta=float(rng.choice((0.05, 0.1, 0.1, 0.3))),
        label_noise=float(rng.choice((0.0, 0.1, 0.2))),
        speed=10.0 ** rng.uniform(1, 3.5),
    )


@dataclass(frozen=True)
class PairData:
    """One pair for each prompt: the chosen completion first."""

    prompts: Prompts
    tokens: np.ndarray  #: (prompts, 2, positions)
    mask: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> PairData:
        return PairData(self.prompts[rows], self.tokens[rows], self.mask[rows])


def make_pairs(task: SequenceTask, prompts: Prompts, noise: float, rng: np.random.Generator) -> PairData:
    """Two completions of the base model for each prompt. The judge prefers more right tokens, and then an end."""
    limit = task.base.shape[1]
    log_p = sequences.log_policy(task.base, prompts.features)
    tokens = sequences.sample(log_p, rng.random((len(prompts), 2, limit)))
    lengths, ended = sequences.lengths(tokens, limit)
    answer = prompts.answers.shape[1]
    asked = np.arange(answer) < prompts.lengths[:, None]
    hits = ((tokens[..., :answer] == prompts.answers[:, None]) & asked[:, None]).sum(-1) / prompts.lengths[:, None]
    quality = hits + 0.5 * ended + 1e-3 * rng.random(hits.shape)
    quality = np.where(rng.random((len(prompts), 1)) < noise, rng.random(hits.shape), quality)
    order = np.argsort(-quality, 1)[..., None]
    mask = (np.arange(limit) < lengths[..., None]).astype(float)
    return PairData(prompts, np.take_along_axis(tokens, order, 1), np.take_along_axis(mask, order, 1))


def make_task(s: DpoSettings, seed: int) -> SequenceTask:
    """The prompts and the base model of a run."""
    sizes = {name: getattr(s, name) for name in ("prompts", "features", "tokens", "answer", "limit", "skill")}
    return sequences.task(np.random.default_rng([seed, 0]), **sizes)


def train(s: DpoSettings, seed: int, broken: BrokenMechanism) -> tuple[Log, Trained]:
    """Train once. Returns the log and what is true of the run."""
    rng = np.random.default_rng([seed, 1])
    task = make_task(s, seed)
    pairs, held_out = (make_pairs(task, p, s.label_noise, rng) for p in (task.training, task.held_out))
    clock, log = Clock(np.random.default_rng([seed, 3]), broken, s.speed), Log()
    policy = Adam(task.base.copy(), s.lr, s.schedule, s.width, 1.0, broken, s.warmup)
    reported = claimed = float("nan")
    seen = 0
    for step in range(1, s.steps + 1):
        broken.progress = (step - 1) / s.steps
        rows = (np.arange(s.batch) + (step - 1) * s.batch) % s.prompts
        if (step - 1) * s.batch % s.prompts < s.batch:
            order = rng.permutation(s.prompts)  # a new epoch
        rows = order[rows]
        if narrow := broken("prompts-narrow"):
            rows %= int(narrow)
        batch = swapped(pairs[rows], "preference-labels-swapped", broken)
        reference = policy.weights if broken("reference-follows") else task.base
        loss, gradient, metrics = loss_and_gradient(policy.weights, reference, batch, s, broken)
        rate = policy.rate()
        seen += int(batch.mask.sum()) + 16 * s.batch
        log.record({"loss": loss, "grad_norm": policy.step(gradient)} | metrics)
        clock.work(s.batch)
        epoch = step * s.batch / s.prompts
        if step % s.log_every == 0:
            log.dump(learning_rate=rate, num_tokens=seen, epoch=epoch, step=step)
        if s.eval_every and step % s.eval_every == 0:
            evaluated = broken.frozen("stale-weights", policy.weights)
            told = swapped(held_out, "evaluation-elsewhere", broken)
            loss, _, metrics = loss_and_gradient(evaluated, reference, told, s, broken)
            _, _, honest = loss_and_gradient(policy.weights, task.base, held_out, s, BrokenMechanism())
            reported, claimed = metrics["rewards/accuracies"], honest["rewards/accuracies"]
            log.record({f"eval_{name}": number for name, number in ({"loss": loss} | metrics).items()})
            n = len(held_out.tokens)
            log.dump(eval_num_tokens=seen, epoch=epoch, step=step, **clock.evaluation(4 * n, n))
    start_score, score = (sequences.accuracy(weights, task.held_out) for weights in (task.base, policy.weights))
    return log, Trained(start_score, score, 1.0, reported, claimed, clock.now, s.steps)


def swapped(pairs: PairData, fault: str, broken: BrokenMechanism) -> PairData:
    """The pairs, of which the fault turns a share around."""
    if (turned := broken.hits(fault, len(pairs.tokens))) is None:
        return pairs
    which = turned[:, None, None]
    return PairData(
        pairs.prompts,
        np.where(which, pairs.tokens[:, ::-1], pairs.tokens),
        np.where(which, pairs.mask[:, ::-1], pairs.mask),
    )


def loss_and_gradient(
    weights: np.ndarray, reference: np.ndarray, batch: PairData, s: DpoSettings, broken: BrokenMechanism
) -> tuple[float, np.ndarray, dict[str, float]]:
    """The loss of the pairs, its gradient, and what TRL logs of it."""
    n = len(batch.tokens)
    beta = s.beta * broken("kl-penalty-too-strong", 1.0) * broken("beta-too-small", 1.0)
    features = batch.prompts.features
    mask = np.ones_like(batch.mask) if broken("padding-in-loss") else batch.mask
    raw = (features @ weights.reshape(len(weights), -1)).reshape(n, *weights.shape[1:])
    log_p = sequences.log_softmax(raw)
    now = (sequences.taken(log_p, batch.tokens) * mask).sum(-1)
    then = (sequences.taken(sequences.log_policy(reference, features), batch.tokens) * mask).sum(-1)
    rewards = beta * (now - then)
    margin = np.clip(rewards[:, 0] - rewards[:, 1], -500, 500)
    loss = np.logaddexp(0, -margin).mean()
    pull = -beta / (1 + np.exp(margin)) / n
    sides = np.stack([pull * (1 - broken("chosen-left-out")), -pull], 1)
    of_logits = sequences.push(sides[..., None] * mask, batch.tokens, log_p)
    entropies = -(np.exp(log_p) * log_p).sum(-1)[:, None]
    hits = (batch.tokens == raw.argmax(-1)[:, None]) * batch.mask
    mean_logits = (raw.mean(-1)[:, None] * batch.mask).sum((0, 2)) / batch.mask.sum((0, 2))
    metrics = {
        "logits/chosen": mean_logits[0],
        "logits/rejected": mean_logits[1],
        "entropy": (entropies * batch.mask).sum() / batch.mask.sum(),
        "mean_token_accuracy": hits[:, 0].sum() / batch.mask[:, 0].sum(),
        "rewards/chosen": rewards[:, 0].mean(),
        "rewards/rejected": rewards[:, 1].mean(),
        "rewards/accuracies": (rewards[:, 0] > rewards[:, 1]).mean(),
        "rewards/margins": (rewards[:, 0] - rewards[:, 1]).mean(),
        "logps/chosen": now[:, 0].mean(),
        "logps/rejected": now[:, 1].mean(),
    }
    return float(loss), sequences.to_weights(features, of_logits), metrics
