"""OpenRLHF's own experience maker and loss, with the recorder at its seams; its workers, which need GPUs, are stood in for."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.live.recorder.trainers import openrlhf as hooks
from tests.lazy import lazy
from tests.recorder.trainers_code import measured, proved, trainer

torch = lazy("torch")

pytestmark = pytest.mark.trainer
NEEDS = ("deepspeed", "flash_attn", "pylatexenc", "ring_flash_attn", "torchdata", "vllm")
PROMPTS, EACH, P, T, WORDS = 4, 6, 5, 12, 50
N = PROMPTS * EACH
ESTIMATORS = ("gae", "reinforce", "rloo", "reinforce_baseline", "group_norm", "dr_grpo", "flash_reinforce")


@pytest.fixture(scope="module")
def rlhf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """OpenRLHF's modules. All tests of this file share them, and the folder that their recorders write."""
    folder = tmp_path_factory.mktemp("openrlhf")
    with trainer("openrlhf", NEEDS, folder):
        maker = importlib.import_module("openrlhf.trainer.ppo_utils.experience_maker")
        loss = importlib.import_module("openrlhf.models.loss")
        experience = importlib.import_module("openrlhf.trainer.ppo_utils.experience")
        actor = importlib.import_module("openrlhf.trainer.ray.ppo_actor")
        driver = importlib.import_module("openrlhf.trainer.ppo_trainer")
        yield SimpleNamespace(folder=folder, maker=maker, loss=loss, experience=experience, actor=actor, driver=driver)


@pytest.fixture(autouse=True)
def fresh(rlhf: Any) -> None:
    """Each test begins with recorders that have seen nothing, and an empty folder."""
    shutil.rmtree(rlhf.folder, ignore_errors=True)
    hooks.DRIVER.number = hooks.ACTOR.number = 0
    for owner, name in (
        (rlhf.maker.RemoteExperienceMaker, "compute_advantages_and_returns"),
        (rlhf.loss.PolicyLoss, "forward"),
    ):
        held = next(c.cell_contents for c in getattr(owner, name).__closure__ if hasattr(c.cell_contents, "files"))
        held.__init__(rlhf.folder, 1e9, held.files.name)


def options(estimator: str, **changed: Any) -> SimpleNamespace:
    """OpenRLHF's options, as far as the experience maker reads them."""
    advantage = SimpleNamespace(
        estimator=estimator, gamma=changed.pop("gamma", 1.0), lambd=0.95, no_std_norm=changed.pop("no_std_norm", False)
    )
    return SimpleNamespace(
        algo=SimpleNamespace(advantage=advantage),
        rollout=SimpleNamespace(n_samples_per_prompt=changed.pop("each", EACH), max_new_tokens=T),
        reward=SimpleNamespace(
            clip_range=changed.pop("clip_range", (-10, 10)),
            overlong_buffer_len=changed.pop("overlong", None),
            overlong_penalty_factor=1.0,
            stop_properly_penalty_coef=None,
        ),
    )


def batch(rlhf: Any, seed: int = 0, shuffled: bool = False, tools: bool = False) -> list[Any]:
    """Experiences of several widths, as OpenRLHF holds them before their advantages are computed."""
    rng = np.random.default_rng(seed)
    order, made = rng.permutation(N) if shuffled else np.arange(N), []
    for rows in np.split(order, 4):
        lengths = rng.integers(3, T + 1, len(rows))
        width = P + int(lengths.max())
        at = np.arange(width - 1)
        mask = (at >= P - 1) & (at < (P - 1 + lengths)[:, None])
        if tools:
            mask &= at != P
        attended = np.arange(width) < (P + lengths)[:, None]
        logps = -rng.exponential(1.0, mask.shape) * mask
        made.append(
            rlhf.experience.Experience(
                index=rows.tolist(),
                sequences=torch.tensor(rng.integers(1, WORDS, (len(rows), width))),
                attention_mask=torch.tensor(attended).long(),
                action_mask=torch.tensor(mask),
                prompts=[f"prompt {row // EACH}" for row in rows],
                rewards=torch.tensor(rng.integers(0, 4, len(rows)) / 3, dtype=torch.float32),
                action_log_probs=torch.tensor(logps, dtype=torch.float32),
                rollout_log_probs=torch.tensor(logps + 0.02 * rng.normal(size=mask.shape) * mask, dtype=torch.float32),
                values=torch.tensor(rng.normal(size=mask.shape), dtype=torch.float32),
                kl=torch.tensor(0.05 * rng.normal(size=mask.shape) * mask, dtype=torch.float32),
                response_length=torch.tensor(lengths),
                truncated=torch.tensor(lengths == T),
            )
        )
    return made


