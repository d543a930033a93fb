"""A loss, gradient or policy statistic is not finite, or far beyond what it was.

Looks for: NaN and infinities in the quantities that an update computes (losses, gradient norms, KL divergences,
entropy, ratios, values, log-probabilities), after they had been finite: whether they stay, or come back within a few
steps, or several of them end a log in NaN, in a row that holds a reward. A curve that was never finite counts only if
it is a loss, and in a short piece of a log only if the gradient norm was never finite either; such a norm alone is
worth a look. Hugging Face's Trainer prints 0 for a loss that is NaN (`logging_nan_inf_filter`): a loss of exactly 0
beside a gradient norm that is always NaN is such a loss. Also numbers that no update survives although they are finite:
two quantities of different kinds (a gradient norm, a divergence, a value loss, a reward far below 0) that are all, from
one row to the end, far above what they ever were (100 times, in the geometric mean); and a policy loss of 1e10,
whatever it was before.
Why: One NaN in a gradient reaches every weight, and everything that the policy does afterwards is noise. There are
usually signs before: a growing gradient norm, extreme log-probabilities, outliers of the reward, or values that
explode.
False alarm: Quantities that are undefined for a batch (episode statistics before the first episode ends, explained
variance of equal returns, the mean length of no completion) are not checked. NaN at regular intervals is the padding of
a table. The scaler of mixed precision makes single infinite norms on purpose: where the learning rate stands still at
exactly these steps, they were skipped.
Fix:
- Go back to the last checkpoint before the first non-finite value.
- Clip gradients ({grad_clip}), and skip updates whose norm is not finite.
- Compute logits, ratios and softmax in fp32, and train in bf16 instead of fp16 ({precision}).
- Apply masks before the logarithm, and guard every division by a sum of masks or by a spread ({scale_rewards}).
Experiment: Load the last finite checkpoint and run the failing batch once with PyTorch's anomaly detection: the first
operation that returns NaN is the place.
References: https://stable-baselines3.readthedocs.io/en/master/guide/checking_nan.html https://arxiv.org/abs/1710.03740
https://github.com/verl-project/verl/issues/747
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, graded, seen_as, seen_in, seen_since, warning
from firstbreak.engine.stats.spikes import period
from firstbreak.knowledge.detectors._ended import by_nan, end_of
from firstbreak.model import (
    Confidence,
    Evidence,
    Expected,
    Finding,
    Message,
    NotMeasured,
    Role,
    Run,
    Series,
    Severity,
    Statistic,
)

ROLES = (Role.WEIGHTS_LOST,)

# What every batch defines. Statistics of episodes, groups and finished completions may be empty, so they are left out.
COMPUTED = re.compile(
    r"loss\.total|(policy|value|pref|alpha|rm|sft|curiosity|entropy)\.loss|grad\.norm|value\.grad_norm"
    r"|kl\.(ref|old|post)(\.k\d)?|policy\.(entropy|ratio\.mean|logp\.mean)|value\.(pred\.|old\.)?mean|returns\.mean|td_error"
)
LIKE_COMPUTED = re.compile(r"(?<![a-z])(loss|grad_?norm)", re.IGNORECASE)
# A mean over no episodes is NaN, so NaN says nothing about a reward. An infinite reward reaches every advantage of its group.
REWARD = re.compile(r"reward\.(rollout\.|episode\.|component\..+\.)?(mean|max|min)|reward\.episode")
LASTING = 3  #: non-finite points up to the end of the curve that are no longer an accident
WHOLE = (
    6  #: first points of a column that are all there: of rows of another kind, some would be among them (convention)
)
FEW = 10  #: rows: a gradient norm that is NaN in fewer may yet be computed
MIN_CURVES = 2  #: of an update that end in NaN together: one of them may be undefined for a batch
LEAP = 10.0  #: times the largest size so far: of each of two quantities at once
LEAPS = 1e4  #: of both multiplied: no batch does that, and no learning in one row
ABSURD = 1e10  #: no policy loss, gradient or divergence has this size, whatever the rewards
#: kind of quantity -> what belongs to it, and the size from which a leap of it is one: small numbers leap for nothing
KINDS = {
    "gradient": (re.compile(r"(value\.)?grad[._]norm"), 1e3),
    "divergence": (re.compile(r"kl\..+|policy\.ratio\.mean"), 10.0),
    "loss": (re.compile(r"policy\.loss"), 1e3),
    "value": (re.compile(r"loss\.total|value\.loss|value\.(pred\.)?mean|returns\.mean|td_error"), 1e3),
    "reward": (REWARD, 1e3),
}
DECISIVE = {"divergence", "reward"}  #: the others may leap together when a first large reward is found
NETWORKS = {"grad.norm": "loss", "value.grad_norm": "value.loss"}  # a gradient norm, and what its losses are called


def detect(
    run: Run,
    *,
    lasting_points: int = at(LASTING, "points", "Non-finite points at the end: so many are no accident any more."),
    padding_share: float = at(0.5, "share", "A mostly empty column belongs to rows of another kind: evaluations."),
) -> Finding | Expected | NotMeasured | None:
    end = end_of(run.error, run) if run.error is not None and by_nan(run) else None
    watched = [s for name, s in run.series.items() if COMPUTED.fullmatch(name) and len(s)]
    watched += [_logged(s) for name, s in run.series.items() if REWARD.fullmatch(name) and np.isinf(s.values).any()]
    copies = (replace(s, name=s.raw) for s in run.duplicates if COMPUTED.fullmatch(s.name))
    others = (s for name, s in run.unknown.items() if LIKE_COMPUTED.search(name))
    watched += [
        s for s in (*copies, *others) if len(s) and len(s.finite)
    ]  # a second loss beside the one that is understood
    if not watched:
        return end or NotMeasured("no loss, gradient norm or other quantity of the update is logged")
    never = {s.name for s in watched if not len(s.finite)}
    empty = {s.name for s in watched if not s.finite.values.any()}  # a loss of exactly 0: transformers prints NaN so
    poisoned = any(norm in never and any(loss in name for name in empty) for norm, loss in NETWORKS.items())
    broken = [b for s in watched if (b := _break(s, poisoned, lasting_points, padding_share)) is not None]
    if not broken:
        return end or _out_of_scale(run, lasting_points) or _never(watched, run)
    if (skipped := _skipped(broken, run.series.get("lr"))) is not None:
        return skipped
    ended = {b.series.name for b in broken if _ends(b, run)}
    if len(ended) >= MIN_CURVES and not all("grad" in name for name in ended):  # the run ended, or stands, at that
        broken = [b._replace(lasting=b.lasting or b.series.name in ended) for b in broken]
    first = min(broken, key=lambda b: (not b.lasting, b.step))
    also = sorted(b.series.name for b in broken if b is not first)
    beside = f" (also {', '.join(also)})" if also else ""
    if first.lasting:
        message = facts.tell(
            "{curve} is not finite from {step} to the end{beside}: "
            + (
                "check the first batch and its loss"
                if first.step == first.series.steps[0]
                else "go back to the last checkpoint before"
            ),
            curve=first.series.name,
            step=facts.at(first.series, first.step),
            beside=beside,
        )
    else:
        message = facts.tell(
            "{curve} is not finite at {points} of {n} points, the first at {step}{beside}{back}: check that batch before this "
            "happens again",
            curve=first.series.name,
            points=f"{first.points}",
            n=f"{len(first.series)}",
            step=facts.at(first.series, first.step),
            beside=beside,
            back=", and came back" if np.isfinite(first.series.values[-1]) else "",
        )
    return graded(
        Severity.CRITICAL if first.lasting else Severity.WARNING,
        message,
        seen_as(
            first.series.name,
            first.step,
            (first.before, first.step),
            drawn=tuple(
                Evidence(text=f"{b.series.name}: {b.points} points not finite", series=b.series, since=b.step)
                for b in broken
            ),
        ),
        numbers={"lasting": first.lasting, "metrics": [first.series.name, *also]},
    )


def _skipped(broken: list[_Break], lr: Series | None) -> Expected | None:
    """Gradient norms that are no numbers where the learning rate does not move on, and only there: steps that were skipped."""
    bad = [float(step) for b in broken for step in b.series.steps[~np.isfinite(b.series.values)]]
    if lr is None or any(b.series.name not in NETWORKS or b.lasting for b in broken):
        return None
    stands = lr.steps[:-1][np.diff(lr.values) == 0]
    others = [step for step in stands if step not in bad]
    if not np.isin(bad, stands).all() or len(others) >= min(len(bad), len(lr) / 10):
        return None
    return Expected(
        f"{broken[0].series.name} is not finite at {len(bad)} of {len(lr)} points, and the learning rate stands still exactly "
        "there: the loss scaler of mixed precision skipped these steps"
    )


def _never(watched: list[Series], run: Run) -> Finding | None:
    """A gradient norm that was logged and was never a number: no check sees it, and there may be none to see."""
    losses = (run.series.get(name) for name in ("policy.loss", "loss.total"))
    updated = any(loss is not None and len(loss.finite) for loss in losses)
    rows = {"grad.norm": 1 if updated else FEW, "value.grad_norm": FEW}
    norm = next((s for s in watched if len(s) >= rows.get(s.name, np.inf) and not len(s.finite)), None)
    if norm is None:
        return None
    return warning(
        f"{norm.name} holds no number in {'its one row' if len(norm) == 1 else f'any of its {len(norm)} rows'}: it is "
        "logged and not computed, or every update is lost; compute the norm of one gradient by hand",
        seen_in(norm, norm.name),
        confidence=Confidence.LOW,
    )


class _Leap(NamedTuple):
    kind: str
    series: Series  #: without what is not finite
    first: int  #: the point from which on every size is out of scale
    times: float  #: how many times the largest size before the least size is


def _out_of_scale(run: Run, lasting_points: int) -> Finding | None:
    """Numbers to the end of the log that are finite, and that no update survives."""
    leaps = [leap for s in run.series.values() if (leap := _leap(s.finite)) is not None]
    by_step: dict[float, list[_Leap]] = {}
    for leap in leaps:
        by_step.setdefault(float(leap.series.steps[leap.first]), []).append(leap)
    found = next((leaps for _, leaps in sorted(by_step.items()) if _no_learning(leaps)), None)
    if found is None:
        return None
    found = list({leap.kind: leap for leap in reversed(found)}.values())[::-1]  # one curve of each kind
    first, others = found[0], [leap.series for leap in found[1:]]
    since, interval = from_point(first.series, first.first)
    lasting = len(first.series) - first.first >= lasting_points
    sizes = (
        facts.tell(
            "{curve} is {value}{before}", curve=leap.series.name, value=facts.last(leap.series), before=_before(leap)
        )
        for leap in found
    )
    return graded(
        Severity.CRITICAL if lasting else Severity.WARNING,
        "{sizes}, since {since}: no update of ordinary size gives such numbers; keep the checkpoint before, and look at the "
        "batch of that step{then}",
        seen_since(first.series, first.series.name, since, interval, along={s.name: s for s in others}),
        sizes=facts.joined(sizes),
        since=facts.at(first.series, since),
        then="" if lasting else ", and at the next rows, before you go on",
        sudden=True,
        numbers={"metrics": [leap.series.name for leap in found]},
    )


def _no_learning(leaps: list[_Leap]) -> bool:
    """Whether no batch and no first success explains what leaps at one step."""
    times = {leap.kind: leap.times for leap in sorted(leaps, key=lambda leap: leap.times)}
    absurd = any(leap.kind not in ("value", "reward") and np.abs(leap.series.values[-1]) >= ABSURD for leap in leaps)
    return absurd or bool(len(times) > 1 and DECISIVE & times.keys() and np.prod(list(times.values())) >= LEAPS)


def _before(leap: _Leap) -> Message | str:
    """The largest size before, in brackets."""
    if not leap.first:
        return ""
    earlier = leap.series.head(leap.first / len(leap.series))
    return facts.tell(" (at most {size} before)", size=facts.of(Statistic.LARGEST, earlier))


def _leap(points: Series) -> _Leap | None:
    """Where every size to the end lies far above every size before; or the first of a log that is out of scale at once."""
    kind = next((name for name, (names, _) in KINDS.items() if names.fullmatch(points.name)), None)
    if kind is None or not len(points):
        return None
    least = KINDS[kind][1]
    values = -points.values if kind == "reward" else np.abs(points.values)  # a reward that leaps up is a success
    rest = np.minimum.accumulate(values[::-1])[::-1]
    if kind not in ("value", "reward") and rest[0] >= ABSURD:
        return _Leap(kind, points, 0, 1.0)
    before = np.maximum.accumulate(np.abs(points.values))[:-1]
    out = np.flatnonzero((before > 0) & (rest[1:] >= np.maximum(LEAP * before, least)))
    return _Leap(kind, points, int(out[0]) + 1, float(rest[out[0] + 1] / before[out[0]])) if len(out) else None


def _ends(broken: _Break, run: Run) -> bool:
    """Whether a curve is NaN in the last row alone, which holds a reward: a scaler makes infinities, and a table empty rows."""
    last = broken.series.steps[-1]
    rewards = (s for name, s in run.series.items() if REWARD.fullmatch(name) and len(s.finite))
    beside = any(s.finite.steps[-1] == last for s in rewards)
    return beside and broken.points == 1 and bool(np.isnan(broken.series.values[-1]))


def _logged(series: Series) -> Series:
    """The points that hold a value, infinite ones included."""
    keep = ~np.isnan(series.values)
    return replace(series, steps=series.steps[keep], values=series.values[keep])


class _Break(NamedTuple):
    series: Series
    before: float  #: the last finite step
    step: float
    points: int
    lasting: bool


def _break(series: Series, poisoned: bool, lasting_points: int, padding_share: float) -> _Break | None:
    """Where a curve breaks; `poisoned` if loss and gradient are broken from the first point on."""
    bad = ~np.isfinite(series.values)
    if bad.all():
        lasting = poisoned or ("loss" in series.name and len(bad) >= lasting_points)
        return _from(series, 0, bad, lasting=True) if lasting else None
    bad[: int(np.argmin(bad))] = False  # before its first number a curve has not begun
    if not bad.any():
        return None
    at_end = int(np.argmin(bad[::-1]))
    if at_end >= max(lasting_points, 2 * _longest_gap(bad[: len(bad) - at_end]) + 1):
        return _from(series, len(bad) - at_end, bad, lasting=True)
    if _padding(bad, padding_share) and not np.isinf(series.values).any():
        return None
    return _from(series, int(np.argmax(bad)), bad, lasting=False)


def _from(series: Series, index: int, bad: np.ndarray, lasting: bool) -> _Break:
    steps = series.steps
    return _Break(series, float(steps[max(index - 1, 0)]), float(steps[index]), int(bad.sum()), lasting)


def _longest_gap(bad: np.ndarray) -> int:
    """Most non-finite points in a row."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.astype(int), [0]])))
    return int(np.max(edges[1::2] - edges[::2], initial=0))


def _padding(bad: np.ndarray, padding_share: float) -> bool:
    """Rows of another kind (evaluations, summaries) leave gaps at regular intervals, or most of a column empty."""
    every = period(np.flatnonzero(bad).astype(float), tolerance=0.01)
    return bool(bad.mean() > padding_share and bad[:WHOLE].any()) or (every is not None and every > 1)
