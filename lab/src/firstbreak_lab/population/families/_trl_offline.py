"""What trl-dpo and trl-reward share: both learn from pairs of a right answer and a wrong one that the first policy gave."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor, nn

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.language.model import EOS, decode, encode
from firstbreak_lab.language.tasks import TaskProblem
from firstbreak_lab.population.families import _trl
from firstbreak_lab.population.families._text import (
    EVERYWHERE,
    HELD_OUT,
    TextEngine,
    TextPolicy,
    Wasted,
    draw_task,
    problems,
    warmed_up,
    without,
)
from firstbreak_lab.population.faults import fault

#: a data set of pairs has no prompt that could be too hard for a sampler, and no reward function
FAULTS = (
    *without(EVERYWHERE, "scoring-slow"),
    fault("preference-labels-swapped", (0.4, 1), "share of the pairs"),
    fault("contaminated"),
    fault("length-limit-too-short", (1, 2), "tokens of a completion that are kept", whole=True),
    fault("verdicts-noisy", (0.5, 1), "share of the pairs that the judge orders by chance"),
    fault("pays-for-length", (0.6, 1), "share of the pairs that the judge orders by their length"),
    fault("dropout-on", (0.1, 0.6), "share", link=Link.POLICY_UPDATE, accepted={
        Link.FRESHNESS: "the policy of the loss is not the one that is used",
        Link.NUMERICS: "its log-probabilities are noisy"}),
    fault("loader-slow", (0.01, 0.1), "seconds of each step", link=Link.SYSTEMS, cause="phases-out-of-balance",
          accepted={Link.ENVIRONMENT: "the data come late"}),
)  # fmt: skip
FIXED = "the pairs are fixed before the run, and no policy acts in it"


@dataclass(frozen=True)
class TextPairs:
    """Prompts with a better and a worse completion."""

    asked: list[TaskProblem]
    worse: list[str]

    def rows(self) -> Dataset:
        """As a data set of preferences."""
        columns = {
            "prompt": [p.prompt for p in self.asked],
            "chosen": [p.answer for p in self.asked],
            "rejected": self.worse,
        }
        return Dataset.from_dict(columns)

    def tokens(self) -> tuple[Tensor, Tensor, Tensor]:
        """Better before worse: tokens, attention mask and completion mask, each (2 * pairs, length)."""
        both = [p.prompt + p.answer for p in self.asked] + [
            p.prompt + w for p, w in zip(self.asked, self.worse, strict=True)
        ]
        ids = [torch.cat([encode([text])[0], torch.tensor([EOS])]) for text in both]
        seen = nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
        completed = seen.clone()
        completed[:, : len(self.asked[0].prompt)] = 0
        return nn.utils.rnn.pad_sequence(ids, batch_first=True), seen, completed


def pairs_of(policy: TextPolicy, asked: list[TaskProblem], seed: int) -> TextPairs:
    """A wrong completion of the policy for each problem; a right one is spoiled."""
    prompts = encode([each.prompt for each in asked])
    engine = TextEngine(BrokenMechanism())
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        limit = len(asked[0].answer) + 3
        said = decode(engine.sample(policy, prompts, torch.ones_like(prompts), limit, 1.3))
    return TextPairs(asked, [text if text != each.answer else text[1:] for each, text in zip(asked, said, strict=True)])


class BrokenPairs(_trl.BrokenTrainer):
    """Stands before DPOTrainer or RewardTrainer among the bases: what a fault does to a batch of pairs."""

    prompt_length: int

    def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = self.eval_dataset
        if self.broken("contaminated"):
            self.eval_dataset = self.train_dataset.select(range(len(own)))
        try:
            return super().evaluate(*args, **kwargs)
        finally:
            self.eval_dataset = own

    def _prepare_inputs(self: Any, inputs: dict[str, Tensor]) -> dict[str, Any]:
        inputs = super()._prepare_inputs(inputs)  # type: ignore[misc]
        broken, pairs = self.broken, len(inputs["input_ids"]) // 2
        rows = torch.arange(2 * pairs).view(2, pairs)
        if self.model.training:
            self.wasted.step()
            length = inputs["attention_mask"].sum(1).view(2, pairs)
            rows = few(rows, int(broken("prompts-narrow")))
            rows = turned(rows, broken.hits("preference-labels-swapped", pairs))
            if (noisy := broken.hits("verdicts-noisy", pairs)) is not None:
                rows = turned(rows, noisy & (broken.rng.random(pairs) < 0.5))
            if (by_length := broken.hits("pays-for-length", pairs)) is not None:
                rows = turned(rows, by_length & (length[1] > length[0]).numpy())
        else:
            rows = few(rows, int(broken("too-few-problems")))
            rows = turned(rows, broken.hits("evaluation-elsewhere", pairs))
        inputs = {
            name: tensor[rows.flatten()] if isinstance(tensor, Tensor) else tensor for name, tensor in inputs.items()
        }
        return self.cut(inputs) if self.model.training else inputs

    def cut(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Tokens that a wrong template or a wrong limit leaves out of the batch."""
        if kept := int(self.broken("length-limit-too-short")):
            inputs = {name: tensor[:, : self.prompt_length + kept] for name, tensor in inputs.items()}
        if missing := int(self.broken("template-wrong")):
            inputs = {name: tensor[:, missing:] for name, tensor in inputs.items()}
        return inputs


