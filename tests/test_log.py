"""LOG.md: its table of contents leads to every section, and its index names everything that was dropped or not fixed."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise
from pathlib import Path

TEXT = (Path(__file__).parent.parent / "LOG.md").read_text()
BEGIN = TEXT.index("\n## ")  # the first day; before it lies the table of contents
CONTENTS, DAYS = TEXT[:BEGIN], TEXT[BEGIN:]
HEADINGS = re.findall(r"^(#+) (.+)$", TEXT, re.MULTILINE)
TITLES = [title for _, title in HEADINGS]
SECTIONS = [title for level, title in HEADINGS if level == "###"]
LINKS = re.findall(r"\[([^]]+)\]\(#([^)]+)\)", TEXT)
MARK = re.compile(r"- \*\*(Tried and dropped|Not fixed): (.+?)\.?\*\*")
INDEX = re.compile(r"^- (.+): (dropped|not fixed), \[(.+)\]\(#(.+)\)$", re.MULTILINE)
STATUS = {"Tried and dropped": "dropped", "Not fixed": "not fixed"}


def _anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _marked() -> list[tuple[str, str, str]]:
    """Name, status and section of every bullet that is marked as tried and dropped, or as not fixed."""
    found, section = [], ""
    for line in re.sub(r"\n +(?!- )", " ", DAYS).splitlines():  # one line for each bullet
        if line.startswith("### "):
            section = line.removeprefix("### ")
        if mark := MARK.match(line.strip()):
            found.append((mark[2], STATUS[mark[1]], section))
    return found


def test_days_are_dates_the_newest_first() -> None:
    days = [date.fromisoformat(title) for level, title in HEADINGS if level == "##"]
    assert days
    assert all(newer > older for newer, older in pairwise(days))


def test_a_section_carries_the_date_of_its_day() -> None:
    """So its anchor is its own, and stays the same when a newer day has a section on the same topic."""
    day = ""
    for level, title in HEADINGS:
        if level == "##":
            day = title
        assert level != "###" or title.endswith(f", {day}"), title
    assert len({_anchor(title) for title in TITLES}) == len(TITLES)


def test_links_lead_to_headings() -> None:
    anchors = {_anchor(title) for title in TITLES}
    assert [target for _, target in LINKS if target not in anchors] == []


def test_the_topics_list_every_section() -> None:
    topics = re.findall(r"^- (.+?): (\[\d.+)$", CONTENTS, re.MULTILINE)
    listed = {topic: re.findall(r"\[(.+?)\]\(#(.+?)\)", links) for topic, links in topics}
    days: dict[str, list[tuple[str, str]]] = {}
    for section in SECTIONS:
        topic, day = section.rsplit(", ", 1)
        days.setdefault(topic, []).append((day, _anchor(section)))
    assert listed == days
    assert list(listed) == sorted(listed, key=str.casefold)


def test_the_index_names_what_was_dropped_or_not_fixed() -> None:
    listed = INDEX.findall(CONTENTS)
    assert sorted((name, status, section) for name, status, section, _ in listed) == sorted(_marked())
    assert [name for name, _, section, target in listed if target != _anchor(section)] == []
    names = [re.sub(r"[^\w ]", "", name).casefold() for name, *_ in listed]
    assert names == sorted(names)


def test_what_was_dropped_or_not_fixed_is_marked_in_one_way() -> None:
    said = re.findall(r"tried and dropped|not (?:fixed|mended)|left unmended", DAYS, re.IGNORECASE)
    assert len(said) == len(_marked())
