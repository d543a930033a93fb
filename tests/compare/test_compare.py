"""Which runs belong together, in what they differ, where they part, and whether it is real."""

import json
import re
import zipfile
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from firstbreak import context
from firstbreak.cli.compare import command
from firstbreak.compare.arms import Arm, arms, differences
from firstbreak.compare.first_difference import first_differences
from firstbreak.compare.judge import judge
from firstbreak.compare.plots import scores
from firstbreak.compare.sentences import no_difference
from firstbreak.model import Link
from firstbreak.readers.read import read
from tests.command import printed
from tests.compare.runs import write
from tests.there import there


def compared(*folders: Path) -> list[Arm]:
    return arms([(str(folder), [read(folder)]) for folder in folders])


def test_runs_that_differ_in_seed_only_are_one_arm(tmp_path: Path) -> None:
    found = compared(*(write(tmp_path / f"a{i}", seed=i) for i in range(3)), write(tmp_path / "b", seed=0, total=5))
    assert [len(arm.members) for arm in found] == [3, 1]


def test_the_runs_of_a_side_stand_in_the_order_of_their_seeds_under_the_name_they_share(tmp_path: Path) -> None:
    """So that a score beside its seed is the score of this seed."""
    fast = [write(tmp_path / f"fast-seed{seed}", seed=seed, level=0.1 * seed) for seed in (2, 10, 1)]
    one, other = compared(*fast, write(tmp_path / "slow", seed=0, total=5))
    assert [(arm.name, [m.seed for m in arm.members]) for arm in (one, other)] == [("fast", [1, 2, 10]), ("slow", [0])]
    assert [member.final for member in one.members] == sorted(member.final for member in one.members)


def test_runs_with_the_same_seeds_and_settings_are_sides_by_their_names(tmp_path: Path) -> None:
    """What differs was not recorded (a reward function, say), and the names are all that tells the sides apart."""
    runs = [write(tmp_path / f"{side}-seed{i}", seed=i, level=level) for i in range(3) for side, level in SIDES.items()]
    assert [[m.run.path.rpartition("/")[2] for m in arm.members] for arm in compared(*runs)] == [
        [f"{side}-seed{i}" for i in range(3)] for side in SIDES
    ]


SIDES = {"plain": 0.8, "bonus": 0.4}


def five(folder: Path, *, level: float, seeded: bool = True, **config: object) -> Path:
    """Five runs as scripts lay them out: their own places, names, dates and identifiers are among their options."""
    for i in range(5):
        name = f"exp-{i}-17634{i}1207"
        places = {
            "out": f"{folder}/{name}",
            "run_name": name,
            "output_dir": f"models/{name}",
            "tensorboard_log": f"tb/{name}",
        }
        own = {"started": f"2026-11-2{i} 10:00:00", "wandb_id": f"a{i}b7", "env_seed": i, "save_path": f"ckpt/{i}"}
        made = write(folder / name, seed=i, level=level, **places, **own, **config)
        if not seeded:
            (made / "config.yaml").unlink()
    return folder


@pytest.mark.parametrize("seeded", [True, False], ids=["with options", "without a configuration"])
def test_five_seeds_against_five_are_two_sides(tmp_path: Path, seeded: bool) -> None:
    folders = (
        five(tmp_path / "low", level=0.5, seeded=seeded),
        five(tmp_path / "high", level=0.9, total=9, seeded=seeded),
    )
    found = arms([(str(f), [read(run) for run in sorted(f.iterdir())]) for f in folders])
    assert [(arm.name, len(arm.members)) for arm in found] == [("low", 5), ("high", 5)]
    assert [d.name for d in differences(found)] == (["total"] if seeded else [])
    judged = there(judge(*found))
    assert judged.real


def test_runs_named_one_by_one_are_sorted_by_what_they_record_or_where_they_lie(tmp_path: Path) -> None:
    for seeded in (True, False):
        place = tmp_path / str(seeded)
        one, other = (
            five(place / "low", level=0.5, seeded=seeded),
            five(place / "high", level=0.9, total=9, seeded=seeded),
        )
        assert [len(arm.members) for arm in compared(*sorted(one.iterdir()), *sorted(other.iterdir()))] == [5, 5]


