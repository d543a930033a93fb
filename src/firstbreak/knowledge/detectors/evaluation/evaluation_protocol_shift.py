"""The evaluation jumps without training, asks otherwise, or is scaled wrongly.

Looks for: A sudden change of the gap between the evaluation and the training reward, larger than the noise, while the
training reward itself does not change. The change is a fall, a rise together with a jump of the length of the evaluated
answers, or, for a language model, a rise to a level that training never has, where both have one unit. A second
evaluation that does not change makes the finding certain: the policy is the same, so the two evaluations measure
different things from then on. And a normalised score of D4RL that does not follow from the return beside it and the
references of the data set.

Where samples of both are dumped (`split`, `phase` or `mode` says which), it asks whether their prompts are in one form: at least
`min_form` of the one have the marks of a chat template, and at most 1 - `min_form` of the other.
Why: Skill that appears suddenly appears in training as well. A jump that only the evaluation shows is a change of the
protocol: another temperature, length limit, prompt template, tool permission, episode limit or split. Scores before and
after cannot be compared, and the best checkpoint of the two parts together is chosen by the protocol. A chat model that
gets a bare question goes on with the text, and does not answer.
False alarm: The training reward is a proxy (a process reward, a reward that was already at its maximum) and the skill
is new: the evaluated samples then look different, not only longer or shorter. A greedy policy can succeed before the
sampled one, or catch up with the sampled one later: a rise to a level that training has or reaches is not reported. A
fall after which evaluations are as good as before, beside training, is not reported either.
Fix:
- Log the evaluation's settings beside every score, or a hash of them: {eval_temperature}, {max_new_tokens}, split and
  template for a language model; the environment's version, wrappers, time limit and seeds otherwise.
- Evaluate the checkpoints from before the jump again, with the protocol from after the jump.
Experiment: Evaluate one old checkpoint with today's protocol. If its score jumps as well, the protocol changed, and not
the policy.
References: https://arxiv.org/abs/1709.06009 https://github.com/verl-project/verl/issues/6202
"""

import re
from itertools import islice
from typing import NamedTuple

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, enough, seen_as, seen_in, seen_since, warning
from firstbreak.engine.families import Method, Policy, without
from firstbreak.engine.stats.agreement import comparable
from firstbreak.engine.stats.changes import Change, changes
from firstbreak.engine.stats.noise import noise_scale, spread
from firstbreak.engine.stats.normal import t_to_z, two_sided
from firstbreak.engine.stats.onset import MIN_POINTS
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.smooth import smooth
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Role, Run, Samples, Series
from firstbreak.patterns import pattern
from firstbreak.values import replace
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)
FAMILIES = without(Method.SUPERVISED)
NORMALISED = pattern(r"normali[sz]ed_?(score|return)", re.IGNORECASE)
DATA = frozenset({"random", "medium", "expert", "replay", "full"})  #: words of the name of a data set of D4RL
SPLITS = ("split", "phase", "mode", "stage")
HELD_OUT = ("eval", "val", "dev", "test", "held")
TEMPLATE = re.compile(r"<\|\w+\|>|\[/?INST\]|</?start_of_turn>|<｜\w+｜>|^\s*(?:Human|USER): ")
MOST = 4000  # samples that are read
BEYOND = 3  # points on either side of a jump, in a short curve
SHARES = ("eval.accuracy", "eval.success_rate", "eval.pass_at_k")  # of problems
NEAR_TOP = 0.8  # of a rise
NEAREST = 3.5  # points on either side of a jump at least, where few are logged


