"""Every cause: a table by link, and a page each, with what it is expected to show."""

from benchmarks.docs import pictures
from benchmarks.docs.docstrings import head, sections, tables_by_link
from benchmarks.docs.markdown import table
from firstbreak.engine import registry


def page() -> str:
    """docs/reference/causes.md"""
    intro = (
        "A cause explains symptoms. A diagnosis ranks causes by their probability given everything that was found, and "
        "everything that was looked for and not found. The picture on its page shows a run of "
        "[the lab](../lab.md), or a script with [the recorder](../recorder.md), with this fault beside its healthy twin."
    )
    return "\n\n".join(["# Causes", intro, *tables_by_link("cause", registry.causes())])


def rule(name: str) -> str:
    """docs/reference/causes/<name>.md"""
    item = registry.causes()[name]
    shown = [[f"[{symptom}](../detectors/{symptom}.md)", f"{p:.0%}"] for symptom, p in item.findings.items()]
    return "\n\n".join(
        [
            *head("cause", item),
            *pictures.shown("causes", item.id, "../../pictures/"),
            table(["findings, in the order in which they are expected", "probability in a run with this cause"], shown),
            sections(item.doc),
        ]
    )
