"""The policy uses next to nothing of the range of its actions.

Looks for: The size of the actions over half of the range that they may have: below `max_use` in the first quarter of
the run, where the policy explores most.

Without recorded transitions: the spread of a Gaussian policy (`train/std`), or the largest actions, against the range of
actions in the configuration. Or, beside a flat score, actions that reach -1 and 1 and never pass them, where the range
begins at 0 or ends at `far` or more: nobody rescales what the policy's tanh or clip returns.
Why: Actions between -1 and 1 that nobody rescales do next to nothing in a range of 5,000. A Gaussian policy starts with
a standard deviation of 1. In a range of 1,000 that is no exploration at all: nearly all that the environment can do is
never tried, and the steps of the update are as small.
False alarm: A policy that was trained before, and holds still; a range that is declared far too wide while only a small
part makes sense.
Fix:
- Declare actions between -1 and 1, and rescale inside of the environment (gymnasium.wrappers.RescaleAction).
- Or raise the initial standard deviation (log_std_init).
Experiment: `firstbreak check env` on the environment: which share of the range does a new policy cover?
References: https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern
from firstbreak.values import replace
from firstbreak.words import number

ROLES = (Role.RELATION,)
BOX = pattern(r"Box\((?:low=)?\[?(-?[\d.]+)[^,\]]*\]?, ?(?:high=)?\[?([\d.]+)(?:.*\) *\((\w+))?")
ONE = pattern(r"Box\([^()]*\(1,\)")
HIGH = pattern(r"action[_.]?(?:high|max|limit|bound)$|max_?action$", re.IGNORECASE)
LEAST, MOST = (pattern(rf"(?:.*/)?(?:raw_|policy_)?act(?:ion)?s?[_/. ]{end}", re.IGNORECASE) for end in ("min", "max"))
SCALED = pattern(r"action_?(?:re)?scal(?:e|ing)$", re.IGNORECASE)
BOUND = pattern(r"(?:.*\.)?(?P<name>\w*?)_?(?P<end>min|max|low|high)", re.IGNORECASE)
COMMANDS = pattern(r"(?:.*/)?(?:act(?:ion)?s?|cmds?|commands?|controls?|torques?)[_/ ](?P<end>min|max)", re.IGNORECASE)
LEAST_ROWS, ALIKE = 10, 0.95  #: rows, and share of them in which two numbers are one (convention)
FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_action_use: Series | None = None,
    action_std: Series | None = None,
    action_max: Series | None = None,
    policy_entropy: Series | None = None,
    run: Run | None = None,
    config: Config | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    max_use: float = at(0.02, "share", "a new Gaussian policy in a range of 50 to each side"),
    max_use_flat: float = at(0.05, "share", "beside a flat score: a new policy in a range of 20 to each side"),
    far: float = at(5.0, "action units", "a range of -2 to 2 may be logged before it is rescaled"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    if run is not None and config is not None and (finding := _as_returned(run, config, far)) is not None:
        return finding
    if run is not None and config is not None and (finding := _offset(run, config)) is not None:
        return finding
    if env_action_use is None:
        low, high, first = (0.0, None, "") if config is None else _range(config)
        flat = trajectory is not None and trajectory.kind == "flat"
        raw = config is not None and any(SCALED.search(name) and value is False for name, value in config.raw.items())
        if (
            run is not None
            and high is not None
            and (flat or raw)
            and (finding := _unscaled(run, low, high, far)) is not None
        ):
            return finding
        highest = None if high is None else (high - low) / 2
        logged = run.unknown.items() if run is not None else ()
        named = (s for name, s in logged if MOST.fullmatch(name) or (first and name.startswith(first)))
        largest = action_max or next((s for s in named if s.name.rstrip(")").lower().endswith("max")), None)
        size = action_std or largest or (_spread(policy_entropy, config) if flat else None)
        if size is None or highest is None or len(size.finite) < min_points:
            return NotMeasured("neither the actions, nor their spread beside a recorded range, are known")
        rising = trajectory is not None and trajectory.kind == "rising"
        return None if solved or rising else _beside(size.finite, highest, max_use_flat if flat else max_use)
    used = enough(env_action_use.finite, min_points, "windows of transitions")
    early = used.head(0.25)
    if float(np.max(early.values)) > max_use:
        return None
    return warning(
        "at first, the actions have {most:%} of the size of their range at most: the policy explores next to nothing of what "
        "it may do; declare actions between -1 and 1, and rescale them inside of the environment",
        seen_in(used, "size of the actions over their range", level=max_use),
        most=facts.highest(early),
        confidence=Confidence.MEDIUM,
        numbers={"use": float(np.max(early.values))},
    )


def _as_returned(run: Run, config: Config, far: float) -> Finding | None:
    """A quantity with a range in the configuration is, in every row, what the policy returns between -1 and 1."""
    known = {name: s.finite for name, s in {**run.unknown, **run.series}.items()}
    for key, pair in config.raw.items():
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(x, int | float) for x in pair):
            continue
        last, (low, high) = re.split(r"[./]", key)[-1], map(float, pair)
        given = next(
            (s for name, s in known.items() if re.split(r"[./]", name)[-1] == last and len(s) >= LEAST_ROWS), None
        )
        if given is None or high < max(far, low + far) or float(given.values.max()) > 1.01:
            continue
        for name, own in known.items():
            if (
                own.name == given.name
                or len(own) != len(given)
                or np.abs(own.values).max() > 1.01
                or np.ptp(own.values) == 0
            ):
                continue
            if float(np.mean(np.isclose(np.clip(own.values, low, high), given.values, atol=0.01))) >= ALIKE:
                return warning(
                    "{given} is {own} as it is, {most} at most, where its range is {low} to {high}: what the policy returns, "
                    "between -1 and 1, is not rescaled; rescale it inside of the environment",
                    seen_in(given, given.name, level=high),
                    given=given.name,
                    own=name,
                    most=facts.highest(given),
                    low=number(low),
                    high=number(high),
                    confidence=Confidence.HIGH,
                    numbers={"use": float(given.values.max()) / high},
                )
    return None


def _offset(run: Run, config: Config) -> Finding | None:
    """Commands from below their lowest value up to the middle of their range: scaled, and not moved."""
    bounds: dict[str, dict[str, float]] = {}
    for key, value in config.raw.items():
        if (found := BOUND.fullmatch(key)) and isinstance(value, int | float):
            bounds.setdefault(found["name"], {})[found["end"].lower()] = float(value)
    known = {**run.unknown, **run.series}
    ends = {end: s.finite for n, s in known.items() if (m := COMMANDS.fullmatch(n)) for end in (m["end"].lower(),)}
    if not {"min", "max"} <= ends.keys() or min(map(len, ends.values())) < LEAST_ROWS:
        return None
    least, most = float(ends["min"].values.min()), float(ends["max"].values.max())
    for of in bounds.values():
        low, high = of.get("min", of.get("low", 0.0)), of.get("max", of.get("high", 0.0))
        half = (high - low) / 2
        if half > 0 and least < low - half / 2 and abs(most - half) < half / 20 and abs(least + half) < half / 20:
            return warning(
                "commands go from {least} to {most}, and their range is {low} to {high}: they have its width, and begin below "
                "it: what is below is cut off, and the upper half is never reached; add the middle of the range",
                seen_in(ends["max"], "largest command", level=high),
                least=facts.lowest(ends["min"]),
                most=facts.highest(ends["max"]),
                low=number(low),
                high=number(high),
                confidence=Confidence.HIGH,
            )
    return None


def _range(config: Config) -> tuple[float, float | None, str]:
    """The lowest and the highest value of an action that the configuration records, and the action's name."""
    for name, value in config.raw.items():
        if isinstance(value, str) and "act" in name.lower() and (box := BOX.search(value)):
            return float(box[1]), float(box[2]), box[3] or ""
        if HIGH.search(name) and isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            low = config.raw.get(re.sub("high$|max$", lambda end: {"high": "low"}.get(end[0], "min"), name))
            return float(low) if isinstance(low, int | float) else -float(value), float(value), ""
    return 0.0, None, ""


