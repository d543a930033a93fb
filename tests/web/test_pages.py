"""What a page says, whatever the weights of the day make of a run."""

import re
from dataclasses import replace
from pathlib import Path

from firstbreak.cli.demo import RUN
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Diagnosis, Sample
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


def test_an_empty_folder_says_what_to_put_there() -> None:
    page = pages.listing.page(Path("runs"), [], "/live/", surveyed=True)
    said = " ".join(re.sub("<[^>]+>", "", page.partition('class="nothing">')[2].partition("</div>")[0]).split())
    assert said.startswith(
        "No run was found in this folder. Put the folder or file that your trainer or logger writes here"
    )
    assert "trainer_state.json, progress.csv, metrics.jsonl" in said
    assert "\\" not in said  # no character of it is made visible as an escape


def test_a_row_of_the_list_is_written_again_when_its_run_changes() -> None:
    one = RunSummary(name="one", changed=1.0, action=Action.WATCH, reason="the score fell")
    page = pages.listing.page(Path("runs"), [one], "/live/", surveyed=True)
    assert "the score fell" in page
    worse = replace(one, action=Action.STOP, reason="the reward has the wrong sign")
    later = pages.listing.page(Path("runs"), [worse], "/live/", surveyed=True)
    assert "the score fell" not in later
    assert "the reward has the wrong sign" in later
    assert 'data-verdict="stop"' in later


def test_numbers_beside_a_sample_are_shown_and_the_truth_is_not() -> None:
    meta = {"accuracy": 0.0, "length_bonus": 0.3, "answer": "109", "gold_score": 0.5, "uid": 7}
    shown = pages.samples.sample("run", Sample(step=3.0, completion="yes", reward=0.3, meta=meta), 0, {})
    assert "step 3, reward 0.3, accuracy 0, length_bonus 0.3, 3 characters" in shown
