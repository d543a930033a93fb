"""What the detectors of `freshness` say of runs, and of sound look-alikes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firstbreak.engine.detection import check
from firstbreak.model import Confidence, Run, Severity, Status
from tests.detectors.look import (
    CRITICAL,
    HIGH,
    MEDIUM,
    NOTICE,
    WARNING,
    Cases,
    cannot,
    each_of,
    exempt,
    finds,
    found,
    look,
    passes,
    silent,
)
from tests.make import learning, noise, put, run

# behave-cap-never-acts
GROWING = np.linspace(2, 30, 40)
# first-update-not-on-policy
ONE_STEP = {"updates_per_batch": 1}
# stale-rollouts
SETTLED = 2 * (1 - np.exp(-np.arange(100) / 5)) + noise(100, 0.1)
KNOWN = run(
    {"staleness.mean": SETTLED, "staleness.max": np.full(100, 2.0)}, algorithm="grpo", config={"max_staleness": 0}
)
# staleness-uncorrected
AGES = {"staleness.max": np.minimum(8.0, np.arange(40, dtype=float))}
CONFIG = {"max_staleness": 8, "use_decoupled_loss": False}
LATE = {
    "policy_version.train": np.arange(40, dtype=float),
    "policy_version.mean": np.maximum(0.0, np.arange(40, dtype=float) - 8),
}
# train-inference-mismatch
WOBBLE = np.exp(noise(100, 0.15))


def grpo(**curves: Any) -> Run:
    flat = {"reward.mean": 0.3 + noise(60, 0.05)}
    return run(flat | {name.replace("__", "."): values for name, values in curves.items()}, algorithm="grpo")


def level(value: float, perfect: float = 0.0) -> np.ndarray:
    return perfect + np.abs(value * (1 + noise(60, 0.1)))


CASES: Cases = {
    "behave-cap-never-acts": {
        "large weights of which none is capped": finds({"behave.ratio.max": GROWING,
            "behave.ratio_cap_frac": np.zeros(40)}, "none is capped", HIGH),
        "a cap that acts": passes({"behave.ratio.max": GROWING,
            "behave.ratio_cap_frac": np.where(GROWING > 5, 0.01, 0)}),
        "weights near one need no cap": passes({"behave.ratio.max": 1.5 + noise(40, 0.1),
            "behave.ratio_cap_frac": np.zeros(40)}),
        "a wide cap that is not reached": passes({"behave.ratio.max": GROWING, "behave.ratio_cap_frac": np.zeros(40)},
            config={"behave_weight_cap": 50.0})},
    "first-update-not-on-policy": {
        "another temperature in the sampler": finds({"kl.old": 0.12 + noise(40, 0.01)}, WARNING, onset=1,
            algorithm="grpo", config=ONE_STEP),
        "a drastic difference stops the run": finds({"policy.ratio.mean": 3 + noise(40, 0.1)}, CRITICAL,
            algorithm="grpo", config=ONE_STEP),
        "a ratio below 1 is shown as it is": finds({"policy.ratio.mean": 0.3 + noise(40, 0.001)}, "0.3",
            algorithm="grpo", config=ONE_STEP),
        "one step per batch is healthy at 0 and 1": passes({"kl.old": np.abs(noise(40, 1e-4)),
            "policy.ratio.mean": 1 + noise(40, 1e-4)}, algorithm="grpo", config=ONE_STEP),
        "several steps per batch move the policy": [*(passes({"kl.old": 0.03 + np.abs(noise(40, 0.01)),
            "policy.ratio.mean": 1 + noise(40, 0.02)}, algorithm=algorithm,
            config={"updates_per_batch": 40}) for algorithm in ["ppo", "grpo"])],
        "a first step without warm up is forgiven": passes({"kl.old": put(np.abs(0.01 + noise(40, 0.002)), 0, 2.0)},
            algorithm="ppo"),
        "a replay buffer has no old policy": exempt({"reward.mean": noise(40)}, algorithm="dqn")},
    "importance-weight-off": {
        "with one step per batch a percent is too much": [finds({"policy.ratio.mean": 1.015 + noise(50, 0.002)},
            "exactly 1", WARNING, config=ONE_STEP),
            passes({"policy.ratio.mean": 1.015 + noise(50, 0.002)}, config={"updates_per_batch": 16})],
        "a drastic ratio stops the run": finds({"policy.ratio.mean": np.where(np.arange(60) < 20, 1.0, 2.0) + noise(60,
            0.004)}, CRITICAL, onset=21),
        "both sides of 1 count": [*(finds({"policy.ratio.mean": level + noise(50, 0.01)}, WARNING) for level in [0.85,
            1.2])],
        "a ratio about 1 is healthy": [passes({"policy.ratio.mean": 1 + noise(50, 0.01)}),
            passes({"policy.ratio.mean": [1.0] * 20}, config=ONE_STEP)],
        "a first step without warm up is forgiven": passes({"policy.ratio.mean": put(1 + noise(50, 0.005), 0, 1.9)}),
        "a trainer that sums over the updates is understood": [passes({"policy.ratio.mean": 4 + noise(50, 0.02)},
            trainer="nemo_rl", config={"updates_per_batch": 4}),
            finds({"policy.ratio.mean": 4 + noise(50, 0.02)}, trainer="verl", config={"updates_per_batch": 4})],
        "a weight of old data off 1 is found where it began": [finds({"policy.ratio.mean": [1.0] * 60,
            "behave.ratio.mean": np.where(np.arange(60) < 25, 1.0, 1.3) + noise(60, 0.02)}, WARNING, onset=26,
            algorithm="grpo"),
            passes({"behave.ratio.mean": 1 + noise(60, 0.02), "behave.ratio_cap_frac": np.abs(noise(60, 0.01))},
            algorithm="grpo")],
        "many capped tokens are found behind a mean of 1": finds({"behave.ratio.mean": 1 + noise(60, 0.01),
            "behave.ratio_cap_frac": 0.25 + noise(60, 0.02)}, "of the tokens", metric="behave.ratio_cap_frac",
            algorithm="grpo"),
        "a broken bridge to old data stops the run": [*(finds(curves, CRITICAL,
            algorithm="grpo") for curves in [{"behave.ratio.mean": 2.5 + noise(60, 0.1)},
            {"behave.ratio_cap_frac": 0.8 + noise(60, 0.02)}])],
        "a replay buffer needs no such weight": exempt({"reward.mean": noise(60)}, algorithm="td3")},
    "stale-rollouts": {
        "generation that falls behind": finds({"staleness.mean": SETTLED + np.maximum(0, np.arange(100) - 50) * 0.2},
            "still grows", WARNING, onset=(40, 65), algorithm="grpo"),
        "data beyond the limit": finds({"staleness.mean": SETTLED, "staleness.max": 9 + noise(100, 0.2)},
            "the limit is 4", algorithm="grpo", config={"max_staleness": 4}),
        "working at the limit": passes({"staleness.mean": SETTLED, "staleness.max": np.full(100, 4.0)},
            algorithm="grpo", config={"max_staleness": 4}),
        "filling the queue": passes({"staleness.mean": SETTLED}, algorithm="grpo"),
        "many dropped samples are found": [finds({"staleness.mean": SETTLED,
            "staleness.generated": np.arange(100) * 64.0, "staleness.dropped": 0.4 * (np.arange(100) * 64.0)}, "40 %",
            algorithm="grpo"),
            passes({"staleness.mean": SETTLED, "staleness.generated": np.arange(100) * 64.0,
            "staleness.dropped": 0.02 * (np.arange(100) * 64.0)}, algorithm="grpo")],
        "an age above the usual is a notice where the score rises": [*(finds({"staleness.mean": SETTLED + 12,
            "reward.mean": learning(100)}, NOTICE, algorithm="grpo", config=config) for config in [{},
            {"max_staleness": 16}]),
            *(finds({"staleness.mean": SETTLED + 12, "reward.mean": noise(100)}, WARNING, algorithm="grpo",
            config=config) for config in [{}, {"max_staleness": 16}])],
        "weights that never arrive stop the run": finds({"staleness.mean": np.maximum(0.0, np.arange(100) - 30)},
            CRITICAL, onset=33, algorithm="grpo", config={"max_staleness": 0}),
        "synchronous training has no age": [exempt({"reward.mean": noise(100)}, algorithm="grpo",
            config={"max_staleness": 0}),
            cannot({"reward.mean": noise(100)}, algorithm="grpo")],
        "a default limit is not held against the ages that are logged": [finds(KNOWN, "the limit is 0"),
            passes(replace(KNOWN, config=replace(KNOWN.config, defaulted=frozenset({"max_staleness"}))))]},
    "staleness-uncorrected": {
        "old data that are taken for fresh": finds(AGES, onset=3, algorithm="grpo",
            config={"max_staleness": 8, "use_decoupled_loss": False}),
        "a setting that did no harm is no more than a doubt": finds({**AGES, "reward.mean": learning(40)}, MEDIUM,
            algorithm="grpo", config={"max_staleness": 8, "use_decoupled_loss": False}),
        "weights without a cap": finds(AGES, "cap", algorithm="grpo",
            config={"max_staleness": 8, "use_decoupled_loss": True}),
        "capped weights": passes(AGES, algorithm="grpo",
            config={"max_staleness": 8, "use_decoupled_loss": True, "behave_weight_cap": 5.0}),
        "an age limit that is never used": passes({"staleness.max": np.zeros(40)}, algorithm="grpo",
            config={"max_staleness": 8, "use_decoupled_loss": False}),
        "versions of the data and of the weights tell the age as well": [finds(LATE, onset=3, algorithm="grpo",
            config=CONFIG),
            passes({**LATE, "policy_version.mean": np.arange(40, dtype=float)}, algorithm="grpo", config=CONFIG)]},
    "train-inference-mismatch": {
        "each distance has its levels": [*(passes(grpo(**{signal.replace(".", "__"): level(fine)})) for signal, fine,
            wrong,
            broken in [("rollout_train.kl", 0.0008, 0.03, 0.3), ("rollout_train.logp_absdiff.mean", 0.02, 0.2, 0.9),
            ("rollout_train.prob_absdiff.mean", 0.003, 0.02, 0.1), ("rollout_train.js", 0.0005, 0.01, 0.1)]),
            *(finds(grpo(**{signal.replace(".", "__"): level(wrong)}), WARNING) for signal, fine, wrong,
            broken in [("rollout_train.kl", 0.0008, 0.03, 0.3), ("rollout_train.logp_absdiff.mean", 0.02, 0.2, 0.9),
            ("rollout_train.prob_absdiff.mean", 0.003, 0.02, 0.1), ("rollout_train.js", 0.0005, 0.01, 0.1)]),
            *(finds(grpo(**{signal.replace(".", "__"): level(broken)}), CRITICAL) for signal, fine, wrong,
            broken in [("rollout_train.kl", 0.0008, 0.03, 0.3), ("rollout_train.logp_absdiff.mean", 0.02, 0.2, 0.9),
            ("rollout_train.prob_absdiff.mean", 0.003, 0.02, 0.1), ("rollout_train.js", 0.0005, 0.01, 0.1)])],
        "a multiplicative error is perfect at 1": [passes(grpo(rollout_train__mult_prob_error=level(0.01, perfect=1))),
            finds(grpo(rollout_train__mult_prob_error=level(0.2, perfect=1)), WARNING)],
        "different inputs to the two engines stop the run": finds(grpo(rollout_train__prob_pearson=0.13 + noise(60,
            0.02), rollout_train__kl=level(0.5)), CRITICAL, HIGH),
        "a low correlation beside a fine divergence is doubted": finds(grpo(rollout_train__prob_pearson=0.8 + noise(60,
            0.02), rollout_train__kl=level(0.0005)), "temperature", NOTICE),
        "a mismatch with a score that rises is a notice": finds({"reward.mean": learning(60),
            "rollout_train.kl": level(0.03)}, NOTICE, algorithm="grpo"),
        "a signed estimator may be negative": [passes(grpo(rollout_train__kl=noise(60, 0.002))),
            finds(grpo(rollout_train__kl=-0.05 + noise(60, 0.002)), metric="rollout_train.kl")],
        "one process has no second engine": [*(exempt({"reward.mean": noise(60)},
            algorithm=algorithm) for algorithm in ("ppo", "dqn", "dpo"))],
        "text without a measured distance is not measured": [cannot(grpo()),
            *(cannot({"rollout_train.kl": values}, algorithm="grpo")
            for values in ([0.5], [0.5, 0.5], [np.nan] * 10))],
        "a cache that survives the update jumps far below the level that matters":
            [finds(grpo(rollout_train__kl=np.where(np.arange(100) < 50, 0.001, 0.006) * WOBBLE), WARNING,
            onset=(48, 54)),
            finds(grpo(rollout_train__prob_pearson=1 - np.geomspace(0.002, 0.1, 100) * WOBBLE))],
        "no growth is found in constant numerics nothing or one spike":
            [passes(grpo(rollout_train__logp_absdiff__mean=0.02 * WOBBLE)),
            passes(grpo(rollout_train__logp_absdiff__mean=put(0.02 * WOBBLE, 90, 2.0))),
            passes(grpo(rollout_train__kl=1e-6 * np.linspace(1, 50, 100) * WOBBLE)),
            passes(grpo(rollout_train__kl=[0.0] * 30))]},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_the_remedy_depends_on_the_number_of_minibatches() -> None:
    values = {"policy.ratio.mean": 0.95 + noise(50, 0.002)}
    several = found("importance-weight-off", run(values, algorithm="grpo", config={"updates_per_batch": 4})).message
    single = found("importance-weight-off", run(values, algorithm="grpo", config=ONE_STEP)).message
    assert "fewer minibatches" in several
    assert "fewer minibatches" not in single
    assert "deterministic algorithms" in single


def test_versions_of_the_weights_that_sample_tell_the_age_of_the_data() -> None:
    def of(oldest: int) -> Run:
        sampled = np.maximum(0, np.arange(1, 321) - oldest)
        return run({"policy_version.mean": sampled, "reward.mean": learning(320, 0.1, 0.5)}, algorithm="grpo")

    finding = found("stale-rollouts", of(128), Severity.WARNING)
    assert "128 versions old" in finding.message
    assert finding.confidence is Confidence.HIGH  # nobody trains so, although the score rises
    assert found("stale-rollouts", of(12)).severity is Severity.NOTICE
    assert silent("stale-rollouts", of(2))


def test_the_level_of_each_distance_is_a_threshold() -> None:
    looser = {"train-inference-mismatch": {"kl_warning": 0.2, "kl_critical": 2.0}}
    (outcome,) = check(grpo(rollout_train__kl=level(0.03)), only=["train-inference-mismatch"], thresholds=looser)
    assert outcome.status is Status.OK


def test_a_first_clip_fraction_and_a_first_ratio_have_their_own_levels() -> None:
    apart = {"policy.clip_fraction@first_minibatch": level(0.007), "policy.ratio.absdev@first_minibatch": level(0.007)}
    apart["policy.ratio.mean@first_minibatch"] = 1 - level(0.007)
    for name, curve in apart.items():
        outcome = look(
            "train-inference-mismatch", run({name: curve, "reward.mean": 0.3 + noise(60, 0.05)}, algorithm="grpo")
        )
        assert outcome.status is (Status.FOUND if "clip" in name else Status.OK)


def test_engines_apart_before_any_update_are_told_although_the_score_rises() -> None:
    rising = {"reward.mean": learning(60), "rollout_train.mult_prob_error": np.linspace(1.5, 1.2, 60)}
    found("train-inference-mismatch", run(rising, algorithm="grpo"), Severity.WARNING)
    late = np.r_[1.0, np.full(59, 1.2)] + 0.001 * noise(60)
    assert found("train-inference-mismatch", run({**rising, "rollout_train.mult_prob_error": late}, algorithm="grpo"))


def test_old_data_that_drift_away_without_end_come_from_weights_that_stand_still() -> None:
    drift = -np.concatenate([[1e-9], np.linspace(0.01, 1.0, 99)]) * WOBBLE
    assert "behave.kl" in found("train-inference-mismatch", grpo(behave__kl__k1=drift), Severity.CRITICAL).message
    silent("train-inference-mismatch", grpo(behave__kl__k1=0.01 * WOBBLE))


def test_weights_that_stop_arriving_are_found_early() -> None:
    drift = np.where(np.arange(100) < 40, 0.015, 0.015 + 0.003 * (np.arange(100) - 40)) * WOBBLE
    finding = found("train-inference-mismatch", grpo(rollout_train__logp_absdiff__mean=drift), Severity.CRITICAL)
    assert finding.interval is not None
    assert finding.interval[0] <= 50
    assert finding.onset is not None
    assert finding.onset >= 30


@pytest.mark.parametrize(("apart", "says"), [(0.4, True), (0.0, False)])
def test_the_mean_log_probabilities_of_both_engines_are_those_of_the_same_tokens(apart: float, says: bool) -> None:
    sampled = -0.6 + noise(60, 0.1)
    trained = sampled - apart + noise(60, 0.002, 1)
    made = grpo(policy__logp__rollout=sampled, policy__logp__old=trained)
    assert (look("train-inference-mismatch", made).finding is not None) == says
