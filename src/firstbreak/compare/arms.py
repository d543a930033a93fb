"""Sort runs into arms. The runs of one arm differ only in their seed and their task, or lie in one folder that the user named."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak import context
from firstbreak.compare.inferred_settings import inferred_settings, without_seed
from firstbreak.compare.per_run import AMOUNT, BOOKKEEPING, is_per_run
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.engine.inputs import MIN_EVALUATIONS, Inputs
from firstbreak.evals.canonical import canonical
from firstbreak.model import Run, Series
from firstbreak.values import dataclass, replace
from firstbreak.words import axis_word, joined, number

LATE = 0.1  #: share of the points of the score; their mean is the final score of a run
TASK = ("env_id", "dataset")
MOST_IN_NAME = 3  #: settings that name a side
LR = "lr"  #: the curve that tells the learning rate of a run that recorded no settings


@dataclass(frozen=True)
class Member:
    """One run of an arm."""

    run: Run
    context: context.Context | None
    judged_by: str = ""  #: the curve that stands for its score, where that of its own is not recorded by all
    plain: frozenset[str] = (
        frozenset()
    )  #: options that keep the trainer's name, as another run's trainer means another by it

    @cached_property
    def score(self) -> Series | None:
        """The curve that shows whether training works."""
        curve = self.run.series[self.judged_by] if self.judged_by else Inputs(self.run).score
        return curve.finite if curve is not None and len(curve.finite) else None

    @property
    def final(self) -> float | None:
        """Mean of the last tenth of the score. The last point alone is noise, the best point is luck."""
        return None if self.score is None else float(np.mean(self.score.tail(LATE).values))

    @property
    def seed(self) -> Any:
        """The recorded seed, else the one that stands in the names or first lines of the run, or None."""
        seeds = self.context.seeds if self.context else {}
        return self.run.config.get("seed", next(iter(seeds.values()), self.inferred.get("seed")))

    @property
    def task(self) -> str:
        """The environment or dataset, as far as the configuration says."""
        known = {name: self.run.config.get(name, self.inferred.get(name)) for name in TASK}
        return " ".join(str(value) for value in known.values() if value is not None)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The configuration; {} where no more is recorded than how much was trained."""
        return self.recorded if self.recorded.keys() - AMOUNT else {}

    @cached_property
    def recorded(self) -> Mapping[str, Any]:
        """The recorded options that may change training, under canonical names where known, else under the trainer's names.

        Left out are the task, and what belongs to one run alone: its name, seed, dates and places.
        """
        config = self.run.config
        if not config.raw or self.run.formats == ("console",):  # assumptions; what first lines tell is inferred
            return {}
        own = {option: name for name, option in config.keys.items() if option not in self.plain}
        left_out = {"seed", *TASK, *BOOKKEEPING}
        raw = {
            own.get(key, key): value
            for key, value in context.leaves(config.raw)
            if key in own or not is_per_run(key, value, self.run.path)
        }
        if not raw:  # numbers of batches that the log gives away are no configuration
            return {}
        values = {
            name: value
            for name, value in config.values.items()
            if name not in config.defaulted and config.keys.get(name) not in self.plain
        }
        return {name: value for name, value in (raw | values).items() if name not in left_out}

    @cached_property
    def inferred(self) -> Mapping[str, Any]:
        """What the names of the run and the first lines of its logs tell."""
        return inferred_settings(self.run)

    @cached_property
    def logged(self) -> Mapping[str, Any]:
        """The settings; where none are recorded, what names and first lines tell, and the learning rate as it was logged."""
        if self.settings:
            return self.settings
        curve = self.run.series.get(LR)
        rates = [] if curve is None else curve.finite.values[:1].tolist()
        first: dict[str, Any] = {"learning_rate": rates[0]} if rates else {}
        told = {**self.recorded, **first, **self.inferred}
        return {name: value for name, value in told.items() if name not in ("seed", *TASK)}

    def copies(self, other: Member) -> bool:
        """Whether the other run is the same one: no curve tells them apart."""
        mine, theirs = self.run.series, other.run.series
        alike = self.task == other.task and mine.keys() == theirs.keys()
        return alike and all(np.array_equal(mine[n].values, theirs[n].values, equal_nan=True) for n in mine)


