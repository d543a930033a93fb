"""The page of a name: a detector, cause, experiment, metric, link, hyperparameter, trainer or reader."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from firstbreak import dialects, readers
from firstbreak.dialects import hyperparameters, signals
from firstbreak.engine import common_settings, inputs, published_settings, registry
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.checks import Check
from firstbreak.engine.families import in_words
from firstbreak.model import Link
from firstbreak.readers import Unreadable
from firstbreak.words import first_few, link_word, number, shortened


def explain(name: str, others: Callable[[], Mapping[str, str]] = dict) -> str:
    """The page of one name, of which `others` has more; raises `Unreadable` with the nearest names where there is none."""
    own = (_link, _detector, _cause, _experiment, _signal, _hyperparameter, _trainer, _readers)
    more, lower = others(), name.lower()
    kinds = _kinds(more)
    titles = {
        item.title.lower(): item.id for found in (registry.detectors(), registry.causes()) for item in found.values()
    }
    asked = dict.fromkeys(
        (name, lower, lower.replace(" ", "_").replace("-", "_"), lower.replace(" ", "-"), f"{lower}s")
    )
    for look in (*own, more.get, lambda kind: "\n".join(kinds.get(kind, ())), _logged):
        if page := next(filter(None, map(look, (*asked, titles.get(lower, name)))), None):
            return "\n\n".join(dict.fromkeys([page, *([more[lower]] if lower in more else [])]))
    names = [name for names in kinds.values() for name in names] + list(kinds)
    begun = [known for known in names if lower and re.search(rf"\b{re.escape(lower)}\b", known.lower())]
    near = list(dict.fromkeys([*begun, *difflib.get_close_matches(lower, names, n=3, cutoff=0.5)]))[:3]
    remedy = f"did you mean {' or '.join(near)}?" if near else "`firstbreak explain` says what can be asked"
    raise Unreadable(name, "nothing of that name", remedy)


ASK = """firstbreak explain NAME      what it is: a detector, a cause, a metric, an option, as here or as a trainer logs it
firstbreak explain RUN       what can be explained of a run: its findings, causes and links
firstbreak explain RUN NAME  one of them, or a row of the audit of its samples, with the evidence
firstbreak explain KIND      all names of one kind:
"""


def contents(audited: Iterable[str] = ()) -> str:
    """How to ask, and the kinds of names, each with the first of them; the names that an audit prints are given."""
    rows = [
        f"  {kind:16} {len(names):4}  {shortened(', '.join(names[:2]), 52)}, ..."
        for kind, names in _kinds(audited).items()
    ]
    return "\n".join([ASK, *rows])


def _kinds(audited: Iterable[str] = ()) -> dict[str, list[str]]:
    """Every name, by kind."""
    return {
        "links": [link.value for link in Link],
        "detectors": list(registry.detectors()),
        "causes": list(registry.causes()),
        "experiments": list(catalogue()),
        "trainers": list(dialects.dialects()),
        "readers": list(readers.readers()),
        "metrics": list(signals.SIGNALS),
        "hyperparameters": list(hyperparameters.HYPERPARAMETERS),
        "audit": sorted(audited),
    }


def _link(name: str) -> str | None:
    if name not in set(Link):
        return None
    link = Link(name)
    parts = [f"{link_word(link)}: {link.question}", f"Link {link.order + 1} of {len(Link)} of the loop, outside in."]
    for kind, found in (("Detectors", registry.detectors()), ("Causes", registry.causes())):
        lines = [f"  {item.id:28} {item.title}" for item in found.values() if item.link is link]
        parts.append(f"{kind}\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _detector(name: str) -> str | None:
    found = registry.detectors().get(name)
    if found is None:
        return None
    head = f"{name}: detector of the link {link_word(found.link)}"
    return f"{head}\n\nNeeds: {needs(found)}\n\n{_plain(found.doc)}\n\n{_thresholds(found)}"


_OPTION = re.compile(r"\{(\w+)\}")
KIND = ("family", "method", "policy", "supervised")  #: which kind of run it is: every run has one
OTHER = {"samples": "samples", "config": "the configuration"}  #: what is needed beside metrics


def needs(check: Check) -> str:
    """What a detector needs, and what it uses if it is recorded, by the names of metrics."""
    of_first = {
        (metrics_of(need) or [need])[0]: need for need in reversed(check.needs)
    }  # the score and what it does: one line
    needed = list(filter(None, map(_one_of, reversed(of_first.values()))))
    read = {name for need in check.needs for name in metrics_of(need)}
    uses = dict.fromkeys(name for use in check.uses for name in metrics_of(use) if name not in read)
    used = f"; uses if recorded: {first_few(list(uses), 6)}" if uses else ""
    return ("; ".join(needed) or "nothing") + used


def _one_of(name: str) -> str:
    found = metrics_of(name)
    return OTHER.get(name, "") if not found else f"{'one of ' * (len(found) > 1)}{first_few(found, 5)}"


@cache
def metrics_of(name: str) -> list[str]:
    """The metrics that an input of a check is made of."""
    if name in signals.BY_PARAMETER:
        return [signals.BY_PARAMETER[name].name]
    made = None if name in KIND else inputs.DERIVED.get(name)
    parts = (*made.needs, *made.uses) if made else ()
    return list(dict.fromkeys(metric for part in parts for metric in metrics_of(part)))


def _thresholds(check: Check) -> str:
    """Every threshold with its value, its unit, its reason and its source, and how to set one."""
    if not check.thresholds:
        return "Thresholds\n  none"
    lines = []
    for name, threshold in check.thresholds.items():
        lines.append(f"  {name} = {threshold.default} {threshold.unit}".rstrip())
        named = f"Source: {threshold.source}" if threshold.source else ""
        if said := [part.rstrip(".") for part in (threshold.reason, named) if part]:
            lines.append(f"      {'. '.join(said)}.")
    name, first = next(iter(check.thresholds.items()))
    how = f"  firstbreak diagnose RUN --set {check.id}.{name}={first.default}"
    return "Thresholds\n" + "\n".join(lines) + f"\n\nSet one\n{how}"


def _cause(name: str) -> str | None:
    found = registry.causes().get(name)
    if found is None:
        return None
    findings = "\n".join(f"  {p:4.0%}  {detector}" for detector, p in found.findings.items())
    return (
        f"{name}: cause in the link {link_word(found.link)}\n\n{_plain(found.doc)}\n\n"
        f"What it shows, in order, with the probability that it does\n{findings}"
    )


def _plain(doc: str) -> str:
    """`{group_size}` stands for the trainer's own option; here neither trainer nor family of the run is known."""
    return _OPTION.sub(r"\1", in_words(doc))


