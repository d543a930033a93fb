"""What can be read, and how fast."""

from typing import Any

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result
from firstbreak import readers


def page() -> str:
    """docs/readers.md"""
    figures = result("readers")
    formats = [[f"`{name}`", getattr(m, "DESCRIPTION", "")] for name, m in sorted(readers.readers().items())]
    return "\n".join(
        [
            "# What is read, and how fast",
            "",
            table(["format", "written by"], formats),
            "",
            "A database or repository that holds several runs is read one run at a time: `mlflow.db#name`, `.aim#name`. An Aim",
            "repository is copied before Aim opens it, so the writer of a live run is not disturbed.",
            "",
            "## Written by the real thing",
            "",
            "The tests run these trainers and loggers, and read what they wrote; the writers of wandb, trackio, Aim and",
            "TensorBoard are also killed in the middle (`kill -9`): TRL on the Hugging Face Trainer, Stable-Baselines3, skrl,",
            "RLlib with Tune, wandb (offline), trackio, MLflow (database and file store), SwanLab, Neptune (offline), ClearML",
            "(offline), DVCLive, Aim, tensorboard, tensorboardX, torch's SummaryWriter, and the CSVLoggers of TorchRL and Acme.",
            "",
            "Not run, because of what they need; their names come from their sources, their files from published runs:",
            "",
            "- Tianshou: holds pandas below 3 and brings numba with LLVM.",
            "- Dopamine: TensorFlow, JAX and Keras, over 1 GB.",
            "- Sample Factory: holds NumPy below 2 and gymnasium below 1.",
            "- PufferLib: fetches and compiles its environments while it is installed.",
            "- rl_games: holds psutil below 6; its files are TensorBoard's.",
            "- CleanRL, Spinning Up: scripts to copy; they write with TensorBoard's writer and into a tab-separated file.",
            "- verl, AReaL, OpenRLHF, NeMo-RL, SkyRL, slime, ROLL, prime-rl, open-instruct: engines that need GPUs.",
            "- Tinker: a service.",
            "",
            *_fuzzed(result("fuzz")),
            "## Speed",
            "",
            "Seconds, each in a process of its own, one file for all, checksums verified where the format has them.",
            "",
            measured(figures),
            "",
            *(line for name in figures if isinstance(figures[name], dict) for line in _speed(name, figures[name])),
        ]
    )


def _fuzzed(figures: dict[str, Any]) -> list[str]:
    """What mutated files did to the readers."""
    rows = [
        [f"`{name}`", tally["executions"], tally["refused"], tally["crashes"]]
        for name, tally in figures["readers"].items()
    ]
    total = ["**all**", figures["executions"], sum(row[2] for row in rows), figures["crashes"]]
    return [
        "## Damaged and hostile files",
        "",
        "Mutants of whole files: bits flipped, parts cut, repeated and spliced, tokens put in that formats are made of. A",
        "crash is any exception but the one line that refuses a file, more than 2 seconds of the processor, or more than 1 GiB.",
        "",
        measured(figures),
        "",
        table(["reader", "mutants", "refused", "crashes"], [*rows, total]),
        "",
    ]


def _speed(name: str, part: dict[str, Any]) -> list[str]:
    seconds = part.get("all_s") or {key.removesuffix("_s"): value for key, value in part.items() if key.endswith("_s")}
    if not seconds or name == "versions":
        return []
    rows = [[who, "-" if s is None else f"{s:.3f}"] for who, s in seconds.items()]
    return [f"### {name}", "", table(["reader", "seconds"], rows), ""]
