"""What tests ask of the report of a pre-flight check."""

import click

from firstbreak.model import Outcome, Status
from firstbreak.preflight import Report
from tests.command import printed


def page(command: click.Command, *arguments: object, code: int = 0) -> str:
    """What a check prints, which ends with this exit code, in at most 80 columns."""
    said = printed(command, *arguments, code=code)
    assert max(map(len, said.splitlines())) <= 80
    return said


def outcome(report: Report, probe: str) -> Outcome:
    """What one probe answered."""
    return next(o for o in report.outcomes if o.detector == probe)


def message(report: Report, probe: str) -> str:
    """What one probe found."""
    found = outcome(report, probe)
    assert found.finding is not None, found
    return found.finding.message


def found(report: Report) -> dict[str, str]:
    """Probe -> what it found; no probe crashed."""
    assert not [o.note for o in report.outcomes if o.status is Status.CRASHED]
    return {o.detector: o.finding.message for o in report.findings if o.finding is not None}
