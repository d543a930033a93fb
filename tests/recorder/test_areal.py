"""AReaL's own actor and loss, with the recorder at its seams; the engine, which needs GPUs, is stood in for."""

from __future__ import annotations

import importlib
import logging
import shutil
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.live.recorder.trainers import areal as hooks
from tests.lazy import lazy
from tests.recorder.trainers_code import measured, proved, trainer

torch = lazy("torch")

pytestmark = pytest.mark.trainer
NEEDS = ("colorlog", "einops", "flask", "numba", "openai", "pybase64", "tenacity", "torchdata")
PROMPTS, EACH, P, T, WORDS = 4, 6, 5, 12, 50
N = PROMPTS * EACH


@pytest.fixture(scope="module")
def areal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """AReaL's modules. All tests of this file share them, and the folder that their recorder writes."""
    folder = tmp_path_factory.mktemp("areal")
    with trainer("areal", NEEDS, folder), pytest.MonkeyPatch.context() as patched:
        patched.setattr(logging, "raiseExceptions", False)  # its formatter is one of those stood in for
        actor, data, options = (
            importlib.import_module(f"areal.{name}") for name in ("trainer.ppo.actor", "utils.data", "api.cli_args")
        )
        yield SimpleNamespace(folder=folder, actor=actor, data=data, options=options)


@pytest.fixture(autouse=True)
def fresh(areal: Any) -> None:
    """Each test begins with a recorder that has seen nothing, and an empty folder."""
    shutil.rmtree(areal.folder, ignore_errors=True)
    hooks.UPDATE.waits = False
    held = next(c.cell_contents for c in areal.actor.grpo_loss_fn.__closure__ if hasattr(c.cell_contents, "files"))
    held.__init__(areal.folder, 1e9, held.files.name)


class Engine:
    """Stands in for the engine: a table of logits, trained on packed sequences as AReaL's engines pack them."""

    def __init__(self, areal: Any) -> None:
        self.areal, self.version = areal, 0
        torch.manual_seed(0)
        self.table = torch.randn(WORDS, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.table], lr=0.5)

    def get_version(self) -> int:
        return self.version

    def train(self) -> None:
        """Nothing to switch."""

    def next_logps(self, ids: torch.Tensor) -> torch.Tensor:
        """Of each next token, in the place before it."""
        return torch.log_softmax(self.table, 0)[ids.roll(-1, -1)]

    def train_batch(self, batch: dict[str, Any], loss_fn: Callable[..., Any], loss_weight_fn: Any) -> dict[str, float]:
        packed = self.areal.data.pack_tensor_dict(batch)
        logps = self.next_logps(packed["input_ids"])
        loss = loss_fn(logps, -logps.detach(), packed)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {}


def actor(areal: Any, **options: Any) -> Any:
    """AReaL's actor. Norms are given as `reward_norm={...}` and `adv_norm={...}`."""
    norms = {
        name: areal.options.NormConfig(**options.pop(name)) for name in ("reward_norm", "adv_norm") if name in options
    }
    config = areal.options.PPOActorConfig(
        experiment_name="e", trial_name="t", path="p", **({"kl_ctl": 0.0} | options), **norms
    )
    return areal.actor.PPOActor(config, Engine(areal))


GRPO = {"reward_norm": {"mean_level": "group", "std_level": "group", "group_size": EACH}}


def batch(engine: Engine, seed: int = 0, tools: bool = False, critic: bool = False) -> list[dict[str, Any]]:
    """Trajectories as AReaL's workflows give them: one dictionary for each prompt, tokens of prompt and answer in one row."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(PROMPTS):
        lengths = rng.integers(3, T + 1, EACH)
        width = P + int(lengths.max())
        ids = torch.tensor(rng.integers(1, WORDS, (EACH, width)))
        ids[:, :P] = torch.tensor(rng.integers(1, WORDS, P))
        at = np.arange(width)
        mask = (at >= P) & (at < (P + lengths)[:, None])
        if tools:
            mask &= at != P + 1
        with torch.no_grad():
            trained = engine.next_logps(ids)
        counts = torch.tensor(mask)
        noise = 0.02 * torch.tensor(rng.normal(size=mask.shape), dtype=torch.float32)
        made.append(
            {
                "input_ids": ids,
                "attention_mask": torch.tensor(at < (P + lengths)[:, None]).long(),
                "loss_mask": counts.long(),
                "logprobs": (trained.roll(1, -1) + noise) * counts,
                "prox_logp": trained * counts.roll(-1, -1),
                "ref_logp": trained * counts.roll(-1, -1) + 0.001 * noise,
                "versions": torch.where(counts, engine.version, -1),
                "rewards": torch.tensor(rng.integers(0, 4, EACH) / 3, dtype=torch.float32),
            }
        )
        if critic:
            made[-1]["values"] = torch.tensor(rng.normal(size=mask.shape), dtype=torch.float32)
    return made


def estimated(
    areal: Any, seed: int = 0, tools: bool = False, critic: bool = False, **options: Any
) -> list[dict[str, Any]]:
    """One batch through AReaL's actor, up to its advantages."""
    trained = actor(areal, **options)
    made: list[dict[str, Any]] = trained.compute_advantages(batch(trained.engine, seed, tools, critic))
    return made


