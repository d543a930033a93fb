"""The pages of docs/ that are made from code and from committed figures: `make docs`. No number in them is typed.

One module makes one page, `pictures` and `demo` draw what the pages show, and `navigation` makes the list of the pages in
mkdocs.yml. `results` reads the figures, `markdown` writes tables, `docstrings` turns the code's own words into text.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks.docs import (
    agents,
    audit,
    audit_rows,
    catalogue,
    causes,
    command_line,
    coverage,
    demo,
    detectors,
    evaluation,
    evidence,
    experiments,
    field,
    gallery,
    guard,
    judgement,
    pictures,
    preflight,
    python,
    readers,
    schema,
    security,
    signals,
    statistics,
    trainers,
    walkthroughs,
    web,
)
from firstbreak import dialects

ROOT = Path(__file__).resolve().parents[2]

#: path below docs/ -> what makes it
PAGES: dict[str, Callable[[], str]] = {
    "reference/detectors.md": detectors.page,
    "reference/causes.md": causes.page,
    "reference/experiments.md": catalogue.page,
    "reference/audit-rows.md": audit_rows.page,
    "reference/cli.md": command_line.page,
    "reference/python.md": python.page,
    "reference/schema.md": schema.page,
    "reference/diagnosis.schema.json": schema.published,
    "trainers.md": trainers.page,
    "agents.md": agents.page,
    "security.md": security.page,
    "changelog.md": (ROOT / "CHANGELOG.md").read_text,
    "contributing.md": lambda: (ROOT / "CONTRIBUTING.md").read_text("utf-8").replace("](docs/", "]("),
    "web-figures.md": web.page,
    **{
        f"trainers/{name}.md": (lambda name=name: trainers.trainer(name))
        for name in dialects.dialects()
        if name != "generic"
    },
    "../README.md": evidence.first_page("README.md"),
    "index.md": evidence.first_page("docs/index.md"),
    "evidence.md": evidence.page,
    "gallery.md": gallery.page,
    "pictures/demo.svg": demo.picture,
    "pictures/demo-report.html": demo.report,
    **{
        f"pictures/{kind}/{name}.svg": (lambda kind=kind, name=name: pictures.made(kind, name).svg)
        for kind in ("detectors", "causes")
        for name in pictures.chosen(kind)
    },
    "guard.md": guard.page,
    "signals.md": signals.page,
    "coverage.md": coverage.page,
    "field.md": field.page,
    "readers.md": readers.page,
    "statistics.md": statistics.page,
    "judgement.md": judgement.page,
    "walkthroughs.md": walkthroughs.page,
    "preflight-figures.md": preflight.page,
    "audit-figures.md": audit.page,
    "evaluation-figures.md": evaluation.page,
    "experiment-figures.md": experiments.page,
}
