"""verl's own driver functions and losses, with the recorder at its seams; the workers, which need GPUs, are stood in for."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.live.recorder import seams
from firstbreak.live.recorder.trainers import verl as hooks
from tests.lazy import lazy
from tests.recorder.trainers_code import measured, proved, trainer

torch = lazy("torch")

pytestmark = pytest.mark.trainer
NEEDS = ("codetiming", "torchdata", "transfer_queue")
PROMPTS, EACH, P, T, WORDS = 4, 6, 5, 12, 50
N = PROMPTS * EACH


def modules() -> SimpleNamespace:
    """verl's modules, under short names."""
    names = {
        "ray": "verl.trainer.ppo.ray_trainer",
        "core": "verl.trainer.ppo.core_algos",
        "losses": "verl.workers.utils.losses",
        "workers": "verl.workers.engine_workers",
        "v1": "verl.trainer.ppo.v1.utils",
        "protocol": "verl.protocol",
        "padding": "verl.workers.utils.padding",
        "config": "verl.trainer.config",
        "actor": "verl.workers.config.actor",
        "td": "verl.utils.tensordict_utils",
    }
    return SimpleNamespace(**{short: importlib.import_module(name) for short, name in names.items()})


@pytest.fixture(scope="module")
def verl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """verl's modules. All tests of this file share them, and the folder that their recorders write."""
    folder = tmp_path_factory.mktemp("verl")
    with trainer("verl", NEEDS, folder):
        yield SimpleNamespace(folder=folder, **vars(modules()))


@pytest.fixture(autouse=True)
def fresh(verl: Any) -> None:
    """Each test begins with recorders that have seen nothing, and an empty folder."""
    shutil.rmtree(verl.folder, ignore_errors=True)
    hooks.ACTOR.number, hooks.ACTOR.waits = 0, False
    for module, name in ((verl.ray, "compute_advantage"), (verl.losses, "ppo_loss")):
        held = next(c.cell_contents for c in getattr(module, name).__closure__ if hasattr(c.cell_contents, "files"))
        held.__init__(verl.folder, 1e9, held.files.name)


class Driver:
    """What calls `compute_advantage` in verl: an object with `global_steps`."""

    global_steps = 0
    current_param_version: int  #: of asynchronous trainers

    def step(self, verl: Any, data: Any, estimator: str, *, multi: list[str] | None = None, **options: Any) -> Any:
        self.global_steps += 1
        if estimator != "remax":
            del data.batch["reward_baselines"]
        config = verl.config.AlgoConfig(adv_estimator=estimator, gamma=0.99, **options.pop("config", {}))
        given = {"adv_estimator": verl.core.AdvantageEstimator(estimator), "gamma": 0.99, "lam": 0.95, "config": config}
        if multi is not None:
            return verl.v1.compute_advantage_for_multi_trajectories(data, multi, **given, **options)
        return verl.ray.compute_advantage(data, **given, **options)


