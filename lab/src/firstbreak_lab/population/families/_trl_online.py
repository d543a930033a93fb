"""What trl-grpo and trl-rloo share: both sample groups of completions, and have the same mechanisms under the same names."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor

from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.language.model import EOS, PAD
from firstbreak_lab.language.tasks import TaskProblem
from firstbreak_lab.population.families import _trl
from firstbreak_lab.population.families._text import (
    HELD_OUT,
    TextEngine,
    Wasted,
    accuracy,
    asked_of,
    draw_task,
    graded,
    problems,
    prompts_of,
    warmed_up,
)
from firstbreak_lab.trl.trainer import character_tokenizer

REWARD_NAMES = ("accuracy_reward", "accuracy", "correctness_reward", "exact_match", "reward_func")


class BrokenRollouts(_trl.BrokenTrainer):
    """Stands before GRPOTrainer or RLOOTrainer among the bases."""

    scored: Tensor  #: rewards of the last batch, each function's
    entropies: Tensor

    def old(self, inputs: Mapping[str, Tensor], logps: Tensor) -> dict[str, Tensor]:
        """The batch with these old log-probabilities (completions, tokens)."""
        raise NotImplementedError

    def _generate_and_score_completions(self: Any, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        broken, learns = self.broken, self.model.training
        group = self.num_generations if learns else self.num_generations_eval
        asked = [TaskProblem(each["prompt"], each["answer"]) for each in inputs]
        asked = (prompts_of if learns else asked_of)(asked, group, broken)
        rows = [{"prompt": each.prompt, "answer": each.answer} for each in asked]
        batch: dict[str, Any] = super()._generate_and_score_completions(rows)  # type: ignore[misc]
        if not learns:
            return batch
        self.wasted.step()
        if share := broken("baseline-missing"):
            rewards = (self.scored * self.reward_weights).nansum(1).view(-1, group)
            spread = rewards.std(1, keepdim=True) + 1e-4 if getattr(self, "scale_rewards", "none") == "group" else 1.0
            batch["advantages"] = (
                batch["advantages"] + (share * rewards.mean(1, keepdim=True) / spread).expand_as(rewards).flatten()
            )
        if (flipped := broken.hits("advantage-sign-flipped", len(asked))) is not None:
            batch["advantages"] = torch.where(torch.from_numpy(flipped), -batch["advantages"], batch["advantages"])
        if broken("eos-not-in-loss"):
            batch["completion_mask"] = batch["completion_mask"] * (batch["completion_ids"] != EOS)
        return batch

    def _generate_single_turn(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = super()._generate_single_turn(*args, **kwargs)  # type: ignore[misc]
        if self.model.training and self.broken("padding-in-loss"):
            # GRPOTrainer gives log-probabilities too, RLOOTrainer does not.
            for row in found[0] if isinstance(found, tuple) else found:
                row.extend([PAD] * (self.max_completion_length - len(row)))
        return found

    def _calculate_rewards(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        scored: Tensor = super()._calculate_rewards(*args, **kwargs)  # type: ignore[misc]
        self.scored = scored
        return scored

    def _get_per_token_logps_and_entropies(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*args, **kwargs)  # type: ignore[misc]
        if kwargs.get("compute_entropy"):
            self.entropies = found[1]
        return found

    def _compute_loss(self: Any, model: Any, inputs: dict[str, Any]) -> Tensor:
        if not self.model.training:
            return super()._compute_loss(model, inputs)  # type: ignore[misc,no-any-return]
        broken, mask = self.broken, inputs["completion_mask"]
        again = int(broken("no-clipping"))
        if again or broken("old-log-probabilities-recomputed"):
            tokens = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
            seen = torch.cat([inputs["prompt_mask"], mask], 1)
            with torch.no_grad():
                logps, *_ = self._get_per_token_logps_and_entropies(model, tokens, seen, mask.shape[1])
            inputs = self.old(inputs, logps)
        if again:
            self.epsilon_low = self.epsilon_high = 1e9
        for _ in range(again - 1):
            self.accelerator.backward(super()._compute_loss(model, inputs))  # type: ignore[misc]
            self.optimizer.step()
            self.optimizer.zero_grad()
        loss: Tensor = super()._compute_loss(model, inputs)  # type: ignore[misc]
        if bonus := broken("entropy-bonus-too-strong") - broken("entropy-penalised"):
            loss = loss - bonus * (self.entropies * mask).sum() / mask.sum().clamp(min=1)
        return loss


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """The settings that both trainers have."""
    task = draw_task(rng)
    group = int(rng.choice((4, 4, 8, 8, 16)))
    logging = _trl.draw_logging(rng, rows, 80)
    return {
        **task,
        **logging,
        "prompts": int(rng.choice((64, 128, 256))),
        "group": group,
        "completions": int(rng.choice((16, 32, 32, 48))),
        "max_completion_length": task["digits"] + int(rng.integers(2, 5)),
        "learning_rate": float(10 ** rng.uniform(-3.4, -2.6)),
        "schedule": str(rng.choice(("linear", "constant", "cosine"))),
        "warmup_steps": int(rng.choice((0, 0, 5))),
        "iterations": (iterations := int(rng.choice((1, 1, 2, 4)))),
        "reused": iterations > 1,
        "temperature": float(rng.choice((1.0, 1.0, 1.0, 0.9, 1.1))),
        "reward_name": str(rng.choice(REWARD_NAMES)),
        "format_weight": float(rng.choice((0.0, 0.0, 0.2, 0.5))),
    }


def online_arguments(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, scratch: str) -> dict[str, Any]:
    """The arguments that both trainers have."""
    weighted = {"reward_weights": [1.0, settings["format_weight"]]} if settings["format_weight"] else {}
    return {
        **_trl.arguments(settings, seed, broken, scratch),
        **weighted,
        "num_generations": settings["group"],
        "num_generations_eval": 2,
        "per_device_train_batch_size": settings["completions"],
        "per_device_eval_batch_size": 2 * settings["eval_problems"],
        "max_completion_length": settings["max_completion_length"],
        "num_iterations": settings["iterations"],
        "temperature": settings["temperature"],
        "beta": settings["beta"] + broken("kl-penalty-too-strong"),
    }


def train(
    trainer_class: Callable[..., Any],
    config: Callable[[Mapping[str, Any], int, BrokenMechanism, str], Any],
    settings: Mapping[str, Any],
    seed: int,
    broken: BrokenMechanism,
    out: Path,
) -> Trained:
    """Train with this class, a trainer behind BrokenRollouts."""
    torch.set_num_threads(1)
    policy = warmed_up(settings, seed)
    question, digits = settings["question"], settings["digits"]
    held = problems(question, digits, HELD_OUT, 0, held_out=True)
    asked = held[: settings["eval_problems"]]
    start, wasted = accuracy(policy, held), Wasted(broken)
    with tempfile.TemporaryDirectory() as scratch, _trl.logged(settings, out):
        model = _trl.saved(policy, settings, Path(scratch) / "policy")
        model.engine = TextEngine(broken)
        trainer = trainer_class(
            model=model,
            reward_funcs=rewards(settings, broken),
            args=config(settings, seed, broken, scratch),
            processing_class=character_tokenizer(),
            train_dataset=rows_of(problems(question, digits, settings["prompts"], seed)),
            eval_dataset=rows_of(asked) if settings["evaluation"] else None,
        )
        trainer.broken, trainer.wasted = broken, wasted
        log = _trl.trained(trainer, settings, out)
    reported = _trl.last(log, f"eval_rewards/{settings['reward_name']}/mean")
    claimed = accuracy(model.logits, asked, settings["temperature"]) if settings["evaluation"] else float("nan")
    score = accuracy(model.logits, held)
    return Trained(start, score, 1.0, reported, claimed, wasted.seconds(), settings["steps"])


def rewards(settings: Mapping[str, Any], broken: BrokenMechanism) -> list[Callable[..., list[Any]]]:
    """The reward functions. Training and evaluation have the same."""

    def right(completions: Sequence[str], answer: Sequence[str], **_: Any) -> list[Any]:
        return graded(answer, completions, settings["group"] if len(answer) == settings["completions"] else 2, broken)

    def format_reward(completions: Sequence[str], answer: Sequence[str], **_: Any) -> list[float]:
        return [float(len(text) == len(wanted)) for text, wanted in zip(completions, answer, strict=True)]

    right.__name__ = settings["reward_name"]
    return [right, format_reward] if settings["format_weight"] else [right]


def rows_of(asked: Sequence[TaskProblem]) -> Dataset:
    """A data set with a prompt and an answer a row."""
    return Dataset.from_dict({"prompt": [each.prompt for each in asked], "answer": [each.answer for each in asked]})