@dataclass(frozen=True)
class Arm:
    """Runs of one setting."""

    name: str
    members: tuple[Member, ...]
    notes: tuple[str, ...] = ()  #: what is said of how they were put together

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """Final scores by task."""
        found: dict[str, list[float]] = defaultdict(list)
        for member in self.members:
            if member.final is not None:
                found[member.task].append(member.final)
        if len(found) == 2 and "" in found:  # a run that does not say its task has that of its neighbours
            task = next(name for name in found if name)
            found = defaultdict(list, {task: [*found[task], *found[""]]})
        return {task: np.array(values) for task, values in found.items()}

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(sorted({member.score.name for member in self.members if member.score is not None}))

    @property
    def steps(self) -> tuple[str, ...]:
        """The kinds of steps over which the scores are logged."""
        return tuple(sorted({f"{axis_word(m.score.axis)}s" for m in self.members if m.score is not None}))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The recorded tasks."""
        return tuple(sorted({member.task for member in self.members} - {""}))

    @cached_property
    def settings(self) -> Mapping[str, tuple[Any, ...]]:
        """Each setting with its different values, in the order of the runs.

        Without options that the trainer names itself and that have another value in every run: they tell runs apart.
        """
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        count: Counter[str] = Counter()
        for member in self.members:
            for name, value in member.logged.items():
                found[name].setdefault(str(value), value)
                count[name] += 1
        return {
            name: tuple(values.values())
            for name, values in found.items()
            if name in HYPERPARAMETERS or len(values) == 1 or len(values) < count[name]
        }


@dataclass(frozen=True)
class ArmDifference:
    """One setting in which arms differ. `values` has one entry for each arm, None where an arm does not record it."""

    part: str  #: "config", "code", "packages", "data", ...
    name: str
    values: tuple[Any, ...]


def arms(groups: Sequence[tuple[str, Sequence[Run]]]) -> list[Arm]:
    """Sort runs into arms. `groups`: (name, runs) for each path that the user gave.

    Beside other paths, a folder of several runs is one arm, whatever its runs record. The other runs are sorted by their
    settings and their code. A second run with the same seed is an arm of its own: what differs between them is not recorded.
    Runs that record no settings are sorted by where they lie.
    """
    several = len(groups) > 1
    found: list[tuple[str, list[Member]]] = []
    alone: list[tuple[str, Member]] = []
    plain = _disputed([run for _, runs in groups for run in runs])
    for name, runs in groups:
        members = [_member(run, plain) for run in runs]
        if several and len(members) > 1:
            found.append((name, members))
        else:
            alone += [(name if len(members) == 1 else member.run.path, member) for member in members]
    found += _by_settings(alone)
    order = {id(run): i for i, run in enumerate(run for _, runs in groups for run in runs)}
    found.sort(key=lambda side: order[id(side[1][0].run)])
    if common := _common_score([member for _, members in found for member in members]):
        found = [(name, [replace(member, judged_by=common) for member in members]) for name, members in found]
    shared = [_shared_name(name, members) for name, members in found]
    compared = [_arm(name, members) for name, (_, members) in zip(_unlike(shared), found, strict=True)]
    return compared if len(set(shared)) == len(shared) else _by_what_differs(compared)


def _common_score(members: Sequence[Member]) -> str:
    """Of several scores the one that all runs record, best of all often enough; "" where each keeps its own."""
    own = Counter(member.score.name for member in members if member.score is not None)
    least = {
        name: min(len(curve.finite) if (curve := m.run.series.get(name)) is not None else 0 for m in members)
        for name, _ in own.most_common()
    }
    shared = [name for name, points in least.items() if points]
    return max(shared, key=lambda name: min(least[name], MIN_EVALUATIONS)) if len(own) > 1 and shared else ""


def _by_what_differs(compared: list[Arm]) -> list[Arm]:
    """Sides whose names say nothing, by the few settings that differ: `learning_rate=0.001, beta=0`."""
    rows = [d for d in differences(compared) if d.part == "config"]
    names = [", ".join(_told(d.name, d.values[i]) for d in rows) for i in range(len(compared))]
    if len(set(names)) < len(names):
        twice = {name for name in names if names.count(name) > 1}
        names = [f"{n}, {joined(a.steps)}" if n in twice else n for n, a in zip(names, compared, strict=True)]
    if not rows or len(rows) > MOST_IN_NAME or len(set(names)) < len(compared):
        return compared
    return [replace(arm, name=name) for arm, name in zip(compared, names, strict=True)]


def _told(name: str, value: Any) -> str:
    return f"no {name}" if value is None else f"{name}={number(value) if isinstance(value, float) else value}"


def _shared_name(name: str, members: Sequence[Member]) -> str:
    """What several runs are called less their seeds (slow-seed1, slow-seed2: slow), else the name of the first."""
    shared = {_NUMBERED.sub("", member.run.path) for member in members}
    of_a_run = Path(name).name in {Path(member.run.path).name for member in members}
    one = shared.pop()
    return one if len(members) > 1 and not shared and of_a_run and Path(one).name else name


def of_one_setting(name: str, runs: Sequence[Run]) -> Arm:
    """Runs that the user says are of one setting, as one arm."""
    return _arm(name, [_member(run) for run in runs])


def _member(run: Run, plain: frozenset[str] = frozenset()) -> Member:
    return Member(run, context.load(run.path) if Path(run.path).exists() else None, plain=plain)


def _disputed(runs: Sequence[Run]) -> frozenset[str]:
    """Options that the runs record under one name, and that only some of their trainers have a canonical name for."""
    names: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        own = {option: name for name, option in run.config.keys.items()}
        for option, _ in context.leaves(run.config.raw):
            names[option].add(own.get(option, option))
    return frozenset(option for option, called in names.items() if len(called) > 1)


def _arm(name: str, members: Sequence[Member]) -> Arm:
    """One side without copies of its runs, and what is to be said of it."""
    kept: list[Member] = []
    notes = []
    for member in sorted(members, key=_by_seed):
        twin = next((other for other in kept if len(members) > 1 and member.copies(other)), None)
        if twin is None:
            kept.append(member)
        else:
            why = "a copy" if member.seed == twin.seed else f"the seed ({twin.seed}, {member.seed}) changes nothing"
            notes.append(f"{member.run.path} has the same curves as {twin.run.path}: {why}; it counts once")
    arm = Arm(name, tuple(kept))
    mixed = {option: values for option, values in arm.settings.items() if len(values) > 1}
    if mixed:
        option, values = next(iter(sorted(mixed.items(), key=lambda item: item[0] not in HYPERPARAMETERS)))
        more = f" and {len(mixed) - 1} more" if len(mixed) > 1 else ""
        shown = _abbreviated([str(value) for value in values])
        notes.append(f"{name} holds runs of several settings ({option} {shown}{more}): its spread is not one of seeds")
    again = Counter((m.task, m.seed) for m in kept if m.seed is not None)
    if twice := [str(seed) for (_, seed), times in again.items() if times > 1]:
        notes.append(
            f"{name} holds several runs of seed {_abbreviated(twice)}, with different curves: not all is set by the seed"
        )
    return Arm(name, tuple(kept), tuple(notes))


def _by_seed(member: Member) -> tuple[int, str]:
    seed = "" if member.seed is None else str(member.seed)
    return len(seed), seed


def _by_settings(alone: Sequence[tuple[str, Member]]) -> list[tuple[str, list[Member]]]:
    """Runs of equal settings and code together; those that record no settings by where they lie."""
    sides: dict[str, list[Member]] = {}
    names: dict[str, str] = {}
    alone_names = [(member.run.path, name) for name, member in alone]
    places = _by_place([member.run.path for _, member in alone if not member.settings])
    for name, member in alone:
        code = (member.context.code.commit, member.context.code.digest) if member.context else None
        if member.settings:
            key = canonical([{k: str(v) for k, v in sorted(member.settings.items())}, code, member.run.axis])
        else:
            name = places.get(member.run.path, name)
            key = canonical([name, {k: str(v) for k, v in sorted(member.inferred.items()) if k != "seed"}])
        sides.setdefault(key, []).append(member)
        names.setdefault(key, name)
    return [part for key, members in sides.items() for part in _unmixed(names[key], members, dict(alone_names))]


def _unmixed(name: str, members: list[Member], names: Mapping[str, str]) -> list[tuple[str, list[Member]]]:
    """Runs of equal settings as one side. Where two have one seed, what was not recorded differs: then by their names, and
    a run whose seed its namesakes have as well stands alone.
    """
    if not any(a.task == b.task and _same_seed(a, b) for a, b in combinations(members, 2)):
        return [(name, members)]
    places = _by_place([member.run.path for member in members])
    parts: dict[str, list[Member]] = {}
    for member in members:
        path = member.run.path
        part = places.get(path, path)
        again = any(other.task == member.task and _same_seed(member, other) for other in parts.get(part, ()))
        parts.setdefault(path if again else part, []).append(member)
    return [(names[part[0].run.path], part) for part in parts.values()]


def _same_seed(one: Member, other: Member) -> bool:
    """Whether nothing recorded tells two runs of one setting apart. Without a recorded seed, other curves are another seed."""
    return one.copies(other) if one.seed is None and other.seed is None else bool(one.seed == other.seed)


def _by_place(paths: Sequence[str]) -> dict[str, str]:
    """Path -> the side it belongs to: its name without the seed (slow-seed1, slow-seed2, fast-seed1), else its folder, or
    its name without the number at the end (slow_1, slow_2, fast_1).

    Empty where the last two give one side only, or a side of one run: then what the runs have in common is not known.
    """
    seedless = {path: name for path in paths if (name := without_seed(path)) is not None}
    if len(set(seedless.values())) < len(seedless):
        return seedless | _by_place([path for path in paths if path not in seedless])
    by_folder = {path: str(Path(path).parent) for path in paths}
    by_name = {path: str(Path(path).parent / _NUMBERED.sub("", Path(path).stem)) for path in paths}
    for found in (by_folder, by_name):
        count = Counter(found.values())
        if len(count) > 1 and min(count.values()) > 1:
            return found
    return {}


#: what tells the runs of one setting apart at the end of a name: `_seed0`, `-s3`, `_12`
_NUMBERED = re.compile(r"(?:[-_. ]*(?:seed|run|trial|rep|s)?[-_. =]*\d+)+$", re.IGNORECASE)


def differences(compared: Sequence[Arm]) -> list[ArmDifference]:
    """The settings in which arms differ: configuration, then code, data, packages and machine (by the first run of each arm)."""
    found = [
        *_unequal("data", [{"task": tasks} if (tasks := ", ".join(arm.tasks)) else {} for arm in compared]),
        *_unequal("config", [{name: _one(values) for name, values in arm.settings.items()} for arm in compared]),
    ]
    contexts = [arm.members[0].context for arm in compared]
    reference = next((c for c in contexts if c is not None), None)
    if reference is not None:
        found += _from_contexts(contexts, reference)
    return found


def _one(values: Sequence[Any]) -> Any:
    """A setting as one value, or the values of an arm that has several."""
    return values[0] if len(values) == 1 else _abbreviated([str(value) for value in values])


_OF_ONE_JOB = frozenset({"SLURM_JOB_ID", "RANK"})


def _from_contexts(contexts: Sequence[context.Context | None], reference: context.Context) -> list[ArmDifference]:
    """Differences in recorded contexts beyond the configuration. An arm without a context is skipped."""
    named: dict[tuple[str, str], list[Any]] = {}
    for i, other in enumerate(contexts):
        for d in context.differences(reference, other) if other else []:
            if d.part in ("code", "packages", "hardware", "environment") and d.name not in _OF_ONE_JOB:
                row = named.setdefault((d.part, d.name), [d.before if c else None for c in contexts])
                row[i] = d.after
    return [ArmDifference(part, name, tuple(row)) for (part, name), row in named.items()]


def _unequal(part: str, sides: Sequence[Mapping[str, Any]]) -> list[ArmDifference]:
    """Settings that all sides record come first; known hyperparameters come before other options."""
    names = dict.fromkeys(name for side in sides for name in side)
    rows = [ArmDifference(part, name, tuple(side.get(name) for side in sides)) for name in names]
    unequal = [row for row in rows if any(_single(value) != _single(row.values[0]) for value in row.values)]
    return sorted(unequal, key=lambda row: (None in row.values, row.name not in HYPERPARAMETERS))


def _single(value: Any) -> Any:
    """A number as one in single precision, as it may have been logged."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _abbreviated(values: Sequence[str]) -> str:
    return ", ".join(values) if len(values) <= 8 else f"{', '.join(values[:6])}, ... ({len(values)})"


def _unlike(names: list[str]) -> list[str]:
    """Short and distinct names: the last parts of the paths, as many as needed."""
    parts = [Path(name).parts[::-1] for name in names]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        short = ["/".join(reversed(p[:depth])) for p in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{Path(name).name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, 1)]
