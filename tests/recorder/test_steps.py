"""The recorder in loops for control: CleanRL's PPO and DQN on CartPole, with and without a fault."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.engine.detection import check
from firstbreak.live.hooks.firstbreak_loop import advantages
from firstbreak.live.recorder.identities import estimates
from firstbreak.live.recorder.identities._estimates import TOLERANCE, size_of
from tests.detectors.look import proved
from tests.lazy import lazy
from tests.there import there

gymnasium = lazy("gymnasium")
torch = lazy("torch")
nn = lazy("torch.nn")

ENVS, STEPS, UPDATES, EPOCHS, GAMMA, LAMBDA, CLIP = 4, 64, 3, 2, 0.99, 0.95, 0.2


@cache
def agent_class() -> Any:
    class Agent(nn.Module):
        """CleanRL's agent, smaller."""

        def __init__(self, dropout: float = 0.0) -> None:
            super().__init__()
            self.actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Dropout(dropout), nn.Linear(32, 2))
            self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
            nn.init.constant_(
                self.critic[-1].bias, 15.0
            )  # as after some training: what is wrong with a value of 0 does not show

        def act(self, seen: torch.Tensor, action: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
            chance = torch.distributions.Categorical(logits=self.actor(seen))
            action = chance.sample() if action is None else action
            return action, chance.log_prob(action), chance.entropy(), self.critic(seen).flatten()

    return Agent


def estimate(
    rewards: Any, values: Any, dones: Any, next_done: Any, next_value: Any, discount: float = GAMMA
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and returns, as CleanRL's ppo.py computes them."""
    advantages, ahead = torch.zeros_like(rewards), torch.zeros(ENVS)
    for t in reversed(range(STEPS)):
        alive = 1.0 - (next_done if t == STEPS - 1 else dones[t + 1])
        following = next_value if t == STEPS - 1 else values[t + 1]
        delta = rewards[t] + discount * following * alive - values[t]
        advantages[t] = ahead = delta + GAMMA * LAMBDA * alive * ahead
    return advantages, advantages + values


Change = Callable[..., Any]


def train_ppo(
    folder: Path, change: dict[str, Change] | None = None, dropout: float = 0.0, *, seen_ends: bool = False
) -> Any:
    """PPO with a few lines for the recorder; `change` replaces one expression of it. `seen_ends`: `record.env` is used."""
    say = {"estimate": estimate, "loss": lambda loss: loss, "ratio": lambda new, old: (new - old).exp(),
           "stored": lambda logprobs: logprobs, "rewards": lambda rewards: rewards,
           "clipped": lambda ratio: ratio.clamp(1 - CLIP, 1 + CLIP),
           "flat": lambda advantages: advantages.flatten(), "given": lambda dones, ended: {"dones": dones},
           **(change or {})}  # fmt: skip
    torch.manual_seed(1)
    envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * ENVS)
    agent = agent_class()(dropout)
    optimizer = torch.optim.Adam(agent.parameters(), lr=say.pop("rate", 2.5e-4))
    record = firstbreak.recorder(folder, share=1e9)
    envs = record.env(envs) if seen_ends else envs
    seen, next_done = torch.tensor(envs.reset(seed=1)[0]), torch.zeros(ENVS)
    for step in range(1, UPDATES + 1):
        if not all(bool(p.isfinite().all()) for p in agent.parameters()):
            break
        kept: dict[str, list[torch.Tensor]] = {
            name: [] for name in ("obs", "actions", "logprobs", "rewards", "dones", "values")
        }
        for _ in range(STEPS):
            with torch.no_grad():
                action, logprob, _, value = agent.act(seen)
            row = {"obs": seen, "dones": next_done, "actions": action, "logprobs": logprob, "values": value}
            after, reward, over, cut, _ = envs.step(action.numpy())
            seen, next_done = torch.tensor(after), torch.tensor(over | cut, dtype=torch.float32)
            row["rewards"] = torch.tensor(reward, dtype=torch.float32)
            for name, part in row.items():
                kept[name].append(part)
        obs, actions, logprobs, rewards, dones, values = (torch.stack(parts) for parts in kept.values())
        rewards = say["rewards"](rewards)
        with torch.no_grad():
            next_value = agent.critic(seen).flatten()
            advantages, returns = say["estimate"](rewards, values, dones, next_done, next_value)
        record.transitions(
            step, rewards=rewards, values=values, logprobs=logprobs, next_done=next_done, next_value=next_value,
            **say["given"](dones, torch.cat([dones[1:], next_done[None]])),
            advantages=advantages, returns=returns, gamma=GAMMA, gae_lambda=LAMBDA,
        )  # fmt: skip
        stored = say["stored"](logprobs.flatten())
        minibatches = [rows for _ in range(EPOCHS) for rows in torch.randperm(ENVS * STEPS).split(64)]
        for k, rows in enumerate(minibatches):
            if not bool(agent.actor[0].weight.isfinite().all()):
                break
            _, newlogprob, entropy, newvalue = agent.act(obs.flatten(0, 1)[rows], actions.flatten()[rows])
            newlogprob.retain_grad()
            picked = say["flat"](advantages)[rows]
            picked = (picked - picked.mean()) / (picked.std() + 1e-8)
            ratio = say["ratio"](newlogprob, stored[rows])
            policy = torch.max(-picked * ratio, -picked * say["clipped"](ratio)).mean()
            loss = (
                say["loss"](policy) - 0.01 * entropy.mean() + 0.5 * ((newvalue - returns.flatten()[rows]) ** 2).mean()
            )
            optimizer.zero_grad()
            loss.backward()
            record.transitions(
                step, newlogprob=newlogprob, logprob=stored[rows], ratio=ratio, entropy=entropy, advantages=picked,
                gradient=newlogprob.grad, clip_coef=CLIP, fresh=k == 0,
            )  # fmt: skip
            optimizer.step()
    return firstbreak.read(folder)


def test_a_sound_loop_is_measured_and_proves_nothing(tmp_path: Path) -> None:
    run = train_ppo(tmp_path)
    measured = {name.removeprefix("proof.") for name in run.series}
    wanted = {
        "advantage_error", "target_error", "through_ends", "ratio_first", "ratio_error", "gradient_turned",
        "nonfinite",
    }  # fmt: skip
    assert wanted | {"sampling_z"} <= measured
    assert proved(run) == set()
    assert firstbreak.diagnose(run).first_break is None


def _with(**changed: Any) -> dict[str, Change]:
    """The estimator with other arguments."""
    return {"estimate": lambda *given: estimate(**(dict(zip(_NAMES, given, strict=True)) | {
        name: value(*given) for name, value in changed.items()}))}  # fmt: skip


_NAMES = ("rewards", "values", "dones", "next_done", "next_value")


def _no_next_done(rewards: Any, values: Any, dones: Any, next_done: Any, next_value: Any) -> Any:
    return torch.zeros_like(next_done)


def _then(change: Callable[[Any, Any], Any]) -> dict[str, Change]:
    """The estimator, and what becomes of (advantages, values)."""

    def estimated(rewards: Any, values: Any, *given: Any) -> Any:
        advantages, returns = estimate(rewards, values, *given)
        return change(advantages, values), returns

    return {"estimate": estimated}


def _targets(rewards: Any, values: Any, *given: Any) -> Any:
    advantages, _ = estimate(rewards, values, *given)
    return advantages, advantages


def _undiscounted(*given: Any) -> Any:
    return estimate(*given, discount=1.0)


def _nan(rewards: Any) -> Any:
    rewards = rewards.clone()
    rewards[3, 0] = float("nan")
    return rewards


def _shuffled(advantages: Any, values: Any) -> Any:
    return advantages.flatten()[torch.randperm(advantages.numel())].view_as(advantages)


PPO: dict[str, tuple[dict[str, Change], str]] = {
    "ends are ignored": (_with(dones=lambda *g: torch.zeros_like(g[2]), next_done=_no_next_done), "values-through-ends"),
    "advantages are negated": (_then(lambda a, _: -a), "advantages-negated"),
    "advantages lose their sign": (_then(lambda a, _: a.abs()), "advantages-negated"),
    "advantages are shuffled": (_then(_shuffled), "advantages-of-other-rows-used"),
    "advantages of the next step": (_then(lambda a, _: a.roll(1, 0)), "advantages-of-other-rows-used"),
    "minibatches of the transposed table": ({"flat": lambda a: a.T.flatten()}, "advantages-of-other-rows-used"),
    "the last value is forgotten": (_with(next_value=lambda *g: torch.zeros_like(g[4])), "advantages-not-of-rewards"),
    "the discount is elsewhere": ({"estimate": _undiscounted}, "advantages-not-of-rewards"),
    "targets without the values": ({"estimate": _targets}, "targets-not-of-rewards"),
    "a reward that is no number": ({"rewards": _nan}, "tensor-not-finite"),
    "a plus for a minus": ({"loss": lambda loss: -loss}, "loss-turned-round"),
    "the ratio is upside down": ({"ratio": lambda new, old: (old - new).exp()}, "loss-turned-round"),
    "stored log-probabilities of other rows": ({"stored": lambda p: p.roll(1)}, "ratio-not-one"),
    "stored probabilities without the logarithm": ({"stored": lambda p: p.exp()}, "ratio-not-one"),
    "the ratio is a difference": ({"ratio": lambda new, old: 1 + (new - old) * 0.5 + (new - new.detach()) * 0.5 + 0.1},
                                  "ratio-computed-wrongly"),
    "the loss is not clipped": ({"clipped": lambda ratio: ratio, "rate": 0.03}, "gradient-beyond-clip"),
}  # fmt: skip


@pytest.mark.parametrize("fault", PPO)
def test_a_fault_in_ppo_is_proved(fault: str, tmp_path: Path) -> None:
    change, check = PPO[fault]
    run = train_ppo(tmp_path, change)
    assert check in proved(run)
    found = there(firstbreak.diagnose(run).first_break)
    assert found.step <= 1


LATE = _with(dones=lambda *g: g[2].roll(1, 0), next_done=lambda *g: g[2][-1])  #: an end is taken for the next step's
HERE = {"given": lambda dones, ended: {"dones": ended}}


@pytest.mark.parametrize("said", [HERE, {"given": lambda dones, ended: {"ended": ended}},
                                  {"given": lambda dones, ended: {"episode_starts": dones}}, {}])  # fmt: skip
def test_the_ends_may_be_stored_in_either_way(said: dict[str, Change], tmp_path: Path) -> None:
    """Where nothing else says which, it is asked; where the environment was seen, it is known."""
    asked, known = train_ppo(tmp_path / "a", said), train_ppo(tmp_path / "b", said, seen_ends=True)
    assert proved(asked) == proved(known) == set()
    names = [o.detector for run in (asked, known) for o in check(run) if o.finding is not None]
    assert names == (["read-in-two-ways"] if said is HERE else [])


@pytest.mark.parametrize("said", [HERE, {"given": lambda dones, ended: {"ended": ended}},
                                  {"given": lambda dones, ended: {"episode_starts": dones}}, {}])  # fmt: skip
def test_ends_of_the_step_before_are_proved_where_the_environment_was_seen(
    said: dict[str, Change], tmp_path: Path
) -> None:
    assert "values-through-ends" in proved(train_ppo(tmp_path, LATE | said, seen_ends=True))


def test_dropout_between_rollout_and_update_is_proved(tmp_path: Path) -> None:
    assert "ratio-not-one" in proved(train_ppo(tmp_path, dropout=0.5))


def train_dqn(folder: Path, target: Change) -> Any:
    """DQN's update as CleanRL's dqn.py writes it, on random transitions of CartPole."""
    torch.manual_seed(1)
    env = gymnasium.make("CartPole-v1")
    held, seen = [], env.reset(seed=1)[0]
    for action in np.random.default_rng(1).integers(0, 2, 512):
        after, reward, over, cut, _ = env.step(action)
        held.append((seen, action, reward, after, float(over)))
        seen = env.reset()[0] if over or cut else after
    obs, actions, rewards, nexts, dones = (
        torch.tensor(np.array(part), dtype=torch.float32) for part in zip(*held, strict=True)
    )
    online, target_network = (nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(2))
    nn.init.constant_(target_network[-1].bias, 15.0)
    nn.init.normal_(target_network[-1].weight, std=10.0)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    record = firstbreak.recorder(folder, share=1e9)
    for step in range(1, 5):
        rows = torch.randint(0, 512, (128,))
        with torch.no_grad():
            target_max = target_network(nexts[rows]).max(1).values
            online_max = online(nexts[rows]).max(1).values
            td_target = target(rewards[rows], dones[rows], target_max, online_max)
        record.transitions(
            step, rewards=rewards[rows], dones=dones[rows], next_values=target_max, td_target=td_target, gamma=GAMMA
        )
        loss = ((td_target - online(obs[rows]).gather(1, actions[rows].long()[:, None]).squeeze()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return firstbreak.read(folder)


def test_sound_targets_of_action_values_prove_nothing(tmp_path: Path) -> None:
    run = train_dqn(tmp_path, lambda r, d, ahead, _: r + GAMMA * ahead * (1 - d))
    assert {"proof.target_error", "proof.through_ends"} <= run.series.keys()
    assert proved(run) == set()


DQN: dict[str, tuple[Change, str]] = {
    "ends are ignored": (lambda r, d, ahead, _: r + GAMMA * ahead, "values-through-ends"),
    "the discount is forgotten": (lambda r, d, ahead, _: r + ahead * (1 - d), "targets-not-of-rewards"),
    "ends are the other way round": (lambda r, d, ahead, _: r + GAMMA * ahead * d, "targets-not-of-rewards"),
    "the online network values": (lambda r, d, _, ahead: r + GAMMA * ahead * (1 - d), "targets-not-of-rewards"),
    "values of other rows": (lambda r, d, ahead, _: r + GAMMA * ahead.roll(1) * (1 - d), "targets-not-of-rewards"),
}


@pytest.mark.parametrize("fault", DQN)
def test_a_fault_in_the_targets_is_proved(fault: str, tmp_path: Path) -> None:
    target, check = DQN[fault]
    assert check in proved(train_dqn(tmp_path, target))


@pytest.mark.parametrize("added", [0.0, 5.0])
def test_a_value_added_at_a_time_limit_and_sums_of_rewards_as_targets_are_sound(added: float) -> None:
    draw = np.random.default_rng(0)
    rewards, values = draw.normal(size=(40, 1)), draw.normal(size=(40, 1))
    ended = np.zeros((40, 1))
    ended[[9, 24]] = 1
    paid = rewards + 0.99 * added * ended
    made = advantages(paid, values, np.zeros(1), ended, 0.99, 0.95)
    sums = advantages(paid, 0 * values, np.zeros(1), ended, 0.99, 1.0)
    for cut in (None, ended):
        found = estimates.measure(made, rewards, values, ended, np.zeros(1), 0.99, 0.95, sums, cut=cut)
        assert max(size_of(found[name]) for name in ("advantage_error", "target_error")) < TOLERANCE
    wrong = estimates.measure(made + 0.5 * draw.normal(size=(40, 1)), rewards, values, ended, np.zeros(1), 0.99, 0.95)
    assert size_of(wrong["advantage_error"]) > TOLERANCE