def test_two_runs_without_settings_are_two_sides(tmp_path: Path) -> None:
    runs = sorted(five(tmp_path / "low", level=0.5, seeded=False).iterdir())[:2]
    assert [len(arm.members) for arm in compared(*runs)] == [1, 1]


def test_runs_without_a_configuration_are_no_seeds_of_one_setting(tmp_path: Path) -> None:
    """What else a log gives away (its machine, how often it updates) is no configuration."""
    for name, level in (("m1", 1.0), ("m2", 2.0), ("m3", 3.0)):
        rows = [{"step": i, "reward": level * i, "lr": 5e-5} for i in range(1, 31)]
        logged(tmp_path / f"{name}-1k", rows, {"node_ip": "10.0.0.7"})
    folders = sorted(tmp_path.iterdir())
    assert [len(arm.members) for arm in compared(*folders)] == [1, 1, 1]


def test_a_rate_in_single_precision_is_the_same_rate(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / n, seed=0, actor={"optimizer": {"lr": rate}})
        for n, rate in (("a", 5e-5), ("b", 4.99999987e-5))
    ]
    assert [d for d in differences(compared(*runs)) if d.part == "config"] == []


def test_a_side_of_two_runs_says_two_and_has_no_interval(tmp_path: Path) -> None:
    for i, level in enumerate((-13.0, -18.0)):
        logged(tmp_path / "two" / f"r{i}", [{"step": s, "reward": min(level, -21 + s)} for s in range(40)])
    one = logged(tmp_path / "one", [{"step": s, "reward": -21.0} for s in range(40)])
    said = " ".join(run(tmp_path / "two", one).split())
    assert "-15.5 (no interval from fewer than 3 runs)" in said
    assert "2 runs against 1 cannot show" in said
    assert "1 run on each side" not in said


def test_two_seeds_are_not_said_to_differ_so_where_the_algorithm_does(tmp_path: Path) -> None:
    runs = [write(tmp_path / n, seed=0, level=level, algo=a, total=total) for n, a, level, total in ALGORITHMS]
    for more in ((), ("--format", "html")):
        assert "two seeds of the same setting" in run(*runs[:2], *more)
        assert "two seeds of the same setting" not in run(*runs[1:], *more)


ALGORITHMS = (("a", "ppo", 0.2, 5), ("b", "ppo", 0.8, 9), ("c", "dqn", 0.2, 9))


def test_settings_of_one_side_are_one_line(tmp_path: Path) -> None:
    options = {f"option_{i}": i for i in range(80)}
    runs = write(tmp_path / "a", seed=0), write(tmp_path / "b", seed=0, total=9, **options)
    said = run(*runs)
    assert "Only recorded in b: 81 settings (" in said
    assert "not recorded" not in said
    page = run(*runs, "--format", "html")
    assert "<summary>Only recorded in b: 81 settings</summary>" in page
    assert all(f">{name}<" in page.replace("<wbr></wbr>", "").replace("<wbr>", "") for name in options)


def test_a_folder_of_several_settings_is_one_side_and_says_so(tmp_path: Path) -> None:
    for i, rate in enumerate((1e-3, 1e-3, 3e-3)):
        write(tmp_path / "mixed" / f"s{i}", seed=i, actor={"optimizer": {"lr": rate}})
        write(tmp_path / "plain" / f"s{i}", seed=i)
    printed = run(tmp_path / "mixed", tmp_path / "plain")
    assert re.search(r"^mixed +3 ", printed, re.MULTILINE)
    assert "mixed holds runs of several settings" in printed
    assert "0.001, 0.003" in printed


def test_a_copy_of_a_run_is_no_further_seed(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / "one" / f"s{i}", seed=i)
        write(tmp_path / "other" / f"s{i}", seed=5, total=9)
    printed = run(tmp_path / "one", tmp_path / "other")
    assert re.search(r"^other +1 ", printed, re.MULTILINE)
    assert " ".join(printed.split()).count("it counts once") == 2


