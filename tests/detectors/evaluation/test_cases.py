"""What the detectors of `evaluation` say of runs, and of sound look-alikes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Action, Config, Run, Sample, Samples, Severity, Status
from tests.detectors.look import (
    HIGH,
    NOTICE,
    WARNING,
    Cases,
    cannot,
    each_of,
    exempt,
    expects,
    finds,
    found,
    look,
    passes,
    silent,
)
from tests.make import learning, noise, run, series

# evaluation-left-behind
LISTED = {"train_wrappers": ["ClipAction", "NormalizeObservation"], "eval_wrappers": ["ClipAction"]}
FILTERED = {"observation_filter": "MeanStdFilter", "evaluation_config.observation_filter": "NoFilter"}


def built_apart(settings: dict[str, Any]) -> Run:
    """An evaluation that rises too, and stays below training by more than its error."""
    curves = {"reward.mean": learning(60, -340, 330), "eval.reward": learning(60, -240, 190) + noise(60, 5)}
    return replace(run(curves, algorithm="ppo"), config=Config(raw=settings))


# evaluation-frozen
TRAINING = learning(200, 0, 50)


def evaluated(values: list[float], **curves: object) -> Run:
    made = run({"eval.reward": values, **curves})
    made.series["eval.reward"].steps[:] = np.linspace(10, 200, len(values))
    return made


OSCILLATING = {
    "reward.mean": 18.5 - np.abs(0.3 * np.sin(np.arange(200))),
    "policy.entropy": np.linspace(1.0, 0.01, 200),
}
# evaluation-in-steps
SURER = {"policy.entropy": np.linspace(2, 1, 100)}
# evaluation-left-behind
COLLAPSE = np.r_[np.linspace(0, 400, 30), np.full(30, 5.0)]
# evaluation-noise
SWINGING = {"eval.reward": 50 + noise(30, 60, seed=3), "reward.mean": learning(300, 0, 40, sd=0.02)}
RIGHT_OF_4 = np.random.default_rng(0).binomial(4, learning(25, 0.48, 0.81, sd=0)) / 4
RIGHT_OF_128 = np.random.default_rng(0).binomial(128, learning(25, 0.48, 0.81, sd=0)) / 128
# evaluation-protocol-shift
JUMP = np.where(np.arange(60) < 30, 0.40, 0.55) + noise(60, 0.015)
STILL = 0.5 + noise(60, 0.02, seed=5)
STUCK = np.where(np.arange(60) < 8, -500.0, -80.0) + noise(60, 3)
CAUGHT_UP = {"eval.reward": STUCK, "eval.length.mean": -STUCK, "reward.mean": np.linspace(-95, -80, 60) + noise(60, 3)}
FLAT = {"reward.mean": 0.55 + noise(60, 0.05), "eval.accuracy": 0.65 + noise(60, 0.02, seed=2)}
JUMPS = np.where(np.arange(60) < 30, 0.55, 0.27) + noise(60, 0.03, seed=1)
GREEDY = np.where(np.arange(60) < 15, -500.0, -120.0) + noise(60, 3)
SAMPLED = np.interp(np.arange(60), [0, 17, 30, 60], [-500, -500, -150, -90]) + noise(60, 3, seed=1)
GREEDY_FIRST = {"eval.reward": GREEDY, "eval.length.mean": -GREEDY, "reward.mean": SAMPLED}
FALL = np.where(np.arange(60) < 30, 940.0, 700.0) + noise(60, 8)
TRAINED = {"reward.mean": learning(60, 200, 750, sd=0.01)}
LATE = np.where(np.arange(60) < 30, 60.0, 450.0) + noise(60, 10)
ANSWERING = {"reward.mean": np.linspace(0.3, 0.5, 60) + noise(60, 0.02, seed=5), "length.mean": 200 + noise(60, 5)}
JUMPED = np.linspace(0.3, 0.5, 60) + np.where(np.arange(60) < 30, 0.0, 0.3) + noise(60, 0.015)
COURSE = 0.6 + 0.35 * (1 - np.exp(-np.linspace(0, 1, 100) / 0.12))
PAID = (
    "26 38 37 40 19 43 40 36 43 25 31 42 47 44 43 51 53 49 52 33 41 43 61 43 68 56 54 61 82 62 68 77 60 66 56 53 61 69 59 "
    "60 59 73 72 75 70 72 67 65 51 73 53 79 74 69 62 63 79 66 86 81 79 56 64 55 76 74 89 69 61 79 74 74 85 73 80 73 78 77 "
    "71 79"
)


def counted(seed: int) -> dict[str, Any]:
    """A sound run; of 600 drawn so 7 were found before the evaluation's own share of the jump was asked, 3 since."""
    rng, steps = np.random.default_rng(seed), np.arange(201)
    learned = 1 - np.exp(-steps / 50)
    evaluation = rng.binomial(96, 0.35 + 0.15 * learned[::20]) / 96
    return {
        "reward.mean": (0.8 + 0.7 * learned + rng.normal(0, 0.15, 201), steps),
        "eval.accuracy": (evaluation, steps[::20]),
    }


