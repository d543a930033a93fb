"""What a page says, whatever the weights of the day make of a run."""

from __future__ import annotations

import re
from dataclasses import replace

from firstbreak.cli.demo import RUN
from firstbreak.diagnosis.catalogue import catalogue
from firstbreak.diagnosis.diagnose import diagnose
from firstbreak.model import Diagnosis
from firstbreak.readers.read import read
from firstbreak.serve.web import pages
from firstbreak.serve.web.run_store import RunSummary


def proposed(dx: Diagnosis) -> list[str]:
    """The experiments on the page, in order."""
    page = pages.run.page(RunSummary(name="demo", changed=0.0), dx, "/live/demo", [], {}, [])
    section = page.partition('id="experiments"')[2].partition("</section>")[0]
    assert "<button" not in section  # nothing is started from a page
    return re.findall(r"firstbreak experiment run (\S+) ", section.replace("<wbr>", ""))


def test_experiments_are_proposed_where_causes_compete_and_only_there() -> None:
    dx = diagnose(read(RUN))
    even = tuple(replace(cause, probability=1 / len(dx.causes)) for cause in dx.causes)
    sure = tuple(replace(cause, probability=float(i == 0)) for i, cause in enumerate(dx.causes))
    names = proposed(replace(dx, causes=even))
    assert names
    assert set(names) <= set(catalogue())
    assert proposed(replace(dx, causes=sure)) == []
