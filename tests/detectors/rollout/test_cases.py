"""What the detectors of `rollout` say of runs, and of sound look-alikes."""

import numpy as np
import pytest

from firstbreak.model import Config, Run, Sample, Samples, Status
from firstbreak.values import replace
from tests.detectors.look import (
    CRITICAL,
    LOW,
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
)
from tests.make import learning, noise, put, run

# length-collapse
SHRINKING = np.concatenate([np.full(40, 200.0), np.linspace(200, 2, 30), np.full(50, 2.0)]) + np.abs(noise(120, 0.5))
# length-jump
X = np.linspace(0, 1, 100)


def lengths(course: np.ndarray) -> np.ndarray:
    return np.asarray(300 * course * (1 + noise(100, 0.03)))


CURVES = {
    "length.mean": lengths(np.where(np.arange(100) < 50, 1.0, 3.0)),
    "eval.accuracy": 0.3 + 0.1 * np.where(np.arange(100) < 50, 1.0, 3.0) + noise(100, 0.02),
}


def turns(rising: bool) -> Run:
    """Rollouts of at most two turns, and a score on a plateau below its maximum."""
    mean = 2 - np.maximum(0, 0.6 - np.arange(80) / 30) if rising else np.full(80, 2.0)
    score = np.minimum(0.5, 0.25 + np.arange(80) / 80) + noise(80, 0.01)
    made = run({"turns.mean": mean, "length.clipped_ratio": noise(80, 0.001) ** 2, "eval.accuracy": score})
    return replace(made, config=Config(values={"max_turns": 2}, keys={"max_turns": "agent.max_turns"}))


# length-runaway
GROWING = 50 + np.concatenate([np.zeros(50), np.linspace(0, 150, 100)]) + noise(150, 3)
LONGER = {"length.mean": GROWING, "reward.mean": np.linspace(0.2, 0.8, 150) + noise(150, 0.02, 2)}
# reward-filtered
HELD = 0.5 + noise(200, 0.02)
# samples-identical
GROUPS = {"group_size": 8}


# sampling-narrow
LENGTHS = {"length.mean": np.full(20, 50.0)}
# training-above-evaluation
EVALUATION = 0.4 + 0.002 * np.arange(60)
# truncation
FLAT = noise(120, 0.1)
NOISY = {
    "length.clipped_ratio": put(
        np.random.default_rng(4).integers(0, 3, 24) / 2, np.s_[12:], [0, 1, 0.5, 0, 1, 0.5, 0, 0, 1, 0.5, 0, 0.5]
    ),
    "reward.mean": noise(24),
}
CUT = {"length.clipped_ratio": 0.07 + noise(120, 0.005), "reward.mean": learning(120)}
SOME_CUT = {"length.clipped_ratio": 0.005 + 0.03 * np.linspace(0, 1, 120) ** 2, "reward.mean": learning(120)}
# logprob-extremes
SAMPLED = {"length.mean": 200 + noise(60, 10)}

