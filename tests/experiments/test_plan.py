"""The expected information of an experiment, and in which order experiments are proposed."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.cli.experiment import command
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import TREATED, Answer, Arms, Question, outruns, rises
from firstbreak.engine.rank import rank
from firstbreak.experiments import conduct
from firstbreak.experiments.overrides import CannotOverride
from firstbreak.experiments.plan import (
    Power,
    answerable,
    applicable,
    arms,
    information,
    length,
    logged_steps,
    named_first,
    power_of,
    probability,
    propose,
    untouched,
    weigh,
    worth_running,
)
from firstbreak.experiments.settings import ExperimentSettings
from firstbreak.model import Action, Config, Experiment, Run, Series, Weight, WeightKind
from firstbreak.readers.read import read
from tests.there import there

TRAIN = ExperimentSettings(command=("train", "{overrides}"))
SHORT = replace(catalogue()["long-horizon"], length=0.1)
DEMO = Path(__file__).parents[2] / "src" / "firstbreak" / "cli" / "demo" / "run"


def curve(name: str, values: np.ndarray, steps: np.ndarray | None = None, axis: str = "step") -> Series:
    return Series(
        name=name, steps=np.arange(1.0, len(values) + 1) if steps is None else steps, values=values, axis=axis
    )


def cleaned(*curves: Series) -> Run:
    """A run of CleanRL's PPO."""
    config = Config(keys={"gamma": "gamma", "total_steps": "steps"})
    return Run(path="x", trainer="cleanrl", algorithm="ppo", series={c.name: c for c in curves}, config=config)


def question(otherwise: float = 0.5, **yes: float) -> Question:
    return Question(asks="?", answer=rises("score"), yes=yes, otherwise=otherwise)


def test_a_question_that_separates_two_causes_is_worth_nearly_a_bit_and_one_that_does_not_nothing() -> None:
    beliefs = {"a": 0.5, "b": 0.5}
    assert information(beliefs, [question(a=1.0, b=0.0)]) == pytest.approx(1 - 0.1414, abs=0.001)  # never quite certain
    assert information(beliefs, [question(a=0.7, b=0.7)]) == pytest.approx(0, abs=1e-9)
    assert information({"a": 1.0, "b": 0.0}, [question(a=1.0, b=0.0)]) == pytest.approx(0, abs=1e-9)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.lists(st.lists(st.floats(0, 1), min_size=6, max_size=6), min_size=1, max_size=4),
)
def test_information_is_never_negative_nor_more_than_there_is_to_know_and_more_questions_tell_more(
    weights: list[float], tables: list[list[float]]
) -> None:
    names = "abcdef"[: len(weights)]
    beliefs = {name: w / sum(weights) for name, w in zip(names, weights, strict=True)}
    questions = [question(**dict(zip("abcdef", table, strict=True))) for table in tables]
    bits = information(beliefs, questions)
    assert -1e-9 <= bits <= math.log2(len(beliefs)) + 1e-9
    assert information(beliefs, questions[:-1]) <= bits + 1e-9


def test_many_questions_are_worth_what_few_equal_ones_are() -> None:
    """Beyond a few, combinations of answers are drawn instead of gone through: about the same must come out."""
    beliefs = {"a": 0.5, "b": 0.3, "c": 0.2}
    few = [question(a=0.9, b=0.2, c=0.5), question(a=0.3, b=0.9, c=0.1)]
    silent = [question(a=0.5, b=0.5, c=0.5)] * 30
    assert information(beliefs, few + silent) == pytest.approx(information(beliefs, few), abs=0.04)


def test_what_the_lab_has_counted_outweighs_what_is_declared() -> None:
    declared = question(a=0.9)
    counted = replace(declared, counted={"a": (0, 8), "b": (1, 1), "c": (0, 17)})
    assert probability(declared, "a") == 0.9
    assert probability(counted, "a") == pytest.approx(0.18)
    assert probability(counted, "d") == pytest.approx(0.1), "what the lab shows of other causes holds for one it lacks"
    assert probability(counted, "b") > probability(counted, "d") > probability(counted, "c")


def test_what_was_never_answered_so_is_the_less_likely_the_more_runs_were_asked() -> None:
    def elsewhere(runs: int) -> float:
        return probability(replace(question(a=0.9), otherwise=0.0, counted={"b": (0, runs)}), "c")

    assert elsewhere(4) == elsewhere(20) == 0.02
    assert elsewhere(200) == pytest.approx(0.5 / 201)