def step(rlhf: Any, estimator: str, experiences: list[Any], coefficient: float = 0.1, **changed: Any) -> list[Any]:
    """One batch through OpenRLHF's experience maker."""
    maker = object.__new__(rlhf.maker.RemoteExperienceMaker)
    maker.args, maker.advantage_estimator = options(estimator, **changed), estimator
    maker.strategy, maker.kl_ctl = SimpleNamespace(args=maker.args), SimpleNamespace(value=coefficient)
    made: list[Any] = maker.compute_advantages_and_returns(experiences)
    return made


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("coefficient", [0.0, 0.1])
def test_no_estimator_of_openrlhf_is_accused(rlhf: Any, estimator: str, coefficient: float) -> None:
    for seed in range(4):
        step(rlhf, estimator, batch(rlhf, seed, shuffled=seed > 1), coefficient)
    expected = {"advantage_error", "mask_extra", "engine_gap", "nonfinite", "penalty_turned"}
    assert expected <= measured(rlhf.folder)
    assert ("target_error" in measured(rlhf.folder)) == (estimator == "gae")
    assert proved(rlhf.folder) == set()


def test_sound_batches_that_look_odd_are_not_accused(rlhf: Any) -> None:
    """Tools between turns, rewards that are clipped, penalties of length, one sample a prompt, a discount, one score for all."""
    for estimator in ESTIMATORS:
        step(rlhf, estimator, batch(rlhf, tools=True))
        step(rlhf, estimator, batch(rlhf), clip_range=(-0.1, 0.1))
        step(rlhf, estimator, batch(rlhf), overlong=6)
        alike = batch(rlhf)
        for experience in alike:
            experience.rewards[:] = 1.0
        step(rlhf, estimator, alike)
    for estimator in ("gae", "reinforce", "flash_reinforce"):
        step(rlhf, estimator, batch(rlhf), each=1)
    for estimator in ("gae", "reinforce"):
        step(rlhf, estimator, batch(rlhf), gamma=0.9)
        step(rlhf, estimator, batch(rlhf, tools=True), gamma=0.9)
    step(rlhf, "reinforce_baseline", batch(rlhf), no_std_norm=True)
    assert proved(rlhf.folder) == set()


def turned(original: Callable[..., Any]) -> Callable[..., Any]:
    """The reward of a completion, with a minus too many."""
    return lambda reward, *given, **named: original(-reward, *given, **named)


def of_other_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda reward, *given, **named: original(reward.roll(1), *given, **named)