def detect(
    eval_score: Series | None = None,
    reward_mean: Series | None = None,
    eval_length_mean: Series | None = None,
    eval_length_clipped_ratio: Series | None = None,
    eval_accuracy: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_pass_at_k: Series | None = None,
    eval_reward: Series | None = None,
    policy: Policy = Policy.CONTROL,
    run: Run | None = None,
    samples: Samples | None = None,
    *,
    min_points: int = at(9, "points", "with fewer evaluations or training rewards a jump may be noise"),
    max_p_value: float = at(0.05, "probability", "the usual level of a test: what follows it asks for more"),
    min_jump: float = at(4.0, "standard deviations", "of the noise: a jump that noise hardly makes"),
    min_step_share: float = at(0.6, "share", "of the jump, made by one step: a policy that gets worse takes several"),
    min_own_share: float = at(0.33, "share", "of the jump of the gap, made by the evaluation", "lab"),
    near_share: float = at(0.15, "share", "of the run: so near to the jump training is compared"),
    min_problems: float = at(0.03, "share", "of all problems: another protocol changes more answers than one or two"),
    min_form: float = at(0.9, "share", "prompts of one form: a few may quote the marks of a template"),
    min_prompts: int = at(5, "prompts", "with fewer, a few odd ones decide"),
    standard_errors: float = at(2.0, "standard errors", "a difference that chance hardly makes"),
) -> Finding | NotMeasured | None:
    if run is not None and (found := _other_references(run)) is not None:
        return found
    if samples is not None and (form := _other_form(samples, min_form, min_prompts)) is not None:
        return form
    if eval_score is None:
        return NotMeasured("no evaluation is logged")
    enough(eval_score, min_points, "evaluations", "to see a jump")
    if reward_mean is None or len(reward_mean.finite) < min_points:
        return NotMeasured("no training reward is logged, so nothing says whether a jump of the evaluation is skill")
    learned = shape_of(reward_mean).learned
    scale = _scale(eval_score, reward_mean) if learned else 0.0
    gap = _gap(eval_score, reward_mean, scale)
    jump = _jump(gap, max_p_value)
    if jump is None or not _at_once(gap, jump, min_jump, min_step_share):
        return None
    score, reward = _sides(eval_score, jump, near_share), _sides(reward_mean, jump, near_share)
    apart = _sides(gap, jump, near_share)
    own = jump.direction * (score.after_mean - score.before_mean)
    if own <= 0 or own < min_own_share * jump.direction * (apart.after_mean - apart.before_mean):
        return None  # the gap moved, and the evaluation itself did not, or hardly
    if own < min_problems and eval_score.name.startswith(SHARES) and float(np.max(eval_score.values)) <= 1:
        return None
    if learned and _moved(reward, score, jump, standard_errors):
        return None
    in_one_unit = comparable(eval_score, reward_mean)
    lengths = (eval_length_mean, eval_length_clipped_ratio)  # of texts: an episode is as long as the policy makes it
    beside = next((curve for curve in lengths if curve is not None and _jumps_with(curve, jump)), None)
    others = (eval_accuracy, eval_success_rate, eval_pass_at_k, eval_reward)
    other = (_sides(o, jump, near_share) for o in others if o is not None and o.name != eval_score.name)
    unmoved = next((sides.curve for sides in other if _stays(sides, score, standard_errors)), None)
    rises_count = in_one_unit and policy is Policy.TEXT
    if beside is None and unmoved is None and ((jump.direction > 0 and not rises_count) or not learned):
        return None  # skill that comes late, or chance where nothing was learned, looks the same
    of_training = eval_score.name == "eval.reward" or (in_one_unit and beside is None)
    if unmoved is None and of_training and _reached(score, reward_mean, jump):
        return None
    return warning(
        "{score} jumped from {before} to {after} at {step}{beside} and the training reward {unmoved}did not: the "
        "evaluation may have another protocol since then; evaluate an old checkpoint with today's protocol",
        seen_since(
            eval_score, "evaluation", jump.step, jump.interval, along={"training reward": reward_mean, "length": beside}
        ),
        score=eval_score.name,
        before=number(score.before_mean),
        after=number(score.after_mean),
        step=facts.at(eval_score, jump.step),
        beside=f", {beside.name} jumped as well," if beside is not None else "",
        unmoved=f"and {unmoved.name} " if unmoved is not None else "",
        confidence=Confidence.MEDIUM if beside is None and unmoved is None else Confidence.HIGH,
        numbers={"before": score.before_mean, "after": score.after_mean},
    )


