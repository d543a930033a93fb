"""Recorded transitions: are the ends where the episodes end, and does each reward belong to its step?

Arrays are those of D4RL (observations, actions, rewards, terminals, timeouts, next_observations) or under the names of
Gymnasium; every array has one row for each step, in the order in which the steps were taken.
"""

from collections.abc import Mapping

import numpy as np

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, timing, warning
from firstbreak.readers import Unreadable, why
from firstbreak.values import dataclass
from firstbreak.words import number, percent

NAMES = {
    "observations": ("observations", "obs", "states", "observation"),
    "actions": ("actions", "action"),
    "rewards": ("rewards", "reward"),
    "terminals": ("terminals", "terminations", "terminated", "dones", "done"),
    "timeouts": ("timeouts", "truncations", "truncated"),
    "next_observations": ("next_observations", "next_obs", "next_states"),
}
FIT_ROWS = 20_000  #: steps that the reward is fitted on (convention)
SUFFIXES = (".npz", ".hdf5", ".h5")


@dataclass(frozen=True)
class Steps:
    """The arrays, flattened to two dimensions where they have more; None where the file has none."""

    observations: np.ndarray | None
    actions: np.ndarray | None
    rewards: np.ndarray | None
    terminals: np.ndarray | None
    timeouts: np.ndarray | None
    next_observations: np.ndarray | None

    @property
    def ends(self) -> np.ndarray | None:
        """Steps after which an episode is over, for whatever reason."""
        flags = [f.astype(bool) for f in (self.terminals, self.timeouts) if f is not None]
        return np.logical_or.reduce(flags) if flags else None


def read(path: str) -> Steps:
    """The transitions of an .npz or HDF5 file. Raises Unreadable; nothing is unpickled."""
    arrays = _npz(path) if path.endswith(".npz") else _hdf5(path)
    found = {role: next((arrays[name] for name in names if name in arrays), None) for role, names in NAMES.items()}
    if found["rewards"] is None or found["observations"] is None:
        known = ", ".join(arrays) or "nothing"
        raise Unreadable(path, f"holds {known}", "name the arrays observations, actions, rewards, terminals, timeouts")
    return Steps(**{r: None if a is None else a.reshape(len(a), -1) if a.ndim > 1 else a for r, a in found.items()})


def _npz(path: str) -> Mapping[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError) as error:
        raise Unreadable(path, f"cannot be read ({why(error)})", "save plain arrays with numpy.savez") from None


def _hdf5(path: str) -> Mapping[str, np.ndarray]:
    try:
        import h5py  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise Unreadable(path, "HDF5 needs h5py", "pip install h5py, or save the arrays with numpy.savez") from None
    try:
        with h5py.File(path, "r") as file:
            return {name: value[()] for name, value in file.items() if isinstance(value, h5py.Dataset)}
    except OSError as error:
        raise Unreadable(path, f"cannot be read ({error})", "write the file again") from None


