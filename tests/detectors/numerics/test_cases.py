"""What the detectors of `numerics` say of runs, and of sound look-alikes."""

import math

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import (
    CRITICAL,
    HIGH,
    LOW,
    NOTICE,
    WARNING,
    Cases,
    cannot,
    each_of,
    exempt,
    expects,
    finds,
    found,
    passes,
    silent,
)
from tests.make import learning, noise, put, run, series

# grad-norm-explosion
CALM = np.exp(noise(200, 0.3))
FLAT = 0.3 + noise(200, 0.05)
FALL = np.where(np.arange(200) < 120, learning(200), 0.1) + noise(200, 0.03)
LINES = {"grad.norm": [3e9, 2e9], "policy.loss": [0.1, 0.15], "length.mean": [900.0, 950.0]}
SCORE = np.minimum(1, np.linspace(0, 4, 200)) + noise(200, 0.01)
NORMS = CALM * np.where(np.arange(200) < 130, 0.25, 0.25 * 25 ** ((np.arange(200) - 130) / (200 - 130)))
# gradient-vanished
UNIT_NORMS = np.exp(noise(100, 0.3))
NO_GAIN = 0.2 + noise(100, 0.03)
CURVES = {
    "grad.norm": np.where(np.arange(100) % 5 < 3, 0.0, UNIT_NORMS),
    "reward.mean": NO_GAIN,
    "reward.zero_std_frac": np.where(np.arange(100) % 5 < 3, 1.0, 0.5),
}
GONE = {"grad.norm": np.where(np.arange(100) < 50, UNIT_NORMS, 0.0), "reward.mean": NO_GAIN}
FELL_AT_ONCE = np.where(np.arange(120) >= 50, 0.03, 1.0) * (1 + noise(120, 0.15, 1))
# non-finite-values

NAN, INF = math.nan, math.inf


def broken(at: list[int] | slice, value: float = NAN) -> np.ndarray:
    values = 1 + noise(100, 0.1)
    values[at] = value
    return values


ENDED = {"loss.total": broken([-1]), "policy.entropy": broken([-1])}
# value-explosion
STANDS = 20 + noise(200, 3)
RUNAWAY = CALM * np.where(np.arange(200) < 80, 1.0, np.exp((np.arange(200) - 80) / 8))

