"""Too few points to say anything: no detector is clear of a run, or finds something, that it could not look at."""

from typing import Any

import numpy as np
import pytest

from firstbreak.model import Status
from tests.detectors.look import look
from tests.make import noise, run

NAN = float("nan")
TEXT = {"length.mean": 200 + noise(60, 10)}
ROLLOUT = ("time.rollout", "time.step")
Curves = dict[str, Any]


def each(name: str, *values: list[float]) -> list[Curves]:
    """A run of one curve for each of the values."""
    return [{name: given} for given in values]


#: detector, algorithm of the run, and curves that are too short, or hold too few numbers
TOO_FEW: list[tuple[str, str | None, list[Curves]]] = [
    ("advantages-not-centred", "grpo", [{"advantage.of_prompt_absmax": [1.0]}]),
    ("advantages-not-reproduced", None, [{"advantage.error": [1.0]}]),
    ("advantages-turned-round", None, [{"advantage.turned": [1.0]}]),
    ("critic-not-learning", None, [{"value.loss": [1.0] * 5}]),
    ("critic-worse-than-mean", None, [{"value.explained_variance": [-1.0] * 4}]),
    ("value-loss-growing", None, [{"value.loss": [1.0, 100.0]}]),
    ("value-scale-mismatch", None, [{"value.mean": [0.0], "returns.mean": [10.0]}]),
    ("actions-without-effect", None, [{"env.action_shown": [0.1, 0.1]}]),
    ("episode-length-degenerate", None, [{"episode.length": [1.0] * n, "reward.mean": [0.0] * n} for n in [1, 2, 5]]),
    ("observations-off", None, [{"env.observation_constant": [0.0, 1.0]}]),
    ("preference-labels-swapped", "dpo", each("pref.reward.accuracy", [0.0], [0.0, 0.1], [NAN] * 20)),
    ("score-below-start", None, [{"reward.mean": -np.arange(float(n))} for n in [1, 2, 8]]),
    ("time-limits-vary", None, [{"env.limits_early": [1.0]}]),
    ("entropy-collapse", None, [{"policy.entropy": [1.0, 0.0]}]),
    ("entropy-stays-high", None, [{"policy.entropy": [1.0], "reward.mean": [0.0]}]),
    ("random-actions-remain", "dqn", [{"epsilon": [0.9] * 7}]),
    ("repetition-growing", "grpo", [{"text.repetition_frac": [0.1, 0.5]}]),
    ("behave-cap-never-acts", None, [{"behave.ratio.max": [30.0], "behave.ratio_cap_frac": [0.0]}]),
    ("first-update-not-on-policy", "grpo", each("kl.old", [], [9.0], [9.0, 9.0], [NAN] * 9)),
    ("importance-weight-off", None, each("policy.ratio.mean", [2.0], [2.0, 2.0], [NAN] * 9)),
    ("stale-rollouts", "grpo", each("staleness.mean", [9.0], [9.0, 20.0], [NAN] * 30)),
    ("grad-norm-explosion", None, each("grad.norm", [1.0], [1.0, 1e9], [NAN] * 50, [0.0] * 50)),
    ("gradient-vanished", None, each("grad.norm", [0.0], [0.0, 0.0], [NAN] * 50)),
    (
        "logprob-extremes",
        None,
        [TEXT | low for low in each("policy.logp.min", [], [-90.0], [-90.0, -90.0], [NAN] * 20)],
    ),
    ("update-skipped", None, [{}, *each("optim.update_ok", [0.0], [0.0, 0.0]), *each("optim.loss_scale", [NAN] * 20)]),
    ("value-explosion", "ppo", each("value.loss", [1.0], [1.0, 1e9], [NAN] * 50, [0.0] * 50)),
    ("importance-weight-off", "grpo", each("behave.ratio.mean", [], [3.0], [3.0, 3.0], [NAN] * 9)),
    ("clip-fraction-high", None, [{"policy.clip_fraction": [0.9]}]),
    ("kl-reward", None, [{"kl.ref": [0, 1], "reward.mean": [1, 0]}]),
    ("score-lost", None, [{"reward.mean": [0.5, 0.6, 0.7]}]),
    ("step-too-large", None, [{"kl.old": [0.5, 0.5]}]),
    ("reward-component-dead", None, [{"reward.component.a.mean": [0.0] * 5}]),
    ("reward-flat", None, [{"reward.mean": noise(8)}]),
    ("length-collapse", None, [{"length.mean": [200, 2], "reward.mean": [1, 0]}]),
    ("memory-creep", None, each("memory.gpu", [], [9.0], [9.0, 99.0], [NAN] * 50)),
    ("rollout-share", None, each("time.wait_frac", [], [0.9], [0.9, 0.9], [NAN] * 50)),
    ("rollout-share", None, [dict.fromkeys(ROLLOUT, v) for v in ([9.0], [9.0, 9.0], [NAN] * 50, [0.0] * 50)]),
    ("step-time-spikes", None, each("time.step", [], [9.0], [9.0, 99.0], [NAN] * 50)),
]


@pytest.mark.parametrize(("detector", "algorithm", "runs"), TOO_FEW, ids=[row[0] for row in TOO_FEW])
def test_a_few_points_say_nothing(detector: str, algorithm: str | None, runs: list[Curves]) -> None:
    for curves in runs:
        assert look(detector, run(curves, algorithm=algorithm)).status is Status.NOT_MEASURED, curves
