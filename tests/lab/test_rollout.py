"""Workers write what they claim: versions, log-probabilities, filtering."""

from __future__ import annotations

import pytest

from tests.lazy import lazy

torch = lazy("torch")
presets = lazy("firstbreak_lab.language.settings")
model = lazy("firstbreak_lab.language.model")
rollout = lazy("firstbreak_lab.language.rollout")
warmup = lazy("firstbreak_lab.language.warmup")


def workers(max_head_offpolicyness: int = 0) -> rollout.RolloutWorkers:
    settings = presets.grpo()
    settings.batch_size, settings.n_samples, settings.max_head_offpolicyness = 8, 4, max_head_offpolicyness
    engine = rollout.Engine(warmup.warmed_up(settings.task, 0.05, 0), seed=0)
    return rollout.RolloutWorkers(settings, engine, rollout.scorer(settings))


def run(fleet: rollout.RolloutWorkers, steps: int) -> list[rollout.RolloutBatch]:
    """Batches while the policy of each version is the one before it, a little shaken."""
    policy = warmup.warmed_up(fleet.settings.task, 0.05, 0)
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
        logp, _ = model.log_probs(fleet.engine.model, batch.tokens, batch.prompt_length)
    assert torch.equal(logp, batch.behave_logp)


def test_sampling_follows_the_stated_probabilities() -> None:
    """The probability of a sampled token has the mean sum p^2 under honest sampling: within five standard errors."""
    fleet = workers()
    differences = []
    for _ in range(20):
        batch = fleet.prepare_batch(None)
        with torch.no_grad():
            logits = fleet.engine.model(batch.tokens[:, :-1])[:, batch.prompt_length - 1 :]
        expected = logits.softmax(-1).square().sum(-1)
        differences.append((batch.behave_logp.exp() - expected)[batch.mask])
    difference = torch.cat(differences)
    assert abs(float(difference.mean())) < 5 * float(difference.std()) / len(difference) ** 0.5


def test_groups_without_signal_are_replaced() -> None:
    """Of groups of four, every other one has equal rewards."""
    fleet = workers()
    fleet.score = lambda _, texts: {"accuracy": [float(i % 8 == 0) for i in range(len(texts))]}
    plain = fleet.prepare_batch(None)
    grouped = plain.rewards.view(-1, 4)
    assert (grouped.amax(1) == grouped.amin(1)).any()
    filtered = fleet.prepare_batch(presets.mixed_rewards)
    grouped = filtered.rewards.view(-1, 4)
    assert (grouped.amax(1) > grouped.amin(1)).all()
    assert (len(grouped), fleet.finished_groups) == (8, 16)
    assert [p.prompt for p in filtered.problems[:4]] == [filtered.problems[0].prompt] * 4