def few(rows: Tensor, pairs: int) -> Tensor:
    """The first pairs again and again; 0: all of them."""
    return rows[:, torch.arange(rows.shape[1]) % pairs] if pairs else rows


def turned(rows: Tensor, which: np.ndarray | None) -> Tensor:
    """Better and worse exchanged in these pairs."""
    return rows if which is None else torch.where(torch.from_numpy(which), rows.flip(0), rows)


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """The settings that both trainers have."""
    return {
        **draw_task(rng),
        **_trl.draw_logging(rng, rows, 90),
        "prompts": int(rng.choice((64, 128, 256))),
        "pairs": int(rng.choice((8, 16, 32))),
        "schedule": str(rng.choice(("linear", "linear", "constant", "cosine"))),
        "warmup_steps": int(rng.choice((0, 5, 10))),
    }


def pair_arguments(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, scratch: str) -> dict[str, Any]:
    """The arguments that both trainers have."""
    return {
        **_trl.arguments(settings, seed, broken, scratch),
        "per_device_train_batch_size": settings["pairs"],
        "per_device_eval_batch_size": settings["eval_problems"],
        "dataloader_drop_last": True,
        "max_length": None,
    }


def train(
    build: Callable[[TextPolicy, Path, Mapping[str, Any]], Any],
    score: Callable[[Any, Sequence[TaskProblem], TextPairs], float],
    claim: Callable[[Any, TextPairs], float],
    reported: str,
    settings: Mapping[str, Any],
    seed: int,
    broken: BrokenMechanism,
    out: Path,
) -> Trained:
    """Train what `build` makes of the first policy, a folder and data sets. `score` and `claim` look at a trainer."""
    torch.set_num_threads(1)
    policy = warmed_up(settings, seed)
    question, digits = settings["question"], settings["digits"]
    held = problems(question, digits, HELD_OUT, 0, held_out=True)
    measured = pairs_of(policy, held, seed + 1)
    shown = TextPairs(held[: settings["eval_problems"]], measured.worse[: settings["eval_problems"]])
    seen = pairs_of(policy, problems(question, digits, settings["prompts"], seed), seed)
    wasted = Wasted(broken)
    with tempfile.TemporaryDirectory() as scratch, _trl.logged(settings, out):
        data = {"train_dataset": seen.rows(), "eval_dataset": shown.rows() if settings["evaluation"] else None}
        trainer = build(policy, Path(scratch), data)
        trainer.broken, trainer.wasted, trainer.prompt_length = broken, wasted, len(held[0].prompt)
        start = score(trainer, held, measured)
        log = _trl.trained(trainer, settings, out)
        claimed = claim(trainer, shown) if settings["evaluation"] else float("nan")
        final = score(trainer, held, measured)
    return Trained(start, final, 1.0, _trl.last(log, reported), claimed, wasted.seconds(), settings["steps"])
