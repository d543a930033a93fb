"""Protocols and scores from what other harnesses wrote.

The files in `data` were written by lm-eval 0.4.13, inspect_ai 0.3.285 and lighteval 0.13.0, each run on a toy task of
eight sums with a model that always says the same.
"""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstbreak.evals.importers import key_of, read
from firstbreak.evals.live import gymnasium_protocol
from firstbreak.evals.metrics import main
from firstbreak.evals.protocol import compare
from firstbreak.readers import Unreadable

DATA = Path(__file__).parent / "data"


def values(name: str) -> dict[str, Any]:
    (only,) = read(DATA / name)
    return dict(only.protocol.values)


def changed(tmp_path: Path, name: str, *keys: str, to: Any) -> Path:
    """A copy of a harness's file with one value changed."""
    data = json.loads((DATA / name).read_text())
    inner = data
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    (tmp_path / name).write_text(json.dumps(data, indent=1))
    return tmp_path / name


def test_lm_eval() -> None:
    found = values("lm_eval.json")
    assert (found["task"], found["split"], found["problems"], found["fewshot"]) == ("sums", "test", 8, 0)
    assert (found["temperature"], found["max_new_tokens"], found["stop"]) == (0, 32, ["Q:", "\n\n"])
    assert found["prompt_template"]["doc_to_text"] == "Q: {{question}}\nA:"
    assert (found["harness"], found["harness_version"]) == ("lm-evaluation-harness", "0.4.13")
    (only,) = read(DATA / "lm_eval.json")
    assert only.scores == {"exact_match,number": 0.0}
    assert only.errors == {"exact_match,number": 0.0}


def test_inspect_ai() -> None:
    found = values("inspect_ai.json")
    assert (found["temperature"], found["top_p"], found["max_new_tokens"], found["seed"]) == (0.6, 0.95, 64, 7)
    assert (found["tools"], found["max_turns"], found["time_limit"]) == (["add"], 6, 30)
    assert found["samples_per_problem"] == 2
    assert found["prompt_template"][0] == ["system_message", {"template": "Answer with a number."}]
    (only,) = read(DATA / "inspect_ai.json")
    assert only.scores == {"match/accuracy": 0.0}
    assert only.errors == {"match/accuracy": 0.0}
    assert only.model == "mockllm/model"


def test_lighteval() -> None:
    found = values("lighteval.json")
    assert (found["task"], found["split"], found["temperature"], found["max_new_tokens"]) == ("sums", "test", 0, 32)
    assert found["stop"] == ["\n"]
    (only,) = read(DATA / "lighteval.json")
    assert only.scores == {"em": 0.125}
    assert only.errors == {"em": 0.125}


@pytest.mark.parametrize(
    ("name", "keys", "to", "field"),
    [
        ("lm_eval.json", ("configs", "sums", "generation_kwargs", "temperature"), 0.7, None),  # do_sample is false
        ("lm_eval.json", ("configs", "sums", "generation_kwargs", "max_gen_toks"), 64, "max_new_tokens"),
        ("lm_eval.json", ("config", "gen_kwargs"), "temperature=0.5,do_sample=True", "temperature"),
        ("lm_eval.json", ("chat_template_sha",), "abc", "chat_template"),
        ("lm_eval.json", ("n-shot", "sums"), 5, "fewshot"),
        ("inspect_ai.json", ("plan", "config", "temperature"), 1.0, "temperature"),
        ("inspect_ai.json", ("eval", "config", "message_limit"), 12, "max_turns"),
        ("inspect_ai.json", ("plan", "steps", 0, "params", "template"), "Think.", "prompt_template"),
        ("inspect_ai.json", ("eval", "sandbox"), {"type": "docker"}, "tool_permissions"),
        ("lighteval.json", ("config_tasks", "sums|0", "generation_size"), 64, "max_new_tokens"),
        ("lighteval.json", ("summary_tasks", "sums|0", "hashes", "hash_full_prompts"), "x", "prompt_template"),
        ("lighteval.json", ("config_tasks", "sums|0", "evaluation_splits"), ["train"], "split"),
    ],
)
def test_what_changes_the_score_is_seen_in_the_protocol(
    name: str, keys: tuple[str, ...], to: Any, field: str | None, tmp_path: Path
) -> None:
    (before,), (after,) = read(DATA / name), read(changed(tmp_path, name, *keys, to=to))
    found = compare(before.protocol, after.protocol)
    fields = {d.field for d in (*found.differs, *found.unknown)} - {"fewshot_seed"}  # matters once there are shots
    assert fields == ({field} if field else set())


def test_what_does_not_change_the_score_is_not(tmp_path: Path) -> None:
    (before,), (after,) = (
        read(DATA / "inspect_ai.json"),
        read(changed(tmp_path, "inspect_ai.json", "plan", "config", "max_connections", to=4)),
    )
    assert before.protocol.hash == after.protocol.hash


