"""Every detector: a table by link, and a page each."""

from benchmarks.docs import pictures
from benchmarks.docs.docstrings import codes, head, sections, tables_by_link
from benchmarks.docs.markdown import table
from firstbreak.engine import registry
from firstbreak.engine.checks import Check


def page() -> str:
    """docs/reference/detectors.md"""
    intro = (
        "A detector looks at signals and reports a symptom: what is wrong, since when, how bad and how sure. "
        "`firstbreak explain NAME` prints the text of its page as well."
    )
    known = registry.detectors()
    drawn = (
        f"{sum(name in known for name in pictures.chosen('detectors'))} of {len(known)} have a picture: a run of "
        "[the lab](../lab.md), or a user's script with [the recorder](../recorder.md), in which the detector fires, beside a run "
        "of the same task and seed without the fault. The pictures by cause are in [the gallery](../gallery.md)."
    )
    return "\n\n".join(["# Detectors", intro, drawn, *tables_by_link("detector", known)])


def rule(name: str) -> str:
    """docs/reference/detectors/<name>.md"""
    item = registry.detectors()[name]
    asks = [f"Needs {codes(item.needs) or 'nothing'}."]
    asks += [f"Uses {codes(item.uses)} if recorded."] if item.uses else []
    return "\n\n".join(
        [
            *head("detector", item),
            *pictures.shown("detectors", item.id, "../../pictures/"),
            " ".join(asks),
            sections(item.doc),
            *_thresholds(item),
        ]
    )


def _thresholds(item: Check) -> list[str]:
    rows = [[f"`{name} = {t.default}`", t.unit, t.reason, t.source] for name, t in item.thresholds.items()]
    return [table(["threshold", "unit", "why", "source"], rows)] if rows else []
