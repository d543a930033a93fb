"""The content of a run without a diagnosis: files, metrics with their meanings, configuration, gaps."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from firstbreak import dialects
from firstbreak.dialects import signals
from firstbreak.engine.detection import check
from firstbreak.engine.families import for_family
from firstbreak.engine.inputs import DERIVED, Inputs
from firstbreak.engine.registry import detectors
from firstbreak.engine.verdict import unmeasured
from firstbreak.model import Link, Run, Sample, Series
from firstbreak.reports import content, json
from firstbreak.reports.content import ReportLine
from firstbreak.reports.terminal_style import Page, TerminalStyle
from firstbreak.reports.text import count
from firstbreak.values import dataclass
from firstbreak.words import link_word, number

SCHEMA = "firstbreak.run/1"
SHORT = 160  # characters of a sample that are shown


@dataclass(frozen=True)
class Gap:
    """A signal that this trainer can log, that checks would use, and that this run does not have."""

    signal: str
    checks: int
    how: str


def renderable(run: Run) -> Page:
    """The terminal form for `rich.print`."""
    return Page(partial(_parts, run))


def render_json(runs: Sequence[Run]) -> str:
    """One object for one run, a list for several."""
    payloads = [payload(run) for run in runs]
    return json.dump(payloads[0] if len(payloads) == 1 else payloads)


def payload(run: Run) -> dict[str, Any]:
    """The JSON form of one run."""
    sample = first_sample(run)
    return {
        "schema": SCHEMA,
        **json.of_a_run(run),
        "files": json.plain(run.files),
        "metrics": [_metric(series) for series in run.series.values()],
        "not_understood": [_curve(series) for series in run.unknown.values()],
        "duplicates": [_curve(series) | {"signal": json.text(series.name)} for series in run.duplicates],
        "config": [
            {
                "name": json.text(name),
                "option": json.text(run.config.option(name)),
                "value": json.plain(value),
                "defaulted": name in run.config.defaulted,
            }
            for name, value in sorted(run.config.values.items())
        ],
        "config_recorded": json.plain(run.config.raw),
        "samples": None
        if run.samples is None
        else {"files": json.plain(run.samples.sources), "first": _sample(sample)},
        "checkpoints": [json.fields(checkpoint, "step", "path") for checkpoint in run.checkpoints],
        "gaps": {
            "links": [link.value for link in unseen_links(run)],
            "signals": [json.fields(gap, "signal", "checks", "how") for gap in gaps(run)],
        },
        **json.fields(run, "damage", "notes"),
    }


def link_of(series: Series) -> Link | None:
    """The link of a signal. None for a name outside the vocabulary."""
    signal = signals.lookup(series.name)
    return None if signal is None else signal.link


def meaning(series: Series) -> str:
    """The meaning of the number in the vocabulary, then the estimator, window or floor of this trainer."""
    signal = signals.lookup(series.name)
    return "; ".join(filter(None, ("" if signal is None else signal.meaning, series.note)))


def unseen_links(run: Run) -> list[Link]:
    """The links that no check of a diagnosis can measure in this run."""
    return unmeasured(check(run))


def gaps(run: Run) -> list[Gap]:
    """The signals that the run could log in addition, first those that most checks use."""
    inputs = Inputs(run)
    asked = Counter(name for d in detectors().values() for name in _signals_of((*d.needs, *d.uses)))
    missing = [(name, checks) for name, checks in asked.most_common() if inputs.ask(name) is None]
    known = [(signals.BY_PARAMETER[name].name, checks) for name, checks in missing]
    told = ((name, checks, for_family(dialects.how_to_log(run.trainer, name), inputs.family)) for name, checks in known)
    return [Gap(name, checks, how) for name, checks, how in told if how]


def _signals_of(names: Sequence[str]) -> set[str]:
    """The signals behind the inputs of a check, including those behind derived inputs."""
    found: set[str] = set()
    for name in names:
        if name in DERIVED:
            found |= _signals_of((*DERIVED[name].needs, *DERIVED[name].uses))
        elif name in signals.BY_PARAMETER:
            found.add(name)
    return found


def first_sample(run: Run) -> Sample | None:
    """The first logged completion or episode."""
    return None if run.samples is None else next(islice(run.samples, 1), None)


def _metric(series: Series) -> dict[str, Any]:
    signal, link = signals.lookup(series.name), link_of(series)
    return _curve(series) | {
        "signal": json.text(series.name),
        "link": None if link is None else link.value,
        "unit": "" if signal is None else signal.unit,
        "meaning": "" if signal is None else signal.meaning,
        "note": json.text(series.note),
    }


def _curve(series: Series) -> dict[str, Any]:
    return {
        "logged_as": json.text(series.raw or series.name),
        "source": json.text(series.source),
        "axis": series.axis,
        "points": len(series),
        "not_finite": len(series) - len(series.finite),
        "first_step": json.number(series.steps[0]) if len(series) else None,
        "last_step": json.number(series.steps[-1]) if len(series) else None,
    }


def _sample(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    return {
        "step": json.number(sample.step),
        "prompt": json.text(_short(sample.prompt)),
        "completion": json.text(_short(sample.completion)),
        "reward": json.number(sample.reward),
        "rewards": json.plain(sample.rewards),
        "meta": json.plain(list(sample.meta)),
    }


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


# --- the terminal -----------------------------------------------------------------------------------------------------


def _parts(run: Run, how: TerminalStyle) -> Iterator[RenderableType]:
    yield how.table([*content.about(run), ReportLine("Files", ", ".join(_several(run.files)), literal=True)])
    for link in (*Link, None):
        members = [series for series in run.series.values() if link_of(series) is link]
        if members:
            name = "outside the vocabulary" if link is None else link_word(link)
            yield from how.section(f"Metrics: {name} ({len(members)})")
            for series in members:
                yield from _entry(series, how)
    for title, lines in _lists(run):
        if lines:
            yield from how.section(title)
            yield from _lines(lines, how)


def _lines(lines: Sequence[str | ReportLine], how: TerminalStyle) -> Iterator[RenderableType]:
    """Plain lines as bullets, labelled ones as a table."""
    labelled = [line for line in lines if isinstance(line, ReportLine)]
    yield from (how.bullet(line) for line in lines if isinstance(line, str))
    if labelled:
        yield how.table(labelled)


def _entry(series: Series, how: TerminalStyle) -> Iterator[RenderableType]:
    raw = series.raw or series.name
    lost = len(series) - len(series.finite)
    not_numbers = f", {lost:,} not {'a number' if lost == 1 else 'numbers'}" if lost else ""
    size = f" ({count(len(series), 'point')}{not_numbers})"
    arrow = how.text(f" {how.arrows[0]} ", "dim")
    yield Text.assemble(
        how.text(raw, "cyan"), arrow, how.text(series.name, "bold"), how.text(size, "dim"), overflow="fold"
    )
    if meaning(series):
        yield how.indented(how.text(meaning(series), "dim"))


def _lists(run: Run) -> Iterator[tuple[str, Sequence[str | ReportLine]]]:
    yield "Not understood", _several([f"{name} ({count(len(s), 'point')})" for name, s in run.unknown.items()])
    yield "Copies of a metric above", _several([f"{series.raw}: {series.name}" for series in run.duplicates])
    yield "Configuration", _config(run)
    yield "Samples", _samples(run)
    yield "Checkpoints", _several([f"step {number(c.step)}: {c.path}" for c in run.checkpoints])
    yield "Gaps", _gaps(run)
    yield "Could not be read", _several(run.damage)
    yield "Notes", _several(run.notes)


def _several(lines: Sequence[str]) -> list[str]:
    return content.first(list(lines), content.MOST_NAMES)


def _config(run: Run) -> list[str | ReportLine]:
    labelled: list[str | ReportLine] = []
    for name, value in sorted(run.config.values.items()):
        option = run.config.option(name)
        default = " (the trainer's default)" if name in run.config.defaulted else ""
        labelled.append(ReportLine(name, f"{value}{default}" if option == name else f"{value}, from {option}{default}"))
    rest = len(run.config.raw) - len(set(run.config.values) - run.config.defaulted)
    return [*labelled, ReportLine("others", f"{count(rest, 'option')} recorded and not used")] if rest > 0 else labelled


def _samples(run: Run) -> list[str | ReportLine]:
    if run.samples is None:
        return []
    labelled: list[str | ReportLine] = [ReportLine("Files", ", ".join(_several(run.samples.sources)), literal=True)]
    sample = first_sample(run)
    if sample is None:
        return labelled
    rewards = ", ".join(f"{name} {number(value)}" for name, value in sample.rewards.items())
    said = (("First prompt", _short(sample.prompt)), ("First completion", _short(sample.completion)))
    scored = () if sample.reward is None else (("Its reward", number(sample.reward)),)
    return [
        *labelled,
        *(ReportLine(label, text) for label, text in (*said, *scored, ("Its components", rewards)) if text),
    ]


def _gaps(run: Run) -> list[str]:
    unseen = unseen_links(run)
    lines = [f"not measured: {', '.join(map(link_word, unseen))}"] if unseen else []
    return lines + _several([f"{gap.signal} ({count(gap.checks, 'check')}): {gap.how}" for gap in gaps(run)])
