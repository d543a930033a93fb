"""AReaL, "Diagnosing RL Performance": rewards, importance weights, truncation, sequence lengths."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import (
    HELD_OUT,
    TRAINED,
    after,
    elongated,
    lengths,
    levels,
    paced,
    peak,
    put,
    put_ratio,
    score,
    scores,
    sd,
    since,
    unlearned,
    visible,
    within,
)
from benchmarks.statements.statement import Curves, Generator, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

GUIDE = "Diagnosing RL Performance (AReaL)"
ASYNC = f"{GUIDE}, synchronous instead of asynchronous"
NOT_INCREASING = f"{GUIDE}, training rewards not increasing"
REWARDS = f"{GUIDE}, reward metrics"
WEIGHTS = f"{GUIDE}, importance weight metrics"
LENGTHS = f"{GUIDE}, sequence length metrics"
GOES_ON = (Action.CONTINUE, Action.WATCH)
NOT_ON = (Action.WATCH, Action.STOP, Action.ROLLBACK)
NOT_BACK = (Action.CONTINUE, Action.WATCH, Action.STOP)
UNMOVED = (
    Link.ENVIRONMENT,
    Link.EVALUATION,
    Link.ROLLOUT,
    Link.REWARD,
    Link.ADVANTAGE,
    Link.POLICY_UPDATE,
    Link.EXPLORATION,
)
RATIO = (Link.POLICY_UPDATE, Link.FRESHNESS, Link.NUMERICS)
LARGER_BATCH = (
    r"(?i)(larger|bigger|increas|rais|grow|more|double).{0,50}(batch|samples|prompts|episodes|completions|environments)"
    r"|batch.{0,30}(larger|bigger|increas|rais|size)"
)
LONGER_LIMIT = (
    r"(?i)max_new_tokens|max_completion|max_response|max_tokens|generate_max|(token|length) limit"
    r"|(raise|increase|longer).{0,40}(limit|length|max)"
)
FILTER = r"(?i)filter|exclud|mask|overlong|drop.{0,30}(long|truncat|cut)|discard"
CUT = r"(?i)truncat|cut (off|at|short)|clipp|limit|eos"
FEWER_MINIBATCHES = r"(?i)mini-?_?batch"
DETERMINISTIC = r"(?i)determinis"
STALE = r"(?i)max_head_offpolicyness|stale|off.?policy|max_staleness|version|older|age of"


def late(world: World) -> Curves:
    """A healthy run that begins to learn late, and is clearly learning at the end."""
    start = world.rng.uniform(0.15, 0.3)
    pace = np.clip((world.x - start) / (1 - start), 0, 1)
    curves = paced(world, pace)
    scores(world, curves, pace)
    return curves


def rising(world: World) -> Curves:
    """A healthy run whose score rises to the end."""
    curves = paced(world, world.x)
    scores(world, curves, world.x**0.8)
    return curves


# --- rewards -----------------------------------------------------------------------------------------------------------


def swinging(world: World, size: float, cycles: float = 0.0) -> Curves:
    """Reward that swings by `size` of its gain, from step to step or in `cycles` slow waves, and rises a little."""
    curves = paced(world, 0.5 * world.x)
    start, end = levels(world, "reward.mean")
    noise = size * (end - start) / sd(world, "reward.mean")
    wave = size * np.sin(2 * np.pi * cycles * world.x)
    score(world, curves, 0.2 + 0.3 * world.x + wave, TRAINED, scale=1.0 if cycles else max(noise, 3.0))
    score(world, curves, 0.2 + 0.3 * world.x, HELD_OUT)
    return curves


@statement(
    id="curves.task_reward_fluctuates",
    guide=REWARDS,
    quote="If task_reward fluctuates significantly, your training has high variance.",
    needs=("reward.mean",),
    actions=(*GOES_ON, Action.STOP),
    says=(r"(?i)varian|swing|fluctuat|nois|unstable|oscillat", LARGER_BATCH),
    healthy=rising,
)
def task_reward_fluctuates(world: World) -> Curves:
    return swinging(world, world.between(0.25, 0.7))


@statement(
    id="curves.task_reward_swings",
    guide=REWARDS,
    quote="If task_reward fluctuates significantly, your training has high variance.",
    needs=("reward.mean",),
    links=UNMOVED,
    says=(LARGER_BATCH,),
    healthy=rising,
)
def task_reward_swings(world: World) -> Curves:
    """Waves of many steps, up and down by half of what there is to gain."""
    return swinging(world, world.between(0.35, 0.7), cycles=world.rng.uniform(4, 7))


@statement(
    id="curves.rewards_not_increasing",
    guide=NOT_INCREASING,
    quote="This is a common issue that may be due to multiple reasons.",
    needs=("reward.mean",),
    families=("text", "control"),
    links=UNMOVED,
    actions=NOT_ON,
    healthy=late,
)
def rewards_not_increasing(world: World) -> Curves:
    return unlearned(world)


@statement(
    id="curves.rewards_not_increasing_what_to_try",
    guide=NOT_INCREASING,
    quote="Tune your hyperparameters (e.g., increase batch size or learning rate) or switch to a different base model.",
    needs=("reward.mean", "eval.reward"),
    actions=NOT_ON,
    says=(
        r"(?i)(larger|bigger|increas|rais|higher).{0,40}(batch|learning rate)|learning.rate|base model|\bSFT\b|supervised"
        r"|(simpl|easi|test set|overfit|few|known|trivial).{0,60}(data|task|prompt|set|example|problem)|baseline",
    ),
    healthy=late,
)
def rewards_not_increasing_what_to_try(world: World) -> Curves:
    return unlearned(world)


def hard(world: World, solved: np.ndarray, alike: np.ndarray) -> Curves:
    """A run that solves a share `solved` (n,) of its prompts; a share `alike` (n,) of the groups has one reward only."""
    curves = unlearned(world)
    for signal in ("reward.mean", "eval.reward"):
        put(world, curves, signal, solved, scale=0.15)
    spread = np.sqrt(solved * (1 - solved))
    put(world, curves, "reward.std", spread, scale=0.3)
    put(world, curves, "reward.group_std", spread * (1 - alike), scale=0.1)
    put(world, curves, "reward.zero_std_frac", alike, scale=0.3)
    return curves


def hard_and_rising(world: World) -> Curves:
    """A healthy run of a hard task: few answers are right at first, and more and more later."""
    solved = 0.05 + 0.4 * world.x**1.2
    curves = paced(world, world.x)
    return {**curves, **{s: c for s, c in hard(world, solved, 0.6 - 0.3 * world.x).items() if "reward" in s}}


@statement(
    id="curves.task_too_difficult",
    guide=NOT_INCREASING,
    quote="Consider applying SFT first, as this indicates the task may be too difficult for your current model.",
    needs=("reward.mean", "reward.zero_std_frac|reward.group_std"),
    links=UNMOVED,
    actions=NOT_ON,
    says=(
        r"(?i)difficult|\bhard|easi|\bSFT\b|supervised|no(ne| answer| completion).{0,30}(right|solve|reward)|curriculum",
    ),
    healthy=hard_and_rising,
)
def task_too_difficult(world: World) -> Curves:
    return hard(world, np.full(world.n, world.between(0.02, 0.004)), np.full(world.n, world.between(0.9, 0.98)))


@statement(
    id="curves.difficulty_filter",
    guide=NOT_INCREASING,
    quote="You can enable dynamic filtering (similar to DAPO) by passing a",
    needs=("reward.mean", "reward.zero_std_frac|reward.group_std"),
    actions=NOT_ON,
    says=(r"(?i)filter|difficult|easi|curriculum|should_accept|resampl|mix",),
    healthy=hard_and_rising,
)
def difficulty_filter(world: World) -> Curves:
    return hard(world, np.full(world.n, world.between(0.04, 0.01)), np.full(world.n, world.between(0.8, 0.95)))


def constant_gap(world: World) -> Curves:
    """A healthy run whose rewards differ by a constant: filtered above all, held-out below."""
    curves = rising(world)
    apart(world, curves, "reward.rollout.mean", world.x**0.8 - 0.1)
    score(world, curves, world.x**0.8 - 0.1, HELD_OUT)
    return curves


def apart(world: World, curves: Curves, signal: str, shape: np.ndarray) -> None:
    """Give one of the rewards a shape of its own."""
    if signal in world.healthy:
        start, end = levels(world, signal)
        put(world, curves, signal, start + (end - start) * shape)


@statement(
    id="curves.evaluation_flat_length_grows",
    guide=REWARDS,
    quote="Reward on the test set. Primary indicator of model generalization.",
    needs=("reward.mean", "eval.reward", "length.total.mean|length.mean"),
    links=(Link.EVALUATION, Link.REWARD, Link.ROLLOUT),
    actions=NOT_ON,
    says=(r"(?i)\beval|held.out|test set|generali[sz]",),
    healthy=constant_gap,
)
def evaluation_flat_length_grows(world: World) -> Curves:
    """The training reward rises with the length; the test set does not gain."""
    curves = dict(world.healthy)
    at = world.rng.uniform(0.1, 0.3)
    score(world, curves, world.x**0.8, TRAINED)
    score(world, curves, 0.15 * np.minimum(world.x / at, 1), HELD_OUT)
    elongated(world, curves, world.between(1.6, 3.0), world.x)
    return curves


@statement(
    id="curves.filtered_reward_drifts_from_rollout",
    guide=REWARDS,
    quote="Reward of trajectories actually used for training. Differs from",
    needs=("reward.mean", "reward.rollout.mean", "eval.reward"),
    links=(Link.REWARD, Link.ROLLOUT, Link.EVALUATION),
    actions=NOT_ON,
    says=(r"(?i)filter|rollout|differ|\bgap|select|rejected|all (that|trajector)|\beval|held.out",),
    healthy=constant_gap,
)
def filtered_reward_drifts_from_rollout(world: World) -> Curves:
    """What is trained on looks better and better, because the filter keeps less; everything generated stays as it is."""
    curves = unlearned(world)
    score(world, curves, 0.8 * world.x, TRAINED)
    apart(world, curves, "reward.rollout.mean", 0.05 * world.x)
    return curves


@statement(
    id="curves.evaluation_drifts_from_rollout",
    guide=REWARDS,
    quote="Primary indicator of model generalization.",
    needs=("reward.mean", "reward.rollout.mean", "eval.reward"),
    links=(Link.REWARD, Link.EVALUATION),
    actions=NOT_ON,
    says=(r"(?i)\beval|held.out|test set|generali[sz]",),
    healthy=constant_gap,
)
def evaluation_drifts_from_rollout(world: World) -> Curves:
    at = world.rng.uniform(0.3, 0.5)
    curves = dict(world.healthy)
    score(world, curves, world.x**0.8, TRAINED)
    score(world, curves, peak(world, at, visible(world, world.between(0.3, 0.9))), HELD_OUT)
    return curves


@statement(
    id="curves.penalty_eats_the_reward",
    guide=REWARDS,
    quote="Reward of trajectories actually used for training.",
    needs=("reward.mean", "reward.shaped.mean", "kl.ref|kl.ref.seq_sum"),
    links=(Link.REWARD, Link.POLICY_UPDATE),
    actions=NOT_ON,
    says=(r"(?i)penalt|shaped|\bKL\b",),
    healthy=rising,
)
def penalty_eats_the_reward(world: World) -> Curves:
    """The task reward is flat since some step; the penalty grows, and the reward that is trained on falls below its start."""
    top = world.rng.uniform(0.3, 0.5)
    coefficient = 0.05
    curves = paced(world, np.minimum(world.x / top, 1))
    scores(world, curves, np.minimum(world.x / top, 1))
    start, end = levels(world, "reward.mean")
    penalty = (end - start) * (0.15 * world.x + world.between(0.8, 1.5) * after(world, top))
    world.config["kl_coef"] = coefficient
    total = penalty / coefficient
    put_ratio(world, curves, "kl.ref.seq_sum", total + 0.01)
    put_ratio(world, curves, "kl.ref", total / curves.get("length.mean", np.full(world.n, 300.0)) + 1e-4)
    for signal, value in (("kl.coef", coefficient + 0 * penalty), ("reward.kl_penalty", -penalty)):
        if signal in world.healthy:
            curves[signal] = value
    curves["reward.shaped.mean"] = curves["reward.mean"] - penalty
    return curves


@statement(
    id="curves.reward_falls_evaluation_rises",
    guide=REWARDS,
    quote="Primary indicator of model generalization.",
    needs=("reward.mean", "eval.reward"),
    families=("text", "control"),
    actions=NOT_BACK,
    says=(r"(?i)\beval|held.out|test set",),
    healthy=constant_gap,
)
def reward_falls_evaluation_rises(world: World) -> Curves:
    """The reward is not what is meant: it falls while the test set improves to the end. No earlier checkpoint is better."""
    at = world.rng.uniform(0.2, 0.4)
    curves = dict(world.healthy)
    score(world, curves, np.minimum(world.x, at) - world.between(0.3, 0.7) * after(world, at), TRAINED)
    score(world, curves, world.x**0.8, HELD_OUT)
    return curves


# --- importance weights ------------------------------------------------------------------------------------------------


def weighted(world: World, course: np.ndarray, minibatches: int) -> Curves:
    """A run whose importance weight has this course (n,); what the clip sees and the step's divergence follow."""
    world.config["minibatches"] = minibatches
    curves = rising(world)
    put(world, curves, "policy.ratio.mean", course)
    off = np.abs(course - 1)
    for signal, value in (("policy.clip_fraction", off), ("kl.old", off**2)):
        if signal in world.healthy:
            curves[signal] = within(world, signal, world.healthy[signal] + value)
    return curves


