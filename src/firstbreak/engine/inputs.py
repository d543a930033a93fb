"""What detectors and causes may ask for: recorded signals, `run`, `config`, `samples`, and the derived inputs below.

Each public function is one derived input. Its name is what a detector asks for; its parameters are the inputs that it is
made of (no default: needed; default `None`: used if recorded). A function returns None where the run does not show the input.
The first line of its docstring says what the input is, the rest says what to log."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from firstbreak.dialects import signals, writes_text
from firstbreak.dialects.hyperparameters import TRAINING_WRAPPERS
from firstbreak.engine import environments
from firstbreak.engine.families import DECOUPLED, METHODS, Data, Family, Method, Policy, for_family
from firstbreak.engine.stats.agreement import Fall, from_the_first, going_on, informed, won_late
from firstbreak.engine.stats.agreement import fall as fall_of
from firstbreak.engine.stats.granularity import binomial_error, problems
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory, sinks_late
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.smooth import without_spikes
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Config, Interval, Run, Series
from firstbreak.patterns import pattern
from firstbreak.plugins import BadPlugin
from firstbreak.values import dataclass, replace
from firstbreak.words import joined

T = TypeVar("T")

#: rows: in a shorter table, equal neighbours may be equal evaluations instead of one that is repeated in every row (convention)
REPEATED_ROWS = 200
MIN_EVALUATIONS = 5  #: evaluations: with fewer, the training reward shows the progress better (convention)
USUAL_TOKENS = 300.0  #: of a completion, where neither its length nor its limit is recorded (convention)
IMPROVED = 3.0  #: standard errors between the first and the last level of a score that has no shape (convention)
AT_CEILING = 0.95  #: share of the way to the largest possible score that counts as the maximum (convention)
MIN_CEILING = 8  #: scores: fewer at the top of a curve that rises are no ceiling (convention)
WINDOW = "the last 100 episodes"  #: what the note of a smoothed return says
WINDOW_EPISODES = 100
WHOLE = 0.01  #: how far a number of episodes may lie from a whole one (rounding of a mean length)
MIN_HELD_OUT = 8  #: held-out losses: with fewer, the training loss shows the progress better (convention)

#: names of reward functions: those that check an answer, those that plainly say so, and those that reward the format
ANSWER = pattern(
    r"answer|correct|accura|success|succeed|solv|pass|exact_match|verif|outcome|numbers?$|equation"
    r"|within_\w+_of|on_target|hit_?rate|env(?:ironment)?_(?:reward|score|return)",  # the environment's own reward is the task
    re.IGNORECASE,
)
PLAIN_ANSWER = pattern(r"accura|correct|exact_match|answer|success|succeed|solv", re.IGNORECASE)
GOLD = pattern(
    r"gold|oracle|ground_?truth|true_reward", re.IGNORECASE
)  #: a reward that is measured beside the trained one
PROXY = pattern(
    r"proxy|(?:^|_)(?:rm|rewards?)(?:_|$)|reward_?model", re.IGNORECASE
)  #: what the trained reward is called
FORM = pattern(r"format|length|lang|tag|xml|style|think|polite|structure|brevity|approx|extract|form", re.IGNORECASE)
RETURNED = pattern(r"return|(?:^|[^a-z])rets?(?:[^a-z]|$)", re.IGNORECASE)  #: the score of a control policy
#: words of a number of which more is better; without them, only a share of something may be one
SCORED = pattern(
    r"(?:^|_)(?:acc\w*|scor\w*|rew\w*|rets?|returns?|success\w*|wins?|won|win_?rate|pass\w*|solve\w*|correct|right|match\w*|goals?|elo"
    r"|judge|rating|gsm8?k|math\w*|aime\w*|k?mmlu\w*|humaneval|mbpp|arc|f1|bleu|rouge|gold|oracle|human|utility|profit|pnl|em)(?:_|$)",
    re.IGNORECASE,
)
#: words of a difference, whose height says nothing
APART = pattern(r"(?:^|_)(?:minus|diff\w*|gap|error|err|bias|gained|lost)(?:_|$)", re.IGNORECASE)

#: signals that supervised training does not have: sampled, rewarded, preferred or imitated
NOT_SUPERVISED = pattern(
    r"(eval\.)?(reward|pref|kl|advantage|returns|value|td_error|episode|success_rate|turns|env|epsilon|alpha|action|behave"
    r"|rollout_train|staleness|distill|rm|curiosity|policy\.(loss|clip|ratio|logp))\b"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledDiversity:
    """How varied completions are over the steps, as the samples of a dump show. The audit gives it; no curve does."""

    texts: Series  #: share of a prompt's completions that are different texts
    strategies: Series  #: effective number of strategies among the samples of a step (exponential of the entropy)
    share: float  #: of the commonest strategy at the last step
    one_text: float  #: share of the last prompts that get one and the same text
    step: float | None  #: since when the completions are alike: one strategy, and hardly a text of its own
    interval: Interval | None
    commonest: str = ""  #: the opening words of the commonest strategy of the last step


#: one of several that learn beside each other; a mean of what they are paid says nothing where one's gain is another's loss
AGENT, ALONE = (
    pattern(r"(?:agent|player|team|policy|robot|predator|prey|adversary)[_-]?\d+"),
    ("reward.", "eval.", "progress."),
)
DETERMINISTIC = ("ddpg", "td3")  #: their policy has minus a Q value as its loss, and nothing else
#: a key of the evaluation's own settings; wrappers that change what a policy sees or does; settings of observations
_HELD_OUT = pattern(r"^(?:evaluation|eval|test)(?:_config|_env)?[._]|(?<=\.)(?:eval|evaluation)(?:_config)?\.")
_CHANGES = pattern(
    r"^(?!.*reward).*(?:norm|scale|stack|resize|gray|flatten|clip|frame|transform|filter)", re.IGNORECASE
)
_FILTERS = pattern(r"(?:obs\w*)_?(?:filter|norm\w*)|normali[sz]e_obs\w*|norm_obs|frame_?(?:stack|skip)", re.IGNORECASE)
COMPUTED = "computed from "  #: before what a curve is made of, in place of the name in the log


def _computed(series: Series, name: str, values: np.ndarray, note: str) -> Series:
    return replace(series, name=name, raw=f"{COMPUTED}{series.raw or series.name}", values=values, note=note)


def first_ratio(run: Run) -> Series | None:
    """How far the ratio is from 1 before the first optimizer step on a batch, where it must be 1.

    Log the ratio, or the clip fraction, of the first minibatch separately.
    """
    for name in ("policy.ratio.absdev", "policy.clip_fraction"):
        first = run.series.get(f"{name}@first_minibatch")
        if first is not None and len(first.finite):
            return first.finite
    mean = run.series.get("policy.ratio.mean@first_minibatch")
    if mean is None or not len(mean.finite):
        return None
    return replace(mean.finite, name="policy.ratio.absdev@first_minibatch", values=np.abs(mean.finite.values - 1))


def divergence(
    config: Config,
    kl_ref: Series | None = None,
    kl_ref_seq_sum: Series | None = None,
    length_mean: Series | None = None,
) -> Series | None:
    """The KL divergence from the policy at the start: logged, or a logged sum divided by its length.

    Log it: set the coefficient of its penalty above 0.
    """
    if kl_ref is not None or kl_ref_seq_sum is None:
        return kl_ref
    sums = kl_ref_seq_sum.finite
    tokens = np.full(len(sums), config.number("max_new_tokens") or USUAL_TOKENS)
    if length_mean is not None and len(length_mean.finite):
        tokens = np.interp(sums.steps, length_mean.finite.steps, length_mean.finite.values)
    return replace(sums, values=sums.values / np.maximum(tokens, 1.0), note="per token, from the sum over a completion")


def data_age(
    staleness_mean: Series | None = None,
    policy_version_mean: Series | None = None,
    policy_version_train: Series | None = None,
) -> Series | None:
    """The age of the data, in policy versions: logged, or the version in training minus the version that sampled.

    A version in training that is not logged is the number of the update, where the log begins with data of that version.
    Log the version of the weights that sample.
    """
    if staleness_mean is not None or policy_version_mean is None:
        return staleness_mean
    sampled, train = policy_version_mean.finite, policy_version_train
    if train is None:
        counted = sampled.axis in ("step", "iteration") and len(sampled) and sampled.steps[0] - sampled.values[0] <= 1
        train = replace(sampled, values=sampled.steps) if counted else sampled.head(0.0)
    _, i, j = np.intersect1d(train.finite.steps, sampled.steps, return_indices=True)
    ages = train.finite.values[i] - sampled.values[j]
    return replace(sampled, steps=sampled.steps[j], values=ages) if len(ages) > 1 and ages.min() >= 0 else None


def engines_kl(
    rollout_train_kl: Series | None = None,
    policy_logp_rollout: Series | None = None,
    policy_logp_old: Series | None = None,
) -> Series | None:
    """The KL divergence of the trainer from the sampler: logged, or the difference of their mean log-probabilities of the
    sampled tokens.

    Log it, or both means.
    """
    if rollout_train_kl is not None or policy_logp_rollout is None or policy_logp_old is None:
        return rollout_train_kl
    sampler, trainer = policy_logp_rollout.finite, policy_logp_old.finite
    _, i, j = np.intersect1d(sampler.steps, trainer.steps, return_indices=True)
    apart = sampler.values[i] - trainer.values[j]
    raw = f"{COMPUTED}{sampler.raw} - {trainer.raw}"
    return replace(sampler, name="rollout_train.kl", raw=raw, steps=sampler.steps[i], values=apart)


def critic_value(run: Run, value_mean: Series | None = None, policy_loss: Series | None = None) -> Series | None:
    """The mean value of the critic: logged, or minus the loss of a deterministic policy, which maximises it.

    Log it.
    """
    if value_mean is not None or policy_loss is None or (run.algorithm or "").lower() not in DETERMINISTIC:
        return value_mean
    return _computed(policy_loss, "value.mean", -policy_loss.values, "minus the loss of the policy")


def evaluation_lacks(config: Config) -> str | None:
    """What changes the observations or actions of training only, by the script or the configuration.

    Record the wrappers of both environments.
    """
    raw = config.raw
    if built := raw.get(TRAINING_WRAPPERS):
        return str(built)
    for key, value in raw.items():
        held = _HELD_OUT.sub("", key) if _HELD_OUT.search(key) else ""
        trained = next(
            (raw[k] for k in (held, f"train{held}", f"train_{held}", f"training_{held}") if held and k in raw), None
        )
        if isinstance(value, list) and isinstance(trained, list):
            missing = [str(one) for one in trained if one not in value and _CHANGES.search(str(one))]
            if missing:
                return joined(missing)
        elif trained and value != trained and _FILTERS.search(held) and not isinstance(value, Mapping):
            return f"{held}={trained}"
    return None


def eval_score(
    eval_accuracy: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_pass_at_k: Series | None = None,
    eval_reward_component_mean: dict[str, Series] | None = None,
    independent: dict[str, Series] | None = None,
    eval_reward: Series | None = None,
    eval_pref_reward_accuracy: Series | None = None,
    eval_rm_accuracy: Series | None = None,
    eval_sources: dict[str, Series] | None = None,
) -> Series | None:
    """The evaluation score: accuracy or success rate (the mean over several sets of problems), else the part of the reward
    that checks the answer, else the reward.

    preference: It is the share of held-out pairs that are ordered right.

    text: Log an evaluation on held-out prompts.
    control: Log an evaluation in a separate environment.
    """
    checked = answer_parts(eval_reward_component_mean).values()
    shares = {name: s for name, s in (eval_sources or {}).items() if s.values.min() >= 0 and s.values.max() <= 1}
    returned = eval_reward if eval_reward is not None and RETURNED.search(eval_reward.raw) else None
    candidates = [
        s.finite
        for s in (
            eval_accuracy,
            eval_success_rate,
            eval_pass_at_k,
            _mean_of(shares, "sets of problems") if len(shares) > 1 else None,
            *checked,
            returned,
            *(independent or {}).values(),
            eval_reward,
            eval_pref_reward_accuracy,
            eval_rm_accuracy,
        )
        if s is not None and len(s.finite)
    ]
    candidates.sort(key=lambda s: "greedy" in s.raw)  # where both are logged, the sampled one compares with training
    chosen = next((s for s in candidates if len(s) >= MIN_EVALUATIONS), candidates[0] if candidates else None)
    return None if chosen is None else _once(chosen)


def eval_sources(run: Run) -> dict[str, Series] | None:
    """The evaluation on each of several sets of problems, by set.

    Log one score for each set of held-out problems.
    """
    asked = (s for s in ("eval.accuracy", "eval.success_rate", "eval.pass_at_k") if s not in run.series)
    # `@math maj@8` is another score
    found = ({name: s for name, s in _slices(run, signal).items() if " " not in name} for signal in asked)
    return next(filter(None, found), None)


def independent(
    eval_named: dict[str, Series] | None = None,
    eval_reward_component_mean: dict[str, Series] | None = None,
    reward_component_mean: dict[str, Series] | None = None,
    eval_sources: dict[str, Series] | None = None,
    eval_accuracy: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_pref_reward_accuracy: Series | None = None,
) -> dict[str, Series] | None:
    """The evaluations that measure something else than the trained reward, each under its own name; what is called a reward
    last, and of sets of problems those whose score is a share first.

    Log a score of held-out data that the reward does not see.
    """
    parts = eval_reward_component_mean or {}
    trained = reward_component_mean or {}
    own = {name: s for name, s in parts.items() if GOLD.search(name) or not (name in trained or FORM.search(name))}
    found = {name: s.finite for name, s in {**(eval_named or {}), **(eval_sources or {}), **own}.items()}
    found = {name: s for name, s in found.items() if len(s) >= MIN_EVALUATIONS and np.ptp(s.values) > 0}
    others = any(s is not None for s in (eval_accuracy, eval_success_rate, eval_pref_reward_accuracy))
    share = {name for name, s in found.items() if 0 <= s.values.min() <= s.values.max() <= 1 and not others}
    found = {name: s for name, s in found.items() if SCORED.search(name) or name in share}
    found = {
        n: s for n, s in found.items() if not APART.search(n) and (n not in (eval_named or {}) or not FORM.search(n))
    }
    order = sorted(found, key=lambda n: (not GOLD.search(n), PROXY.search(n) is not None, found[n].values.max() > 1))
    return {name: found[name] for name in order} or None


def _once(evaluation: Series) -> Series:
    """Each evaluation once, where a table repeats it in all rows until the next one."""
    starts = np.flatnonzero(np.diff(evaluation.values, prepend=np.nan) != 0)
    rows = len(evaluation)
    longest = int(np.max(np.diff(starts, append=rows)))
    if rows < REPEATED_ROWS or len(starts) < MIN_EVALUATIONS or not len(starts) * 10 <= rows or longest * 5 > rows:
        return evaluation
    return replace(evaluation, steps=evaluation.steps[starts], values=evaluation.values[starts])


#: what is read off a machine, in the course of time
MACHINE = ("gpu.util", "gpu.power", "memory.gpu", "gpu.memory_share", "gpu.memory_size")


def machine(run: Run) -> dict[str, list[Series]] | None:
    """Readings of the GPUs: signal -> one curve for each GPU, those of nvidia-smi, wandb or the trainer.

    Write `nvidia-smi --query-gpu=timestamp,index,utilization.gpu,power.draw,memory.used,memory.total --format=csv -l 10` into a
    file beside the log.
    """
    found = {
        signal: [s.finite for name, s in run.series.items() if name.partition("@")[0] == signal and len(s.finite)]
        for signal in MACHINE
    }
    return {signal: curves for signal, curves in found.items() if curves} or None


def members(run: Run) -> dict[str, Series] | None:
    """The curves of several agents, seeds or environments in one log, by member.

    Log one curve for each member.
    """
    found = (_slices(run, signal) for signal in ("eval.reward", "reward.mean", "reward.episode"))
    return next((parts for parts in found if len(parts) > 1 and not _against_each_other(parts)), None)


def _against_each_other(parts: Mapping[str, Series]) -> bool:
    """Whether what one gains another loses: their mean is then hardly more than rounding."""
    together = _mean_of(parts).values
    return len(together) > 0 and bool(np.ptp(together) < 0.01 * max(float(np.ptp(s.values)) for s in parts.values()))


def _slices(run: Run, signal: str) -> dict[str, Series]:
    """The curves of `signal@part`, by part."""
    parts = {k.partition("@")[2]: s.finite for k, s in run.series.items() if k.startswith(signal + "@")}
    return {name: s for name, s in parts.items() if len(s)}


def _mean_of(curves: Mapping[str, Series], what: str = "members") -> Series:
    """The mean over the members, on those steps of the longest curve that all others cover."""
    longest = max(curves.values(), key=len)
    start, end = max(s.steps[0] for s in curves.values()), min(s.steps[-1] for s in curves.values())
    steps = longest.between(start, end).steps
    values = np.mean([np.interp(steps, s.steps, s.values) for s in curves.values()], axis=0)
    name = longest.name.partition("@")[0]
    raw = f"{COMPUTED}{len(curves)} {what}"
    return replace(longest, name=name, raw=raw, steps=steps, values=values, note=f"mean over {len(curves)} {what}")


def training_score(
    success_rate: Series | None = None,
    reward_mean: Series | None = None,
    reward_rollout_mean: Series | None = None,
    reward_episode: Series | None = None,
    reward_accuracy: Series | None = None,
    pref_reward_accuracy: Series | None = None,
    pref_reward_margin: Series | None = None,
    rm_accuracy: Series | None = None,
    preference_likelihood: Series | None = None,
    members: dict[str, Series] | None = None,
    progress_episodes: Series | None = None,
    episode_length: Series | None = None,
    value_loss: Series | None = None,
) -> Series | None:
    """The curve of the training reward: of all rollouts where it is logged, because a filter decides that of the trained ones.

    Log the mean training reward.
    """
    if reward_mean is not None and WINDOW in reward_mean.note:
        reward_mean = _between_rows(reward_mean.finite, progress_episodes, episode_length)
    if _of_a_step(reward_mean, reward_episode, episode_length) or _cancels(reward_mean, value_loss):
        reward_mean = None
    rewards = (reward_rollout_mean, reward_mean, success_rate, reward_episode, reward_accuracy)
    together = _mean_of(members) if members else None
    few = [
        s.finite
        for s in (*rewards, pref_reward_accuracy, rm_accuracy, pref_reward_margin, preference_likelihood, together)
        if s is not None and len(s.finite)
    ]
    return next((s for s in few if len(s) >= MIN_EVALUATIONS), few[0] if few else None)


def _cancels(reward: Series | None, value_loss: Series | None) -> bool:
    """Whether a mean that is always 0 is one of gains and losses (a game against oneself): a critic still has much to learn."""
    if reward is None or value_loss is None or len(value_loss.finite) < MIN_EVALUATIONS or reward.finite.values.any():
        return False
    return median(value_loss.finite.tail(0.25).values) > 0.1 * median(value_loss.finite.head(0.25).values) > 0


def _of_a_step(reward: Series | None, episode: Series | None, length: Series | None) -> bool:
    """Whether the mean reward is one of steps: times the length of an episode, it is about the return of one."""
    if any(s is None or len(s.finite) < MIN_EVALUATIONS for s in (reward, episode, length)):
        return False
    step, whole, steps = (median(s.finite.values) for s in (reward, episode, length) if s is not None)
    return steps > 2 and abs(step * steps - whole) <= 0.5 * abs(whole) and abs(step - whole) > 0.5 * abs(whole)


def _between_rows(reward: Series, episodes: Series | None, length: Series | None) -> Series:
    """The mean of the episodes since the row before, where the logged mean is one of all episodes so far.

    Such a mean starts with one or a few episodes and moves ever less, which looks like a course without noise. How many there
    were is logged, or a row was written at the end of each: then the steps are a whole number of mean lengths.
    """
    if episodes is not None and np.array_equal(reward.steps, episodes.finite.steps):
        count = episodes.finite.values
    elif length is not None and np.array_equal(reward.steps, length.finite.steps) and (length.finite.values > 0).all():
        exact = reward.steps / length.finite.values
        count = np.round(exact)
        if np.abs(exact - count).max(initial=0.0) > WHOLE:
            return reward
    else:
        return reward
    if len(count) < 2 or count[0] < 1 or count[-1] > WINDOW_EPISODES or not (np.diff(count) > 0).all():
        return reward
    between = np.diff(reward.values * count, prepend=0.0) / np.diff(count, prepend=0.0)
    return replace(reward, values=between, note=reward.note.replace(WINDOW, "the episodes since the row before"))


def preference_likelihood(pref_loss: Series | None = None) -> Series | None:
    """Mean probability that the chosen answer is given over the rejected one: exp(-loss), for a loss of -log sigmoid.

    Log the loss of training on preference pairs.
    """
    if pref_loss is None or not len(pref_loss.finite) or pref_loss.finite.values.min() < 0:
        return None
    loss = pref_loss.finite
    return _computed(loss, "pref.likelihood", np.exp(-loss.values), f"exp(-{loss.raw or loss.name})")


def score(
    eval_score: Series | None = None, training_score: Series | None = None, likelihood: Series | None = None
) -> Series | None:
    """The curve that shows whether training works: the evaluation score if there are enough evaluations, else the reward.

    Log an evaluation score, or at least the mean training reward.
    """
    given = [s for s in (eval_score, training_score) if s is not None]
    return next((s for s in given if len(s) >= MIN_EVALUATIONS), given[-1] if given else likelihood)


def likelihood(
    run: Run,
    eval_loss: Series | None = None,
    sft_loss_mean: Series | None = None,
    sft_nll: Series | None = None,
    loss_total: Series | None = None,
    lr: Series | None = None,
) -> Series | None:
    """Mean probability that a model in supervised training gives to a token: exp(-loss), held-out if measured often enough.

    Log the loss on held-out text.
    """
    # A loss without a specific name is the loss of supervised training if a learning rate is recorded, no signal of another
    # method is recorded, and all its values are positive: a negative log-likelihood is positive, a policy loss is not.
    if any(NOT_SUPERVISED.match(name) for name in run.series):
        return None
    held_out, named, plain = (
        next((s.finite for s in losses if s is not None and len(s.finite)), None)
        for losses in ((eval_loss,), (sft_loss_mean, sft_nll), (loss_total,))
    )
    training = named if named is not None else plain
    if held_out is None and named is None and (plain is None or lr is None or plain.values.min() <= 0):
        return None
    enough = held_out is not None and (training is None or len(held_out) >= MIN_HELD_OUT)
    loss = held_out if enough else training
    if loss is None:
        return None
    name = f"{'eval' if enough else 'sft'}.likelihood"
    return _computed(loss, name, np.exp(-loss.values), f"exp(-{loss.raw or loss.name})")


def supervised(likelihood: Series | None = None) -> bool:
    """Whether the model learns from given text: nothing is sampled or rewarded, and the loss is the score.

    Log the loss on held-out text.
    """
    return likelihood is not None


def score_error(
    score: Series,
    eval_score: Series | None = None,
    eval_reward_std: Series | None = None,
    eval_reward_count: Series | None = None,
) -> Series | None:
    """The standard error of each evaluation: that of a share of so many problems, or the standard deviation over its episodes,
    divided by the root of their number.

    Record every episode of an evaluation, as Stable-Baselines3's EvalCallback does.
    """
    if score is eval_score and (n := problems(score.values)) is not None:
        return replace(score, name=f"{score.name}.error", values=binomial_error(score.values, n), note=f"{n} problems")
    spread, episodes = eval_reward_std, eval_reward_count
    if (
        score.name != "eval.reward"
        or spread is None
        or episodes is None
        or not len(spread) == len(episodes) == len(score)
    ):
        return None
    return replace(spread, name="eval.reward.error", values=spread.values / np.sqrt(np.maximum(episodes.values, 1)))


def second_score(
    score: Series, eval_score: Series | None = None, training_score: Series | None = None
) -> Series | None:
    """The training reward where the evaluation is the score, and the two are not one curve under two names.

    Log an evaluation score and the mean training reward.
    """
    if score is not eval_score or training_score is None or len(training_score) < MIN_EVALUATIONS:
        return None
    same = len(score) == len(training_score) and np.allclose(score.values, training_score.values)
    return None if same else training_score


def fall(score: Series, second_score: Series) -> Fall | None:
    """A fall of the evaluation to its end, as it is seen beside the training reward.

    Log an evaluation score and the mean training reward.
    """
    return fall_of(score, second_score)


def trajectory(
    score: Series, score_error: Series | None = None, fall: Fall | None = None, second_score: Series | None = None
) -> Trajectory:
    """The shape of the score: rising, plateau, flat, peaked, ...

    Log an evaluation score, or at least the mean training reward.
    """
    error = None if score_error is None else score_error.values
    shape = informed(shape_of(score, sd=error), fall)
    if score.name.startswith("eval.") and not shape.learned:
        shape = from_the_first(score, score_error, shape)
    if second_score is None or (error is not None and sinks_late(score)):
        return shape
    return going_on(shape, won_late(score, error), won_late(second_score))


def eval_trajectory(
    eval_score: Series, eval_reward_std: Series | None = None, eval_reward_count: Series | None = None
) -> Trajectory:
    """The course of the evaluation, whichever score is asked about.

    Log an evaluation on held-out prompts or in a separate environment.
    """
    error = score_error(eval_score, eval_score, eval_reward_std, eval_reward_count)
    return shape_of(eval_score, None if error is None else error.values)


def kept(trajectory: Trajectory, second_score: Series | None = None, method: Method | None = None) -> bool:
    """Whether the score improved and is still there, and the training reward beside an evaluation was not lost either.

    A few evaluations have no shape yet: there the end has to lie clearly above the start. An evaluation that was from its
    first value on where the training reward came to has nothing to gain. Preference pairs can be learned by heart, so their
    score excuses nothing. Log an evaluation score, or at least the mean training reward.
    """
    if method is Method.PREFERENCE:
        return False
    training = None if second_score is None else shape_of(second_score)
    if training is not None and (training.lost or training.kind == "oscillating"):
        return False
    if _there_already(trajectory, training):
        return True
    if trajectory.lost or trajectory.kind == "oscillating":
        return False
    return trajectory.learned or trajectory.end - trajectory.start > IMPROVED * 2**0.5 * trajectory.level_noise > 0


def _there_already(evaluation: Trajectory, training: Trajectory | None) -> bool:
    if training is None or not training.learned:
        return False
    near = (1 - AT_CEILING) * (training.end - training.start)
    return all(abs(level - training.end) <= near for level in (evaluation.start, evaluation.end))


def truth(eval_score: Series | None = None, reward_component_mean: dict[str, Series] | None = None) -> Series | None:
    """What the reward should measure: an evaluation of the task, else the part of the reward that checks the answer.

    Log an evaluation on held-out data or in a separate environment, or each part of the reward.
    """
    candidates = (eval_score, *answer_parts(reward_component_mean).values())
    return next((s.finite for s in candidates if s is not None and len(s.finite) >= MIN_EVALUATIONS), None)


def answer_parts(reward_component_mean: dict[str, Series] | None = None) -> dict[str, Series]:
    """The components of the reward that check the answer, according to their names, the plainest name first.

    Log each component of the reward.
    """
    parts = {k: s for k, s in (reward_component_mean or {}).items() if ANSWER.search(k) and not FORM.search(k)}
    return dict(sorted(parts.items(), key=lambda item: not PLAIN_ANSWER.search(item[0])))


#: settings that only one kind of method has
SETTINGS: Mapping[Method, frozenset[str]] = {
    Method.VALUE_BASED: frozenset(
        {"target_update_interval", "exploration_initial", "exploration_final", "learning_starts"}
    ),
    Method.ACTOR_CRITIC: frozenset({"gae_lambda", "value_coef"}),
}


def method(
    run: Run,
    supervised: bool | None = None,
    reward_zero_std_frac: Series | None = None,
    reward_group_std: Series | None = None,
    pref_reward_margin: Series | None = None,
    pref_loss: Series | None = None,
    epsilon: Series | None = None,
    td_error: Series | None = None,
    alpha: Series | None = None,
    policy_clip_fraction: Series | None = None,
) -> Method | None:
    """How the algorithm makes its training signal.

    Record the configuration, so that the algorithm is known.
    """
    if supervised:
        return Method.SUPERVISED
    named = METHODS.get((run.algorithm or "").lower())
    if named is not None:
        return named
    if reward_zero_std_frac is not None or reward_group_std is not None:
        return Method.GROUP_RELATIVE
    if pref_reward_margin is not None or pref_loss is not None:
        return Method.PREFERENCE
    if epsilon is not None or td_error is not None or alpha is not None:
        return Method.VALUE_BASED
    if policy_clip_fraction is not None:
        return Method.ACTOR_CRITIC
    if (run.config.recorded("group_size") or 1) > 1:
        return Method.GROUP_RELATIVE
    recorded = run.config.values.keys() - run.config.defaulted
    return next((method for method, settings in SETTINGS.items() if recorded & settings), None)


def reference_free(pref_reward_chosen: Series | None = None, pref_logp_chosen: Series | None = None) -> bool:
    """Whether the implicit rewards use no reference model: they are then a fixed multiple of the log-probabilities.

    Log the implicit rewards and the log-probabilities of the chosen answers.
    """
    if pref_reward_chosen is None or pref_logp_chosen is None:
        return False
    rewards, logps = pref_reward_chosen.finite, pref_logp_chosen.finite
    if len(rewards) < 3 or not np.array_equal(rewards.steps, logps.steps) or not logps.values.all():
        return False
    multiple = rewards.values / logps.values  # ORPO, CPO, SimPO: beta; with a reference it starts at 0 and moves
    return bool(median(multiple) > 0 and np.ptp(multiple) <= 0.05 * median(multiple))


def family(run: Run, method: Method | None = None) -> Family:
    """The kind of run: what the policy does, how its training signal is made, and whose data it learns from.

    Record the configuration, and the lengths of completions or of episodes.
    """
    steps = "proof.steps" in run.series  # the recorder was given steps of an environment
    lengths = () if method is Method.VALUE_BASED else ("length.",)  # beside a replay buffer, `len` is of an episode
    about_text = (*lengths, "tokens.", "pref.", "tool.", "rollout_train.", "proof.")
    text = (
        method in (Method.GROUP_RELATIVE, Method.PREFERENCE)
        or writes_text(run.trainer)
        or any(
            name.startswith(about_text)
            and not (steps and name.startswith("proof."))
            and name != "length.terminated_frac"
            for name in run.series
        )
    )
    episodes = bool({"episode.length", "reward.episode"} & run.series.keys())
    counted = run.trainer is not None and "progress.env_steps" in run.series  # nothing counts the tokens of a text so
    acts = steps or episodes or counted or method is Method.VALUE_BASED
    fresh = method in (Method.GROUP_RELATIVE, Method.ACTOR_CRITIC) and run.algorithm not in DECOUPLED
    return Family(
        policy=Policy.TEXT if text else Policy.CONTROL,
        policy_known=text or acts,
        method=method,
        data=None if method is None else Data.ON_POLICY if fresh else Data.OFF_POLICY,
    )


def policy(family: Family) -> Policy:
    """What the policy does: write text, or act in an environment.

    Record the configuration, or log the lengths of completions or of episodes.
    """
    return family.policy


#: words of scores that are shares
SHARES = ("accuracy", "success_rate", "pass_at", "likelihood", "exact_match", "pass1", "top1", "win_rate", "solve_rate")


def highest(score: Series, config: Config) -> float | None:
    """The largest value that a score can have: 1 for a share, and the documented maximum of some environments.

    None where the score exceeds it: it is in percent, or counted, or another reward than the documented one.
    """
    share = any(name in score.name for name in SHARES)
    rewarded = score.name.startswith(("reward", "eval.reward"))
    known = 1.0 if share else environments.highest(config) if rewarded else None
    return known if known is not None and len(score) and float(np.max(score.values)) <= known else None


def solved(
    score: Series,
    trajectory: Trajectory,
    config: Config,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    lr: Series | None = None,
) -> bool | None:
    """Whether the score is at its maximum: what falls or stops changing then, does so because the task is solved.

    None where nothing says what the maximum is: a share has one, some environments have a documented one, and else a score
    has to stay at its top for `MIN_CEILING` points. Log an evaluation score, or at least the mean training reward.
    """
    late = score.tail(0.25).values
    if (known := highest(score, config)) is not None:
        share = not score.name.startswith(("reward", "eval.reward"))  # it begins at 0, whatever random actions score
        lowest = 0.0 if share else environments.random(config) or 0.0
        return bool(median(late) >= lowest + AT_CEILING * (known - lowest))
    if lr is not None and len(lr.finite) and not lr.finite.tail(0.25).values.any():
        return None  # a policy that no update changes stays where it is
    top, spread = float(np.max(score.values)), float(np.ptp(score.values))
    if spread == 0:  # an evaluation at its maximum from the start: the training reward shows whether it is one
        training = [s.finite for s in (reward_mean, reward_episode) if s is not None and s.name != score.name]
        moved = (s for s in training if len(s) >= MIN_EVALUATIONS and np.ptp(without_spikes(s.values)) > 0)
        return True if any(np.max(s.values) <= top for s in moved) else None
    at_top = late >= top - 0.005 * spread
    if len(late) < MIN_CEILING:
        below = score.values < top - 0.005 * spread
        return True if not below[-MIN_CEILING:].any() and len(score) > MIN_CEILING else None
    return bool(np.mean(at_top) >= 0.5 and not trajectory.lost and not trend(late, 0.99).rising)


def zero_variance_groups(
    reward_zero_std_frac: Series | None = None,
    reward_group_std: Series | None = None,
    reward_std: Series | None = None,
    advantage_min: Series | None = None,
    advantage_max: Series | None = None,
    method: Method | None = None,
) -> Series | None:
    """The share of zero-variance groups: logged, or taken from the standard deviation of the rewards within a group.

    Log the share of groups whose rewards are all equal, or the mean standard deviation of the rewards within a group.
    """
    if reward_zero_std_frac is not None:
        return reward_zero_std_frac
    spread = reward_group_std
    if spread is None and method is Method.GROUP_RELATIVE:
        spread = reward_std if reward_std is not None else _range(advantage_min, advantage_max)
    if spread is None or not len(spread.finite):
        return None
    spread = spread.finite
    note = (
        "1 where the logged standard deviation is exactly 0, else 0: a lower bound on the share of zero-variance groups"
    )
    return _computed(spread, "reward.zero_std_frac", (spread.values == 0).astype(float), note)


def _range(lowest: Series | None, highest: Series | None) -> Series | None:
    """The range of the advantages, if it is 0 in some step: in these steps no group had any variance. A range that is never 0
    says nothing about single groups."""
    if lowest is None or highest is None or not np.array_equal(lowest.finite.steps, highest.finite.steps):
        return None
    apart = highest.finite.values - lowest.finite.values
    return None if apart.all() else replace(highest.finite, values=apart)


def truncation(
    config: Config,
    length_clipped_ratio: Series | None = None,
    length_mean: Series | None = None,
    length_max: Series | None = None,
    length_terminated_frac: Series | None = None,
) -> Series | None:
    """The share of completions that are cut at the length limit: logged, or estimated from the mean length and the limit.

    Log the share of completions that end without an EOS token.
    """
    if length_clipped_ratio is not None:
        return length_clipped_ratio
    if length_terminated_frac is not None and len(length_terminated_frac.finite):
        ended = length_terminated_frac.finite
        return _computed(ended, "length.clipped_ratio", 1 - ended.values, "those without an end token")
    if length_mean is None or len(length_mean.finite) < MIN_EVALUATIONS:
        return None
    lengths = length_mean.finite
    limit = length_limit(config, length_mean, length_max)
    if limit is None:
        return None
    share = np.clip((lengths.values / limit - 0.8) / 0.2, 0.0, 1.0)
    note = f"estimated from the mean length against a limit of {limit:g} tokens"
    return _computed(lengths, "length.clipped_ratio", share, note)


SHORTEST_LIMIT = 8  #: tokens: nobody sets a smaller one, and an answer of so few may just be that long (convention)


def length_limit(config: Config, length_mean: Series | None = None, length_max: Series | None = None) -> float | None:
    """The length limit of a completion in tokens: recorded, or the highest length if many completions have exactly it.

    Record the configuration of generation.
    """
    longest = max(
        (float(s.finite.values.max()) for s in (length_mean, length_max) if s is not None and len(s.finite)),
        default=0.0,
    )
    recorded = config.number("max_new_tokens")
    if recorded is not None and "max_new_tokens" not in config.defaulted and recorded >= longest:
        return recorded
    found = (_repeated_maximum(s.finite.values) for s in (length_max, length_mean) if s is not None)
    return next((limit for limit in found if limit is not None and limit >= SHORTEST_LIMIT), None)


def _repeated_maximum(lengths: np.ndarray) -> float | None:
    """The highest length, if it is a whole number that many steps have."""
    top = float(lengths.max()) if len(lengths) else 0.5
    hits = int(np.sum(lengths == top))
    return top if top == round(top) and hits >= max(3, 0.05 * len(lengths)) else None


class Derived(Generic[T]):
    """A derived input as an attribute of `Inputs`: computed once, when first asked for; None where its inputs are missing."""

    def __init__(self, made: Callable[..., T]) -> None:
        names, defaults = made.__code__.co_varnames[: made.__code__.co_argcount], made.__defaults__ or ()
        self.made, self.name = made, made.__name__
        self.needs, self.uses = names[: len(names) - len(defaults)], names[len(names) - len(defaults) :]

    def __set_name__(self, owner: type, name: str) -> None:
        assert name == self.name, f"{name} is made by {self.name}"
        DERIVED[name] = self

    def __get__(self, inputs: Inputs, owner: type | None = None) -> T | None:
        found: T | None = inputs.ask(self.name)
        return found

    def of(self, inputs: Inputs) -> T | None:
        """The input of one run."""
        given = {name: inputs.ask(name) for name in (*self.needs, *self.uses)}
        return None if any(given[name] is None for name in self.needs) else self.made(**given)

    def missing(self, family: Family) -> str:
        """What a user of a run of that family reads where the input is missing: what it is, and what to log."""
        first, _, how = inspect.cleandoc(self.made.__doc__ or self.name).partition("\n\n")
        what, told = (
            " ".join(first.split()),
            " ".join(filter(None, (for_family(line, family) for line in how.split("\n")))),
        )
        return f"not recorded: {what[0].lower()}{what[1:].removesuffix('.')}. {told}".strip()


class Always(Derived[T]):
    """A derived input that every run has."""

    def __get__(self, inputs: Inputs, owner: type | None = None) -> T:
        found: T = inputs.ask(self.name)
        return found


GIVEN = ("run", "config", "samples", "sampled_diversity")  #: inputs that are not made of others
DERIVED: dict[str, Derived[Any]] = {}  #: derived input by name, in the order of `Inputs`


class Recorded:
    """A signal as an attribute of `Inputs`: its curve, or None where it was not recorded (`kl.ref` is `kl_ref`)."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        if name not in signals.BY_PARAMETER:
            raise BadPlugin(f"{owner.__module__}.{owner.__name__}: {name!r} is no signal")

    def __get__(self, inputs: Inputs, owner: type | None = None) -> Series | None:
        found: Series | None = inputs.ask(self.name)
        return found


