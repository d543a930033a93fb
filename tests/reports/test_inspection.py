"""`firstbreak inspect`: every recorded name with what it really is, and what is missing."""

import dataclasses

import numpy as np
import orjson
import pytest
from rich.cells import cell_len

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Checkpoint, Config, Link, LinkStatus, Run, Sample, Samples, Series
from firstbreak.reports import inspection
from firstbreak.reports.text import visible
from tests.reports import fixtures


@pytest.fixture
def run() -> Run:
    values = np.array([0.1, np.nan, 0.3])
    sample = Sample(step=1, prompt="2+2=" * 100, completion="4", reward=1.0, rewards={"correct": 1.0, "format": 0.5})
    return Run(
        path="runs/a",
        formats=("jsonl",),
        trainer="trl",
        algorithm="grpo",
        series=fixtures.named(
            fixtures.curve("reward.mean", values, "reward", every=10),
            fixtures.curve("kl.ref", values, "kl", note="k3 estimator"),
            fixtures.curve("nobody.knows", values, "nobody/knows"),
        ),
        unknown=fixtures.named(fixtures.curve("gpu0/temp", values)),
        duplicates=(fixtures.curve("reward.mean", values, "train/reward"),),
        config=Config(
            values={"learning_rate": 1e-6, "group_size": 8},
            raw={"learning_rate": 1e-6, "num_generations": 8, "fsdp": ""},
            keys={"group_size": "num_generations"},
            defaulted=frozenset({"group_size"}),
        ),
        samples=Samples(lambda: iter([sample]), ("completions.jsonl",)),
        checkpoints=(Checkpoint(step=20, path="checkpoint-20"),),
        files=("log.jsonl",),
        damage=("log.jsonl:7: not JSON; the line was left out",),
        notes=("two restarts were merged",),
    )


def test_every_name_stands_with_what_it_is(run: Run) -> None:
    text = " ".join(inspection.renderable(run).string(100).split())
    for said in (
        "reward → reward.mean (3 points, 1 not a number)",
        "task reward of a completion",
        "kl → kl.ref (3 points, 1 not a number)",
        "; k3 estimator",
        "Metrics: outside the vocabulary (1) nobody/knows → nobody.knows",
        "gpu0/temp (3 points)",
        "train/reward: reward.mean",
        "group_size 8, from num_generations (the trainer's default)",
        "learning_rate 1e-06",
        "First completion 4",
        "correct 1, format 0.5",
        "step 20: checkpoint-20",
        "two restarts were merged",
        "the line was left out",
    ):
        assert said in text


def test_gaps_say_what_to_log_and_leave_out_what_is_there(run: Run) -> None:
    missing = {gap.signal: gap for gap in inspection.gaps(run)}
    assert "reward.mean" not in missing
    assert "kl.ref" not in missing
    assert missing["policy.entropy"].how
    assert missing["policy.entropy"].checks >= 1
    states = diagnose(run).links
    assert inspection.unseen_links(run) == [link for link in Link if states[link].status is LinkStatus.NOT_MEASURED]
    assert "not measured: " in inspection.renderable(run).string()


def test_a_trainer_that_nobody_knows_has_no_options_to_name(run: Run) -> None:
    known, unknown = inspection.gaps(run), inspection.gaps(dataclasses.replace(run, trainer=None))
    assert {gap.how for gap in known} - {gap.how for gap in unknown}


def test_json_holds_everything_and_is_strict(run: Run) -> None:
    payload = orjson.loads(inspection.render_json([run]))
    assert payload == inspection.payload(run)
    assert payload["metrics"][0] | {"meaning": "", "unit": ""} == {
        "logged_as": "reward",
        "source": "trainer_state.json",
        "axis": "step",
        "points": 3,
        "not_finite": 1,
        "first_step": 0,
        "last_step": 20,
        "signal": "reward.mean",
        "link": "reward",
        "unit": "",
        "meaning": "",
        "note": "",
    }
    assert payload["metrics"][1]["note"] == "k3 estimator"
    assert payload["metrics"][2]["link"] is None
    assert payload["not_understood"][0]["logged_as"] == "gpu0/temp"
    assert payload["config"][0] == {"name": "group_size", "option": "num_generations", "value": 8, "defaulted": True}
    assert payload["samples"]["first"]["rewards"] == {"correct": 1.0, "format": 0.5}
    assert len(payload["samples"]["first"]["prompt"]) < 200
    assert payload["gaps"]["signals"]
    assert payload["damage"] == list(run.damage)
    assert len(orjson.loads(inspection.render_json([run, run]))) == 2


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_hostile_run_is_shown_and_does_nothing(width: int, encoding: str) -> None:
    hostile = fixtures.hostile().run
    named = dataclasses.replace(hostile, config=dataclasses.replace(hostile.config, raw={fixtures.HOSTILE: 1}))
    report = inspection.renderable(named).string(width, encoding=encoding)
    assert max(map(cell_len, report.split("\n"))) <= width
    assert not [c for c in report if c != "\n" and visible(c) != c]
    assert "[bold" in report
    assert inspection.render_json([named]).isascii()


def test_an_empty_run_has_a_report() -> None:
    run = Run(path="nothing")
    assert "0 understood" in inspection.renderable(run).string()
    assert inspection.payload(run)["samples"] is None
    empty = Series(name="reward.mean", steps=np.array([]), values=np.array([]))
    assert (
        inspection.payload(dataclasses.replace(run, series={"reward.mean": empty}))["metrics"][0]["first_step"] is None
    )
