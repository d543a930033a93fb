"""TRL's DPOTrainer: right answers are preferred to wrong ones of the first policy."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from trl import DPOConfig, DPOTrainer

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.language.model import EOS
from firstbreak_lab.language.tasks import TaskProblem
from firstbreak_lab.population.families import _trl, _trl_offline
from firstbreak_lab.population.families._text import Logits, TextPolicy, accuracy, warmed_up
from firstbreak_lab.population.families._trl_offline import TextPairs
from firstbreak_lab.population.faults import by_name, fault
from firstbreak_lab.trl.trainer import character_tokenizer

NAME = "trl-dpo"
FAULTS = by_name(
    (
        *_trl_offline.FAULTS,
        fault("eos-not-in-loss", link=Link.ROLLOUT, cause="end-not-learned", accepted={
            Link.ADVANTAGE: "the mask of the loss leaves it out", Link.POLICY_UPDATE: "the mask is a part of the loss"}),
        fault("padding-in-loss"),
        fault("kl-penalty-too-strong", (3, 100), "times beta"),
        fault("beta-too-small", (1e-4, 1e-2), "times beta"),
        fault("chosen-left-out", (0.7, 2), "share of the push on the chosen completion"),
        fault("reference-follows"),
    )
)  # fmt: skip
CANNOT = {Link.EXPLORATION: _trl_offline.FIXED, Link.FRESHNESS: _trl_offline.FIXED}


class BrokenDpo(_trl_offline.BrokenPairs, DPOTrainer):
    """DPOTrainer with a mechanism that may be broken."""

    def cut(self, inputs: dict[str, Any]) -> dict[str, Any]:
        if self.broken("eos-not-in-loss"):
            inputs = {**inputs, "completion_mask": inputs["completion_mask"] * (inputs["input_ids"] != EOS)}
        if self.broken("padding-in-loss"):
            after = (
                (torch.arange(inputs["input_ids"].shape[1]) >= self.prompt_length).expand_as(inputs["input_ids"]).long()
            )
            inputs = {**inputs, "completion_mask": after, "attention_mask": torch.ones_like(after)}
        return super().cut(inputs)

    def _compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool) -> Tensor:
        broken = self.broken
        self.beta = self.args.beta * broken("kl-penalty-too-strong", 1.0) * broken("beta-too-small", 1.0)
        if self.model.training and broken("reference-follows"):
            self.ref_model.load_state_dict(self.model.state_dict())

        def called(**given: Any) -> Any:
            outputs = model(**given)
            if share := broken("chosen-left-out"):
                chosen, rejected = outputs.log_probs.chunk(2)
                outputs.log_probs = torch.cat([share * chosen.detach() + (1 - share) * chosen, rejected])
            return outputs

        loss: Tensor = super()._compute_loss(called, inputs, return_outputs)
        return loss


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a run that a user could have started."""
    return {
        **_trl_offline.draw(rng, rows),
        "learning_rate": float(10 ** rng.uniform(-3.5, -2.7)),
        "beta": float(rng.choice((0.1, 0.1, 0.3, 0.5))),
        "loss_type": str(rng.choice(("sigmoid", "sigmoid", "sigmoid", "ipo"))),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with DPOTrainer. The true score is the probability of a right answer."""

    def build(policy: TextPolicy, scratch: Path, data: Mapping[str, Any]) -> BrokenDpo:
        shared = _trl_offline.pair_arguments(settings, seed, broken, str(scratch))
        return BrokenDpo(
            model=_trl.saved(policy, settings, scratch / "policy"),
            args=DPOConfig(**shared, beta=settings["beta"], loss_type=[settings["loss_type"]]),
            processing_class=character_tokenizer(),
            **data,
        )

    def score(trainer: BrokenDpo, held: Sequence[TaskProblem], _: TextPairs) -> float:
        return accuracy(trainer.model.eval().logits, held)

    def claim(trainer: BrokenDpo, shown: TextPairs) -> float:
        gained = margins(trainer.model.eval().logits, shown) - margins(warmed_up(settings, seed), shown)
        return float((gained > 0).float().mean())

    return _trl_offline.train(build, score, claim, "eval_rewards/accuracies", settings, seed, broken, out)


def margins(logits: Logits, pairs: TextPairs) -> Tensor:
    """How much more probable the better completion is than the worse one, in log-probability."""
    tokens, seen, completed = pairs.tokens()
    with torch.no_grad():
        picked = logits(tokens, seen)[:, :-1].log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0]
    better, worse = (picked * completed[:, 1:]).sum(1).chunk(2)
    return better - worse
