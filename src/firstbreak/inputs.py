"""What detectors and causes may ask for: recorded signals, `run`, `config`, `samples`, and the derived inputs below.

Each public function is one derived input: its name is what a detector asks for, its parameters are the inputs it is
made of (no default: needed; default `None`: used if recorded). A function may return None: "the run does not show
it". The first line of its docstring says what it is, the rest what to log so that it is there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from firstbreak import signals
from firstbreak.model import Config, Link, Run, Series
from firstbreak.stats.shape import Trajectory
from firstbreak.stats.shape import trajectory as shape_of

CARRIED_ROWS = 200  #: fewer evaluations than this may well be equal ones
MIN_EVALUATIONS = 5  #: with fewer evaluations than this the training reward shows the progress better
MIN_HELD_OUT = 8  #: and with fewer held-out losses than this the training loss: five points that bend have no shape

GROUP = frozenset({"grpo", "rloo", "dapo", "gspo", "dr_grpo", "gmpo", "remax", "cispo", "online_dpo"})
ON_POLICY = frozenset(
    {"ppo", "a2c", "a3c", "trpo", "vpg", "impala", "appo", "ppg", "reinforce", "recurrentppo", "maskableppo"}
)
VALUE_BASED = frozenset(
    {
        "dqn",
        "ddqn",
        "qrdqn",
        "c51",
        "rainbow",
        "iqn",
        "apex",
        "r2d2",
        "ddpg",
        "td3",
        "sac",
        "tqc",
        "crossq",
        "redq",
        "d4pg",
    }
)
#: names of reward functions: what checks an answer, what says so plainly, and what pays for form whatever the answer
ANSWER = re.compile(
    r"answer|correct|accura|success|succeed|solv|pass|exact_match|verif|outcome|numbers?$|equation"
    r"|env(?:ironment)?_(?:reward|score|return)",  # what the environment itself pays is the task
    re.IGNORECASE,
)
PLAIN_ANSWER = re.compile(r"accura|correct|exact_match|answer|success|succeed|solv", re.IGNORECASE)
FORM = re.compile(r"format|length|lang|tag|xml|style|think|polite|structure|brevity|approx|extract", re.IGNORECASE)

PREFERENCE = frozenset({"dpo", "kto", "ipo", "orpo", "simpo", "cpo", "reward"})

#: what no supervised training has: something sampled, rewarded, preferred or imitated
NOT_SUPERVISED = re.compile(
    r"(eval\.)?(reward|pref|kl|advantage|returns|value|td_error|episode|success_rate|turns|env|epsilon|alpha|action|behave"
    r"|rollout_train|staleness|distill|rm|curiosity|policy\.(loss|clip|ratio|logp))\b"
)
#: links of the loop that only training on a policy's own samples has
OF_SAMPLING = frozenset({Link.ENVIRONMENT, Link.ROLLOUT, Link.REWARD, Link.ADVANTAGE, Link.EXPLORATION, Link.FRESHNESS})


def first_ratio(run: Run) -> Series | None:
    """How far the ratio is from 1 before the first step of an update, where it is 1 by identity: 0 is perfect.

    Log the ratio, or the clip fraction, of the first minibatch apart from the others.
    """
    for name in ("policy.ratio.absdev", "policy.clip_fraction"):
        first = run.series.get(f"{name}@first_minibatch")
        if first is not None and len(first.finite):
            return first.finite
    return None


def eval_score(
    eval_accuracy: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_pass_at_k: Series | None = None,
    eval_reward_component_mean: dict[str, Series] | None = None,
    eval_reward: Series | None = None,
) -> Series | None:
    """The evaluation: accuracy or success where there is one, else the part that checks the answer, else the reward.

    Log an evaluation on held-out prompts or in a separate environment.
    """
    checked = answer_parts(eval_reward_component_mean).values()
    candidates = [
        s.finite
        for s in (eval_accuracy, eval_success_rate, eval_pass_at_k, *checked, eval_reward)
        if s is not None and len(s.finite)
    ]
    candidates.sort(key=lambda s: "greedy" in s.raw)  # where both are logged, training samples, and so does its twin
    chosen = next((s for s in candidates if len(s) >= MIN_EVALUATIONS), candidates[0] if candidates else None)
    return None if chosen is None else _once(chosen)


def _once(evaluation: Series) -> Series:
    """Each evaluation once, where a table carries the last one through all its rows until the next."""
    starts = np.flatnonzero(np.diff(evaluation.values, prepend=np.nan) != 0)
    rows = len(evaluation)
    longest = int(np.max(np.diff(starts, append=rows)))
    if rows < CARRIED_ROWS or len(starts) < MIN_EVALUATIONS or not len(starts) * 10 <= rows or longest * 5 > rows:
        return evaluation
    return replace(evaluation, steps=evaluation.steps[starts], values=evaluation.values[starts])


def members(run: Run) -> dict[str, Series] | None:
    """The curves of several agents, seeds or environments that one log holds side by side, by member.

    Log one curve per member.
    """
    for signal in ("eval.reward", "reward.mean", "reward.episode"):
        parts = {k.partition("@")[2]: s.finite for k, s in run.series.items() if k.startswith(signal + "@")}
        parts = {name: s for name, s in parts.items() if len(s)}
        if len(parts) > 1:
            return parts
    return None


def _mean_of(curves: Mapping[str, Series]) -> Series:
    """The mean over members, on the steps of the longest one that all others cover."""
    longest = max(curves.values(), key=len)
    start, end = max(s.steps[0] for s in curves.values()), min(s.steps[-1] for s in curves.values())
    steps = longest.between(start, end).steps
    values = np.mean([np.interp(steps, s.steps, s.values) for s in curves.values()], axis=0)
    name = longest.name.partition("@")[0]
    return replace(longest, name=name, steps=steps, values=values, note=f"mean over {len(curves)} members")


def score(
    eval_score: Series | None = None,
    success_rate: Series | None = None,
    reward_mean: Series | None = None,
    reward_rollout_mean: Series | None = None,
    reward_episode: Series | None = None,
    reward_accuracy: Series | None = None,
    pref_reward_accuracy: Series | None = None,
    pref_reward_margin: Series | None = None,
    members: dict[str, Series] | None = None,
    likelihood: Series | None = None,
) -> Series | None:
    """The one curve that says whether training works: the evaluation, where it is measured often enough, else the reward.

    Log an evaluation score, or at least the mean training reward.
    """
    if eval_score is not None and len(eval_score) >= MIN_EVALUATIONS:
        return eval_score
    rewards = (reward_mean, success_rate, reward_rollout_mean, reward_episode, reward_accuracy)
    training = (*rewards, pref_reward_accuracy, pref_reward_margin)
    together = _mean_of(members) if members else None
    few = [s.finite for s in (*training, together, eval_score) if s is not None and len(s.finite)]
    return next((s for s in few if len(s) >= MIN_EVALUATIONS), few[0] if few else likelihood)  # supervised: no reward


def likelihood(
    run: Run,
    eval_loss: Series | None = None,
    sft_loss_mean: Series | None = None,
    sft_nll: Series | None = None,
    loss_total: Series | None = None,
    lr: Series | None = None,
) -> Series | None:
    """How probable a model in supervised training finds a token of its text: exp(-loss), held-out where measured often enough.

    Log the loss on held-out text.
    """
    # A loss without a name of its own is taken for that of supervised training where nothing is recorded that any other
    # method has, beside a learning rate, and it is positive throughout, as a likelihood's is and a policy's is not.
    if any(NOT_SUPERVISED.match(name) for name in run.series):
        return None
    held_out, told, plain = (
        next((s.finite for s in losses if s is not None and len(s.finite)), None)
        for losses in ((eval_loss,), (sft_loss_mean, sft_nll), (loss_total,))
    )
    training = told if told is not None else plain
    if held_out is None and told is None and (plain is None or lr is None or plain.values.min() <= 0):
        return None
    often = held_out is not None and (training is None or len(held_out) >= MIN_HELD_OUT)
    loss = held_out if often else training
    if loss is None:
        return None
    name = f"{'eval' if often else 'sft'}.likelihood"
    return replace(loss, name=name, values=np.exp(-loss.values), note=f"exp(-{loss.raw or loss.name})")


def supervised(likelihood: Series | None = None) -> bool:
    """Whether the model learns from given text, so that its loss is its score, and nothing is sampled or rewarded.

    Log the loss on held-out text.
    """
    return likelihood is not None


def score_error(
    score: Series, eval_reward_std: Series | None = None, eval_reward_count: Series | None = None
) -> Series | None:
    """The standard error of each point of the score: the spread over its episodes by the root of their number.

    Record every episode of an evaluation, as Stable-Baselines3's EvalCallback does.
    """
    spread, episodes = eval_reward_std, eval_reward_count
    if (
        score.name != "eval.reward"
        or spread is None
        or episodes is None
        or not len(spread) == len(episodes) == len(score)
    ):
        return None
    return replace(spread, name="eval.reward.error", values=spread.values / np.sqrt(np.maximum(episodes.values, 1)))


def trajectory(score: Series, score_error: Series | None = None) -> Trajectory:
    """The shape of the score: rising, plateau, flat, peaked, ...

    Log an evaluation score, or at least the mean training reward.
    """
    return shape_of(score, sd=None if score_error is None else score_error.values)


def truth(eval_score: Series | None = None, reward_component_mean: dict[str, Series] | None = None) -> Series | None:
    """What the reward is meant to stand for: an evaluation of the task, else the part of the reward that checks the answer.

    Log an evaluation on held-out prompts or in a separate environment, or the parts of the reward one by one.
    """
    candidates = (eval_score, *answer_parts(reward_component_mean).values())
    return next((s.finite for s in candidates if s is not None and len(s.finite) >= MIN_EVALUATIONS), None)


def answer_parts(reward_component_mean: dict[str, Series] | None = None) -> dict[str, Series]:
    """The components of the reward that check the answer, as far as their names tell, the plainest name first.

    Log the parts of the reward one by one.
    """
    parts = {k: s for k, s in (reward_component_mean or {}).items() if ANSWER.search(k) and not FORM.search(k)}
    return dict(sorted(parts.items(), key=lambda item: not PLAIN_ANSWER.search(item[0])))


def family(
    run: Run,
    reward_zero_std_frac: Series | None = None,
    reward_group_std: Series | None = None,
    pref_reward_margin: Series | None = None,
    epsilon: Series | None = None,
    td_error: Series | None = None,
    alpha: Series | None = None,
    policy_clip_fraction: Series | None = None,
) -> str | None:
    """How the algorithm makes its training signal: "group", "on_policy", "value_based" or "preference".

    Record the configuration, so that the algorithm is known.
    """
    algorithm = (run.algorithm or "").lower()
    for name, members in (
        ("group", GROUP),
        ("on_policy", ON_POLICY),
        ("value_based", VALUE_BASED),
        ("preference", PREFERENCE),
    ):
        if algorithm in members:
            return name
    if reward_zero_std_frac is not None or reward_group_std is not None:
        return "group"
    if pref_reward_margin is not None:
        return "preference"
    if epsilon is not None or td_error is not None or alpha is not None:
        return "value_based"
    return "on_policy" if policy_clip_fraction is not None else None


def reference_free(pref_reward_chosen: Series | None = None, pref_logp_chosen: Series | None = None) -> bool:
    """Whether the implicit rewards compare with no reference model: they are a fixed multiple of the log-probabilities.

    Log the implicit rewards and the log-probabilities of the chosen answers.
    """
    if pref_reward_chosen is None or pref_logp_chosen is None:
        return False
    rewards, logps = pref_reward_chosen.finite, pref_logp_chosen.finite
    if len(rewards) < 3 or not np.array_equal(rewards.steps, logps.steps) or not logps.values.all():
        return False
    multiple = rewards.values / logps.values  # ORPO, CPO, SimPO: beta; with a reference it starts at 0 and moves
    return bool(np.median(multiple) > 0 and np.ptp(multiple) <= 0.05 * np.median(multiple))


def writes_text(run: Run, family: str | None = None) -> bool:
    """Whether the policy is a language model, so that lengths, prompts and tokens mean something.

    Log lengths of completions, or record the configuration.
    """
    about_text = ("length.", "tokens.", "pref.", "tool.", "rollout_train.")
    return family in ("group", "preference") or any(name.startswith(about_text) for name in run.series)


def solved(
    score: Series,
    trajectory: Trajectory,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
) -> bool:
    """Whether the score sits at the top of what it can be: what falls or freezes then, does so because the task is done.

    Log an evaluation score, or at least the mean training reward.
    """
    late = score.tail(0.25).values
    if any(share in score.name for share in ("accuracy", "success_rate", "pass_at", "likelihood")):
        return bool(np.median(late) >= 0.95)
    top, spread = float(np.max(score.values)), float(np.ptp(score.values))
    if spread == 0:  # an evaluation that began at the ceiling: the training reward shows that it is one
        training = [s.finite for s in (reward_mean, reward_episode) if s is not None and s.name != score.name]
        return any(len(s) >= MIN_EVALUATIONS and np.ptp(s.values) > 0 and np.max(s.values) <= top for s in training)
    at_top = np.mean(late >= top - 0.005 * spread) if spread > 0 else 0.0
    return bool(len(score) >= MIN_EVALUATIONS and at_top >= 0.5 and not trajectory.lost)


def silent_groups(
    reward_zero_std_frac: Series | None = None,
    reward_group_std: Series | None = None,
    reward_std: Series | None = None,
    advantage_min: Series | None = None,
    advantage_max: Series | None = None,
    family: str | None = None,
) -> Series | None:
    """The share of prompt groups in which all rewards are equal: logged, or read off the spread within the groups.

    Where no spread is logged, advantages that are all exactly 0 show the steps in which every group was silent.

    Log the share of groups without reward spread, or the mean spread within a group.
    """
    if reward_zero_std_frac is not None:
        return reward_zero_std_frac
    spread = reward_group_std
    if spread is None and family == "group":
        spread = reward_std if reward_std is not None else _emptied(advantage_min, advantage_max)
    if spread is None or not len(spread.finite):
        return None
    spread = spread.finite
    return replace(
        spread,
        name="reward.zero_std_frac",
        values=(spread.values == 0).astype(float),
        note="1 where the logged spread is exactly 0, else 0: a lower bound on the share of silent groups",
    )


def _emptied(lowest: Series | None, highest: Series | None) -> Series | None:
    """The range of the advantages, where it is 0 in some step: a range that never is says nothing about single groups."""
    if lowest is None or highest is None or not np.array_equal(lowest.finite.steps, highest.finite.steps):
        return None
    apart = highest.finite.values - lowest.finite.values
    return None if apart.all() else replace(highest.finite, values=apart)


def truncation(
    config: Config,
    length_clipped_ratio: Series | None = None,
    length_mean: Series | None = None,
    length_max: Series | None = None,
) -> Series | None:
    """The share of completions that were cut at the length limit: logged, or estimated from the mean length and the limit.

    Log the share of completions that end without an EOS token.
    """
    if length_clipped_ratio is not None:
        return length_clipped_ratio
    if length_mean is None or len(length_mean.finite) < MIN_EVALUATIONS:
        return None
    lengths = length_mean.finite
    limit = length_limit(config, length_mean, length_max)
    if limit is None:
        return None
    share = np.clip((lengths.values / limit - 0.8) / 0.2, 0.0, 1.0)
    note = f"estimated from the mean length against a limit of {limit:g} tokens"
    return replace(lengths, name="length.clipped_ratio", values=share, note=note)


def length_limit(config: Config, length_mean: Series | None = None, length_max: Series | None = None) -> float | None:
    """The length limit of a completion in tokens: recorded, or seen where lengths keep hitting one highest value.

    Record the configuration of generation.
    """
    longest = max(
        (float(s.finite.values.max()) for s in (length_mean, length_max) if s is not None and len(s.finite)),
        default=0.0,
    )
    recorded = config.number("max_new_tokens")
    if recorded is not None and "max_new_tokens" not in config.defaulted and recorded >= longest:
        return recorded
    return next((limit for s in (length_max, length_mean) if s is not None and (limit := _wall(s.finite.values))), None)


def _wall(lengths: np.ndarray) -> float | None:
    """The highest length, where it is a whole number that is hit again and again."""
    top = float(lengths.max()) if len(lengths) else 0.5
    hits = int(np.sum(lengths == top))
    return top if top == round(top) and hits >= max(3, 0.05 * len(lengths)) else None


def _table(
    functions: Mapping[str, Callable[..., Any]],
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], Callable[..., Any]]]:
    table = {}
    for name, function in functions.items():
        parameters = inspect.signature(function).parameters.values()
        needs = tuple(p.name for p in parameters if p.default is p.empty)
        uses = tuple(p.name for p in parameters if p.default is not p.empty)
        table[name] = (needs, uses, function)
    return table


#: derived input -> (needed inputs, inputs used if recorded, function)
DERIVED = _table(
    {
        f.__name__: f
        for f in (
            first_ratio,
            eval_score,
            members,
            likelihood,
            supervised,
            score,
            score_error,
            trajectory,
            truth,
            answer_parts,
            family,
            solved,
            silent_groups,
            truncation,
            length_limit,
            reference_free,
            writes_text,
        )
    }
)


def missing(name: str) -> str:
    """What a user reads where a derived input could not be made: what it is, and what to log."""
    what, _, how = inspect.cleandoc(DERIVED[name][2].__doc__ or name).partition("\n")
    return f"not recorded: {what[0].lower()}{what[1:].removesuffix('.')}. {' '.join(how.split())}".strip()


class Inputs:
    """The inputs of one run by parameter name; derived ones are computed once, when first asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._known: dict[str, Any] = {"run": run, "config": run.config, "samples": run.samples}

    def get(self, name: str) -> Any:
        """The input, or None where the run does not hold it."""
        if name not in self._known:
            self._known[name] = self._derive(name) if name in DERIVED else _signal(self.run, name)
        return self._known[name]

    def _derive(self, name: str) -> Any:
        needs, uses, function = DERIVED[name]
        given = {n: self.get(n) for n in (*needs, *uses)}
        return None if any(given[n] is None for n in needs) else function(**given)


def _signal(run: Run, name: str) -> Series | dict[str, Series] | None:
    signal = signals.BY_PARAMETER[name]
    if "<" not in signal.name:
        names = (signal.name, *signals.stand_ins(signal.name))
        return next((s for name in names if (s := run.series.get(name)) is not None and len(s)), None)
    before, after = signal.name.split("<", 1)[0], signal.name.split(">", 1)[1]
    members = {
        key.removeprefix(before).removesuffix(after): series
        for key, series in run.series.items()
        if key.startswith(before) and key.endswith(after) and len(key) > len(before) + len(after)
    }
    return members or None
