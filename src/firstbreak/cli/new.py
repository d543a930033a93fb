"""firstbreak new KIND NAME"""

import re
import sys
from importlib import resources
from pathlib import Path
from string import Template

import click

from firstbreak import written
from firstbreak.model import Link
from firstbreak.values import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of addition: where its two files go in a checkout, and how a plugin names it."""

    module: str  #: path of the file, with {link} and {file}; a table gets a row
    test: str  #: path of its test
    group: str = ""  #: entry-point group of plugins; empty where no plugin can add one
    of_a_link: bool = False  #: it belongs to a link of the loop, and NAME is LINK/my-name


KINDS = {
    "detector": Kind(
        "src/firstbreak/knowledge/detectors/{link}/{file}.py",
        "tests/detectors/{link}/test_{file}.py",
        group="firstbreak.detectors",
        of_a_link=True,
    ),
    "cause": Kind(
        "src/firstbreak/knowledge/causes/{link}.toml",
        "tests/causes/test_{file}.py",
        group="firstbreak.causes",
        of_a_link=True,
    ),
    "experiment": Kind(
        "src/firstbreak/knowledge/experiments/catalogue.toml",
        "tests/experiments/catalogue/test_{file}.py",
        group="firstbreak.experiments",
    ),
    "audit-row": Kind(
        "src/firstbreak/audit/rows/{file}.py",
        "tests/audit/rows/test_{file}.py",
        group="firstbreak.audit.rows",
        of_a_link=True,
    ),
    "dialect": Kind("src/firstbreak/dialects/{file}.py", "tests/dialects/test_{file}.py", group="firstbreak.dialects"),
    "reader": Kind("src/firstbreak/readers/{file}.py", "tests/readers/test_{file}.py", group="firstbreak.readers"),
    "fault": Kind("lab/src/firstbreak_lab/faults/{link}/{file}.py", "tests/lab/faults/test_{file}.py", of_a_link=True),
}


@click.command("new")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name", metavar="NAME")
@click.option(
    "--into",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="A checkout of firstbreak, or the package folder of your own plugin.  [default: the current folder]",
)
def command(kind: str, name: str, into: Path) -> None:
    """Write a file of this KIND, or a row of its table, and its test. There is no list to edit.

    NAME is LINK/my-name (reward/my-check) for a detector, a cause, an audit row or a fault, and my-name for the rest.
    Both files are a small example that works and passes all tests. Replace its texts and its rule.
    """
    chosen = KINDS[kind]
    link, ident = _parsed(kind, name)
    file = ident.replace("-", "_")
    own = (into / "src" / "firstbreak" / "model.py").exists()
    if not own and not chosen.group:
        _refuse(f"{into}: a {kind} belongs to the lab; give a checkout of firstbreak with --into")
    places = (chosen.module, chosen.test) if own else ("{file}.py", "test_{file}.py")
    module, test = (into / place.format(link=link, file=file) for place in places)
    for path in (module, test):
        if path.exists() and path.suffix == ".py":
            _refuse(f"{path}: there is such a file already; take another name")
    words = _words(ident, file, link, own)
    if kind == "fault":
        from firstbreak.engine.registry import causes

        words["cause"] = next(
            (cause.id for cause in causes().values() if cause.link == link), ""
        )  # it is an example of it
    first = _filled(f"{kind}.txt", words) if module.suffix == ".py" else _with_row(module, kind, words)
    for path, text in ((module, first), (test, _filled(f"test_{kind}.txt", words))):
        path.parent.mkdir(parents=True, exist_ok=True)
        written.write(path, text.encode())
        click.echo(path)
    if own:
        click.echo("\nReplace the example in both files, then: python -m benchmarks.docs")
    else:
        click.echo(f'\nIn pyproject.toml:\n\n[project.entry-points."{chosen.group}"]\n{ident} = "YOUR_PACKAGE.{file}"')


def _parsed(kind: str, name: str) -> tuple[str, str]:
    """Link ("" for kinds without a link) and id."""
    link, _, ident = name.rpartition("/")
    if KINDS[kind].of_a_link and link not in set(Link):
        _refuse(f"{name}: a {kind} belongs to a link: LINK/my-name, with a link of {', '.join(Link)}")
    if not KINDS[kind].of_a_link and link:
        _refuse(f"{name}: a {kind} belongs to no link; leave {link}/ out")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", ident):
        _refuse(f"{name}: a name must be lower-case words joined by hyphens, for example reward-flat")
    return link, ident


def _words(ident: str, file: str, link: str, own: bool) -> dict[str, str]:
    """What the templates leave open. In a checkout the folder is the link; in a plugin the module names it."""
    named = f"from firstbreak.model import Link\n\nLINK = Link.{link.upper()}\n" if link and not own else ""
    return {
        "id": ident,
        "file": file,
        "words": ident.replace("-", " "),
        "link": link,
        "link_name": link.upper(),
        "link_alone": named,
        "link_import": "Link, " if named else "",
        "link_line": f"LINK = Link.{link.upper()}\n" if named else "",
    }


def _with_row(table: Path, kind: str, words: dict[str, str]) -> str:
    """A table with one more row."""
    rows = table.read_text("utf-8") if table.exists() else ""
    if f"[{words['id']}]" in rows.splitlines():
        _refuse(f"{table}: there is such a row already; take another name")
    return f"{rows}\n{_filled(f'{kind}_row.txt', words)}".lstrip()


def _filled(template: str, words: dict[str, str]) -> str:
    text = resources.files("firstbreak.cli").joinpath("templates").joinpath(template).read_text("utf-8")
    return Template(text).substitute(words)


def _refuse(line: str) -> None:
    click.echo(f"firstbreak: new: {line}", err=True)
    sys.exit(2)
