"""What the guides ask to look at in an environment: `check env` on worlds of one's own, and on trainers' wrappers."""

from __future__ import annotations

from benchmarks.statements.carriers.carrier import Commands, Place, carrier

WIRED = "states, actions, terminations and signs are what they seem"
#: A cart between two walls that is paid for being near a place that it sees. `{...}` is what a pair changes.
CART = '''
import gymnasium as gym
import numpy as np

SEED, SCALE = {seed}, {scale}


class Cart(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = {space}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.goal = self.np_random.uniform(-1, 1, 2)
        self.speed, self.t, self.before = 0.0, 0, [0.0] * 8
        return self.observe(), {{}}

    def observe(self):
        return ({observation}).astype(np.float32)

    def step(self, action):
        push = {push}
        self.speed = 0.7 * self.speed + 0.1 * push
        self.x = float(np.clip(self.x + self.speed, -2, 2))
        self.t += 1
        reward = 1 - abs(self.x - self.goal)
        self.before = [reward, *self.before[:7]]
        reward = {reward}
        terminated, truncated = {ends}
        return self.observe(), reward, terminated, truncated, {{}}


def towards(observation):
    """The expert: push towards the goal."""
    x, goal, speed = np.asarray(observation, float).ravel()[:3] / SCALE
    wanted = np.clip(4 * (goal - x) - 4 * speed, -1, 1)
    return {act}
'''
DISCRETE = {"space": "gym.spaces.Discrete(2)", "push": "1.0 if action else -1.0", "act": "int(wanted > 0)"}
BOX = {
    "space": "gym.spaces.Box(-1, 1, (1,), np.float32)",
    "push": "float(np.clip(np.asarray(action).ravel()[0], -1, 1))",
    "act": "np.array([wanted], np.float32)",
}
HEALTHY = {
    "observation": "SCALE * np.array([self.x, self.goal, self.speed])",
    "reward": "reward",
    "ends": "abs(self.x) >= 2, self.t >= 60",
    "scale": "1.0",
}


def cart(place: Place, **changes: str) -> None:
    """Write `cart.py`."""
    kind = BOX if place.variant == "box" else DISCRETE
    parts = {"seed": str(place.rng.randint(0, 999))} | HEALTHY | kind | changes
    (place.folder / "cart.py").write_text(CART.format(**parts))


def checked(place: Place, *options: str, **changes: str) -> Commands:
    """Write the environment, and check it with its expert."""
    cart(place, **changes)
    expert = () if "--expert" in options else ("--expert", "cart.py:towards")
    return (
        ("check", "env", "cart.py:Cart", *expert, "--episodes", "30", "--steps", "3000", *options, "--format", "json"),
    )


def either(broken: bool, **changes: str) -> dict[str, str]:
    """The changes on the broken side only."""
    return changes if broken else {}


@carrier(
    "carriers.observations_are_zero",
    line=WIRED,
    quote="Is the agent seeing the correct states?",
    says=r"(?i)observation.*(constant|never chang|same|zero|\b0\b)",
    variants=("discrete", "box"),
)
def observations_are_zero(place: Place, broken: bool) -> Commands:
    """Every observation is 0."""
    return checked(place, **either(broken, observation="np.zeros(3)"))


@carrier(
    "carriers.action_is_ignored",
    line=WIRED,
    quote="Are actions being executed correctly by the environment?",
    says=r"(?i)action",
    variants=("discrete", "box"),
)
def action_is_ignored(place: Place, broken: bool) -> Commands:
    """Random actions are executed instead of the policy's."""
    return checked(place, **either(broken, push="float(self.np_random.uniform(-1, 1))"))


@carrier(
    "carriers.reward_has_its_sign_turned",
    line=WIRED,
    quote="a wrong done mask, reversed reward signs, padding tokens included in the loss, or changed evaluation temperature",
    says=r"(?i)expert|sign|worse than random",
    variants=("discrete", "box"),
)
def reward_has_its_sign_turned(place: Place, broken: bool) -> Commands:
    """What is good is punished."""
    return checked(place, **either(broken, reward="-reward"))


@carrier(
    "carriers.reward_comes_late",
    line=WIRED,
    quote="Environment unit test | do reset/step/done/reward match expectations?",
    says=r"(?i)reward.*(late|delay|earlier|ago|behind|timing|steps? before)",
    variants=("discrete", "box"),
)
def reward_comes_late(place: Place, broken: bool) -> Commands:
    """The reward of two to five steps ago."""
    return checked(place, **either(broken, reward=f"self.before[{place.rng.randint(2, 5)}]"))


