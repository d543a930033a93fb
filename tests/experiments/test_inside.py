"""What the hooks do inside a trainer's process."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.live import hooks
from firstbreak.live.hooks.firstbreak_texts import (
    Rewards,
    agreement,
    by_errors,
    probe,
    prompts_compared,
    ranking,
    shuffled,
    toy,
    worse_chosen,
)
from tests.waiting import PATIENCE


def hooked(code: str, folder: Path, intervene: object, *, cwd: Path | None = None) -> str:
    """What a script prints whose process has the hooks; modules of the folder come after them."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(hooks.FOLDER), str(folder)]),
        "FIRSTBREAK_INTERVENE": json.dumps(intervene),
        "FIRSTBREAK_FOLDER": str(folder),
    }
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=cwd, check=True, timeout=PATIENCE
    ).stdout


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 3)), max_size=20), st.integers())
def test_shuffling_keeps_the_rewards_of_every_group(pairs: list[tuple[float, int]], seed: int) -> None:
    rewards, groups = [r for r, _ in pairs], [g for _, g in pairs]
    dealt = shuffled(rewards, groups, random.Random(seed))
    for group in set(groups):
        assert sorted(r for r, g in zip(dealt, groups, strict=True) if g == group) == sorted(
            r for r, g in pairs if g == group
        )


def test_interventions_on_rewards() -> None:
    texts, groups = ["ab", "abcd"], ["p", "p"]
    assert Rewards("negated")([1.0, 0.5], texts, groups) == [-1.0, -0.5]
    assert Rewards("toy")([1.0, 0.5], ["bbbb", "aaaa"], groups) == [1.0, 0.0]
    short, long = Rewards("shorter")([1.0, 1.0], texts, groups)
    assert short > long
    assert toy("") == 0.0


def test_the_price_on_length_is_more_than_length_earns_whenever_that_begins() -> None:
    price = Rewards("shorter")
    texts, groups = ["a" * n for n in (1, 3, 5, 7)], ["p"] * 4
    honest = price([1.0] * 4, texts, groups)
    paid = price([1.0 + 0.3 * len(text) for text in texts], texts, groups)
    assert paid == pytest.approx(honest)
    assert np.diff(paid).max() < 0
    alike = price([1.0, 0.0], ["aaaa", "bbbb"], ["p"] * 2)
    assert alike[0] - alike[1] == pytest.approx(1.0), "of equal lengths nothing can be said"


@pytest.mark.parametrize(
    ("score", "shows"),
    [
        (lambda text: float(text == "42"), lambda seen: seen["right"] > max(seen["other"], seen["empty"])),
        (lambda text: 1.0 - (text == "42"), lambda seen: seen["right"] < seen["empty"]),
        (lambda text: float(len(text)), lambda seen: seen["longer"] > 0),
        (lambda text: float(text.isdigit()), lambda seen: seen["other"] == seen["right"] == 1),
        (lambda text: float(not text), lambda seen: seen["empty"] > seen["plain"]),
    ],
    ids=["honest", "negated", "pays for length", "pays for form", "pays for silence"],
)
def test_a_probe_shows_what_a_reward_function_rewards(score: object, shows: object) -> None:
    seen = probe(lambda texts: [score(t) for t in texts], ["4", "42 or so"], ["42", "7"])  # type: ignore[operator]
    if score("7") == 0 and score("42") == 1:  # type: ignore[operator]
        seen["right"] = 1.0  # of two right answers this toy knows one
    assert shows(seen)  # type: ignore[operator]
    assert seen["again"] == 0


def test_a_probe_shows_what_earns_whatever_the_prompt_and_which_texts_are_copies() -> None:
    prompts, texts = ["a", "a", "b", "b"], ["00 x", "00 x", "y", "00 z"]
    seen = probe(lambda said: [float(text.startswith("00")) for text in said], texts, [], prompts)
    assert seen["swapped"] == 0.5
    assert seen["distinct"] == 0.75
    assert "swapped" not in probe(lambda said: [0.0] * len(said), texts, [])


