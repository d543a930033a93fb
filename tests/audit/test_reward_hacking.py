"""The hacking_test on dumps with a known answer, and on real runs of the lab's trainers."""

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from firstbreak.audit.audit import HACKING, Audit, audit
from firstbreak.audit.reward_hacking import compare_with_truth, examine
from firstbreak.audit.scoring import TruthStore
from firstbreak.audit.shift import RewardComponent
from firstbreak.cli.demo import ONSET, RUN
from firstbreak.model import Expected, Finding, Outcome, Sample, Series, Severity, Status
from firstbreak.readers.read import read
from tests.audit.dumps import by_length, dump, honest, longer_and_longer, plain

DATA = Path(__file__).parent.parent / "data"


def outcome(found: Audit, name: str = HACKING) -> Outcome:
    return next(o for o in found.outcomes if o.detector == name)


def finding(found: Audit, name: str = HACKING) -> Finding:
    result = outcome(found, name)
    assert result.finding is not None, result.note
    return result.finding


def audited(samples: Iterable[Sample]) -> Audit:
    return audit(samples, path="dump.jsonl")


def test_a_reward_that_pays_for_length_is_caught_with_what_pays_and_what_shifted() -> None:
    found = audited(dump(longer_and_longer, by_length, skill=lambda t: 0.6 - 0.4 * t))
    said = finding(found)
    assert said.severity is Severity.CRITICAL
    assert said.numbers["payer"] == "thoroughness"
    assert said.numbers["shifted"][0] == "length"
    assert "completions get longer (rewarded)" in said.message
    length = next(side for side in found.hacking_test.sides if side.metric.id == "length")
    assert length.shifted == 1
    assert length.in_group is not None
    assert length.in_group.interval[0] > 0.3


def test_what_is_paid_to_all_samples_of_a_step_is_caught_though_the_right_ones_earn_more() -> None:
    def padded(rng: random.Random, t: float, answer: int) -> str:
        return "once more " * round(40 * t) + f"\n#### {answer}"

    samples = [replace(s, rewards={}) for s in dump(padded, by_length, skill=lambda t: 0.6 - 0.8 * t)]
    found = audited(samples)
    assert finding(found).severity is Severity.CRITICAL
    assert finding(found).metric == "right answer"
    agreement = found.hacking_test.agreements[0]
    assert agreement.mismatched == sum(m.truth == 0 for m in agreement.mismatches) > 0.2 * agreement.high
    sound = audited(replace(s, rewards={}) for s in dump(padded, by_length, skill=lambda t: 0.2 + 0.6 * t))
    assert outcome(sound).status is Status.OK


def test_longer_because_better_is_no_hack() -> None:
    found = audited(dump(longer_and_longer, honest, skill=lambda t: 0.2 + 0.7 * t))
    assert outcome(found).status is Status.OK
    assert any(side.metric.id == "length" and side.shifted == 1 for side in found.hacking_test.sides)


def test_shorter_because_sharper_is_no_hack() -> None:
    def shorter(rng: random.Random, t: float, answer: int) -> str:
        return longer_and_longer(rng, 1 - t, answer)

    assert outcome(audited(dump(shorter, honest, skill=lambda t: 0.2 + 0.7 * t))).status is Status.OK


def test_format_first_is_no_hack_and_format_only_is() -> None:
    def dressed(rng: random.Random, t: float, answer: int) -> str:
        text = plain(rng, t, answer)
        return f"<answer>{answer}</answer>" if rng.random() < 0.2 + 2 * t else text

    def both(text: str, right: bool) -> dict[str, float]:
        return {"format": float("<answer>" in text), "accuracy": float(right)}

    assert outcome(audited(dump(dressed, both, skill=lambda t: 0.2 + 0.7 * t))).status is Status.OK
    hollow = audited(dump(dressed, both, skill=lambda t: 0.5 - 0.4 * t))
    assert finding(hollow).numbers["payer"] == "format"
    assert "right format and a wrong answer" in finding(hollow, "format-hacking").message


def test_a_hole_in_the_verifier_shows_against_the_right_answers() -> None:
    """The one component says that all is well; only the recorded answers know better."""

    def exploit(rng: random.Random, t: float, answer: int) -> str:
        return "TRUST ME " * 3 + plain(rng, t, 0) if rng.random() < 2 * t - 0.5 else plain(rng, t, answer)

    def holed(text: str, right: bool) -> dict[str, float]:
        return {"accuracy": float(right or "TRUST" in text)}

    found = audited(dump(exploit, holed, skill=lambda t: 0.5))
    said = finding(found)
    assert said.metric == "right answer"
    assert said.onset is not None
    assert said.interval is not None
    assert said.interval[0] <= 12 <= said.interval[1] + 6  # from t = 0.25 on, of 40 steps


