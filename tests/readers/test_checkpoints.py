"""Saved models as trainers leave them: each is found once, with the step at which it was saved."""

import json
import pickle
from pathlib import Path

import pytest

import firstbreak
from firstbreak.closeout.deliverables import BEST, FINAL
from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.checkpoints import checkpoints_in, iteration_of, named, only_model


def save(folder: Path, *files: str) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"weights")


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["checkpoint-20/model.safetensors", "checkpoint-100/model.safetensors"], ["checkpoint-20", "checkpoint-100"]),
        (["checkpoints/p/e/global_step_40/actor/model_world_size_1_rank_0.pt"], ["checkpoints/p/e/global_step_40"]),
        (["checkpoint-100/global_step100/zero_pp_rank_0.pt"], ["checkpoint-100"]),  # DeepSpeed inside of TRL
        (["checkpoints/500/_CHECKPOINT_METADATA", "checkpoints/500/default/_METADATA"], ["checkpoints/500"]),
        (["models/7/state/manifest.ocdbt"], ["models/7"]),  # Orbax before it wrote a metadata file for the step
        (["models/7.orbax-checkpoint-tmp-3/state/manifest.ocdbt"], []),  # not finished
        (["2024/notes.txt", "7/monitor.csv"], []),  # a date and a seed
        (["ppo_20000_steps.zip", "rl_model_40000_steps.zip"], ["ppo_20000_steps.zip", "rl_model_40000_steps.zip"]),
        (["model_1500.pt"], ["model_1500.pt"]),
    ],
)  # fmt: skip
def test_a_checkpoint_is_found_once(tmp_path: Path, files: list[str], found: list[str]) -> None:
    save(tmp_path, *files)
    assert [c.path for c in checkpoints_in(tmp_path)] == found


def test_a_checkpoint_of_rllib_has_the_step_at_which_it_was_saved(tmp_path: Path) -> None:
    rows = []
    for i in range(1, 51):
        score = {"episode_return_mean": 20 + 8 * min(i, 40) - (100 if i > 40 else 0), "num_episodes": 10}
        rows.append({"training_iteration": i, "num_env_steps_sampled_lifetime": 4000 * i, "env_runners": score})
    (tmp_path / "result.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for index in range(5):  # Tune counts the folders from 0
        folder = tmp_path / f"checkpoint_{index:06d}"
        folder.mkdir()
        (folder / "rllib_checkpoint.json").write_text("{}")
        state = {"metrics_logger": {}, "training_iteration": 10 * (index + 1), "worker": {}}
        (folder / "algorithm_state.pkl").write_bytes(pickle.dumps(state))
    run = firstbreak.read(tmp_path)
    assert [c.step for c in run.checkpoints] == [40_000, 80_000, 120_000, 160_000, 200_000]
    best = diagnose(run).best_checkpoint
    assert best is not None
    assert best.path == "checkpoint_000003"


@pytest.mark.parametrize("count", [7, 700, 70_000])
def test_an_iteration_is_read_from_a_state_that_is_never_loaded(tmp_path: Path, count: int) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "executed",))

    (tmp_path / "algorithm_state.pkl").write_bytes(pickle.dumps({"bomb": Bomb(), "training_iteration": count}))
    assert iteration_of(tmp_path) == count
    assert not (tmp_path / "executed").exists()


def test_a_state_that_does_not_tell_its_iteration_is_no_error(tmp_path: Path) -> None:
    assert iteration_of(tmp_path) is None
    (tmp_path / "algorithm_state.pkl").write_bytes(b"\x80\x05}.")
    assert iteration_of(tmp_path) is None


def test_models_with_names_are_found_below_the_run_and_the_nearest_counts(tmp_path: Path) -> None:
    save(tmp_path, "logs/best_model.zip", "checkpoint-5/best_model.zip", "runs/a/ppo.cleanrl_model")
    best, final = named(tmp_path, BEST), named(tmp_path, FINAL)
    assert best is not None
    assert best.path == "logs/best_model.zip"
    assert final is not None
    assert final.path == "runs/a/ppo.cleanrl_model"


def test_the_only_model_is_the_last_one_whatever_its_name(tmp_path: Path) -> None:
    save(tmp_path, "best_model.zip", "ppo_cartpole.zip")
    only = only_model(tmp_path, besides=BEST)
    assert only is not None
    assert only.path == "ppo_cartpole.zip"
    save(tmp_path, "vf_net.pt")
    assert only_model(tmp_path, besides=BEST) is None  # nobody can say which
