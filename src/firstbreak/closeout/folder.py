"""The folder of a close-out: filled once, with a manifest of hashes by which anybody can check it later."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstbreak import __version__
from firstbreak.closeout import deliverables as make
from firstbreak.closeout.deliverables import Delivered, Material, Missing, NotNeeded, Outcome
from firstbreak.readers import Unreadable, why

SCHEMA = "firstbreak.closeout/1"
MANIFEST, SUMMARY = "manifest.json", "summary.md"

#: name -> what fills it; the first six are what every run should leave
DELIVERABLES: Mapping[str, Callable[[Material], Outcome]] = {
    "best checkpoint": make.best_checkpoint,
    "last checkpoint": make.last_checkpoint,
    "failed checkpoint": make.failed_checkpoint,
    "samples for the reward audit": make.audit_samples,
    "results of several seeds": make.multi_seed,
    "report of the private set": make.private_report,
    "experiment context": make.experiment_context,
    "diagnosis": make.the_diagnosis,
}


@dataclass(frozen=True)
class Problem:
    """What a check of a folder found."""

    path: str
    problem: str


def close_out(material: Material) -> dict[str, Outcome]:
    """Fill the folder and write its summary and manifest. Raises Unreadable where there is something else already."""
    folder = material.folder
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise Unreadable(folder, "is not empty and holds no close-out", "give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder)
    outcomes = {name: fill(material) for name, fill in DELIVERABLES.items()}
    material.write(SUMMARY, summary(material, outcomes))
    (folder / MANIFEST).write_text(json.dumps(_manifest(material, outcomes), indent=1) + "\n", encoding="utf-8")
    return outcomes


def _clear(folder: Path) -> None:
    """Take out what an earlier close-out has put there, and nothing else."""
    if (folder / MANIFEST).exists():
        for name in _manifest_of(folder)[0]:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise Unreadable(folder / MANIFEST, f"names a file outside the folder ({name})", "give a new folder")
            (folder / name).unlink(missing_ok=True)


def _manifest_of(folder: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Hashes by file, and what is said of each deliverable."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        files = {str(file["path"]): str(file["sha256"]) for file in manifest["files"]}
        deliverables = dict(manifest["deliverables"])
        if manifest["schema"] != SCHEMA:
            raise ValueError(f"schema {manifest['schema']}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(folder / MANIFEST, f"is no manifest ({why(error)})", "close the run out again") from None
    return files, deliverables


def check(folder: Path) -> tuple[list[Problem], dict[str, dict[str, Any]]]:
    """What does not agree with the manifest (files missing, changed or added), and what it says of each deliverable."""
    files, deliverables = _manifest_of(folder)
    there = {_name(folder, path): path for path in _files(folder)}
    problems = [Problem(name, "is missing") for name in files if name not in there]
    problems += [Problem(name, "was added") for name in there if name not in files]
    changed = (name for name, path in there.items() if name in files and sha256(path) != files[name])
    problems += [Problem(name, "was changed") for name in changed]
    return sorted(problems, key=lambda p: p.path), deliverables


def summary(material: Material, outcomes: Mapping[str, Outcome]) -> str:
    """The page that a colleague reads first."""
    run, verdict = material.run, material.diagnosis.verdict
    steps = f"steps {run.first_step:g} to {run.last_step:g}" if run.last_step is not None else "no steps"
    lines = [
        f"# Close-out of {Path(run.path).name}",
        "",
        f"{run.trainer or 'Unknown trainer'}, {run.algorithm or 'unknown algorithm'}, {steps}; {make.score_of(run)}.",
        "",
        f"**{verdict.summary}**",
        "",
        f"- upside of going on: {verdict.upside}",
        f"- risk of going on: {verdict.risk}",
        f"- first to do: {verdict.do_first}",
        "",
        "| deliverable | | |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {_status(outcome)} | {_cell(outcome)} |" for name, outcome in outcomes.items()]
    return "\n".join(lines)


def _status(outcome: Outcome) -> str:
    return {Delivered: "there", Missing: "missing", NotNeeded: "not needed"}[type(outcome)]


def _cell(outcome: Outcome) -> str:
    match outcome:
        case Delivered(said, _):
            text = said
        case Missing(why, how):
            text = f"{why}; {how}"
        case NotNeeded(why):
            text = why
    return text.replace("|", "\\|").replace("\n", " ")


def _manifest(material: Material, outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    folder = material.folder
    return {
        "schema": SCHEMA,
        "run": material.run.path,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "firstbreak": __version__,
        "ledger_head": material.head,
        "deliverables": {name: _described(folder, outcome) for name, outcome in outcomes.items()},
        "files": [
            {"path": _name(folder, path), "bytes": path.stat().st_size, "sha256": sha256(path)}
            for path in _files(folder)
        ],
    }


def _described(folder: Path, outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Delivered(said, files):
            return {"status": "there", "said": said, "files": [_name(folder, path) for path in files]}
        case Missing(why, how):
            return {"status": "missing", "why": why, "how": how}
        case NotNeeded(why):
            return {"status": "not needed", "why": why}


def _files(folder: Path) -> Iterator[Path]:
    """Every file but the manifest."""
    yield from sorted(p for p in folder.rglob("*") if p.is_file() and p != folder / MANIFEST)


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def sha256(path: Path) -> str:
    """Of a file of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def missing(outcomes: Mapping[str, Outcome]) -> Sequence[str]:
    """Names of what is not there."""
    return [name for name, outcome in outcomes.items() if isinstance(outcome, Missing)]
