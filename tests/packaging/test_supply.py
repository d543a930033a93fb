"""What a release is made from is fixed: versions by their hashes, actions by their commits."""

import re
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.every import every
from tests.lazy import lazy

lock = lazy("benchmarks.lock")

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"(\S+)==(\S+) --hash=sha256:[0-9a-f]{64}")


def test_every_lane_is_locked_with_hashes() -> None:
    def locked(name: str) -> None:
        _, *lines = (lock.FOLDER / f"{name}.txt").read_text().splitlines()
        found = {canonicalize_name(m[1]): m[2] for line in lines if (m := LINE.fullmatch(line))}
        assert len(found) == len(lines)
        for wanted in map(Requirement, lock.lanes()[name]):
            assert wanted.specifier.contains(found[canonicalize_name(wanted.name)], prereleases=True), "run `make lock`"

    every(lock.lanes(), locked)


def test_every_action_is_named_by_its_commit() -> None:
    texts = [path.read_text() for path in (ROOT / "action.yml", *(ROOT / ".github" / "workflows").glob("*.yml"))]
    uses = re.findall(r"uses: *(\S+)", "\n".join(texts))
    assert len(uses) > 5
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []


def test_the_release_installs_nothing_without_a_hash() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    lines = [line for step in workflow["jobs"]["build"]["steps"] for line in step.get("run", "").splitlines()]
    installs = [line for line in lines if "pip install" in line]
    assert installs
    for line in installs:
        assert "--require-hashes" in line or "--no-deps" in line, line
    assert workflow["permissions"] == {}


def test_a_name_that_begins_with_dashes_is_no_option() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].endswith(" --")
    calls = re.findall(r"firstbreak diagnose .*", (ROOT / "action.yml").read_text())
    assert len(calls) == 3
    assert all(' -- "$RUNS"' in call for call in calls)