def test_the_weights_of_an_answer_are_bayes_rule() -> None:
    asked = question(a=0.9, b=0.3, healthy=0.3)
    weights = weigh("x", asked, Answer(yes=True, reason=""), ["a", "b", "healthy"])
    assert weights["a"].weight == pytest.approx(math.log(3))
    assert set(weights) == {"a"}
    assert weigh("x", asked, Answer(yes=False, reason=""), ["a"])["a"].weight == pytest.approx(math.log(1 / 7))
    assert weigh("x", asked, Answer(yes=None, reason=""), ["a"]) == {}


def test_the_plan_of_a_real_run_puts_first_what_tells_most_for_its_cost_and_says_what_is_missing() -> None:
    run = read(DEMO)
    ranked = rank(Inputs(run), check(run))
    proposals = propose(run, ranked, TRAIN)
    possible = [p for p in proposals if not p.cannot]
    assert [p.worth for p in possible] == sorted((p.worth for p in possible), reverse=True)
    assert possible[0].bits > 0.002  # a diagnosis that is nearly certain leaves little information
    assert any("sft_model" in p.cannot for p in proposals)
    assert all(p.share <= 0.5 for p in possible)
    assert not {"critic-only", "long-horizon"} & {p.design.id for p in proposals}, "a text policy has neither"
    first = proposals[0].design.id
    assert first not in {p.design.id for p in propose(run, ranked, TRAIN, [first])}, "it is done"


def test_an_experiment_that_has_answered_is_not_proposed_again() -> None:
    run = read(DEMO)
    first = rank(Inputs(run), check(run))[0]
    assert first.experiment is not None
    answer = Weight(finding=f"experiment:{first.experiment.id}", weight=0.01, kind=WeightKind.ANSWER)
    again = diagnose(run, known={first.id: [answer]})
    assert again.causes[0].id == first.id
    assert again.causes[0].experiment is None
    assert first.experiment.text not in again.verdict.do_first


def test_what_a_trial_can_show_is_known_before_it_is_run() -> None:
    rng, n = np.random.default_rng(0), 400

    def power(noise: float) -> Power:
        values = 0.2 + np.linspace(0, 0.2, n) + noise * rng.standard_normal(n)
        return there(power_of(SHORT, cleaned(curve("reward.mean", values)), TRAIN))

    steady, noisy = power(0.01), power(0.25)
    assert steady.points == noisy.points == 40
    assert steady.visible < 0.01
    assert steady.longer is None
    assert noisy.visible > noisy.moved > 0.05
    assert noisy.longer is not None
    assert noisy.longer > 0.1
    found = [found_in(40, steady.visible, 0.01, rng) for _ in range(300)]
    assert 0.7 <= np.mean(found) <= 0.97, "what is said to be visible is found in about 80 %"


def test_what_a_trial_can_show_is_said_of_the_score_by_which_it_will_be_judged() -> None:
    """With three evaluations in a trial, the training reward judges it; with 30, the evaluation."""
    rng = np.random.default_rng(0)

    def power(evaluations: int) -> Power | None:
        sizes = {"reward.mean": 400, "eval.reward": evaluations}
        noisy = {name: np.linspace(0, 1, n) + 0.01 * rng.normal(size=n) for name, n in sizes.items()}
        run = cleaned(*(curve(name, values, np.linspace(1, 400, len(values))) for name, values in noisy.items()))
        return power_of(catalogue()["long-horizon"], run, TRAIN)

    few, many = there(power(20)), there(power(200))
    assert (few.curve, few.points, few.longer) == ("reward.mean", 60, None)
    assert (many.curve, many.points) == ("eval.reward", 30)


def found_in(n: int, difference: float, noise: float, rng: np.random.Generator) -> bool:
    """Whether a trial that is better by this much is found to be better."""

    def run(level: float, points: int) -> Run:
        return cleaned(curve("reward.mean", level + noise * rng.standard_normal(points)))

    arms = Arms(runs={TREATED: [run(0.2 + difference, n)]}, folders={}, original=run(0.2, 400))
    return outruns("reward_mean")(arms).yes is True


def test_a_question_about_groups_is_asked_of_runs_with_groups_only() -> None:
    def asked(algorithm: str) -> set[str]:
        names = ("advantage.of_prompt_absmax", "length.mean")
        curves = {name: curve(name, np.ones(8)) for name in names}
        run = Run(path="x", algorithm=algorithm, series=curves)
        return {q.needed for q in answerable(catalogue()["invariants"], run, ExperimentSettings(command=("train",)))}

    assert "advantage_of_prompt_absmax" in asked("grpo")
    assert "advantage_of_prompt_absmax" not in asked("ppo")


