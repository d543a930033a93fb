"""Observations do not change, have another scale, or come late.

Looks for: Three signs, of which one is enough.

- The share of components that never change within a window of steps rises by `min_rise` or more, and stays there.
- The spread of the observations with which episodes begin is `min_ratio` times larger or smaller than in the first quarter of
  the run, up to the end.
- Actions of some steps earlier explain more of a change than the last action alone, by `min_gap`, in `min_share` of the
  windows.
Why: A sensor reads zero, normalisation statistics were lost on a resume, a buffer index is wrong, or an asynchronous
environment returns the previous state. The policy then acts on something else than the state. This limits the score
that the policy can reach, and no metric of the update shows it.
False alarm: A curriculum that widens the start states. A delay that belongs to the task; observations without
velocities, in which an action shows only when the position has changed. Components that are constant by nature are
constant from the start, and are not counted.
Fix:
- Compare an observation from before that step with one from today; save normalisation statistics with the model.
- Step the environment by hand: does the observation that `step(action)` returns already show the action's effect?
- Where a delay is real, add the last actions to the observation.
Experiment: Take a hundred steps with random actions in today's environment. Count the components that change, and the
steps until an action shows.
References: https://arxiv.org/abs/2101.00135 https://github.com/DLR-RM/stable-baselines3/issues/870
"""

from functools import partial

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.knowledge.detectors.environment._moved import Moved, moved
from firstbreak.model import Finding, Message, NotApplicable, NotMeasured, Series
from firstbreak.words import number, percent

FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_observation_constant: Series | None = None,
    env_start_spread: Series | None = None,
    env_action_shown: Series | None = None,
    env_action_shown_at_once: Series | None = None,
    *,
    min_rise: float = at(0.05, "share", "of the components; some are constant from the start"),
    min_ratio: float = at(3.0, "ratio", "few episodes change the spread of their first observations by less"),
    min_gap: float = at(0.2, "share", "of a change, explained by earlier actions and not by the last alone"),
    min_share: float = at(0.7, "share", "a delay shows in most windows, not only in some states"),
    first_share: float = at(0.25, "share", "the first quarter of the windows shows what is usual"),
    lasting_points: int = at(4, "points", "a change that is not one window alone"),
    lasting_share: float = at(0.7, "share", "a change that holds up to the end of the run"),
    min_points: int = at(6, "points", "with fewer windows no level is known"),
) -> Finding | NotApplicable | NotMeasured | None:
    curves = (env_observation_constant, env_start_spread, env_action_shown, env_action_shown_at_once)
    constant, spread, shown, at_once = (
        s.finite if s is not None and len(s.finite) >= min_points else None for s in curves
    )
    if constant is None and spread is None and (shown is None or at_once is None):
        return NotMeasured(f"fewer than {min_points} windows of transitions are described in the log")
    change = partial(moved, first_share=first_share, lasting_points=lasting_points, lasting_share=lasting_share)
    if constant and (moves := change(constant, lambda values, usual: values > usual + min_rise)):
        told = facts.tell(
            "from {step} on, {after:%} of the observation's components do not change ({before} before): the policy has lost a "
            "part of the state; compare an observation from before that step with one from today",
            step=facts.at(constant, moves.step),
            after=facts.median(constant.between(moves.step)),
            before=percent(moves.before),
        )
        return _moved(told, constant, "constant components", moves, {"share": moves.after})
    if spread and (moves := change(spread, lambda v, usual: (v > min_ratio * usual) | (v < usual / min_ratio))):
        told = facts.tell(
            "from {step} on, episodes begin with observations of spread {after} ({before} before): the observations have "
            "another scale; compare the normalisation statistics before and after that step",
            step=facts.at(spread, moves.step),
            after=facts.median(spread.between(moves.step)),
            before=number(moves.before),
        )
        numbers = {"before": moves.before, "after": moves.after}
        return _moved(told, spread, "spread at the start of episodes", moves, numbers)
    return _late(shown, at_once, min_gap, min_share) if shown and at_once else None


def _moved(told: Message, curve: Series, what: str, moves: Moved, numbers: dict[str, float]) -> Finding:
    seen = seen_since(curve, what, moves.step, moves.interval, level=moves.before)
    return critical(told, seen, numbers=numbers)


def _late(later: Series, at_once: Series, min_gap: float, min_share: float) -> Finding | None:
    gap = later.values - np.interp(later.steps, at_once.steps, at_once.values)
    if float(np.mean(gap > min_gap)) < min_share:
        return None
    first = float(later.steps[np.flatnonzero(gap > min_gap)[0]])
    soon, late = float(np.median(at_once.values)), float(np.median(later.values))
    return critical(
        "the last action explains {soon:%} of what changes, and the actions of the last steps explain {late:%}: "
        "observations or actions come late; step the environment by hand, and count the steps until an action shows",
        seen_since(later, "explained by actions of the last steps", first, (float(later.steps[0]), first)),
        soon=facts.median(at_once),
        late=facts.median(later),
        numbers={"at_once": soon, "later": late},
    )
