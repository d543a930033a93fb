"""firstbreak check NAME: one command for each check.

The body of a command returns the options of the check. `@reported` adds the shared options, calls the check, writes its report
and sets the exit code.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli import Lazy, _options, _output

if TYPE_CHECKING:
    from firstbreak.preflight import Report

#: check -> one line for `--help`
CHECKS = {
    "env": "Check an environment: API, spaces, seeding, scales, and whether a simple rule beats random actions.",
    "reward": "Check a reward: distribution, density, direction, accepted tricks and rejected right answers.",
    "critic": "Check whether the value function can fit the returns of fixed rollouts, and whether episodes end correctly.",
    "data": "Check pairs, prompts and offline data: duplicates, overlap, length, templates, loss mask.",
    "eval": "Check whether an evaluation protocol is complete and locked, and how it differs from the rollouts.",
    "memory": "Estimate the GPU memory of each phase and role: does it fit, and what to change first.",
    "context": "Check whether the context of a run is recorded, and whether the code is still the same.",
    "plan": "Run all checks that `firstbreak.toml` or `pyproject.toml` lists.",
}
COUNT = click.IntRange(1)
FAILS = {"stop": frozenset({"stop"}), "watch": frozenset({"stop", "watch"}), "never": frozenset[str]()}


@click.group(
    "check",
    cls=Lazy,
    sections={"Commands": CHECKS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def command() -> None:
    """Find faults before a run, without GPU hours.

    Exit code 0: no problem was found; 1: do not train yet (see --fail-on); 2: the call is wrong.
    """


def reported(check: str, waiting: str = "") -> Callable[[Callable[..., dict[str, Any]]], Callable[..., None]]:
    """A decorator for a command that returns the options of the check in preflight: adds the shared options, and writes the
    report. Use it below `@command.command`. `waiting`: what takes long, with the options in braces."""

    def of(body: Callable[..., dict[str, Any]]) -> Callable[..., None]:
        @_output.formats("terminal", "json", "html")
        @_output.to_file
        @_options.fail_on(FAILS, help="Exit code 1 on critical findings, on warnings as well, or never.")
        @functools.wraps(body)
        def written(*, format_: str, output: Path | None, fail_on: str, **options: Any) -> None:
            given = body(**options)
            with _output.waiting(waiting.format(**given)) if waiting else nullcontext():
                report: Report = import_module(f"firstbreak.preflight.{check}").check(**given)
            write(report, format_, output)
            if report.action.value in FAILS[fail_on]:
                sys.exit(1)

        return written

    return of


def write(report: Report, format_: str, output: Path | None = None) -> None:
    """Write the report to stdout or into a file."""
    from firstbreak.reports import json, preflight, preflight_html

    if format_ == "html":
        _output.write(preflight_html.render(report), output)
    elif format_ == "json":
        _output.write(json.dump(preflight.payload(report)), output)
    else:
        _output.put([preflight.renderable(report)], output)


@command.command("env")
@click.argument("env", metavar="TARGET")
@click.option(
    "--expert",
    metavar="MODULE:FUNCTION",
    help="(observation) -> action; without an expert, the check searches for a simple rule.",
)
@click.option(
    "--policy",
    metavar="MODULE:FUNCTION",
    help="(observation) -> action of the policy to be trained, or a model with predict: are its actions in the space?",
)
@_options.count("--episodes", 100, help="Episodes with each policy.", least=10)
@_options.count("--steps", 20_000, help="Largest number of steps with each policy.", least=100)
@click.option("--agent", metavar="NAME", help="The agent of a PettingZoo environment.")
@reported("env")
def env(**options: Any) -> dict[str, Any]:
    """Check an environment before training.

    TARGET is a Gymnasium id, or module:factory (file.py:factory) of a Gymnasium, vectorised Gymnasium,
    Stable-Baselines3 VecEnv, PettingZoo or dm_env environment. Its code runs in this process.
    """
    return options


@command.command("reward")
@click.argument("function")
@click.argument("samples", required=False)
@click.option("--pairs", metavar="FILE", help="Labelled preference pairs, for a reward model.")
@_options.count("--group-size", 8, help="Completions for each prompt in the run.", least=2)
@click.option(
    "--column", "columns", multiple=True, metavar="ROLE=NAME", help="Role of a column: prompt, completion, human, ..."
)
@reported("reward")
def reward(columns: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Check a reward function or reward model before training.

    FUNCTION is module:function (file.py:function) with TRL's signature, verl's, or (prompt, completion). SAMPLES is a
    trainer's dump of completions, JSON lines or CSV. The function runs in this process.
    """
    return options | {"column": dict(_role(column) for column in columns)}


