"""The pages that are made from code and from committed figures. No number in them is typed.

`PAGES` are committed, for those who read the repository: `make docs`. `BUILT` are on the site alone: `make site` makes them, in
seconds. One module makes one page, `pictures` and `demo` draw what the pages show, and `navigation` makes the list of the pages
in mkdocs.yml. `results` reads the figures, `markdown` writes tables, `docstrings` turns the code's own words into text.
"""

import json
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from firstbreak import dialects
from firstbreak.engine import registry
from firstbreak.engine.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[2]
Pages = dict[str, Callable[[], str]]  #: path below docs/ -> what makes it


def _made(module: str, function: str = "page", *of: str) -> str:
    """What a module of this package makes. It is imported only then."""
    text: str = getattr(import_module(f"benchmarks.docs.{module}"), function)(*of)
    return text


def _whole(modules: str, place: str = "{}.md") -> Pages:
    """Pages that are called like the modules that make them."""
    return {place.format(name): partial(_made, name) for name in modules.split()}


def _copy(name: str) -> str:
    """A page of the repository's root, with its links as they are in docs/."""
    return (ROOT / name).read_text("utf-8").replace("](docs/", "](")


PAGES: Pages = {
    **_whole("trainers agents security evidence guard readers"),
    **{
        f"trainers/{name}.md": partial(_made, "trainers", "trainer", name)
        for name in dialects.dialects()
        if name != "generic"
    },
    "../README.md": partial(_made, "evidence", "first_page", "README.md"),
    "index.md": partial(_made, "evidence", "first_page", "docs/index.md"),
    "pictures/demo.svg": partial(_made, "demo", "picture"),
}
#: a page for each rule, in a folder beside the page that lists them
RULES: Pages = {
    f"reference/{kind}/{name}.md": partial(_made, module, "rule", name)
    for kind, module, found in (
        ("detectors", "detectors", registry.detectors()),
        ("causes", "causes", registry.causes()),
        ("experiments", "catalogue", catalogue()),
    )
    for name in found
}
BUILT: Pages = {
    **RULES,
    **_whole("detectors causes python schema", "reference/{}.md"),
    "reference/experiments.md": partial(_made, "catalogue"),
    "reference/audit-rows.md": partial(_made, "audit_rows"),
    "reference/cli.md": partial(_made, "command_line"),
    "reference/diagnosis.schema.json": partial(_made, "schema", "published"),
    **_whole("gallery signals walkthroughs coverage field statistics judgement"),
    **_whole("audit preflight evaluation web", "{}-figures.md"),
    "experiment-figures.md": partial(_made, "experiments"),
    "changelog.md": partial(_copy, "CHANGELOG.md"),
    "contributing.md": partial(_copy, "CONTRIBUTING.md"),
    **{
        f"pictures/{kind}/{name}.svg": partial(_made, "pictures", "packed", name)
        for kind, names in json.loads(Path(__file__).with_name("pictured.json").read_text("utf-8")).items()
        for name in names
    },
}
