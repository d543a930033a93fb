"""A reward function is run as its trainer runs it, and what is wrong with it is named."""

import csv
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.cli.check import reward as command
from firstbreak.model import Action, Status
from firstbreak.preflight import Report, reward
from firstbreak.preflight.reward import attacks, distribution, pairs
from firstbreak.readers import Unreadable
from firstbreak.reports.preflight import renderable
from tests.command import printed
from tests.lazy import lazy
from tests.preflight.reports import found, page
from tests.preflight.rewards import SCORES

stats = lazy("scipy.stats")

HERE = "tests.preflight.rewards"


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten sums, eight completions each, a half right; with a human score."""
    rng = random.Random(0)
    rows = []
    for i in range(10):
        a, b = rng.randint(100, 900), rng.randint(1000, 9000)
        for _ in range(8):
            right = rng.random() < 0.5
            said = a + b if right else a + b + rng.randint(1, 9)
            thought = "hm " * rng.randint(0, 12)
            rows.append(
                {
                    "prompt": f"{a} + {b} = ?",
                    "completion": f"<think>{thought}</think><answer>{said}</answer>",
                    "answer": str(a + b),
                    "human": 4 + rng.random() if right else 1 + rng.random(),
                    "group": i,
                }
            )
    return lines(tmp_path_factory.mktemp("samples") / "samples.jsonl", rows)


def checked(name: str, samples: Path, **more: Any) -> Report:
    return reward.check(f"{HERE}:{name}", str(samples), **more)


@pytest.mark.parametrize("name", ["sound", "sound_score", "sound_async"])
def test_a_sound_verifier_is_left_in_peace_in_every_signature(name: str, samples: Path) -> None:
    report = checked(name, samples)
    assert found(report) == {}
    assert report.numbers["false_positive"] == 0
    assert report.numbers["false_negative"] == 0
    assert report.numbers["rewards"].mean() == pytest.approx(0.5, abs=0.15)
    assert {o.detector: o.status for o in report.outcomes}["reward-human"] is Status.OK


@pytest.mark.parametrize(
    ("name", "probe", "said"),
    [
        ("substring", "reward-false-positives", "'negation' 100 %"),
        ("format_only", "reward-right-from-wrong", "the same as wrong ones"),
        ("believes_claims", "reward-false-positives", "judge injection"),
        ("exact", "reward-false-negatives", "for their notation"),
        ("reversed_sign", "reward-human", "sign is reversed"),
        ("reversed_sign", "reward-right-from-wrong", "sign is reversed"),
        ("length", "reward-length", "longer completions get a higher reward"),
        ("always_one", "reward-distribution", "cannot separate good from bad"),
        ("always_zero", "reward-distribution", "too sparse"),
        ("noisy", "reward-repeatable", "scored again"),
        ("by_place", "reward-repeatable", "reverse order"),
        ("long_tail", "reward-distribution", "long tail"),
        ("not_finite", "reward-finite", "None, NaN or infinite"),
        ("raises", "reward-false-positives", "IndexError"),
        ("one_short", "reward-answers", "79 rewards for 80"),
        ("no_kwargs", "reward-answers", "add **kwargs"),
        ("empty_pays", "reward-nothing-pays", "the reward prefers empty answers"),
    ],
)
def test_a_defect_is_named(name: str, probe: str, said: str, samples: Path) -> None:
    assert said in found(checked(name, samples))[probe]


def test_trls_own_rewards_run_unchanged(tmp_path: Path) -> None:
    rows = [
        {
            "prompt": f"What is {i} + {i}?",
            "completion": f"<think>\nEasy.\n</think>\nIt is $\\boxed{{{2 * i + i % 2}}}$.",
            "solution": f"${2 * i}$",
        }
        for i in range(24)
    ]
    path, few = lines(tmp_path / "s.jsonl", rows), lines(tmp_path / "few.jsonl", rows[:6])
    accuracy = reward.check("trl.rewards:accuracy_reward", str(few), column={"answer": "solution"})
    assert dict(accuracy.checked)["Called as"] == "TRL with chats"
    assert accuracy.numbers["rewards"].tolist() == [1.0, 0.0] * 3
    form = reward.check("trl.rewards:think_format_reward", str(path))
    assert form.numbers["rewards"].tolist() == [1.0] * 24
    assert "cannot separate good from bad" in found(form)["reward-distribution"]


def test_a_trainers_own_dump_can_be_scored_again() -> None:
    dump = Path(__file__).parents[2] / "src" / "firstbreak" / "cli" / "demo" / "run"
    report = reward.check(f"{HERE}:always_one", str(dump))
    assert len(report.numbers["rewards"]) > 100


def test_columns_may_have_any_name_and_csv_will_do(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["q", "said", "truth"])
        writer.writerows([[f"{i}+1", f"<answer>{i + i % 2}</answer>", i + 1] for i in range(40)])
    roles = {"prompt": "q", "completion": "said", "answer": "truth"}
    report = reward.check(f"{HERE}:sound_score", str(path), column=roles)
    assert report.numbers["rewards"].tolist() == [0.0, 1.0] * 20


@pytest.mark.parametrize(
    ("rows", "roles", "said"),
    [
        ([{"x": 1}], {}, "--column completion=NAME"),
        ([{"completion": "a"}], {"answer": "truth"}, "no column 'truth'"),
        ([{"completion": "a"}], {"anwser": "truth"}, "no role"),
        ([], {}, "holds no rows"),
    ],
)
def test_a_file_that_cannot_be_scored_says_what_is_missing(
    rows: list[Any], roles: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match=said):
        reward.check(f"{HERE}:sound", str(lines(tmp_path / "s.jsonl", rows)), column=roles)


def test_the_command_prints_a_page_and_sets_the_exit_code(samples: Path) -> None:
    page(command, f"{HERE}:sound", samples)
    bad = printed(command, f"{HERE}:substring", samples, "--column", "answer=answer", "--format", "json", code=1)
    assert json.loads(bad)["numbers"]["false_positive"] > 0.2


def preference_pairs(tmp_path: Path) -> Path:
    rng = random.Random(1)
    rows = []
    for i in range(150):
        facts = rng.randint(2, 4)
        good = " ".join(["A fact."] * facts + ["And so on."] * rng.randint(0, 6))
        bad = " ".join(["A fact."] * (facts - 1) + ["Something vague."] * rng.randint(0, 6))
        rows.append({"prompt": f"topic {i}", "chosen": good, "rejected": bad, "category": "maths" if i % 2 else "chat"})
    return lines(tmp_path / "pairs.jsonl", rows)


@pytest.mark.parametrize(
    ("name", "probe", "said"),
    [
        ("likes_length", "reward-pairs-length", "rewards length"),
        ("likes_length", "reward-pairs-style", "longer by filler"),
        ("likes_politeness", "reward-pairs-style", "polite closing"),
        ("swapped", "reward-pairs-accuracy", "reversed"),
        ("overconfident", "reward-pairs-calibration", "larger than its accuracy"),
    ],
)
def test_what_a_reward_model_pays_for_is_named(name: str, probe: str, said: str, tmp_path: Path) -> None:
    report = reward.check(f"{HERE}:{name}", pairs=str(preference_pairs(tmp_path)))
    assert said in found(report)[probe]


def test_a_good_reward_model_is_left_in_peace_and_shown_by_category(tmp_path: Path) -> None:
    report = reward.check(f"{HERE}:quality", pairs=str(preference_pairs(tmp_path)))
    assert found(report) == {}
    assert report.action is Action.CONTINUE
    table = next(e for e in report.exhibits if e.title == "Accuracy")
    assert {row[0] for row in table.rows} == {"maths", "chat"}


def test_margins_drawn_from_the_model_are_calibrated_and_scaled_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    sure = rng.exponential(1.5, size=4000)
    margin = np.where(rng.random(4000) < 1 / (1 + np.exp(-sure)), sure, -sure)
    assert pairs.calibration_error(margin) < 0.03
    assert pairs.best_scale(margin) == pytest.approx(1, rel=0.1)
    assert pairs.calibration_error(8 * margin) > 0.1
    assert pairs.best_scale(8 * margin) == pytest.approx(1 / 8, rel=0.1)


@settings(max_examples=25)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=12), st.integers(2, 6))
def test_group_signal_is_the_share_of_draws_that_differ(values: list[float], size: int) -> None:
    rewards = np.array(values)
    rng = np.random.default_rng(0)
    draws = [rng.choice(rewards, size, replace=len(values) < size) for _ in range(400)]
    drawn = np.mean([np.ptp(d) > 0 for d in draws])
    assert distribution.with_signal(rewards, size) == pytest.approx(drawn, abs=0.1)


@given(st.lists(st.integers(-3, 3), min_size=3, max_size=30))
def test_ranks_are_scipys(values: list[int]) -> None:
    assert distribution.ranks(np.array(values)).tolist() == stats.rankdata(values).tolist()


WRONG = {"41": "42", "-1": "0", "B": "C", "(c)": "(D)", "Yes": "no", "x=2.5": "x=3.5", "Paris": "something else"}


@pytest.mark.parametrize(("answer", "other"), WRONG.items())
def test_a_wrong_answer_is_of_the_same_kind_and_wrong(answer: str, other: str) -> None:
    assert attacks.wrong(answer) == other


def test_two_huge_rewards_are_a_tail_and_three_usual_values_are_not() -> None:
    usual = np.array([0.0, 1.0] * 240)
    huge = usual.copy()
    huge[[3, 77]] = 5000.0
    parts = np.array([0.0] * 450 + [0.1] * 25 + [1.0] * 5)
    assert "a long tail" in message(distribution.shape(huge))
    for sound in (usual, parts):
        assert "a long tail" not in message(distribution.shape(sound))


def message(answer: Any) -> str:
    return answer if isinstance(answer, str) else answer.message


def test_rewards_of_another_scale_are_named() -> None:
    rewards = np.random.default_rng(0).normal(0.5, 0.2, 200)
    assert "divide the reward" in message(distribution.scale(1e5 * rewards))
    assert isinstance(distribution.scale(100 * rewards), str)


def scored(path: Path, rng: random.Random, *, shuffled: bool = False, shifted: int = 0, right: float = 0.6) -> Path:
    """Sixty products, four completions each; their answers as they are, shuffled, or so many rows late."""
    numbers = [(rng.randint(11, 99), rng.randint(11, 99)) for _ in range(60)]
    answers = [a * b for a, b in numbers]
    given = rng.sample(answers, len(answers)) if shuffled else [*answers[shifted:], *answers[:shifted]]
    rows = [
        {"prompt": f"{a} * {b}?", "completion": f"<answer>{a * b if rng.random() < right else rng.randint(9, 999)}</answer>",
         "answer": str(answer), "reward": rng.random()}
        for (a, b), answer in zip(numbers, given, strict=True) for _ in range(4)
    ]  # fmt: skip
    return lines(path, rows)


@pytest.mark.parametrize("seed", range(3))
def test_answers_of_other_rows_are_told_from_a_weak_policy(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    assert (
        "were shuffled"
        in found(checked("sound", scored(tmp_path / "a.jsonl", rng, shuffled=True)))["reward-references"]
    )
    assert "2 rows" in found(checked("sound", scored(tmp_path / "b.jsonl", rng, shifted=2)))["reward-references"]
    for right in (0.02, 0.3, 0.9):
        assert "reward-references" not in found(checked("sound", scored(tmp_path / "c.jsonl", rng, right=right)))


def test_a_dump_without_the_answers_that_a_verifier_needs_is_not_its_fault(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [{k: v for k, v in json.loads(row).items() if k != "answer"} for row in scored(tmp_path / "a", rng).open()]
    report = checked("sound", lines(tmp_path / "b.jsonl", rows))
    assert found(report) == {}
    assert "which the samples do not hold" in {o.detector: o.note for o in report.outcomes}["reward-answers"]
    said = renderable(report).string()
    assert "NOTHING FOUND" not in said
    assert "2 OF 8 PROBES NOT MADE" in said
    assert "The function could not be called" in said.replace("\n", " ")
    assert {o.detector: o.status for o in report.outcomes}["reward-distribution"] is Status.OK


def test_one_outlier_does_not_move_what_counts_as_a_reward(samples: Path) -> None:
    report = checked("one_outlier", samples)
    assert report.numbers["false_negative"] == 0
    assert not found(report).keys() & {"reward-false-negatives", "reward-right-from-wrong"}


def test_a_function_that_needs_a_batch_is_scored_in_groups(samples: Path, tmp_path: Path) -> None:
    """One row alone is no completion that stops a run."""
    assert "reward-repeatable" not in found(checked("by_batch", samples))
    single = lines(tmp_path / "single.jsonl", [json.loads(row) for row in samples.open()][::8])
    assert "does it need a whole batch?" in found(checked("by_batch", single))["reward-repeatable"]


@pytest.mark.parametrize(("name", "fails"), [("by_spread", False), ("raises_on_empty", True)])
def test_a_function_that_fails_in_a_call_is_asked_again_beside_all_samples(
    name: str, fails: bool, samples: Path
) -> None:
    """What stops a run is a batch that it may have, and no call with a few rows that are all alike."""
    said = " ".join(found(checked(name, samples)).values())
    assert any(words in said for words in ("stops a run", "a run stops")) is fails, said


def test_answers_may_have_the_name_of_another_trainer(tmp_path: Path) -> None:
    rows = [json.loads(row) for row in scored(tmp_path / "a", random.Random(1)).open()]
    report = checked("sound", lines(tmp_path / "b.jsonl", [{**r, "gts": r.pop("answer")} for r in rows]))
    assert report.numbers["rewards"].mean() == pytest.approx(0.6, abs=0.1)


def test_a_function_that_knows_only_the_samples_is_not_called_a_form_reward(samples: Path) -> None:
    rows = [json.loads(row) for row in samples.open()]
    SCORES.update({row["completion"]: rng.random() for rng in [random.Random(0)] for row in rows})
    report = checked("looked_up", samples)
    assert "reward-right-from-wrong" not in found(report)
    assert {o.detector: o.status for o in report.outcomes}["reward-right-from-wrong"] is Status.NOT_MEASURED


def test_right_answers_that_are_longer_are_no_preference_for_length(tmp_path: Path) -> None:
    rng = random.Random(2)
    rows = [json.loads(row) for row in scored(tmp_path / "a", rng, right=0.5).open()]
    for row in rows:
        wise = row["completion"] == f"<answer>{row['answer']}</answer>"
        row["completion"] = "hm " * rng.randint(8 if wise else 1, 20 if wise else 10) + row["completion"]
    assert "reward-length" not in found(checked("sound", lines(tmp_path / "b.jsonl", rows)))


def test_ten_large_rewards_of_two_hundred_are_a_tail_and_a_wide_bell_is_not() -> None:
    rng = np.random.default_rng(3)
    bell = rng.normal(0, 0.3, 200)
    jackpots = bell.copy()
    jackpots[:8] = np.exp(rng.uniform(6, 8, 8))
    assert "a long tail" in message(distribution.shape(jackpots))
    assert "a long tail" not in message(distribution.shape(bell))
    assert "a long tail" not in message(distribution.shape(rng.laplace(0, 1, 200)))