CASES: Cases = {
    "length-collapse": {
        "silence with a falling score is critical": finds({"length.mean": SHRINKING,
            "eval.accuracy": np.concatenate([np.full(50, 0.6), np.full(70, 0.1)]) + noise(120, 0.03, 1)}, CRITICAL,
            onset=(35, 75)),
        "shorter because sharper": passes({"length.mean": SHRINKING, "eval.accuracy": learning(120)}),
        "a small fall": passes({"length.mean": np.linspace(100, 60, 120), "reward.mean": noise(120)}),
        "lengths that collapse in the last tenth": finds({"length.mean": np.where(np.arange(200) < 185, 300.0,
            20.0) + noise(200, 3), "reward.mean": noise(200)}, onset=(183, 189))},
    "length-jump": {
        "a jump that stays is found where it is": [*(finds({"length.mean": lengths(np.where(np.arange(100) < 50, 1.0,
            ratio)), "reward.mean": learning(100)}, how, WARNING, onset=(42, 52), algorithm="grpo") for ratio,
            how in [(0.3, "shorter"), (3.0, "longer")])],
        "gradual changes and passing ones are healthy": [*(passes({"length.mean": lengths(course),
            "reward.mean": learning(100)}, algorithm="grpo") for course in [
            3.0**X, 3.0**-X,  # learns to think longer, or to be brief
            np.where(np.arange(100) < 5, 3.0, 1.0),  # drops its chatter in the first steps
            np.where((np.arange(100) > 50) & (np.arange(100) < 60), 3.0, 1.0)])],  # a batch of long problems
        "a jump that the evaluation rewards is healthy": [passes(CURVES, algorithm="grpo"),
            finds({**CURVES, "eval.accuracy": 0.3 + noise(100, 0.02)}, "shortcut", algorithm="grpo")],
        "other prompts explain other lengths": passes({"length.mean": lengths(np.where(np.arange(100) < 50, 1.0, 3.0)),
            "length.prompt.mean": 100 * np.where(np.arange(100) < 50, 1.0, 3.0)}, algorithm="grpo")},
    "length-runaway": {
        "length that grows while the evaluation falls is critical": finds({"length.mean": GROWING,
            "eval.accuracy": np.concatenate([np.full(60, 0.6), np.linspace(0.6, 0.1, 90)]) + noise(150, 0.02, 1),
            "reward.mean": learning(150)}, CRITICAL, onset=(40, 90)),
        "length that grows for a flat score is a warning": finds({"length.mean": GROWING,
            "reward.mean": noise(150, 0.1, 2)}, WARNING),
        "longer because better": passes({"length.mean": GROWING, "eval.accuracy": learning(150)}),
        "a constant length": passes({"length.mean": 50 + noise(150, 3), "reward.mean": noise(150, 0.1)}),
        "longer completions while the evaluation stops following the reward": [finds({**LONGER,
            "eval.reward": np.minimum(np.linspace(0.2, 0.8, 150), 0.45) + noise(150, 0.02, 1)}, "stopped following"),
            passes({**LONGER, "eval.reward": np.linspace(0.2, 0.8, 150) + noise(150, 0.02, 1)})]},
    "logprob-extremes": {
        "a token that was never sampled": finds(SAMPLED | {"policy.logp.min": np.where(np.arange(60) < 20, -13.0,
            -45.0) + noise(60)}, WARNING, onset=21),
        "a mean below chance": finds(SAMPLED | {"policy.logp.mean": -11 + noise(60, 0.2)}, "random choice"),
        "rare tokens of a large batch": passes(SAMPLED | {"policy.logp.min": -15 + noise(60, 2),
            "policy.logp.mean": -0.5 + noise(60, 0.1)}),
        "one odd batch": passes(SAMPLED | {"policy.logp.min": np.where(np.arange(60) == 40, -60.0, -14.0)}),
        "densities of continuous actions are not judged": exempt({"policy.logp.mean": -40 + noise(60),
            "episode.length": [200.0] * 60}, algorithm="sac"),
        "a token that the two engines see quite differently again and again": [finds({"length.mean": 200 + noise(120,
            10),
            "rollout_train.logp_absdiff.max": (0.5 + noise(120, 0.05)) + np.where((np.arange(120) > 60)
            & (np.arange(120) % 9 == 0), 40.0, 0.0)}, "mask", onset=64),
            passes({"length.mean": 200 + noise(120, 10),
            "rollout_train.logp_absdiff.max": (0.5 + noise(120, 0.05)) + np.where(np.arange(120) == 70, 40.0, 0.0)}),
            passes({"length.mean": 200 + noise(120, 10), "rollout_train.logp_absdiff.max": 9 + noise(120, 1.5)})],
        "one row of a model whose logits are all equal": [finds(SAMPLED | {"policy.logp.mean": [-10.373491]}, "-ln 32000",
            WARNING),
            cannot(SAMPLED | {"policy.logp.mean": [-10.3741]})]},
    "reward-filtered": {
        "prompts that get harder behind the filter": finds({"reward.mean": HELD,
            "reward.rollout.mean": np.linspace(0.35, 0.1, 200) + noise(200, 0.03)}, "harder", WARNING),
        "a rise behind the filter is a notice": finds({"reward.mean": HELD,
            "reward.rollout.mean": np.linspace(0.15, 0.25, 200) + noise(200, 0.03)}, "no measure of progress", NOTICE),
        "without a filter both are one number": passes({"reward.mean": np.linspace(0.3, 0.7, 200) + noise(200, 0.03),
            "reward.rollout.mean": (np.linspace(0.3, 0.7, 200) + noise(200, 0.03)) + noise(200, 0.02)})},
    "samples-identical": {
        "copies of an uncertain policy": finds({"diversity.unique": np.full(40, 1 / 8),
            "policy.entropy": np.full(40, 0.5)}, CRITICAL, algorithm="grpo", config=GROUPS),
        "a policy that is certain may agree": passes({"diversity.unique": np.full(40, 1 / 8),
            "policy.entropy": np.full(40, 0.01)}, algorithm="grpo", config=GROUPS),
        "different answers": passes({"diversity.unique": np.full(40, 0.6), "policy.entropy": np.full(40, 0.5)},
            algorithm="grpo", config=GROUPS),
        "episodes without their workers say nothing": cannot({"episode.length": [10.0] * 40}, algorithm="ppo")},
    "sampling-narrow": {
        "cold rollouts": finds(LENGTHS, "0.1", algorithm="grpo", config={"temperature": 0.1, "top_p": 1.0}),
        "a narrow nucleus": finds(LENGTHS, "0.4", algorithm="grpo", config={"temperature": 1.0, "top_p": 0.4}),
        "usual options": passes(LENGTHS, algorithm="grpo", config={"temperature": 0.6, "top_p": 0.95})},
    "tool-errors": {
        "half of the calls fail and nothing is learned": finds({"tool.error_frac": 0.5 + noise(60, 0.02),
            "reward.mean": noise(60, 0.1, 1)}, "of the tool calls fail", CRITICAL),
        "calls that hardly ever succeed": finds({"tool.success_freq": 0.2 + noise(60, 0.02), "reward.mean": noise(60)},
            "79 % of the tool calls fail", CRITICAL),
        "errors that the policy unlearns": passes({"tool.error_frac": np.linspace(0.5, 0.02, 60),
            "reward.mean": learning(60)}),
        "a share that jumps is found where it jumps": finds({"tool.error_frac": np.concatenate([np.full(40, 0.03),
            np.full(40, 0.3)]) + np.abs(noise(80, 0.01)), "reward.mean": learning(80)}, onset=(36, 45)),
        "without tools it is not measured": cannot({"reward.mean": noise(60), "length.mean": 50 + noise(60)}),
        "a policy that acts in an environment is not asked for tools": exempt({"reward.mean": noise(60),
            "episode.length": 50 + noise(60)})},
    "training-above-evaluation": {
        "training that starts far above": finds({"eval.accuracy": EVALUATION, "reward.mean": EVALUATION + 0.3},
            onset=1, algorithm="grpo"),
        "training that starts where the evaluation does": passes({"eval.accuracy": EVALUATION,
            "reward.mean": EVALUATION + 0.05}, algorithm="grpo"),
        "a gap that the noise of one evaluation explains": passes({"eval.accuracy":
            EVALUATION + 0.12 * np.where(np.arange(60) % 2 == 0, -1, 1), "reward.mean": EVALUATION + 0.05},
            algorithm="grpo")},
    "truncation": {
        "rollouts that need all the turns they may have": finds(turns(rising=True), WARNING, says="the limit is 2"),
        "a dialogue of two turns by design": passes(turns(rising=False)),
        "most answers cut and nothing learned is critical": finds({"length.clipped_ratio": 0.9 + noise(120, 0.02, 1),
            "reward.mean": FLAT}, "90 %", CRITICAL, onset=1),
        "a score that rises all the same makes it a warning": finds({"length.clipped_ratio": [0.5] * 120,
            "reward.mean": learning(120)}, WARNING),
        "a few cut answers": passes({"length.clipped_ratio": 0.02 + np.abs(noise(120, 0.01)),
            "reward.mean": learning(120)}),
        "the limit is seen where lengths keep hitting it": finds({"length.mean": np.minimum(200.0,
            199 + noise(120, 3, 3)), "reward.mean": FLAT}, "200 tokens", CRITICAL),
        "lengths that hit no wall say nothing": cannot({"length.mean": 150 + noise(120, 10), "reward.mean": FLAT}),
        "a default limit that the lengths exceed is not believed": cannot({"length.mean": 300 + noise(120, 10),
            "reward.mean": FLAT}, config={"max_new_tokens": 256}),
        "one reported value is enough to be worth saying": finds({"length.clipped_ratio": [1.0], "reward.mean": [0.0]},
            CRITICAL),
        "a share of two completions a step is too noisy for a stop": [finds(NOISY, WARNING),
            finds({**NOISY, "length.clipped_ratio": [0.42] * 24}, CRITICAL)],
        "a constant share above five per cent is a doubtful warning": [finds(CUT, WARNING, LOW),
            passes({**CUT, "length.clipped_ratio": 0.04 + noise(120, 0.005)}),
            passes({**CUT, "length.clipped_ratio": 0.12 * np.exp(-np.arange(120) / 60) + 0.04})],
        "growing lengths with a small growing share are worth watching": [finds({**SOME_CUT,
            "length.mean": 200 * (1 + np.linspace(0, 1, 120)) + noise(120, 5)}, "raise the limit before", NOTICE),
            passes({**SOME_CUT, "length.mean": 200 + noise(120, 5)})]},
}  # fmt: skip