def _experiment(name: str) -> str | None:
    found = catalogue().get(name)
    if found is None:
        return None
    return f"{name}: experiment\n\n{_plain(found.doc)}\n\nRun it\n  firstbreak experiment run {name} RUN"


def _logged(name: str) -> str | None:
    """A name as trainers log it: which metric it is, in whose logs."""
    known = dialects.dialects()
    anywhere = dialects.translate(name, known["generic"])
    meanings = {trainer: meaning for trainer in known if (meaning := dialects.translate(name, known[trainer]))}
    own: dict[str, list[str]] = {}
    for trainer, meaning in meanings.items():
        if anywhere is None or meaning.signal != anywhere.signal:
            own.setdefault(meaning.signal, []).append(trainer)
    if anywhere is not None:
        own[anywhere.signal] = ["any other trainer" if own else "any trainer"]
    lines = [f"  {signal:28} {', '.join(trainers)}" for signal, trainers in own.items()]
    if not own:
        return None
    pages = [_signal(metric) for metric in own] if len(own) == 1 else []
    said = f"{name}: a name that trainers log\n\nThe metric it is, and in whose logs\n" + "\n".join(lines)
    return "\n\n".join(filter(None, (said, *pages)))


def _signal(name: str) -> str | None:
    signal = signals.lookup(name)
    if signal is None:
        return None
    called = dialects.spellings(name)
    writers = [f"  {trainer:14} {', '.join(raw[:4])}" for trainer, raw in called.items()]
    text = f"{name}: metric of the link {link_word(signal.link)}\n\n{signal.meaning}\nUnit: {signal.unit}"
    text += f"\nBetter: {signal.better}" if signal.better else ""
    read_by = [
        c.id
        for c in registry.detectors().values()
        if any({signal.name, signal.family} & {*metrics_of(i)} for i in (*c.needs, *c.uses))
    ]
    text += "\n\nDetectors that read it\n" + f"  {', '.join(read_by)}" if read_by else ""
    return text + ("\n\nWhat trainers call it\n" + "\n".join(writers) if writers else "")


def _hyperparameter(name: str) -> str | None:
    found = hyperparameters.HYPERPARAMETERS.get(name)
    if found is None:
        return None
    unit = f"\nUnit: {found.unit}" if found.unit else ""
    usual = [f"  {u.text:18} {u.families}: {u.source}" for u in common_settings.USUAL if u.name == name]
    tuned: dict[str, list[float]] = {}
    for row in published_settings.table():
        if name in row.settings:
            tuned.setdefault(row.algorithm, []).append(row.settings[name])
    used = [
        f"  {algorithm:18} {' to '.join(dict.fromkeys(map(number, (min(values), max(values)))))}"
        for algorithm, values in tuned.items()
    ]
    named = [c.id for c in registry.detectors().values() if name in _OPTION.findall(c.doc)]
    causes = [c.id for c in registry.causes().values() if name in c.settings]
    parts = (
        ("What is usual", "\n".join(usual)),
        ("What RL Zoo and CleanRL use, least to most", "\n".join(used)),
        ("Detectors whose fix or reason it is", f"  {', '.join(named)}"),
        ("Causes for which its value counts", f"  {', '.join(causes)}"),
    )
    told = (f"\n\n{heading}\n{text}" for heading, text in parts if text)
    return f"{name}: hyperparameter\n\n{found.meaning}{unit}{''.join(told)}"


def _trainer(name: str) -> str | None:
    module = dialects.dialects().get(name)
    return None if module is None else f"{name}: trainer\n\n{inspect.getdoc(module) or module.TITLE}"


def _readers(name: str) -> str | None:
    described: Callable[[str], str] = lambda n: f"  {n:16} {getattr(readers.readers()[n], 'DESCRIPTION', '')}"  # noqa: E731
    if name == "readers":
        return "Formats that firstbreak reads\n\n" + "\n".join(described(n) for n in readers.readers())
    module = readers.readers().get(name)
    return None if module is None else f"{name}: reader\n\n{inspect.getdoc(module)}"
