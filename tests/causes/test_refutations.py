"""What a run shows against a cause counts against it, whatever else was found."""

from typing import Any

import numpy as np
import pytest

from firstbreak.engine.detection import check
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import rank
from firstbreak.engine.registry import causes
from firstbreak.model import RankedCause, Run, Weight, WeightKind
from tests.make import learning, noise, run

FLAT = noise(100, 0.02)
GOOD, BAD = 0.59 + FLAT, np.abs(0.02 + FLAT / 10)
RISE = np.linspace(0.1, 0.8, 100) + FLAT
PEAK = np.interp(np.arange(100), (0, 40, 99), (0.1, 0.8, 0.1)) + FLAT
CUT = np.full(100, 0.6) + FLAT


def candidate(made: Run, name: str) -> RankedCause | None:
    return next((c for c in rank(Inputs(made), check(made)) if c.id == name), None)


def refuted(made: Run, name: str) -> list[Weight]:
    found = candidate(made, name)
    assert found is not None, f"{name} does not apply"
    return [w for w in found.evidence if w.kind is WeightKind.REFUTED]


@pytest.mark.parametrize(
    ("cause", "denied", "possible", "said"),
    [
        ("prompts-too-hard", {"eval.accuracy": GOOD}, {"eval.accuracy": BAD}, "0.58"),
        (
            "groups-carry-no-signal",
            {"reward.mean": 0.97 + FLAT / 10},
            {"reward.mean": BAD},
            "equal groups are right ones",
        ),
        (
            "rewards-not-computed",
            {"reward.mean": FLAT, "grad.norm": np.r_[np.ones(99), np.inf]},
            {"reward.mean": np.r_[FLAT[:99], np.nan], "grad.norm": np.r_[np.ones(99), np.inf]},
            "is a number",
        ),
        (
            "advantage-sign-wrong",
            {"eval.reward": 1 - RISE, "reward.mean": RISE},
            {"eval.reward": 1 - RISE, "reward.mean": 1 - RISE},
            "in training",
        ),
        (
            "reward-pays-for-length",
            {"reward.mean": PEAK, "length.mean": 200 + 400 * RISE},
            {"reward.mean": PEAK, "length.mean": 500 - 400 * RISE},
            "not paid more",
        ),
        ("prompts-too-hard", {"reward.mean": 0.97 + FLAT / 10}, {"reward.mean": BAD}, "of at most 1"),
        ("prompt-template-wrong", {"eval.accuracy": GOOD}, {"eval.accuracy": BAD}, "first points"),
        (
            "length-limit-too-short",
            {"eval.accuracy": GOOD, "length.clipped_ratio": CUT},
            {"eval.accuracy": BAD, "length.clipped_ratio": CUT},
            "first points",
        ),
        (
            "length-limit-too-short",
            {"eval.accuracy": BAD, "length.clipped_ratio": [0.0] * 100},
            {"eval.accuracy": GOOD, "length.clipped_ratio": np.linspace(0, 0.9, 100)},
            "hardly any",
        ),
    ],
)
def test_a_score_that_is_good_denies_what_would_make_it_bad(
    cause: str, denied: dict[str, Any], possible: dict[str, Any], said: str
) -> None:
    (weight,) = refuted(run(denied, algorithm="grpo"), cause)
    assert weight.weight < -4
    assert said in weight.text
    assert not refuted(run(possible, algorithm="grpo"), cause)


@pytest.mark.parametrize(
    ("cause", "option", "algorithm"),
    [
        ("kl-penalty-too-strong", "kl_coef", "grpo"),
        ("entropy-bonus-too-strong", "entropy_coef", "ppo"),
        ("step-size-too-large", "learning_rate", "ppo"),
    ],
)
def test_what_is_not_there_cannot_be_too_large(cause: str, option: str, algorithm: str) -> None:
    def of(value: float) -> Run:
        return run({"reward.mean": FLAT}, algorithm=algorithm, config={option: value})

    assert refuted(of(0.0), cause)
    assert not refuted(of(0.001), cause)


CURVES = {"reward.mean": 0.5 + noise(16, 0.02), "length.clipped_ratio": np.linspace(0.02, 0.2, 16)}
RATIO = {"proof.ratio_first": [0.2] * 16, "proof.sampling_z": [0.5, -1.3] * 8}


def test_samples_that_the_policy_drew_deny_a_fault_of_the_sampler_even_where_a_ratio_is_proved_wrong() -> None:
    def of(**other: list[float]) -> RankedCause:
        return rank(Inputs(made := run({**CURVES, **RATIO, **other}, algorithm="grpo")), check(made))[0]

    assert of().id == "old-log-probabilities-wrong"
    assert "sampl" in of(**{"proof.sampling_z": [15.0] * 16}).id
    assert refuted(run({**CURVES, **RATIO}, algorithm="grpo"), "sampler-differs-from-policy")
    twice = RATIO | {"proof.sampling_z": [0.5, -1.3] + [np.nan] * 14}
    assert not refuted(run({**CURVES, **twice}, algorithm="grpo"), "sampler-differs-from-policy")


@pytest.mark.parametrize(
    ("cause", "exact"),
    [("dropout-active", ["proof.dropout"]), ("loss-mask-wrong", ["proof.mask_extra", "proof.mask_missing"])],
)
def test_an_identity_that_holds_denies_its_fault(cause: str, exact: list[str]) -> None:
    def of(value: float) -> Run:
        return run({"reward.mean": FLAT[:16], **RATIO, **{name: [value] * 16 for name in exact}}, algorithm="grpo")

    assert refuted(of(0.0), cause)
    assert not refuted(of(0.4), cause)


