"""All trainers, and what each has to log so that firstbreak sees everything."""

import inspect

from benchmarks.docs.docstrings import prose
from benchmarks.docs.markdown import TEMPLATES, table
from firstbreak import dialects
from firstbreak.dialects import hyperparameters, signals
from firstbreak.engine.families import in_words
from firstbreak.model import Link
from firstbreak.words import link_word

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
        _first(name, module.TITLE),
        prose(inspect.getdoc(module) or ""),
        f"Recognised by names such as {marks}." if marks else "",
    ]
    parts += ["## What to log", _explained(name)]
    logged = _logged(name)
    for link in Link:
        rows = [[f"`{signal}`", how] for signal, how in logged.items() if signals.SIGNALS[signal].link is link]
        parts += [f"### {link_word(link).capitalize()}"]
        parts += [table(["signal", "logged as, or switched on by"], rows)] if rows else [_blind(name, link)]
    options = [
        [f"`{option}`", f"`{canonical}`", hyperparameters.HYPERPARAMETERS[canonical].meaning]
        for option, canonical in getattr(module, "CONFIG", {}).items()
        if canonical in hyperparameters.HYPERPARAMETERS
    ]
    if options:
        parts += ["## Options that are read", table(["option", "means", ""], options)]
    return "\n\n".join(filter(None, parts))


def _first(name: str, title: str) -> str:
    """What to run: the template of the trainer, or that of all."""
    own = TEMPLATES / "trainers" / f"{name}.md"
    return (own if own.exists() else own.with_name("any.md")).read_text("utf-8").rstrip().replace("TRAINER", title)


def _explained(name: str) -> str:
    title = dialects.dialects()[name].TITLE
    return (
        f"The signals of each link, and what {title} calls them. `firstbreak inspect RUN` says which of them "
        "a run of yours has, and what to log besides, the signals that most checks ask for first."
    )


def _blind(name: str, link: Link) -> str:
    word = link_word(link)
    return (
        f"{dialects.dialects()[name].TITLE} is not known to log anything for this link. Log yourself what "
        f"[its checks](../reference/detectors.md#{word.replace(' ', '-')}) need."
    )


def _logged(dialect: str) -> dict[str, str]:
    """Signal -> the trainer's own names of it, else the option that makes the trainer log it."""
    log = getattr(dialects.dialects()[dialect], "LOG", {})
    found = {}
    for signal in signals.SIGNALS:
        names = dialects.spellings(signal).get(dialect, ())
        how = ", ".join(f"`{name}`" for name in names[:NAMES_SHOWN]) or prose(in_words(log.get(signal, "")))
        if how:
            found[signal] = how
    return found
