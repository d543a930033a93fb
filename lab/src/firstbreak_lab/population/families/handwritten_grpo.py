"""A GRPO loop in plain PyTorch, as one file of a user's: its own names, its own files.

Some write the names of Weights & Biases' examples or of verl, because dashboards know them.
"""

import csv
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.language.model import EOS, PAD, decode, encode
from firstbreak_lab.language.tasks import TaskProblem
from firstbreak_lab.population.families._text import (
    EVERYWHERE,
    HELD_OUT,
    SAMPLING,
    TextEngine,
    TextPolicy,
    Wasted,
    accuracy,
    asked_of,
    draw_task,
    graded,
    lent,
    problems,
    prompts_of,
    rounded,
    warmed_up,
    weights_of,
)
from firstbreak_lab.population.faults import by_name

NAME = "handwritten-grpo"
FAULTS = by_name((*EVERYWHERE, *SAMPLING))
CANNOT: Mapping[Link, str] = {}

Row = dict[str, float]

#: what is measured, under the names of one user each. What a user has no name for is not logged.
STYLES: Mapping[str, Mapping[str, str]] = {
    "plain": {
        "loss": "loss", "reward": "mean_reward", "reward_std": "std_reward", "kl": "kl", "entropy": "entropy",
        "grad": "grad_norm", "lr": "lr", "length": "completion_len", "equal": "zero_std_groups", "eval": "eval_acc",
    },
    "short": {"loss": "loss", "reward": "reward", "kl": "kl", "lr": "lr", "length": "len", "seconds": "dt", "eval": "acc"},
    "loop": {
        "loss": "policy_loss", "reward": "avg_reward", "kl": "kl_div", "entropy": "policy_entropy", "clip": "clip_frac",
        "grad": "gnorm", "lr": "learning_rate", "length": "avg_response_length", "truncated": "frac_truncated",
        "eval": "test_accuracy", "seconds": "step_time",
    },
    "wandb": {
        "loss": "train/loss", "reward": "train/reward_mean", "reward_std": "train/reward_std", "kl": "train/kl",
        "entropy": "train/entropy", "clip": "train/clip_fraction", "grad": "train/grad_norm", "lr": "train/learning_rate",
        "length": "train/completion_length", "truncated": "train/truncated_frac", "eval": "eval/accuracy",
        "seconds": "time/step",
    },
    "verl": {
        "loss": "actor/pg_loss", "reward": "critic/rewards/mean", "kl": "actor/kl_loss", "entropy": "actor/entropy",
        "clip": "actor/pg_clipfrac", "grad": "actor/grad_norm", "lr": "actor/lr", "length": "response_length/mean",
        "truncated": "response_length/clip_ratio", "ratio_kl": "actor/ppo_kl", "advantage": "critic/advantages/mean",
        "eval": "val-core/questions/acc/mean@1", "gen": "timing_s/gen", "seconds": "timing_s/step",
    },
}  # fmt: skip

