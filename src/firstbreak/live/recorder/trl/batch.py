"""A batch that TRL has just sampled and scored."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.live.recorder.data import answers_in, in_place_of, text_of
from firstbreak.live.recorder.isolated import Uncopied, isolated, same_random_numbers
from firstbreak.values import dataclass


@dataclass(frozen=True)
class Scored:
    """What GRPO and RLOO give to their reward functions, and what comes back."""

    trainer: Any
    tokenizer: Any
    inputs: Any  #: rows of the data
    prompts: Any
    completions: Any
    ids: Any  #: tokens of each completion
    rewards: Any  #: (rows of all processes, functions)

    @property
    def own_rewards(self) -> Any:
        """The rewards of this process's rows."""
        here = self.trainer.accelerator.process_index * len(self.prompts)
        return self.rewards[here : here + len(self.prompts)]

    def described(self, made: Mapping[str, Any], passes: Sequence[Any], known: Any) -> dict[str, Any]:
        """What the identities need of the batch that was `made`; rows are in the order of the groups.

        `passes`: log-probabilities that were worked out while it was made. `known`: the right answers of the data.
        """
        trainer, inputs, ids = self.trainer, self.inputs, self.ids
        prompts, completions = self.prompts, self.completions
        texts, answers = [text_of(p) for p in prompts], [text_of(c) for c in completions]
        lengths = np.array([len(row) for row in ids], dtype=float)
        rewards = self.own_rewards.detach().float().cpu().numpy()
        column = answers_in(inputs)
        given: dict[str, Any] = {
            "prompts": texts,
            "completions": answers,
            "lengths": lengths,
            "group": int(trainer.num_generations),
            "rewards": rewards,
            "reward_weights": trainer.reward_weights.float().cpu().numpy(),
            "advantages": made["advantages"],
            **self._estimator(rewards, lengths, passes),
        }
        if len(texts) % given["group"]:
            del given["group"]
        given["moved"] = moved = _moved(made["completion_ids"].tolist(), ids, self.tokenizer.pad_token_id)
        if moved.any():
            return given
        limit = getattr(trainer, "max_completion_length", None)
        if column is not None and limit:
            ends = ends_of(trainer, self.tokenizer)
            given |= {"needed": self._needed([str(row[column]) for row in inputs]), "limit": limit}
            given["ended"] = [float(len(row) > 0 and row[-1] in ends) for row in ids]
        if "tool_mask" not in made and made["completion_mask"].shape[1] >= lengths.max():
            given |= {"mask": made["completion_mask"], "exempt": self._exempt(ids), "tool_mask": np.ones((1, 1))}
        if column is not None:
            given |= {"references": [str(row[column]) for row in inputs], "known": known, "of_data": True}
        return given

    def _needed(self, references: Sequence[str]) -> list[float]:
        """Tokens of each right answer, its end included; the completions of a prompt share one."""
        each = list(dict.fromkeys(references))
        tokens = dict(zip(each, self.tokenizer(each)["input_ids"], strict=True))
        return [float(len(tokens[text]) + 1) for text in references]

    def rescored(self) -> dict[str, Any]:
        """The rewards of the last batch, and the means to score it again."""
        inputs, prompts = self.inputs, self.prompts
        column, group = answers_in(inputs), int(self.trainer.num_generations)
        return {
            "score": self._scorer(),
            "prompts": [text_of(p) for p in prompts],
            "completions": [text_of(c) for c in self.completions],
            "rewards": self.own_rewards,
            "reward_weights": self.trainer.reward_weights,
            "references": None if column is None else [str(row[column]) for row in inputs],
            "group": group if len(prompts) % group == 0 else None,
        }

    def _exempt(self, ids: Any) -> np.ndarray | None:
        if not getattr(self.trainer, "mask_truncated_completions", False):
            return None
        ends = ends_of(self.trainer, self.tokenizer)
        return np.array([float(not len(row) or row[-1] not in ends) for row in ids])

    def _estimator(self, rewards: np.ndarray, lengths: np.ndarray, passes: Sequence[Any]) -> dict[str, Any]:
        trainer = self.trainer
        if hasattr(trainer, "scale_rewards"):  # GRPO
            each = getattr(trainer, "multi_objective_aggregation", "") == "normalize_then_sum"
            return {"estimator": "functions" if each else "group", "scaled": trainer.scale_rewards}
        weights = trainer.reward_weights.float().cpu().numpy()
        summed = np.where(np.isnan(rewards).all(1), np.nan, np.nansum(rewards * weights, axis=1))
        if trainer.reward_clip_range:
            summed = summed.clip(*trainer.reward_clip_range)
        more: dict[str, Any] = {"summed": summed} | ({"clipped": summed} if trainer.reward_clip_range else {})
        if trainer.beta and len(passes) >= 2:
            apart = (passes[0] - passes[1]).float().cpu().numpy()
            inside = np.arange(apart.shape[1]) < lengths.reshape(-1, 1)
            more["penalty"] = trainer.beta * (apart * inside).sum(1)
        scaled = "batch" if trainer.normalize_advantages else "none"
        return {"estimator": "leave-one-out", "scaled": scaled, **more}

    def _scorer(self) -> Callable[[Sequence[int], Mapping[int, str]], np.ndarray] | None:
        """Scores rows of the last batch with copies of the reward functions; None where they cannot be copied."""
        trainer, inputs, ids = self.trainer, self.inputs, self.ids
        prompts, completions = self.prompts, self.completions
        functions = list(trainer.reward_funcs)
        plain = [f for f in functions if not hasattr(f, "parameters") and not inspect.iscoroutinefunction(f)]
        if len(plain) < len(functions) or getattr(trainer, "environments", None) is not None:
            return None
        try:
            copies = [isolated(f) for f in functions]
        except Uncopied:
            return None
        columns = [key for key in inputs[0] if key not in ("prompt", "completion", "completion_ids")]
        silent = {"log_extra": lambda *_: None, "log_metric": lambda *_: None, "trainer_state": trainer.state}

        def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
            texts = [in_place_of(completions[i], other[i]) if i in other else completions[i] for i in rows]
            tokens = [self.tokenizer(other[i])["input_ids"] if i in other else ids[i] for i in rows]
            more = {key: [inputs[i][key] for i in rows] for key in columns} | silent
            given = {"prompts": [prompts[i] for i in rows], "completions": texts, "completion_ids": tokens, **more}
            with same_random_numbers():  # each call begins with the state that the functions have now
                scores = [isolated(f)(**given) for f in copies]
            return np.array([[np.nan if s is None else float(s) for s in each] for each in scores]).T

        return score


def ends_of(trainer: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a completion; the padding is the last one."""
    ends = getattr(trainer, "eos_token_ids", None) or [tokenizer.eos_token_id]
    return [*ends, tokenizer.pad_token_id]


def _moved(rows: Sequence[Sequence[int]], ids: Sequence[Sequence[int]], padding: int) -> np.ndarray:
    """Where the batch's rows hold the tokens of another row; nowhere if they are not the same rows in another order."""
    width = max(map(len, rows), default=0)
    sampled = [[*own, *[padding] * (width - len(own))] for own in ids]
    apart = np.array([list(mine) != own for mine, own in zip(rows, sampled, strict=True)])
    return apart if apart.any() and sorted(map(list, rows)) == sorted(sampled) else np.zeros(len(rows), bool)