def test_an_open_temperature_stays_open(tmp_path: Path) -> None:
    """lighteval writes null where the model's own default is used."""
    path = changed(
        tmp_path, "lighteval.json", "config_general", "model_config", "generation_parameters", "temperature", to=None
    )
    (only,) = read(path)
    assert "temperature" in only.protocol.missing


def test_inspects_zip_is_read_and_a_damaged_one_refused(tmp_path: Path) -> None:
    log = json.loads((DATA / "inspect_ai.json").read_text())
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
    assert [e.protocol.hash for e in read(tmp_path / "log.eval")] == [
        e.protocol.hash for e in read(DATA / "inspect_ai.json")
    ]
    (tmp_path / "cut.eval").write_bytes((tmp_path / "log.eval").read_bytes()[:500])
    with pytest.raises(Unreadable, match="is not a complete log"):
        read(tmp_path / "cut.eval")


def test_legality_and_cost_of_tool_calls_and_recovery_from_failures_stand_beside_the_score(tmp_path: Path) -> None:
    def call(name: str, id_: str, error: bool = False) -> list[dict[str, object]]:
        answer = {"role": "tool", "tool_call_id": id_, "content": "" if error else "7"}
        told = {"error": {"type": "unknown", "message": "tool not found"}} if error else {}
        asked = {"id": id_, "function": name, "arguments": {"x": 3}, "type": "function"}
        return [{"role": "assistant", "content": "", "tool_calls": [asked]}, answer | told]

    log = json.loads((DATA / "inspect_ai.json").read_text())
    for sample in log["samples"]:
        sample["messages"] = [*call("ad", "a", error=True), *call("add", "b"), *call("add", "c"), *call("add", "d")]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({name: value for name, value in log.items() if name != "samples"}))
        for i, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{i}_epoch_1.json", json.dumps(sample))
    for name in ("log.json", "log.eval"):
        (only,) = read(tmp_path / name)
        assert only.scores["tools/illegal"] == 0.25
        assert only.scores["tools/recovered"] == 1.0
        assert only.scores["tools/call_length"] > 5
        assert main(reversed(only.scores)) == "match/accuracy", "no score by itself"


def test_a_run_that_failed_has_no_score(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="ended with error"):
        read(changed(tmp_path, "inspect_ai.json", "status", to="error"))


def test_the_same_file_has_the_same_key_wherever_it_lies(tmp_path: Path) -> None:
    shutil.copy(DATA / "lighteval.json", tmp_path / "copy.json")
    (first,), (again,) = read(DATA / "lighteval.json"), read(tmp_path / "copy.json")
    assert key_of(first) == key_of(again)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 100, b'{"config_general": {'])
def test_what_no_harness_wrote_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(Unreadable, match=r"results\.json: is"):
        read(tmp_path / "results.json")


def test_stable_baselines3(tmp_path: Path) -> None:
    """A real EvalCallback beside the arguments that RL Baselines3 Zoo keeps."""
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.env_util import make_vec_env

    model = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, n_epochs=1, device="cpu")
    held_out = make_vec_env("CartPole-v1", 1)
    model.learn(
        128, callback=EvalCallback(held_out, n_eval_episodes=3, eval_freq=64, log_path=str(tmp_path), verbose=0)
    )
    (tmp_path / "args.yml").write_text("env: CartPole-v1\nseed: 1\n")
    found = read(tmp_path / "evaluations.npz")
    with np.load(tmp_path / "evaluations.npz") as archive:
        returns = archive["results"]
    assert [e.step for e in found] == [64, 128]
    assert [e.scores["eval.reward"] for e in found] == pytest.approx(list(returns.mean(axis=1)))
    assert found[0].errors["eval.reward"] == pytest.approx(returns[0].std(ddof=1) / np.sqrt(3))
    assert found[0].protocol.values["env_id"] == "CartPole-v1"
    assert found[0].protocol.values["episodes"] == 3
    assert "deterministic" in found[0].protocol.missing
    (tmp_path / "evaluations.npz").rename(tmp_path / "of-the-first-seed.npz")
    assert [e.scores for e in read(tmp_path / "of-the-first-seed.npz")] == [e.scores for e in found]


def test_a_live_environment_tells_its_own_protocol() -> None:
    gymnasium = pytest.importorskip("gymnasium")

    def protocol(**options: Any) -> dict[str, Any]:
        env = gymnasium.make("CartPole-v1", **options)
        return dict(gymnasium_protocol(env, episodes=10, deterministic=True, seeds=range(10)).values)

    found = protocol()
    assert (found["env_id"], found["episode_cap"]) == ("CartPole-v1", 500)
    assert found["env_version"] == f"gymnasium {gymnasium.__version__}"
    assert found["wrappers"][-1] == "TimeLimit"
    assert protocol(max_episode_steps=200)["episode_cap"] == 200
    complete = gymnasium_protocol(gymnasium.make("CartPole-v1"), episodes=5, deterministic=False, seeds=[0])
    assert complete.missing == ()