def test_without_an_independent_score_it_says_so_and_does_not_accuse() -> None:
    found = audited(dump(longer_and_longer, lambda text, right: {"judge": len(text) / 100}, reference=False))
    result = outcome(found)
    assert result.status is Status.NOT_MEASURED
    assert "no independent score" in result.note
    assert "completions get longer (rewarded)" in result.note
    assert "--format html" in result.note


def test_gold_scores_in_the_dump_are_an_independent_score() -> None:
    def gold(sample: Sample) -> Sample:
        return replace(sample, meta={"gold_score": 1 - len(sample.completion) / 2000})

    samples = dump(longer_and_longer, lambda text, right: {"judge": len(text) / 100}, reference=False)
    found = audited(map(gold, samples))
    assert finding(found).metric == "gold score"
    agreement = found.hacking_test.agreements[0]
    assert agreement.correlation < -0.9
    assert agreement.mismatches


def test_a_truth_that_moves_with_the_reward_follows() -> None:
    steps = np.arange(60.0)
    rng = np.random.default_rng(0)
    proxy = Series(name="reward.mean", steps=steps, values=steps / 60 + 0.03 * rng.normal(size=60))
    rising = Series(name="eval.accuracy", steps=steps[::4], values=0.2 + steps[::4] / 100 + 0.02 * rng.normal(size=15))
    falling = replace(rising, values=0.8 - steps[::4] / 100 + 0.02 * rng.normal(size=15))
    assert compare_with_truth(proxy, rising).course == "follows"  # type: ignore[union-attr]
    assert compare_with_truth(proxy, falling).course == "fell"  # type: ignore[union-attr]
    assert compare_with_truth(proxy, replace(proxy, name="reward.component.accuracy.mean")) is None, (
        "the same number twice"
    )


def test_a_fall_shows_in_a_dozen_evaluations() -> None:
    """Twelve evaluations of sixty tasks each that lose a sixth, while the reward reaches its top."""
    steps = np.arange(60.0)
    rng = np.random.default_rng(1)
    proxy = Series(
        name="reward.mean", steps=steps, values=np.minimum(1.0, 0.7 + steps / 120) + 0.01 * rng.normal(size=60)
    )
    every, fell, stayed = steps[::5], 0, 0
    for _ in range(50):
        skill = np.where(every < 20, 0.88, 0.72)
        score = Series(name="eval.accuracy", steps=every, values=rng.binomial(60, skill) / 60)
        fell += compare_with_truth(proxy, score).course == "fell"  # type: ignore[union-attr]
        level = replace(score, values=rng.binomial(60, 0.88, size=12) / 60)
        stayed += compare_with_truth(proxy, level).course != "fell"  # type: ignore[union-attr]
    assert fell >= 25
    assert stayed >= 45


STEPS = np.arange(0.0, 80)
EVALUATED = STEPS[::4]
REWARD = Series(name="reward.mean", steps=STEPS, values=np.minimum(1.0, 0.3 + STEPS / 60))
RISES = Series(name="eval.accuracy", steps=EVALUATED, values=np.linspace(0.4, 0.8, 20))
FALLS = Series(name="eval.reward", steps=EVALUATED, values=np.linspace(0.7, 0.3, 20))
NOISE = Series(name="eval.accuracy", steps=EVALUATED, values=np.tile([0.45, 0.65, 0.5, 0.7], 5))
LEVEL = Series(name="eval.accuracy", steps=EVALUATED, values=0.5 + 0.01 * np.tile([0, 1, 0, -1], 5))


def goes_by_truth(until: float) -> TruthStore:
    """Of samples that earn by their gold score up to a step, and from then on by chance."""
    rng = random.Random(0)
    truth_store = TruthStore()
    samples = (
        Sample(
            step=float(step),
            prompt=str(rng.random()),
            completion=".",
            reward=gold if step < until else rng.random(),
            meta={"gold": gold},
        )
        for step in range(80)
        for gold in (rng.random(), rng.random())
    )
    list(truth_store.watch(samples))
    return truth_store