def _spread(entropy: Series | None, config: Config | None) -> Series | None:
    """The standard deviation of a Gaussian policy of one action, from its entropy log(sd) + log(2 pi e) / 2."""
    box = next(
        (v for n, v in (config.raw if config else {}).items() if "act" in n.lower() and ONE.search(str(v))), None
    )
    if entropy is None or box is None:
        return None
    curve = entropy.finite
    return replace(curve, name="action.std", values=np.exp(curve.values - np.log(2 * np.pi * np.e) / 2))


def _unscaled(run: Run, low: float, high: float, far: float) -> Finding | None:
    """Actions between -1 and 1 to their full extent, in a range that is another."""
    known = {**run.unknown, **run.series}
    least, most = (next((s.finite for n, s in known.items() if end.fullmatch(n)), None) for end in (LEAST, MOST))
    if least is None or most is None or not len(least) or not len(most) or (low < 0 and high < far):
        return None
    if not (-1.01 <= float(least.values.min()) <= -0.9 and 0.9 <= float(most.values.max()) <= 1.01):
        return None
    return warning(
        "actions lie between {least} and {most}, and their range is from {low} to {high}: what the policy returns, between "
        "-1 and 1, is not rescaled; rescale them inside of the environment",
        seen_in(most, "largest action", level=high),
        least=facts.lowest(least),
        most=facts.highest(most),
        low=number(low),
        high=number(high),
        numbers={"use": float(most.values.max()) / high},
    )


def _beside(spread: Series, highest: float, max_use: float) -> Finding | None:
    """The spread of a Gaussian policy, or its largest actions, against the range of its actions."""
    if float(np.max(spread.values)) > max_use * highest:
        return None
    return warning(
        "the actions {are} {spread} at most, in a range of {highest} to each side of its middle: the policy explores "
        "next to nothing of what it may do; declare actions between -1 and 1, and rescale them inside of the environment",
        seen_in(spread, "spread of the actions"),
        are="spread by" if spread.name == "action.std" else "are",
        spread=facts.highest(spread),
        highest=number(highest),
        numbers={"use": float(np.max(spread.values)) / highest},
    )