def _other_form(samples: Samples, min_form: float, least: int) -> Finding | None:
    """The finding that prompts have a chat template in training alone, or in the evaluation alone."""
    marks: dict[bool, list[bool]] = {False: [], True: []}
    first: float | None = None
    for sample in islice(samples, MOST):
        split = next((str(sample.meta[key]).lower() for key in SPLITS if key in sample.meta), "")
        if sample.prompt and (split == "train" or split.startswith(HELD_OUT)):
            marks[split != "train"].append(TEMPLATE.search(sample.prompt) is not None)
            first = sample.step if first is None else first
    if min(map(len, marks.values())) < least:
        return None
    training, held_out = (sum(marks[key]) / len(marks[key]) for key in (False, True))
    if max(training, held_out) < min_form or min(training, held_out) > 1 - min_form:
        return None
    return warning(
        "{training} of the prompts of training have the marks of a chat template, and {held_out} of those of the evaluation: "
        "they ask in two forms; build the prompts of both with the same function",
        seen_as(onset=first, drawn=(Evidence(text="prompts in the dumped samples", series=None),)),
        training=percent(training),
        held_out=percent(held_out),
    )


def _jump(gap: Series, max_p_value: float) -> Change | None:
    """The largest lasting change of level; in a curve too short for `changes`, between two levels that fit better than a line."""
    if len(gap) >= MIN_POINTS:
        shifts = changes(gap, kinds=("level",), families=("constant", "linear"), level=max_p_value)
        return max((c for c in shifts if c.lasting), key=lambda c: abs(c.after - c.before), default=None)
    places = range(BEYOND, len(gap) - BEYOND + 1)
    errors = {at: sum(float(np.sum((part - part.mean()) ** 2)) for part in np.split(gap.values, [at])) for at in places}
    at = min(errors, key=lambda place: errors[place])
    line = np.polyval(np.polyfit(gap.steps, gap.values, 1), gap.steps)
    if errors[at] >= float(np.sum((gap.values - line) ** 2)):
        return None  # the policy gets worse from one evaluation to the next
    before, after = (float(part.mean()) for part in np.split(gap.values, [at]))
    df = len(gap) - 2
    error = np.sqrt(errors[at] / df * (1 / at + 1 / (len(gap) - at)))
    p = min(1.0, len(places) * two_sided(float(t_to_z(abs(after - before) / error, df)))) if error > 0 else 0.0
    if p > max_p_value or before == after:
        return None
    step = float(gap.steps[at])
    return Change(kind="level", step=step, interval=(step, step), before=before, after=after, p=p)


class _Sides(NamedTuple):
    """What a curve did shortly before and shortly after the jump."""

    curve: Series
    before: np.ndarray
    after: np.ndarray

    @property
    def before_mean(self) -> float:
        return float(np.mean(self.before))

    @property
    def after_mean(self) -> float:
        return float(np.mean(self.after))

    def largest_move(self, standard_errors: float) -> float:
        """The change of the mean beyond that of a straight line, with the error that it may have."""
        points = self.curve.finite
        n = len(self.before) + len(self.after)
        line = abs(trend(points).slope) * float(np.ptp(points.steps)) / len(points) * n / 2
        error = noise_scale(points.values) * float(np.sqrt(1 / len(self.before) + 1 / len(self.after)))
        return max(0.0, abs(self.after_mean - self.before_mean) - line) + standard_errors * error


def _sides(curve: Series, jump: Change, near_share: float) -> _Sides:
    points = curve.finite
    near = max(near_share * float(np.ptp(points.steps)), NEAREST * float(np.median(np.diff(points.steps))))
    before = points.between(jump.interval[0] - near, np.nextafter(jump.interval[0], -np.inf))
    return _Sides(curve, before.values, points.between(jump.interval[1], jump.interval[1] + near).values)


def _at_once(gap: Series, jump: Change, min_jump: float, min_step_share: float) -> bool:
    """Whether one step alone makes most of the jump, far beyond the noise: a policy that gets worse takes several."""
    at = int(np.searchsorted(gap.steps, jump.step))
    whole = abs(jump.after - jump.before)
    step = jump.direction * float(gap.values[at] - gap.values[at - 1])
    rest = np.delete(np.diff(gap.values), at - 1)
    return whole >= min_jump * spread(rest) / np.sqrt(2) and step >= min_step_share * whole


