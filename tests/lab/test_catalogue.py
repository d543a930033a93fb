"""Every fault and healthy variant keeps the contract, and labels say what is wrong with a run."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from firstbreak.engine.registry import causes
from firstbreak.model import Link
from firstbreak.readers.read import read
from tests.lazy import lazy

lab = lazy("firstbreak_lab")
bases = lazy("firstbreak_lab.bases")
catalogue = lazy("firstbreak_lab.catalogue")
firstbreak_lab_running = lazy("firstbreak_lab.running")
runs = lazy("tests.lab.runs")

VARIANTS = list(lab.catalogue().values())
FAULTS = [variant for variant in VARIANTS if not variant.healthy]


def name(variant: catalogue.Variant) -> str:
    return variant.id


def test_every_link_has_three_faults() -> None:
    counts = {link: sum(fault.link is link for fault in FAULTS) for link in Link}
    assert min(counts.values()) >= 3, counts


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_a_fault_explains_itself(fault: catalogue.Variant) -> None:
    assert re.search(r"^Chain: .+->", fault.doc, re.MULTILINE)
    assert "Healthy look-alike: " in fault.doc
    assert "Source: " in fault.doc
    assert causes()[fault.cause or ""].link is fault.link
    assert 0 <= fault.onset < 0.8


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_a_link_is_accepted_beside_the_own_one_for_a_reason(fault: catalogue.Variant) -> None:
    assert fault.link not in fault.accepted
    assert len(fault.accepted) <= 2
    assert all(len(reason.split()) >= 4 for reason in fault.accepted.values())


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_variant_can_be_applied_to_each_of_its_bases(variant: catalogue.Variant) -> None:
    assert variant.bases
    for base, severities in variant.bases.items():
        assert len(set(severities)) == len(severities) > 0
        for severity in severities:
            settings, untouched, another = bases.BASES[base](), bases.BASES[base](), bases.BASES[base]()
            variant.inject(settings, severity, max(1, round(variant.onset * settings.steps)))
            changed = differences(settings, untouched) - differences(untouched, another)
            assert bool(changed) == (variant.id != "untouched"), f"{variant.id} in {base} changes {changed}"


def differences(a: Any, b: Any) -> set[str]:
    return {option for option, value in vars(a).items() if repr(value) != repr(vars(b)[option])}


def test_the_catalogue_imports_no_trainer() -> None:
    heavy = "'torch', 'stable_baselines3', 'trl', 'gymnasium'"
    code = (
        f"import sys; import firstbreak_lab as lab; lab.catalogue(); print([m for m in ({heavy}) if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_unknown_names_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'no-such-fault'.*lab list"):
        lab.run("no-such-fault", out=tmp_path)
    with pytest.raises(ValueError, match=r"classic/dqn.*language/grpo-sort"):
        lab.run("groups-mixed", base="classic/dqn-cartpole", out=tmp_path)


def test_a_run_and_its_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from firstbreak_lab import language, running

    def tiny() -> language.LanguageSettings:
        return language.LanguageSettings(total_train_steps=10, batch_size=4, eval_problems=16)

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
    variant, given = {"base": "classic/ppo-cartpole", "severity": 300.0}, {"normalize_reward": True}
    run = read(lab.run("scale-too-large", out=tmp_path, options=short, overrides=given, **variant))
    assert run.series["value.loss"].finite.values.max() < 10  # of rewards of 300 it would be a million
    assert 5 < run.series["eval.reward"].finite.values.min() <= 500


def test_a_label_with_the_old_key_of_the_variant_is_read() -> None:
    stored = asdict(runs.label("groups-mixed"))
    old = {"plant" if key == "variant" else key: value for key, value in stored.items()}
    assert (
        firstbreak_lab_running.label_from(old)
        == firstbreak_lab_running.label_from(stored)
        == runs.label("groups-mixed")
    )
