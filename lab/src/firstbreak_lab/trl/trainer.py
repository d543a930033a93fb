"""Train with `trl.GRPOTrainer` in seconds, without downloads from the Hub.

The model is a GPT-2 of about 10^5 parameters with one token per character. A supervised warm-up comes first, because a
policy that is never right gets no gradient from a group of equal rewards.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firstbreak_lab.language import tasks
from firstbreak_lab.score import FinalScores

RewardFunction = Callable[..., list[float]]


def accuracy(completions: Sequence[str], answer: Sequence[str], **_: Any) -> list[float]:
    """1 for filler followed by exactly the right answer, otherwise 0."""
    return [tasks.accuracy(tasks.TaskProblem("", a), c) for c, a in zip(completions, answer, strict=True)]


@dataclass(kw_only=True)
class TrlSettings:
    """The settings of one run. The defaults are healthy."""

    task: tasks.Task = field(default_factory=lambda: tasks.sort(4, max_filler=8))
    seed: int = 0
    steps: int = 160
    warm_up_steps: int = 150  #: of supervised training, before the recorded run
    eval_problems: int = 64
    rewards: list[RewardFunction] = field(default_factory=lambda: [accuracy])
    samples_every: int = 10  #: steps between two stored tables of completions
    samples_kept: int = 16  #: completions stored of each table: two groups
    grpo: dict[str, Any] = field(
        default_factory=lambda: {
            "learning_rate": 5e-4,
            "lr_scheduler_type": "constant",
            "beta": 0.02,
            "num_generations": 8,
            "per_device_train_batch_size": 128,
            "per_device_eval_batch_size": 128,
            "max_completion_length": 32,
            "logging_steps": 1,
            "eval_strategy": "steps",
            "eval_steps": 10,
            "eval_on_start": True,
        }
    )  #: options of `trl.GRPOConfig`
    patches: list[Callable[[Any], None]] = field(
        default_factory=list
    )  #: functions that change the GRPOTrainer before `train`


def grpo() -> TrlSettings:
    """GRPO learns to sort four digits: accuracy rises from 0.2 to about 0.75."""
    return TrlSettings()


def train(settings: TrlSettings, out: Path) -> FinalScores:
    """Train into the folder `out`.

    Writes what a user of TRL would have: the state of the trainer, its arguments, some completions.
    """
    # Must be set before the import: the libraries read these variables when they are imported.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback, set_seed
    from transformers.utils import logging as transformers_logging
    from trl import GRPOConfig, GRPOTrainer

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(1)
    set_seed(settings.seed)
    tokenizer = character_tokenizer()

    def dataset(problems: list[tasks.TaskProblem]) -> Dataset:
        return Dataset.from_dict({"prompt": [p.prompt for p in problems], "answer": [p.answer for p in problems]})

    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # from transformers and TRL, at every step
        # GRPOTrainer loads the reference model from the folder of the policy, so the policy must be saved.
        policy = Path(scratch) / "policy"
        warmed_up_model(tokenizer, settings).save_pretrained(policy)
        arguments = GRPOConfig(
            output_dir=scratch,
            max_steps=settings.steps,
            seed=settings.seed,
            report_to="none",
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
            gradient_checkpointing=False,
            log_completions=True,
            num_completions_to_print=0,
            **settings.grpo,
        )
        trainer = GRPOTrainer(
            model=str(policy),
            reward_funcs=list(settings.rewards),
            args=arguments,
            processing_class=tokenizer,
            train_dataset=dataset(settings.task.draw(random.Random(settings.seed), 4096)),
            eval_dataset=dataset(settings.task.held_out(settings.eval_problems)),
        )
        trainer.remove_callback(PrinterCallback)
        for patch in settings.patches:
            patch(trainer)
        trainer.train()
        out.mkdir(parents=True, exist_ok=True)
        trainer.state.save_to_json(str(out / "trainer_state.json"))
        write_arguments(arguments, out / "training_args.json")
        _write_completions(Path(scratch) / "completions", settings, out / "completions.jsonl")
        reported = [row["eval_rewards/accuracy/mean"] for row in trainer.state.log_history if "eval_reward" in row]
        return FinalScores(true_score(trainer.model, tokenizer, settings), reported[-1])


def true_score(model: Any, tokenizer: Any, settings: TrlSettings, n: int = 256) -> float:
    """Accuracy on held-out problems, sampled at temperature 1 with a large length limit. No fault can change this."""
    import torch

    problems = settings.task.held_out(n)
    prompts = tokenizer([problem.prompt for problem in problems], return_tensors="pt")
    torch.manual_seed(1)
    model.eval()
    generated = model.generate(**prompts, max_new_tokens=48, do_sample=True, temperature=1.0, top_p=1.0, top_k=0)
    completions = tokenizer.batch_decode(generated[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True)
    return sum(map(tasks.accuracy, problems, completions)) / n


def character_tokenizer() -> Any:
    """A tokenizer with one token per character of the alphabet, built in memory."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate(["<pad>", "<eos>", *tasks.ALPHABET])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", padding_side="left", model_max_length=64
    )


def warmed_up_model(tokenizer: Any, settings: TrlSettings) -> Any:
    """A tiny GPT-2 after a supervised warm-up, which solves some of the problems."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            # Dropout would make the log-probabilities of the update differ from those of the rollout.
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rng = random.Random(settings.seed)
    for _ in range(settings.warm_up_steps):
        problems = settings.task.draw(rng, 128)
        texts = [p.prompt + settings.task.demonstration(p, rng) + tokenizer.eos_token for p in problems]
        batch = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
        prompt_length = len(problems[0].prompt)  # all prompts of a task have the same length
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        labels[:, :prompt_length] = -100
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def write_arguments(arguments: Any, path: Path) -> None:
    """Write the trainer's arguments as JSON, without folders and tokens."""
    values: Mapping[str, Any] = {k: v for k, v in arguments.to_dict().items() if not k.endswith(("_dir", "_token"))}
    path.write_text(json.dumps(values, indent=1, sort_keys=True, default=str) + "\n")


def _write_completions(folder: Path, settings: TrlSettings, path: Path) -> None:
    """Write a part of TRL's completion tables as JSON lines, which need no parquet library to read."""
    import pandas

    with path.open("w") as lines:
        for table in sorted(folder.glob("completions_*.parquet")):
            rows = pandas.read_parquet(table)
            # Steps between two evaluations: at a step with an evaluation, TRL overwrites the training completions.
            if int(rows["step"].iloc[0]) % settings.samples_every == settings.samples_every // 2:
                lines.write(rows.head(settings.samples_kept).to_json(orient="records", lines=True))
