"""A corpus is built once, goes on where it stopped, and is read back as it was made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstbreak.lab import corpus
from firstbreak.lab.corpus import Job, Progress
from firstbreak.lab.running import Label


def pretend(job: Job) -> bytes:
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
def made(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that were trained, with the training replaced by `pretend` and the pool by a loop."""
    jobs: list[Job] = []

    def loop(missing: list[Job], processes: int) -> Iterator[corpus.Result]:
        for job in missing:
            jobs.append(job)
            try:
                yield job, pretend(job), ""
            except RuntimeError as error:
                yield job, None, corpus._line(error)

    monkeypatch.setattr(corpus, "_on_cores", loop)
    return jobs


def jobs(*seeds: int) -> list[Job]:
    return [Job("untouched", "language/grpo-sort", 0.0, seed) for seed in seeds]


def test_a_build_goes_on_where_it_stopped(tmp_path: Path, made: list[Job]) -> None:
    corpus.build(tmp_path, jobs(0, 1))
    corpus.build(tmp_path, jobs(0, 1, 2))
    assert [job.seed for job in made] == [0, 1, 2]


def test_a_failed_run_is_listed_and_tried_again(tmp_path: Path, made: list[Job]) -> None:
    seen: list[Progress] = []
    manifest = corpus.build(tmp_path, jobs(0, 13), report=seen.append)
    assert manifest["failed"] == {"untouched/language-grpo-sort-0-13.tar.xz": "RuntimeError: unlucky"}
    assert [(p.done, p.failed, p.total) for p in seen] == [(1, 0, 2), (1, 1, 2)]
    corpus.build(tmp_path, jobs(0, 13))
    assert [job.seed for job in made] == [0, 13, 13]


def test_what_was_made_is_read_back(tmp_path: Path, made: list[Job]) -> None:
    corpus.build(tmp_path, jobs(7))
    ((archive, label),) = corpus.labels(tmp_path).items()
    assert isinstance(label, Label)
    assert (label.seed, label.link) == (7, None)
    with corpus.opened(tmp_path, archive) as (folder, opened):
        assert opened == label
        assert (folder / "metrics.jsonl").read_text() == '{"step": 1, "seed": 7}\n'
    assert not folder.exists()


def test_the_manifest_names_what_made_it(tmp_path: Path, made: list[Job]) -> None:
    import hashlib

    manifest = corpus.build(tmp_path, jobs(0))
    assert json.loads((tmp_path / "manifest.json").read_text()) == manifest
    assert manifest["versions"]["numpy"]
    ((archive, entry),) = manifest["runs"].items()
    assert entry["sha256"] == hashlib.sha256((tmp_path / archive).read_bytes()).hexdigest()


def test_archives_of_equal_files_are_equal() -> None:
    assert pretend(jobs(1)[0]) == pretend(jobs(1)[0])
    assert pretend(jobs(1)[0]) != pretend(jobs(2)[0])


def test_the_grid_covers_every_severity_and_narrows() -> None:
    every = corpus.grid([0, 1], healthy_seeds=[0, 1, 2])
    assert len(set(every)) == len(every) > 250
    assert [job.seed for job in every] == sorted(job.seed for job in every)
    narrow = corpus.grid([5], plants=["groups-mixed", "untouched"], bases=["language/grpo-sort"])
    assert {(job.plant, job.severity) for job in narrow} == {
        ("groups-mixed", 0.3),
        ("groups-mixed", 0.7),
        ("groups-mixed", 1.0),
        ("untouched", 0.0),
    }


@pytest.mark.trainer
@pytest.mark.parametrize("where", ["cores", "ray"])
def test_real_runs_on_cores_and_on_a_cluster(where: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    options = {}
    if where == "ray":
        pytest.importorskip("ray")
        options = {"ray_address": "local"}
    job = Job("scale-too-large", "classic/ppo-cartpole", 300.0, 0)
    manifest = corpus.build(tmp_path, [job], processes=1, **options)  # type: ignore[arg-type]
    assert manifest["failed"] == {}
    with corpus.opened(tmp_path, job.archive) as (folder, label):
        assert {"progress.csv", "evaluations.npz", "config.yml"} <= {path.name for path in folder.iterdir()}
        assert label.link == "reward"
        assert label.score < 400