class RecordedParts(Recorded):
    """The same for a signal with parts, such as the components of the reward: part -> curve."""

    def __get__(self, inputs: Inputs, owner: type | None = None) -> dict[str, Series] | None:  # type: ignore[override]
        found: dict[str, Series] | None = inputs.ask(self.name)
        return found


class Inputs:
    """The inputs of one run. What the engine, causes and experiments ask for is an attribute with a type; a check asks by the
    names of its parameters (`ask`)."""

    first_ratio = Derived(first_ratio)
    divergence = Derived(divergence)
    data_age = Derived(data_age)
    engines_kl = Derived(engines_kl)
    critic_value = Derived(critic_value)
    evaluation_lacks = Derived(evaluation_lacks)
    eval_score = Derived(eval_score)
    eval_sources = Derived(eval_sources)
    independent = Derived(independent)
    machine = Derived(machine)
    members = Derived(members)
    likelihood = Derived(likelihood)
    preference_likelihood = Derived(preference_likelihood)
    supervised = Always(supervised)
    training_score = Derived(training_score)
    score = Derived(score)
    score_error = Derived(score_error)
    second_score = Derived(second_score)
    fall = Derived(fall)
    trajectory = Derived(trajectory)
    eval_trajectory = Derived(eval_trajectory)
    kept = Derived(kept)
    truth = Derived(truth)
    answer_parts = Derived(answer_parts)
    method = Derived(method)
    family = Always(family)
    policy = Always(policy)
    solved = Derived(solved)
    zero_variance_groups = Derived(zero_variance_groups)
    truncation = Derived(truncation)
    length_limit = Derived(length_limit)
    reference_free = Derived(reference_free)

    advantage_std = Recorded()
    eval_accuracy = Recorded()
    eval_loss = Recorded()
    eval_pass_at_k = Recorded()
    eval_reward = Recorded()
    eval_success_rate = Recorded()
    grad_norm = Recorded()
    kl_old = Recorded()
    kl_ref = Recorded()
    length_mean = Recorded()
    lr = Recorded()
    policy_entropy = Recorded()
    reward_mean = Recorded()
    staleness_max = Recorded()
    tool_call_freq = Recorded()
    tool_failure_freq = Recorded()
    eval_reward_component_mean = RecordedParts()
    reward_component_mean = RecordedParts()

    def __init__(self, run: Run, score: Series | None = None) -> None:
        """`score`: the curve to judge the run by, instead of the one that `score` would choose."""
        if not isinstance(run, Run):
            raise TypeError(f"a {type(run).__name__} is no run: read it first, with firstbreak.read({str(run)[:60]!r})")
        self.run = run
        self._known: dict[str, Any] = dict.fromkeys(GIVEN) | {"run": run, "config": run.config, "samples": run.samples}
        if score is not None:
            self._known["score"] = score

    def recorded(self, *beginnings: str) -> bool:
        """Whether the name of any curve begins so: `proof.` for the identities that a recorder measures inside the trainer."""
        return any(name.startswith(beginnings) for name in self.run.series)

    def ask(self, name: str) -> Any:
        """The input of this name, or None where the run does not hold it."""
        if name not in self._known:
            self._known[name] = DERIVED[name].of(self) if name in DERIVED else _signal(self.run, name)
        return self._known[name]


def known(name: str) -> bool:
    """Whether there is such an input."""
    return name in GIVEN or name in DERIVED or name in signals.BY_PARAMETER


def _signal(run: Run, name: str) -> Series | dict[str, Series] | None:
    signal = signals.BY_PARAMETER[name]
    if "<" not in signal.name:
        names = (signal.name, *signals.stand_ins(signal.name))
        whole = next((s for name in names if (s := run.series.get(name)) is not None and len(s)), None)
        if whole is not None or signal.name.startswith(ALONE):
            return whole
        agents = {part: curve for part, curve in _slices(run, signal.name).items() if AGENT.fullmatch(part)}
        return _mean_of(agents, "agents") if len(agents) > 1 else None
    before, after = signal.name.split("<", 1)[0], signal.name.split(">", 1)[1]
    members = {
        key.removeprefix(before).removesuffix(after): series
        for key, series in run.series.items()
        if key.startswith(before) and key.endswith(after) and len(key) > len(before) + len(after)
    }
    return members or None
