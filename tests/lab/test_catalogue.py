"""Every fault and healthy variant keeps the contract, and labels tell the truth about a run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from firstbreak import lab
from firstbreak.engine.read import read
from firstbreak.engine.registry import causes
from firstbreak.lab.bases import BASES
from firstbreak.lab.plants import Plant
from firstbreak.model import Link

PLANTS = list(lab.catalogue().values())
FAULTS = [plant for plant in PLANTS if not plant.healthy]


def name(plant: Plant) -> str:
    return plant.id


def test_every_link_has_three_faults() -> None:
    counts = {link: sum(fault.link is link for fault in FAULTS) for link in Link}
    assert min(counts.values()) >= 3, counts
    assert len(FAULTS) >= 45
    assert len(PLANTS) - len(FAULTS) >= 12


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_a_fault_explains_itself(fault: Plant) -> None:
    assert re.search(r"^Chain: .+->", fault.doc, re.MULTILINE)
    assert "Healthy look-alike: " in fault.doc
    assert "Source: " in fault.doc
    assert causes()[fault.cause or ""].link is fault.link
    assert 0 <= fault.onset < 0.8


@pytest.mark.parametrize("plant", PLANTS, ids=name)
def test_a_plant_can_be_planted_in_each_of_its_bases(plant: Plant) -> None:
    assert plant.bases
    for base, severities in plant.bases.items():
        assert len(set(severities)) == len(severities) > 0
        for severity in severities:
            settings, untouched, another = BASES[base](), BASES[base](), BASES[base]()
            plant.inject(settings, severity, max(1, round(plant.onset * settings.steps)))
            changed = differences(settings, untouched) - differences(untouched, another)
            assert bool(changed) == (plant.id != "untouched"), f"{plant.id} in {base} changes {changed}"


def differences(a: Any, b: Any) -> set[str]:
    return {option for option, value in vars(a).items() if repr(value) != repr(vars(b)[option])}


def test_the_catalogue_imports_no_trainer() -> None:
    heavy = "'torch', 'stable_baselines3', 'trl', 'gymnasium'"
    code = f"import sys; from firstbreak import lab; lab.catalogue(); print([m for m in ({heavy}) if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_unknown_names_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'no-such-fault'.*lab list"):
        lab.run("no-such-fault", out=tmp_path)
    with pytest.raises(ValueError, match=r"classic/dqn.*language/grpo-sort"):
        lab.run("groups-mixed", base="classic/dqn-cartpole", out=tmp_path)


def test_a_run_and_its_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from firstbreak.lab import language, running

    def tiny() -> language.Settings:
        return language.Settings(total_train_steps=10, batch_size=4, eval_problems=16)

    monkeypatch.setattr(running, "BASES", {"language/grpo-sort": tiny})
    broken = lab.run("reward-sign-flipped", out=tmp_path / "a", seed=3, severity=1.0, base="language/grpo-sort")
    lab.run("untouched", out=tmp_path / "b", seed=3, base="language/grpo-sort")
    label = lab.read_label(tmp_path / "a")
    assert (label.link, label.cause, label.onset, label.seed) == ("reward", "reward-sign-wrong", 3, 3)
    assert lab.read_label(tmp_path / "b").link is None
    assert not any("label" in path.name for path in broken.rglob("*"))

    import orjson

    rows = {
        which: [orjson.loads(x) for x in (tmp_path / which / "run/metrics.jsonl").read_text().splitlines()]
        for which in "ab"
    }
    reward = {which: [row["ppo_actor/task_reward/avg"] for row in rows[which]] for which in "ab"}
    assert reward["a"][:2] == reward["b"][:2]  # the twins are one run until the onset
    assert reward["a"][2] == -reward["b"][2]  # the third batch is the same, and graded with the other sign


def test_rewards_are_learned_from_at_their_own_scale_where_that_is_asked_for_and_evaluated_as_they_are(
    tmp_path: Path,
) -> None:
    pytest.importorskip("stable_baselines3")
    short = {"total_timesteps": 2048, "eval_every": 1024, "eval_episodes": 1}
    plant, told = {"base": "classic/ppo-cartpole", "severity": 300.0}, {"normalize_reward": True}
    run = read(lab.run("scale-too-large", out=tmp_path, options=short, overrides=told, **plant))
    assert run.series["value.loss"].finite.values.max() < 10  # of rewards of 300 it would be a million
    assert 5 < run.series["eval.reward"].finite.values.min() <= 500
