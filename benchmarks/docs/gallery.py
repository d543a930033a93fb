"""What faults look like: one picture for each cause that the lab can make, by link."""

from benchmarks.docs import pictures
from benchmarks.docs.docstrings import by_link
from firstbreak.engine import registry
from firstbreak.words import link_word


def page() -> str:
    """docs/gallery.md"""
    drawn = pictures.chosen("causes")
    known = registry.causes()
    parts = [
        "# What it looks like when ...",
        "Each picture is a real run of [the lab](lab.md), or of a user's script with [the recorder](recorder.md), in which one "
        "thing was broken on purpose, beside its healthy twin: "
        "the same task, trainer and seed without the fault, on the same scale. The red line is the step at which the fault "
        "begins. Many faults look alike in the score, which is why a diagnosis needs the other curves. The name of the cause "
        "leads to its page; [detectors](reference/detectors.md) have pictures of their own. [Causes](reference/causes.md) "
        "without a picture here are those that the lab has no run of.",
    ]
    for link, found in by_link({item.id: item for item in known.values() if item.id in drawn}):
        parts.append(f"## {link_word(link).capitalize()}")
        for item in found:
            head = f"... {item.title[0].lower()}{item.title[1:].rstrip('.')}"
            parts += [
                f"### {head}",
                *pictures.shown("causes", item.id, "pictures/")[:-1],
                f"Cause: [{item.id}](reference/causes/{item.id}.md).",
            ]
    return "\n\n".join(parts)
