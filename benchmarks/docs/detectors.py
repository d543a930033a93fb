"""Every detector, by link, with its page."""

from benchmarks.docs import pictures
from benchmarks.docs.docstrings import by_link, codes, sections
from benchmarks.docs.markdown import table
from firstbreak.engine import registry
from firstbreak.engine.checks import Check
from firstbreak.words import link_word


def page() -> str:
    """docs/reference/detectors.md"""
    intro = (
        "A detector looks at signals and reports a symptom: what is wrong, since when, how bad and how sure. The folder is its "
        "link; `firstbreak explain NAME` prints the text below as well."
    )
    known = registry.detectors()
    drawn = (
        f"{sum(name in known for name in pictures.chosen('detectors'))} of {len(known)} have a picture: a run of "
        "[the lab](../lab.md), or a user's script with [the recorder](../recorder.md), in which the detector fires, beside a run "
        "of the same task and seed without the fault. The red line is the onset that was found, the shaded band its interval. "
        "Each of the others says why it has none. The pictures by cause are in [the gallery](../gallery.md)."
    )
    parts = ["# Detectors", intro, drawn]
    for link, found in by_link(registry.detectors()):
        parts += [f"## {link_word(link).capitalize()}", f"*{link.question}*"]
        for item in found:
            asks = [f"Needs {codes(item.needs) or 'nothing'}."]
            asks += [f"Uses {codes(item.uses)} if recorded."] if item.uses else []
            picture = pictures.shown("detectors", item.id, "../pictures/")
            parts += [f"### {item.id}", item.title, *picture, " ".join(asks), sections(item.doc), *_thresholds(item)]
    return "\n\n".join(parts)


def _thresholds(item: Check) -> list[str]:
    rows = [[f"`{name} = {t.default}`", t.unit, t.reason, t.source] for name, t in item.thresholds.items()]
    return [table(["threshold", "unit", "why", "source"], rows)] if rows else []