def on_the_first_token(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns that add up from the beginning instead of from the end."""
    return lambda self, rewards, mask, gamma: original(self, rewards.flip(1), mask.flip(1), gamma).flip(1)


def without_the_discount(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, values, rewards, mask, gamma, lambd: original(self, values, rewards, mask, 1.0, lambd)


CODE = {
    "a reward that is turned round": ("rloo", "compute_reward", turned, "advantages-negated"),
    "the rewards of other rows": ("group_norm", "compute_reward", of_other_rows, None),
    "returns from the beginning": ("reinforce", "get_cumulative_returns", on_the_first_token, "advantages-not-of-rewards"),
    "GAE without the discount": ("gae", "get_advantages_and_returns", without_the_discount, "advantages-not-of-rewards"),
}  # fmt: skip


@pytest.mark.parametrize("fault", CODE)
def test_a_fault_in_the_estimator_is_proved(rlhf: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, name, change, check = CODE[fault]
    owner = rlhf.maker if hasattr(rlhf.maker, name) else rlhf.maker.RemoteExperienceMaker
    monkeypatch.setattr(owner, name, change(getattr(owner, name)))
    for seed in range(3):
        step(rlhf, estimator, batch(rlhf, seed), gamma=0.9 if estimator in ("gae", "reinforce") else 1.0)
    said = proved(rlhf.folder)
    assert check in said if check else said


def other_index(experiences: list[Any]) -> None:
    first, second = experiences[0].index, experiences[1].index
    first[0], second[0] = second[0], first[0]


def hotter_engine(experiences: list[Any]) -> None:
    for experience in experiences:
        experience.rollout_log_probs = experience.rollout_log_probs * 0.4


DATA = {
    "completions of several prompts in a group": (other_index, "groups-of-several-prompts"),
    "an engine with another temperature": (hotter_engine, "engine-disagrees"),
    "log-probabilities that are no number": (
        lambda made: made[2].action_log_probs.__setitem__((0, 5), float("nan")),
        "tensor-not-finite",
    ),
}


@pytest.mark.parametrize("fault", DATA)
def test_a_fault_in_the_batch_is_proved(rlhf: Any, fault: str) -> None:
    change, check = DATA[fault]
    for seed in range(3):
        experiences = batch(rlhf, seed)
        change(experiences)
        step(rlhf, "group_norm", experiences, 0.0)
    assert check in proved(rlhf.folder)


class Actor:
    """Stands in for the actor's worker: a table of logits, trained by OpenRLHF's own loss."""

    def __init__(self, rlhf: Any, **config: Any) -> None:
        self.rlhf = rlhf
        torch.manual_seed(0)
        self.table = torch.randn(WORDS, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.table], lr=0.5)
        self.loss = rlhf.loss.PolicyLoss(**config)

    def logps(self, experience: Any) -> torch.Tensor:
        logps: torch.Tensor = torch.log_softmax(self.table, 0)[experience.sequences[:, 1:]]
        return logps * experience.action_mask

    def update(self, number: int, change: Callable[[Any], None] = lambda _: None) -> None:
        """Two epochs over the batches, as OpenRLHF's trainer does them: its update is announced, and its loss is called."""
        experiences = step(self.rlhf, "group_norm", batch(self.rlhf, number), 0.0)
        for experience in experiences:
            experience.action_log_probs = self.logps(experience).detach()
            change(experience)
        announced = SimpleNamespace(args=SimpleNamespace(train=SimpleNamespace(dynamic_batch_enable=False)))
        with pytest.raises(AttributeError):  # it has no engine: what follows is done here
            self.rlhf.actor.ActorPPOTrainer.ppo_train(announced, 0.0)
        for experience in experiences * 2:
            loss, *_ = self.loss(
                self.logps(experience),
                experience.action_log_probs,
                experience.advantages,
                action_mask=experience.action_mask,
                rollout_log_probs=experience.rollout_log_probs,
            )
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def test_a_sound_update_is_measured_and_proves_nothing(rlhf: Any) -> None:
    actor = Actor(rlhf)
    for number in range(3):
        actor.update(number)
    assert {"ratio_first", "gradient_turned", "gradient_outside", "gradient_missing"} <= measured(rlhf.folder)
    assert firstbreak.read(rlhf.folder).series["proof.ratio_first"].steps.tolist() == [1, 2, 3]
    assert proved(rlhf.folder) == set()


@pytest.mark.parametrize("config", [{"policy_loss_type": "gspo"}, {"is_correction_level": "token"}, {"dual_clip": 3.0}])
def test_other_losses_of_openrlhf_prove_nothing(rlhf: Any, config: dict[str, Any]) -> None:
    actor = Actor(rlhf, **config)
    for number in range(3):
        actor.update(number)
    assert "ratio_first" in measured(rlhf.folder)
    assert proved(rlhf.folder) == set()


def rolled(experience: Any) -> None:
    experience.action_log_probs = experience.action_log_probs.roll(1, 1)


LOSSES: dict[str, tuple[Any, Any, str]] = {
    "a minus too many": (lambda aggregate: lambda loss, *g, **n: aggregate(-loss, *g, **n), None, "loss-turned-round"),
    "the loss leaves the last tokens out": (
        lambda aggregate: lambda loss, mask, *g, **n: aggregate(loss, mask & mask.roll(-1, 1), *g, **n),
        None,
        "sampled-tokens-left-out",
    ),
    "stored log-probabilities of other tokens": (None, rolled, "ratio-not-one"),
}  # fmt: skip


@pytest.mark.parametrize("fault", LOSSES)
def test_a_fault_in_the_loss_is_proved(rlhf: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, before, check = LOSSES[fault]
    if change is not None:
        monkeypatch.setattr(rlhf.loss, "aggregate_loss", change(rlhf.loss.aggregate_loss))
    actor = Actor(rlhf)
    for number in range(3):
        actor.update(number, before or (lambda _: None))
    assert check in proved(rlhf.folder)


def test_the_driver_says_the_number_of_the_update(rlhf: Any) -> None:
    with pytest.raises(AttributeError):  # it has no workers: only the number is said
        rlhf.driver.BasePPOTrainer.train_step(SimpleNamespace(), [], 41)
    step(rlhf, "rloo", batch(rlhf))
    assert firstbreak.read(rlhf.folder).series["proof.advantage_error"].steps.tolist() == [42]
