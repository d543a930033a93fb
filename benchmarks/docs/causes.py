"""Every cause, by link, with what it is expected to show."""

from benchmarks.docs import pictures
from benchmarks.docs.docstrings import by_link, sections
from benchmarks.docs.markdown import table
from firstbreak.engine import registry
from firstbreak.words import link_word


def page() -> str:
    """docs/reference/causes.md"""
    intro = (
        "A cause explains symptoms. A diagnosis ranks causes by their probability given everything that was found, and "
        "everything that was looked for and not found. A picture shows a run of "
        "[the lab](../lab.md), or a script with [the recorder](../recorder.md), with this fault beside its "
        "healthy twin; the red line is the step at which the fault begins."
    )
    parts = ["# Causes", intro]
    for link, found in by_link(registry.causes()):
        parts.append(f"## {link_word(link).capitalize()}")
        for item in found:
            shown = [[f"[{name}](detectors.md#{name})", f"{p:.0%}"] for name, p in item.findings.items()]
            symptoms = table(["shows, in this order", "probability"], shown)
            picture = pictures.shown("causes", item.id, "../pictures/")
            parts += [f"### {item.id}", f"{item.title}.", *picture, symptoms, sections(item.doc)]
    return "\n\n".join(parts)
