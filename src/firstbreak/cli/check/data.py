"""firstbreak check data PATH"""

from typing import Any

import click

from firstbreak.cli.check import reported


@click.command("data")
@click.argument("data", metavar="PATH")
@click.option("--test", metavar="PATH", help="Prompts that must not be in the training data.")
@click.option("--tokenizer", metavar="PATH", help="Folder, tokenizer.json, or name on the Hugging Face hub.")
@click.option("--max-prompt", type=click.IntRange(1), help="The prompt length limit of the trainer, in tokens.")
@click.option("--trainer", help="sft, dpo or reward: TRL makes a batch, and the check shows its loss mask.")
@click.option("--set", "settings", metavar="OPTION=VALUE", multiple=True, help="An option of this trainer's config.")
@click.option("--collate", metavar="MODULE:FUNCTION", help="(rows, tokenizer) -> batch, for any other trainer.")
@click.option("--judge", metavar="MODULE:FUNCTION", help="(prompt, completion) -> number, higher for a better answer.")
@reported("data")
def command(settings: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Check pairs, prompts, texts or recorded transitions before training.

    PATH is JSON lines, JSON, CSV, Parquet, a folder that Hugging Face datasets saved, or .npz or HDF5 of transitions.
    """
    from firstbreak.dialects.hyperparameters import plain
    from firstbreak.readers import Unreadable

    pairs = [setting.partition("=") for setting in settings]
    if wrong := next((name for name, equals, _ in pairs if not equals), None):
        raise Unreadable("--set", f"{wrong!r} has no value", "write it like --set max_length=512")
    return options | {"settings": {name: plain(value) for name, _, value in pairs}}