def test_what_training_reads_counts_and_what_it_writes_does_not(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / n, seed=0, model_name=f"base-{n}", data_path=f"/data/{n}.jsonl", log_dir=f"logs/{n}", notes=n)
        for n in "ab"
    ]
    assert [d.name for d in differences(compared(*runs))] == ["data_path", "model_name"]


def test_the_same_setting_on_other_tasks_is_one_arm(tmp_path: Path) -> None:
    found = compared(write(tmp_path / "a", seed=0, env="Pong"), write(tmp_path / "b", seed=0, env="Qbert"))
    assert [len(arm.members) for arm in found] == [2]
    assert set(found[0].scores) == {"Pong", "Qbert"}


def test_a_second_run_of_one_seed_is_no_second_seed(tmp_path: Path) -> None:
    assert len(compared(write(tmp_path / "a", seed=0), write(tmp_path / "b", seed=0))) == 2


def test_other_code_is_another_arm(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, seed=i) for i, name in enumerate("ab")]
    for folder, commit in zip(folders, ("1111", "2222"), strict=True):
        (folder / context.FILE).write_text(json.dumps({"schema": context.SCHEMA, "code": {"commit": commit}}))
    found = compared(*folders)
    assert len(found) == 2
    assert [(d.part, d.name, d.values) for d in differences(found) if d.part == "code"] == [
        ("code", "commit", ("1111", "2222"))
    ]


def test_what_differs_is_named_with_both_values(tmp_path: Path) -> None:
    one = write(tmp_path / "one", seed=0)
    other = write(tmp_path / "other", seed=0, actor={"optimizer": {"lr": 1e-3}, "kl_ctl": 0.5}, env="Pong")
    found = {(d.part, d.name): d.values for d in differences(compared(one, other))}
    assert found[("config", "kl_coef")] == (0.02, 0.5)
    assert ("data", "task") in found
    assert not any(name == "seed" for _, name in found)


def test_what_both_say_and_what_shapes_training_comes_first(tmp_path: Path) -> None:
    one = write(tmp_path / "one", seed=0, a_note="x", alone=1)
    other = write(tmp_path / "other", seed=0, a_note="y", actor={"optimizer": {"lr": 1e-3}, "kl_ctl": 0.5})
    found = [d.name for d in differences(compared(one, other)) if d.part == "config"]
    assert found == ["kl_coef", "a_note", "alone"]


def test_the_link_that_the_setting_bends_parts_first(tmp_path: Path) -> None:
    plain = [write(tmp_path / f"p{i}", seed=i) for i in range(3)]
    bent = [write(tmp_path / f"b{i}", seed=i, kl_from=40, total=9) for i in range(3)]
    left, right = compared(*plain, *bent)
    (found,) = first_differences(left, right)
    assert (found.link, found.metric) == (Link.POLICY_UPDATE, "kl.ref.k1")
    assert 40 <= found.step <= 60
    assert found.right > found.left


def logged(folder: Path, rows: list[dict[str, float]], config: dict[str, object] | None = None) -> Path:
    """A run of these rows."""
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_the_first_difference_is_the_first_row_that_differs_with_the_values_of_this_row(tmp_path: Path) -> None:
    """Of hundreds of rows, which are compared in sixty bins; no clock is a difference."""
    rows = [
        {
            "step": 10 * i,
            "policy.entropy": 0.8 + 0.001 * i,
            "kl.ref.k1": 0.01 * (i % 3),
            "time.unix": 1.6e9 + i,
            "time.elapsed": float(i),
        }
        for i in range(1, 601)
    ]
    one = logged(tmp_path / "a", rows)
    at_once = [
        row | {"policy.entropy": 0.001, "time.unix": row["time.unix"] + 9e4, "time.elapsed": 9.0 * row["step"]}
        for row in rows
    ]
    later = [row | {"kl.ref.k1": row["kl.ref.k1"] + (1.5 if row["step"] >= 3330 else 0)} for row in at_once]
    found = first_differences(*compared(one, logged(tmp_path / "b", later)))
    assert [(p.metric, p.step, round(p.left, 3), round(p.right, 3)) for p in found] == [
        ("kl.ref", 3330, 0, 1.5),
        ("policy.entropy", 10, 0.801, 0.001),
    ]
    assert re.search(r"policy.entropy +10 +0.801 +0.001 +<- first$", run(tmp_path / "a", tmp_path / "b"), re.MULTILINE)


