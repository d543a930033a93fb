"""Workers write what they claim: versions, log-probabilities, filtering."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from firstbreak_lab.language import settings as presets  # noqa: E402
from firstbreak_lab.language.model import log_probs  # noqa: E402
from firstbreak_lab.language.rollout import Engine, RolloutBatch, RolloutWorkers, scorer  # noqa: E402
from firstbreak_lab.language.warmup import warmed_up  # noqa: E402


def workers(max_head_offpolicyness: int = 0) -> RolloutWorkers:
    settings = presets.grpo()
    settings.batch_size, settings.n_samples, settings.max_head_offpolicyness = 8, 4, max_head_offpolicyness
    engine = Engine(warmed_up(settings.task, 0.05, 0), seed=0)
    return RolloutWorkers(settings, engine, scorer(settings))


def run(fleet: RolloutWorkers, steps: int) -> list[RolloutBatch]:
    """Batches while the policy of each version is the one before it, a little shaken."""
    policy = warmed_up(fleet.settings.task, 0.05, 0)
    batches = []
    for version in range(steps):
        batches.append(fleet.prepare_batch(None))
        with torch.no_grad():
            for p in policy.parameters():
                p.add_(0.02 * torch.randn_like(p))
        fleet.engine.update_weights(policy, version + 1)
    return batches


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_staleness_reaches_its_limit_and_never_passes_it(limit: int) -> None:
    batches = run(workers(limit), 8)
    oldest = [v - int(b.versions[b.mask].min()) for v, b in enumerate(batches)]
    assert oldest == [min(v, limit) for v in range(8)]


def test_a_sequence_is_written_by_two_versions() -> None:
    batch = run(workers(1), 4)[-1]
    half = batch.versions.shape[1] // 2
    assert set(batch.versions[:, :half].flatten().tolist()) == {2}
    assert set(batch.versions[:, half:].flatten().tolist()) == {3}


def test_synchronous_log_probabilities_are_those_of_the_policy() -> None:
    fleet = workers()
    batch = fleet.prepare_batch(None)
    with torch.no_grad():
        logp, _ = log_probs(fleet.engine.model, batch.tokens, batch.prompt_length)
    assert torch.equal(logp, batch.behave_logp)


def test_sampling_follows_the_stated_probabilities() -> None:
    """The mean probability of sampled tokens is the mean of sum p^2, its expectation under honest sampling."""
    fleet = workers()
    stated, expected = [], []
    for _ in range(20):
        batch = fleet.prepare_batch(None)
        with torch.no_grad():
            logits = fleet.engine.model(batch.tokens[:, :-1])[:, batch.prompt_length - 1 :]
        stated.append(batch.behave_logp[batch.mask].exp().mean())
        expected.append(logits.softmax(-1).square().sum(-1)[batch.mask].mean())
    assert sum(stated) / 20 == pytest.approx(float(sum(expected) / 20), abs=0.01)


def test_groups_without_signal_are_replaced() -> None:
    fleet = workers()
    plain = fleet.prepare_batch(None)
    grouped = plain.rewards.view(-1, 4)
    assert (grouped.amax(1) == grouped.amin(1)).any()
    filtered = fleet.prepare_batch(presets.mixed_rewards)
    grouped = filtered.rewards.view(-1, 4)
    assert (grouped.amax(1) > grouped.amin(1)).all()
    assert fleet.finished_groups > len(grouped)
    assert [p.prompt for p in filtered.problems[:4]] == [filtered.problems[0].prompt] * 4
