"""Scripts with nothing wrong: the settings that users of TRL choose, the odd ones first of all."""

from collections.abc import Callable
from typing import Any

from benchmarks.recorder.script import Script, accuracy, digits

HEALTHY: dict[str, Callable[[Script], None]] = {}


def healthy(change: Callable[[Script], None]) -> Callable[[Script], None]:
    """Add a script to the list, under the name of the function."""
    HEALTHY[change.__name__.replace("_", "-")] = change
    return change


def _configured(name: str, kind: str = "grpo", **config: Any) -> None:
    def change(script: Script) -> None:
        script.kind = kind
        script.config.update(config)

    HEALTHY[name] = change


_configured("grpo")
_configured("rloo", "rloo")
_configured("dpo", "dpo", learning_rate=1e-4)
_configured("reward-model", "reward", learning_rate=1e-4)
_configured("two-iterations", num_iterations=2)
_configured("four-minibatches", per_device_train_batch_size=16, steps_per_generation=4)
_configured("accumulated", per_device_train_batch_size=16, gradient_accumulation_steps=4)
_configured("no-reference", beta=0.0)
_configured("scaled-by-the-batch", scale_rewards="batch")
_configured("not-scaled", scale_rewards="none")
_configured("dr-grpo", loss_type="dr_grpo", scale_rewards="none", beta=0.0)
_configured("bnpo", loss_type="bnpo")
_configured("sequence-ratio", loss_type="grpo", importance_sampling_level="sequence", num_iterations=2)
_configured("truncated-masked", mask_truncated_completions=True, max_completion_length=8)
_configured("reference-moves", sync_ref_model=True, ref_model_sync_steps=5)
_configured("warm-up", warmup_steps=10, lr_scheduler_type="cosine")
_configured("cool", temperature=0.7)
_configured("nucleus", top_p=0.9)
_configured("clipped-hard", max_grad_norm=0.05)
_configured("rloo-normalised", "rloo", normalize_advantages=True)
_configured("rloo-clipped-reward", "rloo", reward_clip_range=(0.0, 0.5))
_configured("dpo-hinge", "dpo", loss_type="hinge", learning_rate=1e-4)
_configured("dpo-precomputed", "dpo", precompute_ref_log_probs=True, learning_rate=1e-4)
_configured("reward-model-centred", "reward", center_rewards_coefficient=0.01, learning_rate=1e-4)


@healthy
def two_rewards(script: Script) -> None:
    script.rewards = [accuracy, digits]
    script.config["reward_weights"] = [1.0, 0.2]


@healthy
def two_rewards_normalised_first(script: Script) -> None:
    script.rewards = [accuracy, digits]
    script.config["multi_objective_aggregation"] = "normalize_then_sum"


@healthy
def a_reward_for_some_rows(script: Script) -> None:
    """TRL's way to leave rows of other tasks to other functions: None."""

    def only_even(completions: list[str], answer: list[str], **_: Any) -> list[float | None]:
        return [None if int(a[-1]) % 2 else 0.1 * (c[-1:] == a[-1:]) for c, a in zip(completions, answer, strict=True)]

    script.rewards = [accuracy, only_even]


@healthy
def small_dropout(script: Script) -> None:
    """TRL can switch the dropout of a model off, and does so here."""

    def dropout(model: Any) -> Any:
        return _with_dropout(model, 0.1)

    script.model.append(dropout)
    script.config["disable_dropout"] = True


def _with_dropout(model: Any, p: float) -> Any:
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = p
    return model


@healthy
def adapter(script: Script) -> None:
    from peft import LoraConfig

    script.options["peft_config"] = LoraConfig(r=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)
    script.config["learning_rate"] = 5e-3


@healthy
def frozen_embedding(script: Script) -> None:
    """Embeddings frozen on purpose."""

    def freeze(model: Any) -> Any:
        model.transformer.wpe.requires_grad_(False)
        return model

    script.model.append(freeze)


@healthy
def own_optimizer(script: Script) -> None:
    import torch

    script.optimizer = lambda model: torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.95))


@healthy
def slow(script: Script) -> None:
    """A rate at which little is learned in so few steps."""
    script.config["learning_rate"] = 2e-5
