"""Which recursion made the value targets, and what it does at the end of an episode.

Targets of GAE and TD(lambda) obey R[t] = r[t] + a V[t+1] + b R[t+1] inside an episode, with a = gamma (1 - lambda) and
b = gamma lambda (Schulman et al. 2016, Sutton and Barto 2018, 12.2). Away from the ends, least squares therefore finds
gamma and lambda from the targets alone. At an end the same equation says what was done: R = r where the future was cut off,
the full right side where the value of the next episode's first state leaked in.
"""

import numpy as np

from firstbreak.model import Finding, NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, warning
from firstbreak.preflight.critic.rollouts import Rollouts
from firstbreak.values import dataclass
from firstbreak.words import number, percent

TOLERANCE = 1e-3  #: share of the spread of the targets: float32 sums of thousands of steps stay below
MAX_ACCIDENTAL = 0.1  #: share of ends at which two conventions may agree by accident (convention)
MIN_ENDS, MIN_LIMIT = 5, 10  #: episodes, and steps of the longest: fewer have one length by chance (convention)
MIN_STEPS = 30  #: steps inside episodes: fewer do not determine the recursion (convention)


@dataclass(frozen=True)
class Recursion:
    """What made the targets."""

    gamma: float
    lam: float  #: 1 where no values were given
    future: np.ndarray  #: (T - 1, N): a V[t+1] + b R[t+1]
    rest: np.ndarray  #: (T - 1, N): R[t] - r[t], which is the future, or 0, or something else
    size: float  #: spread of the targets

    def bootstrapped(self, at: np.ndarray) -> np.ndarray:
        """(k,) bool: the future was added at these steps (a mask of shape (T - 1, N))."""
        near: np.ndarray = np.abs(self.rest - self.future)[at] <= TOLERANCE * self.size
        return near

    def cut(self, at: np.ndarray) -> np.ndarray:
        """(k,) bool: nothing was added at these steps."""
        near: np.ndarray = np.abs(self.rest)[at] <= TOLERANCE * self.size
        return near


def recursion(rollouts: Rollouts) -> Recursion | str:
    """The recursion that made `rollouts.returns`, or why the recursion cannot be found."""
    if rollouts.returns is None:
        return "the trainer's targets are not given (save them as `returns`, with `values` for GAE)"
    returns, rest = rollouts.returns.astype(float), rollouts.returns[:-1].astype(float) - rollouts.rewards[:-1]
    columns = [returns[1:]] if rollouts.values is None else [returns[1:], rollouts.values[1:].astype(float)]
    inside = ~_near(rollouts.ends)[:-1]
    if inside.sum() < MIN_STEPS:
        return f"{int(inside.sum())} steps are inside episodes, which is too few; give more steps"
    design = np.stack([column[inside] for column in columns], axis=1)
    weights, *_ = np.linalg.lstsq(design, rest[inside], rcond=None)
    size = float(returns.std()) or 1.0
    misfit = float(np.median(np.abs(design @ weights - rest[inside]))) / size
    if misfit > TOLERANCE:
        return (
            f"no discount factor and lambda explain the targets (median error {percent(misfit)} of their spread): "
            "the targets may be normalised, clipped or shuffled; give them as the trainer fits them, in time order"
        )
    gamma = float(weights.sum())
    lam = float(weights[0] / gamma) if gamma else 0.0
    return Recursion(gamma, lam, np.stack(columns, axis=-1) @ weights, rest, size)


def mask(rollouts: Rollouts, found: Recursion | str) -> Answer:
    """The value of the next episode's start does not leak into the last step of this one."""
    if isinstance(found, str):
        return NotMeasured(found)
    ends = rollouts.terminated[:-1]
    n = int(ends.sum())
    if n == 0:
        return NotMeasured("no episode ends by termination inside the batch")
    through = int((found.bootstrapped(ends) & ~found.cut(ends)).sum())
    if _many(through, n):
        late, early = np.roll(ends, 1, axis=0), np.roll(ends, -1, axis=0)
        late[0] = early[-1] = False
        for name, beside in (("after", late), ("before", early)):
            beside &= ~rollouts.ends[:-1]
            if beside.any() and found.cut(beside).mean() > 0.5:
                return critical(
                    f"the future is cut off one step {name} the end, at {int(found.cut(beside).sum())} of {int(beside.sum())} "
                    f"places, and is included at {through} of {n} ends: the done flag is shifted by one step; store it with the "
                    "reward of the same step"
                )
        return critical(
            f"{through} of {n} targets at a termination add the value of the next episode's first state: states that end badly "
            "look as good as a fresh start; multiply the next value by (1 - terminated)",
            through=through / n,
        )
    other = int((~found.cut(ends)).sum())
    if _many(other, n):
        return warning(
            f"{other} of {n} targets at a termination are neither the reward alone nor the reward and the next value: if these "
            "are time limits, save `truncated` separately; else check what is added there"
        )
    return f"at all {n} terminations the target is the last reward"


def truncation(rollouts: Rollouts, found: Recursion | str) -> Answer:
    """A time limit does not count as a failure."""
    if isinstance(found, str):
        return NotMeasured(found)
    if rollouts.truncated is None:
        return _limit(rollouts) or NotMeasured("truncated and terminated are not given separately")
    late = (rollouts.truncated & ~rollouts.terminated)[:-1]
    if not late.any():
        return NotApplicable("no time limit ends an episode inside the batch")
    if rollouts.values is not None:  # of a value of nearly 0 nobody can tell whether it was added
        late &= np.abs(rollouts.values[:-1]) > 10 * TOLERANCE * found.size
    n = int(late.sum())
    if n == 0:
        return NotMeasured("the values at the time limits are nearly 0, as those of a new critic are")
    through, cut = int((found.bootstrapped(late) & ~found.cut(late)).sum()), int(found.cut(late).sum())
    if _many(through, n):
        return critical(
            f"{through} of {n} targets at a truncation add the value of the next episode's first state, not of the last "
            "state of the episode: bootstrap from the final observation"
        )
    if _many(cut, n):
        return warning(
            f"{cut} of {n} targets at a truncation are the last reward alone: a time limit counts as a failure, and states near "
            "the limit as worthless; add gamma times the value of the final observation (Pardo et al. 2018)"
        )
    return f"at all {n} truncations something is added to the last reward"


def _limit(rollouts: Rollouts) -> Finding | None:
    """Terminations that are a time limit by their lengths: more than half of the episodes have the longest one."""
    lengths = np.concatenate([np.diff(np.flatnonzero([True, *column])) for column in rollouts.terminated.T])
    if len(lengths) < MIN_ENDS or lengths.max() < MIN_LIMIT:
        return None
    share = float(np.mean(lengths == lengths.max()))
    if share <= 0.5:
        return None
    return warning(
        f"{percent(share)} of {len(lengths)} episodes end as terminated after exactly {int(lengths.max())} steps, the longest "
        "length: that is a time limit, and what follows it is not worth nothing; save `truncated` separately"
    )


def said(found: Recursion | str) -> str:
    """Discount and lambda, for the facts of the report."""
    if isinstance(found, str):
        return "the targets do not show them"
    return f"gamma {number(round(found.gamma, 4))}, lambda {number(round(found.lam, 3))}, found in the targets"


def _many(places: int, n: int) -> bool:
    """More than chance: a future of nearly 0 looks cut off, and equal states look like leaks."""
    return places > MAX_ACCIDENTAL * n


def _near(ends: np.ndarray) -> np.ndarray:
    """Steps at an end, before one or after one."""
    near = ends.copy()
    near[1:] |= ends[:-1]
    near[:-1] |= ends[1:]
    return near
