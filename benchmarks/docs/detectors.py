"""Every detector, by link, with its page."""

from __future__ import annotations

from benchmarks.docs.docstrings import by_link, codes, sections
from firstbreak.diagnosis import registry
from firstbreak.reports import story


def page() -> str:
    """docs/reference/detectors.md"""
    intro = (
        "A detector looks at signals and reports a symptom: what is wrong, since when, how bad and how sure. The folder is its "
        "link; the text below is its docstring, which `firstbreak explain NAME` prints as well."
    )
    parts = ["# Detectors", intro]
    for link, found in by_link(registry.detectors()):
        parts += [f"## {story.link_word(link).capitalize()}", f"*{link.question}*"]
        for item in found:
            limits = ", ".join(f"`{name} = {value}`" for name, value in item.thresholds.items()) or "none"
            asks = [f"Needs {codes(item.needs) or 'nothing'}."]
            asks += [f"Uses {codes(item.uses)} if recorded."] if item.uses else []
            parts += [f"### {item.id}", item.title, f"{' '.join(asks)} Thresholds: {limits}.", sections(item.doc)]
    return "\n\n".join(parts)
