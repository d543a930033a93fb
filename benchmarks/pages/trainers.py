"""All trainers, and what each has to log so that firstbreak sees everything."""

from __future__ import annotations

import inspect
from collections import Counter

from benchmarks.pages.docstrings import codes, prose
from benchmarks.pages.markdown import table
from firstbreak import dialects, hyperparameters, signals
from firstbreak.engine import registry
from firstbreak.inputs import DERIVED
from firstbreak.model import Link
from firstbreak.reports import story

NAMES_SHOWN = 3


def page() -> str:
    """docs/trainers.md"""
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
            table(["trainer", "dialect", "names understood", "options understood"], rows),
        ]
    )


def trainer(name: str) -> str:
    """docs/trainers/<name>.md"""
    module = dialects.dialects()[name]
    marks = ", ".join(f"`{mark}`" for mark in sorted(module.MARKS)[:6])
    parts = [
        f"# {module.TITLE}",
        prose(inspect.getdoc(module) or ""),
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
                table(["signal", "checks that ask for it", "logged as, or switched on by"], rows),
            ]
        elif blind:
            parts += [
                f"### {story.link_word(link).capitalize()}",
                f"{module.TITLE} is not known to log anything for this link. Log {codes(blind[:3])} yourself.",
            ]
    options = [
        [f"`{option}`", f"`{canonical}`", hyperparameters.HYPERPARAMETERS[canonical].meaning]
        for option, canonical in getattr(module, "CONFIG", {}).items()
        if canonical in hyperparameters.HYPERPARAMETERS
    ]
    if options:
        parts += ["## Options that are read", table(["option", "means", ""], options)]
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
    return prose(getattr(module, "LOG", {}).get(signal, ""))


def _link(signal: str) -> Link | None:
    found = signals.lookup(signal)
    return None if found is None else found.link