def _scale(eval_score: Series, reward_mean: Series) -> float:
    """What one unit of the training reward is worth in units of the evaluation, a step of it at the best place aside."""
    x, y = _trained(eval_score, reward_mean), eval_score.values
    x, y = x - x.mean(), y - y.mean()
    at = np.arange(2, len(x) - 1)
    xx, xy, yy = (_within(a * b, a, b, at) for a, b in ((x, x), (x, y), (y, y)))
    slope = np.divide(xy, xx, out=np.zeros(len(at)), where=xx > 1e-12 * max(float(x @ x), 1e-300))
    return max(0.0, float(slope[np.argmin(yy - slope * xy)]))


def _within(product: np.ndarray, a: np.ndarray, b: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Sums of products of deviations from the means of the two parts that a curve (n,) has at each place (k,)."""
    before, first, second = (np.cumsum(values)[at - 1] for values in (product, a, b))
    left = before - first * second / at
    return np.asarray(left + (product.sum() - before) - (a.sum() - first) * (b.sum() - second) / (len(a) - at))


def _trained(eval_score: Series, reward_mean: Series) -> np.ndarray:
    steps, trained = smooth(reward_mean)
    return np.asarray(np.interp(eval_score.steps, steps, trained))


def _gap(eval_score: Series, reward_mean: Series, scale: float) -> Series:
    """The evaluation minus what training would lead to expect: skill is in both and cancels, a new protocol is not."""
    return replace(eval_score, values=eval_score.values - scale * _trained(eval_score, reward_mean))


def _moved(reward: _Sides, score: _Sides, jump: Change, standard_errors: float) -> bool:
    """Whether the training reward itself may have made half of the jump, either way, each in units of its range.

    An evaluation's reward has the unit of the training reward.
    """
    if min(len(reward.before), len(reward.after)) < 3:
        return True
    ranges = [1.0 if score.curve.name == "eval.reward" else float(np.ptp(smooth(s.curve)[1])) for s in (score, reward)]
    return reward.largest_move(standard_errors) * ranges[0] >= ranges[1] * abs(jump.after - jump.before) / 2


def _reached(score: _Sides, reward_mean: Series, jump: Change) -> bool:
    """Whether training is, or comes later, near the top of a rise: skill that the greedy policy showed first."""
    later = reward_mean.finite.between(jump.interval[0])
    rise = score.after_mean - score.before_mean
    return rise > 0 and len(later) > 0 and float(np.max(smooth(later)[1])) >= score.before_mean + NEAR_TOP * rise


def _stays(other: _Sides, jumped: _Sides, standard_errors: float) -> bool:
    """Whether another evaluation of the same policy moved by less than half of what one did, both as shares of their levels.

    A curve that is too noisy to know does not stay.
    """
    if min(len(other.before), len(other.after)) < 2 or min(other.before_mean, jumped.before_mean) <= 0:
        return False
    move = max(other.largest_move(standard_errors), abs(other.after_mean - other.before_mean))
    return move / other.before_mean < abs(jumped.after_mean - jumped.before_mean) / jumped.before_mean / 2


def _jumps_with(curve: Series, jump: Change) -> bool:
    low, high = jump.interval
    return any(c.interval[0] <= high and c.interval[1] >= low for c in changes(curve, kinds=("level",)))


def _other_references(run: Run) -> Finding | None:
    """A normalised score that the return and the data set's references do not give."""
    data = str(run.config.get("env_id") or "").lower().split("-")
    low, high = environments.D4RL.get(data[0], (0.0, 0.0))
    curves = (s.finite for name, s in (*run.series.items(), *run.unknown.items()) if NORMALISED.search(s.raw or name))
    score, paid = next(curves, None), run.series.get("eval.reward")
    if score is None or paid is None or low == high or len(data) < 2 or DATA.isdisjoint(data):
        return None
    if len(score) < BEYOND or not np.array_equal(score.steps, paid.steps):
        return None
    share = (paid.values - low) / (high - low)
    if any(np.nanmedian(np.abs(score.values - unit * share)) < 0.02 * unit for unit in (1, 100)):
        return None
    return warning(
        "the normalised score is {score} where episodes return {paid}, and the references of {data} ({low} and {high}) "
        "give {right}: it uses those of another data set",
        seen_in(score, "normalised score", beside={"return": paid}),
        score=facts.median(score),
        paid=facts.median(paid.finite),
        data=data[0],
        low=number(low),
        high=number(high),
        right=number(100 * float(np.nanmedian(share))),
    )
