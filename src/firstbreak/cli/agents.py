"""firstbreak agents install"""

import re
from importlib import resources
from pathlib import Path

import click

from firstbreak.readers import Unreadable, why
from firstbreak.written import write

SKILL = Path(".claude/skills/firstbreak/SKILL.md")
BEGIN, END = "<!-- firstbreak: begin -->", "<!-- firstbreak: end -->"


@click.group("agents")
def command() -> None:
    """Teach a coding agent to use firstbreak."""


@command.command("install")
@click.argument("project", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
def install(project: Path) -> None:
    """Write a guide for coding agents into PROJECT: .claude/skills/firstbreak/SKILL.md, and a section of AGENTS.md.

    Both say when to call which command. Called again, it brings them up to date, and leaves the rest of AGENTS.md alone.
    """
    text = resources.files("firstbreak.cli").joinpath("templates", "SKILL.md").read_text("utf-8")
    _, _, guide = text.split("---\n", 2)
    try:
        _write(project / SKILL, text)
        notes = project / "AGENTS.md"
        _write(notes, with_section(notes.read_text("utf-8") if notes.exists() else "", guide.strip()))
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(str(project), why(error), "give a writable folder, with an AGENTS.md in UTF-8") from None


def with_section(notes: str, guide: str) -> str:
    """The notes with the guide between its two marks, in place of an earlier one or at the end."""
    section = f"{BEGIN}\n{guide}\n{END}"
    earlier = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if earlier.search(notes):
        return earlier.sub(lambda _: section, notes, count=1)
    return f"{notes.rstrip()}\n\n{section}\n".lstrip()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, text.encode())
    click.echo(f"written: {path}")
