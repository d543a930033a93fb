"""The diagnosis for machines that build: JUnit XML, and SARIF 2.1.0 for annotations beside the code."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from firstbreak import __version__
from firstbreak.engine import registry
from firstbreak.model import Action, Diagnosis, Link, LinkStatus, Outcome, Severity
from firstbreak.reports import content, json, reference
from firstbreak.reports.text import visible
from firstbreak.words import link_word

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_STOPS = (Action.STOP, Action.ROLLBACK)


def junit(diagnoses: Sequence[Diagnosis]) -> str:
    """A suite for each run: its verdict and the ten links as cases. What stops a run or is broken has failed."""
    suites = Xml.Element("testsuites", name="firstbreak")
    for dx in diagnoses:
        name = visible(dx.run.path)
        suite = Xml.SubElement(suites, "testsuite", name=name)
        case = Xml.SubElement(suite, "testcase", classname=name, name="verdict")
        said = f"{dx.verdict.summary} {dx.verdict.do_first}"
        _with_text(case, "failure" if dx.verdict.action in _STOPS else "system-out", said)
        for link in Link:
            verdict = dx.links[link]
            case = Xml.SubElement(suite, "testcase", classname=name, name=link_word(link))
            match verdict.status:
                case LinkStatus.BROKEN:
                    _with_text(case, "failure", verdict.why)
                case LinkStatus.NOT_MEASURED | LinkStatus.NOT_APPLICABLE:
                    _with_text(case, "skipped", verdict.why)
                case _:
                    _with_text(case, "system-out", f"{content.status_word(dx, link)}: {verdict.why}")
        for kind in ("failure", "skipped"):
            suite.set({"failure": "failures"}.get(kind, kind), str(len(suite.findall(f"*/{kind}"))))
        suite.set("tests", str(len(suite)))
    Xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suites, encoding="unicode")


def _with_text(case: Xml.Element, kind: str, text: str) -> None:
    """A failure or a skipped case carries its text as the message; what passed as its output."""
    if kind == "system-out":
        Xml.SubElement(case, kind).text = visible(text)
    else:
        Xml.SubElement(case, kind, message=visible(text))


def sarif(diagnoses: Sequence[Diagnosis]) -> str:
    """Every finding of every run as a result; the detectors that found something as rules."""
    found = dict.fromkeys(outcome.detector for dx in diagnoses for outcome in dx.findings)
    driver = {"name": "firstbreak", "semanticVersion": __version__, "rules": [_rule(name) for name in found]}
    results = [_result(dx, outcome) for dx in diagnoses for outcome in dx.findings]
    return json.dump({"$schema": SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]})


def _rule(name: str) -> dict[str, Any]:
    detector = registry.detectors().get(name)
    address = reference.address(name)
    rule: dict[str, Any] = {"id": name}
    if detector is not None:
        rule["shortDescription"] = {"text": detector.title}
        rule["help"] = {"text": f"firstbreak explain {name}"}
    return rule if address is None else {**rule, "helpUri": address}


def _result(dx: Diagnosis, outcome: Outcome) -> dict[str, Any]:
    finding = content.found(outcome)
    facts = ", ".join(content.finding_facts(dx, outcome))
    place = quote(PurePath(dx.run.path).as_posix(), safe="/", errors="surrogateescape")
    return {
        "ruleId": outcome.detector,
        "level": _LEVEL[finding.severity],
        "message": {"text": json.text(f"{finding.message} ({facts})")},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": place}}}],
    }
