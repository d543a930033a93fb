"""firstbreak new KIND NAME"""

from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path
from string import Template

import click

from firstbreak.model import Link

KINDS = ("detector", "cause", "reader", "dialect", "fault")
#: kind -> folder of the module and of its test in a checkout of firstbreak
HOMES = {
    "detector": ("src/firstbreak/detectors/{link}", "tests/detectors/{link}"),
    "cause": ("src/firstbreak/causes/{link}", "tests/causes/{link}"),
    "reader": ("src/firstbreak/readers", "tests/readers"),
    "dialect": ("src/firstbreak/dialects", "tests/dialects"),
    "fault": ("src/firstbreak/lab/faults/{link}", "tests/lab"),
}
OF_A_LINK = frozenset({"detector", "cause", "fault"})


@click.command("new")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", metavar="NAME")
@click.option(
    "--into",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="A checkout of firstbreak, or the package folder of a plugin of your own.  [default: here]",
)
def command(kind: str, name: str, into: Path) -> None:
    """Write a new detector, cause, reader, dialect or fault, and its test: two files, and no list to edit.

    NAME is reward/my-check for what belongs to a link of the loop, my-format otherwise. The test fails until its TODOs
    are done.
    """
    link, ident = _parsed(kind, name)
    module = ident.replace("-", "_")
    own = (into / "src" / "firstbreak" / "model.py").exists()
    if kind == "fault" and not own:
        _refuse(f"{into}: a fault belongs to the lab; give a checkout of firstbreak with --into")
    home, tests = HOMES[kind] if own else (".", ".")
    place = into / home.format(link=link) / f"{module}.py"
    test = into / tests.format(link=link) / f"test_{module}.py"
    taken = next((path for path in (place, test) if path.exists()), None)
    if taken is not None:
        _refuse(f"{taken}: there is such a file already; take another name")
    words = _words(ident, module, link, own)
    for path, template in ((place, f"{kind}.txt"), (test, f"test_{kind}.txt")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(template, words), "utf-8")
        click.echo(path)
    if not own:
        click.echo(
            f'\nIn pyproject.toml:\n\n[project.entry-points."firstbreak.{kind}s"]\n{ident} = "YOUR_PACKAGE.{module}"'
        )


def _parsed(kind: str, name: str) -> tuple[str, str]:
    """Link ("" for what belongs to none) and id."""
    link, _, ident = name.rpartition("/")
    if kind in OF_A_LINK and link not in set(Link):
        _refuse(f"{name}: a {kind} belongs to a link: LINK/my-name, with a link of {', '.join(Link)}")
    if kind not in OF_A_LINK and link:
        _refuse(f"{name}: a {kind} belongs to no link; leave {link}/ out")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", ident):
        _refuse(f"{name}: a name is lower-case words joined by hyphens, such as reward-flat")
    return link, ident


def _words(ident: str, module: str, link: str, own: bool) -> dict[str, str]:
    """What the templates leave open. A plugin lies in no link's folder, so its module names the link."""
    named = f"\nLINK = Link.{link.upper()}\n" if link and not own else ""
    return {
        "id": ident,
        "module": module,
        "cause": ident,
        "link": named,
        "link_import": "Link, " if named else "",
        "link_also": ", Link" if named else "",
    }


def _filled(template: str, words: dict[str, str]) -> str:
    text = resources.files("firstbreak.cli").joinpath("templates").joinpath(template).read_text("utf-8")
    return Template(text).substitute(words)


def _refuse(line: str) -> None:
    click.echo(f"firstbreak: new: {line}", err=True)
    sys.exit(2)