def test_episodes_with_errors_and_worse_chosen_answers_are_counted_where_there_are_enough() -> None:
    assert by_errors([1, 1, 1, 1, 0, 0, 0, 1], [True] * 4 + [False] * 4) == {"erring_earns": 0.75}
    assert by_errors([1, 0, 0, 0, 0, 0], [True] + [False] * 5) == {}
    assert worse_chosen([1, 0, 1], [0, 1, 1]) == {"chosen_is_worse": 0.5}, "of those that differ"
    assert worse_chosen([1], [1]) == {}


def test_the_ranking_within_a_prompt_counts_pairs_of_right_and_other_answers() -> None:
    assert ranking([1, 0, 0, 5], ["a", "a", "a", "b"], [True, False, False, False]) == {"ranked": 1.0}
    assert ranking([0, 1, 0], ["a", "a", "a"], [True, False, False]) == {"ranked": 0.0}, "and equal is not more"
    assert ranking([1, 0], ["a", "b"], [True, False]) == {}


def test_advantages_agree_with_rewards_group_by_group() -> None:
    rewards = [1.0, 0.0, 5.0, 4.0]  # the second prompt is easier
    assert agreement([1, -1, 1, -1], rewards, 2)["advantage_agrees"] == pytest.approx(1)
    assert agreement([-1, 1, -1, 1], rewards, 2)["advantage_agrees"] == pytest.approx(-1)
    assert agreement([1, -1], [1.0, 1.0], 2) == {}


