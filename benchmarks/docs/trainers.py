"""All trainers, and what each has to log so that firstbreak sees everything."""

import inspect
from collections import Counter

from benchmarks.docs.docstrings import prose
from benchmarks.docs.markdown import TEMPLATES, table
from firstbreak import dialects
from firstbreak.dialects import hyperparameters, signals
from firstbreak.engine.families import in_words
from firstbreak.model import Link
from firstbreak.words import joined, link_word

NAMES_SHOWN = 3
#: what nearly everybody logs, in the order of a report
FIRST = (
    *(
        "reward.mean",
        "reward.std",
        "eval.reward",
        "kl.ref",
        "kl.old.k3",
        "kl.old",
        "policy.entropy",
        "policy.clip_fraction",
    ),
    *("grad.norm", "lr", "length.mean", "episode.length", "loss.total", "value.explained_variance", "value.loss"),
)
MOST_FIRST = 10
_TRAINED = {"eval.reward": "reward.mean", "eval.loss": "loss.total"}  #: a signal of the evaluation -> that of training
OFTEN = 3  #: signals of which one sentence says how they are logged, and not a row for each


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
    logged = _logged(name)
    often = Counter(how for how in logged.values() if not how.startswith("`"))
    explained = (
        f"The signals of each link, and what {module.TITLE} calls them. `firstbreak inspect RUN` says which of them "
        "a run of yours has, and what to log besides, the signals that most checks ask for first."
    )
    parts += ["## What to log", explained, _most_logged(name)]
    parts += [
        f"To log {joined([f'`{signal}`' for signal in logged if logged[signal] == how])}: {how}."
        for how, n in often.items()
        if n >= OFTEN
    ]
    logged = {signal: how for signal, how in logged.items() if often[how] < OFTEN}
    for link in Link:
        rows = [[how, f"`{signal}`"] for signal, how in logged.items() if signals.SIGNALS[signal].link is link]
        if rows:
            parts += [f"### {link_word(link).capitalize()}", table(["logged as, or switched on by", "signal"], rows)]
    blind = [link for link in Link if not any(signals.SIGNALS[signal].link is link for signal in logged)]
    parts += [_blind(name, blind)] if blind else []
    known = hyperparameters.HYPERPARAMETERS
    read = {option: means for option, means in getattr(module, "CONFIG", {}).items() if means in known}
    own = ", ".join(f"`{option}`" for option, means in read.items() if option == means)
    others = [[f"`{option}`", f"`{means}`", known[means].meaning] for option, means in read.items() if option != means]
    parts += ["## Options that are read", own] if read else []
    parts += [table(["option", "means", ""], others)] if others else []
    return "\n\n".join(filter(None, parts))


def _first(name: str, title: str) -> str:
    """What to run: the template of the trainer, or that of all."""
    own = TEMPLATES / "trainers" / f"{name}.md"
    return (own if own.exists() else own.with_name("any.md")).read_text("utf-8").rstrip().replace("TRAINER", title)


def _most_logged(name: str) -> str:
    """The names that nearly everybody logs, as the trainer writes them."""
    found = {signal: names[0].replace("<stat>", "mean") for signal in FIRST if (names := _names(name, signal))}
    text = getattr(dialects.dialects()[name], "WRITES_TEXT", False)
    left_out = {"kl.old"} if "kl.old.k3" in found else set()  # one number in two estimators
    left_out |= set() if text and found.get("reward.std") != found.get("reward.mean") else {"reward.std"}
    shown = [(signal, raw) for signal, raw in found.items() if "<" not in raw and signal not in left_out][:MOST_FIRST]
    rows = [[f"`{raw}`", f"`{signal}`", getattr(signals.lookup(signal), "meaning", "")] for signal, raw in shown]
    return table(["written most often", "signal", "what it is"], rows) if len(rows) >= OFTEN else ""


def _blind(name: str, links: list[Link]) -> str:
    words = [link_word(link) for link in links]
    checks = joined([f"[{word}](../reference/detectors.md#{word.replace(' ', '-')})" for word in words])
    return (
        f"{dialects.dialects()[name].TITLE} is not known to log more for {checks}. Log yourself what their checks need: "
        "`firstbreak inspect RUN` lists what most of them ask for, with the names to log it under."
    )


def _logged(dialect: str) -> dict[str, str]:
    """Signal -> the trainer's own names of it, else the option that makes the trainer log it."""
    log = getattr(dialects.dialects()[dialect], "LOG", {})
    found = {}
    for signal in signals.SIGNALS:
        names = _names(dialect, signal)
        how = ", ".join(f"`{name}`" for name in names[:NAMES_SHOWN]) or prose(in_words(log.get(signal, "")))
        if how:
            found[signal] = how
    return found


def _names(dialect: str, signal: str) -> list[str]:
    """The trainer's own names of a signal: those of its log, and behind them the headings of a notebook's table."""
    module = dialects.dialects()[dialect]
    found = list(dialects.spellings(signal).get(dialect, ()))
    headings = [name for name in found if name[:1].isupper()]
    others = [name for name in found if name not in headings]
    prefix = next((p for p, what in getattr(module, "PREFIXES", {}).items() if what == "eval" and p.endswith("_")), "")
    if prefix and signal.startswith("eval.") and not others:
        own = _TRAINED.get(signal, signal.removeprefix("eval."))
        others = [f"{prefix}{name}" for name in dialects.spellings(own).get(dialect, ())[:1]]
    return [*others, *headings]
