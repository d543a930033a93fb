"""Relations: for each, numbers that do not fit each other, and a sound look-alike."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.registry import detectors
from firstbreak.model import Action, Config, Event, Happened, Link, Role, Run, Sample, Samples, Status
from firstbreak.readers.read import read
from firstbreak.reports import json as json_report
from firstbreak.reports import terminal
from firstbreak.values import replace
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

N = 100
X = np.arange(N)
DECAY = np.linspace(1.0, 0.05, N)
PARTS = {"right": 0.5 + noise(N, 0.1, seed=1), "format": 0.8 + noise(N, 0.1, seed=2)}
SUM = 2 * PARTS["right"] + 0.5 * PARTS["format"]


def parts(reward: np.ndarray) -> dict[str, Any]:
    return {f"reward.component.{name}.mean": values for name, values in PARTS.items()} | {"reward.mean": reward}


def grpo(series: dict[str, Any], **more: Any) -> Run:
    return run(series, trainer="trl", algorithm="grpo", **more)


def penalised(coefficient: float, printed: float = 1.0) -> Run:
    """A reward for which the divergence counts; some logs print its part with the other sign."""
    apart, task = 10 * (1 - np.exp(-X / 30)), 0.2 + noise(N, 0.05)
    curves = {"kl.ref.seq_sum": apart, "reward.kl_penalty": printed * coefficient * apart, "reward.mean": task}
    return grpo(curves | {"reward.shaped.mean": task + coefficient * apart})


def slow(kl: float, lr: float) -> dict[str, Any]:
    """A flat reward, and a divergence that levels off."""
    return {"reward.mean": 1.2 + noise(N, 0.1), "kl.ref": kl * (1 - np.exp(-X / 20)), "lr": np.full(N, lr)}


def box(high: float) -> Run:
    """A Gaussian policy, and the range of its actions in the configuration."""
    flat = run({"action.std": np.full(N, 1.0), "reward.mean": -60 + noise(N, 5.0)}, algorithm="ppo", trainer="sb3")
    return replace(flat, config=Config(raw={"env.action_space": f"Box(-{high}, {high}, (1,), float32)"}))


def unscaled(space: str, reward: np.ndarray) -> Run:
    """Actions of a tanh, and the range that the environment declares."""
    made = run({"reward.mean": reward, "episode.length": np.full(N, 18.0)}, algorithm="ppo")
    ends = {"action_min": -0.99 + noise(N, 0.003), "action_max": 0.99 + noise(N, 0.003)}
    made = replace(made, unknown={n: series(n, v) for n, v in ends.items()})
    return replace(made, config=Config(raw={"action_space": space}))


def clipped(returns: float) -> Run:
    """A critic that explains nothing, with a clip of 0.2."""
    curves = {
        "value.loss": 1e4 + noise(N, 100),
        "value.explained_variance": noise(N, 0.01),
        "reward.mean": returns + noise(N),
    }
    return run({**curves, "value.loss": np.linspace(3e4, 1e4, N)}, algorithm="ppo", config={"clip_range_value": 0.2})


def clip_logged(loss: float) -> Run:
    """The same clip, logged and not configured, and no returns."""
    curves = {
        "value.loss": np.linspace(3 * loss, loss, N),
        "value.explained_variance": noise(N, 0.01),
        "value.clip_range": np.full(N, 0.2),
    }
    return run(curves, algorithm="ppo")


def refilled(held: int, lost: float = 0.6) -> Run:
    """A replay buffer that begins anew after so many transitions, where the reward falls by a share of what it is."""
    size = 1000.0 * (X + 1) - np.where(held <= 1000 * X, held, 0)
    reward = RISE * np.where(held <= 1000 * X, 1 - lost if held else 1.0, 1.0)
    return run({"replay.size": size, "reward.mean": reward}, algorithm="sac")


def restarted(saved: bool) -> Run:
    """Four jobs one after the other, with or without the replay buffer of the job before."""
    size = 1000.0 * (X + 1) if saved else 1000.0 * (X % 25 + 1)
    events = tuple(Event(kind=Happened.RESUMED, text="Loading model", step=float(at)) for at in (25, 50, 75))
    return run({"replay.size": size, "reward.mean": RISE}, algorithm="td3", events=events)


def workers(seeds: int) -> Run:
    """A row for each episode of four workers, of which so many have a seed of their own."""
    lengths = np.random.default_rng(0).integers(9, 60, (seeds, N)).repeat(4 // seeds, 0).T.ravel().astype(float)
    made = run({"episode.length": lengths, "reward.mean": lengths}, algorithm="a2c")
    return replace(made, unknown={"worker": series("worker", np.tile(np.arange(4.0), N))})


def monitors(seeds: int) -> Run:
    """The same, from a monitor file for each environment."""
    return replace(workers(seeds), unknown={}, files=tuple(f"{i}.monitor.csv" for i in range(4)))


def dumped(moves: float) -> Run:
    """Columns of transitions whose observation moves by so much."""
    x = noise(N) if moves else np.full(N, -0.86)
    table = {"x": x, "next_x": x + moves, "goal": np.zeros(N), "next_goal": np.zeros(N), "action": X % 4}
    return replace(run({"epsilon": DECAY}, algorithm="dqn"), unknown={n: series(n, v) for n, v in table.items()})


def batch_done(share: float) -> Run:
    """Episodes of 100 steps that never terminate, and the share of ends in the batch."""
    made = run({"episode.length": np.full(N, 100.0), "alpha": DECAY}, algorithm="sac")
    table = {"terminated": np.zeros(N), "batch_done_frac": np.full(N, share)}
    return replace(made, unknown={n: series(n, v) for n, v in table.items()})


def steered(target: float, growth: float) -> Run:
    """A temperature that grows, the target of the entropy and the size of an action."""
    made = run({"alpha": np.exp(growth * X)}, algorithm="sac", config={"target_entropy": target})
    return replace(made, config=replace(made.config, raw={"act_dim": 6}))


def batch_paid(reward: float) -> Run:
    """Episodes that cost 10, and the mean reward of a batch of their steps."""
    curves = {
        "reward.mean": -10 + noise(N),
        "value.loss": DECAY,
        "value.mean": -DECAY,
        "episode.length": np.full(N, 96.0),
    }
    batch = {"batch_reward_mean": series("batch_reward_mean", np.where(X % 3, reward, 0.0))}
    return replace(run(curves, algorithm="dqn"), unknown=batch)


def normalised(low: float, high: float) -> Run:
    """Returns of HalfCheetah, and a score with these references."""
    returns = 5600 + 100 * noise(N)
    curves = {
        "eval.reward": returns,
        "reward.mean": returns,
        "eval.named.normalized_score": 100 * (returns - low) / (high - low),
    }
    return run(curves, config={"env_id": "halfcheetah-medium-v2"})


def left_over(each: float) -> Run:
    """The norm of the gradient before each backward pass."""
    made = run({"policy.ratio.mean": np.ones(3)}, algorithm="a2c")
    return replace(made, unknown={"|g| before backward": series("|g| before backward", each * X)})


def heated(most: float) -> Run:
    """The largest value of an action that goes from 0 to 5000, named in its space."""
    made = run({"reward.mean": -60 + noise(N, 5.0), "episode.length": np.full(N, 288.0)}, algorithm="ddpg")
    raw = {"act": "Box(low=[0. 0.], high=[5000. 1.]) (heater_W, damper)"}
    table = {"heater_W(max)": series("heater_W(max)", np.full(N, most))}
    return replace(made, unknown=table, config=Config(raw=raw))


def episodes_of(goal: np.ndarray, evaluated: float) -> Run:
    """A table of episodes of two workers with their goals, beside successes in training and in the evaluation."""
    at = X[4::10]
    made = run({"success_rate": np.minimum(1, X / 40)}, algorithm="ppo")
    scores = series("eval.success_rate", np.full(len(at), evaluated), at + 1)
    table = {"goal_x": goal, "worker": X % 2}
    return replace(
        made, series={**made.series, scores.name: scores}, unknown={n: series(n, v) for n, v in table.items()}
    )


def searched(own: str, calls: int) -> Run:
    """Texts with a search, its result, and what the policy wrote between them."""
    text = f"<search>a</search>{own}<information>9</information><answer>9</answer>"
    drawn = [Sample(step=1.0, prompt="q", completion=text, reward=0.0, meta={"num_search": calls})] * 8
    return grpo({"reward.mean": noise(N)}, samples=Samples(lambda: iter(drawn), ("1.jsonl",)))


def stepped(begun: float) -> Run:
    """A table of the steps of four episodes, of which each begins with this reward."""
    table = {"t": np.tile(np.arange(1.0, 26), 4), "reward": np.where(np.arange(100) % 25 == 0, begun, noise(100))}
    made = run({"reward.mean": noise(N)}, algorithm="ppo")
    return replace(made, unknown={f"transitions/{n}": series(f"transitions/{n}", v) for n, v in table.items()})


def paid_steps(value: float) -> Run:
    """Episodes of about 40 steps that all pay 1, and values of actions."""
    steps = 40 + 20 * np.sin(X)
    curves = {"reward.mean": steps, "episode.length": steps, "value.mean": value + noise(N, 0.01)}
    return run(curves, algorithm="dqn", config={"gamma": 0.99})


def asked(prompts: int, size: int) -> Run:
    """Dumps of five steps with as many prompts as are drawn in turn, of a data set of this size."""
    drawn = [
        Sample(step=float(s), prompt=f"p{(4 * s + i) % prompts}", completion="a", reward=1.0)
        for s in range(5)
        for i in range(4)
    ]
    made = grpo({"reward.mean": noise(N)}, samples=Samples(lambda: iter(drawn), ("1.jsonl",)))
    return replace(made, config=replace(made.config, raw={"prompt_dataset_size": size}))


def agents(apart: float) -> Run:
    """The mean of the observations of two agents."""
    seen = noise(N)
    names = {f"info/scout_{i}/obs_mean": seen + i * apart for i in range(2)}
    return replace(run({"reward.mean": noise(N)}, algorithm="ppo"), unknown={n: series(n, v) for n, v in names.items()})


def lost_with(coefficient: float) -> Run:
    """The losses of policy and critic, and a total with the entropy at this coefficient."""
    curves = {
        "policy.loss": noise(N),
        "value.loss": 1 + noise(N, 0.1),
        "policy.entropy": 1 + noise(N, 0.1),
        "reward.mean": noise(N),
    }
    total = curves["policy.loss"] + 0.5 * curves["value.loss"] + coefficient * curves["policy.entropy"]
    return run({**curves, "loss.total": total}, algorithm="a2c", config={"entropy_coef": 0.1})


def cart(others: float, unit: float = 1.0) -> Run:
    """CartPole: returns that hold so much of what earlier episodes paid."""
    length = 20 + X
    returns = unit * (length + others * np.roll(length, 7))
    curves = {"reward.mean": returns, "episode.length": length, "value.mean": np.full(N, 5.0)}
    return run(curves, algorithm="ppo", config={"env_id": "CartPole-v1", "gamma": 0.99})


def scored_texts(share: float) -> Run:
    """PPO on texts: scores, and returns that hold so much of them."""
    score = noise(N, 0.2) - 0.8
    curves = {
        "reward.mean": score,
        "returns.mean": share * score,
        "value.mean": share * score,
        "length.mean": np.full(N, 9.0),
    }
    return run(curves, algorithm="ppo", trainer="trl")


def repeated(*, moves: bool) -> Run:
    """An evaluation that repeats its score while the policy changes, beside its loss, which moves or not."""
    made, at = grpo({"reward.mean": np.linspace(0, 1, N), "policy.entropy": DECAY}), X[4::10] + 1
    scores = series("eval.accuracy", np.full(len(at), 0.613), at)
    loss = series("eval.loss", np.linspace(0.7, 0.4, len(at)) if moves else np.full(len(at), 0.7), at)
    return replace(made, series={**made.series, scores.name: scores, loss.name: loss})


def decayed(times: float, episodes: int = N) -> Run:
    """Epsilon that is multiplied so often an episode, by a factor of 0.99."""
    curves = {"epsilon": np.maximum(0.01, 0.99 ** (times * (X + 1))), "progress.episodes": X + 1}
    made = run({**curves, "reward.mean": noise(N)}, algorithm="dqn")
    return replace(made, config=replace(made.config, raw={"epsilon_decay": 0.99, "episodes": episodes}))


def control(training: np.ndarray, evaluation: np.ndarray) -> Run:
    at = X[4::10]
    curves = run({"reward.episode": training}, algorithm="ppo", trainer="cleanrl").series
    scores = {name: series(name, evaluation[at], at + 1) for name in ("eval.reward",)}
    return replace(run(algorithm="ppo", trainer="cleanrl"), series={**curves, **scores})


#: id -> a run that breaks it, what the message must say, and sound look-alikes
LONG = np.round(240 + noise(N, 12.0) * 64) / 64  #: mean lengths of 64 samples
PAIRS: dict[str, tuple[Callable[[], Run], str, list[Callable[[], Run]]]] = {
    "updates-too-rare": (lambda: off_policy(1), "a transition is used 0.16 times on average", [lambda: off_policy(100),
     lambda: off_policy(100, target_update_interval=500)]),
    "prompt-truncation": (lambda: grpo({"length.mean": LONG, "tokens.total": np.cumsum(64 * (128 + LONG))},
      config={"max_prompt_tokens": 128}),
     "64 x (128 + the mean length)",
     [lambda: grpo({"length.mean": LONG, "tokens.total": np.cumsum(64 * (127 + LONG))}, config={"max_prompt_tokens": 128})]),
    "rate-not-as-configured": (lambda: grpo({"lr": 1e-5 * (X + 1) / 2000}, config={"learning_rate": 1e-5,
      "warmup_steps": 2000}),
     "shorten the warm-up of 2000 steps",
     [lambda: grpo({"lr": 1e-5 * np.minimum(1, X / 20) * DECAY}, config={"learning_rate": 1e-5})]),
    "reference-not-initial": (lambda: grpo({"kl.ref": 0.045 + 0.0005 * X}), "the reference is not the policy at the start",
     [lambda: grpo({"kl.ref": 0.002 * X}), lambda: grpo({"kl.ref": 0.04 + 0.1 * X})]),
    "logprob-extremes": (lambda: grpo({"policy.logp.mean": np.full(N, -8.0), "policy.entropy": np.full(N, 0.3)}),
     "minus the entropy", [lambda: grpo({"policy.logp.mean": np.full(N, -0.4), "policy.entropy": np.full(N, 0.3)})]),
    "first-update-not-on-policy": (lambda: grpo({"policy.ratio.mean": np.full(N, 0.9), "lr": np.zeros(N)}),
     "while the learning rate is 0", [lambda: grpo({"policy.ratio.mean": np.full(N, 1.0), "lr": np.zeros(N)})]),
    "random-actions-remain": (lambda: run({"epsilon": np.tile(np.linspace(1, 0.05, 25), 4)}, algorithm="dqn"),
     "each call of `learn` starts it", [lambda: run({"epsilon": np.maximum(0.05, 1 - X / 30)}, algorithm="dqn")]),
    "no-random-actions": (lambda: run({"epsilon": np.full(N, 0.05)}, algorithm="dqn"), "from",
     [lambda: run({"epsilon": np.maximum(0.05, 0.3 - X / 100)}, algorithm="dqn")]),
    "far-from-reference": (lambda: run({"policy.token_accuracy": np.where(X < 5, 0.85, 0.07),
      "pref.logp.chosen": np.where(X < 5, -6.0, -75.0)}, algorithm="dpo"),
     "the updates destroy the text",
     [lambda: run({"policy.token_accuracy": 0.85 - 0.001 * X, "pref.logp.chosen": -6.0 - 0.1 * X}, algorithm="dpo")]),
    "reward-proxy-only": (lambda: run({"reward.mean": 5 + 0.04 * X + noise(N, 0.2),
      "success_rate": 0.6 - 0.003 * X + noise(N, 0.02)}),
     "something else than success pays",
     [lambda: run({"reward.mean": 5 + 0.04 * X + noise(N, 0.2), "success_rate": 0.2 + 0.006 * X + noise(N, 0.02)})]),
    "no-update": (lambda: grpo(slow(kl=1e-4, lr=2e-5)), "too small to learn anything", [lambda: grpo(slow(kl=1e-4, lr=1e-6)),
     lambda: grpo(slow(kl=5e-3, lr=2e-5))]),
    "sampling-narrow": (lambda: grpo({"reward.zero_std_frac": np.ones(N)}, config={"temperature": 0.05}),
     "a temperature of 0.05", [lambda: grpo({"reward.zero_std_frac": np.ones(N)}, config={"temperature": 1.0})]),
    "return-mirrored": (lambda: control(training=np.linspace(-20.0, 200.0, N), evaluation=-np.linspace(-20.0, 200.0, N)),
     "the opposite sign", [lambda: control(training=np.where(X < 20, -0.8, 0.84), evaluation=np.full(N, -0.69))]),
    "evaluation-left-behind": (lambda: control(training=np.where(X < 20, -0.8, 0.84), evaluation=np.full(N, -0.69)),
     "the evaluation stays at", [lambda: control(training=learning(N), evaluation=learning(N, seed=1))]),
    "value-scale-mismatch": (lambda: run({"value.mean": 50 - 45 * np.exp(-X / 10), "reward.mean": 10 + noise(N, 1.0),
      "episode.length": np.full(N, 10)}, algorithm="ppo"),
     "no state is worth more",
     [lambda: run({"value.mean": 5 + noise(N, 0.5), "reward.mean": 10 + noise(N, 1.0), "episode.length": np.full(N, 10)},
      algorithm="ppo")]),
    "reference-is-policy": (lambda: run({"pref.reward.chosen": np.zeros(N), "pref.reward.rejected": np.zeros(N),
      "pref.logp.chosen": -1 - X / 200}),
     "the reference is the policy itself",
     [lambda: run({"pref.reward.chosen": X / 50, "pref.reward.rejected": -X / 50, "pref.logp.chosen": -1 - X / 200})]),
    "action-range-unused": (lambda: box(300.0), "in a range of 300 to each side of its middle", [lambda: box(2.0)]),
    "critic-not-learning": (lambda: clipped(returns=-1200.0), "may change by 0.2 on a batch",
     [lambda: clipped(returns=-12.0)]),
    "train-inference-mismatch": (lambda: grpo({"rollout_train.logp_absdiff.mean": np.where(X == 0, 1e-7, 0.02 * X)}),
     "compare a checksum of the weights on both sides",
     [lambda: grpo({"rollout_train.logp_absdiff.mean": 0.02 + noise(N, 0.001)})]),
    "results-made-up": (lambda: searched("<information>7</information>", 1), "more results of tools than calls", [
        lambda: searched("", 1), lambda: searched("<information>7</information>", 2)]),
    "starts-alike": (lambda: episodes_of(3.0 + X % 2, 0.1), "have the same goal_x", [
        lambda: episodes_of(X % 7, 0.1), lambda: episodes_of(3.0 + X % 2, 0.98)]),
    "tokens-not-sampled": (lambda: mask(1100 + 4 * X), "of the model and of tools together", [lambda: mask(800 + X)]),
    "target-network-stays": (lambda: followed(0.01), "the target network stays at", [lambda: followed(0.9)]),
    "temperature-grows": (lambda: run({"alpha": np.exp(0.04 * X), "reward.mean": noise(N, 1.0)}, algorithm="sac"),
     "check the target entropy", [lambda: run({"alpha": np.exp(-0.04 * X)}, algorithm="sac"),
     lambda: run({"alpha": np.exp(0.04 * X), "reward.mean": 5.0 * X + noise(N, 1.0)}, algorithm="sac")]),
    "reward-not-its-parts": (lambda: grpo(parts(np.where(X < 60, SUM, SUM + 0.4))), "weights of the steps before (2, 0.5)",
     [lambda: grpo(parts(SUM)), lambda: grpo(parts(SUM + np.where(X == 60, 0.4, 0)))]),
}  # fmt: skip


#: more ways in which a relation breaks
MORE: list[tuple[str, Callable[[], Run], str, list[Callable[[], Run]]]] = [
    ("reward-not-its-parts", lambda: penalised(0.15), "pays the policy for leaving the reference",
     [lambda: penalised(-0.15)]),
    ("critic-not-learning", lambda: clip_logged(1.7e4), "squared distance from the returns", [lambda: clip_logged(9.0)]),
    ("evaluation-left-behind", lambda: from_one_state(-1.0), "all of them start from one state",
     [lambda: from_one_state(-250.0)]),
    ("action-range-unused", lambda: unscaled("Box(low=0.0, high=20.0) [thrust, N]", noise(N)),
     "their range is from 0 to 20", [lambda: unscaled("Box(low=-2.0, high=2.0)", noise(N)),
     lambda: unscaled("Box(low=0.0, high=20.0)", learning(N))]),
    ("rate-not-as-configured",
     lambda: run({"lr": 2e-4 * (X + 1)}, algorithm="ppo", config={"learning_rate": "linear_schedule(0.02)"}),
     "its schedule is linear_schedule(0.02)",
     [lambda: run({"lr": 0.02 * DECAY}, algorithm="ppo", config={"learning_rate": 0.02, "lr_schedule": "linear"}),
     lambda: grpo({"lr": 1e-5 * np.minimum(1, X / 20)}, config={"learning_rate": 1e-5, "lr_schedule": "cosine"})]),
    ("episodes-never-end", lambda: counted(np.zeros(N)), "no episode ended in the whole run", [lambda: counted(X)]),
    ("critic-not-learning", lambda: pinned(0.0), "next to the clip of the value function (10)", [lambda: pinned(0.9)]),
    ("preference-labels-swapped", lambda: pairs(0.25, 0.2), "in many pairs both answers have the same reward",
     [lambda: pairs(0.6, 0.2)]),
    ("no-update", lambda: rounded("torch.bfloat16"), "weights in bfloat16 round small steps away",
     [lambda: rounded("torch.float32")]),
    ("updates-too-rare", lambda: off_policy(100, target_update_interval=100_000),
     "the target network is copied every 100000 steps, 0.4 whole copies in a run of 40000",
     [lambda: off_policy(100, target_update_interval=1, tau=0.005)]),
    ("samples-of-other-weights", lambda: grpo({"kl.ref": -0.005 * X + noise(N, 0.05)}), "it cannot be below 0", []),
    ("samples-of-other-weights",
     lambda: run({"policy_version.mean": np.zeros(N), "grad.norm": 1 + noise(N, 0.1)}, algorithm="ppo"),
     "the updates do not reach them",
     [lambda: run({"policy_version.mean": X // 4, "grad.norm": 1 + noise(N, 0.1)}, algorithm="ppo"),
     lambda: run({"policy_version.mean": 500 + X, "grad.norm": 1 + noise(N, 0.1)}, algorithm="ppo")]),
    ("samples-of-other-weights",
     lambda: run({"staleness.mean": np.where(X < 40, X % 4, 25.0 * (X - 40))}, algorithm="impala"),
     "the weights that sample stand still", [lambda: run({"staleness.mean": 1.0 * (X % 20)}, algorithm="impala"),
     lambda: run({"staleness.mean": 0.2 * X + np.abs(noise(N))}, algorithm="impala")]),
    ("no-update", lambda: run({"grad.norm": 1e-7 * np.exp(noise(N)), "reward.mean": noise(N)}, algorithm="ppo"),
     "none of them reaches the weights",
     [lambda: run({"grad.norm": 1e-3 * (1 + X % 3), "reward.mean": noise(N)}, algorithm="ppo")]),
    ("no-update", lambda: grpo(slow(kl=8e-4, lr=5e-6) | {"grad.norm": (1 + X % 40 / 128)}),
     "weights in bfloat16 round small steps away", [lambda: grpo(slow(kl=8e-4, lr=5e-6) | {"grad.norm": 1 + X / 1000})]),
    ("temperature-grows", lambda: run({"alpha": 1.3 * 1.5 ** np.arange(11)}, algorithm="sac"), "still grows",
     [lambda: run({"alpha": 1.3 * 0.9 ** np.arange(30)}, algorithm="sac")]),
    ("temperature-grows", lambda: run({"alpha": np.exp(0.2 * np.arange(10))}, algorithm="sac"), "still grows",
     [lambda: run({"alpha": np.exp(2 - 2 * 0.7 ** np.arange(10))}, algorithm="sac")]),
    ("value-scale-mismatch", lambda: paid_steps(1.0), "values hold the next reward alone", [lambda: paid_steps(14.0)]),
    ("starts-alike", lambda: asked(4, 700), "the 4 prompts of 5 dumped steps are the same, and there are 700",
     [lambda: asked(20, 700), lambda: asked(4, 8)]),
    ("observations-constant", lambda: agents(0.0), "scout_0, scout_1 have the same obs_mean", [lambda: agents(0.1)]),
    ("entropy-penalised", lambda: lost_with(0.1), "plus 0.1 times the entropy", [lambda: lost_with(-0.1)]),
    ("value-scale-mismatch", lambda: cart(1.7), "what other episodes pay", [lambda: cart(0.0), lambda: cart(0.0, 1000.0)]),
    ("value-scale-mismatch", lambda: scored_texts(0.0), "reaches no token that counts", [lambda: scored_texts(1.0)]),
    ("evaluation-frozen", lambda: repeated(moves=False), "does not use the current weights", [lambda: repeated(moves=True)]),
    ("no-random-actions", lambda: decayed(60.0), "is applied 60 times an episode", [lambda: decayed(1.0)]),
    ("updates-too-rare", lambda: off_policy(100, target_update_interval=500, tau=0.005), "0.005 of it each time", []),
    ("temperature-grows", lambda: tempered(0.02 * X, entropy=0.5), "nats above its target",
     [lambda: tempered(0.01 * X, entropy=-3.5), lambda: tempered(-0.02 * X, entropy=0.5)]),
    ("temperature-grows", lambda: tempered(-0.02 * X, entropy=-2.0), "nats below its target", []),
    ("temperature-grows", lambda: tempered(0.02 * X, loss=1.0), "it steps the wrong way",
     [lambda: tempered(-0.02 * X, loss=1.0)]),
    ("temperature-grows", lambda: tempered(0.04 * X, loss=-0.5), "below its target by",
     [lambda: tempered(0.04 * X, loss=0.0)]),
    ("reference-is-policy", lambda: grpo({"kl.ref": np.where(X < 40, 0.2, 0.005 * (X - 40))}), "is 0 again at step 41",
     [lambda: grpo({"kl.ref": 0.005 * X}), lambda: grpo({"kl.ref": np.abs(noise(N, 0.02))})]),
    ("value-scale-mismatch", lambda: support(-10.0), "set v_min and v_max", [lambda: support(-100.0)]),
    ("no-update", lambda: run({"policy.stop_iter": np.where(X < 20, 4, 0), "lr": np.full(N, 1e-3)}, algorithm="ppo"),
     "before their first step", [lambda: run({"policy.stop_iter": 4 - X % 3, "lr": np.full(N, 1e-3)}, algorithm="ppo")]),
    ("evaluation-left-behind", lambda: watched(-60.0), "the best episode of each of", [lambda: watched(90.0)]),
    ("reward-scale-apart", lambda: stored(0.0), "other rewards than those of the episodes", [lambda: stored(0.3)]),
    ("random-actions-remain", lambda: carried_on(12_000), "the share of random actions begins anew",
     [lambda: carried_on(0)]),
    ("target-network-stays", lambda: weights(0.0), "never copied", []),
    ("action-range-unused", lambda: heater(1.0), "is not rescaled", []),
    ("action-range-unused", lambda: commands(-15.0, 15.0), "add the middle of the range", []),
    ("tokens-not-sampled", lambda: mask(300 + 3 * X), "those of tools alone", []),
    ("advantages-not-centred", lambda: sided(3), "no baseline of their own group gives that", []),
    ("reference-is-policy", lambda: penalty(0.0), "policy and reference are one model", [lambda: penalty(1e-3)]),
    ("no-update", lambda: few(0.05), "kept in bfloat16", [lambda: few(0.95)]),
    ("temperature-grows", lambda: fallen(0.6), "is never below 0", [lambda: fallen(-1.0)]),
    ("value-scale-mismatch", lambda: endless(12.0), "what an episode without end is worth", []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("target-network-stays", lambda: weights(0.02)), ("target-network-stays", lambda: followed(0.9)),
        ("action-range-unused", lambda: heater(55.0)), ("action-range-unused", lambda: commands(0.0, 29.0)),
        ("advantages-not-centred", lambda: sided(1000)), ("value-scale-mismatch", lambda: endless(300.0)),
    ],
)  # fmt: skip
def test_what_fits_is_not_told(name: str, made: Callable[[], Run]) -> None:
    assert look(name, made()).finding is None


def weights(each: float) -> Run:
    """The norms of the weights of a network that learns, and of its target network."""
    return told({"|w|": 10 + X / 40, "|w_tgt|": 10 + each * X}, "dqn")


def heater(times: float) -> Run:
    """What a policy returns between -1 and 1, and what a heater of 60 kW is given."""
    return told({"policy/out": X / 110, "plant/heater_kw": times * X / 110}, raw={"plant.heater_kw": [0.0, 60.0]})


def commands(low: float, high: float) -> Run:
    """The smallest and largest command, where 0 to 30 N are allowed."""
    return told({"cmd_min": np.full(N, low), "cmd_max": np.full(N, high)}, raw={"u_min": 0.0, "u_max": 30.0})


def told(curves: dict[str, np.ndarray], algorithm: str = "ppo", raw: dict[str, Any] | None = None) -> Run:
    """Curves that have no meaning of their own, beside a configuration."""
    unknown = {name: series(name, values) for name, values in curves.items()}
    return replace(run(algorithm=algorithm, unknown=unknown), config=Config(raw=raw or {}))


def followed(share: float) -> Run:
    """Values that fall to -1, and those of a target network that goes so much of the way."""
    made = run({"value.mean": -X / N + noise(N, 0.01)}, algorithm="dqn")
    target = replace(series("value.target.mean", -share * X / N + noise(N, 0.003)), raw="q_target_net")
    return replace(made, series={**made.series, "value.target.mean": target})


def mask(trained: np.ndarray) -> Run:
    """Tokens of the model, of tools, and in the loss."""
    return told({"n_model_tok": 800 + X, "n_tool_tok": 300 + 3 * X, "n_trained_tok": trained}, "grpo")


def sided(every: int) -> Run:
    """Right and wrong samples; one in so many has the advantage of another."""
    sign = [(1 if i % 2 else -1) * (-1 if i % every == 0 else 1) for i in range(200)]
    drawn = [Sample(step=i // 20, prompt=f"{i}", reward=i % 2, advantage=s * 0.9) for i, s in enumerate(sign)]
    return run(algorithm="grpo", samples=Samples(lambda: iter(drawn), ("s.jsonl",)))


def penalty(apart: float) -> Run:
    """A divergence from the reference that has a weight, beside updates that move the policy."""
    return grpo({"kl.ref": apart * X, "kl.old": np.full(N, 0.004)}, config={"kl_coef": 0.1})


def few(changed: float) -> Run:
    """Weights and optimizer in bfloat16, and the share of the weights that a step changes."""
    made = told({"params_changed": changed + noise(N, 0.01)}, "grpo", {"optim.state_dtype": "bfloat16"})
    return replace(made, series={"grad.norm": series("grad.norm", 1 + np.abs(noise(N, 0.1)))})


def fallen(entropy: float) -> Run:
    """A temperature that falls to nothing, with a target entropy of -4."""
    curves = {"alpha": 0.1 * np.exp(-0.07 * X), "policy.entropy": entropy + noise(N, 0.05), "reward.mean": noise(N)}
    return run(curves, algorithm="sac", config={"target_entropy": -4.0})


def endless(steps: float) -> Run:
    """Values of 1 / (1 - gamma), and the length of episodes."""
    curves = {"value.mean": 50 - 40 * np.exp(-X / 10), "episode.length": steps + noise(N)}
    return run(curves, algorithm="ppo", config={"gamma": 0.98})


def stored(reward: float) -> Run:
    """Episodes of 50 steps that pay 0.3 each, and a critic that was fitted to rewards of another size."""
    curves = {
        "reward.mean": 15 + noise(N),
        "episode.length": np.full(N, 50.0),
        "value.mean": 10 * reward + noise(N, 0.003),
        "value.loss": np.full(N, 1e-6),
    }
    return run(curves, algorithm="dqn")


def tempered(log: np.ndarray, entropy: float | None = None, loss: float = 0.0) -> Run:
    """A temperature, beside the entropy of a policy with one action and its target of 0, or beside its loss alone."""
    scale = np.where(log == 0, 0.0, log - 1)
    curves = {"alpha": np.exp(log - 1), "alpha.loss": scale * (loss + noise(N, 0.05)), "reward.mean": noise(N)}
    if entropy is not None:
        curves |= {"policy.entropy": entropy + noise(N, 0.05)}
    return run(curves, algorithm="sac", trainer="sb3", config={} if entropy is None else {"target_entropy": 0.0})


def support(low: float) -> Run:
    """A distribution of values from `low` to 10, and episodes of 150 steps that cost one each."""
    curves = {"reward.mean": -150 + noise(N), "episode.length": np.full(N, 150.0), "value.mean": np.full(N, -9.0)}
    made = run(curves, algorithm="dqn", config={"gamma": 0.99})
    return replace(made, config=replace(made.config, raw={"args.v_min": low, "args.v_max": 10.0}))


def watched(best: float) -> Run:
    """Training that learns, and the best of ten episodes of each evaluation, all of one level from the second on."""
    made = control(learning(N, -80, 85), np.full(N, best - 30.0))
    highest = series("eval.reward.max", np.full(10, best), X[4::10] + 1)
    scores = series("eval.reward", np.r_[best - 130, np.full(9, best - 30)] + noise(10, 5.0), X[4::10] + 1)
    return replace(made, series={**made.series, "eval.reward": scores, "eval.reward.max": highest})


def pinned(explained: float) -> Run:
    """A value loss next to its clip of 10, as RLlib limits the squared error."""
    curves = {
        "value.loss": 9.5 + noise(N, 0.1),
        "value.explained_variance": explained + noise(N, 0.01),
        "reward.mean": -1000 + noise(N, 50.0),
    }
    return run(curves, algorithm="ppo", trainer="rllib", config={"clip_range_value": 10.0})


def pairs(accuracy: float, margin: float) -> Run:
    curves = {"pref.reward.accuracy": accuracy + noise(N, 0.02), "pref.reward.margin": margin + noise(N, 0.02)}
    return run(curves, algorithm="dpo", trainer="trl")


def rounded(states: str) -> Run:
    """A training reward that is flat, a noisy evaluation, and a policy that hardly moves."""
    curves = {"reward.mean": 0.1 + noise(N, 0.02), "kl.ref": 5e-4 * (1 - np.exp(-X / 20)), "lr": np.full(N, 3e-5)}
    rising = series("eval.accuracy", np.linspace(0.375, 0.417, 7), np.linspace(1, N, 7))
    made = grpo(curves)
    config = Config(raw={"optimizer_state_dtype": states, "learning_rate": 3e-5})
    return replace(made, series={**made.series, "eval.accuracy": rising}, config=config)


def from_one_state(score: float) -> Run:
    """Evaluations whose episodes are equal, beside training returns of -300 to -200."""
    made = run({"reward.mean": np.linspace(-300, -200, N) + noise(N, 5.0)}, algorithm="sac", trainer="sb3")
    at = X[9::10] + 1
    scores = {"eval.reward": score + noise(10, 0.5), "eval.reward.std": np.zeros(10)}
    return replace(made, series={**made.series, **{name: series(name, values, at) for name, values in scores.items()}})


def test_a_reward_of_0_is_right_in_a_game_against_oneself() -> None:
    made = {"reward.mean": np.zeros(N), "policy.entropy": DECAY}
    found("reward-at-floor", run({**made, "value.loss": DECAY**4}, algorithm="ppo"))
    outcome = look("reward-at-floor", run({**made, "value.loss": 0.5 + 0.1 * DECAY}, algorithm="ppo"))
    assert outcome.status is Status.NOT_MEASURED


def test_a_count_of_0_episodes_is_of_something_else_where_episodes_have_a_length() -> None:
    made = counted(np.zeros(N))
    lengths = replace(series("episode.length", np.full(N, 1000.0), 1000 * (X + 1)), axis="env_steps")
    assert look("episodes-never-end", replace(made, series={**made.series, lengths.name: lengths})).finding is None


def counted(episodes: np.ndarray) -> Run:
    logged = replace(series("progress.episodes", episodes, 1000 * (X + 1)), axis="env_steps")
    return replace(run({}, algorithm="ppo", trainer="rllib"), series={logged.name: logged})


def off_policy(updates: int, **config: float) -> Run:
    """A flat return over 40,000 environment steps, with so many updates in each hundredth."""
    steps = 400 * (X + 1)
    curves = {"reward.mean": -200 + noise(N, 5.0), "progress.updates": updates * (X + 1.0)}
    made = run({}, algorithm="dqn", trainer="sb3", config={"minibatch_size": 64, **config})
    logged = {name: replace(series(name, values, steps), axis="env_steps") for name, values in curves.items()}
    return replace(made, series=logged)


def carried_on(before: int) -> Run:
    """Epsilon as at the start of a run, and so many updates before it."""
    return run({"epsilon": np.maximum(0.05, 1 - X / 50), "progress.updates": before + 0.4 * (X + 1)}, algorithm="dqn")


@pytest.mark.parametrize("name", PAIRS)
def test_a_relation_that_is_broken_is_told_and_its_look_alike_is_not(name: str) -> None:
    broken, says, sound = PAIRS[name]
    check_pair(name, broken, says, sound)


def test_a_divergence_round_zero_says_nothing_of_the_weights_that_sample() -> None:
    for kl in (noise(N, 0.05), 0.005 * X + noise(N, 0.05)):
        assert look("samples-of-other-weights", grpo({"kl.ref": kl})).status is Status.NOT_MEASURED


@pytest.mark.parametrize("case", MORE, ids=lambda case: f"{case[0]}: {case[2]}")
def test_a_relation_that_breaks_in_another_way_is_told(
    case: tuple[str, Callable[[], Run], str, list[Callable[[], Run]]],
) -> None:
    check_pair(*case)


def check_pair(name: str, broken: Callable[[], Run], says: str, sound: list[Callable[[], Run]]) -> None:
    assert Role.RELATION in detectors()[name].roles
    assert says in found(name, broken()).message
    for one in sound:
        silent(name, one())


def test_a_penalty_that_is_printed_without_its_sign_is_not_judged() -> None:
    assert look("reward-not-its-parts", penalised(-0.15, printed=-1.0)).status is Status.NOT_MEASURED


def test_the_report_says_how_many_relations_hold_and_which_do_not() -> None:
    sound = diagnose(grpo(parts(SUM)))
    broken = diagnose(PAIRS["reward-not-its-parts"][0]())
    assert "relations between the numbers checked: they hold" in terminal.render(sound, width=100)
    assert "broken: reward-not-its-parts" in terminal.render(broken, width=100)
    assert json_report.payload(broken)["relations"]["broken"] == ["reward-not-its-parts"]
    apart = grpo(
        {"policy.logp.rollout": -0.6 + noise(N, 0.1), "policy.logp.old": -1.0 + noise(N, 0.1), "reward.mean": SUM}
    )
    assert "in doubt: train-inference-mismatch" in terminal.render(diagnose(apart), width=100)


def test_what_the_log_shows_of_a_proof_is_no_proof() -> None:
    outcome = next(
        o for o in diagnose(PAIRS["rate-not-as-configured"][0]()).outcomes if o.detector == "rate-not-as-configured"
    )
    assert outcome.status is Status.FOUND
    assert outcome.roles == {Role.RELATION}


# lines of text ----------------------------------------------------------------------------------------------------------


def console(folder: Path, reward: np.ndarray, lines: dict[int, str]) -> Run:
    text = []
    for i, value in enumerate(reward):
        text += [lines[i]] if i in lines else []
        text.append(f"step {i}: {{'loss': 0.1, 'reward': {value:.4f}, 'kl': {0.001 * i:.4f}}}")
    text += [lines[len(reward)]] if len(reward) in lines else []
    (folder / "train.log").write_text("\n".join(text) + "\n")
    return read(folder)


RISE = 0.2 + 0.008 * np.minimum(X, 60) + noise(N, 0.01)
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no more prompts'


def test_an_exception_after_the_last_number_is_told(tmp_path: Path) -> None:
    finding = found("reported-in-text", console(tmp_path, RISE, {N: TRACEBACK}))
    assert 'ends after step 99 with "ValueError: no more prompts"' in finding.message


def test_an_exception_that_the_run_survives_or_a_signal_is_an_event_and_no_finding(tmp_path: Path) -> None:
    signal = TRACEBACK.replace("ValueError: no more prompts", "api.SignalException: Process 7 got signal: 1")
    for at, text in ((50, TRACEBACK), (N, signal)):
        (folder := tmp_path / f"{at}").mkdir()
        survived = console(folder, RISE, {at: text})
        assert [(e.kind, e.step) for e in survived.events] == [(Happened.ERROR, at - 1)]
        silent("reported-in-text", survived)


@pytest.mark.parametrize(("after", "ends"), [(3, True), (60, False)])
def test_an_exception_in_a_file_without_numbers_ends_the_run_only_where_the_text_ends(
    tmp_path: Path, after: int, ends: bool
) -> None:
    rows = [json.dumps({"step": i, "reward": float(value), "loss": 0.1}) for i, value in enumerate(RISE)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "train.err").write_text("\n".join([TRACEBACK, *["uploading the logs"] * after]) + "\n")
    (event,) = read(tmp_path).events
    assert event.last is ends


def test_what_is_killed_in_a_game_ends_no_run(tmp_path: Path) -> None:
    assert not console(tmp_path, RISE, {N: "the player was killed"}).events


def test_a_fall_where_the_run_was_resumed_is_of_systems(tmp_path: Path) -> None:
    fallen = console(tmp_path, np.where(X < 60, RISE, 0.25 + noise(N, 0.01)), {60: "resuming from checkpoint step-60"})
    assert found("reported-in-text", fallen).interval == (59, 60)
    first = diagnose(fallen).first_break
    assert first is not None
    assert first.link is Link.SYSTEMS


def test_a_resumed_run_that_goes_on_is_sound(tmp_path: Path) -> None:
    resumed = console(tmp_path, RISE, {60: "resuming from checkpoint step-60"})
    silent("reported-in-text", resumed)
    assert diagnose(resumed).verdict.action is Action.CONTINUE


def test_a_resume_without_the_policy_starts_again_from_the_reference(tmp_path: Path) -> None:
    lines = {
        60: "Loading checkpoint from /c/step_60",
        61: "policy checkpoint dir /c/step_60/policy is empty, continuing",
    }
    for folder, fall, said in (("a", 0.12, "is empty, continuing"), ("b", 0.0, "")):
        rows = [f"step {i}: {{'loss': 0.1, 'reward': {r:.4f}, 'kl': {0.001 * (i if i < 60 or not fall else i - 60):.4f}}}"
                for i, r in enumerate(0.5 + noise(N, 0.05) - fall * (X >= 60))]  # fmt: skip
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.log").write_text("\n".join([*rows[:60], *lines.values(), *rows[60:]]) + "\n")
        resumed = read(tmp_path / folder)
        assert said in found("reported-in-text", resumed).message if said else silent("reported-in-text", resumed)


def test_the_line_of_a_restart_stands_before_the_first_step_that_is_done_again(tmp_path: Path) -> None:
    skyrl = "'policy/policy_kl': 0.1, 'generate/avg_num_tokens': 9.0, 'trainer/global_step'"
    for names in ("'loss': 0.1, 'global_step'", skyrl):  # the one is a step of the log, the other of the dialect
        rows = [f"{{'reward/avg_raw_reward': {r:.4f}, {names}: {i}}}" for i, r in enumerate(RISE)]
        text = [*rows[:70], "loaded the state: at=60", "resuming from checkpoint step-60", *rows[60:]]
        (tmp_path / "train.log").write_text("\n".join(text) + "\n")
        (event,) = read(tmp_path).events
        assert event.step is not None
        assert 59 < event.step < 60


UNUSED = "Some weights of the model checkpoint at /rm were not used when initializing {}: ['score.weight']"
NEW = "Some weights of {} were not initialized from the model checkpoint at /rm and are newly initialized: ['score.weight']"


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        (UNUSED.format("RewardModel"), True),
        (NEW.format("RewardModel"), True),
        (NEW.format("CriticModel"), False),
        (UNUSED.format("LlamaForCausalLM"), False),
    ],
)
def test_a_reward_model_with_a_new_head_is_told(tmp_path: Path, line: str, broken: bool) -> None:
    trained = console(tmp_path, RISE, {0: line})
    assert (
        "part of the reward model is random" in found("reported-in-text", trained).message
        if broken
        else not trained.events
    )


@pytest.mark.parametrize(
    ("answers", "broken"), [([404] * 9, True), ([503, 503, 503, *[200] * 6], False), ([200, 500, 500, 500], True)]
)
def test_an_engine_that_refuses_the_weights_samples_with_other_ones(
    tmp_path: Path, answers: list[int], broken: bool
) -> None:
    lines = [f'INFO: 10.0.0.1:80 - "POST /update_weights HTTP/1.1" {code} Said' for code in answers]
    (tmp_path / "vllm.log").write_text("\n".join(lines) + "\n")
    sampled = console(tmp_path, RISE, {})
    assert len(sampled.events) >= 3 if broken else not sampled.events
    assert not broken or "do not reach the weights that sample" in found("samples-of-other-weights", sampled).message


@pytest.mark.parametrize("line", ["loaded ckpt/step_50.pt", "Resuming training from out/50", "Restored checkpoint 50"])
def test_a_fall_at_a_line_that_says_that_the_run_was_resumed(tmp_path: Path, line: str) -> None:
    lost = np.where(X < 50, RISE, RISE - 0.3)
    assert line in found("reported-in-text", console(tmp_path, lost, {50: line})).message


def test_a_second_monitor_that_begins_after_the_first_is_a_resumed_run(tmp_path: Path) -> None:
    for i, (start, returns) in enumerate(((0.0, range(50, 150)), (1000.0, range(20, 60)))):
        rows = [f"{r}.0,{r},{j + 1}.0" for j, r in enumerate(returns)]
        head = f'#{{"t_start": {1e9 + start}, "env_id": "CartPole-v1"}}'
        (tmp_path / f"{i}.monitor.csv").write_text("\n".join([head, "r,l,t", *rows]) + "\n")
    resumed = read(tmp_path)
    (event,) = resumed.events
    assert event.kind is Happened.RESUMED
    assert event.step == sum(range(50, 150))
    assert "a further monitor file begins" in found("reported-in-text", resumed).message


def test_the_advantages_of_dumped_groups_add_up_to_0(tmp_path: Path) -> None:
    """Advantages over blocks of rows, where one prompt stands in every second row."""
    rng = np.random.default_rng(0)
    for name, order in (("own", [0, 0, 0, 0, 1, 1, 1, 1]), ("other", [0, 1, 0, 1, 0, 1, 0, 1])):
        rows = []
        for step in range(1, 13):
            scores = np.array([[1.0, 0.0][p] if rng.random() < 0.9 else 0.5 for p in order]).reshape(2, 4)
            advantages = (scores - scores.mean(1, keepdims=True)) / (scores.std(1, keepdims=True) + 0.1)
            for p, score, advantage in zip(order, scores.ravel(), advantages.ravel(), strict=True):
                row = {
                    "step": step,
                    "prompt": f"p{p} of {step}",
                    "response": "x",
                    "score": score,
                    "advantage": advantage,
                }
                rows.append(json.dumps(row))
        (tmp_path / name).mkdir()
        (tmp_path / name / "rollouts.jsonl").write_text("\n".join(rows) + "\n")
        lines = [json.dumps({"step": s, "critic/score/mean": 0.5, "actor/pg_loss": 0.1}) for s in range(1, 13)]
        (tmp_path / name / "metrics.jsonl").write_text("\n".join(lines) + "\n")
        (tmp_path / name / "config.yaml").write_text(
            "algorithm:\n  adv_estimator: grpo\nactor_rollout_ref:\n  rollout:\n    n: 4\n"
        )
    silent("advantages-not-centred", read(tmp_path / "own"))
    assert "compared with those of other prompts" in found("advantages-not-centred", read(tmp_path / "other")).message


@pytest.mark.parametrize(("noise", "told"), [(None, True), (0.1, False)])
def test_a_deterministic_policy_without_noise(noise: float | None, told: bool) -> None:
    flat = replace(
        run({"reward.mean": np.full(N, 5.0)}, algorithm="td3"), config=Config(raw={"algo.action_noise": noise})
    )
    assert (look("no-random-actions", flat).status is Status.FOUND) is told


@pytest.mark.parametrize(("rises", "link"), [(True, None), (False, Link.POLICY_UPDATE)])
def test_a_policy_that_leaves_its_reference_and_gains_is_watched_and_no_break(rises: bool, link: Link | None) -> None:
    score = learning(N) if rises else 0.5 + noise(N, 0.05)
    first = diagnose(grpo({"kl.ref": 0.001 + 0.03 * X, "reward.mean": score})).first_break
    assert (first.link if first else None) is link


def test_a_replay_buffer_that_begins_anew_at_each_restart_is_not_saved() -> None:
    assert "after 3 restarts the replay buffer begins anew" in found("reported-in-text", restarted(saved=False)).message
    silent("reported-in-text", restarted(saved=True))


@pytest.mark.parametrize("evaluated", [9.0, 300.0])
def test_an_evaluation_that_never_moved_while_training_was_high_is_apart_though_training_fell_later(
    evaluated: float,
) -> None:
    trained = np.concatenate([np.linspace(60, 390, 60), np.linspace(390, 150, 40)]) + noise(N, 5.0)
    scores = np.where(X < 10, 9.0, np.minimum(evaluated, trained)) + noise(N, 0.5, 1)
    made = run({"reward.mean": trained, "eval.reward": scores}, algorithm="ppo", trainer="sb3")
    if evaluated < 10:
        assert "training returns reached" in found("evaluation-left-behind", made).message
    else:
        silent("evaluation-left-behind", made)


def test_an_error_of_numbers_that_are_not_finite_is_of_numerics(tmp_path: Path) -> None:
    rows = "\n".join(f"iter {i} reward {i / 10:.2f} loss {1 / (i + 1):.3f}" for i in range(20))
    end = "Traceback (most recent call last):\n  here\nValueError: loc (Tensor of shape (16, 2)) but found invalid values: 1\n"
    (tmp_path / "train.log").write_text(f"{rows}\n{end}")
    said = diagnose(read(tmp_path))
    assert said.verdict.action is Action.STOP
    assert said.first_break is not None
    assert said.first_break.link is Link.NUMERICS
