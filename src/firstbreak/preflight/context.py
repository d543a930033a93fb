"""Are code, packages, hardware, configuration and seeds of the run recorded, and are they still the same?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from firstbreak import context
from firstbreak.context import FILE, Context
from firstbreak.model import Link, NotMeasured
from firstbreak.preflight import Answer, Report, ReportTable, ask, critical, notice, warning
from firstbreak.readers.read import read
from firstbreak.words import number

SHOWN = 20  #: rows of the table of differences (convention)


def check(run: str, *, record: bool = False, config: str | None = None, code: str | None = None) -> Report:
    """Check the recorded context of a run's folder against this machine and the repository in `code` (the current folder).

    With `record`, the context is written first, with the options of the `config` file. Raises `Unreadable` where a file cannot be
    read.
    """
    here = Path(code) if code else Path.cwd()
    options = None if config is None else dict(read(config).config.raw)
    if record:
        context.record(run, config=options, code=here)
    found = context.load(run)
    now = None if found is None else context.capture(config=options, code=here)
    probes: list[tuple[str, Callable[[], Answer]]] = [("context-recorded", lambda: recorded(run, found))]
    if found is not None and now is not None:
        probes += [
            ("context-code", lambda: code_known(found)),
            ("context-seed", lambda: seeds_known(found)),
            ("context-outputs", lambda: outputs_known(found, run)),
            ("context-unchanged", lambda: unchanged(found, now)),
        ]
    return Report(
        check="context",
        target=run,
        outcomes=tuple(ask(name, Link.EVALUATION, probe) for name, probe in probes),
        checked=_facts(found) if found else (),
        exhibits=(_table(found, now),) if found and now and _apart(found, now) else (),
        numbers={}
        if found is None
        else {"commit": found.code.commit, "dirty": found.code.dirty, "seeds": dict(found.seeds)},
    )


def recorded(run: str, found: Context | None) -> Answer:
    """The file is there, with a configuration."""
    if found is None:
        return critical(
            f"{run} has no {FILE}: nothing says which code, packages and configuration the run uses. Call "
            f"firstbreak.context.record({run!r}, config=...) before training, or give --record."
        )
    if not found.config:
        return warning("the configuration is not recorded. Pass it: firstbreak.context.record(..., config=args).")
    return f"written {found.created}, {len(found.config)} options, {len(found.packages)} packages"


def code_known(found: Context) -> Answer:
    """The version of the code, and what was not committed."""
    code = found.code
    if not code.commit:
        return warning("the code is in no git repository: this version can be lost. Commit the code before training.")
    if code.diff_cut:
        return warning("the changes that are not committed are too long for the record. Commit them before training.")
    if code.untracked:
        return notice(f"{len(code.untracked)} files that git does not track are not recorded: {code.untracked[0]}, ...")
    changes = f" with {number(code.diff.count(chr(10)))} recorded lines of changes" if code.dirty else ""
    return f"commit {code.commit[:12]}{changes}"


def seeds_known(found: Context) -> Answer:
    """A seed was set."""
    if not found.seeds:
        return warning("no seed is recorded, so the run cannot be repeated. Pass seed=.")
    return ", ".join(f"{name} {value}" for name, value in found.seeds.items())


def outputs_known(found: Context, run: str) -> Answer:
    """Where the weights and the logs are, and what measured the score."""
    told = {"checkpoint": found.checkpoint, "log paths": ", ".join(found.logs), "evaluation command": found.evaluation}
    if gone := [name for name, value in told.items() if not value]:
        return warning(
            f"not known: {', '.join(gone)}. Whoever looks at this run later cannot load its weights, read its curves and "
            "measure its score again. Pass checkpoint=, logs= and evaluation=.",
            missing=gone,
        )
    if absent := [p for p in (found.checkpoint, *found.logs) if not (Path(p).exists() or (Path(run) / p).exists())]:
        return NotMeasured(f"not there (yet): {', '.join(absent)}")
    return "; ".join(f"{name} {value}" for name, value in told.items())


def unchanged(found: Context, now: Context) -> Answer:
    """Code, packages, hardware and configuration are still those of the run."""
    apart = _apart(found, now)
    parts = {part: sum(d.part == part for d in apart) for part in dict.fromkeys(d.part for d in apart)}
    if apart:
        said = ", ".join(f"{part} ({n})" for part, n in parts.items())
        return notice(f"these differ from the record: {said}. A run from here is a different experiment.", parts=parts)
    return "code, packages and hardware are those of the record"


def _apart(found: Context, now: Context) -> list[context.Difference]:
    """The differences that could change a result: the command and the time of this check cannot."""
    kept = {"code", "packages", "hardware"} | ({"config"} if now.config else set())
    return [d for d in context.differences(found, now) if d.part in kept]


def _facts(found: Context) -> tuple[tuple[str, str], ...]:
    known = {"checkpoint": found.checkpoint, "evaluation": found.evaluation, "logs": ", ".join(found.logs)}
    gpus = ", ".join(str(gpu.get("name")) for gpu in found.hardware.gpus) or "no GPU"
    return (
        ("command", " ".join(found.command)),
        *((name, value) for name, value in known.items() if value),
        ("hardware", f"{found.hardware.processor}, {found.hardware.cores} cores, {gpus}"),
    )


def _table(found: Context, now: Context) -> ReportTable:
    rows = tuple((f"{d.part} {d.name}", _short(d.before), _short(d.after)) for d in _apart(found, now)[:SHOWN])
    return ReportTable(title="What differs", columns=("", "recorded", "now"), rows=rows)


def _short(value: object) -> str:
    text = "-" if value is None else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
