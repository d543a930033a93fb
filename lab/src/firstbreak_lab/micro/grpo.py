"""GRPO with a verifier, logged as TRL's GRPOTrainer does. Shao et al., arXiv:2402.03300.

Each line with `broken(...)` or `hits(...)` is the place at which a fault acts; without a fault it changes nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.micro import sequences
from firstbreak_lab.micro.logs import Clock, Log
from firstbreak_lab.micro.optimizer import Adam, rounded
from firstbreak_lab.micro.sequences import Prompts, SequenceTask

TRAINERS = ("trl",)


@dataclass(frozen=True, kw_only=True)
class GrpoSettings:
    """One draw of the population."""

    prompts: int
    features: int
    tokens: int
    answer: int
    limit: int
    skill: float
    steps: int
    log_every: int
    eval_every: int  #: 0: no evaluation
    batch: int  #: prompts of one step
    group: int
    lr: float
    schedule: str
    warmup: float
    width: float
    beta: float
    entropy_coef: float
    clip: float
    iterations: int  #: updates of one batch
    loss_type: str
    scale_rewards: bool
    format_weight: float  #: of a second reward, for completions that end; 0: there is none
    temperature: float
    engine: bool  #: a separate inference engine in bfloat16, whose log-probabilities are logged
    speed: float


def draw(rng: np.random.Generator, points: int) -> GrpoSettings:
    """Settings of a run that a person could have started, with about so many logged points."""
    answer = int(rng.integers(1, 4))
    width = 10.0 ** rng.uniform(1, 4)
    log_every = int(rng.choice((1, 1, 1, 5, 10)))
    steps = min(points * log_every, max(250, points))
    return GrpoSettings(
        prompts=int(2 ** rng.uniform(6, 10)),
        features=int(rng.integers(4, 13)),
        tokens=int(rng.integers(4, 11)),
        answer=answer,
        limit=answer + int(rng.integers(4, 16)),
        skill=rng.uniform(0.2, 0.9),
        steps=steps,
        log_every=log_every if steps >= 30 * log_every else 1,
        eval_every=int(rng.choice((0, 0, 5, 10, 25, 50))),
        batch=int(rng.choice((4, 8, 16))),
        group=int(rng.choice((4, 8, 8, 16))),
        lr=10.0 ** rng.uniform(-2.0, -1.0) / width * min(1.0, (100 / steps) ** 0.5),
        schedule=str(rng.choice(("constant", "linear"))),
        warmup=float(rng.choice((0.0, 0.0, 0.1))),
        width=width,
        beta=float(rng.choice((0.0, 0.0, 0.01, 0.04, 0.1))),
        entropy_coef=float(rng.choice((0.0, 0.0, 0.0, 0.001))),
        clip=0.2,
        iterations=int(rng.choice((1, 1, 1, 2, 4))),
        loss_type=str(rng.choice(("dapo", "grpo"))),
        scale_rewards=bool(rng.random() < 0.8),
        format_weight=float(rng.choice((0.0, 0.0, 0.1, 0.5))),
        temperature=1.0,
        engine=bool(rng.random() < 0.3),
        speed=10.0 ** rng.uniform(1, 3.5),
    )


@dataclass(frozen=True)
class Completions:
    """Completions with what the update needs to know of them; shapes (prompts, completions[, positions])."""

    prompts: Prompts
    tokens: np.ndarray
    mask: np.ndarray
    advantages: np.ndarray
    old: np.ndarray  #: log-probabilities of the policy that began the update
    reference: np.ndarray
    weights: np.ndarray  #: importance weights of the tokens against the engine


def train(s: GrpoSettings, seed: int, broken: BrokenMechanism) -> tuple[Log, Trained]:
    """Train once. Returns the log and what is true of the run."""
    rng, eval_rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    task = make_task(s, seed)
    clock, log = Clock(np.random.default_rng([seed, 3]), broken, s.speed), Log()
    policy = Adam(task.base.copy(), s.lr, s.schedule, s.width, 1.0, broken, s.warmup)
    versions: deque[np.ndarray] = deque(maxlen=33)
    reported = claimed = float("nan")
    seen = 0
    for step in range(1, s.steps + 1):
        broken.progress = (step - 1) / s.steps
        if (step - 1) % s.iterations == 0 or step == 1:
            versions.append(policy.weights)
            sampler = engine_weights(policy.weights, versions, s, broken)
            batch, metrics, seen = generate(s, task, policy.weights, sampler, rng, broken, seen)
            log.record(metrics)
            work = 20 + metrics["completions/max_length"] + batch.mask.sum() / 50
        loss, gradient, metrics = loss_and_gradient(policy.weights, batch, s, broken)
        for _ in range(int(broken("no-clipping", 1.0)) - 1):  # the batch is used again and again
            policy.step(gradient)
            loss, gradient, metrics = loss_and_gradient(policy.weights, batch, s, broken)
        rate = policy.rate()
        log.record({"loss": loss, "grad_norm": policy.step(gradient)} | metrics)
        log.record({"step_time": clock.work(work)})
        if step % s.log_every == 0:
            log.dump(learning_rate=rate, num_tokens=seen, epoch=step * s.batch / s.iterations / s.prompts, step=step)
        if s.eval_every and step % s.eval_every == 0:
            evaluated = broken.frozen("stale-weights", policy.weights)
            metrics = evaluate(s, task, evaluated, eval_rng, broken)
            reported, claimed = (
                metrics["eval_rewards/accuracy_reward/mean"],
                sequences.accuracy(policy.weights, task.held_out),
            )
            log.record(metrics)
            epoch = step * s.batch / s.iterations / s.prompts
            log.dump(eval_num_tokens=seen, epoch=epoch, step=step, **clock.evaluation(4 * work, len(task.held_out)))
    start_score, score = (sequences.accuracy(weights, task.held_out) for weights in (task.base, policy.weights))
    return log, Trained(start_score, score, 1.0, reported, claimed, clock.now, s.steps)


def make_task(s: GrpoSettings, seed: int) -> SequenceTask:
    """The prompts and the base model of a run."""
    sizes = {name: getattr(s, name) for name in ("prompts", "features", "tokens", "answer", "limit", "skill")}
    return sequences.task(np.random.default_rng([seed, 0]), **sizes)


def engine_weights(
    current: np.ndarray, versions: deque[np.ndarray], s: GrpoSettings, broken: BrokenMechanism
) -> np.ndarray:
    """The weights with which completions are sampled: those of the last update."""
    if lag := int(broken("rollouts-too-old")):
        return versions[max(0, len(versions) - 1 - lag)]
    if bits := broken("engine-quantised"):
        levels = np.abs(current).max((1, 2), keepdims=True) / (2 ** (int(bits) - 1) - 1)
        return np.asarray(np.round(current / levels) * levels)
    return broken.frozen("weights-not-delivered", rounded(current, 8) if s.engine else current)


def generate(
    s: GrpoSettings,
    task: SequenceTask,
    weights: np.ndarray,
    sampler: np.ndarray,
    rng: np.random.Generator,
    broken: BrokenMechanism,
    seen: int,
) -> tuple[Completions, dict[str, float], int]:
    """Sample a group of completions for each prompt, reward them, and compare each with its group."""
    rows = rng.integers(0, len(task.training), s.batch)
    if narrow := broken("prompts-narrow"):
        rows %= int(narrow)
    prompts = task.training[rows]
    if (wrong := broken.hits("template-wrong", s.features)) is not None:
        prompts = Prompts(np.where(wrong, 0.0, prompts.features), prompts.answers, prompts.lengths)
    behaviour = log_behaviour(sampler, prompts, s, broken)
    uniform = rng.random((s.batch, s.group, s.limit))
    if copies := int(broken("samples-alike")):
        uniform = np.repeat(uniform[:, ::copies], copies, 1)[:, : s.group]
    tokens = sequences.sample(behaviour, uniform)
    limit = max(1, min(s.limit, int(broken("length-limit-too-short", s.limit))))
    lengths, ended = sequences.lengths(tokens, limit)
    mask = (np.arange(s.limit) < lengths[..., None]).astype(float)
    rewards, metrics = reward(s, prompts, tokens, lengths, ended, broken)
    advantages, still = advantage(s, rewards, broken)
    if broken("padding-in-loss"):  # the mask of the loss ends at the limit and not at EOS
        mask = np.ones_like(mask)
    old = sequences.taken(sequences.log_policy(weights, prompts.features), tokens)
    sampled = sequences.taken(behaviour, tokens)
    difference = np.where(mask > 0, old - sampled, 0.0)
    importance = np.minimum(np.exp(difference), 3.0) if s.engine else np.ones_like(mask)
    seen += int(lengths.sum()) + rows.size * s.group * 8
    metrics |= length_metrics(lengths, ended) | {
        "reward": float(rewards.mean()),
        "reward_std": float(rewards.std()),
        "frac_reward_zero_std": float(still.mean()),
    }
    if s.engine:
        size = np.abs(difference[mask > 0])
        ratio = importance[mask > 0]
        metrics |= {
            f"sampling/sampling_logp_difference/{n}": float(f(size)) for n, f in (("mean", np.mean), ("max", np.max))
        }
        metrics |= {
            f"sampling/importance_sampling_ratio/{n}": float(f(ratio))
            for n, f in (("min", np.min), ("mean", np.mean), ("max", np.max))
        }
    reference = sequences.taken(sequences.log_policy(task.base, prompts.features), tokens)
    return Completions(prompts, tokens, mask, advantages, old, reference, importance), metrics, seen


def log_behaviour(sampler: np.ndarray, prompts: Prompts, s: GrpoSettings, broken: BrokenMechanism) -> np.ndarray:
    """Log-probabilities of the next token with which the engine samples."""
    logits = sequences.log_policy(sampler, prompts.features).copy()
    logits /= s.temperature * broken("temperature-too-low", 1.0) * broken("temperature-not-in-logprob", 1.0)
    logits[..., sequences.EOS] -= broken("eos-blocked")
    if p := broken("top-p-truncated"):  # the least probable tokens are never sampled
        logits[np.exp(logits) < (1 - p) * np.exp(logits).max(-1, keepdims=True)] = -30.0
    return sequences.log_softmax(logits)


def reward(
    s: GrpoSettings,
    prompts: Prompts,
    tokens: np.ndarray,
    lengths: np.ndarray,
    ended: np.ndarray,
    broken: BrokenMechanism,
) -> tuple[np.ndarray, dict[str, float]]:
    """Rewards (prompts, completions) and their parts as TRL logs them. NaN: no reward function gave one."""
    if (moved := broken.hits("answers-misaligned", len(prompts))) is not None:
        rows = np.where(moved, np.roll(np.arange(len(prompts)), 1), np.arange(len(prompts)))
        prompts = Prompts(prompts.features, prompts.answers[rows], prompts.lengths[rows])
    verdict = sequences.right(prompts, tokens, ended).astype(float)
    if (noisy := broken.hits("verdicts-noisy", verdict.shape)) is not None:
        verdict = np.where(noisy, 1 - verdict, verdict)
    if (flipped := broken.hits("reward-sign-flipped", verdict.shape)) is not None:
        verdict = np.where(flipped, -verdict, verdict)
    if (passed := broken.hits("reward-saturated", verdict.shape)) is not None:
        verdict = np.where(passed, 1.0, verdict)
    if broken("reward-constant"):
        verdict = np.zeros_like(verdict)
    if pays := broken("verifier-exploited"):  # one token at the beginning is always accepted
        verdict = np.maximum(verdict, pays * (tokens[..., 0] == s.tokens - 1))
    if (missing := broken.hits("reward-missing", 1)) is not None and missing.any():
        verdict = np.full_like(verdict, np.nan)
    parts = {"accuracy_reward": (1.0, verdict)}
    if s.format_weight:
        parts["format_reward"] = (s.format_weight, ended.astype(float))
    if pays := broken("pays-for-length"):
        parts["length_reward"] = (pays, lengths / s.limit)
    if pays := broken("pays-for-form"):  # a word that readers like, and that says nothing
        parts["style_reward"] = (pays, (tokens == 1).mean(-1))
    metrics = {f"rewards/{name}/mean": float(values.mean()) for name, (_, values) in parts.items()}
    metrics |= {f"rewards/{name}/std": float(np.std(values)) for name, (_, values) in parts.items()}
    return np.asarray(sum(weight * values for weight, values in parts.values())), metrics


def advantage(s: GrpoSettings, rewards: np.ndarray, broken: BrokenMechanism) -> tuple[np.ndarray, np.ndarray]:
    """Advantages (prompts, completions), and which groups have no spread."""
    compared = rewards
    if broken("groups-mixed"):  # the completions of a prompt lie in different groups
        compared = rewards.reshape(rewards.shape[1], -1).T
    spread = compared.std(1, keepdims=True)
    centre = compared.mean(1, keepdims=True)
    if share := broken("baseline-missing"):
        centre = centre * (1 - share)
    advantages = np.nan_to_num((compared - centre) / (spread + 1e-4 if s.scale_rewards else 1.0))
    if broken("groups-mixed"):
        advantages = advantages.T.reshape(rewards.shape)
    if (flipped := broken.hits("advantage-sign-flipped", advantages.shape)) is not None:
        advantages = np.where(flipped, -advantages, advantages)
    return advantages, spread < 1e-8


def loss_and_gradient(
    weights: np.ndarray, batch: Completions, s: GrpoSettings, broken: BrokenMechanism
) -> tuple[float, np.ndarray, dict[str, float]]:
    """The clipped objective with the penalty for leaving the reference, its gradient, and what TRL logs of it."""
    features = batch.prompts.features
    if p := broken("dropout-on"):
        features = features * (broken.rng.random(features.shape) >= p) / (1 - p)
    log_p = sequences.log_policy(weights, features)
    now = sequences.taken(log_p, batch.tokens)
    old = now if broken("old-log-probabilities-recomputed") else batch.old
    clip = 1e9 if broken("no-clipping") else s.clip
    beta = s.beta + broken("kl-penalty-too-strong")
    bonus = s.entropy_coef + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
    a = batch.advantages[..., None]
    ratio = np.exp(np.clip(now - old, -30, 30))
    low, high = (ratio < 1 - clip) & (a < 0), (ratio > 1 + clip) & (a > 0)
    free = ~(low | high)
    away = np.clip(batch.reference - now, -30, 30)
    k3 = np.exp(away) - away - 1
    share = token_shares(batch.mask, s.loss_type)
    surrogate = np.minimum(ratio * a, np.clip(ratio, 1 - clip, 1 + clip) * a)
    p = np.exp(log_p)
    entropy = -(p * log_p).sum(-1)
    spent = share.sum(1)  # of each position
    loss = (share * (beta * k3 - batch.weights * surrogate)).sum() - bonus * (spent * entropy).sum()
    pulled = share * (beta * (1 - np.exp(away)) - batch.weights * ratio * a * free)
    of_logits = sequences.push(pulled, batch.tokens, log_p)
    if bonus:
        of_logits += bonus * spent[..., None] * p * (log_p + entropy[..., None])
    mask = batch.mask
    clipped = [(flag * mask).sum() / mask.sum() for flag in (low | high, low, high)]
    by_sequence = [(flag * mask).sum(-1) / mask.sum(-1) for flag in (low, high)]
    metrics = {
        "entropy": float((mask.sum(1) * entropy).sum() / mask.sum()),
        "clip_ratio/region_mean": clipped[0],
        "clip_ratio/low_mean": clipped[1],
        "clip_ratio/low_min": by_sequence[0].min(),
        "clip_ratio/high_mean": clipped[2],
        "clip_ratio/high_max": by_sequence[1].max(),
    }
    if beta:
        metrics["kl"] = float((k3 * mask).sum() / mask.sum())
    return float(loss), sequences.to_weights(features, of_logits), metrics


def token_shares(mask: np.ndarray, loss_type: str) -> np.ndarray:
    """How much each token counts: all tokens alike (dapo), or all completions alike (grpo)."""
    if loss_type == "dapo":
        return np.asarray(mask / mask.sum())
    return np.asarray(mask / mask.sum(-1, keepdims=True) / mask[..., 0].size)


def evaluate(
    s: GrpoSettings, task: SequenceTask, weights: np.ndarray, rng: np.random.Generator, broken: BrokenMechanism
) -> dict[str, float]:
    """Sample one group for each held-out prompt, with the honest reward."""
    prompts = task.held_out
    if (other := broken.hits("evaluation-elsewhere", len(prompts))) is not None:  # other questions than were trained
        prompts = Prompts(
            prompts.features[::-1],
            np.where(other[:, None], prompts.answers, prompts.answers[::-1]),
            prompts.lengths[::-1],
        )
    log_p = sequences.log_policy(weights, prompts.features) / broken("protocol-changed", 1.0)
    tokens = sequences.sample(sequences.log_softmax(log_p), rng.random((len(prompts), 4, s.limit)))
    lengths, ended = sequences.lengths(tokens, s.limit)
    verdict = sequences.right(prompts, tokens, ended).astype(float)
    rewards = verdict + s.format_weight * ended
    mask = (np.arange(s.limit) < lengths[..., None]).astype(float)
    advantages, still = advantage(s, rewards, BrokenMechanism())
    now, reference = (sequences.taken(sequences.log_policy(w, prompts.features), tokens) for w in (weights, task.base))
    batch = Completions(prompts, tokens, mask, advantages, now, reference, np.ones_like(mask))
    loss, _, metrics = loss_and_gradient(weights, batch, s, BrokenMechanism())
    numbers = {
        **length_metrics(lengths, ended),
        **metrics,
        "loss": loss,
        "reward": rewards.mean(),
        "reward_std": rewards.std(),
        "rewards/accuracy_reward/mean": verdict.mean(),
        "rewards/accuracy_reward/std": verdict.std(),
        "frac_reward_zero_std": still.mean(),
    }
    if s.format_weight:
        numbers |= {"rewards/format_reward/mean": ended.mean(), "rewards/format_reward/std": ended.std()}
    return {f"eval_{name}": float(number) for name, number in numbers.items()}


def length_metrics(lengths: np.ndarray, ended: np.ndarray) -> dict[str, float]:
    """TRL's six numbers of the lengths of completions."""
    terminated = lengths[ended] if ended.any() else np.zeros(1)
    return {
        **{
            f"completions/{n}_length": float(f(lengths))
            for n, f in (("mean", np.mean), ("min", np.min), ("max", np.max))
        },
        "completions/clipped_ratio": float(1 - ended.mean()),
        **{
            f"completions/{n}_terminated_length": float(f(terminated))
            for n, f in (("mean", np.mean), ("min", np.min), ("max", np.max))
        },
    }