def several_minibatches(world: World) -> Curves:
    """A healthy run of several minibatches, whose importance weight is very close to 1."""
    return weighted(world, np.full(world.n, 1 + world.rng.choice([-1, 1]) * world.between(5e-4, 3e-3)), 4)


def one_minibatch(world: World) -> Curves:
    """A healthy run of one minibatch: the weight is exactly 1, nothing is clipped, and the step has no divergence yet."""
    curves = weighted(world, np.ones(world.n), 1)
    curves["policy.ratio.mean"] = np.ones(world.n)
    for signal in ("policy.clip_fraction", "policy.clip_fraction.dual", "kl.old"):
        if signal in curves:
            curves[signal] = np.zeros(world.n)
    return curves


def off_one(level: float, minibatches: int) -> Generator:
    """Runs whose importance weight leaves 1 for `level`: from the first step on, or from a later one."""

    def broken(world: World) -> Curves:
        at = 0.0 if world.rng.uniform() < 0.5 else world.rng.uniform(0.2, 0.5)
        return weighted(world, 1 + (level - 1) * since(world, at, 0.05), minibatches)

    return broken


for _level, _name in ((0.9, "090"), (0.97, "097"), (1.05, "105")):
    statement(
        id=f"curves.importance_weight_{_name}",
        guide=WEIGHTS,
        quote="importance_weight/avgdeviates significantly from 1, reduceppo_n_minibatches.With",
        needs=("policy.ratio.mean", "reward.mean"),
        links=RATIO,
        says=(FEWER_MINIBATCHES,),
        healthy=several_minibatches,
    )(off_one(_level, 4))

