"""What a coding agent is given: a brief of a run, and a guide in its project."""

import json
import re
from pathlib import Path

from click.testing import CliRunner, Result

from firstbreak.cli import COMMANDS, app
from firstbreak.cli.agents import SKILL
from firstbreak.cli.demo import RUN
from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import agent
from tests.make import write_jsonl


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_a_brief_says_the_most_telling_first_and_shows_every_curve_in_numbers() -> None:
    shown = ask("diagnose", str(RUN), "--format", "brief").stdout
    dx = diagnose(read(RUN))
    headings = [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")]
    assert headings == [heading.split()[0] for heading, _, _ in agent.SECTIONS if heading.split()[0] in headings]
    assert {"READ", "VERDICT", "SCORE", "FINDINGS", "SUSPECTS", "COMMANDS", "CURVES"} <= set(headings)
    assert dx.verdict.do_first in shown
    for outcome in dx.findings:
        assert outcome.detector in shown
    rows = shown[shown.index("CURVES") :]
    assert all(dx.run.series[name].raw in rows for name in ("reward.mean", "policy.entropy", "kl.ref", "grad.norm"))
    assert re.search(r"look at: .*`", shown)


def test_a_brief_of_many_curves_with_long_names_is_bounded(tmp_path: Path) -> None:
    more = {f"{'long' * 20}/{i}": float(i) for i in range(300)}
    write_jsonl(tmp_path / "metrics.jsonl", 60, extra=more)
    brief = agent.render(diagnose(read(tmp_path)))
    assert len(brief) <= agent.MOST
    assert re.search(r"and \d+ more", brief)
    assert "\x1b" not in brief


def test_a_brief_names_curves_that_are_equal_in_every_row(tmp_path: Path) -> None:
    rows = [
        {"step": i, "reward": i / 50, "tokens_in_loss": 30 + i % 7, "tokens_of_tools": 30 + i % 7} for i in range(40)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    brief = agent.render(diagnose(read(tmp_path)))
    assert "equal in every row: tokens_in_loss, tokens_of_tools" in brief


def test_a_probability_stands_beside_what_it_rests_on() -> None:
    shown = agent.render(diagnose(read(RUN)))
    suspects = shown[shown.index("SUSPECTS") : shown.index("COMMANDS")]
    assert all("rests on" in line for line in suspects.splitlines() if re.match(r"  \d+ %", line))


def test_the_guide_is_installed_once_and_leaves_the_notes_alone(tmp_path: Path) -> None:
    notes = tmp_path / "AGENTS.md"
    notes.write_text("# My project\n\nRun `make`.\n")
    for _ in range(2):
        assert ask("agents", "install", str(tmp_path)).exit_code == 0
    text = notes.read_text()
    assert text.startswith("# My project\n\nRun `make`.\n")
    assert text.count("# firstbreak\n") == 1
    skill = (tmp_path / SKILL).read_text()
    assert re.match(r"---\nname: firstbreak\ndescription: .+\n---\n", skill)
    named = set(re.findall(r"^\s*firstbreak ([a-z]+) ", skill, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_a_project_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe\x00")
    result = ask("agents", "install", str(tmp_path))
    assert result.exit_code == 2 or "AGENTS.md in UTF-8" in str(result.exception)
