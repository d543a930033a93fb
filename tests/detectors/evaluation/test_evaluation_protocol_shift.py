"""evaluation-protocol-shift: the evaluation jumps alone."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Confidence, Sample, Samples, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "evaluation-protocol-shift"
N = 60
JUMP = np.where(np.arange(N) < 30, 0.40, 0.55) + noise(N, 0.015)
STILL = 0.5 + noise(N, 0.02, seed=5)


def test_a_longer_limit_at_evaluation_is_found() -> None:
    lengths = np.where(np.arange(N) < 30, 500.0, 900.0) + noise(N, 15, seed=2)
    finding = found(ID, run({"eval.accuracy": JUMP, "reward.mean": STILL, "eval.length.mean": lengths}))
    assert finding.severity is Severity.WARNING
    assert "eval.length" in finding.message
    assert finding.interval is not None
    assert finding.interval[0] <= 31 <= finding.interval[1]


def test_a_rise_alone_may_be_late_skill() -> None:
    assert silent(ID, run({"eval.accuracy": JUMP, "reward.mean": STILL}))


def test_a_jump_that_training_shares_is_skill() -> None:
    both = np.where(np.arange(N) < 30, 0.3, 0.6) + noise(N, 0.02, seed=5)
    assert silent(ID, run({"eval.accuracy": JUMP, "reward.mean": both}))


def test_a_fall_that_training_does_not_share_is_a_warning() -> None:
    rising = 0.5 + 0.3 * np.linspace(0, 1, N) + noise(N, 0.01)
    assert found(ID, run({"eval.accuracy": 1 - JUMP, "reward.mean": rising})).severity is Severity.WARNING


def test_a_fall_beside_a_leap_of_the_reward_is_another_finding() -> None:
    hacked = np.where(np.arange(N) < 30, 0.3, 0.9) + noise(N, 0.02, seed=5)
    assert silent(ID, run({"eval.accuracy": 1 - JUMP, "reward.mean": hacked}))


def test_a_smooth_rise_is_healthy() -> None:
    assert silent(ID, run({"eval.accuracy": learning(N), "reward.mean": STILL}))


def test_noise_is_healthy() -> None:
    assert silent(ID, run({"eval.accuracy": STILL, "reward.mean": STILL}))


def test_without_a_training_reward_the_jump_may_be_skill() -> None:
    assert look(ID, run({"eval.accuracy": JUMP})).status is Status.NOT_MEASURED


@pytest.mark.parametrize("n", [1, 2, 8])
def test_a_few_evaluations_say_nothing(n: int) -> None:
    assert look(ID, run({"eval.accuracy": JUMP[:n], "reward.mean": STILL})).status is Status.NOT_MEASURED


def test_a_greedy_policy_that_catches_up_with_the_sampled_one_is_healthy() -> None:
    stuck = np.where(np.arange(60) < 8, -500.0, -80.0) + noise(60, 3)
    trained = np.linspace(-95, -80, 60) + noise(60, 3)
    curves = {"eval.reward": stuck, "eval.length.mean": -stuck, "reward.mean": trained}
    assert silent(ID, run(curves, algorithm="ppo"))
    assert found(ID, run({**curves, "eval.reward": stuck + 300}, algorithm="ppo"))


def test_a_second_evaluation_that_stays_says_so_even_where_nothing_is_learned() -> None:
    flat = {"reward.mean": 0.55 + noise(60, 0.05), "eval.accuracy": 0.65 + noise(60, 0.02, seed=2)}
    jumps = np.where(np.arange(60) < 30, 0.55, 0.27) + noise(60, 0.03, seed=1)
    finding = found(ID, run({**flat, "eval.accuracy": jumps, "eval.reward": flat["eval.accuracy"]}))
    assert finding.confidence is Confidence.HIGH
    assert finding.onset == pytest.approx(31, abs=1)
    both = {"eval.accuracy": jumps, "eval.reward": jumps + noise(60, 0.02, seed=4)}
    assert silent(ID, run({**flat, **both}))


def test_skill_that_the_greedy_policy_shows_first_is_healthy() -> None:
    greedy = np.where(np.arange(60) < 15, -500.0, -120.0) + noise(60, 3)
    sampled = np.interp(np.arange(60), [0, 17, 30, 60], [-500, -500, -150, -90]) + noise(60, 3, seed=1)
    curves = {"eval.reward": greedy, "eval.length.mean": -greedy, "reward.mean": sampled}
    assert silent(ID, run(curves, algorithm="ppo"))
    assert found(ID, run({**curves, "reward.mean": np.minimum(sampled, -400.0)}, algorithm="ppo"))


def test_a_fall_that_comes_back_was_a_bad_policy() -> None:
    fall = np.where(np.arange(N) < 30, 940.0, 700.0) + noise(N, 8)
    trained = {"reward.mean": learning(N, 200, 750, sd=0.01)}
    assert found(ID, run({**trained, "eval.reward": fall}))
    assert silent(ID, run({**trained, "eval.reward": np.r_[fall[:40], 940 + noise(20, 8)]}))


def test_an_episode_is_as_long_as_the_policy_makes_it() -> None:
    late = np.where(np.arange(60) < 30, 60.0, 450.0) + noise(60, 10)
    curves = {"eval.reward": late, "eval.episode_length": late, "reward.mean": np.full(60, 40.0) + noise(60, 5, seed=1)}
    assert silent(ID, run(curves, algorithm="ppo"))


@pytest.mark.parametrize("n", [10, 12])
@pytest.mark.parametrize("at", [3, 4, 7])
def test_ten_evaluations_are_enough(n: int, at: int) -> None:
    evaluation = 0.3 + 0.4 * np.linspace(0, 1, n) + noise(n, 0.02)
    trained = series("reward.mean", 0.3 + 0.4 * np.linspace(0, 1, 120) + noise(120, 0.03, seed=9))
    for fall, says in ((0.3, True), (0.0, False)):
        made = run({"eval.accuracy": evaluation - fall * (np.arange(n) >= at)})
        made.series["eval.accuracy"].steps[:] = np.linspace(10, 120, n)
        shown = replace(made, series={**made.series, "reward.mean": trained})
        assert (look(ID, shown).status is Status.FOUND) == says


def test_a_language_model_s_evaluation_that_jumps_beyond_all_of_training_is_another_protocol() -> None:
    trained = {"reward.mean": np.linspace(0.3, 0.5, N) + noise(N, 0.02, seed=5), "length.mean": 200 + noise(N, 5)}
    jumped = np.linspace(0.3, 0.5, N) + np.where(np.arange(N) < 30, 0.0, 0.3) + noise(N, 0.015)
    assert found(ID, run({**trained, "eval.reward": jumped}, algorithm="grpo"))
    episodes = {"reward.mean": trained["reward.mean"], "episode.length": trained["length.mean"]}
    assert silent(ID, run({**episodes, "eval.reward": jumped}, algorithm="ppo"))


def test_shares_of_right_answers_have_one_unit_in_training_and_evaluation() -> None:
    trained = {"reward.mean": np.linspace(0.3, 0.5, N) + noise(N, 0.02, seed=5), "length.mean": 200 + noise(N, 5)}
    jumped = np.linspace(0.3, 0.5, N) + np.where(np.arange(N) < 30, 0.0, 0.3) + noise(N, 0.015)
    assert found(ID, run({**trained, "eval.accuracy": jumped}, algorithm="grpo"))
    of_ten = {**trained, "reward.mean": 10 * trained["reward.mean"]}
    assert silent(ID, run({**of_ten, "eval.accuracy": jumped}, algorithm="grpo"))


@pytest.mark.parametrize("seed", [40, 52, 54, 72])
def test_an_evaluation_that_rises_did_not_fall_whatever_its_distance_to_training(seed: int) -> None:
    course = 0.6 + 0.35 * (1 - np.exp(-np.linspace(0, 1, 100) / 0.12))
    at = np.arange(0, 100, 10)
    evaluation = series("eval.accuracy", (course + noise(100, 0.03, seed=seed))[at], at)
    training = series("reward.mean", course + noise(100, 0.03, seed=seed + 999), np.arange(100))
    assert silent(ID, replace(run({}), series={"eval.accuracy": evaluation, "reward.mean": training}))


@pytest.mark.parametrize("seed", [220, 239, 429, 445])
def test_a_gap_that_the_training_reward_makes_is_no_jump_of_the_evaluation(seed: int) -> None:
    """A sound run; of 600 drawn so 7 were found before the evaluation's own share of the jump was asked, 3 since."""
    rng, steps = np.random.default_rng(seed), np.arange(201)
    learned = 1 - np.exp(-steps / 50)
    evaluation = rng.binomial(96, 0.35 + 0.15 * learned[::20]) / 96
    rising = 0.8 + 0.7 * learned + rng.normal(0, 0.15, 201)
    made = run({"reward.mean": rising}, algorithm="grpo")
    curves = (series("reward.mean", rising, steps), series("eval.accuracy", evaluation, steps[::20]))
    assert silent(ID, replace(made, series={curve.name: curve for curve in curves}))


