"""The files of every bundle, for all frameworks: metrics, options, samples, the diagnosis, and the version of the code."""

import io
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from firstbreak.live.guard.bundle import FileContent
from firstbreak.masking import Mask
from firstbreak.model import Diagnosis, Sample
from firstbreak.values import dataclass

GIT_SECONDS = 5.0  #: time limit for git
RELEVANT = {
    "firstbreak", "numpy", "torch", "transformers", "trl", "accelerate", "stable-baselines3", "gymnasium", "ray", "vllm",
    "sglang", "pytorch-lightning", "lightning", "verl", "areal", "openrlhf", "deepspeed", "flash-attn", "datasets",
}  # fmt: skip


@dataclass(frozen=True)
class Moment:
    """One update at which the run may have broken."""

    step: float
    points: int  #: steps observed until then
    about: Mapping[str, Any]  #: the file broke.json
    batch: bytes | None  #: its data, where an adapter has them


def rendered(content: FileContent, most: int) -> bytes | None:
    """A file's content as it is now. None where it has more than `most` bytes."""
    if not isinstance(content, bytes):
        buffer = io.BytesIO()
        content(buffer)
        content = buffer.getvalue()
    return content if len(content) <= most else None


def files(
    recent: Iterable[tuple[float, Mapping[str, float]]],
    config: Mapping[str, Any],
    samples: Iterable[Sample],
    diagnosis: Diagnosis | None,
    readme: str,
    broke: Moment | None = None,
) -> dict[str, FileContent]:
    """File name -> content, from what is in memory now. Slow parts are functions that run when the file is written."""
    mask = Mask(os.environ)
    kept: dict[str, FileContent] = {
        "README.md": readme.encode(),
        "metrics.jsonl": _lines({"step": step, **numbers} for step, numbers in recent),
        "config.json": _json(mask.tree(dict(config))),
        "origin.json": lambda file: file.write(_json(origin())),
    }
    if broke is not None:
        kept["broke.json"] = _json(mask.tree(broke.about))
        kept |= {"broke-batch.pt": broke.batch} if broke.batch is not None else {}
    if rows := [sample(one) for one in samples]:
        kept["samples.jsonl"] = _lines(mask.tree(rows))
    if diagnosis is not None:
        kept |= {"diagnosis.json": lambda file: file.write(_report("json", diagnosis))}
        kept |= {"diagnosis.md": lambda file: file.write(_report("markdown", diagnosis))}
    return kept


@cache
def origin() -> dict[str, Any]:
    """The code that was running: command, Python version, packages, and the commit of the working directory."""
    installed = {d.metadata["Name"]: d.version for d in distributions()}
    return {
        "command": list(Mask(os.environ).command(sys.argv)),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "packages": {name: version for name, version in sorted(installed.items()) if name in RELEVANT},
        "commit": _git("rev-parse", "HEAD"),
        "changed": _git("status", "--porcelain", "--untracked-files=no").splitlines(),
        "folder": str(Path.cwd()),
    }


def seeds(config: Mapping[str, Any]) -> dict[str, Any]:
    """The random seeds: options with "seed" in their name, the seed of torch, and PYTHONHASHSEED."""
    named = {name: value for name, value in config.items() if "seed" in str(name).lower()}
    torch = sys.modules.get("torch")
    drawn = {} if torch is None else {"torch.initial_seed": torch.initial_seed()}
    return {**named, **drawn, "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED")}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def readme(reason: str, adapter: str, command: str, rollback: str | None) -> str:
    """The text of README.md in the bundle."""
    back = f"\nContinue from the checkpoint `{rollback}`.\n" if rollback else ""
    again = f"\nTo run the update of this bundle again:\n\n    {command}\n" if adapter else ""
    return f"""# Training was stopped: {reason}
{back}{again}
- `bundle.json`: step, reason, seeds, the metrics of this update, checksums, and the files that could not be saved
- `diagnosis.md`, `diagnosis.json`: the findings of the detectors, if a scheduled check has run
- `metrics.jsonl`: the last steps; `samples.jsonl`: the last completions or episodes; `config.json`: the options
- `origin.json`: command, versions, commit
- `broke.json`, `broke-batch.pt`: the update at which it broke, as far as the guard noticed: metrics, samples, batch
- `state.pt`: weights, optimizer and random numbers before this update; `batch.pt`: the data of this update
"""


def sample(one: Sample) -> dict[str, Any]:
    """The fields of a sample that it has."""
    fields = {name: getattr(one, name) for name in Sample.__dataclass_fields__}
    return {name: dict(v) if isinstance(v, Mapping) else v for name, v in fields.items() if v not in (None, "", {})}


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, default=str).encode()


def _report(kind: str, diagnosis: Diagnosis) -> bytes:
    text: str = import_module(f"firstbreak.reports.{kind}").render(diagnosis)
    return text.encode()