def batch(verl: Any, seed: int = 0, **changed: Any) -> Any:
    """A batch as verl holds it before its advantages are computed: left-padded prompts, right-padded responses."""
    rng = np.random.default_rng(seed)
    prompts = np.repeat(rng.integers(1, WORDS, (PROMPTS, P)), EACH, axis=0)
    lengths = rng.integers(2, T + 1, N)
    mask = (np.arange(T) < lengths[:, None]).astype(np.int64)
    scores = np.zeros((N, T))
    scores[np.arange(N), lengths - 1] = rng.integers(0, 4, N) / 3
    logps = -rng.exponential(1.0, (N, T)) * mask
    uid = np.repeat([f"prompt-{k}" for k in range(PROMPTS)], EACH)
    order = rng.permutation(N) if changed.pop("balanced", False) else np.arange(N)
    responses, attended = rng.integers(1, WORDS, (N, T)) * mask, np.concatenate([np.ones((N, P), np.int64), mask], 1)
    tensors = {
        "prompts": torch.tensor(prompts),
        "responses": torch.tensor(responses),
        "input_ids": torch.tensor(np.concatenate([prompts, responses], 1)),
        "position_ids": torch.tensor(attended.cumsum(1) - 1),
        "attention_mask": torch.tensor(attended),
        "response_mask": torch.tensor(mask),
        "token_level_scores": torch.tensor(scores, dtype=torch.float32),
        "token_level_rewards": torch.tensor(scores, dtype=torch.float32),
        "old_log_probs": torch.tensor(logps, dtype=torch.float32),
        "ref_log_prob": torch.tensor(logps + 0.001 * rng.normal(size=(N, T)) * mask, dtype=torch.float32),
        "rollout_log_probs": torch.tensor(logps + 0.02 * rng.normal(size=(N, T)) * mask, dtype=torch.float32),
        "values": torch.tensor(rng.normal(size=(N, T)) * mask, dtype=torch.float32),
        "reward_baselines": torch.tensor(rng.random(N), dtype=torch.float32),
        "sum_pi_squared": torch.tensor(rng.random((N, T)) * mask, dtype=torch.float32),
        **changed,
    }
    known = {"uid": uid, "format": rng.random(N).astype(object), "right": rng.integers(0, 2, N).astype(object)}
    return verl.protocol.DataProto.from_dict(
        {k: v[order] for k, v in tensors.items()}, {k: v[order] for k, v in known.items()}
    )


GDPO = {"config": {"gdpo_reward_keys": ["format", "right"], "gdpo_reward_weights": [1.0, 2.0]}}
ESTIMATORS = [
    ("gae", {}), ("grpo", {}), ("grpo", {"norm_adv_by_std_in_grpo": False}), ("grpo_vectorized", {}), ("rloo", {}),
    ("rloo_vectorized", {}), ("reinforce_plus_plus", {}), ("reinforce_plus_plus_baseline", {}), ("remax", {}), ("opo", {}),
    ("gpg", {}), ("grpo_passk", {}), ("gdpo", GDPO), ("optimal_token_baseline", {}), ("tir_optimal_token_baseline", {}),
]  # fmt: skip


@pytest.mark.parametrize(("estimator", "options"), ESTIMATORS)
def test_no_estimator_of_verl_is_accused(verl: Any, estimator: str, options: dict[str, Any]) -> None:
    driver = Driver()
    for seed in range(4):
        driver.step(verl, batch(verl, seed, balanced=True), estimator, **options)
    assert {"group_mixed", "mask_extra", "engine_gap", "reference_start", "nonfinite"} <= measured(verl.folder)
    assert ("advantage_error" in measured(verl.folder)) != ("optimal_token" in estimator)
    assert proved(verl.folder) == set()


def test_sound_batches_that_look_odd_are_not_accused(verl: Any) -> None:
    """Tools between turns, rejected tokens, cut rows, groups that lost members, one score for all, a KL penalty in the reward."""
    driver = Driver()
    for estimator in ("grpo", "gae", "reinforce_plus_plus"):
        turns = batch(verl)
        turns.batch["response_mask"][:, 3:5] = 0
        driver.step(verl, turns, estimator)
    driver.step(verl, batch(verl), "gae")
    cut = batch(verl)
    cut.batch["response_mask"][:3] = 0
    driver.step(verl, cut, "reinforce_plus_plus_baseline")
    driver.step(verl, batch(verl).select_idxs(list(range(3, N))), "grpo")
    driver.step(verl, batch(verl).select_idxs([0, 6, 7, 8, 12, 13]), "rloo")
    driver.step(verl, batch(verl, token_level_rewards=torch.zeros(N, T)), "grpo")
    penalised = batch(verl)
    verl.ray.apply_kl_penalty(penalised, verl.core.FixedKLController(0.5))
    driver.step(verl, penalised, "grpo")
    keys = [f"{u}_{i % EACH}_{k}" for i, u in enumerate(batch(verl).non_tensor_batch["uid"]) for k in (0, 1)]
    twice = batch(verl).repeat(2, interleave=True)
    driver.step(verl, twice, "grpo", multi=keys)
    assert proved(verl.folder) == set()


