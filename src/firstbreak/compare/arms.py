"""Sort runs into arms. The runs of one arm differ only in their seed and their task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak import context
from firstbreak.diagnosis.inputs import Inputs
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.evals.canonical import canonical
from firstbreak.model import Run, Series

LATE = 0.1  #: share of the points of the score; their mean is the final score of a run
TASK = ("env_id", "dataset")
#: options that say where and how often something is logged, and do not change training
_BOOKKEEPING = frozenset({"log_interval", "eval_interval", "save_interval"})


@dataclass(frozen=True)
class Member:
    """One run of an arm."""

    run: Run
    context: context.Context | None

    @cached_property
    def score(self) -> Series | None:
        """The curve that shows whether training works."""
        curve = Inputs(self.run).score
        return curve.finite if curve is not None and len(curve.finite) else None

    @property
    def final(self) -> float | None:
        """Mean of the last tenth of the score. The last point alone is noise, the best point is luck."""
        return None if self.score is None else float(np.mean(self.score.tail(LATE).values))

    @property
    def seed(self) -> Any:
        """The recorded seed, or None."""
        seeds = self.context.seeds if self.context else {}
        return self.run.config.get("seed", next(iter(seeds.values()), None))

    @property
    def task(self) -> str:
        """The environment or dataset, as far as the configuration says."""
        return " ".join(str(self.run.config.get(name)) for name in TASK if self.run.config.get(name) is not None)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """All options except seed, task and bookkeeping, under canonical names where known, else under the trainer's names."""
        config = self.run.config
        own = {option: name for name, option in config.keys.items()}
        left_out = {config.option(name) for name in ("seed", *TASK, *_BOOKKEEPING)} | {"seed", *TASK, *_BOOKKEEPING}
        raw = {own.get(key, key): value for key, value in _flat(config.raw)}
        values = {name: value for name, value in config.values.items() if name not in config.defaulted}
        return {name: value for name, value in (raw | values).items() if name not in left_out and not _is_place(value)}


@dataclass(frozen=True)
class Arm:
    """Runs of one setting."""

    name: str
    members: tuple[Member, ...]

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """Final scores by task."""
        found: dict[str, list[float]] = defaultdict(list)
        for member in self.members:
            if member.final is not None:
                found[member.task].append(member.final)
        return {task: np.array(values) for task, values in found.items()}


@dataclass(frozen=True)
class ArmDifference:
    """One setting in which arms differ. `values` has one entry for each arm, None where an arm does not record it."""

    part: str  #: "config", "code", "packages", "data", "seeds", ...
    name: str
    values: tuple[Any, ...]


def arms(groups: Sequence[tuple[str, Sequence[Run]]]) -> list[Arm]:
    """Sort runs into arms. `groups`: (name, runs) for each path that the user gave.

    Runs with different code are in different arms. So are runs from different folders of several runs, runs without
    recorded settings, and a second run with the same seed: what differs between them is not recorded.
    """
    sorted_: dict[str, list[Member]] = defaultdict(list)
    names: dict[str, str] = {}
    for name, runs in groups:
        for run in runs:
            member = Member(run, context.load(run.path) if Path(run.path).exists() else None)
            code = (member.context.code.commit, member.context.code.digest) if member.context else None
            apart = name if len(runs) > 1 or not member.settings else None
            key = canonical([_text(member.settings), code, apart])
            if any((other.task, other.seed) == (member.task, member.seed) for other in sorted_[key]):
                key = canonical([_text(member.settings), code, str(run.path)])
            sorted_[key].append(member)
            names.setdefault(key, name)
    return [Arm(name, tuple(sorted_[key])) for key, name in zip(sorted_, _unlike(list(names.values())), strict=True)]


def differences(compared: Sequence[Arm]) -> list[ArmDifference]:
    """The settings in which arms differ, by the first run of each: configuration, then code, data, packages and machine."""
    first = [arm.members[0] for arm in compared]
    found = [
        *_unequal("data", [{"task": ", ".join(sorted({m.task for m in arm.members}))} for arm in compared]),
        *_unequal("config", [member.settings for member in first]),
    ]
    contexts = [member.context for member in first]
    reference = next((c for c in contexts if c is not None), None)
    if reference is not None:
        found += _from_contexts(contexts, reference)
    return [*found, *_unequal("seeds", [{"seeds": _listed(sorted(map(str, _seeds(arm))))} for arm in compared])]


def _seeds(arm: Arm) -> set[Any]:
    return {member.seed for member in arm.members if member.seed is not None}


def _from_contexts(contexts: Sequence[context.Context | None], reference: context.Context) -> list[ArmDifference]:
    """Differences in recorded contexts beyond the configuration. An arm without a context is skipped."""
    named: dict[tuple[str, str], list[Any]] = {}
    for i, other in enumerate(contexts):
        for d in context.differences(reference, other) if other else []:
            if d.part in ("code", "packages", "hardware", "environment"):
                row = named.setdefault((d.part, d.name), [d.before if c else None for c in contexts])
                row[i] = d.after
    return [ArmDifference(part, name, tuple(row)) for (part, name), row in named.items()]


def _unequal(part: str, sides: Sequence[Mapping[str, Any]]) -> list[ArmDifference]:
    """Settings that all sides record come first; known hyperparameters come before other options."""
    names = dict.fromkeys(name for side in sides for name in side)
    rows = [ArmDifference(part, name, tuple(side.get(name) for side in sides)) for name in names]
    unequal = [row for row in rows if any(value != row.values[0] for value in row.values)]
    return sorted(unequal, key=lambda row: (None in row.values, row.name not in HYPERPARAMETERS))


def _flat(tree: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for key, value in tree.items():
        leaves += (
            _flat(value, f"{before}{key}.") if isinstance(value, Mapping) and value else [(f"{before}{key}", value)]
        )
    return leaves


def _text(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in sorted(settings.items())}


def _is_place(value: Any) -> bool:
    """Whether a value is a path. Paths differ between any two runs."""
    return isinstance(value, str) and value.startswith(("/", "~/", "./"))


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values) if len(values) <= 8 else f"{', '.join(values[:6])}, ... ({len(values)})"


def _unlike(names: list[str]) -> list[str]:
    """Short and distinct names: the last parts of the paths, as many as needed."""
    parts = [Path(name).parts[::-1] for name in names]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        short = ["/".join(reversed(p[:depth])) for p in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{name} ({chr(97 + i)})" if names.count(name) > 1 else name for i, name in enumerate(names)]