def test_a_judge_that_is_asked_has_learned_from_no_pairs() -> None:
    judged = {"reward.mean": FLAT, "reward.component.judge.mean": FLAT, "length.mean": 100 + FLAT}
    assert candidate(run(judged, algorithm="grpo"), "preference-data-wrong") is None


def test_a_goal_that_is_reached_is_found() -> None:
    assert refuted(run({"reward.episode": learning(200, 0, 300)}, algorithm="ppo"), "reward-never-found")
    assert not refuted(run({"reward.episode": noise(200)}, algorithm="ppo"), "reward-never-found")


def test_a_score_that_rose_was_updated() -> None:
    rose = run({"reward.mean": learning(200)}, algorithm="grpo", config={"learning_rate": 0.0})
    assert refuted(rose, "optimiser-not-connected")


def test_preference_data_are_blamed_only_where_there_are_some() -> None:
    curves = {"reward.mean": FLAT, "length.mean": 100 + FLAT}
    assert candidate(run(curves, algorithm="ppo"), "preference-data-wrong") is None
    scored = {**curves, "rm.accuracy": 0.5 + FLAT}
    assert candidate(run(scored, algorithm="ppo"), "preference-data-wrong") is not None


def test_a_preference_loss_above_ln_2_speaks_for_wrong_pairs() -> None:
    def weight(level: float) -> float:
        found = candidate(run({"pref.loss": level + FLAT / 10}, algorithm="dpo"), "preference-data-wrong")
        assert found is not None
        return sum(w.weight for w in found.evidence if w.finding == "pref.loss")

    assert weight(0.9) > 1
    assert weight(0.69) == weight(0.4) == 0


def test_no_advice_of_a_value_based_run_names_an_entropy_bonus() -> None:
    made = run({"reward.episode": noise(100), "epsilon": [0.1] * 100}, algorithm="dqn", config={"entropy_coef": 0.5})
    told = " ".join(text for c in rank(Inputs(made), check(made)) for text in (*c.fix, *(w.text for w in c.evidence)))
    assert "entropy_coef" not in told


@pytest.mark.parametrize(
    ("cause", "config", "gone"),
    [
        ("length-limit-too-short", {"mask_truncated": True}, "Exclude cut completions"),
        ("step-size-too-large", {"grad_clip": 1.0}, "Clip gradients"),
        ("gradients-explode", {"learning_rate": 0.0}, "Lower"),
        ("kl-penalty-too-strong", {"kl_coef": 0.0}, "Lower"),
        ("signal-too-weak", {"learning_rate": 0.01}, "Raise `learning_rate"),
    ],
)
def test_nothing_is_advised_that_is_done(cause: str, config: dict[str, Any], gone: str) -> None:
    def fixes(settings: dict[str, Any]) -> list[str]:
        found = candidate(run({"reward.mean": FLAT}, algorithm="grpo", config=settings), cause)
        assert found is not None
        return [step for step in found.fix if step.startswith(gone)]

    assert fixes({})
    assert not fixes(config)


def test_a_logged_rate_counts_before_the_configured_one_and_is_shown() -> None:
    made = run({"reward.mean": FLAT, "lr": [3.6e-7] * 100}, algorithm="grpo", config={"learning_rate": 3e-4})
    found = candidate(made, "signal-too-weak")
    assert found is not None
    assert any("learning_rate` (now 3.6e-07, set to 0.0003)" in step for step in found.fix)
    assert any("3.6e-07" in w.text for w in found.evidence if w.finding == "config")


def test_every_refutation_says_what_was_logged() -> None:
    """No sentence without a number of the run, or an option's name."""
    made = run({"eval.accuracy": GOOD}, algorithm="grpo", config={"kl_coef": 0.0, "temperature": 1.0})
    said = [text for c in causes().values() for denies in c.refuted_by if (text := denies(Inputs(made)))]
    assert said
    assert all(any(character.isdigit() for character in text) for text in said)


def test_a_loop_that_collects_its_own_rollout_has_no_old_data_to_weigh() -> None:
    def possible(**more: Any) -> bool:
        named = {c.id for c in rank(Inputs(run({"reward.mean": learning()}, **more)), [])}
        return named >= {"behaviour-weights-uncapped", "rollouts-too-old"}

    assert not possible(algorithm="ppo", trainer="sb3")
    assert possible(algorithm="impala")
    assert possible(algorithm="ppo", config={"max_staleness": 4})
    assert possible(algorithm="grpo", trainer="verl")


def test_groups_of_one_prompt_are_not_mixed() -> None:
    sound = {"proof.group_mixed": [0.0] * 10, "reward.mean": BAD}
    assert refuted(run(sound, algorithm="grpo"), "groups-mixed")
    assert not refuted(run(sound | {"proof.advantage_regrouped": [0.5] * 10}, algorithm="grpo"), "groups-mixed")


def test_an_evaluation_by_the_same_reward_that_falls_as_completions_grow_pays_no_length() -> None:
    curves = {"reward.mean": RISE, "length.mean": np.interp(np.arange(100), (0, 40, 99), (200, 200, 800))}
    assert refuted(run({**curves, "eval.reward": PEAK}), "reward-pays-for-length")
    assert not refuted(run({**curves, "eval.accuracy": PEAK}), "reward-pays-for-length")


@pytest.mark.parametrize(("apart", "refutes"), [(np.full(40, 0.4), True), (np.linspace(0, 0.8, 40), False)])
def test_weights_are_not_old_before_the_first_update(apart: np.ndarray, refutes: bool) -> None:
    sampled = -0.6 + noise(40, 0.1)
    curves = {"policy.logp.rollout": sampled, "policy.logp.old": sampled - apart, "reward.mean": FLAT[:40]}
    assert bool(refuted(run(curves, algorithm="grpo"), "weights-not-delivered")) == refutes