def _as(change: Callable[..., Any]) -> Callable[..., Any]:
    """What replaces an estimator: its advantages, changed."""

    def made(original: Callable[..., Any]) -> Callable[..., Any]:
        def estimated(*given: Any, **named: Any) -> Any:
            advantages, returns = original(*given, **named)
            return change(advantages, named), returns

        return estimated

    return made


def _reward_itself(advantages: torch.Tensor, named: dict[str, Any]) -> torch.Tensor:
    return named["token_level_rewards"].sum(-1, keepdim=True) * named["response_mask"]


def _whole(advantages: torch.Tensor, named: dict[str, Any]) -> torch.Tensor:
    scores = named["token_level_rewards"].sum(-1, keepdim=True)
    return (scores - scores.mean()) / scores.std() * named["response_mask"]


def _returns(advantages: torch.Tensor, named: dict[str, Any]) -> torch.Tensor:
    return named["token_level_rewards"].flip(1).cumsum(1).flip(1)


def _other_rows(original: Any, named: dict[str, Any]) -> Any:
    return original(**(named | {"advantages": named["advantages"].roll(3, 0)}))


CODE = {
    "advantages are negated": ("grpo", _as(lambda a, _: -a), "advantages-negated"),
    "advantages lose their sign": ("rloo", _as(lambda a, _: a.abs()), "advantages-negated"),
    "advantages of other rows": ("grpo", _as(lambda a, n: a.max(1).values.roll(1)[:, None] * n["response_mask"]), None),
    "baseline of the batch": ("grpo", _as(_whole), "baseline-of-other-prompts"),
    "no baseline": ("rloo", _as(_reward_itself), "no-baseline"),
    "advantages of other tokens": ("grpo", _as(lambda a, _: a.cumsum(1)), "advantages-not-of-rewards"),
    "returns are negated": ("reinforce_plus_plus", _as(lambda a, _: -a), "advantages-negated"),
    "GAE is negated": ("gae", _as(lambda a, _: -a), "advantages-negated"),
    "GAE without the critic": ("gae", _as(_returns), "advantages-not-of-rewards"),
    "GAE of other rows": ("gae", _as(lambda a, _: a.roll(1, 0)), None),
}  # fmt: skip


@pytest.mark.parametrize("fault", CODE)
def test_a_fault_in_the_estimator_is_proved(verl: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, change, check = CODE[fault]
    name = {"grpo": "compute_grpo_outcome_advantage", "gae": "compute_gae_advantage_return"}.get(estimator)
    if name is not None:
        monkeypatch.setattr(verl.core, name, change(getattr(verl.core, name)))
    else:
        table = verl.core.ADV_ESTIMATOR_REGISTRY
        monkeypatch.setitem(table, estimator, change(table[estimator]))
    driver = Driver()
    for seed in range(3):
        driver.step(verl, batch(verl, seed), estimator)
    found = proved(verl.folder)
    assert check in found if check else found & {"advantages-of-other-rows-used", "advantages-not-of-rewards"}


def _uids(data: Any) -> None:
    data.non_tensor_batch["uid"] = np.roll(data.non_tensor_batch["uid"], 1)


def _no_end(data: Any) -> None:
    mask = data.batch["response_mask"]
    data.batch["response_mask"] = mask * torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], 1)


def _nan(data: Any) -> None:
    data.batch["token_level_scores"][2, 1] = float("nan")


