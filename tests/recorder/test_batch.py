"""The recorder in a loop of one's own: the same identities, from tensors, arrays and lists."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.live.recorder import measuring as module
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.model import Link, LinkStatus
from tests.detectors.look import proved
from tests.detectors.recorded import BATCH
from tests.lazy import lazy
from tests.there import there

torch = lazy("torch")

PROMPTS, EACH, LENGTH, WORDS = 4, 8, 6, 12
PROMPT_TEXTS = [f"p{i // 4}" for i in range(16)]


def train(folder: Path, sign: float = -1.0, updates: int = 3) -> Any:
    """A policy-gradient loop on a table of logits: a prompt's word is right at each place."""
    draw = np.random.default_rng(0)
    table = torch.zeros(PROMPTS, LENGTH, WORDS, requires_grad=True)
    optimizer = torch.optim.SGD([table], lr=5.0)
    record = firstbreak.recorder(folder, share=1e9)
    for step in range(1, updates + 1):
        rows = torch.arange(PROMPTS).repeat_interleave(EACH)
        each = torch.log_softmax(table[rows], -1)
        noise = torch.tensor(draw.gumbel(size=each.shape), dtype=torch.float32)
        tokens = (each.detach() + noise).argmax(-1)
        logps = each.gather(2, tokens.unsqueeze(2)).squeeze(2)
        logps.retain_grad()
        rewards = (tokens == rows.unsqueeze(1)).float().mean(1)
        groups = rewards.view(PROMPTS, EACH)
        advantages = (groups - groups.mean(1, keepdim=True)).view(-1)
        loss = sign * (logps * advantages.unsqueeze(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record.batch(
            step,
            prompts=[f"prompt {i}" for i in rows],
            group=EACH,
            rewards=rewards,
            advantages=advantages,
            scaled="none",
            mask=torch.ones_like(logps),
            lengths=[LENGTH] * len(rows),
            logps=logps,
            entropies=-(each.exp() * each).sum(-1),
            gradient=logps.grad,
            fresh=True,
        )
    return firstbreak.read(folder)


def test_a_sound_loop_is_measured_and_proves_nothing(tmp_path: Path) -> None:
    run = train(tmp_path)
    measured = {name.removeprefix("proof.") for name in run.series}
    assert {"advantage_error", "group_mixed", "mask_extra", "gradient_turned", "sampling_z"} <= measured
    assert proved(run) == set()


def test_a_plus_for_a_minus_is_proved(tmp_path: Path) -> None:
    run = train(tmp_path, sign=1.0)
    assert proved(run) == {"loss-turned-round"}
    found = there(firstbreak.diagnose(run).first_break)
    assert found.step == 1


@pytest.mark.parametrize(("counted", "told"), [(6, True), (5, False)])
def test_without_a_mask_every_token_with_a_gradient_counts(counted: int, told: bool, tmp_path: Path) -> None:
    record, rows = firstbreak.recorder(tmp_path, share=1), np.full((8, 6), -1.0)
    led = np.where(np.arange(6) < counted, 0.1, 0.0) * np.ones((8, 1))
    found = record.batch(1, logps=rows, old_logps=rows * 1.4, gradient=led, fresh=True)
    assert ("ratio_first" in found) is told


def test_parts_of_groups_have_no_baseline() -> None:
    found = BatchRecorder(None).batch(1, rewards=[1, 0, 1, 0, 1], advantages=[0.5, -0.5, 1, -1, 0], group=list("aabbb"))
    assert "advantage_error" not in found


def test_an_advantage_may_have_any_positive_scale_where_the_loop_does_not_say_which() -> None:
    record = BatchRecorder(None)
    found = record.batch(1, **{**BATCH, "advantages": 7 * BATCH["advantages"], "scaled": None})
    assert found["advantage_error"] < 1e-6


def test_the_measurements_keep_to_their_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    record = BatchRecorder(None, share=0.02)
    plain = record.measure

    def slow(*given: Any) -> dict[str, float]:
        now[0] += 1.0
        return plain(*given)

    record.measure = slow  # type: ignore[method-assign]
    measured = 0
    for step in range(1, 1001):
        now[0] += 1.0
        measured += bool(record.batch(step, **BATCH))
    assert record.start == 2
    assert 5 <= measured - 2 <= 15
    assert record.spent <= 0.02 * now[0] + 1


def test_a_short_run_is_measured_beyond_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten seconds, two more; of an hour, no more than these."""
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    record = BatchRecorder(None, share=0.02)
    plain = record.measure

    def slow(*given: Any) -> dict[str, float]:
        now[0] += 0.005
        return plain(*given)

    record.measure = slow  # type: ignore[method-assign]
    measured = []
    for step in range(1, 36001):
        now[0] += 0.1
        measured.append(bool(record.batch(step, **BATCH)))
    assert sum(measured[:100]) == 100
    assert record.spent <= 0.02 * now[0] + module.START


@pytest.mark.parametrize("clear", [True, False])
def test_gradients_that_are_not_cleared_are_proved(clear: bool, tmp_path: Path) -> None:
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    record = firstbreak.recorder(tmp_path, share=1)
    record.weights(model, optimizer)
    for step in range(1, 7):
        if clear:
            optimizer.zero_grad()
        for half in torch.randn(2, 4, 8):
            model(half).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        record.batch(step, rewards=[0.0, 1.0], advantages=[-1.0, 1.0])
        optimizer.step()
    assert proved(firstbreak.read(tmp_path)) == (set() if clear else {"gradients-kept"})


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_a_rate_of_nothing_is_named(rate: float, tmp_path: Path) -> None:
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    record = firstbreak.recorder(tmp_path, share=1)
    record.weights(model, optimizer)
    for step in range(1, 15):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).square().mean().backward()
        record.batch(step, rewards=[0.0, 1.0], advantages=[-1.0, 1.0])
        optimizer.step()
    assert proved(firstbreak.read(tmp_path)) == (set() if rate else {"rate-not-as-configured"})


def test_an_identity_that_fails_to_be_measured_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = BatchRecorder(None).batch(1, **BATCH, logps=[[0.0]], mask=[[1.0], [1.0]], old_logps="?", fresh=True)
    assert found["group_mixed"] == 0.0
    assert "ratio was not measured" in caplog.text


def test_a_number_that_cannot_be_worked_out_tells_of_one_that_is_not_finite(tmp_path: Path) -> None:
    record = BatchRecorder(tmp_path, share=1)
    sound = np.zeros((4, 3))
    given = {
        "logps_before": sound,
        "logps_after": sound * np.nan,
        "mask": sound + 1,
        "advantages": np.array([1.0, -1, 1, -1]),
    }
    record.batch(1, **given)
    assert "tensor-not-finite" in proved(firstbreak.read(tmp_path))


def test_a_second_run_in_one_folder_is_told_from_the_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        record = BatchRecorder(tmp_path, share=1)
        for step in (1, 2):
            record.batch(step, rewards=[0.0, 1.0])
    resumed = BatchRecorder(tmp_path, share=1)
    resumed.batch(3, rewards=[0.0, 1.0])
    assert list(firstbreak.read(tmp_path).series["proof.reward_missing"].steps) == [1, 2, 3]
    assert (tmp_path / ".recorder.jsonl.before-1").read_text().count("\n") == 2
    assert "it is kept as .recorder.jsonl.before-1" in caplog.text


def test_a_reward_that_needs_whole_groups_is_scored_in_groups() -> None:
    """Row i is held against the answer i % prompts in place of i // group; alone it would divide by zero."""
    prompts, answers = [f"p{i // 4}" for i in range(16)], [float(i // 4) for i in range(16)]

    def score(rows: Sequence[int], _: Mapping[int, str]) -> np.ndarray:
        n = len(rows) // 4
        firsts = [answers[i] for i in rows[::4]]
        return np.array([[float(answers[i] == firsts[place % n])] for place, i in enumerate(rows)])

    found = BatchRecorder(None).batch(1, score=score, rewards=score(range(16), {}), prompts=prompts)
    assert found["reward_moved"] >= 0.5
    assert found["reward_raised"] == 0


def test_a_reward_function_that_raises_leaves_no_link_that_is_ok(tmp_path: Path) -> None:
    """The user's exception is in the report, and not in the training log alone."""

    def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
        return np.array([[1.0 / len(other.get(i, "4")) * 0 + i % 2] for i in rows])

    texts = {
        "prompts": PROMPT_TEXTS,
        "completions": [f"{i}" for i in range(16)],
        "references": PROMPT_TEXTS,
        "group": 4,
    }
    record = BatchRecorder(tmp_path, share=1e9)
    for step in range(1, 13):
        record.batch(step, **texts, rewards=score(range(16), {}), score=score)
    diagnosis = firstbreak.diagnose(firstbreak.read(tmp_path))
    assert "ZeroDivisionError" in diagnosis.links[Link.REWARD].why
    assert diagnosis.links[Link.REWARD].status is not LinkStatus.OK


def test_a_model_without_dropout_has_no_dropout_cause(tmp_path: Path) -> None:
    """Two ways of computing are told from the first batch on; older weights are not."""

    def named(since: int, dropout: float) -> dict[str, float]:
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(dropout))
        record = BatchRecorder(tmp_path / f"{since} {dropout}", share=1e9)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        record.weights(model, optimizer)
        noise = np.random.default_rng(0).normal(0, 0.2, (8, 16))
        for step in range(1, 121, 4):
            logps = np.full((8, 16), -1.0)
            old = logps + noise * (step >= since)
            record.batch(step, logps=logps, old_logps=old, mask=np.ones_like(logps), fresh=True)
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        run = firstbreak.read(tmp_path / f"{since} {dropout}")
        assert proved(run) == {"ratio-not-one" if since == 1 else "ratio-no-longer-one"}
        diagnosis = firstbreak.diagnose(run)
        assert there(diagnosis.first_break).link is (Link.POLICY_UPDATE if since == 1 else Link.FRESHNESS)
        return {cause.id: cause.probability for cause in diagnosis.causes}

    assert named(1, 0.1)["dropout-active"] > 0.1
    assert named(1, 0.0).get("dropout-active", 0.0) < 0.01
    assert max(late := named(101, 0.1), key=lambda cause: late[cause]) == "weights-not-delivered"


def test_what_the_weights_were_looked_at_for_is_written_where_no_time_is_left_for_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = firstbreak.recorder(tmp_path)
    record.batch(1, **BATCH)
    monkeypatch.setattr(record, "due", lambda *_: False)
    record.numbers = {"untrained": 1.0}
    record.batch(2, **BATCH)
    rows = [json.loads(line) for line in (tmp_path / "recorder.jsonl").read_text().splitlines()]
    assert [row.get("proof/untrained") for row in rows] == [None, 1.0]


def test_a_loop_writes_its_score_beside_its_proofs(tmp_path: Path) -> None:
    record = BatchRecorder(tmp_path)
    for step in range(20):
        record.log(step, reward=0.1 * step, eval_reward=0.05 * step)
    found = firstbreak.read(tmp_path).series
    assert [len(found[name]) for name in ("reward.mean", "eval.reward")] == [20, 20]