def _role(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not of the form ROLE=NAME", param_hint="--column")
    return role, name


@command.command("critic")
@click.argument("rollouts")
@click.option("--critic", metavar="MODULE:FACTORY", help="A torch module: (observations) -> values.")
@click.option("--gamma", type=click.FloatRange(0, 1), help="The discount, if the targets of the trainer are not given.")
@_options.count("--steps", 4000, help="Steps to collect from an off-policy model.", least=200)
@reported("critic")
def critic(**options: Any) -> dict[str, Any]:
    """Train the value function alone on fixed rollouts, and check the targets where episodes end.

    ROLLOUTS is an .npz file with observations, rewards, terminated (and truncated, values, returns), each (steps, envs,
    ...), or module:factory of a Stable-Baselines3 model with an environment, which runs in this process.
    """
    return options


@command.command("data")
@click.argument("data", metavar="PATH")
@click.option("--test", metavar="PATH", help="Prompts that must not be in the training data.")
@click.option("--tokenizer", metavar="PATH", help="Folder, tokenizer.json, or name on the Hugging Face hub.")
@click.option("--max-prompt", type=click.IntRange(1), help="The prompt length limit of the trainer, in tokens.")
@click.option("--trainer", help="sft, dpo or reward: TRL makes a batch, and the check shows its loss mask.")
@click.option("--set", "settings", metavar="OPTION=VALUE", multiple=True, help="An option of this trainer's config.")
@click.option("--collate", metavar="MODULE:FUNCTION", help="(rows, tokenizer) -> batch, for any other trainer.")
@click.option("--judge", metavar="MODULE:FUNCTION", help="(prompt, completion) -> number, higher for a better answer.")
@reported("data")
def data(settings: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Check pairs, prompts, texts or recorded transitions before training.

    PATH is JSON lines, JSON, CSV, Parquet, a folder that Hugging Face datasets saved, or .npz or HDF5 of transitions.
    """
    from firstbreak.dialects.hyperparameters import plain
    from firstbreak.readers import Unreadable

    pairs = [setting.partition("=") for setting in settings]
    if wrong := next((name for name, equals, _ in pairs if not equals), None):
        raise Unreadable("--set", f"{wrong!r} has no value", "write it like --set max_length=512")
    return options | {"settings": {name: plain(value) for name, _, value in pairs}}


@command.command("eval")
@click.argument("protocol")
@click.option("--rollout", metavar="PATH", help="A run or training configuration to compare with.")
@click.option("--expect", metavar="HASH", help="The hash of the locked protocol, or its beginning.")
@reported("protocol")
def eval_(**options: Any) -> dict[str, Any]:
    """Check that the protocol of an evaluation is complete and locked, before the first evaluation.

    PROTOCOL is a YAML or JSON file of fields (`firstbreak eval fields`), what `firstbreak eval lock` wrote, or the
    evaluations.npz of Stable-Baselines3 (or its model.zip, beside that file).
    """
    return options


@command.command("memory")
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
def memory(**options: Any) -> dict[str, Any]:
    """Estimate the GPU memory of each phase and role: does it fit, and what to change first.

    Nothing is downloaded or allocated. The last eight options are for mlp and cnn.
    """
    return options


@command.command("context")
@click.argument("run", metavar="FOLDER")
@click.option("--record", is_flag=True, help="Write the record first; in a script: firstbreak.context.record(...).")
@click.option("--config", metavar="PATH", help="The options to record.")
@click.option("--code", metavar="FOLDER", help="The repository of the code.  [default: the current folder]")
@reported("context")
def context(**options: Any) -> dict[str, Any]:
    """Check that the context of a run is recorded, and that the code here is still the same.

    The record is firstbreak-context.json in the run's folder; secrets are masked in it.
    """
    return options


class WithKeys(click.Command):
    """Its help ends with the keys of every section, which are asked of the checks themselves."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from firstbreak.preflight import plan as plans

        rows = [
            (f"[check.{name}]", ", ".join(f"{key} (needed)" if needed else key for key, needed in of_check))
            for name, of_check in plans.keys().items()
        ]
        with formatter.section("Keys"):
            formatter.write_dl(rows)


@command.command("plan", cls=WithKeys)
@click.argument("plan", metavar="[PATH]", default=".")
@click.option("--only", metavar="CHECK", multiple=True, help="Run this check only (may be given several times).")
@reported("plan")
def plan(**options: Any) -> dict[str, Any]:
    """Run every check that firstbreak.toml, or [tool.firstbreak.check] in pyproject.toml, asks for.

    PATH is the file or its folder. Each section is one check; its keys are listed below.
    """
    return options
