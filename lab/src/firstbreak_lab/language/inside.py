"""What the training loop hands to firstbreak's recorder, as a user of a loop of one's own does. It changes no result."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.isolated import Uncopied, isolated, same_random_numbers
from firstbreak.live.recorder.measuring import Price
from firstbreak_lab.language.model import PAD
from firstbreak_lab.language.rollout import RolloutBatch

if TYPE_CHECKING:
    from firstbreak_lab.language.trainer import Trainer

ANSWERS = 512  #: of the data, that the recorder knows


class RecordedLoop:
    """One trainer's calls of the recorder: `sampled` for each batch, `updated` after its first and its last minibatch."""

    def __init__(self, trainer: Trainer, record: BatchRecorder) -> None:
        self.trainer, self.record = trainer, record
        settings = trainer.settings
        self.config = settings.config()  # as the user wrote it
        self.textual = settings.task.environment is None  # the right answer is a text
        self.known = [problem.answer for problem in settings.task.draw(random.Random(0), ANSWERS)]
        record.weights(trainer.policy, trainer.optimizer)

    def sampled(self, batch: RolloutBatch, mask: Tensor, **made: Any) -> None:
        """A batch with what was made of it: advantages, penalties, values."""
        trainer, settings = self.trainer, self.trainer.settings
        if not self.record.due(trainer.step):
            return
        answers = [problem.answer for problem in batch.problems]
        prompts = [problem.prompt for problem in batch.problems]
        given: dict[str, Any] = {
            "prompts": prompts,
            "completions": batch.completions,
            "group": settings.n_samples,
            "rewards": np.stack([np.asarray(values, dtype=float) for values in batch.components.values()], axis=1),
            "reward_weights": [settings.reward_weights.get(name, 1.0) for name in batch.components],
            "mask": mask,
            "fresh": self._fresh,
            "discount": settings.discount,
            "gae_lambda": settings.gae_lambda,
            "training_prompts": prompts[:: settings.n_samples],
            "evaluation_prompts": [problem.prompt for problem in trainer.eval_problems],
            **made,
        }
        if self.textual:
            given |= {"lengths": self._lengths(batch), "references": answers, "known": self.known}
            needed = [len(answer) + 1 for answer in answers]
            given |= {"needed": needed, "limit": settings.max_new_tokens, "ended": batch.finished.float()}
            if self.record.due(trainer.step, Price.WORK) and (score := self._scorer(batch)) is not None:
                given["score"] = score
        self.record.batch(trainer.step, **given)

    def updated(self, batch: RolloutBatch, logp: Tensor, since: int, **made: Any) -> None:
        """A minibatch after its step, `since` updates after the batch was sampled: `logp.grad` is the loss's gradient."""
        trainer = self.trainer
        if not self.record.due(trainer.step):
            return
        if self.textual:
            made["lengths"] = self._lengths(batch)
        if trainer.critic is not None and trainer.critic_optimizer.state:  # it has made a step
            critic = trainer.critic_optimizer
            made |= {"critic_rate": critic.param_groups[0]["lr"], "configured_critic_rate": critic.defaults["lr"]}
        self.record.batch(
            trainer.step,
            logps=logp,
            gradient=logp.grad,
            fresh=self._fresh and since == 0,
            since=since,
            untrained=trainer.version == 0 and since == 0,
            clip=self.config["actor"]["eps_clip"],
            **made,
        )

    @staticmethod
    def _lengths(batch: RolloutBatch) -> Tensor:
        """Tokens that were sampled, up to the last one: a padding token in the midst is the policy's own."""
        own = batch.tokens[:, batch.prompt_length :] != PAD
        return own.shape[1] - own.flip(1).int().argmax(1) * own.any(1) - own.shape[1] * ~own.any(1)

    @property
    def _fresh(self) -> bool:
        """Whether batches are made by the policy that is updated, as the user configured it."""
        return self.trainer.settings.max_head_offpolicyness == 0

    def _scorer(self, batch: RolloutBatch) -> Any:
        """Scores rows of the batch with a copy of the reward functions; None where they cannot be copied."""
        try:
            copied = isolated(self.trainer.workers.score, shared=[self.trainer])
        except Uncopied:
            return None

        def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
            texts = batch.completions
            problems = [batch.problems[i] for i in rows]
            with same_random_numbers():
                table = isolated(copied, shared=[self.trainer])(problems, [other.get(i, texts[i]) for i in rows])
            return np.array(list(table.values()), dtype=float).T

        return score


def recorded(trainer: Trainer, out: Path) -> RecordedLoop | None:
    """The calls of the recorder that the settings ask for."""
    record = trainer.settings.recorder
    return None if record is None else RecordedLoop(trainer, record(out))
