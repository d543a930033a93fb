"""What the debugging guide says of exploration: too certain and too random."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.debug_shapes import (
    ACTS,
    GUIDE,
    Edited,
    learned,
    learning,
    ramp,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Link

EXPLORATION = f"{GUIDE}, Exploration"
ENTROPY = ("policy.entropy", "policy.entropy_proxy")


def _entropy(run: Edited, share: np.ndarray | float) -> None:
    """Give the entropy `share` (n,) of the level at which it starts."""
    for signal in ENTROPY:
        run.put(signal, run.start(signal) * np.asarray(share))


def _settles(world: World) -> Curves:
    run = learning(world)
    _entropy(run, 1 - world.rng.uniform(0.35, 0.55) * learned(world, 0.35))
    return run.curves


@statement(
    id="curves.entropy_to_zero_fast",
    guide=EXPLORATION,
    quote="| entropy drops to zero fast | reward too strong, KL too weak, temperature too low | add entropy bonus, lower lr,"
    " strengthen KL |",
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    links=(Link.EXPLORATION,),
    actions=ACTS,
    says=(r"(?i)entropy (bonus|coef)|learning rate|temperature|\bkl\b|ent_coef",),
    healthy=_settles,
)
def entropy_to_zero_fast(world: World) -> Curves:
    """The entropy is gone after a tenth of the run, and the reward stays at what it was by then."""
    run = Edited(world)
    floor, quick = world.between(0.06, 0.005), world.rng.uniform(0.02, 0.05)
    run.score(0.35 * learned(world, 0.05))
    _entropy(run, floor + (1 - floor) * np.exp(-world.x / quick))
    run.scale(("grad.norm",), 0.3 + 0.7 * np.exp(-world.x / quick))
    return run.curves


@statement(
    id="curves.entropy_collapse_stuck",
    guide=EXPLORATION,
    quote="One is entropy quickly dropping to zero: the model prematurely commits to a particular action or response template,"
    " stuck in a local optimum.",
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    links=(Link.EXPLORATION,),
    first=(Link.EXPLORATION,),
    actions=ACTS,
    healthy=_settles,
)
def entropy_collapse_stuck(world: World) -> Curves:
    """The entropy falls to nothing within some steps in the middle; groups become equal and the reward stops rising."""
    run = Edited(world)
    at = world.onset(0.25, 0.5)
    gone = ramp(world, at, 0.08)
    run.score(np.minimum(learned(world, 0.6), learned(world, 0.6)[at]) - 0.1 * gone)
    _entropy(run, (1 - 0.2 * world.x) * (1 - (1 - world.between(0.1, 0.01)) * gone))
    for signal in ("reward.std", "reward.group_std"):
        run.scale((signal,), 1 - 0.8 * gone)
    run.put("reward.zero_std_frac", run.level("reward.zero_std_frac") * (1 - gone) + 0.85 * gone)
    return run.curves


def _solved(world: World) -> Curves:
    run = Edited(world)
    run.score(1.2 * learned(world, 0.15))
    _entropy(run, 0.3 + 0.7 * np.exp(-world.x / 0.3))
    return run.curves


@statement(
    id="curves.entropy_below_floor",
    guide=f"{GUIDE}, Policy update",
    quote='if metrics["entropy"] < metrics["entropy_floor"]:',
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    links=(Link.EXPLORATION,),
    actions=ACTS,
    says=(r"(?i)explor|entropy (bonus|coef)|ent_coef|\bkl\b|temperature",),
    healthy=_solved,
)
def entropy_below_floor(world: World) -> Curves:
    """The entropy runs down to a few hundredths of its start while the reward has stopped at a middling level."""
    run = Edited(world)
    run.score(0.5 * learned(world, 0.15))
    _entropy(run, np.exp(np.log(world.between(0.06, 0.01)) * world.x**0.7))
    return run.curves


@statement(
    id="curves.entropy_gone_check_hacking",
    guide=f"{GUIDE}, During training",
    quote="| Entropy drops to zero fast | check exploration and reward hacking |",
    needs=("policy.entropy", "reward.mean"),
    links=(Link.EXPLORATION, Link.REWARD),
    actions=ACTS,
    says=(r"(?i)explor|hack|entropy|sample",),
    healthy=_settles,
)
def entropy_gone_check_hacking(world: World) -> Curves:
    """The entropy goes to nothing while the reward jumps up and stays; where there is an evaluation, it does not rise."""
    run = Edited(world)
    jump = ramp(world, world.onset(0.15, 0.4), 0.1)
    run.reward(0.2 * learned(world) + world.between(0.6, 1.2) * jump)
    run.evaluation(0.1 * learned(world))
    _entropy(run, 1 - (1 - world.between(0.08, 0.01)) * jump)
    run.scale(run.kls("kl.ref"), 1 + 2 * jump)
    return run.curves


def _high_and_learning(world: World) -> Curves:
    run = learning(world)
    _entropy(run, 1 - 0.1 * learned(world))
    return run.curves


@statement(
    id="curves.entropy_stays_high",
    guide=EXPLORATION,
    quote="| entropy stays high | reward too sparse, lr too low, noisy advantage | reward shaping, increase sampling, check"
    " advantage |",
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    links=(Link.EXPLORATION, Link.REWARD, Link.ADVANTAGE, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(
        r"(?i)shap(e|ing)|spars|learning rate|advantage|more (samples|completions)|larger (group|batch)|num_generations",
    ),
    healthy=_high_and_learning,
)
def entropy_stays_high(world: World) -> Curves:
    """Entropy and reward both stay where they start."""
    run = Edited(world)
    run.score(world.between(0.1, 0.0) * learned(world))
    _entropy(run, 1 - world.between(0.04, 0.0) * world.x)
    for kind in ("kl.ref", "kl.old"):
        run.scale(run.kls(kind), 0.3)
    return run.curves


@statement(
    id="curves.policy_walks_randomly",
    guide=EXPLORATION,
    quote="The other is entropy staying high: the policy behaves like a random walk, and reward is never absorbed into the"
    " parameters.",
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    links=(Link.EXPLORATION, Link.REWARD, Link.ADVANTAGE, Link.POLICY_UPDATE),
    actions=ACTS,
    healthy=_high_and_learning,
)
def policy_walks_randomly(world: World) -> Curves:
    """The entropy stays high while the reward wanders up and down around its start."""
    run = Edited(world)
    walk = np.cumsum(world.rng.standard_normal(world.n)) / np.sqrt(world.n)
    walk -= walk[0] + world.x * (walk[-1] - walk[0])
    run.score(world.between(0.15, 0.45) * walk)
    _entropy(run, 1 + world.between(0.0, 0.05) * walk)
    return run.curves


def _slightly_freer(world: World) -> Curves:
    run = learning(world)
    _entropy(run, 1 + world.rng.uniform(0.05, 0.2) * learned(world, 0.5))
    return run.curves


@statement(
    id="curves.entropy_explodes",
    guide=f"{GUIDE}, Policy update",
    quote="| entropy | how much randomness remains in the policy | premature convergence or random degeneration |",
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    links=(Link.EXPLORATION, Link.POLICY_UPDATE),
    actions=ACTS,
    healthy=_slightly_freer,
)
def entropy_explodes(world: World) -> Curves:
    """After a good first part the entropy grows without end, and the scores fall with it: random degeneration."""
    run = Edited(world)
    at = world.onset(0.35, 0.55)
    wild = ramp(world, at, 0.9 - at / world.n)
    run.score(learned(world) - world.between(0.5, 1.2) * ramp(world, at + round(0.03 * world.n), 0.4))
    most = world.between(1.6, 5.0) if world.family == "text" else 1.0
    _entropy(run, (1 - 0.4 * np.minimum(world.x * world.n / at, 1)) * (1 - wild) + most * wild)
    run.scale(run.kls("kl.ref"), 1 + 6 * wild)
    if world.family == "text":
        run.lengths(1 + world.between(0.1, 0.6) * wild)
    return run.curves


@statement(
    id="curves.diverse_without_progress",
    guide=EXPLORATION,
    quote="| diverse behavior but no progress | exploration is not differentiated by evaluation | change reward or add"
    " curriculum |",
    needs=("policy.entropy", "reward.mean", "reward.std"),
    links=(Link.REWARD, Link.EXPLORATION, Link.ADVANTAGE),
    actions=ACTS,
    says=(r"(?i)curriculum|easier|reward (function|shap)|change the reward|intermediate|partial credit",),
    healthy=_high_and_learning,
)
def diverse_without_progress(world: World) -> Curves:
    """Entropy, lengths and the spread within groups stay wide, and neither reward nor evaluation moves."""
    run = Edited(world)
    run.score(0.0)
    _entropy(run, world.between(0.9, 1.05))
    run.scale(("reward.std", "reward.group_std"), world.between(0.3, 0.1))
    run.put("reward.zero_std_frac", world.between(0.5, 0.8))
    run.lengths(1.0)
    return run.curves


@statement(
    id="curves.entropy_steady_groups_equal",
    guide=EXPLORATION,
    quote="Looking at token entropy alone is insufficient; you must also look at behavioral-level diversity.",
    needs=("policy.entropy", "reward.mean", "reward.zero_std_frac"),
    links=(Link.EXPLORATION, Link.REWARD, Link.ADVANTAGE),
    actions=ACTS,
    healthy=_high_and_learning,
)
def entropy_steady_groups_equal(world: World) -> Curves:
    """Token entropy stays level while nearly all groups come to hold equal rewards and the reward stops half-way."""
    run = Edited(world)
    at = world.onset(0.25, 0.5)
    same = ramp(world, at, 0.2)
    run.score(0.5 * np.minimum(learned(world), learned(world)[at]))
    _entropy(run, 1 - 0.15 * learned(world))
    run.put("reward.zero_std_frac", run.start("reward.zero_std_frac") * (1 - same) + world.between(0.8, 0.97) * same)
    for signal in ("reward.std", "reward.group_std"):
        run.scale((signal,), 1 - 0.85 * same)
    for kind in ("length.std", "length.range"):
        run.scale((kind,), 1 - 0.7 * same)
    run.scale(("grad.norm",), 1 - 0.7 * same)
    return run.curves
