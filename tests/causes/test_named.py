"""A cause is named where a run shows it, and not where a healthy run looks like it."""

import numpy as np
import pytest

from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import rank
from firstbreak.model import Action, Run
from tests.make import learning, noise, run

N = 120
LATE = np.arange(N) >= 60


def critic(weight: float, **curves: np.ndarray) -> Run:
    policy = {"policy.clip_fraction": 0.1 + noise(N, 0.01), "episode.length": 200 + noise(N, 5)}
    own = {f"value.{name}": curve for name, curve in curves.items()}
    return run({"reward.mean": learning(N), **policy, **own}, algorithm="ppo", config={"value_coef": weight})


def turned(score: np.ndarray) -> Run:
    """The loss changes its sign half-way."""
    loss = np.where(LATE, -0.05, 0.05) + noise(N, 0.01)
    curves = {"reward.mean": score + noise(N, 0.03, 1), "eval.accuracy": score + noise(N, 0.03, 2)}
    return run({"policy.loss": loss, **curves}, algorithm="ppo")


def texts(reward: np.ndarray) -> Run:
    return run(
        {"reward.mean": reward, "length.mean": 200 + noise(N, 5), "grad.norm": 1 + noise(N, 0.1)}, algorithm="grpo"
    )


def equal(reward: np.ndarray, **curves: np.ndarray) -> Run:
    return run(
        {"reward.mean": np.clip(reward + noise(N, 0.005), 0, 1), "length.mean": 200 + noise(N, 5), **curves},
        algorithm="grpo",
    )


def machine(**curves: np.ndarray) -> Run:
    healthy = {
        "reward.mean": learning(200),
        "eval.accuracy": learning(200, seed=1),
        "length.mean": 200 + noise(200, 5),
        "time.step": STEP,
        "time.rollout": 15 * np.exp(noise(200, 0.03, 3)),
        "time.reward": SCORING,
        "memory.gpu": 50 + noise(200, 0.1, 5),
    }
    return run(healthy | {name.replace("_", "."): curve for name, curve in curves.items()}, algorithm="grpo")


STEP, SCORING = 30 * np.exp(noise(200, 0.03, 2)), 2 * np.exp(noise(200, 0.03, 4))
SLOW = 60 * np.clip((np.arange(200) - 60) / 30, 0, 1)
BUSY = np.where(np.arange(1, 201) % 25 == 0, 20, 1)

#: cause -> (a run that shows it, a healthy one that looks like it)
RUNS = {
    "critic-not-trained": (
        critic(0.0, loss=1 + noise(N, 0.05), explained_variance=noise(N, 0.002, 1)),
        critic(0.5, loss=1.1 - learning(N), explained_variance=0.8 * learning(N)),
    ),
    "direction-reversed": (
        turned(np.where(LATE, 0.9 - np.arange(N) / 200, np.arange(N) / 100)),
        turned(np.arange(N) / 150),
    ),
    "rewards-not-computed": (texts(np.where(LATE, np.nan, learning(N))), texts(learning(N))),
    "reward-saturated": (
        equal(np.full(N, 0.985), **{"reward.zero_std_frac": 0.95 + noise(N, 0.01)}),
        equal(np.linspace(0.3, 0.99, N)),
    ),
    "memory-at-its-limit": (machine(memory_gpu=78.6 + noise(200, 0.1, 5)), machine()),
    "scoring-too-slow": (machine(time_reward=SCORING + SLOW, time_step=STEP + SLOW), machine()),
    "interference": (machine(time_step=STEP * BUSY), machine()),
}


@pytest.mark.parametrize("cause", RUNS)
def test_it_is_the_first_cause_of_its_link_where_a_run_shows_it(cause: str) -> None:
    shows, _ = RUNS[cause]
    ranked = rank(Inputs(shows), check(shows))
    link = next(c.link for c in ranked if c.id == cause)
    first = next(c for c in ranked if c.link is link)
    assert first.id == cause
    assert first.fix


@pytest.mark.parametrize("cause", RUNS)
def test_it_is_no_cause_of_what_looks_like_it(cause: str) -> None:
    _, healthy = RUNS[cause]
    assert all(c.id != cause or c.probability < 0.02 for c in diagnose(healthy).causes)


@pytest.mark.parametrize("cause", ["critic-not-trained", "direction-reversed", "rewards-not-computed"])
def test_it_is_the_first_of_all(cause: str) -> None:
    assert diagnose(RUNS[cause][0]).causes[0].id == cause


def test_updates_that_turned_round_end_the_run_where_the_score_falls() -> None:
    lost, rises = (diagnose(made).verdict.action for made in RUNS["direction-reversed"])
    assert lost in (Action.STOP, Action.ROLLBACK)
    assert rises is Action.CONTINUE


def cut(share: float) -> Run:
    curves = {"reward.mean": 0.1 + noise(N, 0.02), "length.mean": 500 + noise(N, 3, 1)}
    ends = {"length.clipped_ratio": np.clip(share + noise(N, 0.01, 2), 0, 1)}
    return run(curves | ends, algorithm="grpo", config={"max_new_tokens": 512})


def cold(temperature: float) -> Run:
    curves = {"reward.mean": 0.3 + noise(N, 0.03), "policy.entropy": np.abs(0.01 + noise(N, 0.005, 1))}
    groups = {"reward.zero_std_frac": 0.9 + noise(N, 0.02, 2)}
    return run(curves | groups, algorithm="grpo", config={"temperature": temperature})


@pytest.mark.parametrize(
    ("one", "other", "of_one", "of_other"),
    [
        ("end-not-learned", "length-limit-too-short", cut(0.98), cut(0.45)),
        ("sampling-too-cold", "premature-convergence", cold(0.05), cold(1.0)),
    ],
)
def test_two_causes_that_look_alike_are_told_apart(one: str, other: str, of_one: Run, of_other: Run) -> None:
    first, second = ([c.id for c in diagnose(made).causes] for made in (of_one, of_other))
    assert first.index(one) < first.index(other)
    assert one not in second or second.index(other) < second.index(one)