def test_the_usual_settings_leave_the_entropy_temperature_of_soft_actor_critic_alone() -> None:
    keys = {"entropy_coef": "ent_coef", "gamma": "gamma", "clip_range": "clip_range"}

    def changed(algorithm: str) -> set[str]:
        run = Run(path="x", trainer="sb3", algorithm=algorithm, config=Config(keys=keys))
        return set(applicable(catalogue()["usual-settings"].overrides, run, TRAIN))

    assert changed("sac") == {"gamma"}
    assert changed("ppo") == {"gamma", "entropy_coef", "clip_range"}


def test_a_length_in_epochs_is_told_from_the_steps_of_the_log() -> None:
    run = cleaned(curve("reward.mean", np.linspace(0, 1, 50), np.arange(1, 51) * 1000.0, "env_steps"))
    # epochs; steps; steps of a run that was stopped
    for planned, unit in ((50, 1000.0), (50_000, 1.0), (100_000, 1.0)):
        assert logged_steps(run, ExperimentSettings(now={"total_steps": planned})) == unit


def test_a_cause_that_is_as_good_as_certain_is_confirmed_by_its_own_experiment() -> None:
    run = read(DEMO)
    ranked = rank(Inputs(run), check(run))
    sure = [replace(c, probability=0.99 if c is ranked[0] else 0.0001) for c in ranked]
    proposals = [replace(p, bits=0.001) for p in propose(run, sure, ExperimentSettings()) if not p.cannot]
    assert sure[0].experiment is not None
    assert [p.design.id for p in worth_running(proposals, sure)] == [sure[0].experiment.id]
    telling = [replace(p, bits=0.5) if i == 1 else p for i, p in enumerate(proposals)]
    assert worth_running(telling, sure) == [telling[1]]


def test_a_trial_is_as_long_as_a_script_needs_that_logs_every_tenth_update() -> None:
    def steps(apart: int) -> float:
        at = np.arange(0, 400, float(apart))
        rewards = curve("reward.mean", np.linspace(0, 1, len(at)), at, "iteration")
        run = replace(cleaned(rewards), trainer=None, config=Config(values={"total_steps": 400}))
        return float(length(SHORT, run, ExperimentSettings(command=("train",)))["total_steps"])

    assert (steps(10), steps(1)) == (70, 40)


PART = "eval.reward.component.accuracy.mean"
KL, SIGN = (
    Config(values={"kl_in_reward": True}, keys={"kl_coef": "beta"}),
    replace(TRAIN, options={"reward": "my.sign"}),
)


@pytest.mark.parametrize(
    ("experiment", "trainer", "config", "how", "judges"),
    [
        ("shorter-answers", "trl", Config(), TRAIN, {PART, "eval.accuracy"}),
        ("reward-negated", "trl", Config(), TRAIN, {PART, "eval.accuracy", "eval.reward"}),
        ("rewards-shuffled", "trl", Config(), TRAIN, {PART, "eval.accuracy", "eval.reward", "reward.mean"}),
        ("reward-negated", "sb3", Config(), TRAIN, {PART, "eval.accuracy", "eval.reward", "reward.mean"}),
        ("reward-negated", "trl", Config(), SIGN, {"eval.accuracy"}),
        ("stronger-kl", "trl", KL, TRAIN, {PART, "eval.accuracy", "eval.reward"}),
        ("stronger-kl", None, KL, TRAIN, {"eval.accuracy"}),
        ("stronger-kl", None, replace(KL, values={}), TRAIN, {PART, "eval.accuracy", "eval.reward", "reward.mean"}),
    ],
)
def test_what_an_experiment_changes_does_not_judge_it(
    experiment: str, trainer: str | None, config: Config, how: ExperimentSettings, judges: set[str]
) -> None:
    curves = {name: curve(name, np.ones(9)) for name in (PART, "eval.accuracy", "eval.reward", "reward.mean")}
    run = Run(path="x", trainer=trainer, algorithm="grpo", series=curves, config=config)
    assert set(untouched(catalogue()[experiment], run, how)(run).series) == judges


