"""All checks of a project, from one file.

    [check.env]                       # firstbreak.toml; in pyproject.toml [tool.firstbreak.check.env]
    env = "CartPole-v1"

    [[check.memory]]                  # several of one kind
    model = "config.json"
    algo = "grpo"

The keys of a section are the names of the check's options. Paths are relative to the file.
"""

import difflib
import importlib
import inspect
import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

from firstbreak.model import Action, Outcome
from firstbreak.preflight import Report, ReportTable
from firstbreak.readers import Unreadable
from firstbreak.values import replace

FILES = ("firstbreak.toml", "pyproject.toml")
#: check -> the module of this package that holds it, in the order in which they are run: the quick ones first
CHECKS = {n: n for n in ("context", "eval", "memory", "data", "reward", "env", "critic")} | {"eval": "protocol"}
WORD = {Action.STOP: "do not train yet", Action.WATCH: "look at this first", Action.CONTINUE: "nothing found"}
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}
Section = tuple[str, dict[str, Any]]


def check(plan: str = ".", *, only: Collection[str] = ()) -> Report:
    """Every check that a firstbreak.toml or pyproject.toml (or a folder with one) asks for, in one report.

    `only` names the checks to run. Raises `Unreadable` where there is no such file, where the file asks for a check or an option
    that does not exist, and, with the name of the section, where a check cannot read something.
    """
    path = _file(Path(plan))
    wanted = [(name, options) for name, options in sections(path) if not only or name in only]
    if not wanted:
        raise Unreadable(path, f"asks for no check of {', '.join(only)}", f"add a section [check.{next(iter(only))}]")
    with chdir(path.parent):
        reports = [_run(path, name, options) for name, options in wanted]
    rows = tuple((r.check, r.target, WORD[r.action], str(len(r.findings))) for r in reports)
    return Report(
        check="plan",
        target=os.path.relpath(path),
        outcomes=tuple(_named(outcome, report, reports) for report in reports for outcome in report.outcomes),
        summary=_summary(reports),
        exhibits=(ReportTable(title="The checks", columns=("check", "of", "verdict", "findings"), rows=rows),),
        numbers={"checks": [{"check": r.check, "target": r.target, **r.numbers} for r in reports]},
    )


def sections(path: Path) -> Iterator[Section]:
    """(check, options) of every section, in the order of CHECKS. Raises Unreadable."""
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(path, f"is not TOML ({error})", "correct the file") from None
    own = tree.get("tool", {}).get("firstbreak", {}) if path.name == "pyproject.toml" else tree
    asked = own.get("check", {})
    where = "tool.firstbreak.check" if path.name == "pyproject.toml" else "check"
    if not isinstance(asked, dict) or not asked:
        raise Unreadable(path, "asks for no check", f'add a section, e.g. [{where}.env] with env = "CartPole-v1"')
    if unknown := next((name for name in asked if name not in CHECKS), None):
        raise Unreadable(path, f"[{where}.{unknown}] is no check", f"the checks are {', '.join(CHECKS)}")
    for name in CHECKS:
        of_kind = asked.get(name, [])
        for options in of_kind if isinstance(of_kind, list) else [of_kind]:
            if not isinstance(options, dict):
                raise Unreadable(path, f"{where}.{name} is no section", f"write [{where}.{name}] above its options")
            yield name, options


def _file(place: Path) -> Path:
    if place.is_file():
        return place.absolute()
    found = [place / name for name in FILES if (place / name).is_file()]
    with_section = [p for p in found if p.name == FILES[0] or "[tool.firstbreak" in p.read_text(errors="replace")]
    if not with_section:
        raise Unreadable(place, "holds no firstbreak.toml or [tool.firstbreak]", "write one: see docs/preflight.md")
    return with_section[0].absolute()


def _function(name: str) -> tuple[Callable[..., Report], Mapping[str, inspect.Parameter]]:
    """The check of that name, and its options."""
    function: Callable[..., Report] = importlib.import_module(f"firstbreak.preflight.{CHECKS[name]}").check
    return function, inspect.signature(function).parameters


def keys() -> dict[str, list[tuple[str, bool]]]:
    """Check -> (key, whether its section must have it), in the order of CHECKS."""
    return {name: [(p.name, p.default is p.empty) for p in _function(name)[1].values()] for name in CHECKS}


def _run(path: Path, name: str, options: dict[str, Any]) -> Report:
    """The report of one check. An error names its section."""
    function, known = _function(name)
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean `{near[0]}`? " if near else ""
            raise Unreadable(path, f"`{key}` is no key of [check.{name}]", f"{meant}its keys are {', '.join(known)}")
        wanted = TYPES.get(str(known[key].annotation))
        if wanted and not isinstance(options[key], wanted):
            raise Unreadable(path, f"`{key}` of [check.{name}] is {options[key]!r}", f"give {known[key].annotation}")
    missing = [p.name for p in known.values() if p.default is p.empty and p.name not in options]
    if missing:
        raise Unreadable(path, f"[check.{name}] lacks `{missing[0]}`", f"add `{missing[0]} = ...` to it")
    try:
        return function(**options)
    except Unreadable as error:
        raise Unreadable(path, f"[check.{name}]: {error.path}: {error.problem}", error.remedy) from None


def _named(outcome: Outcome, report: Report, reports: list[Report]) -> Outcome:
    """Several checks of one kind get the name of their target."""
    several = sum(other.check == report.check for other in reports) > 1
    return replace(outcome, detector=f"{outcome.detector} ({report.target})") if several else outcome


def _summary(reports: list[Report]) -> str:
    stopped = [r.check for r in reports if r.action is Action.STOP]
    watched = [r.check for r in reports if r.action is Action.WATCH]
    if stopped:
        return f"{len(stopped)} of {len(reports)} checks say not to train yet: {', '.join(stopped)}."
    if watched:
        return f"Nothing is a reason not to train; look at {', '.join(watched)} first."
    return f"Nothing was found by {', '.join(r.check for r in reports)}."