def _changed(name: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda data: data.batch.set(name, change(data.batch[name]))


BATCHES = {
    "completions of two prompts in a group": (_uids, "groups-of-several-prompts"),
    "padding in the loss": (_changed("response_mask", lambda t: t * 0 + 1), "other-tokens-in-loss"),
    "no end token in the loss": (_no_end, "sampled-tokens-left-out"),
    "a score that is no number": (_nan, "tensor-not-finite"),
    "an engine with another temperature": (_changed("rollout_log_probs", lambda t: t / 0.6), "engine-disagrees"),
    "the engine's numbers of other rows": (_changed("rollout_log_probs", lambda t: t.roll(1, 0)), "engine-disagrees"),
    "another model as the reference": (_changed("ref_log_prob", lambda t: t * 1.5), "reference-not-initial"),
}


@pytest.mark.parametrize("fault", BATCHES)
def test_a_fault_in_the_batch_is_proved(verl: Any, fault: str) -> None:
    change, check = BATCHES[fault]
    driver = Driver()
    for seed in range(3):
        data = batch(verl, seed)
        change(data)
        driver.step(verl, data, "grpo")
    assert check in proved(verl.folder)


def sampled_by(verl: Any, version: int) -> Any:
    """A batch whose engine says which weights sampled it."""
    data = batch(verl)
    data.non_tensor_batch["min_global_steps"] = np.full(N, version, dtype=object)
    return data


def test_the_age_of_samples_is_measured(verl: Any) -> None:
    """verl's trainer samples with the weights of the update before, and its asynchronous ones have no fixed limit."""
    trainer = object.__new__(verl.ray.RayPPOTrainer)
    trainer.global_steps = 0
    for step in range(4):
        Driver.step(trainer, verl, sampled_by(verl, step), "grpo")
    assert firstbreak.read(verl.folder).series["proof.sample_age"].values.tolist() == [0, 0, 0, 0]
    driver = Driver()
    driver.global_steps, driver.current_param_version = 10, 3
    for _ in range(3):
        driver.step(verl, sampled_by(verl, 0), "grpo")
    assert proved(verl.folder) == set()


def test_an_engine_that_gets_no_weights_is_proved(verl: Any) -> None:
    trainer = object.__new__(verl.ray.RayPPOTrainer)
    trainer.global_steps = 0
    for _ in range(5):
        Driver.step(trainer, verl, sampled_by(verl, 0), "grpo")
    assert proved(verl.folder) == {"samples-beyond-age"}


def test_a_version_that_the_trainer_has_not_reached_is_proved(verl: Any) -> None:
    driver = Driver()
    driver.current_param_version = 3
    driver.step(verl, sampled_by(verl, 7), "grpo")
    assert proved(verl.folder) == {"samples-beyond-age"}


class Actor:
    """Stands in for the actor's engine: a table of logits, trained by verl's own loss on two minibatches."""

    def __init__(self, verl: Any, **config: Any) -> None:
        self.verl = verl
        self.table = torch.zeros(WORDS, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.table], lr=0.5)
        self.config = verl.actor.ActorConfig(
            strategy="fsdp", rollout_n=EACH, ppo_mini_batch_size=N, ppo_micro_batch_size_per_gpu=N, **config
        )

    def pass_over(self, data: Any) -> torch.Tensor:
        """The log-probability of each next token, as an engine without padding gives it: one row for all sequences."""
        ids = data["input_ids"]
        flat = torch.log_softmax(self.table, 0)[ids.values()]
        return torch.nested.nested_tensor_from_jagged(flat.roll(-1), ids.offsets())

    def train_mini_batch(self, data: Any) -> None:
        """Twice over the batch."""
        for _ in range(2):
            loss, _ = self.verl.losses.ppo_loss(self.config, {"log_probs": self.pass_over(data)}, data)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def update(verl: Any, actor: Actor, step: int, change: Callable[[Any], None] = lambda _: None) -> None:
    """One update of an actor's worker, as verl's driver asks for it."""
    data = batch(verl, step)
    data.batch["advantages"] = verl.core.compute_grpo_outcome_advantage(
        data.batch["token_level_rewards"], data.batch["response_mask"], data.non_tensor_batch["uid"]
    )[0]
    sent = verl.padding.left_right_2_no_padding(data.to_tensordict())
    verl.td.assign_non_tensor(sent, dp_size=1, batch_num_tokens=None, global_batch_size=None)
    with torch.no_grad():
        old = verl.padding.no_padding_2_padding(actor.pass_over(sent), sent)
    mask = data.batch["response_mask"]
    data.batch["old_log_probs"] = data.batch["rollout_log_probs"] = old * mask
    change(data)
    sent = verl.padding.left_right_2_no_padding(data.to_tensordict())
    verl.td.assign_non_tensor(sent, dp_size=1, batch_num_tokens=None, global_batch_size=None)
    worker = SimpleNamespace(actor=actor, enable_routing_replay=False)
    verl.workers.ActorRolloutRefWorker.update_actor(worker, sent)