# overfitting
PASSES = np.repeat([1.6, 1.1, 0.6, 0.3], 100)


def trained(held_out: object, training: object = PASSES) -> Run:
    """400 updates, evaluated every 40."""
    losses = np.asarray(held_out, dtype=float)
    made = run({"loss.total": np.asarray(training) + noise(400, 0.05), "lr": [1e-5] * 400})
    return run_with(made, losses)


def run_with(made: Run, losses: np.ndarray) -> Run:
    every = np.linspace(40, 400, len(losses))
    object.__setattr__(made, "series", {**made.series, "eval.loss": series("eval.loss", losses, every)})
    return made


LEARNED_BY_HEART = [1.60, 1.50, 1.42, 1.40, 1.41, 1.45, 1.52, 1.60, 1.68, 1.75]

CASES: Cases = {
    "evaluation-frozen": {
        "weights that were never loaded": finds(evaluated([23.452] * 10, **{"kl.ref": np.linspace(0, 0.5, 200)}),
            onset=10),
        "a whole number may be the floor of the task": finds(evaluated([-21.0] * 10, **{"reward.mean": TRAINING - 21}),
            NOTICE),
        "an accuracy at its ceiling is expected": expects({"eval.accuracy": np.minimum(1.0, np.linspace(0.2, 2.0, 12)),
            "reward.mean": TRAINING}),
        "a return at its ceiling is expected": expects(evaluated([float(v) for v in [100, 300, *[500] * 10]],
            **{"reward.mean": TRAINING})),
        "where nothing moves nothing need change": passes(evaluated([23.452] * 10,
            **{"reward.mean": np.full(200, 3.0)})),
        "evaluations that differ": passes(evaluated(list(learning(12)), **{"reward.mean": TRAINING})),
        "without a training curve it cannot be told": cannot(evaluated([23.452] * 10)),
        "a few evaluations say nothing": [*(cannot(evaluated([0.5] * n, **{"reward.mean": TRAINING})) for n in [1, 2,
            5])],
        "a score that has fallen to its floor is not frozen": passes(evaluated([0.4, 0.2, 0.1, *[0.0] * 9],
            **{"policy.entropy": np.linspace(1, 3, 200)})),
        "the best return of an environment without chance is a ceiling": [expects(evaluated([16.25, *[18.5] * 11],
            **OSCILLATING)),
            finds(evaluated([16.25, *[18.5] * 11],
            **{**OSCILLATING, "reward.mean": OSCILLATING["reward.mean"] + np.linspace(0, 4, 200)}))]},
    "evaluation-in-steps": {
        "numbers that repeat in blocks": finds({"eval.accuracy": np.repeat([0.31, 0.42, 0.47, 0.55, 0.61, 0.64], 4),
            **SURER}, "5 times", algorithm="grpo"),
        "numbers that differ": passes({"eval.accuracy": np.linspace(0.3, 0.6, 24), **SURER},
            algorithm="grpo"),
        "a policy that is stuck repeats itself": passes({"eval.reward": [12.8, *[9.4] * 4, *[9.6] * 7], **SURER},
            algorithm="dqn"),
        "a ceiling that repeats": passes({"eval.accuracy": np.concatenate([[0.3, 0.6, 0.8, 0.9], np.ones(20)]),
            **SURER}, algorithm="grpo"),
        "a share of few items repeats by chance": cannot({"eval.accuracy": np.array([7, 4, 9, 9, 8, 8, 8, 8, 8, 8, 8,
            10]) / 16, **SURER}, "32 items", algorithm="grpo")},
    "evaluation-left-behind": {
        "training that rises alone": finds({"reward.mean": learning(60, -200, 2000),
            "eval.reward": -200 + noise(60, 60)}, "normalisation", HIGH, algorithm="ppo"),
        "a fast learner is measured from its first returns": finds({
            "reward.mean": np.r_[np.linspace(-300, 2000, 30), np.linspace(2000, 2300, 470)] + noise(500, 20),
            "eval.reward": ([-470, -452, -420, -396, -401, -415, -387, -359, -240, -106], np.arange(50, 501, 50))},
            metric="eval.reward", algorithm="sac"),
        "an evaluation that follows": passes({"reward.mean": learning(60, 0, 400),
            "eval.reward": learning(60, 0, 350, seed=1)}, algorithm="ppo"),
        "training that does not learn leaves nothing behind": passes({"reward.mean": noise(60),
            "eval.reward": -1 + noise(60, seed=1)}, algorithm="ppo"),
        "a shared collapse is another finding": passes({"reward.mean": COLLAPSE, "eval.reward": COLLAPSE + noise(60)},
            algorithm="ppo"),
        "few evaluations say nothing": cannot({"reward.mean": learning(60), "eval.reward": [0.0, 0.0]}),
        "what the configuration gives to training only": [
            *(finds(built_apart(settings), "only the training environment has", HIGH) for settings in
                (LISTED, FILTERED, {"norm_obs": True, "eval.norm_obs": False})),
            passes(built_apart({"train_wrappers": ["RecordEpisodeStatistics", "NormalizeReward"], "eval_wrappers": []})),
            passes(built_apart({"norm_obs": True, "eval.norm_obs": True}))]},
    "evaluation-noise": {
        "scatter as large as the gain": finds({"eval.reward": 50 + noise(30, 60, seed=3),
            "reward.mean": learning(300, 0, 40, sd=0.02)}, "times as many episodes", WARNING),
        "no factor is named that the noise has made up": finds({"eval.reward": 50 + noise(30, 60, seed=3),
            "reward.mean": learning(300, 0, 1, sd=0.02)}, "more than 100 times as many episodes"),
        "a policy that swings is told from an evaluation that does": [finds(SWINGING | {"eval.reward.count":
            np.full(30, 10.0)} | {"eval.reward.std": np.full(30, 200.0)}),
            passes(SWINGING | {"eval.reward.count": np.full(30, 10.0)} | {"eval.reward.std": np.full(30, 12.0)})],
        "an accuracy is judged on its own scale": finds({"eval.accuracy": 0.4 + noise(20, 0.2, seed=1),
            "reward.mean": learning(300, -3, 3)}, numbers={"gain": pytest.approx(0.1)}),
        "one that shows a collapse is fine enough": passes({"eval.accuracy": np.concatenate([np.full(20, 0.6),
            np.zeros(20)]) + noise(40, 0.08, seed=1), "reward.mean": learning(300, -3, 3)}),
        "with few evaluations it is a notice": finds({"eval.reward": 50 + noise(8, 60, seed=1),
            "reward.mean": learning(300, 0, 40, sd=0.02)}, NOTICE),
        "an evaluation that follows the gain": passes({"eval.reward": learning(30, 0, 40, sd=0.2),
            "reward.mean": learning(300, 0, 40)}),
        "four problems are too few even where the curve rises": [finds({"eval.reward": RIGHT_OF_4,
            "reward.mean": learning(120, 0.48, 0.81, sd=0.1)}, WARNING),
            passes({"eval.reward": RIGHT_OF_128, "reward.mean": learning(120, 0.48, 0.81, sd=0.1)})],
        "an evaluation that is truly flat is another finding": passes({"eval.reward": 50 + noise(30, 0.5),
            "reward.mean": learning(300, 0, 40, sd=0.02)}),
        "where training gains nothing there is nothing to show": passes({"eval.reward": 50 + noise(30, 60),
            "reward.mean": noise(300)}),
        "a constant evaluation has no noise": passes({"eval.reward": [21.0] * 30, "reward.mean": learning(300)}),
        "without a training reward the gain is unknown": cannot({"eval.reward": 50 + noise(30, 60, seed=3)}),
        "a few evaluations say nothing": [*(cannot({"eval.reward": values,
            "reward.mean": learning(300)}) for values in [[1.0], [1.0, 2.0], [np.nan] * 10])],
        "an evaluation that jumps to its ceiling and stays is not noisy": passes({"eval.success_rate": [0.06,
            *[1.0] * 30], "reward.mean": learning(31, 0, 1.4, sd=0.02)})},
    "evaluation-protocol-shift": {
        "a rise alone may be late skill": passes({"eval.accuracy": JUMP, "reward.mean": STILL}),
        "a jump that training shares is skill": passes({"eval.accuracy": JUMP,
            "reward.mean": np.where(np.arange(60) < 30, 0.3, 0.6) + noise(60, 0.02, seed=5)}),
        "a fall that training does not share is a warning": finds({"eval.accuracy": 1 - JUMP,
            "reward.mean": 0.5 + 0.3 * np.linspace(0, 1, 60) + noise(60, 0.01)}, WARNING),
        "a fall beside a leap of the reward is another finding": passes({"eval.accuracy": 1 - JUMP,
            "reward.mean": np.where(np.arange(60) < 30, 0.3, 0.9) + noise(60, 0.02, seed=5)}),
        "a smooth rise": passes({"eval.accuracy": learning(60), "reward.mean": STILL}),
        "noise": passes({"eval.accuracy": STILL, "reward.mean": STILL}),
        "without a training reward the jump may be skill": cannot({"eval.accuracy": JUMP}),
        "a few evaluations say nothing": [*(cannot({"eval.accuracy": JUMP[:n], "reward.mean": STILL}) for n in [1, 2,
            8])],
        "a greedy policy that catches up with the sampled one is healthy": [passes(CAUGHT_UP, algorithm="ppo"),
            finds({**CAUGHT_UP, "eval.reward": STUCK + 300}, algorithm="ppo")],
        "a second evaluation that stays says so even where nothing is learned": [finds({**FLAT, "eval.accuracy": JUMPS,
            "eval.reward": FLAT["eval.accuracy"]}, HIGH, onset=(30, 32)),
            passes({**FLAT, "eval.accuracy": JUMPS, "eval.reward": JUMPS + noise(60, 0.02, seed=4)})],
        "skill that the greedy policy shows first is healthy": [passes(GREEDY_FIRST, algorithm="ppo"),
            finds({**GREEDY_FIRST, "reward.mean": np.minimum(SAMPLED, -400.0)}, algorithm="ppo")],
        "a fall that comes back was a bad policy": [finds({**TRAINED, "eval.reward": FALL}),
            passes({**TRAINED, "eval.reward": np.r_[FALL[:40], 940 + noise(20, 8)]})],
        "an episode is as long as the policy makes it": passes({"eval.reward": LATE, "eval.episode_length": LATE,
            "reward.mean": np.full(60, 40.0) + noise(60, 5, seed=1)}, algorithm="ppo"),
        "a language model's evaluation that jumps beyond all of training is another protocol": [finds({**ANSWERING,
            "eval.reward": JUMPED}, algorithm="grpo"),
            passes({"reward.mean": ANSWERING["reward.mean"], "episode.length": ANSWERING["length.mean"],
            "eval.reward": JUMPED}, algorithm="ppo")],
        "shares of right answers have one unit in training and evaluation": [finds({**ANSWERING,
            "eval.accuracy": JUMPED}, algorithm="grpo"),
            passes({**ANSWERING, "reward.mean": 10 * ANSWERING["reward.mean"], "eval.accuracy": JUMPED},
            algorithm="grpo")],
        "an evaluation that rises did not fall whatever its distance to training": [*(passes({
            "eval.accuracy": ((COURSE + noise(100, 0.03, seed=seed))[::10], np.arange(0, 100, 10)),
            "reward.mean": (COURSE + noise(100, 0.03, seed=seed + 999), np.arange(100))}) for seed in [40, 52, 54, 72])],
        "a gap that the training reward makes is no jump of the evaluation": [
            *(passes(counted(seed), algorithm="grpo") for seed in [220, 239, 429, 445])],
        "a fall from one evaluation to the next is no jump": passes({"eval.accuracy": (
            [0.613, 0.59, 0.588, 0.54, 0.503, 0.51, 0.492, 0.39, 0.43, 0.425, 0.395], np.linspace(1, 120, 11)),
            "reward.mean": 0.3 + 0.3 * np.arange(120) / 120 + noise(120, 0.03)}, algorithm="grpo"),
        "two evaluations that rise together did not jump": passes({"reward.mean": np.fromstring(PAID, sep=" ") / 100,
            "eval.reward.component.exact_match.mean": (
                [0.25, 0.297, 0.344, 0.391, 0.469, 0.531, 0.562, 0.516, 0.5, 0.562], np.arange(8.0, 81.0, 8.0)),
            "eval.reward": ([0.413, 0.469, 0.522, 0.569, 0.656, 0.716, 0.747, 0.694, 0.684, 0.744],
                np.arange(8.0, 81.0, 8.0))}, algorithm="grpo")},
    "overfitting": {
        "a held out loss that turns is found where it was lowest": finds(trained(LEARNED_BY_HEART), "perplexity",
            onset=160, numbers={"rise": pytest.approx(0.28)}),
        "a held out loss that falls or holds is none": [passes(trained(np.linspace(1.6, 1.2, 10))),
            passes(trained([1.6, 1.5, 1.45, 1.42, 1.41, 1.40, 1.40, 1.41, 1.41, 1.42]))],
        "one bad evaluation at the end": passes(trained([1.6, 1.5, 1.45, 1.42, 1.41, 1.40, 1.40, 1.40, 1.40, 1.7])),
        "where the training loss rises too it is no over fitting": passes(trained([1.0, 1.2, 1.5, 1.7, 1.9, 2.1, 2.3,
            2.5, 2.8, 3.0], np.linspace(1.0, 3.0, 400))),
        "a reward makes it no supervised training": exempt(run_with(run({"reward.mean": noise(400),
            "loss.total": PASSES}), np.array(LEARNED_BY_HEART)))},
    "score-missing": {
        "losses are not a score": cannot({"loss.total": noise(100), "lr": [1e-6] * 100}, "2 recorded curves"),
        "names that look like a score are shown": cannot({"loss.total": noise(9)}, "my/task_reward",
            unknown={"my/task_reward": series("my/task_reward", noise(9))}),
        "a run without a curve shows nothing": cannot({}),
        "a score without a number": cannot({"reward.mean": [np.nan] * 10}),
        "one score is enough to be there": [cannot({"reward.mean": [0.3]}, "does not prove ability"),
            passes({"eval.accuracy": [0.3]})],
        "without an evaluation nothing was measured": cannot({"reward.mean": np.linspace(0, 1, 100)},
            "does not prove ability"),
        "supervised training has its loss for a score": passes({"loss.total": 2 + noise(100, 0.1),
            "lr": [1e-5] * 100})},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_old_weights_are_found() -> None:
    values = [11.27, 14.71, 19.83, *[23.452] * 9]
    rising = np.linspace(0, 50, 200) + 0.1 * TRAINING
    finding = found("evaluation-frozen", evaluated(values, **{"reward.mean": rising}), Severity.WARNING)
    assert "the last 9 evaluations" in finding.message
    assert finding.onset == pytest.approx(10 + 3 * 190 / 11)


def test_a_policy_that_has_settled_repeats_its_greedy_score() -> None:
    values = [0.25, 0.4, 0.48, *[0.505] * 9]
    settled = {"reward.mean": 0.5 + noise(200, 0.05), "policy.entropy": np.linspace(0.4, 0.03, 200)}
    silent("evaluation-frozen", evaluated(values, **settled))


@pytest.mark.parametrize(("level", "alarm"), [(0.984375, False), (0.734375, True)])
def test_of_a_share_near_1_the_same_few_problems_stay_unsolved(level: float, alarm: bool) -> None:
    learns = learning(200, 0.2, 0.9) + np.linspace(0, 0.2, 200)
    (found if alarm else silent)("evaluation-frozen", evaluated([level] * 12, **{"reward.mean": learns}))


def test_a_table_that_carries_the_last_evaluation_has_each_once() -> None:
    carried = np.repeat(learning(20), 50)
    made = run({"eval.reward": carried, "reward.mean": learning(1000)})
    assert silent("evaluation-in-steps", made)
    chosen = Inputs(made).eval_score
    assert list(chosen.steps) == list(range(1, 1000, 50))


def test_a_ceiling_is_not_one_long_evaluation() -> None:
    made = run({"eval.reward": np.concatenate([learning(10, 100, 480), np.full(290, 500.0)])})
    assert len(Inputs(made).eval_score) == 300


def test_an_evaluation_that_was_solved_before_training_measures_nothing() -> None:
    def of(scores: list[float], start: float) -> Run:
        return run({"eval.accuracy": scores, "reward.mean": learning(200, start, 0.9)})

    assert "measure nothing" in found("evaluation-noise", of([1.0] * 10, 0.2), Severity.WARNING).message
    assert look("evaluation-noise", of([0.9, *[1.0] * 9], 0.2)).finding is None  # it was not solved at first
    assert look("evaluation-noise", of([1.0] * 10, 0.7)).finding is None
    late = series("eval.accuracy", [1.0] * 10, np.arange(20, 201, 20))
    assert (
        look("evaluation-noise", replace(of([], 0.2), series={**of([], 0.2).series, late.name: late})).finding is None
    )  # solved since


def test_a_longer_limit_at_evaluation_is_found() -> None:
    lengths = np.where(np.arange(60) < 30, 500.0, 900.0) + noise(60, 15, seed=2)
    finding = found(
        "evaluation-protocol-shift", run({"eval.accuracy": JUMP, "reward.mean": STILL, "eval.length.mean": lengths})
    )
    assert finding.severity is Severity.WARNING
    assert "eval.length" in finding.message
    assert finding.interval is not None
    assert finding.interval[0] <= 31 <= finding.interval[1]


@pytest.mark.parametrize("n", [10, 12])
@pytest.mark.parametrize("at", [3, 4, 7])
def test_ten_evaluations_are_enough(n: int, at: int) -> None:
    evaluation = 0.3 + 0.4 * np.linspace(0, 1, n) + noise(n, 0.02)
    trained = series("reward.mean", 0.3 + 0.4 * np.linspace(0, 1, 120) + noise(120, 0.03, seed=9))
    for fall, says in ((0.3, True), (0.0, False)):
        made = run({"eval.accuracy": evaluation - fall * (np.arange(n) >= at)})
        made.series["eval.accuracy"].steps[:] = np.linspace(10, 120, n)
        shown = replace(made, series={**made.series, "reward.mean": trained})
        assert (look("evaluation-protocol-shift", shown).status is Status.FOUND) == says


@pytest.mark.parametrize(("form", "says"), [("{}", True), ("<|im_start|>user\n{}<|im_end|>", False)])
def test_an_evaluation_without_the_chat_template_asks_another_question(form: str, says: bool) -> None:
    of = {"train": "<|im_start|>user\n{}<|im_end|>", "dev": form}
    asked = [Sample(step=1.0, prompt=of[k].format(i), completion="x", meta={"split": k}) for k in of for i in range(9)]
    made = run({"reward.mean": learning(60, 0.3, 0.6)}, algorithm="grpo", samples=Samples(lambda: iter(asked), ("a",)))
    assert (look("evaluation-protocol-shift", made).status is Status.FOUND) == says


def test_the_diagnosis_names_over_fitting_and_the_checkpoint_to_go_back_to() -> None:
    said = diagnose(trained(LEARNED_BY_HEART))
    assert said.causes[0].id == "over-fitted"
    assert said.best_checkpoint is not None
    assert said.best_checkpoint.metric == "eval.loss"
    assert said.best_checkpoint.value == pytest.approx(1.4, abs=0.02)
    assert said.verdict.action is not Action.CONTINUE