for _level, _name in ((0.97, "097"), (1.05, "105")):
    statement(
        id=f"curves.importance_weight_{_name}_one_minibatch",
        guide=WEIGHTS,
        quote="theoreticallyimportance_weightshould equal 1 exactly.If deviation persists at",
        needs=("policy.ratio.mean", "reward.mean"),
        methods=("grpo",),
        links=RATIO,
        says=(DETERMINISTIC,),
        healthy=one_minibatch,
    )(off_one(_level, 1))


def behaved(world: World, course: np.ndarray, older: np.ndarray) -> Curves:
    """A run whose behaviour weight has this course (n,), and whose data are `older` versions (n,) older."""
    curves = rising(world)
    put(world, curves, "behave.ratio.mean", course)
    off = np.abs(course - 1)
    for signal, value in (("behave.kl", off**2 + 0.1 * off), ("behave.ratio_cap_frac", 0.2 * off)):
        if signal in world.healthy:
            curves[signal] = within(world, signal, world.healthy[signal] + value)
    for signal in ("staleness.mean", "staleness.max"):
        if signal in world.healthy:
            curves[signal] = world.healthy[signal] + older
    return curves


def fresh(world: World) -> Curves:
    """A healthy asynchronous run: data of up to some versions ago, and a weight very close to 1."""
    world.config["max_staleness"] = 4
    return behaved(
        world, np.full(world.n, 1 + world.rng.choice([-1, 1]) * world.between(1e-3, 4e-3)), np.full(world.n, 2.0)
    )


