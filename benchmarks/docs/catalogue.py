"""Every experiment of the catalogue: a table, and a page each."""

from collections.abc import Mapping
from typing import Any

from benchmarks.docs.docstrings import codes, sections
from benchmarks.docs.markdown import folded, percent, table
from firstbreak.engine import registry
from firstbreak.engine.catalogue import Design, catalogue
from firstbreak.engine.families import EVERY
from firstbreak.engine.questions import Question


def page() -> str:
    """docs/reference/experiments.md"""
    intro = (
        "A short run that differs from yours in one thing. `firstbreak experiment plan RUN` proposes the one that tells the "
        "most, `firstbreak experiment run NAME RUN` runs it; [how they are run](../experiments.md), and "
        "[what they have decided](../experiment-figures.md)."
    )
    rows = [[f"[{design.id}](experiments/{design.id}.md)", design.title] for design in catalogue().values()]
    return "\n\n".join(["# Experiments", intro, table(["experiment", "in one line"], rows)])


def rule(name: str) -> str:
    """docs/reference/experiments/<name>.md"""
    design = catalogue()[name]
    head = f"{design.title}. An [experiment](../experiments.md)."
    return "\n\n".join([f"# {name}", head, _facts(design), sections(design.doc), _asked(design)])


def _facts(design: Design) -> str:
    arms = "; ".join(f"{arm}: {_settings(overrides)}" for arm, overrides in design.arms.items())
    held = "" if design.families == EVERY else f" Only {design.families.why or design.families}."
    marks = "`/10` and `*2` change the value of the original run, an option that ends in `?` is set where the trainer has it."
    said = f"Arms: {arms}. Length: {design.length:.0%} of the run's steps. Seeds of each arm: {design.seeds}.{held}"
    return f"{said} {marks}" if set(arms) & set("/*?") else said


def _settings(overrides: Mapping[str, Any]) -> str:
    return codes(f"{name} = {value}" for name, value in overrides.items()) or "the settings of the run"


def _asked(design: Design) -> str:
    """One folded table for each question: a question may weigh forty causes."""
    return "\n\n".join(["## Questions", *(_weighed(question) for question in design.questions)])


def _weighed(question: Question) -> str:
    causes = registry.causes()
    rows = [
        [f"[{name}](../causes/{name}.md)" if name in causes else name, percent(p)] for name, p in question.yes.items()
    ]
    rows += [["any other cause", percent(question.otherwise)]]
    return folded(f"{question.asks} ({len(rows)} rows)", table(["cause", "probability of yes"], rows))