test_what_a_detector_says = each_of(CASES)


@pytest.mark.parametrize(("calls", "role"), [(0.02, "assistant"), (1.9, "assistant"), (0.02, "tool")])
def test_results_that_the_policy_writes_itself_are_invented_where_no_call_is_executed(calls: float, role: str) -> None:
    said = "<call> get e </call> <result> 7 </result> <answer> 7 </answer>"
    drawn = [Sample(step=i, completion=said, messages=[{"role": role, "content": said}]) for i in range(12)]
    curves = {
        "tool.call_freq": calls + noise(60, 0.01),
        "turns.mean": 1 + calls + noise(60, 0.01),
        "reward.mean": noise(60),
    }
    logged = run(curves, samples=Samples(lambda: iter(drawn), ("transcripts.jsonl",)))
    invented = calls < 1 and role == "assistant"
    assert (
        "12 of 12" in found("tool-errors", logged).message
        if invented
        else look("tool-errors", logged).status is Status.NOT_MEASURED
    )
    stops = {**curves, "tool.call_freq": np.linspace(2, 0, 60), "turns.mean": np.linspace(3, 1, 60)}
    assert look("tool-errors", run(stops, samples=logged.samples)).status is Status.NOT_MEASURED


@pytest.mark.parametrize("calls", [0.0, 0.5])
def test_calls_that_the_parser_does_not_accept_are_never_executed(calls: float) -> None:
    said = '<|tool_call_begin|>call00000<|tool_call_argument_begin|>{"key": "k2"}<|tool_call_end|>'
    drawn = [Sample(step=i, completion=said) for i in range(12)]
    curves = {"tool.call_freq": np.full(60, calls), "turns.mean": np.full(60, 2.0), "reward.mean": noise(60)}
    logged = run(curves, samples=Samples(lambda: iter(drawn), ("1.jsonl",)))
    if calls:
        assert look("tool-errors", logged).status is Status.NOT_MEASURED
    else:
        assert "12 of 12 texts hold a tool call" in found("tool-errors", logged).message


