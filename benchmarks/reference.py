"""Pages of docs/ that are made from the code: detectors, causes, trainers, command line, Python, schema (`make docs`)."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

import firstbreak
from firstbreak import dialects, hyperparameters, signals
from firstbreak.cli import COMMANDS
from firstbreak.engine import registry
from firstbreak.inputs import DERIVED
from firstbreak.model import Link
from firstbreak.reports import json as report
from firstbreak.reports import story

ROOT = Path(__file__).resolve().parent.parent
NAMES_SHOWN = 3


def detectors() -> str:
    """Every detector, by link, with its page."""
    intro = (
        "A detector looks at signals and reports a symptom: what is wrong, since when, how bad and how sure. The folder is its "
        "link; the text below is its docstring, which `firstbreak explain NAME` prints as well."
    )
    parts = ["# Detectors", intro]
    for link, found in _by_link(registry.detectors()):
        parts += [f"## {story.link_word(link).capitalize()}", f"*{link.question}*"]
        for item in found:
            limits = ", ".join(f"`{name} = {value}`" for name, value in item.thresholds.items()) or "none"
            asks = [f"Needs {_codes(item.needs) or 'nothing'}."]
            asks += [f"Uses {_codes(item.uses)} if recorded."] if item.uses else []
            parts += [f"### {item.id}", item.title, f"{' '.join(asks)} Thresholds: {limits}.", _sections(item.doc)]
    return "\n\n".join(parts)


def causes() -> str:
    """Every cause, by link, with what it is expected to show."""
    intro = (
        "A cause explains symptoms. A diagnosis ranks causes by their probability given everything that was found, and "
        "everything that was looked for and not found."
    )
    parts = ["# Causes", intro]
    for link, found in _by_link(registry.causes()):
        parts.append(f"## {story.link_word(link).capitalize()}")
        for item in found:
            shown = [[f"[{name}](detectors.md#{name})", f"{p:.0%}"] for name, p in item.findings.items()]
            table = _table(["shows, in this order", "probability"], shown)
            parts += [f"### {item.id}", f"{item.title}.", table, _sections(item.doc)]
    return "\n\n".join(parts)


def command_line() -> str:
    """What `--help` says of every command."""
    parts = [
        "# Command line",
        "Exit codes: 0 continue or watch, 1 stop or rollback (see `--fail-on`), 2 bad input or call.",
    ]
    for name in COMMANDS:
        command = importlib.import_module(f"firstbreak.cli.{name}").command
        parts += [part for help_ in _helps(command, f"firstbreak {name}") for part in help_]
    return "\n\n".join(parts)


def _helps(command: click.Command, path: str, depth: int = 2) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    yield f"{'#' * depth} {path}", f"```text\n{command.get_help(context).rstrip()}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _helps(inner, f"{path} {name}", 3)


def python() -> str:
    """The public names with their signatures and docstrings."""
    parts = [
        "# Python",
        "Everything public is imported from `firstbreak` on first use; `import firstbreak` itself loads nothing heavy.",
    ]
    for name in sorted(firstbreak.__all__, key=str.lower):
        item = getattr(firstbreak, name)
        signature = "" if inspect.isclass(item) and issubclass(item, str) else _signature(item)
        parts += [f"## {name}", f"```python\nfirstbreak.{name}{signature}\n```", inspect.getdoc(item) or ""]
        if inspect.isclass(item) and not issubclass(item, str):
            parts += [text for member in _members(item) for text in member]
    return "\n\n".join(parts)


def _signature(item: Any) -> str:
    """As it stands in the source: annotations without quotes, functions by name, wherever they are from."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(item)))
    text = re.sub(r"<(?:built-in )?function (\w+)[^>]*>", r"\1", text)
    return re.sub(r"\b(?:firstbreak\.[\w.]+\.|collections\.abc\.)", "", text)


def _members(item: type) -> Iterator[tuple[str, str]]:
    for name, member in vars(item).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        doc = inspect.getdoc(member)
        if doc:
            call = f".{name}{_signature(member)}" if inspect.isfunction(member) else f".{name}"
            yield f"### {item.__name__}.{name}", f"```python\n{call}\n```\n\n{doc}"


def schema() -> str:
    """The contract of the JSON report."""
    text = json.dumps(report.schema(), indent=2)
    version = report.SCHEMA
    return "\n\n".join(
        [
            "# JSON schema of a diagnosis",
            f"`firstbreak diagnose RUN --format json` prints one object of version `{version}` (a list for several "
            "runs), and so do the web page's JSON and the MCP tool `diagnose`. Within version 1 keys may be added; none is "
            "removed and none changes its meaning. The file is [diagnosis.schema.json](diagnosis.schema.json), and "
            "`firstbreak.reports.json.schema()` in Python.",
            f"```json\n{text}\n```",
        ]
    )


