"""What the debugging guide says of the reward signal and of reward hacking."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import HELD_OUT, visible
from benchmarks.statements.guides.debug_shapes import (
    ACTS,
    ENDS,
    GUIDE,
    Edited,
    bump,
    learned,
    learning,
    longer_and_better,
    policy_breaks,
    ramp,
    since,
    spikes,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

DISTRIBUTION = f"{GUIDE}, Inspect the reward distribution"
HACKING = f"{GUIDE}, Reward hacking"
WALKTHROUGH = f"{GUIDE}, A complete troubleshooting walkthrough"
DURING = f"{GUIDE}, During training"
IN_REWARD_UNITS = (
    *("reward.mean", "reward.episode", "reward.rollout.mean", "reward.shaped.mean", "reward.max", "reward.min"),
    *("reward.std", "reward.group_std", "eval.reward", "eval.reward.std", "returns.mean"),
    *("value.mean", "value.pred.mean", "value.target.mean"),
)
NO_SIGNAL = ("reward.std", "reward.group_std", "advantage.abs.mean")


def _silent(run: Edited, share: np.ndarray | float) -> None:
    """What a reward that is the same for all samples does to the rest; `share` (n,) of the samples still differ."""
    for signal in NO_SIGNAL:
        run.put(signal, run.level(signal) * np.sqrt(np.asarray(share)))
    run.scale(("grad.norm",), np.maximum(np.sqrt(np.asarray(share)), 0.03))
    for signal in ("policy.loss", "loss.total"):
        run.scale((signal,), np.sqrt(np.asarray(share)))
    for kind in ("kl.ref", "kl.old"):
        run.scale(run.kls(kind), 0.1)
    for signal in ("policy.entropy", "policy.entropy_proxy"):
        run.put(signal, run.start(signal))
    run.lengths(1.0)


def _rare(world: World, share: float) -> np.ndarray:
    """The mean reward of batches of 64 samples of which `share` get 1 and the others 0, (n,)."""
    return world.rng.binomial(64, share, world.n) / 64


def _late_start(world: World) -> Curves:
    run = Edited(world)
    slow = ramp(world, round(world.rng.uniform(0.08, 0.15) * world.n), 0.5)
    for signal in (*run.parts(), "reward.mean", "reward.episode", "reward.accuracy", "eval.reward", "eval.accuracy"):
        noise = 0.03 * np.sqrt(slow) * world.rng.standard_normal(world.n)
        run.exact(signal, np.clip(_rare(world, 0.01) + 0.7 * slow + noise, 0, 1))
    run.exact("reward.max", np.ones(world.n))
    run.exact("reward.min", np.zeros(world.n))
    run.exact("eval.reward.std", np.full(world.n, 0.3))
    run.put("reward.zero_std_frac", 0.9 - 0.65 * slow)
    if world.family == "control":
        run.scale(("value.loss",), 0.002)
        run.follow(("episode.length", "eval.episode_length"), slow)
    return run.curves


@statement(
    id="curves.reward_almost_all_zero",
    guide=DISTRIBUTION,
    quote="| almost all 0 | reward too sparse | add intermediate rewards, curriculum, exploration |",
    needs=("reward.mean",),
    families=("text", "control"),
    links=(Link.REWARD, Link.EXPLORATION),
    actions=ACTS,
    says=(r"(?i)spars|intermediate reward|curriculum|easier|shap(e|ing)",),
    healthy=_late_start,
)
def reward_almost_all_zero(world: World) -> Curves:
    """A few of the batches hold one success, and nothing is learned from it."""
    run = Edited(world)
    share = world.between(0.01, 0.0005)
    seen = _rare(world, share)
    for signal in ("reward.mean", "reward.episode", "reward.accuracy", "reward.shaped.mean", "returns.mean"):
        run.exact(signal, seen)
    for part in run.parts():
        run.exact(part, seen)
    run.exact("reward.max", (seen > 0).astype(float))
    run.exact("reward.min", np.zeros(world.n))
    run.exact("eval.reward.std", np.sqrt(share) * np.ones(world.n))
    run.scale(("value.loss",), (0.002 if world.family == "control" else 1) * np.maximum(seen, 0.01))
    run.exact("reward.zero_std_frac", 1 - np.minimum(seen * 8, 1))
    run.exact("reward.solve_none_frac", 1 - np.minimum(seen * 8, 1))
    for signal in ("eval.reward", "eval.accuracy", "eval.success_rate"):
        run.exact(signal, _rare(world, share))
    _silent(run, np.maximum(seen * 8, 0.01))
    run.follow(("episode.length", "eval.episode_length", "value.mean"), 0.0)
    return run.curves


def _some_silent_groups(world: World) -> Curves:
    run = learning(world)
    run.put("reward.zero_std_frac", world.rng.uniform(0.2, 0.4))
    return run.curves


@statement(
    id="curves.reward_silence",
    guide=f"{GUIDE}, Reward signal",
    quote="If 99.9% of trajectories have reward 0, the policy gradient sees silence.",
    needs=("reward.mean", "reward.zero_std_frac"),
    links=(Link.REWARD, Link.ADVANTAGE, Link.EXPLORATION),
    actions=ACTS,
    says=(
        r"(?i)no (training |learning )?signal|no gradient|same reward|all (their )?rewards (are|were) equal|spars|easier",
    ),
    healthy=_some_silent_groups,
)
def reward_silence(world: World) -> Curves:
    """Nearly every group of completions gets 0 throughout."""
    return reward_almost_all_zero(world)


def _mastered(world: World) -> Curves:
    run = Edited(world)
    course = 0.45 + 0.5 * learned(world, 0.2)
    for signal in (*run.parts(), "reward.mean", "reward.accuracy", "eval.reward", "eval.accuracy"):
        run.exact(signal, np.clip(course + 0.02 * world.rng.standard_normal(world.n), 0, 1))
    run.put("reward.zero_std_frac", 0.2 + 0.35 * learned(world, 0.2))
    return run.curves


@statement(
    id="curves.reward_almost_all_one",
    guide=DISTRIBUTION,
    quote="| almost all 1 | reward too loose | increase task difficulty, decompose scoring dimensions |",
    needs=("reward.mean", "eval.reward"),
    links=(Link.REWARD, Link.ADVANTAGE, Link.ROLLOUT),
    actions=ACTS,
    says=(r"(?i)hard(er)?\b|difficult|too (loose|easy)|decompos|separate(ly)? scor|saturat|solved from the start",),
    healthy=_mastered,
)
def reward_almost_all_one(world: World) -> Curves:
    """Nearly every answer is paid in full from the first step, and the evaluation stays where it was."""
    run = Edited(world)
    seen = 1 - _rare(world, world.between(0.04, 0.003))
    for signal in (*run.parts(), "reward.mean", "reward.episode", "reward.accuracy", "reward.shaped.mean"):
        run.exact(signal, seen)
    run.exact("reward.max", np.ones(world.n))
    run.exact("reward.min", (seen == 1).astype(float))
    run.exact("reward.zero_std_frac", 1 - np.minimum((1 - seen) * 8, 1))
    run.exact("reward.solve_all_frac", 1 - np.minimum((1 - seen) * 8, 1))
    _silent(run, np.maximum((1 - seen) * 8, 0.01))
    run.evaluation(0.0)
    return run.curves


def _steady_tail(world: World) -> Curves:
    run = learning(world)
    spread = max(run.level("reward.std"), 3 * run.noise("reward.mean"))
    run.exact("reward.max", run.curves["reward.mean"] + spread * world.rng.uniform(2, 3.5, world.n))
    return run.curves


@statement(
    id="curves.reward_long_tail_max",
    guide=DISTRIBUTION,
    quote="| extreme long tail | few samples dominate gradient | reward clipping / normalization |",
    needs=("reward.mean", "reward.max"),
    links=(Link.REWARD, Link.ADVANTAGE, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)clip|normali[sz]|outlier",),
    healthy=_steady_tail,
)
def reward_long_tail_max(world: World) -> Curves:
    """In some batches one sample gets many times the usual reward, and gives the step its gradient."""
    run = Edited(world)
    run.score(0.4 * learned(world))
    hit = spikes(world, 0.08)
    spread = max(run.level("reward.std"), 3 * run.noise("reward.mean"))
    tail = world.between(20, 300) * spread * hit
    run.exact("reward.max", run.curves["reward.mean"] + spread * world.rng.uniform(2, 3, world.n) + tail)
    run.exact("reward.mean", run.curves["reward.mean"] + tail / 128)
    if run.logs("reward.std"):
        run.exact("reward.std", np.hypot(run.curves["reward.std"], tail / np.sqrt(128)))
    run.scale(("grad.norm",), 1 + world.between(2, 15) * hit)
    return run.curves


def _wide(world: World) -> Curves:
    run = learning(world)
    run.put("reward.std", run.level("reward.std") * world.rng.uniform(0.8, 1.5))
    return run.curves


@statement(
    id="curves.reward_long_tail_std",
    guide=f"{GUIDE}, Diagnostic order",
    quote="Are there extreme high-score outliers?",
    needs=("reward.mean", "reward.std"),
    links=(Link.REWARD, Link.ADVANTAGE, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)clip|normali[sz]|outlier",),
    healthy=_wide,
)
def reward_long_tail_std(world: World) -> Curves:
    """The spread of the rewards jumps in single steps, more and more often, and the mean with it."""
    run = Edited(world)
    run.score(0.4 * learned(world))
    at = world.onset(0.2, 0.5)
    hit = spikes(world, 0.12, at / world.n)
    size = world.between(8, 80) * run.level("reward.std") * hit
    run.exact("reward.std", np.hypot(run.curves["reward.std"], size))
    run.exact("reward.mean", run.curves["reward.mean"] + size / np.sqrt(128))
    run.scale(("grad.norm",), 1 + world.between(2, 10) * hit)
    return run.curves


def _large_but_normalised(world: World) -> Curves:
    run = learning(world)
    size = world.rng.uniform(100, 500)
    run.scale(IN_REWARD_UNITS, size)
    run.scale(run.parts(), size)
    run.scale(("value.loss",), size**2 / 20)
    run.put("value.explained_variance", 0.2 + 0.7 * learned(world, 0.15))
    return run.curves


@statement(
    id="curves.reward_scale_too_large",
    guide=DISTRIBUTION,
    quote="When the reward scale is too large, advantage becomes a very sharp gradient signal, and the policy update may dash"
    " straight out of the trust region.",
    needs=("reward.mean", "kl.old", "policy.clip_fraction", "grad.norm"),
    families=("text", "control"),
    links=(Link.REWARD, Link.ADVANTAGE, Link.POLICY_UPDATE, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)normali[sz]|(reward|return|advantage).{0,60}(scale|clip)|learning rate|epochs",),
    healthy=_large_but_normalised,
)
def reward_scale_too_large(world: World) -> Curves:
    """Rewards in the hundreds go into the gradient as they are: KL and clip fraction are high from the first step."""
    run = Edited(world)
    run.score(0.25 * bump(world, 0, max(3, world.n // 3)))
    size = world.between(100, 3000)
    run.scale(IN_REWARD_UNITS, size)
    run.scale(run.parts(), size)
    run.scale(("value.loss",), size**2)
    run.scale(("grad.norm",), size / 4)
    run.put("value.explained_variance", 0.05)
    policy_breaks(run, np.ones(world.n), kl=world.between(6, 40), clip=world.between(0.4, 0.65), entropy=0.5)
    return run.curves


def _both_rise(world: World) -> Curves:
    run = learning(world)
    seen = np.flatnonzero(np.isfinite(run.curves["eval.reward"]))
    dip = since(world, 0) * 0
    dip[seen[len(seen) // 2]] = 1
    for signal in ("eval.reward", "eval.accuracy"):
        run.exact(signal, run.curves.get(signal, dip) - 2 * run.noise(signal) * dip)
    return run.curves


@statement(
    id="curves.reward_up_eval_drops",
    guide=DURING,
    quote="| Reward rises, eval drops | immediately spot-check high-reward samples |",
    needs=("reward.mean", "eval.reward"),
    families=("text", "control"),
    links=(Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)sample|spot.?check|completions|trajector|episodes",),
    healthy=_both_rise,
)
def reward_up_eval_drops(world: World) -> Curves:
    """The reward goes on rising while the evaluation falls below where it started."""
    run = Edited(world)
    run.reward(1.1 * learned(world, 0.5))
    fall = ramp(world, world.onset(0.2, 0.45), 0.5)
    run.evaluation(0.4 * learned(world) - world.between(0.6, 1.6) * fall)
    run.scale(run.kls("kl.ref"), 1 + world.between(1, 4) * world.x)
    return run.curves


def _eval_lags(world: World) -> Curves:
    run = learning(world)
    run.evaluation(0.9 * learned(world, 0.5))
    return run.curves


@statement(
    id="curves.reward_up_eval_flat",
    guide=HACKING,
    quote="human audit, private test set, and task success rate do not improve in sync.",
    needs=("reward.mean", "eval.reward"),
    families=("text", "control"),
    links=(Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)sample|spot.?check|hack|gam(e|ing)|held.?out|does not (rise|improve)",),
    healthy=_eval_lags,
)
def reward_up_eval_flat(world: World) -> Curves:
    """The reward rises as in a good run, and the evaluation stays where it was."""
    run = Edited(world)
    run.reward(world.between(0.7, 1.3) * learned(world, 0.5))
    run.evaluation(0.0)
    return run.curves


@statement(
    id="curves.reward_up_eval_flat_length_up",
    guide=f"{GUIDE}, Separate training metrics from evaluation metrics",
    quote="if reward increases while evaluation scores remain flat and response length keeps growing, this should usually not"
    ' be interpreted as "training has not run long enough."',
    needs=("reward.mean", "eval.reward", "length.mean"),
    links=(Link.REWARD, Link.ROLLOUT, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)length|longer",),
    healthy=longer_and_better,
)
def reward_up_eval_flat_length_up(world: World) -> Curves:
    """Reward and length rise together, the evaluation does not."""
    run = Edited(world)
    run.reward(world.between(0.7, 1.3) * learned(world, 0.6))
    run.lengths(1 + world.between(0.4, 2.0) * learned(world, 0.8))
    run.evaluation(0.0)
    run.scale(run.kls("kl.ref"), 1 + world.between(0.5, 3) * world.x)
    return run.curves


@statement(
    id="curves.walkthrough_length_preference",
    guide=WALKTHROUGH,
    quote="Suppose you see: reward increases, benchmark does not improve, outputs get longer and longer.",
    needs=("reward.mean", "eval.reward", "length.mean"),
    links=(Link.REWARD, Link.ROLLOUT, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)length (penalty|normali|preference|bias)|(penali[sz]e|pay|reward).{0,40}length|shorter",),
    healthy=longer_and_better,
)
def walkthrough_length_preference(world: World) -> Curves:
    """The benchmark improves in the first quarter; from then on only reward and length do."""
    run = Edited(world)
    at = world.onset(0.2, 0.35)
    early = np.minimum(learned(world), learned(world)[at])
    run.reward(learned(world, 0.7) * 1.2)
    run.evaluation(0.6 * early)
    run.lengths(1 + world.between(0.5, 2.5) * ramp(world, at, 1 - at / world.n))
    run.scale(run.kls("kl.ref"), 1 + world.between(0.5, 3) * ramp(world, at, 1 - at / world.n))
    return run.curves


@statement(
    id="curves.reward_overoptimised",
    guide=HACKING,
    quote="the proxy reward can continue improving while the true preference declines past a certain point",
    needs=("reward.mean", "eval.reward", "kl.ref"),
    links=(Link.REWARD, Link.EVALUATION),
    first=(Link.REWARD, Link.EVALUATION, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(r"(?i)over.?optimi|hack|best (checkpoint|step|evaluation)|KL|sample",),
    healthy=_eval_lags,
)
def reward_overoptimised(world: World) -> Curves:
    """The evaluation rises with the reward, turns, and loses most of what it gained, while the reward goes on."""
    run = Edited(world)
    at = world.onset(0.35, 0.55)
    run.reward(learned(world, 0.6))
    rise = np.minimum(world.x * world.n / at, 1)
    lost = visible(world, world.between(0.4, 1.0), at / world.n, HELD_OUT)
    run.evaluation(0.8 * rise - lost * ramp(world, at, 1 - at / world.n))
    run.scale(run.kls("kl.ref"), 1 + world.between(1, 6) * world.x**2)
    return run.curves


@statement(
    id="curves.reward_drops_eval_improves",
    guide=WALKTHROUGH,
    quote="if reward drops but the private set improves, the previous reward was probably wrong.",
    needs=("reward.mean", "eval.reward"),
    links=(Link.REWARD, Link.EVALUATION),
    actions=(Action.CONTINUE, Action.WATCH, Action.STOP),
    says=(
        r"(?i)reward.{0,200}(wrong|disagree|opposite|against|not what|does not (follow|measure|show))"
        r"|eval.{0,200}(rise|rose|improve)",
    ),
    healthy=_both_rise,
)
def reward_drops_eval_improves(world: World) -> Curves:
    """The reward falls from the middle on, and the evaluation improves all the way."""
    run = Edited(world)
    at = world.onset(0.3, 0.5)
    run.reward(0.8 * learned(world) - world.between(0.5, 1.2) * ramp(world, at, 0.35))
    run.evaluation(1.1 * learned(world, 0.7))
    return run.curves


def _falls_then_learns(world: World) -> Curves:
    run = Edited(world)
    at = round(world.rng.uniform(0.08, 0.15) * world.n)
    run.score(-0.4 * np.minimum(world.x * world.n / max(at, 1), 1) + 1.4 * ramp(world, at, 0.5))
    return run.curves


@statement(
    id="curves.reward_sign_reversed",
    guide=f"{GUIDE}, Construct a minimal reproduction experiment",
    quote="a wrong done mask, reversed reward signs, padding tokens included in the loss, or changed evaluation temperature can"
    " all let training complete normally but learn wrong behaviors.",
    needs=("reward.mean", "policy.entropy"),
    families=("text", "control"),
    links=(Link.REWARD, Link.ENVIRONMENT, Link.ADVANTAGE, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(r"(?i)\bsign|revers|invert|flip|swapped|wrong way|opposite",),
    healthy=_falls_then_learns,
)
def reward_sign_reversed(world: World) -> Curves:
    """The optimizer does its work, and the true reward gets worse from the first step on and stays there."""
    run = Edited(world)
    run.score(-world.between(0.6, 1.5) * learned(world, world.rng.uniform(0.2, 0.5)))
    return run.curves


def _plateau_after_rise(world: World) -> Curves:
    run = Edited(world)
    run.score(learned(world, 0.08))
    return run.curves


@statement(
    id="curves.reward_unmoved",
    guide=f"{GUIDE}, Training as a closed loop",
    quote='Any broken link in this loop can eventually show up as "reward does not improve."',
    needs=("reward.mean",),
    families=("text", "control"),
    actions=ACTS,
    healthy=_plateau_after_rise,
)
def reward_unmoved(world: World) -> Curves:
    """Everything moves as in a good run except the scores."""
    run = Edited(world)
    run.score(0.0)
    return run.curves


@statement(
    id="curves.reward_uncorrelated_with_eval",
    guide=DISTRIBUTION,
    quote="| low correlation with human scores | unreliable proxy | rewrite reward or add human calibration |",
    needs=("reward.mean", "eval.reward"),
    links=(Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)proxy|calibrat|correlat|rewrite|reward (function|model)|disagree|held.?out|hack",),
    healthy=_both_rise,
)
def reward_uncorrelated_with_eval(world: World) -> Curves:
    """The reward climbs; the evaluation wanders around its start without following."""
    run = Edited(world)
    run.reward(learned(world, 0.4))
    phase = world.rng.uniform(0, 2 * np.pi)
    run.evaluation(-world.between(0.0, 0.3) * world.x + 0.2 * np.sin(4 * np.pi * world.x + phase) - 0.1)
    return run.curves


def _confident_and_right(world: World) -> Curves:
    run = learning(world)
    for signal in ("policy.entropy", "policy.entropy_proxy"):
        run.put(signal, run.start(signal) * (1 - 0.5 * learned(world, 0.4)))
    return run.curves


@statement(
    id="curves.uniform_behaviour_high_reward",
    guide=f"{GUIDE}, Exploration",
    quote="| uniform behavior but high reward | possible reward hacking | spot-check high-reward trajectories |",
    needs=("reward.mean", "eval.reward", "policy.entropy"),
    links=(Link.REWARD, Link.EXPLORATION, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)hack|sample|spot.?check|completions|trajector",),
    healthy=_confident_and_right,
)
def uniform_behaviour_high_reward(world: World) -> Curves:
    """Within some steps the policy finds one answer that pays, gives it always, and the evaluation does not rise."""
    run = Edited(world)
    jump = ramp(world, world.onset(0.2, 0.5), 0.12)
    run.reward(0.2 * learned(world) + world.between(1.0, 1.8) * jump)
    run.evaluation(0.15 * learned(world) - 0.15 * jump)
    for signal in ("policy.entropy", "policy.entropy_proxy"):
        run.put(signal, run.start(signal) * (1 - (1 - world.between(0.12, 0.02)) * jump))
    for signal in ("reward.std", "reward.group_std", "length.std"):
        run.scale((signal,), 1 - 0.85 * jump)
    run.put("reward.zero_std_frac", run.level("reward.zero_std_frac") * (1 - jump) + 0.9 * jump)
    run.scale(run.kls("kl.ref"), 1 + 3 * jump)
    return run.curves


def _one_bad_batch(world: World) -> Curves:
    run = learning(world)
    at = world.onset()
    low = run.curves["reward.mean"] - 6 * run.noise("reward.mean") * (np.arange(world.n) == at)
    run.exact("reward.mean", np.maximum(low, 0.0) if world.family == "text" else low)
    return run.curves


@statement(
    id="curves.reward_collapses",
    guide=f"{GUIDE}, Introduction",
    quote="a bad policy collects bad data, and that bad data trains an even worse policy.",
    needs=("reward.mean",),
    families=("text", "control"),
    actions=ENDS,
    healthy=_one_bad_batch,
)
def reward_collapses(world: World) -> Curves:
    """A run that had learned loses nearly all of it within some steps and does not come back."""
    run = Edited(world)
    fall = ramp(world, world.onset(0.4, 0.7), 0.08)
    run.score(learned(world) * (1 - fall) - world.between(0.0, 0.6) * fall)
    policy_breaks(run, fall, kl=world.between(3, 12), clip=world.between(0.25, 0.5), entropy=0.5)
    return run.curves


def _both_parts_learned(world: World) -> Curves:
    run = learning(world)
    _parts(run, fmt=0.15 + 0.7 * learned(world, 0.25), right=0.25 + 0.4 * learned(world, 0.4))
    return run.curves


@statement(
    id="curves.reward_comes_from_one_part",
    guide=HACKING,
    quote="A more robust approach is to log reward components separately: accuracy, constraint satisfaction, safety,"
    " conciseness, formatting, and tool outcomes scored independently.",
    needs=("reward.mean", "reward.component.accuracy_reward.mean", "reward.component.format_reward.mean"),
    links=(Link.REWARD,),
    actions=ACTS,
    says=(r"(?i)component|reward function|format|accuracy|weight",),
    healthy=_both_parts_learned,
)
def reward_comes_from_one_part(world: World) -> Curves:
    """The sum rises since the format is learned, while the accuracy loses what it had."""
    run = Edited(world)
    up, down = learned(world, 0.25), ramp(world, world.onset(0.15, 0.4), 0.4)
    run.evaluation(-0.4 * down)
    _parts(run, fmt=0.15 + 0.8 * up, right=0.3 - world.between(0.12, 0.28) * down)
    return run.curves


def _parts(run: Edited, *, fmt: np.ndarray, right: np.ndarray) -> None:
    """Two reward functions in [0, 1], and the total as their sum."""
    for signal, mean in (
        ("reward.component.format_reward.mean", fmt),
        ("reward.component.accuracy_reward.mean", right),
    ):
        run.add(signal, mean, 0.02)
        run.curves[signal] = np.clip(run.curves[signal], 0, 1)
    run.exact("reward.accuracy", run.curves["reward.component.accuracy_reward.mean"])
    total = run.curves["reward.component.format_reward.mean"] + run.curves["reward.component.accuracy_reward.mean"]
    for signal in ("reward.mean", "reward.shaped.mean", "reward.rollout.mean"):
        run.exact(signal, total)


def _format_first_then_accuracy(world: World) -> Curves:
    run = learning(world)
    _parts(run, fmt=0.1 + 0.88 * learned(world, 0.05), right=0.2 + 0.5 * learned(world, 0.5))
    return run.curves


@statement(
    id="curves.format_up_accuracy_flat",
    guide=f"{GUIDE}, Additional pitfalls in RLHF and agentic RL",
    quote="| RLVR/GRPO | Format hacking | model learns to output correct format but wrong reasoning |",
    needs=("reward.mean", "reward.component.accuracy_reward.mean", "reward.component.format_reward.mean"),
    links=(Link.REWARD,),
    actions=ACTS,
    says=(r"(?i)format",),
    healthy=_format_first_then_accuracy,
)
def format_up_accuracy_flat(world: World) -> Curves:
    """The format reward is learned within a quarter of the run, and the accuracy stays where it was."""
    run = Edited(world)
    _parts(
        run,
        fmt=0.1 + world.between(0.5, 0.88) * learned(world, 0.15),
        right=np.full(world.n, world.rng.uniform(0.05, 0.3)),
    )
    run.evaluation(0.0)
    return run.curves
