"""How statements of the debugging guide change a healthy run: in its own units, with its own noise, all together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.curves import ar1_noise
from benchmarks.statements.statement import Curves
from benchmarks.statements.worlds import EPISODE_LIMIT, LIMIT, World
from firstbreak.dialects.signals import lookup
from firstbreak.model import Action

GUIDE = "Reinforcement Learning Training Debug Guide"
ACTS = (Action.WATCH, Action.STOP, Action.ROLLBACK)  #: anything but to go on
ENDS = (Action.STOP, Action.ROLLBACK)

#: what rises where the policy gets better at what it is trained on
TRAINED = (
    "reward.mean",
    "reward.episode",
    "reward.rollout.mean",
    "reward.filtered.mean",
    "reward.shaped.mean",
    "reward.positive.mean",
    "reward.score",
    "reward.accuracy",
    "reward.pass_at_k",
    "reward.solve_all_frac",
    "group.correct_frac.mean",
    "score.mean",
    "success_rate",
)
#: what rises where it gets better at the task
HELD_OUT = ("eval.reward", "eval.accuracy", "eval.success_rate", "eval.pass_at_k")
#: what goes along with the reward, whichever its direction
ALONG = ("episode.length", "returns.mean", "value.mean", "value.target.mean", "value.pred.mean", "value.old.mean")
LENGTHS = (
    "length.mean",
    "length.terminated_mean",
    "length.max",
    "length.p90",
    "length.p95",
    "length.total.mean",
    "length.assistant.mean",
    "length.correct.mean",
    "length.incorrect.mean",
    "length.non_aborted.mean",
)
#: the spread of rewards that are right or wrong follows from their mean
SPREADS = ("reward.std", "reward.group_std", "reward.component.accuracy_reward.std")
CLIPS = ("policy.clip_fraction", "policy.clip_fraction.low", "policy.clip_fraction.high", "policy.ratio_out")


class Edited:
    """The curves of a world while they are being changed. What this trainer does not log is left out everywhere."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.curves: Curves = dict(world.healthy)

    def logs(self, signal: str) -> bool:
        """Whether the trainer of this world logs `signal`."""
        return signal in self.world.healthy

    def start(self, signal: str) -> float:
        """The level at which the healthy curve starts, in the signal's unit."""
        values = self._finite(signal)
        return float(np.median(values[: max(2, len(values) // 20)])) if len(values) else 0.0

    def end(self, signal: str) -> float:
        """The level at which the healthy curve ends, in the signal's unit."""
        values = self._finite(signal)
        return float(np.median(values[-max(2, len(values) // 10) :])) if len(values) else 0.0

    def level(self, signal: str) -> float:
        """The median of the healthy curve, in the signal's unit."""
        values = self._finite(signal)
        return float(np.median(values)) if len(values) else 0.0

    def noise(self, signal: str) -> float:
        """Standard deviation of one step, in the signal's unit: never much more than the healthy curve has."""
        steps = np.diff(self._finite(signal))
        seen = 2.0 * float(np.median(np.abs(steps))) if len(steps) > 8 else np.inf
        drawn = float(self.world.noise.get(signal, 0.0 if np.isinf(seen) else seen))
        return min(drawn, seen)

    def put(self, signal: str, curve: np.ndarray | float, scale: float = 1.0) -> None:
        """Replace a curve by `curve` (n,) with noise that fits the signal: in proportion, or inside of [0, 1]."""
        if not self.logs(signal):
            return
        clean = np.broadcast_to(np.asarray(curve, dtype=float), (self.world.n,))
        drawn = scale * np.clip(ar1_noise(self.world.rng, self.world.n, 0.3), -5, 5)
        known = lookup(signal)
        if signal == "value.explained_variance":
            self.exact(signal, np.minimum(clean + self.noise(signal) * drawn, 1.0))
        elif (known is not None and known.unit == "fraction") or self._share(signal):
            usual = np.clip(self.level(signal), 0.02, 0.98)
            room = np.sqrt(np.clip(clean * (1 - clean), 0, None) / (usual * (1 - usual)))
            self.exact(signal, np.clip(clean + self.noise(signal) * np.minimum(room, 2) * drawn, 0.0, 1.0))
        elif (clean >= 0).all() and (self._finite(signal) >= 0).all() and signal not in (*TRAINED, *HELD_OUT):
            relative = min(self.noise(signal) / max(self.level(signal), 1e-12), 0.4)
            self.exact(signal, clean * np.exp(relative * drawn - relative**2 / 2))
        else:
            self.exact(signal, clean + self.noise(signal) * drawn)

    def exact(self, signal: str, curve: np.ndarray) -> None:
        """Replace a curve by `curve` (n,) at the steps at which this trainer logs it."""
        if self.logs(signal):
            self.curves[signal] = np.where(np.isnan(self.world.healthy[signal]), np.nan, curve)

    def add(self, signal: str, curve: np.ndarray | float, sd: float) -> None:
        """Log a signal beside those of the healthy run: `curve` (n,) with noise of standard deviation `sd`."""
        self.curves[signal] = np.asarray(curve, dtype=float) + sd * ar1_noise(self.world.rng, self.world.n, 0.3)

    def scale(self, signals: Iterable[str], factor: np.ndarray | float) -> None:
        """Multiply curves, with their noise, by `factor` (n,)."""
        for signal in signals:
            if self.logs(signal):
                known = lookup(signal)
                scaled = self.curves[signal] * factor
                self.curves[signal] = np.clip(scaled, 0, 1) if known and known.unit == "fraction" else scaled

    def tell(self, signals: Iterable[str], story: np.ndarray | float) -> None:
        """Give curves that rise the course `story` (n,): 0 where the healthy run starts, 1 where it ends."""
        told: list[str] = []
        for signal in filter(self.logs, signals):
            twin = next((t for t in told if np.array_equal(*self._both(t, signal), equal_nan=True)), None)
            if twin:
                self.curves[signal] = self.curves[twin].copy()
                continue
            course = self._foot(signal) + self._rise(signal) * np.asarray(story)
            self.put(signal, np.clip(course, 0.01, 0.99) if self._share(signal) else course)
            told.append(signal)

    def follow(self, signals: Iterable[str], story: np.ndarray | float) -> None:
        """Give curves of either direction the course `story` (n,): 0 where the healthy run starts, 1 where it ends."""
        for signal in filter(self.logs, signals):
            course = self.start(signal) + (self.end(signal) - self.start(signal)) * np.asarray(story)
            if self.world.family == "text" and (self._finite(signal) >= 0).all():
                course = np.maximum(course, 0.0)
            if "length" in signal:
                course = np.clip(course, 0.2 * self.start(signal), EPISODE_LIMIT)
            self.put(signal, course)
            if "length" in signal:
                self.curves[signal] = np.clip(self.curves[signal], 1, EPISODE_LIMIT)

    def reward(self, story: np.ndarray | float) -> None:
        """Give the training reward, its parts and what goes along with it the course `story` (n,)."""
        self.tell((*TRAINED, *self.parts()), story)
        self.follow(ALONG, story)
        if self.logs("reward.mean") and self._share("reward.mean"):
            right = np.clip(self.start("reward.mean") + self._rise("reward.mean") * np.asarray(story), 0.01, 0.99)
            usual = self.level("reward.mean")
            for signal in SPREADS:
                self.put(signal, self.level(signal) * np.sqrt(right * (1 - right) / max(usual * (1 - usual), 1e-3)))

    def evaluation(self, story: np.ndarray | float) -> None:
        """Give what is measured on held-out data the course `story` (n,)."""
        self.tell(HELD_OUT, story)
        self.follow(("eval.episode_length",), story)
        if self.logs("eval.reward.best") and self.logs("eval.reward"):
            self.exact("eval.reward.best", np.fmax.accumulate(self.curves["eval.reward"]))

    def score(self, story: np.ndarray | float) -> None:
        """Give the reward and the evaluation the course `story` (n,)."""
        self.reward(story)
        self.evaluation(story)

    def lengths(self, factor: np.ndarray | float) -> None:
        """Give the lengths of completions their starting level times `factor` (n,), and the step the time for it."""
        longest = max(self.start("length.mean"), self.start("length.total.mean"), 1.0)
        held = np.minimum(np.asarray(factor) * np.ones(self.world.n), max(LIMIT * 0.85 / longest, 1.0))
        before = np.linspace(1.0, self.end("length.mean") / max(self.start("length.mean"), 1e-9) or 1.0, self.world.n)
        for signal in (*LENGTHS, "eval.length.mean"):
            self.put(signal, self.start(signal) * held)
        for signal in ("length.max", "length.p95"):
            if self.logs(signal):
                self.exact(signal, np.minimum(self.curves[signal], LIMIT))
        cut = 0.5 * np.clip((longest * held - 0.5 * LIMIT) / (0.35 * LIMIT), 0.0, 1.0) ** 2
        for signal in ("length.clipped_ratio", "length.non_aborted.clipped_ratio"):
            self.put(signal, self.level(signal) + cut)
        more = held / before
        self.scale(("time.rollout",), more)
        self.scale(("time.step",), 1 + 0.5 * (more - 1))
        self.scale(("tokens.step", "tokens.train"), 1 + 0.75 * (more - 1))
        self.scale(("throughput.tok_s_gpu", "throughput.tok_s"), (1 + 0.75 * (more - 1)) / (1 + 0.5 * (more - 1)))

    def parts(self) -> tuple[str, ...]:
        """The means of single reward functions."""
        return tuple(s for s in self.world.healthy if s.startswith("reward.component.") and s.endswith(".mean"))

    def kls(self, kind: str) -> tuple[str, ...]:
        """A divergence in all the estimators that the trainer logs."""
        return tuple(s for s in self.world.healthy if s == kind or s.startswith((f"{kind}.k", f"{kind}.seq_sum")))

    def without(self, beginning: str) -> None:
        """Leave out the curves whose names begin so."""
        self.curves = {name: curve for name, curve in self.curves.items() if not name.startswith(beginning)}

    def _foot(self, signal: str) -> float:
        """Where a course starts: an evaluation as far from the training reward as it is over the whole healthy run."""
        if not (signal in HELD_OUT and self._share(signal) and self._share("reward.mean")):
            return self.start(signal)
        at = np.flatnonzero(np.isfinite(self.world.healthy[signal]))
        held_out = np.interp(np.arange(self.world.n), at, self.world.healthy[signal][at])
        return self.start("reward.mean") + float(np.mean(held_out) - np.nanmean(self.world.healthy["reward.mean"]))

    def _rise(self, signal: str) -> float:
        """What the healthy curve gains, and at least what can be seen in its noise; in training and evaluation alike."""
        if signal in HELD_OUT and self._share(signal) and self._share("reward.mean"):
            return self._rise("reward.mean")
        return max(abs(self.end(signal) - self.start(signal)), 2.5 * self.noise(signal))

    def _share(self, signal: str) -> bool:
        """Whether a reward or score of a language model is a share of right answers, to judge by its healthy curve."""
        scored = signal in (*TRAINED, *HELD_OUT) or "reward.component." in signal
        values = self._finite(signal)
        return self.world.family == "text" and scored and bool(len(values)) and 0 <= values.min() <= values.max() <= 1

    def _finite(self, signal: str) -> np.ndarray:
        values = self.world.healthy.get(signal, np.empty(0))
        return np.asarray(values[np.isfinite(values)])

    def _both(self, one: str, other: str) -> tuple[np.ndarray, np.ndarray]:
        return self.world.healthy[one], self.world.healthy[other]


def learned(world: World, tau: float = 0.3) -> np.ndarray:
    """A reward that is learned: 0 to 1, fast and then slower, (n,)."""
    return np.asarray((1 - np.exp(-world.x / tau)) / (1 - np.exp(-1 / tau)))


def ramp(world: World, at: int, length: float) -> np.ndarray:
    """0 before index `at`, then up to 1 over `length` (a share of the run), (n,)."""
    return np.clip((np.arange(world.n) - at) / max(1.0, length * world.n), 0.0, 1.0)


def since(world: World, at: int) -> np.ndarray:
    """0 before index `at`, 1 from there on, (n,)."""
    return (np.arange(world.n) >= at).astype(float)


def bump(world: World, at: int, steps: int) -> np.ndarray:
    """0 apart from `steps` steps from index `at` on, which fall from 1 back to 0, (n,)."""
    after = np.arange(world.n) - at
    return np.where((after >= 0) & (after < steps), 1 - after / steps, 0.0)


def spikes(world: World, share: float, start: float = 0.0) -> np.ndarray:
    """0 with single steps of about 1 (0.5 to 2), a `share` of those after `start` (a share of the run), (n,)."""
    hit = (world.rng.random(world.n) < share) & (world.x >= start)
    at = np.flatnonzero(world.x >= start)
    if len(at):
        hit[world.rng.choice(at, min(3, len(at)), replace=False)] = True
    return hit * np.exp(world.rng.uniform(np.log(0.5), np.log(2), world.n))


def steps_of(world: World, low: int, high: int) -> int:
    """A small number of logged steps, drawn between `low` and `high`."""
    return int(world.rng.integers(low, high + 1))


def learning(world: World) -> Edited:
    """A run that learns: reward and evaluation rise together and level off."""
    run = Edited(world)
    run.score(learned(world))
    return run


def learning_run(world: World) -> Curves:
    """The curves of a run that learns."""
    return learning(world).curves


def longer_and_better(world: World) -> Curves:
    """Completions get longer as reward and evaluation rise, and few of them reach the limit."""
    run = learning(world)
    longest = max(run.start("length.mean"), run.start("length.total.mean"), 1.0)
    most = max(1.1, min(world.rng.uniform(1.3, 2.0), 0.5 * LIMIT / longest))
    run.lengths(1 + (most - 1) * learned(world, 0.5))
    return run.curves


def policy_breaks(run: Edited, after: np.ndarray, kl: float, clip: float, entropy: float = 1.0) -> None:
    """What an update that is too large does to the policy's own curves: `after` (n,) says how much of it, 0 to 1."""
    for kind in ("kl.ref", "kl.old", "kl.post"):
        for signal in run.kls(kind):
            least = 0.075 * clip / max(run.level(signal), 1e-9) if signal == "kl.old" else 1.0  # which clips so many
            run.scale((signal,), 1 + (max(kl, least) - 1) * after)
    for signal in CLIPS:
        goal = clip if signal == "policy.clip_fraction" else clip / 2
        run.put(signal, run.level(signal) + (goal - run.level(signal)) * after)
    run.scale(("policy.entropy", "policy.entropy_proxy"), 1 + (entropy - 1) * after)
    run.scale(("grad.norm",), 1 + (min(kl, 6.0) - 1) * 0.5 * after)
