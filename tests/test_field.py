"""The field: what was read is what is scored, and a file that is another one now is not scored."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.answers import Answer
from benchmarks.field import fetch, score
from benchmarks.field.index import PARTS, Reading, by_run, readings
from benchmarks.field.score import Said

from firstbreak.model import Link

pytestmark = pytest.mark.thorough

READING = Reading(
    id="a-run",
    repository="someone/some-rl",
    commit="0" * 40,
    paths=("logs/run/progress.csv", "logs/run/config.json"),
    blobs=("", ""),
    domain="control",
    trainer="SB3 PPO",
    verdict="broken",
    link=Link.ADVANTAGE,
    acceptable=(Link.POLICY_UPDATE,),
    onset=0.0,
    confidence="high",
    basis="curves",
    note="the explained variance stays at 0",
    reader="A",
)
FILES = {"logs/run/progress.csv": b"step,reward\n1,2\n", "logs/run/config.json": b'{"gamma": 0.99}'}


def test_the_index_is_complete_and_both_parts_have_runs() -> None:
    found = readings()
    assert {one.part for one in found} == set(PARTS)
    assert all(len(one.paths) == len(one.blobs) > 0 and one.note for one in found)
    assert all(one.link is not None for one in found if one.verdict == "broken")
    assert all(one.link is None for one in found if one.verdict == "healthy")
    assert len({(one.id, one.reader) for one in found}) == len(found)
    assert all(len({one.blobs for one in by}) == 1 for by in by_run(found).values())  # both readers had the same files


def test_runs_of_one_repository_are_in_one_part() -> None:
    parts = {one.repository.lower(): set[str]() for one in readings()}
    for one in readings():
        parts[one.repository.lower()].add(one.part)
    assert all(len(part) == 1 for part in parts.values())


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, Reading]:
    """A folder of clones with the run in it, and its reading."""
    there = tmp_path / "clones" / "someone+some-rl"
    for path, content in FILES.items():
        (there / path).parent.mkdir(parents=True, exist_ok=True)
        (there / path).write_bytes(content)

    def git(*arguments: str) -> str:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(
            ["git", *author, *arguments], cwd=there, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a run")
    blobs = tuple(git("hash-object", path).strip() for path in FILES)
    return there.parent, replace(READING, commit=git("rev-parse", "HEAD").strip(), blobs=blobs)


def test_a_run_is_fetched_as_it_was_read(tmp_path: Path, clone: tuple[Path, Reading]) -> None:
    clones, reading = clone
    folder = fetch.bring(reading, tmp_path / "runs", fetch.clones(clones))
    assert folder is not None
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        Path(name).name: content for name, content in FILES.items()
    }


def test_a_file_that_is_not_what_was_read_is_not_scored(tmp_path: Path, clone: tuple[Path, Reading]) -> None:
    clones, reading = clone
    other = replace(reading, blobs=(reading.blobs[0], fetch.git_hash(b"something else")))
    assert fetch.bring(other, tmp_path / "runs", fetch.clones(clones)) is None
    assert (
        fetch.bring(replace(reading, id="none", repository="no/one"), tmp_path / "runs", fetch.clones(clones)) is None
    )
    assert not list((tmp_path / "runs").glob("*"))


def said(id_: str, link: Link | None, *, first: Link, second: Link, stop: bool = False) -> Said:
    links = {first.value: (0.5, 0.5), second.value: (0.3, 0.3)}
    return Said(
        id=id_,
        answer=Answer(
            link=link, stop=stop, cause="", healthy=0.2, links=links, spoke={}, mute=(), blind=(), also=None, stated=0.6
        ),
    )


def test_a_link_counts_as_the_readers_accept_it() -> None:
    well = replace(READING, id="well", verdict="healthy", link=None, acceptable=())
    unsure = replace(well, reader="B", verdict="unclear")
    figures = score.figures(
        [
            said("a-run", Link.POLICY_UPDATE, first=Link.POLICY_UPDATE, second=Link.ADVANTAGE),
            said("well", Link.REWARD, first=Link.REWARD, second=Link.ADVANTAGE),
        ],
        [READING, well],
    )
    shares = {name: value["share"] for name, value in figures.items() if isinstance(value, dict)}
    assert shares["link first, strict"] == 0
    assert shares["link first, accepted"] == shares["link among two, accepted"] == shares["found"] == 1
    assert shares["healthy accused"] == 1
    assert shares["healthy stopped"] == 0
    assert score.figures([said("well", None, first=Link.REWARD, second=Link.ADVANTAGE)], [well, unsure])["healthy"] == 0


def test_a_run_that_cannot_be_read_is_a_miss_and_said_so() -> None:
    unread = Said(id="a-run", answer=None, problem="a-run: no log was found")
    figures = score.figures([unread], [READING])
    assert figures["not read"] == 1
    assert figures["found"]["share"] == figures["link first, accepted"]["share"] == 0
    assert "no log was found" in score.misses([unread], [READING])[0]