#: how each user prints a row
PRINTED: Mapping[str, Callable[[Row], str]] = {
    "plain": lambda row: " | ".join(
        f"{name}: {number:.4f}" if name != "step" else f"step {number}" for name, number in row.items()
    ),
    "short": lambda row: (
        f"Step {row['step']}: " + ", ".join(f"{name}={row[name]:.4g}" for name in row if name != "step")
    ),
    "loop": str,
    "wandb": str,
    "verl": lambda row: " - ".join(f"{name}:{number}" for name, number in row.items()),
}


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a run that a user could have started."""
    task = draw_task(rng)
    every = int(rng.choice((1, 1, 1, 2, 5, 10)))
    steps = min(rows * every, 120)
    return {
        **task,
        "steps": steps,
        "log_every": every if steps >= 30 * every else 1,
        "evaluation": bool(rng.random() < 0.5),
        "eval_every": max(2, steps // int(rng.integers(4, 13))),
        "eval_problems": int(rng.choice((16, 32))),
        "eval_temperature": float(rng.choice((1.0, 1.0, 0.01))),
        "style": str(rng.choice(list(STYLES))),
        "writes": str(rng.choice(("jsonl", "jsonl", "printed", "printed", "csv"))),
        "config": bool(rng.random() < 0.5),
        "prompts": int(rng.choice((32, 128, 512))),
        "batch": int(rng.choice((4, 4, 8))),
        "group": int(rng.choice((4, 8, 8))),
        "limit": task["digits"] + int(rng.integers(2, 7)),
        "learning_rate": float(10 ** rng.uniform(-3.5, -2.6)),
        "schedule": str(rng.choice(("constant", "constant", "linear"))),
        "iterations": (iterations := int(rng.choice((1, 1, 2, 4)))),
        "reused": iterations > 1,
        "clip": 0.2,
        "beta": float(rng.choice((0.0, 0.01, 0.04))),
        "entropy_coef": float(rng.choice((0.0, 0.0, 0.0, 0.001))),
        "divides_by_std": bool(rng.random() < 0.8),
        "max_grad_norm": float(rng.choice((0.5, 1.0, 1.0, 1e9))),
        "guards_nan": bool(rng.random() < 0.5),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train, and write the log."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    policy, reference = warmed_up(settings, seed), warmed_up(settings, seed)
    question, digits = settings["question"], settings["digits"]
    held = problems(question, digits, HELD_OUT, 0, held_out=True)
    asked = held[: settings["eval_problems"]]
    known = problems(question, digits, settings["prompts"], seed)
    start, wasted, rows = accuracy(policy, held), Wasted(broken), []
    loop = GrpoLoop(settings, seed, policy, reference, broken, wasted)
    for step in range(1, settings["steps"] + 1):
        broken.progress = (step - 1) / settings["steps"]
        measured = loop.step(known, step)
        if settings["evaluation"] and step % settings["eval_every"] == 0:
            measured["eval"] = loop.evaluate(asked)
        if step % settings["log_every"] == 0 or "eval" in measured:
            rows.append({"step": step, **measured})
    write(rows, settings, out)
    policy.backbone.temperature = 1.0
    reported = [row["eval"] for row in rows if "eval" in row]
    claimed = accuracy(policy.eval(), asked, settings["eval_temperature"]) if reported else float("nan")
    return Trained(
        start, accuracy(policy.eval(), held), 1.0, reported[-1] if reported else float("nan"), claimed, wasted.seconds(),
        settings["steps"],
    )  # fmt: skip


class GrpoLoop:
    """The training loop, one step at a time."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        seed: int,
        policy: TextPolicy,
        reference: TextPolicy,
        broken: BrokenMechanism,
        wasted: Wasted,
    ) -> None:
        self.settings, self.policy, self.reference, self.broken, self.wasted = (
            settings,
            policy,
            reference,
            broken,
            wasted,
        )
        self.rate = settings["learning_rate"] * broken("learning-rate-too-high-at-once", 1.0)
        self.beta = settings["beta"] + broken("kl-penalty-too-strong")
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=self.rate, weight_decay=0.0)
        self.engine, self.shuffle = TextEngine(broken), np.random.default_rng([seed, 1])

    def step(self, known: list[TaskProblem], step: int) -> Row:
        """Sample, reward, compare, update. Returns what was measured."""
        s, broken = self.settings, self.broken
        began = time.perf_counter()
        left = 1 - (step - 1) / s["steps"] if s["schedule"] == "linear" else 1.0
        rate = self.rate * left * broken("learning-rate-too-high", 1.0) * broken("schedule-ended", 1.0)
        self.optimizer.param_groups[0]["lr"] = rate
        self.policy.backbone.dropout.p = broken("dropout-on")
        self.policy.backbone.temperature = broken("temperature-too-low", 1.0)
        chosen = self.shuffle.integers(0, len(known), s["batch"])
        batch = prompts_of([known[i] for i in chosen for _ in range(s["group"])], s["group"], broken)
        longest = max(len(each.prompt) for each in batch)
        prompts = encode([each.prompt.rjust(longest, "0") for each in batch])
        seen = torch.tensor([[0] * (longest - len(p.prompt)) + [1] * len(p.prompt) for p in batch])
        with lent(self.policy, self.engine.delivered(self.policy)):
            completions = self.engine.sample(self.policy, prompts, seen, s["limit"], 1.0)
        sampled = time.perf_counter()
        self.wasted.step()
        verdicts = graded([each.answer for each in batch], decode(completions), s["group"], broken)
        rewards = torch.tensor([float("nan") if verdict is None else verdict for verdict in verdicts])
        ended = (completions == EOS).any(1)
        mask = (completions != PAD).float()
        lengths = mask.sum(1)
        advantages, equal = self.compare(rewards)
        if broken("padding-in-loss"):
            mask = torch.ones_like(mask)
        if broken("eos-not-in-loss"):
            mask = mask * (completions != EOS)
        updated = self.update(
            torch.cat([prompts, completions], 1), torch.cat([seen, torch.ones_like(completions)], 1), mask, advantages
        )
        return {
            **updated,
            "reward": float(rewards.mean()),
            "reward_std": float(rewards.std()),
            "equal": equal,
            "advantage": float(advantages.mean()),
            "length": float(lengths.mean()),
            "truncated": float(1 - ended.float().mean()),
            "lr": rate,
            "gen": sampled - began,
            "seconds": time.perf_counter() - began,
        }

    def compare(self, rewards: Tensor) -> tuple[Tensor, float]:
        """Each completion with its group; and the share of the groups without a difference."""
        s, broken = self.settings, self.broken
        groups = rewards.view(-1, s["group"])
        spread = groups.std(1, keepdim=True)
        centred = groups - groups.mean(1, keepdim=True) * (1 - broken("baseline-missing"))
        advantages = (centred / (spread + 1e-4) if s["divides_by_std"] else centred).flatten()
        if s["guards_nan"]:
            advantages = advantages.nan_to_num()
        if (flipped := broken.hits("advantage-sign-flipped", len(rewards))) is not None:
            advantages = torch.where(torch.from_numpy(flipped), -advantages, advantages)
        return advantages, float((spread < 1e-6).float().mean())

    def update(self, tokens: Tensor, seen: Tensor, mask: Tensor, advantages: Tensor) -> Row:
        """The updates of one batch. Returns the numbers of the last."""
        s, broken, n = self.settings, self.broken, mask.shape[1]
        with torch.no_grad():
            old, _ = taken(self.policy, tokens, seen, n)
            wanted, _ = taken(self.reference, tokens, seen, n)
        again = int(broken("no-clipping"))
        clip = 1e9 if again else s["clip"]
        for _ in range(again or s["iterations"]):
            now, entropies = taken(self.policy, tokens, seen, n)
            if broken("old-log-probabilities-recomputed"):
                old = now.detach()
            ratio = (now - old).exp()
            gain = torch.min(ratio * advantages[:, None], ratio.clamp(1 - clip, 1 + clip) * advantages[:, None])
            k3 = (wanted - now).exp() - (wanted - now) - 1
            bonus = s["entropy_coef"] + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
            total = mask.sum().clamp(min=1)
            loss = ((self.beta * k3 - gain - bonus * entropies) * mask).sum() / total
            norm = self.optimise(loss)
        outside = ((ratio - 1).abs() > clip).float()
        parts = {"kl": k3, "entropy": entropies, "clip": outside, "ratio_kl": old - now}
        means = {name: float((part.detach() * mask).sum() / total) for name, part in parts.items()}
        return {"loss": float(loss.detach()), "grad": norm, **means}

    def optimise(self, loss: Tensor) -> float:
        """One step of the optimiser. Returns the norm of the gradient."""
        broken, weights = self.broken, list(self.policy.parameters())
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if scale := broken("gradients-not-finite"):
            for each in weights:
                each.grad = (each.grad * scale).half().float() / scale if each.grad is not None else None
        norm = float(nn.utils.clip_grad_norm_(weights, self.settings["max_grad_norm"]))
        if scale and not np.isfinite(norm):  # a scaler in half precision leaves out a step that overflows
            return norm
        before = [each.detach().clone() for each in weights]
        self.optimizer.step()
        with torch.no_grad():
            for each, was in zip(weights, before, strict=True):
                if share := broken("updates-do-nothing"):
                    each.copy_(was + share * (each - was))
                if bits := int(broken("updates-rounded-away")):
                    each.copy_(rounded(each, bits))
        return norm

    def evaluate(self, asked: list[TaskProblem]) -> float:
        """The share of right answers, one sampled for each problem."""
        s, broken = self.settings, self.broken
        held: Any = None
        if broken.fault == "stale-weights":
            held = broken.frozen("stale-weights", weights_of(self.policy))  # type: ignore[arg-type]
        batch = asked_of(asked, 1, broken)
        right = 0.0
        self.policy.eval()
        with lent(self.policy, held):
            for length in sorted({len(each.prompt) for each in batch}):
                alike = [each for each in batch if len(each.prompt) == length]
                prompts = encode([each.prompt for each in alike])
                temperature = broken("protocol-changed", s["eval_temperature"])
                sampler = TextEngine(BrokenMechanism())
                said = decode(sampler.sample(self.policy, prompts, torch.ones_like(prompts), s["limit"], temperature))
                right += sum(text == each.answer for text, each in zip(said, alike, strict=True))
        self.policy.train()
        return right / len(batch)