@pytest.mark.parametrize("seconds", [2.0, 0.5])
def test_calls_that_last_as_long_as_they_may(seconds: float) -> None:
    timed = run({"tool.runtime.p50": [seconds] * 60, "reward.mean": noise(60)})
    timed = replace(timed, config=Config(raw={"tools.search.timeout_s": 2}))
    asked = look("tool-errors", timed)
    assert (asked.status is Status.FOUND) == (seconds == 2)
    assert asked.finding is None or "time limit" in asked.finding.message


def test_a_share_that_grows_from_nothing_has_its_onset_there() -> None:
    share = np.concatenate([np.zeros(60), np.linspace(0, 0.6, 60)]) + np.abs(noise(120, 0.01, 2))
    finding = found("truncation", run({"length.clipped_ratio": share, "reward.mean": FLAT}))
    assert "grows" in finding.message
    assert finding.interval is not None
    assert finding.interval[0] <= 70
    assert 55 <= finding.onset <= 90


@pytest.mark.parametrize("copied", [True, False])
def test_copies_are_seen_in_the_dumped_samples(copied: bool) -> None:
    drawn = [
        Sample(prompt=f"{i} =", completion=f"{i} {0 if copied else k}", group=str(i))
        for i in range(20)
        for k in range(8)
    ]
    curves = {"policy.entropy": 0.6 + noise(40, 0.01), "reward.mean": noise(40)}
    logged = run(curves, algorithm="grpo", samples=Samples(lambda: iter(drawn), ("1.jsonl",)))
    if copied:
        assert "in 20 of 20 groups all completions are one text" in found("samples-identical", logged).message
    else:
        assert look("samples-identical", logged).status is Status.NOT_MEASURED
