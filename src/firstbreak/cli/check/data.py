"""firstbreak check data PATH"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli.check import reported

if TYPE_CHECKING:
    from firstbreak.preflight import Report


@click.command("data")
@click.argument("data", metavar="PATH")
@click.option("--test", metavar="PATH", help="Prompts that must not be in the training data.")
@click.option("--tokenizer", metavar="PATH", help="Folder, tokenizer.json, or name on the Hugging Face hub.")
@click.option("--max-prompt", type=click.IntRange(1), help="The prompt length limit of the trainer, in tokens.")
@click.option("--trainer", help="sft, dpo or reward: TRL makes a batch, and the check shows its loss mask.")
@click.option(
    "--set", "settings", metavar="OPTION=VALUE", multiple=True, help="An option of the config of this trainer."
)
@click.option("--collate", metavar="MODULE:FUNCTION", help="(rows, tokenizer) -> batch, for any other trainer.")
@click.option(
    "--judge", metavar="MODULE:FUNCTION", help="(prompt, completion) -> number, higher for the better answer."
)
@reported
def command(data: str, settings: tuple[str, ...], **options: Any) -> Report:
    """Check pairs, prompts, texts or recorded transitions before training.

    PATH is JSON lines, JSON, CSV, Parquet, a folder that Hugging Face datasets saved, or .npz or HDF5 of transitions.
    """
    from firstbreak.dialects.hyperparameters import plain
    from firstbreak.preflight import data as check
    from firstbreak.readers import Unreadable

    pairs = [setting.partition("=") for setting in settings]
    if wrong := next((name for name, equals, _ in pairs if not equals), None):
        raise Unreadable("--set", f"{wrong!r} has no value", "write it like --set max_length=512")
    return check.check(data, settings={name: plain(value) for name, _, value in pairs}, **options)