SETTINGS: dict[str, dict[str, Any]] = {
    "GRPO": GRPO | {"adv_norm": {}},
    "RLOO": {"reward_norm": {"mean_level": "group", "std_level": None, "mean_leave1out": True, "group_size": EACH}},
    "Dr. GRPO": {"reward_norm": {"mean_level": "group", "std_level": None, "group_size": EACH}},
    "batch": {"reward_norm": {}, "kl_ctl": 0.1},
    "plain": {"kl_ctl": 0.1, "adv_norm": {}},
    "scaled": {"reward_scaling": 10.0, "reward_bias": -0.5, "reward_clip": 3.0},
    "PPO": {"critic": True, "discount": 0.99, "gae_lambda": 0.95, "kl_ctl": 0.1, "adv_norm": {}},
    "decoupled": GRPO | {"use_decoupled_loss": True},
    "recomputed": GRPO | {"recompute_logprob": True},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("tools", [False, True])
def test_no_setting_of_areal_is_accused(areal: Any, name: str, tools: bool) -> None:
    for seed in range(4):
        estimated(areal, seed, tools=tools, **SETTINGS[name])
    expected = {"advantage_error", "mask_extra", "engine_gap", "nonfinite", "reference_start", "sample_age"}
    assert expected <= measured(areal.folder)
    assert ("target_error" in measured(areal.folder)) == (name == "PPO")
    assert proved(areal.folder) == set()


def test_sound_settings_that_look_odd_are_not_accused(areal: Any) -> None:
    """Penalties of length, cut answers without a reward, norms of other shapes, one score for all."""
    estimated(
        areal, overlong_reward_penalty=True, overlong_tokens=6, overlong_penalty_factor=1.0, max_new_tokens=T, **GRPO
    )
    estimated(areal, mask_no_eos_with_zero=True)
    estimated(areal, reward_norm={"mean_level": None, "std_level": "batch"})
    estimated(areal, adv_norm={"mean_level": "group", "std_level": "group", "group_size": EACH})
    estimated(areal, adv_norm={"mean_level": "batch", "mean_leave1out": True})
    trained = actor(areal, **GRPO)
    alike = batch(trained.engine)
    for part in alike:
        part["rewards"][:] = 1.0
    trained.compute_advantages(alike)
    assert proved(areal.folder) == set()


def turned(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: -original(*given, **named)


def of_other_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: original(*given, **named).roll(1, 0)


@pytest.mark.parametrize(("change", "check"), [(turned, "advantages-negated"), (of_other_rows, None)])
def test_a_fault_in_the_norm_of_the_rewards_is_proved(
    areal: Any, change: Any, check: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(areal.actor.Normalization, "__call__", change(areal.actor.Normalization.__call__))
    for seed in range(3):
        estimated(areal, seed, **GRPO)
    said = proved(areal.folder)
    assert check in said if check else said


def test_a_norm_over_prompt_and_padding_is_proved(areal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = areal.actor.Normalization.__call__
    monkeypatch.setattr(
        areal.actor.Normalization, "__call__", lambda self, x, mask=None, **named: whole(self, x, **named)
    )
    for seed in range(3):
        estimated(areal, seed, **SETTINGS["PPO"])
    assert "advantages-not-of-rewards" in proved(areal.folder)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_penalty_that_pays_for_going_away_is_proved(
    areal: Any, swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = areal.actor.KLEstimator.__call__
    if swapped:
        monkeypatch.setattr(
            areal.actor.KLEstimator, "__call__", lambda self, policy, reference: right(self, reference, policy)
        )
    trained = actor(areal, kl_ctl=0.1, **GRPO)
    trained.engine.version = 1
    for seed in range(3):
        data = batch(trained.engine, seed)
        for part in data:
            part["ref_logp"] = part["ref_logp"] - 0.3 * (part["ref_logp"] != 0)
        trained.compute_advantages(data)
    assert ("advantages-not-of-rewards" in proved(areal.folder)) is swapped


def of_several_prompts(data: list[dict[str, Any]]) -> None:
    for name in ("input_ids", "attention_mask", "loss_mask", "logprobs", "prox_logp", "ref_logp", "versions"):
        first, second = data[0][name], data[1][name]
        width = min(first.shape[1], second.shape[1])
        first[0, :width], second[0, :width] = second[0, :width].clone(), first[0, :width].clone()


def in_places_of_other_tokens(data: list[dict[str, Any]]) -> None:
    for part in data:
        part["logprobs"] = part["logprobs"].roll(1, -1)


def newer(data: list[dict[str, Any]]) -> None:
    for part in data:
        part["versions"] = part["versions"] + 5 * (part["versions"] >= 0)


def no_number(data: list[dict[str, Any]]) -> None:
    data[1]["prox_logp"][2, P + 1] = float("inf")


DATA = {
    "completions of several prompts in a group": (of_several_prompts, "groups-of-several-prompts"),
    "the engine's log-probabilities in other places": (in_places_of_other_tokens, "engine-disagrees"),
    "versions that the trainer has not reached": (newer, "samples-beyond-age"),
    "a log-probability that is no number": (no_number, "tensor-not-finite"),
}


@pytest.mark.parametrize("fault", DATA)
def test_a_fault_in_the_batch_is_proved(areal: Any, fault: str) -> None:
    change, check = DATA[fault]
    trained = actor(areal, use_decoupled_loss=True, **GRPO)
    for seed in range(3):
        data = batch(trained.engine, seed)
        change(data)
        trained.compute_advantages(data)
    assert check in proved(areal.folder)


def updated(areal: Any, change: Callable[[dict[str, Any]], None] = lambda _: None, **options: Any) -> None:
    """Three updates of AReaL's actor, each with a batch of its weights."""
    trained = actor(areal, **(GRPO | {"use_decoupled_loss": True} | options))
    for seed in range(3):
        data = trained.compute_advantages(batch(trained.engine, seed))
        for part in data:
            change(part)
        trained.ppo_update(data)
        trained.engine.version += 1


def test_a_sound_update_is_measured_and_proves_nothing(areal: Any) -> None:
    updated(areal)
    assert {"ratio_first", "gradient_turned", "gradient_outside", "gradient_missing"} <= measured(areal.folder)
    assert firstbreak.read(areal.folder).series["proof.ratio_first"].steps.tolist() == [1, 2, 3]
    assert proved(areal.folder) == set()


LOSSES: dict[str, dict[str, Any]] = {
    "the engine's own log-probabilities": {"use_decoupled_loss": False},
    "recomputed ones": {"use_decoupled_loss": False, "recompute_logprob": True},
    "GSPO": {"importance_sampling_level": "sequence"},
    "SAPO": {"use_sapo_loss": True, "use_decoupled_loss": False},
    "M2PO": {"m2_threshold": 1e-4},
    "dual clip": {"c_clip": 3.0},
}


@pytest.mark.parametrize("name", LOSSES)
def test_other_losses_of_areal_prove_nothing(areal: Any, name: str) -> None:
    updated(areal, **LOSSES[name])
    assert "gradient_turned" in measured(areal.folder)
    assert proved(areal.folder) == set()


def other_places(part: dict[str, Any]) -> None:
    part["prox_logp"] = part["prox_logp"].roll(1, -1)


FAULTS: dict[str, tuple[Any, Any, str]] = {
    "a minus too many": (
        lambda original: lambda **named: (lambda made: (-made[0], made[1]))(original(**named)),
        None,
        "loss-turned-round",
    ),
    "the loss leaves the first tokens out": (
        lambda original: (
            lambda **named: original(**(named | {"loss_mask": named["loss_mask"] & named["loss_mask"].roll(1, -1)}))
        ),
        None,
        "sampled-tokens-left-out",
    ),
    "a clip round 0 instead of 1": (
        lambda original: lambda **named: original(**(named | {"eps_clip": -0.9, "eps_clip_higher": -0.8})),
        None,
        "one-sign-without-gradient",
    ),
    "stored log-probabilities of other tokens": (None, other_places, "ratio-not-one"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_loss_is_proved(areal: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, before, check = FAULTS[fault]
    if change is not None:
        monkeypatch.setattr(areal.actor, "ppo_actor_loss_fn", change(areal.actor.ppo_actor_loss_fn))
    updated(areal, before or (lambda _: None))
    assert check in proved(areal.folder)