def test_without_an_untouched_measure_nothing_is_run_and_the_answer_says_what_to_log() -> None:
    rewards = {name: curve(name, np.linspace(0, 1, 40)) for name in ("eval.reward", "reward.mean", "kl.ref")}
    loop = Run(path="x", algorithm="grpo", series=rewards, config=KL)
    penalised = replace(loop, trainer="trl")
    for run, name in ((penalised, "shorter-answers"), (loop, "stronger-kl")):
        with pytest.raises(CannotOverride, match=r"cannot tell: no untouched measure.* log the accuracy"):
            arms(catalogue()[name], run, TRAIN)
    moved, better = catalogue()["no-kl-penalty"].questions
    assert answerable(catalogue()["no-kl-penalty"], loop, TRAIN) == (moved,)
    seen = Arms(runs={}, folders={}, original=loop)
    told = conduct.ask(catalogue()["no-kl-penalty"], loop, TRAIN, seen, {}, [])[1]
    assert (better.needed, told.yes, told.reason[:33]) == ("score", None, "cannot tell: no untouched measure")


def test_a_penalty_on_length_is_judged_by_the_accuracy_that_it_does_not_enter() -> None:
    def trial(accuracy: float, penalty: float) -> Run:
        levels = {PART: accuracy, "eval.reward": accuracy - penalty, "reward.mean": accuracy - penalty}
        curves = {n: curve(n, level + 0.01 * np.sin(np.arange(12))) for n, level in levels.items()}
        return Run(path="x", trainer="trl", algorithm="grpo", series=curves)

    design = catalogue()["shorter-answers"]
    options = {"total_steps": "max_steps", "eval_on_start": "eval_on_start", "eval_interval": "eval_steps"}
    told = replace(trial(0.4, 0), config=Config(values={"total_steps": 100}, keys=options))
    assert {arm["eval_on_start"] for arm in arms(design, told, TRAIN).values()} == {True}, "a score before training"
    seen = Arms(
        runs={TREATED: [trial(level, 0.9) for level in (0.78, 0.8, 0.82)], "control": [trial(0.4, 0.0)] * 3},
        folders={},
        original=trial(0.4, 0.0),
        untouched=untouched(design, trial(0.4, 0.0), TRAIN),
    )
    assert design.questions[0].answer(seen).yes is True
    claim = there(conduct._claim(seen, design))
    assert claim.interval[0] < 0.4 < claim.interval[1]


def test_the_plan_begins_with_what_the_diagnosis_says_to_do_first(tmp_path: Path) -> None:
    shown = CliRunner().invoke(command, ["plan", str(DEMO), "-o", str(tmp_path), "--settings", str(tmp_path / "none")])
    said = diagnose(read(DEMO)).verdict.do_first
    before, after = " ".join(shown.output.split()).split(f"Do first: {said}")
    assert after.startswith(" Next: ")
    assert "Most probable causes" in before
    for design in ("invariants", "zero-rate"):  # an experiment that the diagnosis names is the next one
        experiment = Experiment(id=design, text=catalogue()[design].title)
        dx = diagnose(read(DEMO))
        causes = (replace(dx.causes[0], experiment=experiment), *dx.causes[1:])
        dx = replace(dx, causes=causes, verdict=replace(dx.verdict, do_first=f"Confirm the cause: {experiment.text}"))
        proposals = propose(read(DEMO), causes, TRAIN, named=named_first(dx))
        assert worth_running(proposals, causes, design)[0].design.id == design


@pytest.mark.parametrize(
    ("word", "first"), [("yes", "quality and difficulty of the training data"), ("no", "the reward, not")]
)
def test_what_training_on_the_test_set_showed_is_the_first_thing_to_do(word: str, first: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def run(course: np.ndarray) -> Run:
        names = ("reward.mean", "eval.accuracy")
        curves = [curve(n, course + 0.01 * rng.normal(size=60)) for n in names]
        curves.append(curve("length.mean", 90 + rng.normal(size=60)))
        return Run(path="x", algorithm="grpo", series={c.name: c for c in curves})

    (asked,) = catalogue()["train-on-test-set"].questions
    given = [{"asks": asked.asks, "yes": word == "yes", "reason": "it lies above"}]
    conduct.enter(tmp_path / conduct.LEDGER, "answered", experiment="train-on-test-set", answers=given)
    plateau, flat = run(np.minimum(np.arange(60) / 80, 0.25)), run(np.full(60, 0.3))
    assert diagnose(plateau).verdict.action is Action.CONTINUE
    for stuck in (plateau, flat):
        verdict = diagnose(stuck, known=conduct.evidence(tmp_path, stuck)).verdict
        assert first in verdict.do_first
        assert verdict.action is Action.WATCH
    rising = run(np.linspace(0, 0.5, 60))
    assert first not in diagnose(rising, known=conduct.evidence(tmp_path, rising)).verdict.do_first, "it learns"
