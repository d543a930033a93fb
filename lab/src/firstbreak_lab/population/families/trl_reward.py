"""TRL's RewardTrainer: a model that gives a right answer more reward than a wrong one of the first policy."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput
from trl import RewardConfig, RewardTrainer

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.language.tasks import TaskProblem
from firstbreak_lab.population.families import _trl, _trl_offline
from firstbreak_lab.population.families._text import TextPolicy
from firstbreak_lab.population.families._trl_offline import TextPairs
from firstbreak_lab.population.faults import by_name, fault
from firstbreak_lab.trl.trainer import character_tokenizer

NAME = "trl-reward"
FAULTS = by_name(
    (
        *_trl_offline.FAULTS,
        fault("reward-read-at-padding", link=Link.REWARD, cause="rewards-not-computed", accepted={
            Link.ROLLOUT: "a completion is padded on the wrong side"}),
        fault("body-frozen", link=Link.POLICY_UPDATE, cause="optimiser-not-connected"),
    )
)  # fmt: skip
CANNOT = {
    Link.ADVANTAGE: "a reward model has no returns, no baseline and no critic",
    Link.EXPLORATION: _trl_offline.FIXED,
    Link.FRESHNESS: _trl_offline.FIXED,
}


class TextForReward(PreTrainedModel):
    """The body of a policy with one number, which is read at the last token that is no padding."""

    config_class = _trl.TextConfig
    base_model_prefix = "backbone"

    def __init__(self, config: _trl.TextConfig, policy: TextPolicy, broken: BrokenMechanism) -> None:
        super().__init__(config)
        self.backbone = _trl.OutputBackbone(config.width, config.layers)
        self.score = nn.Linear(config.width, 1, bias=False)
        self.post_init()
        self.backbone.load_state_dict(policy.backbone.state_dict())
        self.broken = broken

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> Any:
        states = self.backbone(input_ids, attention_mask).last_hidden_state
        ends = attention_mask.sum(1) - 1
        if self.training and self.broken("reward-read-at-padding"):
            ends = torch.full_like(ends, input_ids.shape[1] - 1)
        return SequenceClassifierOutput(logits=self.score(states[torch.arange(len(ends)), ends]))


class BrokenReward(_trl_offline.BrokenPairs, RewardTrainer):
    """RewardTrainer with a mechanism that may be broken."""

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        loss: Tensor = super().training_step(*args, **kwargs)
        if self.broken("body-frozen"):
            self.model.backbone.zero_grad(set_to_none=True)
        return loss


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a run that a user could have started."""
    return {
        **_trl_offline.draw(rng, rows),
        "learning_rate": float(10 ** rng.uniform(-3.3, -2.5)),
        "center_rewards_coefficient": float(rng.choice((0.0, 0.01))),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with RewardTrainer. The true score is the share of new pairs that the model orders right."""

    def build(policy: TextPolicy, scratch: Path, data: Mapping[str, Any]) -> BrokenReward:
        torch.manual_seed(seed)
        config = _trl.TextConfig(settings["width"], settings["layers"], num_labels=1)
        shared = _trl_offline.pair_arguments(settings, seed, broken, str(scratch))
        return BrokenReward(
            model=TextForReward(config, policy, broken),
            args=RewardConfig(**shared, center_rewards_coefficient=settings["center_rewards_coefficient"] or None),
            processing_class=character_tokenizer(),
            **data,
        )

    def score(trainer: BrokenReward, _: Sequence[TaskProblem], measured: TextPairs) -> float:
        return ordered(trainer.model, measured)

    return _trl_offline.train(
        build, score, lambda trainer, shown: ordered(trainer.model, shown), "eval_accuracy", settings, seed, broken, out
    )


@torch.no_grad()
def ordered(model: TextForReward, pairs: TextPairs) -> float:
    """The share of the pairs whose better completion has more reward."""
    tokens, seen, _ = pairs.tokens()
    better, worse = model.eval()(tokens, seen).logits[:, 0].chunk(2)
    return float((better > worse).float().mean())