def test_seeds_of_one_setting_do_not_part(tmp_path: Path) -> None:
    left, right = compared(
        *(write(tmp_path / f"a{i}", seed=i) for i in range(4)),
        *(write(tmp_path / f"b{i}", seed=10 + i, total=9) for i in range(4)),
    )
    assert first_differences(left, right) == []
    found = there(judge(left, right))
    assert found.real is False


def test_a_real_difference_is_called_real(tmp_path: Path) -> None:
    left, right = compared(
        *(write(tmp_path / f"a{i}", seed=i, level=0.5) for i in range(3)),
        *(write(tmp_path / f"b{i}", seed=i, level=0.9, total=9) for i in range(3)),
    )
    found = there(judge(left, right))
    assert found.real
    assert found.improvement.value == 1
    assert found.difference.value == pytest.approx(0.4, abs=0.03)


run = partial(printed, command)


def test_three_seeds_that_cannot_tell_say_how_many_could(tmp_path: Path) -> None:
    levels = [(0.60, 0.66), (0.70, 0.73), (0.80, 0.79)]
    for i, (one, other) in enumerate(levels):
        write(tmp_path / "one" / f"s{i}", seed=i, level=one)
        write(tmp_path / "other" / f"s{i}", seed=i, level=other, total=9)
    printed = run(tmp_path / "one", tmp_path / "other")
    words = " ".join(printed.split())
    assert "3 seeds are not enough to decide." in printed
    needed = there(re.search(r"about (\d+) runs on each side would show it \(normal theory, 80 % power\)", words))
    assert int(needed[1]) > 3
    assert max(map(len, printed.splitlines())) <= 80


def test_one_run_a_side_tells_nothing_of_the_setting(tmp_path: Path) -> None:
    printed = run(write(tmp_path / "a", seed=0), write(tmp_path / "b", seed=1, level=0.2, total=9))
    assert "cannot show whether the setting or the seed causes the" in printed


def scored(folder: Path, **curves: float) -> Path:
    """A run of 30 steps whose curves rise from 0 to these levels."""
    folder.mkdir(parents=True)
    rows = ({"step": i, **{name: level * i / 30 for name, level in curves.items()}} for i in range(31))
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        ({"reward": 1.0}, {"eval.reward": 500.0}, "reward.mean of a and eval.reward of b are different numbers"),
        ({"reward": 1.0, "completions/mean_length": 9.0}, {"reward": 9.0, "rollout/ep_len_mean": 9.0}, "writes text on one"),
        (
            {"reward": 1.0, "reward.component.format.mean": 1.0},
            {"reward": 2.0, "reward.component.accuracy.mean": 1.0},
            "reward.mean has other parts on each side (accuracy and format)",
        ),
    ],
)  # fmt: skip
def test_scores_of_different_kinds_are_not_subtracted(
    tmp_path: Path, left: dict[str, float], right: dict[str, float], why: str
) -> None:
    runs = scored(tmp_path / "a", **left), scored(tmp_path / "b", **right)
    for shown in (run(*runs), run(*runs, "--format", "html")):
        said = " ".join(shown.split())
        assert why in said
        assert "so it is unknown which side is better" in said
        assert "\ndifference  " not in shown
        assert "No curve differs" not in said


def test_a_score_that_both_record_is_preferred_and_named(tmp_path: Path) -> None:
    runs = scored(tmp_path / "a", reward=1.0), scored(tmp_path / "b", reward=2.0, **{"eval.reward": 500.0})
    shown = run(*runs)
    assert "final reward.mean (mean of the last tenth)" in shown
    assert re.search(r"^difference +\+0\.9667", shown, re.MULTILINE)