SCALES = 65536 * 2.0 ** (np.arange(80) // 20)

CASES: Cases = {
    "grad-norm-explosion": {
        "growth while the score falls stops the run": finds({"grad.norm": CALM * np.where(np.arange(200) < 110, 1,
            400), "reward.mean": FALL}, CRITICAL, onset=(106, 116)),
        "late growth that a score on its plateau has nothing of": finds({"grad.norm": CALM * np.r_[np.ones(120),
            np.geomspace(1, 60, 80)], "reward.mean": np.minimum(np.arange(200) / 100, 1) + noise(200, 0.03)}, WARNING),
        "growth without a rising score is a warning": finds({"grad.norm": CALM * np.where(np.arange(200) < 110, 1, 30),
            "reward.mean": FLAT}, WARNING),
        "slow growth has an onset too": finds({"grad.norm": CALM * np.geomspace(1, 1000, 200), "reward.mean": FLAT},
            onset=(1, 200)),
        "growth is measured against the past whatever the scale": [*(finds({"grad.norm":
            scale * CALM * np.where(np.arange(200) < 110, 1, 30), "reward.mean": FLAT}) for scale in (1e-6, 1.0,
            1e6))],
        "without a score the confidence is low": finds({"grad.norm": CALM * np.where(np.arange(200) < 110, 1, 30)},
            LOW),
        "growth while the score rises is expected": expects({"grad.norm": CALM * np.geomspace(1, 60, 200),
            "reward.mean": learning(200)}),
        "healthy norms": [*(passes({"grad.norm": norm, "reward.mean": FLAT}) for norm in [CALM,
            CALM * np.linspace(1.5, 5, 200), CALM * np.geomspace(1, 0.2, 200),  # sharpens, decays
            np.where(np.arange(200) < 10, 500.0, CALM),  # the first updates
            np.where(np.arange(200) == 120, 300.0, CALM),  # one spike
            np.full(200, 40.0)])],  # logged behind the clip
        "a heavy tail is a notice with the clip that catches it": finds({"grad.norm":
            np.where(np.arange(200) % 15 == 14, 11.0, 0.5) * CALM**0.3, "reward.mean": learning(200)},
            "clipped at 0.5", NOTICE, config={"grad_clip": 0.5}),
        "a norm of billions beside an ordinary loss needs no history": [finds(LINES, CRITICAL),
            cannot({**LINES, "policy.loss": [4e8, 3e8]}),
            cannot({**LINES, "grad.norm": [300.0, 200.0]})],
        "one spike is an accident": passes({"grad.norm": np.where(np.arange(200) == 120, 30.0,
            1.0) * np.exp(noise(200, 0.1)),
            "reward.mean": np.minimum(np.linspace(0, 1, 200), 0.5) + noise(200, 0.03, 1)}),
        "spikes below the first norms are no explosion": [finds({"grad.norm": put(np.concatenate([np.ones(30),
            np.full(200 - 30, 0.005)]) * CALM, np.s_[40::10], 0.2), "reward.mean": SCORE}, NOTICE),
            finds({"grad.norm": put(put(np.concatenate([np.ones(30), np.full(200 - 30, 0.005)]) * CALM, np.s_[40::10],
            0.2), np.s_[:30], CALM[:30] / 100), "reward.mean": SCORE}, WARNING)],
        "growth to the end is a sign before the score falls": [finds({"grad.norm": NORMS,
            "reward.mean": np.minimum(0.7, np.linspace(0.3, 1.2, 200)) + noise(200, 0.01)}, "since", WARNING, HIGH),
            passes({"grad.norm": NORMS, "reward.mean": np.linspace(0.3, 1.2, 200) + noise(200, 0.01)})]},
    "gradient-vanished": {
        "a gradient of exactly 0 is found where it began": finds({"grad.norm": np.where(np.arange(100) < 50,
            UNIT_NORMS, 0.0), "reward.mean": NO_GAIN}, WARNING, HIGH, onset=51),
        "zero variance groups are the reason and another finding": expects({"grad.norm": [0.0] * 100,
            "reward.mean": NO_GAIN, "reward.zero_std_frac": [1.0] * 100}, algorithm="grpo"),
        "a gradient that fades is found": [*(finds({"grad.norm": scale * UNIT_NORMS * np.geomspace(1, 1e-6, 100),
            "reward.mean": NO_GAIN}) for scale in (1e-6, 1.0, 1e6))],
        "a solved task has no gradient": expects({"grad.norm": np.where(np.arange(100) < 60, UNIT_NORMS, 0.0),
            "eval.accuracy": np.minimum(1.0, np.linspace(0.2, 1.8, 100))}),
        "healthy norms": [*(passes({"grad.norm": norm, "reward.mean": learning(100)}) for norm in [UNIT_NORMS,
            UNIT_NORMS * np.geomspace(1, 0.01, 100), np.where(np.arange(100) % 4 == 0, 0.0, UNIT_NORMS)])],
        "updates without any group that tells are no vanished gradient": [passes(CURVES, algorithm="grpo"),
            finds({**CURVES, "reward.zero_std_frac": np.full(100, 0.5)}, algorithm="grpo")],
        "a method without advantages is advised to check its parameters": [finds(GONE, "advantages",
            algorithm="ppo"),
            finds(GONE, "parameters", algorithm="dqn")],
        "a norm that falls at once to a thirtieth is reported where the score stops with it": [finds({"grad.norm":
            FELL_AT_ONCE, "reward.mean": np.minimum(np.arange(120), 50) / 100 + noise(120, 0.03, 2)}, onset=51),
            passes({"grad.norm": FELL_AT_ONCE, "reward.mean": np.arange(120) / 100 + noise(120, 0.03, 2)})],
        "a norm that shrinks little by little as the run converges": passes({"grad.norm":
            np.exp(-3.4 * np.arange(120) / 120) * (1 + noise(120, 0.15, 1)), "reward.mean": learning(120)})},
    "non-finite-values": {
        "a loss that stays non finite stops the run": [*(finds({"loss.total": broken(slice(70, None), value)},
            CRITICAL, onset=71, interval=(70, 71)) for value in [NAN, INF, -INF])],
        "most of a column that was whole at first is no padding": [finds({"policy.entropy": put(np.full(100, 0.2),
            np.r_[20:100:2, 31:100:3], NAN)}, WARNING, onset=21), passes({"policy.entropy": put(np.full(100, 0.2),
            np.r_[0:100:2, 31:100:3], NAN)})],
        "the first curve to break is named": finds({"loss.total": broken(slice(72, None)),
            "grad.norm": broken(slice(70, None), INF)}, "loss.total", metric="grad.norm"),
        "one bad batch that recovers is a warning": finds({"grad.norm": broken([40])}, "1 of 100", WARNING, onset=41),
        "a lasting break counts more than an earlier accident": finds({"policy.loss": put(broken(slice(90, None)), 10,
            NAN)}, CRITICAL, onset=91),
        "a loss that was never a number stops the run": finds({"loss.total": [NAN] * 20}, CRITICAL),
        "finite numbers": passes({"loss.total": 1 + noise(100), "grad.norm": np.abs(noise(100))}),
        "what is undefined is no break": [*(passes({"loss.total": 1 + noise(100)} | curves) for curves in [
            {"loss.total": broken(slice(0, 30))},  # not there before the first update
            {"value.explained_variance": broken([5, 50, 90])},  # undefined for equal returns
            {"reward.mean": broken([0, 1, 2, 30])},  # no episode has ended
            {"length.terminated_mean": broken(slice(20, None))},  # none ended by itself
            {"loss.total": np.where(np.arange(100) % 10 == 9, NAN, 1.0)},  # rows of evaluations
            {"loss.total": np.where(np.arange(100) % 5 == 0, 1.0, NAN)}])],  # logged every fifth row
        "a gradient norm that was never a number is looked at": finds({"grad.norm": [NAN] * 100,
            "loss.total": 1 + noise(100)}, "no number in any of its 100 rows", WARNING, LOW),
        "the last row alone may be a summary": finds({"loss.total": broken([100 - 1])}, WARNING),
        "short curves are looked at": [*(passes({"loss.total": values}) for values in [[1.0], [1.0, 2.0], [NAN],
            [NAN, NAN]])],
        "without an update there is nothing to look at": cannot({"reward.mean": [NAN] * 9}),
        "one line of a log whose loss and gradient are nan stops the run": finds({"policy.loss": [NAN],
            "grad.norm": [NAN], "kl.ref": [NAN], "reward.mean": [0.0]}, "kl.ref", CRITICAL),
        "an infinite reward is seen where the trainer hides its loss": [finds({"reward.mean": broken(slice(60, None),
            INF), "loss.total": broken([])}, onset=61, metric="reward.mean"),
            passes({"reward.mean": broken([3, 50, 51], NAN), "loss.total": broken([])})],
        "a critic whose loss and gradient are nan from the first row is broken": finds({"value.loss": [NAN],
            "value.grad_norm": [NAN], "grad.norm": [9.8], "policy.loss": [-0.01]}, CRITICAL),
        "a critic that is not there has no gradient": passes({"value.grad_norm": [NAN], "grad.norm": [9.8],
            "policy.loss": [-0.01]}),
        "a loss that is printed as zero because it is nan": [finds({"loss.total": [0.0] * 4,
            "grad.norm": [np.nan] * 4}, CRITICAL, onset=1),
            finds({"loss.total": [0.7] * 4, "grad.norm": [np.nan] * 4}, WARNING, LOW)],
        "a run that ends in nan is lost": finds({**ENDED, "reward.mean": 1 + noise(100)}, CRITICAL),
        "a last row of another kind and a scaler are no end": [finds({**ENDED, "reward.mean": broken([-1]),
            "eval.accuracy": noise(100)}, WARNING),
            finds({"grad.norm": broken([-1]), "value.grad_norm": broken([-1]), "reward.mean": 1 + noise(100)},
            WARNING)],
        "a divergence and a gradient norm far above all they were": finds({"kl.ref": np.r_[0.9 + noise(100, 0.1), 55],
            "grad.norm": np.r_[1 + noise(100, 0.1), 1e5]}, WARNING, onset=100 + 1),
        "one row with a loss of no size that a loss has": finds({"policy.loss": np.array([-4.62e13])},
            "policy.loss is -46200000000000", WARNING),
        "large numbers that learning or one batch explains": [*(passes(curves) for curves in [{"reward.mean":
            np.r_[np.zeros(50), np.full(50, 5e4)], "value.loss": np.r_[np.full(50, 1e-3), np.full(50, 1e8)]},
            {"grad.norm": np.r_[np.full(50, 0.1), np.full(50, 1e4)], "value.loss": np.r_[np.full(50, 1.0), np.full(50,
            1e8)]}, {"grad.norm": np.r_[np.ones(99), 1e5], "reward.mean": np.full(100, 0.8)},
            {"kl.ref": np.r_[0.9 + noise(100, 0.1), 55, 0.9], "grad.norm": np.r_[1 + noise(100, 0.1), 1e5, 1]},
            {"kl.old.k1": np.r_[1e-9, np.full(99, 0.02)], "grad.norm": np.r_[1e-3, np.full(99, 0.5)]}])],
        "a gradient norm of one row that is no number": [finds({"policy.loss": np.array([0.1]),
            "grad.norm": np.array([NAN]), "reward.mean": np.array([0.5])}, "holds no number in its one row", WARNING),
            passes({"grad.norm": np.array([NAN])})],
        "a gradient that is no number where the learning rate stands still was a skipped step": [expects({"grad.norm":
            broken([1, 17, 60]), "lr": 1e-4 * (1 - np.r_[0, np.cumsum(put(np.ones(100), [1, 17, 60], 0))[:-1]] / 100)},
            "skipped"),
            finds({"grad.norm": broken([1, 17, 60]), "lr": np.linspace(1e-4, 0, 100)}, WARNING),
            finds({"grad.norm": broken([1, 17, 60]), "lr": np.full(100, 1e-4)}, WARNING)]},
    "update-skipped": {
        "skipped steps are found where they began": finds({"optim.update_ok":
            np.where((np.arange(100) > 50) & (np.arange(100) % 6 == 0), 0.0, 1.0)}, WARNING, onset=55),
        "a run that mostly skips stops": finds({"optim.update_ok": np.where(np.arange(100) > 30, 0.25, 1.0)},
            CRITICAL),
        "a norm that grows with the loss scale is clipped with it": [
            finds({"optim.loss_scale": SCALES, "grad.norm": 18 * SCALES}, "unscale", HIGH, config={"grad_clip": 0.5}),
            passes({"optim.loss_scale": SCALES, "grad.norm": 1 + np.abs(noise(80, 0.2))}, config={"grad_clip": 0.5})],
        "a loss scale that is at its lowest for most of the run": [finds({"optim.loss_scale": np.maximum(1.0,
            2.0 ** (15 - np.arange(100)))}, CRITICAL, "stays there", onset=16), passes({"optim.loss_scale": np.ones(100)})],
        "a loss scale that keeps falling": finds({"optim.loss_scale": 2.0 ** (16 - np.maximum(0,
            np.arange(100) - 40) // 8)}, WARNING),
        "the scaler may look for its level at the start": passes({"optim.loss_scale": np.where(np.arange(100) < 10,
            2.0 ** (16 - np.arange(100)), 2.0**7)}),
        "a scale that halves and doubles": passes({"optim.loss_scale": np.where(np.arange(100) % 20 < 10, 4096.0,
            2048.0)}),
        "every step applied": passes({"optim.update_ok": [1.0] * 100, "optim.loss_scale": [65536.0] * 100})},
    "value-explosion": {
        "values far above every return": finds({"value.mean": 10 * np.geomspace(1, 1000, 200) * CALM,
            "reward.mean": STANDS}, metric="value.mean", algorithm="dqn"),
        "the scale of rewards does not matter": [*(finds({"value.loss": scale * RUNAWAY,
            "reward.mean": scale * STANDS}, CRITICAL) for scale in (1e-4, 1e4))],
        "growth by two orders is a warning": finds({"value.loss": CALM * np.where(np.arange(200) < 100, 1, 300),
            "reward.mean": STANDS}, WARNING),
        "without a score the confidence is low": finds({"value.loss": RUNAWAY}, WARNING, LOW),
        "a loss that grows with the returns is expected": expects({"value.loss": CALM * np.geomspace(1, 1e5, 200),
            "reward.mean": learning(200, 0, 500)}),
        "a score that never changes cannot judge": cannot({"value.loss": RUNAWAY, "reward.mean": [200.0] * 200},
            algorithm="dqn"),
        "values may grow from 0 to the size of the returns": passes({"value.mean":
            -21 * (1 - np.exp(-np.arange(200) / 200)) ** 2, "reward.mean": -21 + np.abs(noise(200, 0.1))},
            algorithm="ppo"),
        "a loss that falls": passes({"value.loss": CALM * np.geomspace(10, 0.1, 200), "reward.mean": STANDS}),
        "groups have no critic": exempt({"reward.mean": STANDS}, algorithm="grpo")},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


def test_a_norm_that_explodes_while_the_score_falls_from_its_gain_is_found() -> None:
    late = np.maximum(0, np.arange(200) - 150) / 50
    score = np.minimum(np.linspace(0, 2, 200), 1) - 0.2 * late + noise(200, 0.02, 1)
    assert (
        found(
            "grad-norm-explosion", run({"grad.norm": np.exp(5 * late + noise(200, 0.1)), "reward.mean": score})
        ).severity
        is not Severity.NOTICE
    )


def test_a_jump_to_six_times_the_norm_counts_where_the_score_falls_from_there() -> None:
    late = np.arange(120) >= 70
    norms = np.where(late, 6.0, 1.0) * (1 + noise(120, 0.1, 1))
    lost = np.where(late, 0.4, np.arange(120) / 100) + noise(120, 0.03, 2)
    assert abs(found("grad-norm-explosion", run({"grad.norm": norms, "reward.mean": lost})).onset - 71) <= 1
    assert silent(
        "grad-norm-explosion", run({"grad.norm": norms, "reward.mean": np.arange(120) / 100 + noise(120, 0.03, 2)})
    )


def test_a_policy_whose_score_falls_still_gets_updates() -> None:
    norms = np.where(np.arange(200) < 20, 20.0, 1.2) * (1 + noise(200, 0.05, 1))
    score = np.where(np.arange(200) < 20, 22.0, np.linspace(22, 11, 200)) + noise(200, 0.3, 2)
    found("gradient-vanished", run({"grad.norm": norms, "reward.mean": np.full(200, 11.0) + noise(200, 0.3, 3)}))
    assert silent("gradient-vanished", run({"grad.norm": norms, "reward.mean": score}))


def test_a_very_heavy_tail_is_a_warning() -> None:
    norms = 0.6 * CALM
    norms[100::6] *= 170
    score = np.linspace(0.3, 0.7, 200) + noise(200, 0.01)
    assert found("grad-norm-explosion", run({"grad.norm": norms, "reward.mean": score}), Severity.WARNING).onset >= 100


def test_an_infinite_loss_is_no_gap_of_a_table() -> None:
    finding = found("non-finite-values", run({"loss.total": [2.4e5, np.inf, np.nan]}))
    assert finding.onset == 2
    assert "came back" not in finding.message


def test_a_second_loss_that_is_lost_stops_the_run_as_the_first_does() -> None:
    lost = np.r_[3 + noise(50, 0.1), np.full(10, np.nan)]
    for further in ({"unknown": {"aux_loss": series("aux_loss", lost)}}, {"duplicates": (series("value.loss", lost),)}):
        finding = found("non-finite-values", run({"value.loss": 1 + noise(60, 0.1)}, **further), Severity.CRITICAL)
        assert finding.onset == 51


@pytest.mark.parametrize(
    ("rows", "severity"), [(1, Severity.WARNING), (3, Severity.CRITICAL)], ids=["the last row", "three rows"]
)
@pytest.mark.parametrize("n", [1, 15, 100], ids=["one row before", "few", "many"])
def test_finite_numbers_that_no_update_survives(n: int, rows: int, severity: Severity) -> None:
    curves = {
        "reward.mean": np.r_[39 + noise(n, 1), np.full(rows, -9.5e5)],
        "value.loss": np.r_[0.1 + noise(n, 0.01), np.full(rows, 1e12)],
    }
    finding = found("non-finite-values", run(curves), severity)
    assert finding.onset == n + 1
    assert "reward.mean is -950000 (at most" in finding.message
    assert "value.loss is 1000000000000 (at most" in finding.message


def test_a_loss_without_bound_stops_the_run() -> None:
    finding = found(
        "value-explosion", run({"value.loss": RUNAWAY, "reward.mean": STANDS}, algorithm="ppo"), Severity.CRITICAL
    )
    assert finding.interval is not None
    assert finding.interval[0] <= 100
    assert finding.onset is not None
    assert finding.onset >= 60