@statement(
    id="curves.behave_weight_below_one",
    guide=WEIGHTS,
    quote="below are critical for monitoring training stability",
    needs=("behave.ratio.mean", "reward.mean"),
    links=(Link.FRESHNESS, Link.NUMERICS, Link.POLICY_UPDATE),
    says=(STALE + r"|\bcap\b|behave_imp_weight_cap",),
    healthy=fresh,
)
def behave_weight_below_one(world: World) -> Curves:
    world.config["max_staleness"] = 8
    return behaved(world, np.full(world.n, 1 - world.between(0.04, 0.2)), np.full(world.n, 4.0))


@statement(
    id="curves.behave_weight_above_one",
    guide=WEIGHTS,
    quote="below are critical for monitoring training stability",
    needs=("behave.ratio.mean", "reward.mean"),
    links=(Link.FRESHNESS, Link.NUMERICS, Link.POLICY_UPDATE),
    says=(STALE + r"|\bcap\b|behave_imp_weight_cap",),
    healthy=fresh,
)
def behave_weight_above_one(world: World) -> Curves:
    world.config["max_staleness"] = 8
    return behaved(world, np.full(world.n, 1 + world.between(0.04, 0.2)), np.full(world.n, 4.0))


@statement(
    id="curves.behave_weight_leaves_one",
    guide=WEIGHTS,
    quote="max_head_offpolicynessto decrease sample staleness.",
    needs=("behave.ratio.mean", "staleness.mean", "reward.mean"),
    links=(Link.FRESHNESS,),
    says=(STALE,),
    healthy=fresh,
)
def behave_weight_leaves_one(world: World) -> Curves:
    """Data grow older from some step on, and the weight leaves 1 with them."""
    world.config["max_staleness"] = 16
    at = world.rng.uniform(0.25, 0.5)
    grown = np.clip((world.x - at) / 0.2, 0, 1)
    return behaved(world, 1 - world.between(0.05, 0.2) * grown, world.between(5.0, 12.0) * grown)


