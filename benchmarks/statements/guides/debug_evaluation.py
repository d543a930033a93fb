"""What the debugging guide says of the evaluation."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import HELD_OUT, visible
from benchmarks.statements.guides.debug_shapes import ACTS, GUIDE, Edited, learned, learning, ramp, since
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Link

PROTOCOL = f"{GUIDE}, Evaluation protocol"
METRICS = f"{GUIDE}, Separate training metrics from evaluation metrics"
AFTER = f"{GUIDE}, After training"
COMPARABLE = r"(?i)protocol|temperature|compar|split|prompt template|max_tokens|same (settings|set)|eval.{0,40}(changed|settings)"


def _jumps_with_the_reward(world: World) -> Curves:
    run = Edited(world)
    run.score(0.4 * learned(world) + 0.8 * ramp(world, world.onset(0.35, 0.6), 0.06))
    return run.curves


def _jump(world: World, size: float) -> Curves:
    run = learning(world)
    run.evaluation(learned(world) + size * since(world, world.onset(0.35, 0.6)))
    return run.curves


@statement(
    id="curves.eval_jumps_down_protocol",
    guide=f"{GUIDE}, Diagnostic order",
    quote="If sampling temperature, max output length, tool permissions, or test set splits have changed, evaluation results"
    " cannot be directly compared.",
    needs=("eval.reward", "reward.mean"),
    families=("text", "control"),
    links=(Link.EVALUATION,),
    says=(COMPARABLE,),
    healthy=_jumps_with_the_reward,
)
def eval_jumps_down_protocol(world: World) -> Curves:
    """Between two evaluations the score falls by half of all that is gained or more; training goes on as before."""
    return _jump(world, -world.between(0.6, 1.3))


@statement(
    id="curves.eval_jumps_up_protocol",
    guide=PROTOCOL,
    quote="The evaluation protocol must also be fixed: temperature, top_p, max_tokens, prompt templates, tool permissions,"
    " timeout rules, pass@1/pass@k should all be documented.",
    needs=("eval.reward", "reward.mean"),
    links=(Link.EVALUATION,),
    says=(COMPARABLE,),
    healthy=_jumps_with_the_reward,
    argument="Only of a language model. In control the greedy policy often succeeds before the sampled one: the evaluation of"
    " two of the healthy DQN runs of the lab jumps at once (144 to 437, 126 to 400) while the training reward does not.",
)
def eval_jumps_up_protocol(world: World) -> Curves:
    """The score rises at once, as from pass@1 to pass@8, while the training reward goes on as before."""
    return _jump(world, world.between(0.7, 1.5))


@statement(
    id="curves.eval_length_changes_with_score",
    guide=f"{GUIDE}, A complete troubleshooting walkthrough",
    quote="are the benchmark's temperature and max_tokens consistent with the baseline?",
    needs=("eval.reward", "eval.length.mean", "reward.mean"),
    links=(Link.EVALUATION,),
    says=(COMPARABLE,),
    healthy=_jumps_with_the_reward,
)
def eval_length_changes_with_score(world: World) -> Curves:
    """The answers of the evaluation are cut to a fraction of their length at one step, and its score falls with them."""
    run = learning(world)
    cut = since(world, world.onset(0.35, 0.6))
    run.evaluation(learned(world) - world.between(0.5, 1.3) * cut)
    run.scale(("eval.length.mean",), 1 - world.between(0.35, 0.65) * cut)
    return run.curves


def _evaluated(world: World) -> Curves:
    run = Edited(world)
    run.score(learned(world, 0.4))
    return run.curves


@statement(
    id="curves.training_reward_only",
    guide=METRICS,
    quote="Training reward only indicates that the model is optimizing a reward signal; it does not directly prove task ability"
    " improvement.",
    needs=("eval.reward", "reward.mean"),
    families=("text", "control"),
    says=(r"(?i)evaluat|held.?out|private (test )?set|benchmark",),
    healthy=_evaluated,
)
def training_reward_only(world: World) -> Curves:
    """A good-looking reward, and no evaluation in the log."""
    run = learning(world)
    run.without("eval.")
    return run.curves


def _last_a_little_lower(world: World) -> Curves:
    run = Edited(world)
    course = learned(world, 0.2)
    run.score(course)
    run.follow(run.kls("kl.ref"), course)  # what is learned sooner has drifted sooner
    return run.curves


@statement(
    id="curves.last_is_not_best",
    guide=AFTER,
    quote="| Best eval checkpoint | the last step is not necessarily best |",
    needs=("eval.reward", "reward.mean"),
    families=("text", "control"),
    actions=ACTS,
    says=(r"(?i)best (checkpoint|step|evaluation|eval|model|score)|was best|peak|roll.?back|highest",),
    healthy=_last_a_little_lower,
)
def last_is_not_best(world: World) -> Curves:
    """The evaluation has its best in the middle and loses a third of its gain or more by the end, the reward less."""
    run = Edited(world)
    at = world.onset(0.45, 0.65)
    fall = ramp(world, at, 1 - at / world.n)
    rise = np.minimum(world.x * world.n / at, 1)
    lost = visible(world, world.between(0.4, 1.0), at / world.n, HELD_OUT)
    run.reward(rise - 0.3 * lost * fall)
    run.evaluation(rise - lost * fall)
    return run.curves


@statement(
    id="curves.eval_decides_rollback",
    guide=f"{GUIDE}, Training as a closed loop",
    quote="They are used to select checkpoints, detect reward hacking, and decide whether to roll back.",
    needs=("eval.reward", "reward.mean"),
    families=("text", "control"),
    links=(Link.EVALUATION, Link.REWARD, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(r"(?i)best|checkpoint|roll.?back",),
    healthy=_last_a_little_lower,
)
def eval_decides_rollback(world: World) -> Curves:
    """The evaluation loses all its gain within a fifth of the run; the training reward stays up."""
    run = Edited(world)
    run.reward(learned(world))
    run.evaluation(learned(world) - world.between(0.8, 1.6) * ramp(world, world.onset(0.45, 0.65), 0.2))
    return run.curves


def _success_follows(world: World) -> Curves:
    run = learning(world)
    rate = 0.2 + 0.6 * learned(world, 0.4) + 0.03 * world.rng.standard_normal(world.n)
    run.curves["eval.success_rate"] = world.evaluated(np.clip(rate, 0, 1))
    return run.curves


@statement(
    id="curves.eval_drops_success_rate",
    guide=METRICS,
    quote="Evaluation metrics: for example, held-out benchmarks, private test sets, task success rates, used to determine"
    " whether ability is improving.",
    needs=("reward.mean", "eval.success_rate"),
    families=("control",),
    links=(Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    healthy=_success_follows,
)
def eval_drops_success_rate(world: World) -> Curves:
    """Returns rise all the way, and the share of evaluation episodes that reach the goal falls."""
    run = Edited(world)
    run.score(learned(world, 0.4))
    rate = 0.35 - world.between(0.1, 0.33) * learned(world, 0.5)
    run.curves["eval.success_rate"] = world.evaluated(np.clip(rate + 0.03 * world.rng.standard_normal(world.n), 0, 1))
    return run.curves
