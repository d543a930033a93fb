"""Drawn runs: a course of the score, signs beside it, a trainer's names. Sample by sample, and exactly seeded.

A curve of scores is what 32 prompts with 8 completions each give at every step; prompts differ in difficulty (Beta). An
evaluation is binomial, of 400 problems. All other curves are those of a healthy run of that trainer (benchmarks.judgement),
which the signs change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.judgement import trainers
from benchmarks.judgement.worlds import LOGGED_NAN, World, completed, make
from firstbreak.engine.stats.granularity import binomial_error

PROMPTS, COMPLETIONS, PROBLEMS = 32, 8, 400
SPREAD = 2.0  #: a + b of the Beta distribution of a prompt's difficulty
TRAINERS: Mapping[str, str] = {"trl": "grpo", "verl": "grpo", "areal": "grpo", "openrlhf": "grpo", "sb3": "ppo"}
LOW, RETURN = 20.0, 480.0  #: of an environment whose score is a return: its lowest, and what the best adds

Curve = np.ndarray
Curves = dict[str, Curve]


def line(*points: tuple[float, float]) -> Callable[[Curve], Curve]:
    """x -> level along straight pieces through (x, level)."""
    at, levels = zip(*points, strict=True)
    return lambda x: np.interp(x, at, levels)


#: name -> the true score over the run, x from 0 to 1
SCORES: Mapping[str, Callable[[Curve], Curve]] = {
    "rising": line((0, 0.30), (1, 0.65)),
    "levelling": lambda x: 0.3 + 0.35 * (1 - np.exp(-4 * x)),
    "flat": line((0, 0.40), (1, 0.40)),
    "peaked": line((0, 0.25), (0.5, 0.70), (1, 0.38)),
    "falling": line((0, 0.60), (1, 0.35)),
    "collapsed": line((0, 0.30), (0.6, 0.60), (0.62, 0.05), (1, 0.05)),
    "swinging": lambda x: 0.45 + 0.15 * np.sin(14 * x),
    "solved": line((0, 0.40), (0.4, 0.99), (1, 0.99)),
    "nothing": line((0, 0.0), (1, 0.0)),
    "rise": lambda x: 0.3 + 0.3 * (1 - np.exp(-2 * x)) / (1 - np.exp(-2)),
    "rise then flat": line((0, 0.30), (0.3, 0.55), (1, 0.55)),
}


@dataclass(frozen=True)
class Course:
    """What is drawn: everything else follows from the seed."""

    trainer: str
    score: str  #: of the evaluation
    reward: str  #: of the training reward
    signs: tuple[str, ...]
    steps: int
    evaluations: int  #: 0: none is logged
    seed: int
    config: bool = True

    @property
    def id(self) -> str:
        """In words."""
        beside = "" if self.reward == self.score else f" (reward {self.reward})"
        signs = " + ".join(self.signs) or "no sign"
        return f"{self.seed} {self.trainer}, {self.score}{beside}, {signs}, {self.steps} steps, {self.evaluations} evaluations"


def draw(seed: int) -> Course:
    """One of the courses: trainer and score in turn, signs and lengths by chance."""
    rng = np.random.default_rng([seed, 41])
    names, scores = list(TRAINERS), list(SCORES)
    score = scores[seed // len(names) % len(scores)]
    reward = str(rng.choice(scores)) if rng.random() < 0.25 else score
    signs = rng.choice(list(SIGNS), size=rng.choice(4, p=(0.25, 0.35, 0.25, 0.15)), replace=False)
    steps = int(rng.choice((12, 60, 120, 200), p=(0.1, 0.2, 0.4, 0.3)))
    evaluations = int(rng.choice((0, 4, 7, 11), p=(0.15, 0.15, 0.35, 0.35)))
    trainer = names[seed % len(names)]
    return Course(
        trainer,
        score,
        reward,
        tuple(map(str, signs)),
        steps,
        min(evaluations, steps // 2),
        seed,
        bool(rng.random() < 0.7),
    )


def written(course: Course, folder: Path) -> Path:
    """Write the course as its trainer would, and return the folder."""
    every = max(1, (course.steps - 1) // max(course.evaluations - 1, 1))
    world = make(course.trainer, TRAINERS[course.trainer], course.steps, every, course.seed)
    rng = np.random.default_rng([course.seed, 42])
    curves: Curves = dict(world.healthy)
    _score(rng, world, course, curves)
    for name in course.signs:
        start = int(rng.uniform(0.25, 0.7) * world.n)
        (SIGNS | STEADY)[name](curves, np.clip((np.arange(world.n) - start) / max(world.n - 1 - start, 1), 0, 1), rng)
    trainers.write(folder, world, completed(world, curves), course.config)
    return folder


def sampled(rng: np.random.Generator, level: Curve) -> tuple[Curve, Curve, Curve]:
    """Mean and standard deviation of a batch of 0s and 1s at each step, and the share of prompts whose rewards are equal."""
    mean = np.clip(level, 1e-6, 1 - 1e-6)[:, None]
    chances = rng.beta(SPREAD * mean, SPREAD * (1 - mean), (len(level), PROMPTS))
    right = rng.binomial(COMPLETIONS, chances)
    share = right.mean(axis=1) / COMPLETIONS
    return share, np.sqrt(share * (1 - share)), np.mean((right == 0) | (right == COMPLETIONS), axis=1)


def evaluated(rng: np.random.Generator, level: Curve) -> Curve:
    """The share of right answers of each evaluation."""
    shares: Curve = rng.binomial(PROBLEMS, np.clip(level, 0, 1)) / PROBLEMS
    return shares


def _score(rng: np.random.Generator, world: World, course: Course, curves: Curves) -> None:
    reward, spread, equal = sampled(rng, SCORES[course.reward](world.x))
    held_out = evaluated(rng, SCORES[course.score](world.x))
    # over five episodes, that of a mean as sure as the share of all problems
    apart = np.sqrt(len(trainers.EPISODES)) * binomial_error(held_out, PROBLEMS)
    if world.family == "control":
        apart = RETURN * apart
        reward, held_out, spread = LOW + RETURN * reward, LOW + RETURN * held_out, RETURN * spread
    drawn = {"reward.mean": reward, "reward.std": spread, "reward.zero_std_frac": equal, "eval.reward": held_out}
    drawn["eval.reward.std"] = apart
    for name, values in drawn.items():
        if name in curves:
            at = np.isfinite(world.healthy[name])
            curves[name] = np.where(at, values, np.nan)
    if not course.evaluations:
        for name in [name for name in curves if name.startswith("eval.")]:
            del curves[name]


# Signs: each changes curves from a step on; `part` is 0 before it and rises to 1 at the end of the run ------------------


Sign = Callable[[Curves, Curve, np.random.Generator], None]


def _to(names: Sequence[str], end: float, sudden: bool = False) -> Sign:
    """The curves go from their own level to `end`, geometrically; at once where sudden."""

    def apply(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
        share = np.where(part > 0, 1.0, 0.0) if sudden else part
        for name in names:
            if name in curves:
                own = np.maximum(np.abs(curves[name]), 1e-9)
                curves[name] = own ** (1 - share) * (end * np.exp(0.05 * rng.standard_normal(len(own)))) ** share

    return apply


def _times(names: Sequence[str], factor: float) -> Sign:
    """The curves are `factor` times as large from the sign's step on."""

    def apply(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
        for name in names:
            if name in curves:
                curves[name] = np.where(part > 0, factor, 1.0) * curves[name]

    return apply


def _spikes(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
    if "grad.norm" in curves:
        curves["grad.norm"] = curves["grad.norm"] * np.where((part > 0) & (rng.random(len(part)) < 0.05), 100.0, 1.0)


def _nan(names: Sequence[str], whole: bool) -> Sign:
    """The trainer logs "nan": in every row, or from the sign's step on."""

    def apply(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
        for name in names:
            if name in curves:
                curves[name] = np.where(whole | (part > 0), LOGGED_NAN, curves[name])

    return apply


def _exploding_end(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
    """The last row is another world."""
    for name, value in (("reward.mean", -1e6), ("grad.norm", 1e5), ("value.loss", 1e12)):
        if name in curves:
            curves[name] = np.append(curves[name][:-1], value)


def _sign_of_loss(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
    if "policy.loss" in curves:
        size = 0.03 * (1 + 0.1 * rng.standard_normal(len(part)))
        curves["policy.loss"] = np.where(part > 0, -size, size)


def _straight_kl(curves: Curves, part: Curve, rng: np.random.Generator) -> None:
    """The divergence from the reference grows on a line over the whole run, whatever the step of the sign."""
    if "kl.ref" in curves:
        curves["kl.ref"] = np.linspace(0.0005, 0.4, len(part)) * np.exp(0.05 * rng.standard_normal(len(part)))


KL = ("kl.ref", "kl.old", "behave.kl")
TIME = ("time.step", "time.rollout", "time.train", "time.old_logp", "time.ref_logp", "time.update_weights")
SIGNS: dict[str, Sign] = {
    "kl rises": _to(KL, 0.4),
    "kl line": _straight_kl,
    "kl jumps": _to(KL, 1.5, sudden=True),
    "entropy falls": _to(("policy.entropy",), 0.01),
    "entropy rises": _to(("policy.entropy",), 4.0),
    "longer": _to(("length.mean", "length.terminated_mean", "length.non_aborted.mean"), 900),
    "shorter": _to(("length.mean", "length.terminated_mean", "length.non_aborted.mean"), 25, sudden=True),
    "cut off": _to(("length.clipped_ratio",), 0.4),
    "gradients grow": _to(("grad.norm",), 40),
    "gradient spikes": _spikes,
    "gradients nan": _nan(("grad.norm",), whole=False),
    "all gradients nan": _nan(("grad.norm",), whole=True),
    "reward nan": _nan(("reward.mean",), whole=False),
    "clipped": _to(("policy.clip_fraction",), 0.5, sudden=True),
    "slower": _times(TIME, 3.0),
    "equal rewards": _to(("reward.zero_std_frac",), 0.95),
    "loss changes sign": _sign_of_loss,
    "critic lost": _to(("value.loss",), 1e6),
    "ratio off": _times(("policy.ratio.mean", "behave.ratio.mean", "rollout_train.ratio.mean"), 1.3),
    "last row explodes": _exploding_end,
}
#: what holds a curve still that a healthy run has grow: not drawn as a sign
STEADY: dict[str, Sign] = {"kl steady": lambda curves, part, rng: _to(KL, 0.0005)(curves, np.ones(len(part)), rng)}