def trainers() -> str:
    """All trainers, with links to their pages."""
    rows = [
        [f"[{module.TITLE}](trainers/{name}.md)", f"`{name}`", len(module.NAMES), len(getattr(module, "CONFIG", {}))]
        for name, module in dialects.dialects().items()
        if name != "generic"
    ]
    return "\n\n".join(
        [
            "# Trainers",
            "firstbreak recognises a trainer by the names that it logs, and knows what each number really is. Each page says "
            "what to switch on so that every link can be seen. A name that no dialect knows is kept and listed, never dropped.",
            _table(["trainer", "dialect", "names understood", "options understood"], rows),
        ]
    )


def trainer(name: str) -> str:
    """What one trainer has to log so that firstbreak sees everything."""
    module = dialects.dialects()[name]
    marks = ", ".join(f"`{mark}`" for mark in sorted(module.MARKS)[:6])
    parts = [
        f"# {module.TITLE}",
        _text(inspect.getdoc(module) or ""),
        f"Recognised by names such as {marks}." if marks else "",
    ]
    parts += ["## What to log", _explained(name)]
    asked = _asked()
    for link in Link:
        rows = [[f"`{s}`", asked[s], how] for s in asked if (how := _how(name, s)) and _link(s) is link]
        blind = [s for s in asked if not _how(name, s) and _link(s) is link]
        if rows:
            parts += [
                f"### {story.link_word(link).capitalize()}",
                _table(["signal", "checks that ask for it", "logged as, or switched on by"], rows),
            ]
        elif blind:
            parts += [
                f"### {story.link_word(link).capitalize()}",
                f"{module.TITLE} is not known to log anything for this link. Log {_codes(blind[:3])} yourself.",
            ]
    options = [
        [f"`{option}`", f"`{canonical}`", hyperparameters.HYPERPARAMETERS[canonical].meaning]
        for option, canonical in getattr(module, "CONFIG", {}).items()
        if canonical in hyperparameters.HYPERPARAMETERS
    ]
    if options:
        parts += ["## Options that are read", _table(["option", "means", ""], options)]
    return "\n\n".join(filter(None, parts))


def _explained(name: str) -> str:
    title = dialects.dialects()[name].TITLE
    return (
        f"The signals that checks ask for, by link, and what {title} calls them. `firstbreak inspect RUN` says which of them "
        "a run of yours has, and which are missing."
    )


def _asked() -> Counter[str]:
    """Signal -> how many detectors ask for it, the most asked first."""
    found: Counter[str] = Counter()
    for item in registry.detectors().values():
        found.update({signals.BY_PARAMETER[name].name for name in _signals((*item.needs, *item.uses))})
    return Counter(dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))))


def _signals(names: tuple[str, ...]) -> set[str]:
    """The signals behind inputs, through whatever is derived from them."""
    found: set[str] = set()
    for name in names:
        if name in DERIVED:
            found |= _signals((*DERIVED[name][0], *DERIVED[name][1]))
        elif name in signals.BY_PARAMETER:
            found.add(name)
    return found


def _how(dialect: str, signal: str) -> str:
    """The trainer's own names of a signal, else the option that makes it log it; "" where neither is known."""
    names = dialects.spellings(signal).get(dialect, ())
    if names:
        return ", ".join(f"`{name}`" for name in names[:NAMES_SHOWN])
    module = dialects.dialects()[dialect]
    return _text(getattr(module, "LOG", {}).get(signal, ""))


def _link(signal: str) -> Link | None:
    found = signals.lookup(signal)
    return None if found is None else found.link


def agents() -> str:
    """The guide that ships with the package, and how to connect an agent."""
    guide = (ROOT / "src/firstbreak/mcp/guide.md").read_text("utf-8")
    head, _, rest = guide.partition("\n## ")
    connect = (
        "## Connecting\n\n`pip install 'firstbreak[mcp]'`, and in the agent's configuration:\n\n"
        '```json\n{"mcpServers": {"firstbreak": {"command": "firstbreak", "args": ["mcp", "--root", "runs"]}}}\n```\n\n'
        "Over HTTP: `firstbreak mcp --root runs --http` serves `/mcp` on this machine; with `--host` anything else it prints an "
        "address with a token. The tools `inspect`, `diagnose`, `explain`, `samples`, `compare` and `experiment_plan` only read, "
        "and only below the root. The server hands out this guide as the resource `firstbreak://guide`."
    )
    return f"{head}\n{connect}\n\n## {rest}"


