"""firstbreak check memory --model MODEL --algo ALGORITHM"""

from typing import Any

import click

from firstbreak.cli import _options
from firstbreak.cli.check import reported

COUNT = click.IntRange(1)


@click.command("memory")
@click.option("--model", required=True, help="config.json, folder, name on the Hugging Face hub; or mlp, cnn.")
@click.option("--algo", required=True, help="sft, dpo, grpo, ppo, ..., sac, td3, dqn, ...")
@_options.count("--gpus", 1, help="Number of GPUs for training.")
@click.option("--gpu-memory", type=float, default=80.0, show_default=True, help="GiB of one GPU.")
@_options.count("--prompt", 512, help="Tokens of a prompt.")
@_options.count("--completion", 1024, help="Largest number of tokens of a completion.")
@_options.count("--micro-batch", 1, help="Sequences (pairs) in one pass on a GPU.")
@_options.count("--rollouts", 8, help="Completions generated at a time on a GPU.")
@click.option("--accumulation/--no-accumulation", default=True, help="Accumulate gradients over micro-batches.")
@click.option("--precision", default="bf16", show_default=True, help="fp32, bf16, mixed (autocast over float32).")
@click.option(
    "--optimizer", default="adamw", show_default=True, help="adamw, adamw_foreach, adamw_8bit, sgd, sgd_momentum."
)
@click.option("--shard", default="none", show_default=True, help="none, zero1, zero2, zero3, fsdp.")
@click.option("--lora", type=click.IntRange(0), default=0, help="Rank of adapters on every linear map.")
@click.option("--four-bit", is_flag=True, help="Frozen weights in 4 bits (QLoRA).")
@click.option(
    "--checkpointing/--no-checkpointing",
    default=True,
    help="Recompute activations in the backward pass (gradient checkpointing).",
)
@click.option("--fused-attention/--plain-attention", default=True, help="sdpa, flash; or eager.")
@click.option("--logits", default="full", show_default=True, help="full, rows (older TRL), fused (TRL 1, Liger).")
@click.option("--temperature", type=float, default=1.0, help="Of the sampling; other values than 1 copy the logits.")
@click.option("--reference/--no-reference", default=True, help="A frozen copy for the KL penalty.")
@click.option("--critic", help="The critic model for ppo, if it differs from the actor.")
@click.option("--reward-model", help="The reward model; without one, rewards come from code.")
@click.option("--engine", default="trainer", show_default=True, help="Generation engine: trainer, colocated, separate.")
@click.option("--engine-gpus", type=COUNT, default=1, help="GPUs of one copy of the engine (tensor parallel).")
@click.option("--engine-share", type=click.FloatRange(0, 1), help="Reserved share of a GPU (gpu_memory_utilization).")
@click.option("--offload", multiple=True, help="Offload to the host: optimizer, reference, engine (asleep), trainer.")
@click.option("--host-memory", type=float, help="GiB.  [default: the memory of this machine]")
@click.option("--observation", default="", help="Shape of an observation: 17 for mlp, 4x84x84 for cnn.")
@click.option("--actions", type=int, default=0, help="Dimensions of an action, or the number of discrete actions.")
@click.option("--discrete", is_flag=True, help="Actions are discrete.")
@click.option("--layers", default="", help="Hidden widths, e.g. 256,256.  [default: those of the algorithm]")
@click.option("--buffer", type=COUNT, default=1_000_000, help="Transitions of the replay buffer.")
@click.option("--steps", type=COUNT, default=2048, help="Steps of an environment in one rollout.")
@click.option("--envs", type=COUNT, default=1, help="Environments side by side.")
@click.option("--batch", type=COUNT, default=256, help="Transitions of one update.")
@reported("memory", waiting="reading the shapes of {model}")  # the hub may take a minute to answer
def command(**options: Any) -> dict[str, Any]:
    """Estimate the GPU memory of each phase and role: does it fit, and what to change first.

    Nothing is downloaded or allocated. The last eight options are for mlp and cnn.
    """
    return options
