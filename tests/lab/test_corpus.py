"""A corpus is built once, goes on where it stopped, and is read back as it was made."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import cluster
from tests.lazy import lazy

lab = lazy("firstbreak_lab")
corpus = lazy("firstbreak_lab.corpus")
bases = lazy("firstbreak_lab.bases")
running = lazy("firstbreak_lab.running")


def pretend(job: corpus.Job) -> bytes:
    """Stands in for training: an archive with the files that a run leaves."""
    import tempfile

    if job.seed == 13:
        raise RuntimeError("unlucky\nseed")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "run").mkdir()
        (folder / "run" / "metrics.jsonl").write_text(f'{{"step": 1, "seed": {job.seed}}}\n')
        label = dict(link=None, cause=None, onset=None, steps=1, score=0.5, reported=0.5)
        spent = dict(seconds=0.0, cpu_seconds=0.0, peak_gb=0.0)
        (folder / "label.json").write_text(json.dumps({**vars(job), **label, **spent}))
        return corpus._pack(folder)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[corpus.Job]:
    """The jobs that were trained, with the training replaced by `pretend` and the pool by a loop."""
    jobs: list[corpus.Job] = []

    def loop(missing: list[corpus.Job], processes: int, *_: object) -> Iterator[corpus.JobResult[corpus.Job, bytes]]:
        for job in missing:
            jobs.append(job)
            try:
                yield job, pretend(job), ""
            except RuntimeError as error:
                yield job, None, corpus._line(error)

    monkeypatch.setattr(corpus, "on_cores", loop)
    return jobs


def jobs(*seeds: int) -> list[corpus.Job]:
    return [corpus.Job("untouched", "language/grpo-sort", 0.0, seed) for seed in seeds]


def test_a_build_goes_on_where_it_stopped(tmp_path: Path, made: list[corpus.Job]) -> None:
    corpus.build(tmp_path, jobs(0, 1))
    corpus.build(tmp_path, jobs(0, 1, 2))
    assert [job.seed for job in made] == [0, 1, 2]


def test_a_failed_run_is_listed_and_tried_again(tmp_path: Path, made: list[corpus.Job]) -> None:
    seen: list[corpus.Progress] = []
    manifest = corpus.build(tmp_path, jobs(0, 13), report=seen.append)
    assert manifest["failed"] == {"untouched/language-grpo-sort-0-13.tar.xz": "RuntimeError: unlucky"}
    assert [(p.done, p.failed, p.total) for p in seen] == [(1, 0, 2), (1, 1, 2)]
    corpus.build(tmp_path, jobs(0, 13))
    assert [job.seed for job in made] == [0, 13, 13]


def test_what_was_made_is_read_back(tmp_path: Path, made: list[corpus.Job]) -> None:
    corpus.build(tmp_path, jobs(7))
    ((archive, found),) = corpus.labels(tmp_path).items()
    assert isinstance(found, running.Label)
    assert (found.seed, found.link) == (7, None)
    with corpus.opened(tmp_path, archive) as (folder, opened):
        assert opened == found
        assert (folder / "metrics.jsonl").read_text() == '{"step": 1, "seed": 7}\n'
    assert not folder.exists()


def test_runs_come_as_a_user_would_read_them(tmp_path: Path, made: list[corpus.Job]) -> None:
    corpus.build(tmp_path, jobs(4, 5))
    ((found, run),) = corpus.runs(tmp_path, lambda label: label.seed == 5)
    assert found.seed == 5
    assert run.files == ("metrics.jsonl",)


def test_an_interrupted_build_leaves_a_whole_corpus(tmp_path: Path, made: list[corpus.Job]) -> None:
    def interrupt(progress: corpus.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus.build(tmp_path, jobs(0, 1), report=interrupt)
    assert [
        entry["label"]["seed"] for entry in json.loads((tmp_path / "manifest.json").read_text())["runs"].values()
    ] == [0]


def test_the_manifest_names_what_made_it(tmp_path: Path, made: list[corpus.Job]) -> None:
    import hashlib

    manifest = corpus.build(tmp_path, jobs(0))
    assert json.loads((tmp_path / "manifest.json").read_text()) == manifest
    assert manifest["versions"]["numpy"]
    ((archive, entry),) = manifest["runs"].items()
    assert entry["sha256"] == hashlib.sha256((tmp_path / archive).read_bytes()).hexdigest()


def test_archives_of_equal_files_are_equal() -> None:
    assert pretend(jobs(1)[0]) == pretend(jobs(1)[0])
    assert pretend(jobs(1)[0]) != pretend(jobs(2)[0])


def label(variant: str, base: str, severity: float, seed: int) -> running.Label:
    """A label of which only what tells the splits apart matters."""
    truth: dict[str, Any] = dict(link=None, cause=None, onset=None, steps=1, score=0.5, reported=0.5)
    spent: dict[str, Any] = dict(seconds=0.0, cpu_seconds=0.0, peak_gb=0.0)
    return running.Label(variant=variant, base=base, severity=severity, seed=seed, **truth, **spent)


def test_task_severity_and_seed_are_held_out() -> None:
    home, mild, middle, gross = "language/grpo-sort", 0.3, 0.7, 1.0  # the severities of groups-mixed
    cases = {
        ("groups-mixed", home, mild, 0): set(),
        ("groups-mixed", home, gross, 2): set(),
        ("groups-mixed", home, gross, 3): {"seed"},
        ("groups-mixed", home, middle, 0): {"severity"},
        ("groups-mixed", "language/grpo-add", gross, 0): {"task"},
        ("groups-mixed", "language/grpo-add", gross, 1): {"task", "seed"},
        ("untouched", home, 0.0, 0): set(),
        ("untouched", home, 0.0, 1): {"seed"},
        ("untouched", "classic/dqn-cartpole", 0.0, 4): {"task"},
    }
    for which, respects in cases.items():
        assert corpus.held_out(label(*which)) == respects
        assert corpus.split(label(*which)) == ("test" if respects else "train")


def test_every_shorter_run_is_an_option_of_its_base() -> None:
    for base, options in corpus.SHORTER.items():
        assert set(options) <= set(vars(bases.BASES[base]()))


def test_numbers_are_kept_to_five_digits_and_steps_whole() -> None:
    row = b"time/total_timesteps,rollout/ep_rew_mean,train/loss\n1049600,123.456789012,-1.23456789e-05\n"
    assert corpus._rounded(row).splitlines()[1] == b"1049600,123.46,-1.2346e-05"


def pretend_or_die(job: corpus.Job) -> bytes:
    """Training that raises for seed 13, and whose process is killed for seed 99."""
    if job.seed == 99:
        os.kill(os.getpid(), signal.SIGKILL)
    return pretend(job)


def test_a_run_whose_process_is_killed_takes_no_other_with_it() -> None:
    results = {
        job.seed: (archive, error) for job, archive, error in corpus.on_cores(jobs(0, 99, 13, 1), 2, pretend_or_die, ())
    }
    assert results[0] == (pretend(jobs(0)[0]), "")
    assert results[1] == (pretend(jobs(1)[0]), "")
    assert results[13] == (None, "RuntimeError: unlucky")
    assert results[99] == (None, "its process was killed")


@pytest.mark.trainer
@pytest.mark.parametrize("where", ["cores", "ray"])
def test_real_runs_on_cores_and_on_a_cluster(where: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    job = corpus.Job("scale-too-large", "classic/ppo-cartpole", 300.0, 0)
    if where == "ray":
        with cluster(cpus=1):
            manifest = corpus.build(tmp_path, [job], ray_address="auto")
    else:
        manifest = corpus.build(tmp_path, [job], processes=1)
    assert manifest["failed"] == {}
    with corpus.opened(tmp_path, job.archive) as (folder, label):
        assert {"progress.csv", "evaluations.npz", "config.yml"} <= {path.name for path in folder.iterdir()}
        assert label.link == "reward"
        assert label.score < 400
