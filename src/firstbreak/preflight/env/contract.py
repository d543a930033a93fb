"""What an environment returns, compared with what it declares: probes of recorded episodes and of the spaces."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.env.episodes import Episode
from firstbreak.words import number, percent

START_STD = 1.0  #: standard deviation of a Gaussian policy at the start (log_std_init = 0, stable_baselines3/common/policies.py)
#: standard deviations of a new policy: a larger half of the range is not explored, a smaller one is clipped (convention)
MAX_HALF_RANGE, MIN_HALF_RANGE = 10.0, 0.1
MAX_COMPONENT = 100.0  #: largest observation component that a tanh network takes without saturation (convention)
#: ratio of the largest to the smallest component: the small ones get almost no gradient (convention)
MAX_RATIO = 1000.0
MAX_REWARD = 1000.0  #: reward of one step: value targets of this size dominate a shared gradient clip (convention)


def spaces(env: Any) -> Answer:
    """Both spaces are declared, and a trainer can use them."""
    from gymnasium.spaces import Box, Space

    for name in ("observation_space", "action_space"):
        space = getattr(env, name, None)
        if not isinstance(space, Space):
            return critical(
                f"{name} is {'missing' if space is None else f'a {type(space).__name__}'}: a trainer builds its network "
                "from the space; declare one of gymnasium.spaces in __init__"
            )
    space = env.action_space
    if isinstance(space, Box) and not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return warning(
            f"the action space {space} has no finite bounds: nothing says how to squash or clip the output of the "
            "policy; declare the range that the environment really uses"
        )
    return f"{_short(env.observation_space)} observations, {_short(space)} actions"


def _short(space: Any) -> str:
    """A space without its bounds: 'Box(4,)', 'Discrete(2)'."""
    return f"Box{space.shape}" if type(space).__name__ == "Box" else " ".join(str(space).split())


def answers(episodes: Sequence[Episode], probe: str) -> Answer:
    """Whether the environment could be stepped, as far as one probe is concerned."""
    for episode in episodes:
        if episode.stopped is not None and episode.stopped.probe == probe:
            after = f" after {len(episode.rewards)} steps of an episode" if episode.rewards else ""
            return critical(f"{episode.stopped}{after}")
    return _after_a_step(episodes)


def _after_a_step(episodes: Sequence[Episode]) -> Answer:
    """Nothing was wrong, if a step was made at all."""
    return None if any(e.rewards for e in episodes) else NotMeasured("no step could be made")


def infos(episodes: Sequence[Episode]) -> Answer:
    """`info` is a dict."""
    for episode in episodes:
        for t, info in enumerate(episode.infos):
            if not isinstance(info, dict):
                return warning(f"info is a {type(info).__name__} {_at(t)}: wrappers write into it; return a dict")
    return _after_a_step(episodes)


def flags(episodes: Sequence[Episode]) -> Answer:
    """terminated and truncated are booleans."""
    for name in ("terminated", "truncated"):
        for episode in episodes:
            for t, value in enumerate(getattr(episode, name)):
                if not isinstance(value, (bool, np.bool_)):
                    return warning(
                        f"{name} is {value!r}, a {type(value).__name__}, {_at(t + 1)}: `~done` and `1 - done` give "
                        "different results than for a boolean; return bool(...)"
                    )
    return _after_a_step(episodes)


def in_space(episodes: Sequence[Episode], space: Any) -> Answer:
    """Every observation lies in the declared space."""
    seen = bad = 0
    first = ""
    for episode in episodes:
        for t, observation in enumerate(episode.observations):
            seen += 1
            if problem := why_not(space, observation):
                bad += 1
                first = first or f"{problem} ({_at(t)})"
    if bad:
        return critical(
            f"{bad} of {seen} observations ({percent(bad / seen)}) are not in the declared space: {first}; the "
            "network's input and its normalisation are built from the space; correct the space or the observation",
            share=bad / seen,
        )
    return f"{seen} observations, all in the space" if seen else NotMeasured("no observation was recorded")


def why_not(space: Any, value: Any, path: str = "") -> str:
    """Why `value` is not in `space`, and where; empty if it is, or if only NaN or infinity is wrong."""
    from gymnasium import spaces as kinds

    place = f"{path}: " if path else ""
    match space:
        case kinds.Dict():
            if not isinstance(value, dict) or value.keys() != space.spaces.keys():
                keys = sorted(value) if isinstance(value, dict) else type(value).__name__
                return f"{place}the observation has {keys}, the space has {sorted(space.spaces)}"
            return next(filter(None, (why_not(s, value[k], f"{path}[{k!r}]") for k, s in space.spaces.items())), "")
        case kinds.Tuple():
            if not isinstance(value, tuple) or len(value) != len(space.spaces):
                return f"{place}a {type(value).__name__} where the space has a tuple of {len(space.spaces)}"
            return next(filter(None, (why_not(s, value[i], f"{path}[{i}]") for i, s in enumerate(space.spaces))), "")
        case kinds.Box():
            return _why_not_box(space, value, place)
        case _:
            return "" if space.contains(value) else f"{place}{value!r} is not in {space}"


def _why_not_box(space: Any, given: Any, place: str) -> str:
    if not isinstance(given, (np.ndarray, np.generic)):
        return f"{place}a {type(given).__name__}, not an array"
    value = np.asarray(given)
    if value.shape != space.shape:
        return f"{place}shape {value.shape}, declared {space.shape}"
    if not np.can_cast(value.dtype, space.dtype):
        return f"{place}{value.dtype}, declared {space.dtype}"
    outside = np.argwhere((value < space.low) | (value > space.high))
    if len(outside):
        i = tuple(map(int, outside[0]))
        low, high = number(float(space.low[i])), number(float(space.high[i]))
        return f"{place}component {list(i)} is {number(float(value[i]))}, declared between {low} and {high}"
    return ""


def finite(episodes: Sequence[Episode]) -> Answer:
    """No NaN and no infinity in observations."""
    values = [(t, o) for episode in episodes for t, o in enumerate(episode.observations)]
    bad = [t for t, observation in values if not all(np.isfinite(leaf).all() for leaf in _numbers(observation))]
    if bad:
        return critical(
            f"{len(bad)} of {len(values)} observations ({percent(len(bad) / len(values))}) hold NaN or infinity, the first "
            f"{_at(bad[0])}: one of them in a batch makes every weight NaN; look for a division or a missing sensor"
        )
    return f"{len(values)} observations, all finite" if values else NotMeasured("no observation was recorded")


def rewards_are_numbers(episodes: Sequence[Episode]) -> Answer:
    """Every reward is one finite number of a type that does not overflow."""
    bad: list[str] = []
    total = 0
    for episode in episodes:
        for t, reward in enumerate(episode.rewards):
            total += 1
            if problem := no_reward(reward):
                bad.append(f"{problem} ({_at(t + 1)})")
    if bad:
        return critical(
            f"{len(bad)} of {total} rewards ({percent(len(bad) / total)}) are not usable: {bad[0]}; return float(...) "
            "of a finite value"
        )
    return _after_a_step(episodes)


def no_reward(reward: Any) -> str:
    """Why a reward is not one usable number; empty where it is."""
    if reward is None:
        return "None"
    if isinstance(reward, np.ndarray):
        return f"an array of shape {reward.shape}, which broadcasts against the batch"
    if not isinstance(reward, (int, float, np.integer, np.floating)):
        return f"a {type(reward).__name__}"
    if isinstance(reward, np.integer) and (reward.dtype.kind == "u" or reward.dtype.itemsize < 4):
        return f"a {reward.dtype}, which wraps around when rewards are added or subtracted"
    return "" if np.isfinite(reward) else str(float(reward))


def reward_scale(episodes: Sequence[Episode]) -> Answer:
    """Rewards of a size that a value network can learn."""
    rewards = np.array([float(r) for e in episodes for r in e.rewards if not no_reward(r)])
    if not rewards.size:
        return NotMeasured("no usable reward")
    largest = float(np.abs(rewards).max())
    if largest > MAX_REWARD:
        return warning(
            f"rewards reach {number(largest)} a step: value targets of this size dominate the gradient where policy and "
            "critic share a network or a gradient clip; divide by a constant, or normalise returns",
            largest=largest,
        )
    signs = f"{percent(float(np.mean(rewards > 0)))} positive, {percent(float(np.mean(rewards < 0)))} negative"
    return f"between {number(float(rewards.min()))} and {number(float(rewards.max()))} a step; {signs}"


def kept(episodes: Sequence[Episode]) -> Answer:
    """Returned observations and given actions are not changed afterwards."""
    if any(e.overwritten for e in episodes):
        return warning(
            "the next step overwrites an observation that was returned before: a rollout buffer then has the "
            "last observation in every row; return a copy"
        )
    if any(e.action_changed for e in episodes):
        return warning(
            "step() changes the action array that it gets: the buffer then has an action that the policy did not take, and "
            "its log-probability is wrong; copy the action first"
        )
    return _after_a_step(episodes)


def observation_scale(episodes: Sequence[Episode], space: Any) -> Answer:
    """Components have a size that a network can use, and they change."""
    from gymnasium.spaces import Box

    if not isinstance(space, Box) or not np.issubdtype(space.dtype, np.number):
        return NotApplicable(f"{type(space).__name__} observations have no scale")
    rows = [np.asarray(o, float).ravel() for e in episodes for o in e.observations if np.shape(o) == space.shape]
    if len(rows) < 10:
        return NotMeasured(f"{len(rows)} observations are too few")
    table = np.stack(rows)
    largest = np.nanmax(np.where(np.isfinite(table), np.abs(table), 0.0), axis=0)
    moving = largest[np.ptp(table, axis=0) > 0]
    if not moving.size:
        return critical(
            f"the observation never changes: {len(rows)} observations are equal, so no policy can react to anything; check "
            "what the wrapper or the simulator returns"
        )
    if space.dtype == np.uint8 and len(space.shape) in (2, 3):
        return "bytes of an image: image policies divide by 255 themselves"
    top, ratio = float(moving.max()), float(moving.max() / moving.min())
    if top > MAX_COMPONENT:
        i = int(np.argmax(largest))
        spread = f", {number(ratio)} times the smallest component" if ratio > 10 else ""
        return warning(
            f"component {i} of the observation reaches {number(top)}{spread}: a tanh or ReLU network saturates or ignores "
            "the rest; normalise with running statistics, and save these with the model",
            largest=top,
            ratio=ratio,
        )
    if ratio > MAX_RATIO:
        return notice(
            f"the components of the observation differ {number(ratio)}-fold in size: the small ones have almost no "
            "effect; normalise with running statistics",
            ratio=ratio,
        )
    dead = len(largest) - len(moving)
    return f"largest component {number(top)}" + (f"; {dead} of {len(largest)} never changed" if dead else "")


def action_range(space: Any) -> Answer:
    """The usual output of a policy covers the action range and is not all clipped."""
    from gymnasium.spaces import Box

    if not isinstance(space, Box):
        return NotApplicable(f"{type(space).__name__} actions have no range")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return NotMeasured("the bounds are not finite")
    half, centre = (space.high - space.low) / 2, (space.high + space.low) / 2
    if (half == 0).any():
        return critical("an action component has only one possible value: low equals high; remove the component")
    if half.max() > MAX_HALF_RANGE or half.min() < MIN_HALF_RANGE:
        reach = percent(min(1.0, float(np.min(START_STD / half))))
        return warning(
            f"actions span {number(float(2 * half.min()))} to {number(float(2 * half.max()))}: a Gaussian policy starts with "
            f"a standard deviation of {number(START_STD)}, covers {reach} of the widest range, or is clipped in the narrowest; "
            "declare [-1, 1] and rescale inside (gymnasium.wrappers.RescaleAction)"
        )
    if (np.abs(centre) > half).any():
        return warning(
            f"the actions lie between {number(float(space.low.min()))} and {number(float(space.high.max()))}, away from 0: a "
            "policy that starts around 0 starts clipped; declare [-1, 1] and rescale inside"
        )
    return f"a standard deviation of {number(START_STD)} covers the actions; tanh-squashed policies must rescale to the bounds"


def masks(episodes: Sequence[Episode], space: Any) -> Answer:
    """Action masks fit the space and allow at least one action."""
    from firstbreak.preflight.env.worlds import legal

    found = [
        (t, mask)
        for e in episodes
        for t, (o, i) in enumerate(zip(e.observations, e.infos, strict=True))
        if (mask := legal(o, i)) is not None and not (e.over and t == len(e.rewards))
    ]
    if not found:
        return NotApplicable("no action_mask in observation or info")
    for t, mask in found:
        if hasattr(space, "n") and mask.shape != (space.n,):
            return critical(
                f"action_mask has shape {mask.shape} {_at(t)}, but there are {space.n} actions: build the mask from the space"
            )
        if not mask.any():
            return critical(
                f"action_mask forbids every action {_at(t)} of an episode that has not ended: the policy's softmax is NaN; end "
                "the episode, or allow a no-op"
            )
    return f"{len(found)} masks, all of the right shape and with a legal action"


def _numbers(observation: Any) -> Iterator[np.ndarray]:
    """The numeric arrays in an observation."""
    if isinstance(observation, dict):
        for value in observation.values():
            yield from _numbers(value)
    elif isinstance(observation, tuple):
        for value in observation:
            yield from _numbers(value)
    else:
        array = np.asarray(observation)
        if array.dtype.kind in "fiub":
            yield array


def _at(t: int) -> str:
    return "from reset" if t == 0 else f"after step {t}"
