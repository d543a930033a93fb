"""The navigation of the site: the last part of mkdocs.yml, made from the files in docs/. A new page needs no entry."""

from collections.abc import Collection
from pathlib import PurePosixPath

#: heading -> its pages; a pattern stands for all pages that no entry names
SECTIONS = {
    "": "index.md quickstart.md concepts.md gallery.md",
    "By task": "trainers/trl.md trainers/sb3.md cluster.md ci.md alerts.md guard.md recorder.md agents.md paper.md preflight.md"
    " audit.md evaluation.md experiments.md web.md *.md",
    "Tutorials": "tutorials/first-diagnosis.md tutorials/guard.md tutorials/preflight.md tutorials/audit.md"
    " tutorials/evaluation.md tutorials/closeout.md tutorials/*.md",
    "Your trainer": "trainers.md trainers/*.md",
    "Reference": "reference/detectors.md reference/causes.md reference/experiments.md reference/audit-rows.md signals.md"
    " readers.md reference/cli.md reference/python.md reference/schema.md reference/*.md",
    "How well it works": "evidence.md report-card.md field.md walkthroughs.md lab.md coverage.md statistics.md judgement.md"
    " preflight-figures.md audit-figures.md evaluation-figures.md experiment-figures.md web-figures.md",
    "Take part": "contributing.md design.md extending.md changelog.md",
}
_START = "nav:\n"


def configuration(present: str, pages: Collection[str]) -> str:
    """mkdocs.yml, with the navigation of these pages in the place of the present one."""
    head, start, _ = present.partition(_START)
    return head + start + "\n".join(_lines(pages)) + "\n"


def _lines(pages: Collection[str]) -> list[str]:
    named = {entry for entries in SECTIONS.values() for entry in entries.split()}
    others = sorted(set(pages) - named)
    lines = []
    for heading, entries in SECTIONS.items():
        found = [page for entry in entries.split() for page in ([entry] if entry in pages else _fitting(entry, others))]
        lines += [f"  - {heading}:"] if heading else []
        lines += [f"{'      ' if heading else '  '}- {page}" for page in found]
    return lines


def _fitting(pattern: str, pages: Collection[str]) -> list[str]:
    """The pages of the pattern's folder; none where the entry is the name of a page that is not there."""
    folder = PurePosixPath(pattern).parent
    return [page for page in pages if PurePosixPath(page).parent == folder] if "*" in pattern else []