def test_several_sides_are_named_by_the_one_setting_that_differs_and_the_best_is_said(tmp_path: Path) -> None:
    levels = {1e-4: 0.4, 3e-4: 0.9, 1e-3: 0.6}
    runs = [
        write(tmp_path / f"sac_lr{rate}_s{seed}", seed=seed, level=level, actor={"optimizer": {"lr": rate}})
        for rate, level in levels.items()
        for seed in range(7)
    ]
    found = compared(*runs)
    assert [arm.name for arm in found] == [f"learning_rate={rate:g}" for rate in levels]
    said = " ".join(run(*runs).split())
    assert "Best: learning_rate=0.0003" in said
    assert "above the next (learning_rate=0.001), by more than seeds explain" in said
    assert "0,1,2,3 and 3 more" in said
    assert "Best: learning_rate=0.0003" in run(*runs, "--format", "html")


def test_all_that_differs_is_listed_where_it_is_said_to_be(tmp_path: Path) -> None:
    sides = [{f"option_{i}": i + side for i in range(80)} for side in (0, 1)]
    runs = [write(tmp_path / name, seed=0, **options) for name, options in zip("ab", sides, strict=True)]
    assert "... and 68 more: --format html" in run(*runs)
    page = run(*runs, "--format", "html")
    assert all(f">{name}<" in page.replace("<wbr></wbr>", "").replace("<wbr>", "") for name in sides[0])


def test_a_log_cannot_forge_the_report(tmp_path: Path) -> None:
    run_ = write(tmp_path / "a", seed=0, note="x\x1b[31m\n</text><script>")
    printed = run(run_, write(tmp_path / "b", seed=0), "--plot", tmp_path / "p.svg")
    assert "\x1b" not in printed
    assert "<script" not in (tmp_path / "p.svg").read_text()


def test_the_plot_has_every_seed(tmp_path: Path) -> None:
    left, right = compared(
        *(write(tmp_path / f"a{i}", seed=i) for i in range(3)),
        *(write(tmp_path / f"b{i}", seed=i, x=1) for i in range(3)),
    )
    root = ElementTree.fromstring(scores([left, right]))
    paths = [e for e in root.iter() if e.tag.endswith("path") and e.get("stroke") not in (None, "#888888")]
    # of each arm: the legend, its runs, their middle; then its profile with a band of two lines
    assert len(paths) == 2 * (1 + 3 + 1 + 3)
    assert "a (3 runs)" in "".join(root.itertext())
    single = scores(compared(tmp_path / "a0", tmp_path / "b0"))
    assert "a0 (1 run)" in single
    assert "share of runs" not in single


def _model(path: Path, options: dict[str, object]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps(options))


def _files(folder: Path, options: dict[str, object]) -> None:
    for name, value in options.items():
        (folder / name).write_text(str(value))


