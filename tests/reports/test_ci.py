"""JUnit and SARIF: what a CI system shows is what the diagnosis says."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner

from firstbreak.cli.demo import RUN
from firstbreak.cli.diagnose import command
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Diagnosis, Link, LinkStatus
from firstbreak.readers.read import read
from firstbreak.reports import ci
from tests.make import write_jsonl
from tests.there import there


@cache
def demo() -> Diagnosis:
    return diagnose(replace(read(RUN), path="my run\x1b[31m"))


def test_a_broken_run_fails_and_what_was_not_measured_is_skipped() -> None:
    suite = there(ElementTree.fromstring(ci.junit([demo()]).encode()).find("testsuite"))
    cases = {case.get("name"): case for case in suite}
    assert len(cases) == 11 == int(suite.get("tests", 0))
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"verdict", "reward"}
    assert int(suite.get("failures", 0)) == 2
    unseen = {link.value.replace("_", " ") for link in Link if demo().links[link].status is LinkStatus.NOT_MEASURED}
    assert {name for name, case in cases.items() if case.find("skipped") is not None} == unseen
    message = there(cases["verdict"].find("failure"))
    assert demo().verdict.summary in message.get("message", "")


def test_a_run_that_goes_on_fails_nothing(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 60)
    suites = ElementTree.fromstring(ci.junit([diagnose(read(tmp_path / "one")), demo()]).encode())
    assert [int(suite.get("failures", -1)) for suite in suites] == [0, 2]


def test_every_finding_is_a_result_of_a_rule() -> None:
    run = json.loads(ci.sarif([demo(), demo()]))["runs"][0]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert [result["ruleId"] for result in run["results"]] == [o.detector for o in demo().findings] * 2
    assert {result["ruleId"] for result in run["results"]} == rules
    assert {result["level"] for result in run["results"]} <= {"error", "warning", "note"}
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "my%20run%1B%5B31m"  # an address, whatever the folder is called


def test_the_command_writes_both(tmp_path: Path) -> None:
    for kind in ("junit", "sarif"):
        out = tmp_path / kind
        done = CliRunner().invoke(command, [str(RUN), "--format", kind, "-o", str(out)])
        assert done.exit_code == 1, done.output
        assert "reward" in out.read_text()
