"""logprob-extremes: tokens that nobody would have sampled."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "logprob-extremes"
N = 60
TEXT = {"length.mean": 200 + noise(N, 10)}


def test_a_token_that_was_never_sampled_is_found() -> None:
    least = np.where(np.arange(N) < 20, -13.0, -45.0) + noise(N)
    assert found(ID, run(TEXT | {"policy.logp.min": least}), Severity.WARNING).onset == 21


def test_a_mean_below_chance_is_found() -> None:
    assert "random choice" in found(ID, run(TEXT | {"policy.logp.mean": -11 + noise(N, 0.2)})).message


def test_rare_tokens_of_a_large_batch_are_healthy() -> None:
    assert silent(ID, run(TEXT | {"policy.logp.min": -15 + noise(N, 2), "policy.logp.mean": -0.5 + noise(N, 0.1)}))


def test_one_odd_batch_is_healthy() -> None:
    assert silent(ID, run(TEXT | {"policy.logp.min": np.where(np.arange(N) == 40, -60.0, -14.0)}))


def test_densities_of_continuous_actions_are_not_judged() -> None:
    made = run({"policy.logp.mean": -40 + noise(N), "episode.length": [200.0] * N}, algorithm="sac")
    assert look(ID, made).status is Status.NOT_APPLICABLE


def test_a_token_that_the_two_engines_see_quite_differently_again_and_again() -> None:
    text = {"length.mean": 200 + noise(120, 10)}
    calm = 0.5 + noise(120, 0.05)
    far = np.where((np.arange(120) > 60) & (np.arange(120) % 9 == 0), 40.0, 0.0)
    finding = found(ID, run(text | {"rollout_train.logp_absdiff.max": calm + far}))
    assert finding.onset == 64
    assert "mask" in finding.message
    once = np.where(np.arange(120) == 70, 40.0, 0.0)
    assert silent(ID, run(text | {"rollout_train.logp_absdiff.max": calm + once}))
    rare_tokens_of_a_large_model = 9 + noise(120, 1.5)
    assert silent(ID, run(text | {"rollout_train.logp_absdiff.max": rare_tokens_of_a_large_model}))


def test_one_row_of_a_model_whose_logits_are_all_equal() -> None:
    uniform = TEXT | {"policy.logp.mean": [-10.373491]}
    assert "-ln 32000" in found(ID, run(uniform), Severity.WARNING).message
    assert look(ID, run(uniform | {"policy.logp.mean": [-10.3741]})).finding is None