def changelog() -> str:
    """CHANGELOG.md as a page."""
    return (ROOT / "CHANGELOG.md").read_text("utf-8")


def web_figures() -> str:
    """What `make bench-web` measured."""
    figures = json.loads((ROOT / "benchmarks/results/web.json").read_text("utf-8"))
    rows = [
        [meaning, figures[key], *(("", "") if most is None else (f"at most {most}", _YES_NO[figures[key] <= most]))]
        for key, (meaning, most) in _FIGURES.items()
    ]
    made = f"Measured by `{figures['command']}` on {figures['date']}: {figures['machine']}, Python {figures['python']}."
    installed, wheel = figures["core_install_parts_mb"], figures["core_wheel_parts_kb"]
    light = {name: size for name, size in installed.items() if size >= 0.1}
    left = 60 - installed["numpy"]
    return "\n\n".join(
        [
            "# Figures of the page and the package",
            made,
            _table(["", "value", "goal", "met"], rows),
            "## What an installation weighs",
            f"NumPy, with the OpenBLAS and the tests in its wheel, leaves {left:.1f} MB of the 60 for everything else; "
            f"firstbreak itself takes {installed['firstbreak']:.1f}. The files of each project, without bytecode:",
            _table(["project", "MB"], [[name, f"{size:.2f}"] for name, size in light.items()]),
            "## What the wheel weighs",
            f"{figures['core_wheel_files']} files, one for each detector, cause, reader, dialect, fault and experiment, each "
            "compressed by itself: Python with its documentation, which `firstbreak explain` shows. Compressed, the chart "
            "library with it:",
            _table(["part", "KiB"], [[name, size] for name, size in wheel.items() if size >= 10]),
        ]
    )


_YES_NO = {True: "yes", False: "no"}
#: key of web.json -> what it is, and the most that it should be
_FIGURES = {
    "first_paint_s": ("first paint of a run page with 100 metrics x 10,000 points (seconds)", 1),
    "first_paint_after_start_s": ("the same, asked for before the server had read the run (seconds)", None),
    "curves_drawn_s": ("from the request to the curves in view (seconds)", None),
    "live_update_s": ("from a line in the log to the new diagnosis on the page (seconds)", 2),
    "live_update_worst_s": ("the slowest of these (seconds)", None),
    "million_points_zoom_s": ("one zoom into a curve of 1,000,000 points (seconds)", None),
    "axe_serious": ("serious problems that axe-core finds, over all pages, two widths and two themes", 0),
    "core_wheel_kb": ("wheel without the chart library (KiB)", 1024),
    "core_install_mb": ("installation of the core with all it depends on (MB)", 60),
    "import_s": ("`import firstbreak` (seconds)", 0.15),
}


def published_schema() -> str:
    """The schema as a file of its own."""
    return json.dumps(report.schema(), indent=2)


PAGES: dict[str, Callable[[], str]] = {
    "reference/detectors.md": detectors,
    "reference/causes.md": causes,
    "reference/cli.md": command_line,
    "reference/python.md": python,
    "reference/schema.md": schema,
    "reference/diagnosis.schema.json": published_schema,
    "trainers.md": trainers,
    "agents.md": agents,
    "changelog.md": changelog,
    "web-figures.md": web_figures,
    **{f"trainers/{name}.md": (lambda name=name: trainer(name)) for name in dialects.dialects() if name != "generic"},
}


def _by_link(found: Mapping[str, Any]) -> Iterator[tuple[Link, list[Any]]]:
    for link in Link:
        members = [item for item in found.values() if item.link is link]
        if members:
            yield link, members


def _sections(doc: str) -> str:
    """A docstring's headings one level below its own; options in braces as code."""
    parts = registry.sections(doc)
    return "\n\n".join(f"**{heading}**\n\n{_text(text)}" for heading, text in parts.items() if heading and text)


def _text(text: str) -> str:
    """`{learning_rate}` stands for the trainer's own option; a bare address becomes a link; a list gets room before it."""
    text = re.sub(r"\{(\w+)\}", r"`\1`", text)
    text = re.sub(r"(?<![(<`\"])\b(https?://[^\s<>)`]+)", r"<\1>", text)
    return re.sub(r"(?m)^(?!- |  |$)(.+)\n(?=- )", r"\1\n\n", text)


def _codes(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: list[str], rows: list[list[Any]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in row) + " |" for row in cells
    )
