"""The published runs: each file has one reader, and nothing of it is lost."""

import csv
from pathlib import Path

import numpy as np
import pytest

from firstbreak.readers import Recording, readers

#: Where a run's number of points is found: file pattern -> (reader, raw name).
POINTS = {
    "progress_table.csv": ("csv", "Step"),
    "grpo_bluebook_30k_success.log": ("console", "Loss"),
    "progress.csv": ("csv", "training_iteration"),
    "PPO_*.csv": ("csv", "reward"),
    "evaluations.npz": ("npz", "results/mean"),
    "p*.json": ("json_list", "Value[Agent=Rainbow,seed=4]"),
    "asterix.json": ("json_list", "Value[Agent=DQN,seed=0]"),
    "*.npy": ("npy", "value"),
}


def claims(path: Path) -> list[str]:
    """The readers that claim a file with the highest priority."""
    with path.open("rb") as file:
        head = file.read(4096)
    found = [(getattr(r, "PRIORITY", 0), name) for name, r in readers().items() if r.sniff(path, head)]
    return [name for priority, name in found if priority == max(found)[0]]


def read(path: Path) -> Recording:
    (name,) = claims(path)
    return readers()[name].read(path)


def test_every_file_has_exactly_one_reader(shared: Path):
    files = [path for path in (shared / "runs").glob("*/*") if path.is_file()]
    assert len(files) > 80
    assert {path: claims(path) for path in files if len(claims(path)) != 1} == {}


def test_every_point_is_read(shared: Path):
    with (shared / "runs" / "index.csv").open() as file:
        runs = list(csv.DictReader(file))
    assert len(runs) > 35
    for run in runs:
        pattern = next(p for p in POINTS if list((shared / "runs" / run["id"]).glob(p)) and matches(run["id"], p))
        (path,) = (shared / "runs" / run["id"]).glob(pattern)
        reader, name = POINTS[pattern]
        assert claims(path) == [reader]
        recording = read(path)
        assert len(recording.curves[name].values) == int(run["steps"]), run["id"]
        assert not recording.damage


def matches(run: str, pattern: str) -> bool:
    """`p*.json` is a baseline, not the params.json that lies beside a table."""
    return pattern != "p*.json" or run.startswith("dopa")


def test_dict_cells_of_old_rllib_become_the_names_of_new_rllib(shared: Path):
    recording = read(shared / "runs" / "rllib-a2c-breakout" / "progress.csv")
    gap = recording.curves["info/learner/vf_explained_var"]
    assert len(gap.values) == 932
    assert gap.values[0] == -11.642206192016602
    assert recording.config["entropy_coeff"] == -0.01
    assert recording.config["model.dim"] == 84


def test_both_logs_of_one_run_agree(shared: Path):
    for run in ("rllib-impala-breakout", "rllib-pong-impala-32"):
        table, lines = (read(shared / "runs" / run / name) for name in ("progress.csv", "result.json"))
        both = table.curves.keys() & lines.curves.keys()
        assert len(both) > 20
        for name in both:
            assert np.array_equal(table.curves[name].values, lines.curves[name].values, equal_nan=True), name
        assert table.config.items() >= {k: v for k, v in lines.config.items() if k != "date"}.items()


@pytest.mark.parametrize(
    ("case", "name", "steps"),
    [
        ("c03-zero-std-groups", "rewards/json_format_reward/std", [0.33]),
        ("c07-two-generations", "p_group_homogeneous", [2, 4, 8, 16]),
        ("c08-phantom-advantage", "val_em", [0, 40, 40, 40, 40]),
        ("c22-critic-return-scale", "return_high", [0, 1]),
        ("c29-dqn-loss-grows-ok", "Average Return", [73000, 74000, 75000, 76000, 77000, 78000]),
    ],
)
def test_pasted_cases_keep_their_steps(shared: Path, case: str, name: str, steps: list[float]):
    recording = read(shared / "cases" / f"{case}.csv")
    assert recording.indexed_by == "step"
    assert recording.curves[name].index.tolist() == steps


def test_the_episodes_of_all_environments_add_up_to_the_run(shared: Path):
    folder = shared / "runs" / "zoo-ppo-pong-v4"
    merged = readers()["monitor"].merge([read(path) for path in sorted(folder.glob("*.monitor.csv"))])
    steps = merged.curves["r"].index
    assert 10_000_000 <= steps[-1] < 10_100_000  # config.yml: n_timesteps
    assert (np.diff(steps) > 0).all()
