"""The practitioner's description: quality of what is generated, behind a metric that improves."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import (
    HELD_OUT,
    TRAINED,
    elongated,
    lengths,
    levels,
    paced,
    peak,
    put,
    put_ratio,
    score,
    scores,
    since,
    unevaluated,
    visible,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

GUIDE = "Practitioner's description, generation quality"
GOES_ON = (Action.CONTINUE, Action.WATCH)
NOT_ON = (Action.WATCH, Action.STOP, Action.ROLLBACK)
LENGTH = (Link.ROLLOUT, Link.REWARD, Link.EVALUATION)
SHORTCUT = r"(?i)short|length|tokens"
COLLAPSED = (
    r"(?i)collaps|divers|all (the )?same|the same|entropy|explor|single (strategy|answer)|equal|zero.spread|no spread"
)
LENGTH_NEEDS = ("length.mean|length.total.mean", "reward.mean")


def rewarded(world: World, curves: Curves, at: float, held_out: bool) -> None:
    """Reward rises faster from progress `at` on; what is held out, where it counts what was meant, falls."""
    score(world, curves, 0.7 * world.x**0.8 + 0.3 * since(world, at, 0.1), TRAINED)
    if held_out:
        fell = visible(world, world.between(0.3, 0.8)) * since(world, at, 0.1)
        score(world, curves, np.minimum(world.x, at) ** 0.8 * (1 - fell), HELD_OUT)


def shorter(world: World, held_out: bool) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = dict(world.healthy)
    rewarded(world, curves, at, held_out)
    lengths(world, curves, world.between(3.0, 6.0) ** -since(world, at, 0.02))
    return curves if held_out else unevaluated(curves)


def longer(world: World, held_out: bool) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = dict(world.healthy)
    rewarded(world, curves, at, held_out)
    elongated(world, curves, world.between(3.0, 5.0), since(world, at, 0.02))
    return curves if held_out else unevaluated(curves)


def concise(world: World) -> Curves:
    """A healthy run that learns to answer in half the tokens, little by little, and better."""
    curves = dict(world.healthy)
    scores(world, curves, world.x**0.8)
    lengths(world, curves, world.between(1.3, 2.0) ** -world.x)
    return curves


def thoughtful(world: World) -> Curves:
    """A healthy run that learns to think longer, little by little, and answers better."""
    curves = dict(world.healthy)
    scores(world, curves, world.x**0.8)
    elongated(world, curves, world.between(1.3, 2.2), world.x)
    return curves


def silent_concise(world: World) -> Curves:
    return unevaluated(concise(world))


def silent_thoughtful(world: World) -> Curves:
    return unevaluated(thoughtful(world))


@statement(
    id="curves.length_suddenly_shorter",
    guide=GUIDE,
    quote="If responses suddenly get much shorter or much longer, the model may have found a reward shortcut",
    needs=(*LENGTH_NEEDS, "eval.reward"),
    links=LENGTH,
    actions=NOT_ON,
    says=(SHORTCUT,),
    healthy=concise,
)
def length_suddenly_shorter(world: World) -> Curves:
    return shorter(world, held_out=True)


@statement(
    id="curves.length_suddenly_shorter_unevaluated",
    guide=GUIDE,
    quote="(short junk to avoid negative reward, or padding to hit length bonuses) rather than genuinely improving.",
    needs=LENGTH_NEEDS,
    links=LENGTH,
    actions=NOT_ON,
    says=(SHORTCUT,),
    healthy=silent_concise,
)
def length_suddenly_shorter_unevaluated(world: World) -> Curves:
    return shorter(world, held_out=False)


@statement(
    id="curves.length_suddenly_longer",
    guide=GUIDE,
    quote="If responses suddenly get much shorter or much longer, the model may have found a reward shortcut",
    needs=(*LENGTH_NEEDS, "eval.reward"),
    links=LENGTH,
    actions=NOT_ON,
    says=(r"(?i)long|length|tokens",),
    healthy=thoughtful,
)
def length_suddenly_longer(world: World) -> Curves:
    return longer(world, held_out=True)


@statement(
    id="curves.length_suddenly_longer_unevaluated",
    guide=GUIDE,
    quote="(short junk to avoid negative reward, or padding to hit length bonuses) rather than genuinely improving.",
    needs=LENGTH_NEEDS,
    links=LENGTH,
    actions=NOT_ON,
    says=(r"(?i)long|length|tokens",),
    healthy=silent_thoughtful,
)
def length_suddenly_longer_unevaluated(world: World) -> Curves:
    return longer(world, held_out=False)


@statement(
    id="curves.length_shortcut_named",
    guide=GUIDE,
    quote="the model may have found a reward shortcut",
    needs=(*LENGTH_NEEDS, "eval.reward"),
    actions=NOT_ON,
    says=(
        r"(?i)shortcut|exploit|hack|gam(e|ing)|bonus|proxy|not.{0,30}(what was meant|intended|task)|length.{0,40}reward",
    ),
    healthy=thoughtful,
)
def length_shortcut_named(world: World) -> Curves:
    return longer(world, held_out=True)


def sharpening(world: World) -> Curves:
    """A healthy run whose entropy falls by half, and more groups agree, because the score rises."""
    curves = dict(world.healthy)
    scores(world, curves, world.x**0.8)
    start, _ = levels(world, "policy.entropy")
    put_ratio(world, curves, "policy.entropy", start * (1 - world.between(0.3, 0.55) * world.x))
    return curves


def collapsed(world: World, at: float) -> Curves:
    """From progress `at` on all outputs look the same: no entropy, no spread within a group, no further gain."""
    curves = paced(world, np.minimum(world.x, at))
    gone = since(world, at, 0.1)
    scores(world, curves, np.minimum(world.x, at) ** 0.8)
    start, _ = levels(world, "policy.entropy") if "policy.entropy" in world.healthy else (0.0, 0.0)
    put_ratio(
        world, curves, "policy.entropy", start * (1 - 0.3 * np.minimum(world.x, at)) * world.between(0.1, 0.02) ** gone
    )
    if "reward.zero_std_frac" in world.healthy:
        same = world.between(0.8, 0.97)
        put(world, curves, "reward.zero_std_frac", 0.2 + (same - 0.2) * gone, 0.7)
    if "reward.group_std" in world.healthy:
        spread = float(np.nanmedian(world.healthy["reward.group_std"]))
        put(world, curves, "reward.group_std", spread * (1 - world.between(0.85, 0.97) * gone), 0.3)
    for signal in ("length.max", "length.min"):
        if signal in curves and "length.mean" in curves:
            near = curves["length.mean"] * (1.08 if signal == "length.max" else 0.93)
            curves[signal] = (1 - gone) * curves[signal] + gone * near
    return curves


@statement(
    id="curves.diversity_lost",
    guide=GUIDE,
    quote="If all outputs look the same, the model has collapsed to a single strategy.",
    needs=("policy.entropy", "reward.mean"),
    families=("text", "control"),
    methods=("grpo", "rloo", "ppo", "a2c"),
    links=(Link.EXPLORATION, Link.REWARD, Link.ADVANTAGE),
    actions=NOT_ON,
    says=(COLLAPSED,),
    healthy=sharpening,
)
def diversity_lost(world: World) -> Curves:
    """The score is left halfway up."""
    return collapsed(world, world.rng.uniform(0.3, 0.5))


@statement(
    id="curves.diversity_lost_in_groups",
    guide=GUIDE,
    quote="It is no longer exploring, and the reward signal is meaningless.",
    needs=("reward.zero_std_frac|reward.group_std", "policy.entropy", "reward.mean"),
    links=(Link.EXPLORATION, Link.REWARD, Link.ADVANTAGE),
    actions=NOT_ON,
    says=(r"(?i)same reward|equal|zero.(std|spread|variance)|no (learning |training )?signal|group|spread|collaps",),
    healthy=sharpening,
)
def diversity_lost_in_groups(world: World) -> Curves:
    return collapsed(world, world.rng.uniform(0.3, 0.5))


@statement(
    id="curves.incoherent_text_scores_well",
    guide=GUIDE,
    quote="A model can achieve good reward scores while producing incoherent text "
    "if the reward function has exploitable patterns.",
    needs=("policy.entropy", "reward.mean", "eval.reward"),
    links=(Link.EXPLORATION, Link.EVALUATION, Link.REWARD, Link.POLICY_UPDATE),
    actions=NOT_ON,
    healthy=sharpening,
)
def incoherent_text_scores_well(world: World) -> Curves:
    """Reward rises on; the entropy of the text multiplies, and the held-out score, judged otherwise, falls."""
    at = world.rng.uniform(0.35, 0.6)
    curves = dict(world.healthy)
    score(world, curves, world.x**0.8, TRAINED)
    score(world, curves, 0.9 * peak(world, at, visible(world, world.between(0.3, 0.8))), HELD_OUT)
    start, _ = levels(world, "policy.entropy")
    grown = 1 + (world.between(3.0, 6.0) - 1) * np.clip((world.x - at) / 0.3, 0, 1)
    put_ratio(world, curves, "policy.entropy", start * (1 - 0.2 * np.minimum(world.x, at)) * grown)
    return curves


@statement(
    id="curves.read_the_outputs",
    guide=GUIDE,
    quote="Coherence: If available, spot-check actual model outputs.",
    needs=("policy.entropy", "reward.mean", "eval.reward"),
    actions=NOT_ON,
    says=(
        r"(?i)(read|look at|inspect|spot.?check|check|dump|print|audit).{0,60}(sample|completion|output|text|answer|rollout)",
    ),
    healthy=sharpening,
)
def read_the_outputs(world: World) -> Curves:
    return incoherent_text_scores_well(world)


@statement(
    id="curves.metric_masks_degradation",
    guide=GUIDE,
    quote="RL training can produce metric improvement that masks generation degradation:",
    needs=("reward.mean", "eval.reward"),
    links=(Link.EVALUATION, Link.REWARD),
    actions=NOT_ON,
    says=(r"(?i)\beval|held.out|true|proxy|overfit|hack|exploit|generali",),
    healthy=thoughtful,
)
def metric_masks_degradation(world: World) -> Curves:
    at = world.rng.uniform(0.3, 0.5)
    curves = dict(world.healthy)
    score(world, curves, world.x**0.8, TRAINED)
    score(world, curves, peak(world, at, visible(world, world.between(0.4, 1.0))), HELD_OUT)
    return curves