@statement(
    id="curves.asynchrony_harms_learning",
    guide=ASYNC,
    quote="If you suspect asynchronous RL training impacts learning performance",
    needs=("behave.ratio.mean", "staleness.mean", "reward.mean"),
    links=(Link.FRESHNESS,),
    actions=NOT_ON,
    says=(STALE + r"|synchronous",),
    healthy=fresh,
)
def asynchrony_harms_learning(world: World) -> Curves:
    world.config["max_staleness"] = 16
    at = world.rng.uniform(0.25, 0.5)
    grown = np.clip((world.x - at) / 0.15, 0, 1)
    curves = behaved(world, 1 - world.between(0.08, 0.2) * grown, world.between(6.0, 13.0) * grown)
    fell = visible(world, world.between(0.3, 0.8)) * np.clip((world.x - at - 0.05) / 0.3, 0, 1)
    scores(world, curves, np.minimum(world.x, at) ** 0.8 * (1 - fell))
    return curves


# --- truncation and lengths --------------------------------------------------------------------------------------------


def truncated(world: World, share: np.ndarray) -> Curves:
    """A run that cuts this share (n,) of its completions, whose longest therefore stand at the limit."""
    curves = rising(world)
    if "length.mean" in world.healthy or "length.total.mean" in world.healthy:
        lengths(world, curves, 1 + share)
    put(world, curves, "length.clipped_ratio", share)
    if "length.max" in curves:
        curves["length.max"] = np.full(world.n, float(world.config["max_new_tokens"]))
    return curves