def taken(policy: TextPolicy, tokens: Tensor, seen: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the last `n` tokens, and entropies there; both (rows, n)."""
    logps = policy(tokens[:, :-1], seen[:, :-1])[:, -n:].log_softmax(-1)
    return logps.gather(2, tokens[:, -n:, None])[..., 0], -(logps.exp() * logps).sum(-1)


def write(rows: list[Row], settings: Mapping[str, Any], out: Path) -> None:
    """The log in the style of its user."""
    names = STYLES[settings["style"]]
    told = [{"step": int(row["step"]), **{name: row[key] for key, name in names.items() if key in row}} for row in rows]
    match settings["writes"]:
        case "jsonl":
            (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
        case "csv":
            with (out / "log.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, ["step", *names.values()], restval="")
                writer.writeheader()
                writer.writerows(told)
        case "printed":
            lines = [PRINTED[settings["style"]](row) for row in told]
            (out / "train.log").write_text("\n".join(lines) + "\n")
    if settings["config"]:
        shown = (
            "learning_rate",
            "batch",
            "group",
            "limit",
            "iterations",
            "clip",
            "beta",
            "entropy_coef",
            "max_grad_norm",
            "steps",
        )
        (out / "config.json").write_text(json.dumps({name: settings[name] for name in shown}, indent=1) + "\n")
