"""Is it recorded what the run is made with, and is that still what lies here?"""

from __future__ import annotations

from pathlib import Path

from firstbreak import context
from firstbreak.context import FILE, Context
from firstbreak.engine.read import read
from firstbreak.model import Link, NotApplicable, NotMeasured
from firstbreak.preflight import Answer, Report, Table, ask, critical, notice, warning
from firstbreak.words import number

SHOWN = 20  #: differences in the table


def check(run: str, *, record: bool = False, config: str | None = None, code: str | None = None) -> Report:
    """Check the context of a run's folder against this machine and the repository in `code` (the current folder).

    With `record` it is written first, with the options of the `config` file. Raises `Unreadable` where a file cannot be
    read.
    """
    here = Path(code) if code else Path.cwd()
    options = None if config is None else dict(read(config).config.raw)
    if record:
        context.record(run, config=options, code=here)
    found = context.load(run)
    now = None if found is None else context.capture(config=options, code=here)
    probes = (
        ("context-recorded", lambda: recorded(run, found)),
        ("context-code", lambda: code_known(found)),
        ("context-seed", lambda: seeds_known(found)),
        ("context-unchanged", lambda: unchanged(found, now)),
    )
    return Report(
        check="context",
        target=run,
        outcomes=tuple(ask(name, Link.EVALUATION, probe) for name, probe in probes),
        facts=_facts(found) if found else (),
        exhibits=(_table(found, now),) if found and now and _apart(found, now) else (),
        numbers={}
        if found is None
        else {"commit": found.code.commit, "dirty": found.code.dirty, "seeds": dict(found.seeds)},
    )


def recorded(run: str, found: Context | None) -> Answer:
    """The file is there, with a configuration."""
    if found is None:
        return critical(
            f"{run} holds no {FILE}: nobody will know what the run was made with. Call firstbreak.context.record({run!r}, "
            "config=...) before training, or give --record."
        )
    if not found.config:
        return warning("the configuration is not in it. Pass it: firstbreak.context.record(..., config=args).")
    return f"written {found.created}, {len(found.config)} options, {len(found.packages)} packages"


def code_known(found: Context | None) -> Answer:
    """The version of the code, and what was not committed."""
    if found is None:
        return NotMeasured("nothing is recorded")
    code = found.code
    if not code.commit:
        return warning("the code was in no git repository: it cannot be had again. Commit it before training.")
    if code.diff_cut:
        return warning("the changes that are not committed are longer than what is kept. Commit them before training.")
    if code.untracked:
        return notice(
            f"{len(code.untracked)} files that git does not know are not in the record: {code.untracked[0]}, ..."
        )
    changes = f" with {number(code.diff.count(chr(10)))} lines of changes, kept" if code.dirty else ""
    return f"commit {code.commit[:12]}{changes}"


def seeds_known(found: Context | None) -> Answer:
    """A seed was set."""
    if found is None:
        return NotMeasured("nothing is recorded")
    if not found.seeds:
        return warning("no seed is recorded: the run cannot be repeated, nor told from another seed. Pass seed=.")
    return ", ".join(f"{name} {value}" for name, value in found.seeds.items())


def unchanged(found: Context | None, now: Context | None) -> Answer:
    """What lies here is still what the run was made with."""
    if found is None or now is None:
        return NotApplicable("nothing is recorded")
    apart = _apart(found, now)
    parts = {part: sum(d.part == part for d in apart) for part in dict.fromkeys(d.part for d in apart)}
    if apart:
        said = ", ".join(f"{part} ({n})" for part, n in parts.items())
        return notice(
            f"since then there are differences in: {said}. A run from here is another experiment.", parts=parts
        )
    return "code, packages and hardware are those of the record"


def _apart(found: Context, now: Context) -> list[context.Difference]:
    """What differs and could change a result: the command and the clock of this check do not."""
    kept = {"code", "packages", "hardware"} | ({"config"} if now.config else set())
    return [d for d in context.differences(found, now) if d.part in kept]


def _facts(found: Context) -> tuple[tuple[str, str], ...]:
    gpus = ", ".join(str(gpu.get("name")) for gpu in found.hardware.gpus) or "no GPU"
    return (
        ("command", " ".join(found.command)),
        ("hardware", f"{found.hardware.processor}, {found.hardware.cores} cores, {gpus}"),
    )


def _table(found: Context, now: Context) -> Table:
    rows = tuple((f"{d.part} {d.name}", _short(d.before), _short(d.after)) for d in _apart(found, now)[:SHOWN])
    return Table(title="What differs", columns=("", "recorded", "now"), rows=rows)


def _short(value: object) -> str:
    text = "-" if value is None else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
