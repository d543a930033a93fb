"""A plain PyTorch loop: updates left out, a bundle on a stop, the same update again from it."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from firstbreak.cli import main
from firstbreak.live.guard import bundle
from firstbreak.live.guard.adapters.torch import attach, load, random_state, set_random_state
from firstbreak.live.guard.decision import Act, GuardDecision
from firstbreak.live.guard.guard import Guard
from firstbreak.live.guard.replay import replay
from firstbreak.readers import Unreadable
from tests.lazy import lazy

torch = lazy("torch")
regression = lazy("tests.guard.regression")


def train(guard: Guard, data: Iterator[regression.Batch]) -> tuple[torch.nn.Module, GuardDecision]:
    model, optimizer, _ = regression.build()
    loop, decision = attach(guard, model, optimizer), GuardDecision()
    with guard:
        for step, batch in enumerate(data):
            loop.begin(batch)
            loss = regression.loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            decision = loop.observe(step, {"loss": loss.item()})
            if decision.stop:
                break
    return model, decision


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_a_single_bad_batch_is_left_out_and_training_goes_on(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    model, decision = train(guard, regression.batches(40, broken={20}))
    assert not decision.stop
    assert torch.isfinite(weights(model)).all()
    assert guard.decision.act is Act.SKIP_UPDATE


def test_the_learning_rate_is_halved_where_the_clip_cuts_most_of_the_batch(tmp_path: Path) -> None:
    for policy, rate in (("skip-update", 0.005), ("observe", 0.01)):
        model, optimizer, _ = regression.build()
        loop = attach(Guard(policy, folder=tmp_path, trainer="cleanrl", on_decision=lambda d: None), model, optimizer)
        for step in range(8):
            loop.observe(step, {"losses/clipfrac": 0.9})
        assert [group["lr"] for group in optimizer.param_groups] == [rate]


def test_to_observe_changes_nothing(tmp_path: Path) -> None:
    torch.manual_seed(0)
    guarded, _ = train(Guard(folder=tmp_path), regression.batches(20))
    torch.manual_seed(0)
    model, optimizer, _ = regression.build()
    for batch in regression.batches(20):
        optimizer.zero_grad()
        regression.loss_of(model, batch).backward()
        optimizer.step()
    assert torch.equal(weights(guarded), weights(model))


def test_a_stop_keeps_an_update_that_comes_out_the_same(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)

    def data() -> Iterator[regression.Batch]:
        for step, batch in enumerate(regression.batches(40)):
            if step == 10:
                guard.stop("seen enough")
            yield batch

    _, decision = train(guard, data())
    assert decision.step is not None
    assert decision.step < 12
    assert decision.bundle is not None
    assert bundle.read(decision.bundle)["exact"]
    compared = {one.name: one for one in replay(decision.bundle, regression.build())}
    assert compared.keys() == {"loss", "grad.norm"}
    assert all(one.equal for one in compared.values())
    assert compared["loss"].then > 0


def test_another_model_is_distinguished_from_the_same(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    guard.stop("at once")
    _, decision = train(guard, regression.batches(5))
    assert decision.bundle is not None
    model, optimizer, loss = regression.build()
    other = (model, optimizer, lambda batch: 2 * loss(batch))
    assert [one.equal for one in replay(decision.bundle, other)] == [False, False]


def test_lasting_nans_end_the_run_with_the_batch_that_made_them(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    model, decision = train(guard, regression.batches(60, broken=set(range(30, 60))))
    assert decision.stop
    assert torch.isfinite(weights(model)).all(), "no broken update was applied"
    assert decision.bundle is not None
    kept = load(decision.bundle / "batch.pt")
    assert torch.isnan(kept["x"]).any()
    assert all(one.equal for one in replay(decision.bundle, regression.build()))


def test_a_crash_keeps_the_batch_that_it_happened_on(tmp_path: Path) -> None:
    guard = Guard(folder=tmp_path)

    def data() -> Iterator[regression.Batch]:
        yield from regression.batches(5)
        yield {"x": torch.zeros(4, 3), "y": torch.zeros(4, 1)}  # of the wrong shape

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        train(guard, data())
    (kept,) = bundle.complete(tmp_path)
    assert load(kept / "batch.pt")["x"].shape == (4, 3)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        replay(kept, regression.build())


def test_the_command_says_whether_it_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None, replay_with="tests.guard.regression:build")
    guard.stop("at once")
    _, decision = train(guard, regression.batches(5))
    assert decision.bundle is not None
    program, *arguments = bundle.read(decision.bundle)["command"].split()
    assert program == "firstbreak"

    def run() -> object:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return ended.value.code

    assert run() == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["same", "same"]
    (decision.bundle / "state.pt").write_bytes(b"torn")
    assert run() == 2
    assert "state.pt: has changed since it was written" in capsys.readouterr().err


def test_nothing_in_a_bundle_is_executed(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (tmp_path / "exploded",)  # type: ignore[return-value]

    (tmp_path / "state.pt").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(Unreadable, match="cannot be loaded"):
        load(tmp_path / "state.pt")
    assert not (tmp_path / "exploded").exists()


def test_random_numbers_go_on_where_they_stood(tmp_path: Path) -> None:
    def draw() -> tuple[float, float, float]:
        return random.random(), float(np.random.random()), torch.rand(1).item()

    with (tmp_path / "random.pt").open("wb") as file:
        torch.save(random_state(), file)
    drawn = draw()
    set_random_state(load(tmp_path / "random.pt"))
    assert draw() == drawn