def some_truncated(world: World) -> Curves:
    """A healthy run that cuts less than 5 % of its completions at every time, and no more at the end."""
    return truncated(world, np.full(world.n, world.between(0.025, 0.04)))


def cut_always(level: float) -> Generator:
    """Runs that cut this share of their completions from the first step on."""
    return lambda world: truncated(world, np.full(world.n, level))


def cut_later(level: float) -> Generator:
    """Runs that cut this share of their completions from some step on."""

    def broken(world: World) -> Curves:
        grown = np.clip((world.x - world.rng.uniform(0.25, 0.5)) / 0.2, 0, 1)
        return truncated(world, 0.015 + (level - 0.015) * grown)

    return broken


for _name, _make in (
    ("06_always", cut_always(0.06)),
    ("07_always", cut_always(0.07)),
    ("07_later", cut_later(0.07)),
    ("10_later", cut_later(0.10)),
    ("20_always", cut_always(0.20)),
    ("20_later", cut_later(0.20)),
):
    statement(
        id=f"curves.no_eos_{_name}",
        guide=LENGTHS,
        quote="If no_eos_ratio exceeds 0.05 (5% of trajectories truncated):",
        needs=("length.clipped_ratio", "reward.mean"),
        links=(Link.ROLLOUT,),
        says=(CUT, LONGER_LIMIT),
        healthy=some_truncated,
    )(_make)


@statement(
    id="curves.no_eos_filter",
    guide=LENGTHS,
    quote="to allow longer generationsUse dynamic filtering to exclude overly long trajectories",
    needs=("length.clipped_ratio", "reward.mean"),
    links=(Link.ROLLOUT,),
    says=(FILTER,),
    healthy=some_truncated,
)
def no_eos_filter(world: World) -> Curves:
    return cut_later(world.between(0.08, 0.2))(world)


def grown_once(world: World) -> Curves:
    """A healthy run whose lengths grow a little at first and are steady since; no more is cut than before."""
    curves = rising(world)
    elongated(world, curves, world.between(1.1, 1.3), np.minimum(world.x / 0.25, 1))
    put(world, curves, "length.clipped_ratio", np.full(world.n, 0.01))
    return curves


def growing(world: World, to: float) -> Curves:
    """Lengths that grow steadily to the end; the share that is cut follows late, and reaches `to`."""
    curves = rising(world)
    elongated(world, curves, world.between(1.8, 3.0), world.x)
    put(world, curves, "length.clipped_ratio", 0.008 + (to - 0.008) * world.x**3)
    return curves


@statement(
    id="curves.seq_len_grows",
    guide=LENGTHS,
    quote="If seq_len increases steadily during training, watch no_eos_ratio closely",
    needs=("length.total.mean|length.mean", "length.clipped_ratio", "reward.mean"),
    actions=GOES_ON,
    says=(r"(?i)length|longer|tokens", CUT),
    healthy=grown_once,
)
def seq_len_grows(world: World) -> Curves:
    """Truncation is on its way, and still below 5 %."""
    return growing(world, world.between(0.025, 0.04))


@statement(
    id="curves.seq_len_grows_then_truncated",
    guide=LENGTHS,
    quote="sequence lengths often lead to more truncations.",
    needs=("length.total.mean|length.mean", "length.clipped_ratio", "reward.mean"),
    links=(Link.ROLLOUT,),
    says=(CUT,),
    healthy=grown_once,
)
def seq_len_grows_then_truncated(world: World) -> Curves:
    return growing(world, world.between(0.1, 0.3))