#: where trainers and loggers leave the options: folder of the run, options -> file
SOURCES = {
    "model.zip": lambda run, options: _model(run / "final_model.zip", options),
    "args.json": lambda run, options: (run / "args.json").write_text(json.dumps(options)),
    "config.json": lambda run, options: (run / "config.json").write_text(json.dumps(options)),
    "hydra": lambda run, options: (run / ".hydra" / "config.yaml").write_text(yaml.safe_dump({"algo": options})),
    "wandb": lambda run, options: (run / "wandb" / "run-1-a" / "files" / "config.yaml").write_text(
        yaml.safe_dump({name: {"value": value} for name, value in options.items()})
    ),
    "mlflow": lambda run, options: _files(run / "mlruns" / "0" / ("ab" * 16) / "params", options),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_settings_are_compared_wherever_they_lie(tmp_path: Path, source: str) -> None:
    for name, gamma in (("short", 0.5), ("long", 0.99)):
        run_ = tmp_path / name
        tracked = run_ / "mlruns" / "0" / ("ab" * 16)
        needed = {"hydra": [run_ / ".hydra"], "wandb": [run_ / "wandb" / "run-1-a" / "files"]}
        for folder in needed.get(source, [tracked / "params", tracked / "metrics"] if source == "mlflow" else [run_]):
            folder.mkdir(parents=True)
        if source == "mlflow":
            (tracked / "meta.yaml").write_text(f"run_id: {'ab' * 16}\nrun_name: x\nstart_time: 1\n")
        rows = "".join(f"{256 * i},{20 + i},{0.01 * i}\n" for i in range(1, 30))
        (run_ / "progress.csv").write_text(f"time/total_timesteps,rollout/ep_rew_mean,train/approx_kl\n{rows}")
        SOURCES[source](run_, {"gamma": gamma, "learning_rate": 0.0003, "n_steps": 256})
    printed = run(tmp_path / "short", tmp_path / "long")
    assert re.search(r"^config +gamma +0\.5 +0\.99$", printed, re.MULTILINE)


def told_log(folder: Path, first: str, rise: float) -> Path:
    """A console log whose first line alone tells its settings."""
    folder.mkdir(parents=True)
    rows = "".join(f"{{'loss': 0.1, 'reward': {rise * step:.4f}, 'kl': 0.01}}\n" for step in range(60))
    (folder / "train.log").write_text(f"{first}\n{rows}")
    return folder


def test_seeds_and_models_in_names_and_first_lines_are_read(tmp_path: Path) -> None:
    runs = [
        told_log(
            tmp_path / f"qwen-0.5b-lr{rate}-seed{seed}",
            f"python train.py --model Qwen/{model} --seed {seed} --output_dir /tmp/x{seed}",
            0.01 * rise + 0.0001 * seed,
        )
        for rate, model, rise in (("1e-5", "Qwen2.5-0.5B", 1), ("1e-6", "Qwen2.5-1.5B", 2))
        for seed in range(3)
    ]
    found = compared(*runs)
    assert [(arm.name, sorted(m.seed for m in arm.members)) for arm in found] == [
        ("qwen-0.5b-lr1e-5", [0, 1, 2]),
        ("qwen-0.5b-lr1e-6", [0, 1, 2]),
    ]
    assert {d.name: d.values for d in differences(found)} == {
        "learning_rate": (1e-5, 1e-6),
        "model": ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-1.5B"),
    }
    assert "read off the names, the first lines of the logs" in " ".join(run(*runs).split())


def test_first_lines_of_measurements_are_no_settings(tmp_path: Path) -> None:
    made = told_log(tmp_path / "a", "step=0 loss=0.7 reward=0.1 seed=4", 0.01)
    assert arms([("a", [read(made)])])[0].members[0].inferred == {}


def test_what_is_not_recorded_is_not_called_the_same(tmp_path: Path) -> None:
    runs = [told_log(tmp_path / name, "begin", rise) for name, rise in (("a", 0.01), ("b", 0.02))]
    for shown in (run(*runs), run(*runs, "--format", "html")):
        assert "so it is unknown what differs" in shown
        assert "the same." not in shown
    (written,) = {no_difference(compared(write(tmp_path / "c", seed=0), write(tmp_path / "d", seed=0, level=0.2)))}
    assert written == "No recorded setting differs: configuration is the same. Not recorded by all: code and data."


def test_how_long_a_run_is_is_no_configuration(tmp_path: Path) -> None:
    """trainer_state.json tells steps and batch beside the numbers, and neither learning rate nor seed."""
    state = {"max_steps": 40, "num_train_epochs": 1, "train_batch_size": 8, "is_world_process_zero": True}
    for name, rise in (("a", 0.01), ("b", 0.02)):
        (tmp_path / name).mkdir()
        history = [{"step": i, "reward": rise * i, "loss": 0.1} for i in range(1, 41)]
        (tmp_path / name / "trainer_state.json").write_text(json.dumps({**state, "log_history": history}))
    found = compared(tmp_path / "a", tmp_path / "b")
    assert [len(arm.members) for arm in found] == [1, 1]
    assert no_difference(found) == "No run records its configuration, so it is unknown what differs."


def test_without_a_seed_nobody_says_that_only_the_seed_differs(tmp_path: Path) -> None:
    rows = {name: [{"step": i, "reward": level * i} for i in range(30)] for name, level in (("a", 0.1), ("b", 0.2))}
    runs = [logged(tmp_path / name, rows[name], {"learning_rate": 1e-4}) for name in rows]
    for shown in (run(*runs), run(*runs, "--format", "html")):
        assert "Only seed and task differ" not in shown
        assert "Not recorded by all: code, data and seeds." in " ".join(shown.split())


def kinds(folder: Path) -> list[Path]:
    """Six runs whose reward is a share over steps, and two that log returns over environment steps, of one sweep."""
    names = {"reward": "rollout/ep_rew_mean", "step": "time/total_timesteps"}
    found = []
    for i in range(8):
        rows = [{"step": s, "reward": 0.1 + s / 60, "kl": 0.01} for s in range(40)]
        rows = [{names.get(k, f"train/{k}"): 2000 * v for k, v in row.items()} for row in rows] if i % 4 == 3 else rows
        options = {"learning_rate": 1e-6 * (1 + i % 2), "seed": i, "beta": 0.1 * (i // 2 % 2)}
        found.append(logged(folder / f"run{i}", rows, options))
    return found


def test_scores_of_other_kinds_of_steps_share_no_axis_and_are_not_compared(tmp_path: Path) -> None:
    runs = kinds(tmp_path)
    page = run(*runs, "--format", "html")
    assert "reward.mean over steps<" in page
    assert "reward.mean over environment steps<" in page
    said = " ".join(run(*runs).split())
    assert "counts steps and learning_rate=2e-06, beta=0.1 environment steps" in said
    assert "Best:" not in said
    assert "difference +1" not in said


def test_one_option_has_one_name_and_the_sides_are_named_by_what_differs(tmp_path: Path) -> None:
    """One trainer calls `beta` the weight of the divergence, and the other has no word for it."""
    found = compared(*kinds(tmp_path))
    assert [d.name for d in differences(found) if d.part == "config"] == ["learning_rate", "beta"]
    assert [arm.name for arm in found][::3] == ["learning_rate=1e-06, beta=0", "learning_rate=2e-06, beta=0.1"]


def test_an_axis_has_round_numbers_and_says_when_it_is_logarithmic(tmp_path: Path) -> None:
    rows = [{"step": s, "reward": 0.00236 * 1.2**s} for s in range(60)]
    drawn = scores(compared(logged(tmp_path / "a", rows), logged(tmp_path / "b", rows[:-1])))
    texts = [e.text for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("text")]
    assert "reward.mean over steps (log scale)" in texts
    assert {"0.01", "0.1", "1", "10", "100"} <= set(texts)
    assert {"20", "40"} <= set(texts)


def test_sides_of_other_tasks_are_not_compared_which_is_said_once(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / env, seed=0, env=env, level=level, total=i)
        for i, (env, level) in enumerate((("Ant", 0.2), ("Pong", 0.8), ("Qbert", 0.5)))
    ]
    assert first_differences(*compared(*runs[:2])) == []
    page = run(*runs, "--format", "html")
    assert page.count("it is unknown which side is better") == 1
    assert "Ant is trained on Ant and Pong on Pong; Ant is trained on Ant and Qbert on Qbert" in page
    assert "The sides are trained on different tasks, so no curve is compared." in page


def test_single_runs_get_no_probability(tmp_path: Path) -> None:
    runs = [write(tmp_path / "a", seed=0), write(tmp_path / "b", seed=1, level=0.2, total=9)]
    assert "P(" not in run(*runs)
    assert "P(" not in run(*runs, "--format", "html")
    more = [write(tmp_path / "a2", seed=2), write(tmp_path / "b2", seed=3, level=0.2, total=9)]
    assert "P(" in run(*runs, *more)


def test_the_html_has_the_scores_first_and_nothing_that_runs(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, seed=i, note="<script>x</script>", total=i) for i, name in enumerate("ab")]
    run(*runs, "--format", "html", "-o", tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text()
    assert text.index("<svg xmlns") < text.index("What differs")
    assert "<script" not in text
    assert re.search(r'<div class="wide" role="region" aria-label="Scores" tabindex="0"><svg', text)
    assert "default-src &#x27;none&#x27;; style-src" in text