def whole(steps: Steps) -> Answer:
    """Equal lengths, finite numbers."""
    arrays = {name: value for name, value in vars(steps).items() if value is not None}
    lengths = {name: len(value) for name, value in arrays.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {n}" for name, n in lengths.items())
        return critical(f"the arrays are of different lengths ({said}): rows do not belong together. Write them again.")
    for name, value in arrays.items():
        bad = ~np.isfinite(value.astype(float).reshape(len(value), -1)).all(axis=1)
        if bad.any():
            return critical(
                f"{name}: {int(bad.sum())} of {len(value)} rows are not finite (first: row {int(bad.argmax())}). Remove the "
                "episodes with these rows."
            )
    return f"{len(next(iter(arrays.values())))} steps, {len(arrays)} arrays of equal length, all finite"


def masks(steps: Steps) -> Answer:
    """End flags, compared with the rows whose next observation is not the observation of the next row."""
    ends = steps.ends
    if ends is None:
        return critical("nothing says where episodes end: values are bootstrapped across episodes. Record terminals.")
    if not ends.any():
        return critical(f"no episode ends in {len(ends)} steps: values are bootstrapped across episodes. Record ends.")
    if steps.next_observations is None or steps.observations is None:
        return NotMeasured("without next_observations nothing shows whether the ends are in the right rows")
    same = np.isclose(steps.next_observations[:-1], steps.observations[1:], equal_nan=True)
    gap = ~same.reshape(len(ends) - 1, -1).all(1)
    flagged = ends[:-1]
    missed, early = int((gap & ~flagged).sum()), int((flagged & ~gap).sum())
    jumps = int(gap.sum())
    if not jumps:
        return NotMeasured(
            "every next observation is the observation of the next row, also at ends: the true one was not recorded"
        )
    late = int((gap[:-1] & flagged[1:] & ~flagged[:-1]).sum())
    soon = int((gap[1:] & flagged[:-1] & ~flagged[1:]).sum())
    if max(late, soon) > 0.5 * jumps:
        way = "one row late" if late > soon else "one row early"
        return critical(
            f"the ends are {way}: {max(late, soon)} of {jumps} places where the observations jump have their flag in the "
            "neighbouring row. Shift terminals and timeouts."
        )
    if missed > 0.01 * jumps:
        return critical(
            f"{missed} of {jumps} places where the observations jump to another episode have no end flag: values are "
            "bootstrapped across episodes. Record timeouts as well as terminals."
        )
    if early > 0.01 * int(flagged.sum()):
        return warning(
            f"{early} of {int(flagged.sum())} ends are where the episode goes on. Check how lives or goals end an episode."
        )
    return f"{int(ends.sum())} ends, each where the observations jump"


def time_limits(steps: Steps) -> Answer:
    """Time limits that are recorded as terminal."""
    if steps.terminals is None or steps.ends is None:
        return NotMeasured("there are no terminals")
    both = None if steps.timeouts is None else (steps.terminals.astype(bool) & steps.timeouts.astype(bool)).sum()
    if both:
        return warning(
            f"{int(both)} steps are both terminal and ended by the time limit: a trainer then does not bootstrap. "
            "Set only one flag."
        )
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], steps.terminals.astype(bool)])))
    if steps.timeouts is not None or len(lengths) < 10:
        return NotApplicable("time limits are recorded apart" if steps.timeouts is not None else "too few episodes")
    values, counts = np.unique(lengths[1:], return_counts=True)
    common, share = int(values[counts.argmax()]), counts.max() / counts.sum()
    if share > 0.5 and common == values.max() and common > 1:
        return warning(
            f"{percent(share)} of the episodes end after exactly {common} steps, the longest length, and are "
            "recorded as terminal: that is a time limit, and the value there is not 0. Record these ends as timeouts."
        )
    return f"episodes end after {number(values.min())} to {number(values.max())} steps"


def aligned(steps: Steps) -> Answer:
    """Does the reward of a row belong to its step, or to a neighbouring step: which of them do observation and action explain?"""
    if steps.rewards is None or steps.observations is None or steps.ends is None or steps.rewards.ndim > 1:
        return NotMeasured("there are no rewards with observations and ends")
    n = min(FIT_ROWS, len(steps.rewards))
    parts = [
        a[:n].reshape(n, -1).astype(float)
        for a in (steps.observations, steps.actions, steps.next_observations)
        if a is not None
    ]
    ends = steps.ends[:n].astype(int)
    found = timing.fits(parts, steps.rewards[:n].astype(float), np.cumsum(ends) - ends)
    if isinstance(found, str):
        return NotMeasured(found)
    own = found.explained(0)
    if shift := found.best:
        n = abs(shift)
        near = "the next step" if shift > 0 else "the step before"
        whose = near if n == 1 else f"the step {n} rows {'later' if shift > 0 else 'earlier'}"
        return critical(
            f"observation and action explain {percent(found.explained(shift))} of the reward of {whose} and {percent(own)} of "
            f"their own: rewards are shifted by {n} row{'s' * (n > 1)}. Shift them back.",
            shift=shift,
        )
    if own < timing.MIN_EXPLAINED:
        return NotMeasured("observations and actions do not explain the reward, shifted or not")
    return f"observation and action explain {percent(own)} of the reward of their own row, and no shifted row explains more"