def test_the_process_logs_its_learning_rates_its_memory_and_its_waiting_time(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = (
        "import torch, time, pathlib\n"
        "weight = torch.nn.Parameter(torch.zeros(1))\n"
        "optimizer = torch.optim.SGD([weight], lr=0.1)\n"
        "weight.sum().backward()\n"
        "torch.optim.SGD([weight], lr=9.0).step()\n"  # a warm-up's, which does not come back
        "for rate in (0.1, 0.3, 0.2):\n"
        "    optimizer.param_groups[0]['lr'] = rate\n"
        "    optimizer.step()\n"
        "while pathlib.Path('/proc/self/schedstat').exists() and 'resident' not in pathlib.Path('watch.jsonl').read_text():\n"
        "    time.sleep(0.02)\n"
    )
    hooked(code, tmp_path, {"watch": "process"}, cwd=tmp_path)
    rows = list(map(json.loads, (tmp_path / "watch.jsonl").read_text().splitlines()))
    assert [(row["optimizer"], row["rate"]) for row in rows if "rate" in row] == [(0, 9.0), (1, 0.1), (1, 0.3)]
    if Path("/proc/self/schedstat").exists():
        assert all(row["resident"] > 1e6 and row["queued"] >= 0 for row in rows if "resident" in row)
        assert any("resident" in row for row in rows)


def test_prompts_of_training_and_evaluation_are_compared() -> None:
    def prompts(start: int, form: str = "add: {} =") -> list[str]:
        return [form.format(n) for n in range(start, start + 100)]

    alike = prompts_compared(prompts(200), prompts(350))
    assert alike == dict(prompts_shared=0, prompts_unlike=0, prompts_distinct=1, prompts_longer=pytest.approx(1))
    assert prompts_compared(prompts(150), prompts(100))["prompts_shared"] == 0.5
    assert prompts_compared(prompts(200, "{} ="), prompts(100))["prompts_unlike"] == 1
    assert prompts_compared(prompts(200)[:10] * 10, prompts(100))["prompts_distinct"] == 0.1
    assert prompts_compared(prompts(20_000_000), prompts(100))["prompts_longer"] > 1.3


def test_the_hooks_need_no_firstbreak_and_make_room_for_the_users_own_sitecustomize(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    code = "import firstbreak_hooks, sys; print('firstbreak' in sys.modules, firstbreak_hooks.wanted())"
    assert hooked(code, tmp_path, {"data": "one"}).splitlines() == ["mine", "False {'data': 'one'}"]


def test_a_module_is_changed_as_it_is_imported_and_says_so(tmp_path: Path) -> None:
    package = tmp_path / "stable_baselines3" / "common"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parent / "__init__.py").touch()
    (package / "on_policy_algorithm.py").write_text(
        "class Parameter:\n"
        "    trains = True\n"
        "    def requires_grad_(self, trains): self.trains = trains\n"
        "class Policy:\n"
        "    parts = {'action_net.weight': Parameter(), 'value_net.weight': Parameter()}\n"
        "    def named_parameters(self): return self.parts.items()\n"
        "class OnPolicyAlgorithm:\n"
        "    def _setup_model(self): self.policy = Policy()\n"
    )
    code = (
        "from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm as A\n"
        "a = A(); a._setup_model(); print({n: p.trains for n, p in a.policy.named_parameters()})"
    )
    said = hooked(code, tmp_path, {"policy": "frozen"}).strip()
    assert said == "{'action_net.weight': False, 'value_net.weight': True}"
    (row,) = map(json.loads, (tmp_path / "interventions.jsonl").read_text().splitlines())
    assert row == {"intervention": "policy", "value": "frozen", "where": "OnPolicyAlgorithm"}


TRL = """
import torch
class GRPOTrainer:
    reward_weights, model = torch.tensor([0.5, 2.0]), torch.nn.Linear(1, 1)
    def __init__(self, reward_funcs): pass
    def _calculate_rewards(self, inputs, prompts, completions, ids):
        return torch.tensor([["<" in text, "7" in text] for text in completions]).float()
"""
TEXTS, PROMPTS = ["<7>", "<7>abcdef", "8", "8ghijklmn"], ["p"] * 4
ASKED = f"""
from trl.trainer.grpo_trainer import GRPOTrainer
for training in (True, False):
    GRPOTrainer.model.train(training)
    print(GRPOTrainer([])._calculate_rewards([], {PROMPTS}, {TEXTS}, None).tolist())
"""


@pytest.mark.parametrize("kind", ["shorter", "negated", "shuffled", "toy"])
def test_rewards_are_changed_once_for_all_functions_and_never_in_evaluation(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    package = tmp_path / "trl" / "trainer"
    package.mkdir(parents=True)
    for file, text in (("../__init__.py", ""), ("__init__.py", ""), ("grpo_trainer.py", TRL)):
        (package / file).write_text(text)
    training, evaluation = (
        np.array(json.loads(line)) for line in hooked(ASKED, tmp_path, {"reward": kind}).splitlines()
    )
    assert evaluation.tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]
    before, after = evaluation @ [0.5, 2.0], training @ [0.5, 2.0]
    if kind == "shuffled":
        assert sorted(after) == sorted(before)
    else:
        assert after == pytest.approx(Rewards(kind)(before.tolist(), TEXTS, PROMPTS), abs=1e-5)
    (row,) = map(json.loads, (tmp_path / "interventions.jsonl").read_text().splitlines())
    assert (row["intervention"], row["value"]) == ("reward", kind)


@pytest.mark.trainer
def test_a_reward_of_stable_baselines3_is_negated_once_and_not_for_an_evaluation(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    code = (
        "from stable_baselines3 import PPO; from stable_baselines3.common.evaluation import evaluate_policy as evaluate\n"
        "import gymnasium; from stable_baselines3.common.monitor import Monitor\n"
        "agent = PPO('MlpPolicy', 'CartPole-v1', n_steps=8, device='cpu'); agent.set_env(agent.get_env())\n"
        "env = agent.get_env(); env.reset(); print(float(env.step([0])[1][0]))\n"
        "print(evaluate(agent, Monitor(gymnasium.make('CartPole-v1')), 2)[0] > 0)"
    )
    assert hooked(code, tmp_path, {"reward": "negated"}).split() == ["-1.0", "True"]