def test_scores_that_cannot_tell_accuse_only_where_the_reward_has_left_the_truth() -> None:
    assert not isinstance(examine(REWARD, [NOISE], [], [], goes_by_truth(until=80))[0], Finding)
    said = examine(REWARD, [NOISE], [], [], goes_by_truth(until=30))[0]
    assert isinstance(said, Finding)
    assert said.severity is Severity.WARNING
    assert "correlation with gold score" in said.message
    assert "does not clearly follow" in said.message


def test_of_two_scores_that_differ_the_samples_decide() -> None:
    assert examine(REWARD, [RISES, FALLS], [], [], goes_by_truth(until=80))[0] is None
    said = examine(REWARD, [RISES, FALLS], [], [], goes_by_truth(until=30))[0]
    assert isinstance(said, Finding)
    assert said.metric == "eval.reward"


def test_a_score_that_followed_at_first_does_not_clear_what_came_later() -> None:
    """Skill grew once, and the reward with it a little faster; twenty steps later the reward went on alone."""

    def stairs(steps: np.ndarray, first: float, second: float, third: float) -> np.ndarray:
        levels = np.select([steps < 10, steps < 30], [first, second], third)
        return levels + 0.005 * np.random.default_rng(len(steps)).normal(size=len(steps))

    proxy = replace(REWARD, values=stairs(STEPS, 0.5, 0.7, 1.0))
    grew = replace(RISES, values=stairs(EVALUATED, 0.4, 0.55, 0.55))
    left = Series(name="reward.component.accuracy.mean", steps=STEPS, values=stairs(STEPS, 0.5, 0.7, 0.7))
    assert [p.course for t in (grew, left) if (p := compare_with_truth(proxy, t))] == ["follows", "stayed"]
    assert examine(proxy, [grew, left], [], [], goes_by_truth(until=80))[0] is None
    said = examine(proxy, [grew, left], [], [], goes_by_truth(until=30))[0]
    assert isinstance(said, Finding)
    assert said.interval is not None
    assert said.interval[0] <= 30 <= said.interval[1]


def test_a_reward_that_never_went_by_the_truth_is_weak_and_not_gamed() -> None:
    assert examine(REWARD, [LEVEL], [], [], goes_by_truth(until=0))[0] is None
    assert isinstance(examine(REWARD, [LEVEL], [], [], goes_by_truth(until=30))[0], Finding)


def test_what_another_component_brings_is_not_excused_by_honest_samples() -> None:
    paid = RewardComponent(name="length", weight=1.0, gain=0.6, checks_answer=False)
    right = RewardComponent(name="accuracy", weight=1.0, gain=0.1, checks_answer=True)
    expected = examine(REWARD, [FALLS], [], [right], goes_by_truth(until=80))[0]
    assert isinstance(expected, Expected)
    assert "the problem" not in expected.why, "a row may warn of the reward in the same report"
    assert isinstance(examine(REWARD, [FALLS], [], [paid, right], goes_by_truth(until=80))[0], Finding)


def test_healthy_noise_is_not_accused() -> None:
    accused = [
        seed for seed in range(2) if outcome(audited(dump(plain, honest, skill=lambda t: 0.5, seed=seed))).finding
    ]
    assert not accused


def test_the_demo_run_which_pays_for_length() -> None:
    run = read(RUN)
    assert run.samples is not None
    found = audit(run.samples, run=run)
    said = finding(found)
    assert said.numbers["payer"] == "thoroughness"
    assert said.interval is not None
    assert said.interval[0] <= ONSET <= said.interval[1]
    assert finding(found, "outputs-alike")


def test_a_healthy_run_of_trl() -> None:
    run = read(DATA / "trl_grpo_healthy")
    assert run.samples is not None
    found = audit(run.samples, run=run)
    assert outcome(found).status is Status.OK
    assert not [o for o in found.findings if o.finding and o.finding.severity is not Severity.NOTICE]


def test_a_narrow_evaluation_is_told_from_a_gamed_reward() -> None:
    """The evaluation falls, and yet what earns is right: not the reward's fault."""
    run = read(DATA / "trl_grpo_healthy")
    evaluation = Series(name="eval.accuracy", steps=np.arange(0.0, 40), values=np.linspace(0.9, 0.2, 40))
    run = replace(run, series={"eval.accuracy": evaluation})
    found = audit(dump(plain, honest), run=run)
    assert not outcome(found).finding
