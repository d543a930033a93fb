"""Observations never change.

Looks for: The share of components that never change within a window of steps: `min_share` or more from the first window
to the last. Statistics of the observations of several agents that are equal in each row. And in rows of a replay buffer
beside the log, whether the next observation is the observation: in `min_same` of the rows.
Why: A policy that sees the same numbers in every state can learn one action at best, whatever else is right.
False alarm: A bandit without context, whose observation is a placeholder.
Fix:
- Print ten observations of one episode where the trainer gets them, behind all wrappers.
- Check buffers that are filled once, masks that are all 0, and the order of wrappers.
Experiment: `firstbreak check env` on the environment with all wrappers of the training.
References: https://arxiv.org/abs/2101.00135
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, critical, enough, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.model import Evidence, Finding, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern
from firstbreak.values import replace

FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")

ROLES = (Role.RELATION,)
OBSERVED = pattern(r"obs(?:ervations?)?[_/. ]?(?:mean|std|norm|max|min|var)", re.IGNORECASE)
AGENT = pattern(r"(?<![a-z])[a-z]+[_-]?\d+(?![a-z\d])", re.IGNORECASE)


def detect(
    env_observation_constant: Series | None = None,
    env_transition_unchanged: Series | None = None,
    run: Run | None = None,
    *,
    min_same: float = at(0.95, "share", "An action that changes nothing is usual, one after the other is not."),
    min_rows: int = at(20, "transitions", "Fewer may be one episode at a wall."),
    min_share: float = at(0.999, "share", "of the components: nothing is left to react to"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    if env_transition_unchanged is not None and len(env_transition_unchanged.finite) >= min_rows:
        return _aliased(env_transition_unchanged.finite, min_same)
    agents = _agents(run, min_points) if run is not None else []
    if equal := next(filter(None, map(_equal, agents)), None):
        return equal
    if run is not None and (same := _columns(run)) is not None and len(same) >= min_rows:
        return _aliased(same, min_same)
    if env_observation_constant is None:
        return None if agents else NotMeasured("neither the recorder nor a dump of transitions shows observations")
    constant = enough(env_observation_constant.finite, min_points, "windows of transitions")
    if float(np.min(constant.values)) < min_share:
        return None
    return critical(
        "{share:%} or more of the observation's components never change within {n} windows: the policy sees nothing that it "
        "could react to; print ten observations of an episode behind all wrappers",
        seen_in(constant, "constant components", level=min_share),
        share=facts.lowest(constant),
        n=str(len(constant)),
        numbers={"share": float(np.min(constant.values))},
    )


def _agents(run: Run, min_points: int) -> list[list[Series]]:
    """One statistic of the observations of several agents each."""
    alike: dict[str, list[Series]] = {}
    for name, s in run.unknown.items():
        if OBSERVED.search(name) and (agent := AGENT.search(name)) and len(s.finite) >= min_points:
            alike.setdefault(name.replace(agent[0], "*"), []).append(s)
    return [several for several in alike.values() if len(several) > 1]


def _equal(several: list[Series]) -> Finding | None:
    """Agents whose observations have the same mean, or the same spread, to the last digit of each row."""
    first = several[0].values
    if np.ptp(first) == 0 or not all(np.array_equal(first, s.values) for s in several[1:]):
        return None
    return critical(
        "the observations of {agents} have the same {what} in each of {n} rows: all of them may see what one sees; print one "
        "observation of each",
        seen_in(several[0], several[0].name),
        agents=", ".join(found[0] for s in several if (found := AGENT.search(s.name))),
        what=several[0].name.rpartition("/")[2],
        n=facts.count(several[0]),
    )


def _columns(run: Run) -> Series | None:
    """Whether the next observation is the observation, from the columns `x` and `next_x` of a table of transitions."""
    known = {name.rpartition("/")[2]: s for name, s in run.unknown.items()}
    if not {"action", "act", "a"} & known.keys():
        return None
    pairs = [(known[name[5:]], s) for name, s in known.items() if name.startswith("next_") and name[5:] in known]
    if not pairs or any(not np.array_equal(before.steps, after.steps) for before, after in pairs):
        return None
    same = np.all([before.values == after.values for before, after in pairs], axis=0)
    return replace(pairs[0][1], name="env.transition_unchanged", values=same.astype(float))


def _aliased(same: Series, min_same: float) -> Finding | None:
    """Stored transitions in which nothing happens."""
    share = float(same.values.mean())
    if share < min_same:
        return None
    return critical(
        "in {share:%} of {n} stored transitions the next observation is the observation: the environment may return its own "
        "array, which later steps overwrite; copy observations before they are stored",
        Seen(
            metric=same.name,
            onset=0.0,
            interval=None,
            evidence=(Evidence(text="the next observation is the observation", series=same, level=min_same),),
        ),
        share=facts.mean(same),
        n=facts.count(same),
        numbers={"share": share},
    )