def test_a_sound_update_is_measured_and_proves_nothing(verl: Any) -> None:
    actor = Actor(verl)
    for step in range(1, 4):
        update(verl, actor, step, lambda data: data.batch.pop("rollout_log_probs"))
    assert {"ratio_first", "gradient_turned", "gradient_outside", "gradient_missing"} <= measured(verl.folder)
    assert firstbreak.read(verl.folder).series["proof.ratio_first"].steps.tolist() == [1, 2, 3]
    assert proved(verl.folder) == set()


def test_the_engines_own_log_probabilities_in_the_ratio_are_no_fault(verl: Any) -> None:
    actor = Actor(verl)
    for step in range(1, 4):
        update(verl, actor, step)
    assert {"engine_gap", "gradient_turned"} <= measured(verl.folder)
    assert "ratio_first" not in measured(verl.folder)
    assert proved(verl.folder) == set()


def _loss(change: Callable[..., Any]) -> Callable[..., Any]:
    def made(original: Callable[..., Any]) -> Callable[..., Any]:
        def loss(**named: Any) -> Any:
            return change(original, named)

        return loss

    return made


def _shifted(data: Any) -> None:
    data.batch["old_log_probs"] = data.batch["old_log_probs"].roll(1, 1)


def _hotter(data: Any) -> None:
    data.batch["old_log_probs"] = data.batch["old_log_probs"] * 0.8


LOSSES: dict[str, tuple[Any, Any, str]] = {
    "a minus too many": (lambda f, n: (lambda r: (-r[0], r[1]))(f(**n)), None, "loss-turned-round"),
    "the loss takes the wrong rows": (_other_rows, None, "loss-turned-round"),
    "the loss leaves the first tokens out": (
        lambda f, n: f(**(n | {"response_mask": n["response_mask"] & (torch.arange(n["response_mask"].shape[1]) > 0)})),
        None,
        "sampled-tokens-left-out",
    ),
    "the loss is no number": (lambda f, n: (lambda r: (r[0] / 0 * 0, r[1]))(f(**n)), None, "tensor-not-finite"),
    "stored log-probabilities of other tokens": (lambda f, n: f(**n), _shifted, "ratio-not-one"),
    "stored log-probabilities at another temperature": (lambda f, n: f(**n), _hotter, "ratio-not-one"),
}  # fmt: skip


@pytest.mark.parametrize("fault", LOSSES)
def test_a_fault_in_the_loss_is_proved(verl: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, before, check = LOSSES[fault]
    table = verl.core.POLICY_LOSS_REGISTRY
    monkeypatch.setitem(table, "vanilla", _loss(change)(table["vanilla"]))
    actor = Actor(verl)
    for step in range(1, 4):
        if before is not None:
            torch.manual_seed(0)
            actor.table.data = torch.randn(WORDS)

        def remade(data: Any) -> None:
            data.batch.pop("rollout_log_probs")
            if before is not None:
                before(data)

        update(verl, actor, step, remade)
    assert check in proved(verl.folder)


def test_what_a_look_does_wrong_never_reaches_the_trainer(verl: Any, caplog: pytest.LogCaptureFixture) -> None:
    data = verl.ray.compute_advantage(batch(verl), verl.core.AdvantageEstimator.GRPO, config=verl.config.AlgoConfig())
    assert "advantages" in data.batch  # called by nothing that counts steps
    assert "no caller has global_steps" in caplog.text


def test_a_function_that_a_version_lacks_is_left_out() -> None:
    module = SimpleNamespace(here=lambda: 1)
    seams.open_seam(module, seams.Seam("m", "Class.method", hooks._advantages), None)  # type: ignore[arg-type]
    assert module.here() == 1