@pytest.mark.parametrize(("form", "says"), [("{}", True), ("<|im_start|>user\n{}<|im_end|>", False)])
def test_an_evaluation_without_the_chat_template_asks_another_question(form: str, says: bool) -> None:
    of = {"train": "<|im_start|>user\n{}<|im_end|>", "dev": form}
    asked = [Sample(step=1.0, prompt=of[k].format(i), completion="x", meta={"split": k}) for k in of for i in range(9)]
    made = run({"reward.mean": learning(N, 0.3, 0.6)}, algorithm="grpo", samples=Samples(lambda: iter(asked), ("a",)))
    assert (look(ID, made).status is Status.FOUND) == says


def test_a_fall_from_one_evaluation_to_the_next_is_no_jump() -> None:
    falls = np.array([0.613, 0.59, 0.588, 0.54, 0.503, 0.51, 0.492, 0.39, 0.43, 0.425, 0.395])
    rising = series("reward.mean", 0.3 + 0.3 * np.arange(120) / 120 + noise(120, 0.03), np.arange(1, 121))
    curves = {"eval.accuracy": series("eval.accuracy", falls, np.linspace(1, 120, 11)), "reward.mean": rising}
    assert silent(ID, replace(run(algorithm="grpo"), series=curves))


def test_two_evaluations_that_rise_together_did_not_jump() -> None:
    at = np.arange(8.0, 81.0, 8.0)
    exact = [0.25, 0.297, 0.344, 0.391, 0.469, 0.531, 0.562, 0.516, 0.5, 0.562]
    paid = [0.413, 0.469, 0.522, 0.569, 0.656, 0.716, 0.747, 0.694, 0.684, 0.744]
    name = "eval.reward.component.exact_match.mean"
    hundredths = (
        "26 38 37 40 19 43 40 36 43 25 31 42 47 44 43 51 53 49 52 33 41 43 61 43 68 56 54 61 82 62 68 77 60 "
        "66 56 53 61 69 59 60 59 73 72 75 70 72 67 65 51 73 53 79 74 69 62 63 79 66 86 81 79 56 64 55 76 74 "
        "89 69 61 79 74 74 85 73 80 73 78 77 71 79 "
    )
    made = run({"reward.mean": np.array(hundredths.split(), float) / 100}, algorithm="grpo")
    both = {name: series(name, exact, at), "eval.reward": series("eval.reward", paid, at)}
    assert silent(ID, replace(made, series={**made.series, **both}))
