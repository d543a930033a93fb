"""What the families of TRL share: the policy as a model of transformers, the run of a trainer, its loggers, its faults."""

import gc
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, ClassVar

# Must be set before the import: the libraries read it when they are imported.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GenerationMixin,
    PreTrainedConfig,
    PreTrainedModel,
    PrinterCallback,
    TrainerCallback,
)
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput
from transformers.utils import logging as transformers_logging

from firstbreak_lab.drawn import BrokenMechanism
from firstbreak_lab.population.families._text import (
    TextBackbone,
    TextEngine,
    TextPolicy,
    Wasted,
    lent,
    rounded,
    weights_of,
)
from firstbreak_lab.trl.trainer import write_arguments

# A Trainer collects garbage when it begins. Going through all that was imported here would take longer than the run.
gc.freeze()

LOGGERS = {"state": 0.3, "console": 0.2, "bar": 0.1, "tensorboard": 0.2, "csv": 0.1, "jsonl": 0.1}


# Models -----------------------------------------------------------------------------------------------------------------


class TextConfig(PreTrainedConfig):
    """Sizes of a text model."""

    model_type = "firstbreak_text"
    auto_map: ClassVar[dict[str, str]] = {}  #: TRL asks for it where it loads a reference

    def __init__(self, width: int = 32, layers: int = 1, **rest: Any) -> None:
        self.width, self.layers = width, layers
        super().__init__(**{"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1, "use_cache": False} | rest)


class OutputBackbone(TextBackbone):
    """A backbone that answers as transformers' models do."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> Any:
        return BaseModelOutput(last_hidden_state=super().forward(input_ids, attention_mask))


class TextForCausalLM(PreTrainedModel, GenerationMixin):
    """The policy as a model of transformers. It samples with an engine of its own, which costs a tenth of `generate`."""

    config_class = TextConfig
    base_model_prefix = "backbone"
    engine: TextEngine

    def __init__(self, config: TextConfig) -> None:
        super().__init__(config)
        self.backbone = OutputBackbone(config.width, config.layers)
        self.head = nn.Linear(config.width, TextPolicy(2, 0).head.out_features, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.backbone.tokens

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> Any:
        hidden = self.backbone(input_ids, attention_mask).last_hidden_state
        return CausalLMOutput(logits=self.head(hidden))

    def logits(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """As the policy in plain PyTorch gives them."""
        found: Tensor = self(input_ids, attention_mask).logits
        return found

    def generate(self, input_ids: Tensor, attention_mask: Tensor, generation_config: Any, **_: Any) -> Tensor:
        """Prompts with completions, sampled by the engine."""
        engine, limit, temperature = self.engine, generation_config.max_new_tokens, generation_config.temperature
        if not self.training:
            healthy = TextEngine(BrokenMechanism())
            temperature = engine.broken("protocol-changed", temperature)
            completions = healthy.sample(self.logits, input_ids, attention_mask, limit, temperature)
        else:
            with lent(self, engine.delivered(self)):
                completions = engine.sample(self.logits, input_ids, attention_mask, limit, temperature)
        return torch.cat([input_ids, completions], 1)


AutoConfig.register(TextConfig.model_type, TextConfig)
AutoModelForCausalLM.register(TextConfig, TextForCausalLM)


def saved(policy: TextPolicy, settings: Mapping[str, Any], folder: Path) -> TextForCausalLM:
    """The policy as a model of transformers. It is saved, because trainers load their reference from its folder."""
    model = TextForCausalLM(TextConfig(settings["width"], settings["layers"]))
    model.load_state_dict(policy.state_dict())
    model.save_pretrained(folder)
    model.config._name_or_path = str(folder)
    return model


# Faults of every trainer ------------------------------------------------------------------------------------------------


class BrokenTrainer:
    """Stands before a trainer of TRL among the bases: what a fault does to the optimiser and to the evaluation."""

    broken: BrokenMechanism
    wasted: Wasted

    def training_step(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        loss: Tensor = super().training_step(*args, **kwargs)  # type: ignore[misc]
        if scale := self.broken("gradients-not-finite"):
            for weights in self.model.parameters():
                if weights.grad is not None:
                    weights.grad.copy_((weights.grad * scale).half().float() / scale)
        return loss

    def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
        held: Any = None
        if self.broken.fault == "stale-weights":
            held = self.broken.frozen("stale-weights", weights_of(self.model))
        with lent(self.model, held):
            return super().evaluate(*args, **kwargs)  # type: ignore[misc]


class BrokenOptimiser(TrainerCallback):
    """Tells the fault how far the run is, and breaks the steps of the optimiser."""

    def __init__(self, broken: BrokenMechanism) -> None:
        self.broken = broken
        self.before: dict[str, Tensor] = {}
        self.planned: list[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        broken = self.broken
        broken.progress = state.global_step / state.max_steps
        times = broken("learning-rate-too-high", 1.0) * broken("schedule-ended", 1.0)
        schedule = given["lr_scheduler"]
        schedule = getattr(schedule, "scheduler", schedule)
        self.planned = self.planned or list(schedule.base_lrs)
        # The scheduler writes the rate of the next step at the end of a step, so that of this step is written anew.
        schedule.base_lrs = [rate * times for rate in self.planned]
        rates = [rate * f(schedule.last_epoch) for rate, f in zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)]
        schedule._last_lr = rates
        for group, rate in zip(schedule.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        given["model"].backbone.dropout.p = broken("dropout-on")
        given["model"].backbone.temperature = broken("temperature-too-low", 1.0)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        model = given["model"]
        if self.broken("gradients-not-finite"):  # a scaler in half precision leaves out a step that overflows
            gradients = [weights.grad for weights in model.parameters() if weights.grad is not None]
            if not all(bool(gradient.isfinite().all()) for gradient in gradients):
                model.zero_grad(set_to_none=True)
        if self.broken("updates-do-nothing"):
            self.before = weights_of(model)

    @torch.no_grad()
    def on_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        for name, weights in given["model"].state_dict().items():
            if share := self.broken("updates-do-nothing"):
                weights.copy_(self.before[name] + share * (weights - self.before[name]))
            if bits := int(self.broken("updates-rounded-away")):
                weights.copy_(rounded(weights, bits))


# Runs -------------------------------------------------------------------------------------------------------------------


def draw_logging(rng: np.random.Generator, rows: int, longest: int) -> dict[str, Any]:
    """Length, cadence of the log and of the evaluation, and logger."""
    every = int(rng.choice((1, 1, 1, 2, 5)))
    steps = min(rows * every, longest)
    evaluates = bool(rng.random() < 0.5)
    return {
        "steps": steps,
        "log_every": every if steps >= 30 * every else 1,
        "evaluation": evaluates,
        "eval_every": max(2, steps // int(rng.integers(4, 11))),
        "eval_problems": int(rng.choice((16, 24, 32))),
        "logger": str(rng.choice(list(LOGGERS), p=list(LOGGERS.values()))),
        "config": bool(rng.random() < 0.5),
    }


def arguments(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, scratch: str) -> dict[str, Any]:
    """The arguments that every trainer of TRL has."""
    return {
        "output_dir": scratch,
        "max_steps": settings["steps"],
        "seed": seed % 2**31,
        "learning_rate": settings["learning_rate"] * broken("learning-rate-too-high-at-once", 1.0),
        "lr_scheduler_type": settings["schedule"],
        "warmup_steps": settings["warmup_steps"],
        "logging_steps": settings["log_every"],
        "eval_strategy": "steps" if settings["evaluation"] else "no",
        "eval_steps": settings["eval_every"] if settings["evaluation"] else None,
        "report_to": "tensorboard" if settings["logger"] == "tensorboard" else "none",
        "disable_tqdm": settings["logger"] != "bar",
        "save_strategy": "no",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
    }


@contextmanager
def logged(settings: Mapping[str, Any], out: Path) -> Iterator[None]:
    """What the trainer prints goes to a file, where its user has kept it, and to nowhere else."""
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from transformers and TRL, at every step
        printed = {"console": out / "stdout.log", "bar": out / "train.log"}.get(settings["logger"], Path(os.devnull))
        file = stack.enter_context(printed.open("w"))
        stack.enter_context(redirect_stdout(file))
        stack.enter_context(redirect_stderr(file))
        transformers_logging.set_verbosity_error()
        os.environ["TENSORBOARD_LOGGING_DIR"] = str(out / "runs")
        yield


def trained(trainer: Any, settings: Mapping[str, Any], out: Path) -> list[dict[str, Any]]:
    """Train, and write what the logger of the run writes. Returns the rows of the log."""
    trainer.add_callback(BrokenOptimiser(trainer.broken))
    if settings["logger"] == "jsonl":
        trainer.add_callback(JsonLines(out / "log.jsonl"))
    if settings["logger"] not in ("console", "bar"):
        trainer.remove_callback(PrinterCallback)
    trainer.train()
    # The temperature of a fault is no part of the policy that comes out.
    trainer.model.backbone.temperature = 1.0
    rows: list[dict[str, Any]] = trainer.state.log_history
    if settings["logger"] == "state":
        trainer.state.save_to_json(str(out / "trainer_state.json"))
    if settings["logger"] == "csv":
        import pandas

        pandas.DataFrame(rows).to_csv(out / "log_history.csv", index=False)
    if settings["config"]:
        write_arguments(trainer.args, out / "training_args.json")
    return rows


class JsonLines(TrainerCallback):
    """Writes each row of the log as a line, as many users' callbacks do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        with self.path.open("a") as lines:
            lines.write(json.dumps({"step": state.global_step, **logs}) + "\n")


def last(rows: list[dict[str, Any]], name: str) -> float:
    """The last number of this name in a log; NaN without one."""
    found = [row[name] for row in rows if row.get(name) is not None]
    return float(found[-1]) if found else float("nan")