@carrier(
    "carriers.reward_is_none",
    line=WIRED,
    quote="Environment unit test | do reset/step/done/reward match expectations?",
    shows=lambda told: any("None" in f["message"] and "nan" not in f["message"] for f in told.findings),
    variants=("discrete", "box"),
)
def reward_is_none(place: Place, broken: bool) -> Commands:
    """Every fifth reward is None."""
    return checked(place, **either(broken, reward="None if self.t % 5 == 0 else reward"))


@carrier(
    "carriers.episodes_never_end",
    line=WIRED,
    quote="Are terminal signals handled correctly?",
    says=r"(?i)episode.*(never|no|not) end|(no|none of).*episodes? end|never (ends|terminat)",
    variants=("discrete", "box"),
)
def episodes_never_end(place: Place, broken: bool) -> Commands:
    """Neither flag is ever set."""
    return checked(place, **either(broken, ends="False, False"))


@carrier(
    "carriers.time_limit_is_a_failure",
    line=WIRED,
    quote="Are terminal signals handled correctly?",
    says=r"(?i)time limit",
    variants=("discrete", "box"),
)
def time_limit_is_a_failure(place: Place, broken: bool) -> Commands:
    """The clock is reported as termination."""
    return checked(place, **either(broken, ends="abs(self.x) >= 2 or self.t >= 60, False"))


@carrier(
    "carriers.action_of_the_wrong_kind",
    line="actions of the wrong kind or range",
    quote="CartPole actions are discrete 0/1, but you passed in continuous actions",
    says=r"(?i)action.*(space|range|Discrete|Box|outside|legal|bounds?)",
    variants=("discrete", "box"),
)
def action_of_the_wrong_kind(place: Place, broken: bool) -> Commands:
    """The expert gives 0.3 into Discrete(2), or 40 into Box(-1, 1)."""
    act = "np.array([40 * wanted], np.float32)" if place.variant == "box" else "float(0.3 + 0.4 * (wanted > 0))"
    return checked(place, **either(broken, act=act))


@carrier(
    "carriers.policy_leaves_the_action_space",
    line="actions of the wrong kind or range",
    quote="the action range in MuJoCo is [-1, 1], but the policy output was not passed through tanh",
    says=r"(?i)(policy|action).*(space|range|bounds?|clip)",
    variants=("box",),
)
def policy_leaves_the_action_space(place: Place, broken: bool) -> Commands:
    """A policy whose output is fifty times the range of the space; the look-alike's output fits."""
    size = place.rng.uniform(30, 60) if broken else 0.9
    cart(place)
    with (place.folder / "cart.py").open("a") as out:
        out.write(f"\n\ndef policy(observation):\n    return np.tanh(np.asarray(observation)[:1]) * {size}\n")
    return (
        ("check", "env", "cart.py:Cart", "--expert", "cart.py:towards", "--policy", "cart.py:policy", "--episodes", "30",
         "--steps", "3000", "--format", "json"),
    )  # fmt: skip


@carrier(
    "carriers.expert_is_no_better_than_chance",
    line="an expert that is not clearly better than chance: do not train yet",
    quote="Weak expert baseline | can a simple rule clearly beat random?",
    says=r"(?i)expert|random",
    variants=("discrete", "box"),
)
def expert_is_no_better_than_chance(place: Place, broken: bool) -> Commands:
    """The reward is noise."""
    return checked(place, **either(broken, reward="float(self.np_random.normal())"))


@carrier(
    "carriers.observations_are_not_normalised",
    line="missing normalisation of observations",
    quote="missing observation normalization",
    says=r"(?i)observation.*(scale|size|normali|magnitude|large)",
    variants=("discrete", "box"),
)
def observations_are_not_normalised(place: Place, broken: bool) -> Commands:
    """Components in the tens of thousands."""
    return checked(place, **either(broken, scale=f"{place.rng.uniform(2e4, 9e4):.0f}"))


VECTOR = """
from cart import Cart
from gymnasium.wrappers import TimeLimit
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize


def make():
    env = DummyVecEnv([lambda: Monitor(Cart()) for _ in range(4)])
    return {wrap}
"""


@carrier(
    "carriers.vector_environment_is_checked_as_what_it_is",
    line="missing normalisation of observations",
    quote="missing observation normalization",
    says=r"(?i)observation.*(scale|size|normali|magnitude|large)",
    variants=("discrete", "box"),
)
def vector_environment_is_checked_as_what_it_is(place: Place, broken: bool) -> Commands:
    """Stable-Baselines3's DummyVecEnv with observations in the tens of thousands; in the look-alike VecNormalize wraps it."""
    cart(place, scale=f"{place.rng.uniform(2e4, 9e4):.0f}")
    wrap = "env" if broken else "VecNormalize(env, norm_reward=False)"
    (place.folder / "vector.py").write_text(VECTOR.format(wrap=wrap))
    return (("check", "env", "vector.py:make", "--episodes", "20", "--steps", "3000", "--format", "json"),)
