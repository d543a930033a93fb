"""Does the environment keep the interface that the trainer expects, and is there something to learn?

Episodes are recorded exactly as the environment returns them (episodes.py): in new environments, in used ones, and in two at
the same time (repeat.py). The probes check the records (contract.py, late.py, ends.py, actions.py, outputs.py, vector.py,
sb3.py). The last one compares random actions with an expert (baseline.py).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from firstbreak.model import Link, Outcome, Severity
from firstbreak.preflight import Answer, Report, ask, asking, critical, target
from firstbreak.preflight.env import actions, baseline, contract, ends, late, repeat, sb3, vector
from firstbreak.preflight.env import episodes as played
from firstbreak.preflight.env.episodes import Episode, Policy, Score, Seeds, Stopped, at_random, scores
from firstbreak.preflight.env.opening import open_world
from firstbreak.preflight.env.outputs import Watched, inside
from firstbreak.preflight.env.worlds import World
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass
from firstbreak.words import number

RECORDED_STEPS = 2000  #: steps that are recorded for the probes (convention: about a second in most environments)
POLICY_EPISODES = 10  #: episodes in which the actions of a policy are looked at (convention)
LONGEST = 500  #: steps of one recorded episode (convention: the limit of CartPole-v1)
_ask = asking(Link.ENVIRONMENT, Stopped)


def check(
    env: str,
    *,
    episodes: int = 100,
    expert: str | None = None,
    policy: str | None = None,
    steps: int = 20_000,
    agent: str | None = None,
) -> Report:
    """Check an environment: a Gymnasium id, or `module:factory` of one of Gymnasium, Stable-Baselines3, PettingZoo or dm_env.

    `expert` is `module:function` of (observation) -> action; without it, a simple rule is searched. `policy` is the function (or
    model with `predict`) that is going to be trained, whose actions are held against the space. `episodes` are played with each
    within `steps` steps each; `agent` is the agent of a PettingZoo environment to look at. Raises `Unreadable` where there is no
    such environment, expert or policy.
    """
    given = Given(
        expert=None if expert is None else Watched(_function(expert, "expert", "env-expert-beats-random")),
        policy=None if policy is None else Watched(_function(policy, "policy", "env-policy-actions")),
    )
    try:
        world = open_world(env, agent)
    except Unreadable:
        raise
    except (Exception, SystemExit) as error:
        said = f"making the environment raises {type(error).__name__}: {error}; call the factory alone, and correct that first"
        outcome = ask("env-opens", Link.ENVIRONMENT, lambda: critical(said))
        return Report(check="env", target=env, outcomes=(outcome,))
    try:
        return _report(world, given, episodes, steps)
    finally:
        world.close()


@dataclass(frozen=True)
class Given:
    """What the user brought to act in the environment."""

    expert: Watched | None
    policy: Watched | None


def _report(world: World, given: Given, episodes: int, steps: int) -> Report:
    from gymnasium.spaces import Space

    env = world.make()
    declared = _ask("env-spaces", lambda: contract.spaces(env))
    spaces = (getattr(env, name, None) for name in ("observation_space", "action_space"))
    if declared.finding is not None and not all(isinstance(space, Space) for space in spaces):
        return Report(check="env", target=world.name, outcomes=(declared,), checked=_facts(world, ()))
    recorded = record(env, world)
    outcomes = [declared, *_contract(recorded, env)]
    if any(e.stopped for e in recorded):  # the rest would only repeat it
        return Report(check="env", target=world.name, outcomes=tuple(outcomes), checked=_facts(world, recorded))
    outcomes += _repeatable(world)
    if world.make_vector is not None:
        make = world.make_vector
        of_its_kind = sb3 if isinstance(env, sb3.VecEnvView) else vector
        outcomes += [
            _ask("env-vector-batches", lambda: of_its_kind.batches(make)),
            _ask("env-vector-seeds", lambda: of_its_kind.seeds(make)),
            _ask("env-vector-autoreset", lambda: of_its_kind.autoreset(make)),
        ]
    try:
        random, seconds = scores(env, at_random(env.action_space, 0), _seeds(world), episodes, steps)
        if given.policy is not None:
            scores(env, given.policy, _seeds(world), POLICY_EPISODES, RECORDED_STEPS)
        sound = not any(o.finding and o.finding.severity is Severity.CRITICAL for o in outcomes)
        expert = None if given.expert is None else _in_its_units(given.expert, env)
        base = baseline.compare(env, random, expert, _seeds(world), episodes, steps, sound)
    except Stopped as stopped:
        probe, said = stopped.probe, str(stopped)
        outcomes += [*_given(given, env), _ask(probe, lambda: critical(said))]
        return Report(check="env", target=world.name, outcomes=tuple(outcomes), checked=_facts(world, recorded))
    outcomes += [
        *_given(given, env),
        _ask("env-ends", lambda: ends.ends(random)),
        _ask("env-throughput", lambda: ends.throughput(seconds)),
        _ask("env-expert-beats-random", lambda: baseline.verdict(base), Link.REWARD),
    ]
    return Report(
        check="env",
        target=world.name,
        outcomes=tuple(outcomes),
        summary=_summary(outcomes),
        checked=_facts(world, recorded, random, base),
        exhibits=baseline.exhibits(base),
        numbers=_numbers(random, base, seconds),
    )


def record(env: Any, world: World) -> list[Episode]:
    """Random episodes of one environment, every return value kept, until a budget of steps or bytes is used up."""
    episodes: list[Episode] = []
    seeds, used, until = _seeds(world), 0, time.perf_counter() + played.SPELL
    while used < RECORDED_STEPS and time.perf_counter() < until:
        most = min(LONGEST, RECORDED_STEPS - used)
        episodes.append(played.play(env, at_random(env.action_space, len(episodes)), seed=next(seeds), most=most))
        last = episodes[-1]
        used += max(1, len(last.rewards))
        if last.stopped or used * played.size(last.observations[0]) > played.KEPT_BYTES:
            break
    return episodes


def _contract(recorded: list[Episode], env: Any) -> list[Outcome]:
    space = env.observation_space
    probes: dict[str, Callable[[], Answer]] = {
        "env-answers": lambda: contract.answers(recorded, "env-answers"),
        "env-reset-contract": lambda: contract.answers(recorded, "env-reset-contract"),
        "env-step-contract": lambda: contract.answers(recorded, "env-step-contract"),
        "env-info": lambda: contract.infos(recorded),
        "env-flags": lambda: contract.flags(recorded),
        "env-observation-finite": lambda: contract.finite(recorded),
        "env-observation-in-space": lambda: contract.in_space(recorded, space),
        "env-observation-scale": lambda: contract.observation_scale(recorded, space),
        "env-returned-data-kept": lambda: contract.kept(recorded),
        "env-reward-is-number": lambda: contract.rewards_are_numbers(recorded),
        "env-reward-scale": lambda: contract.reward_scale(recorded),
        "env-reward-timing": lambda: late.reward_timing(recorded, env),
        "env-action-range": lambda: contract.action_range(env.action_space),
        "env-action-masks": lambda: contract.masks(recorded, env.action_space),
    }
    return [_ask(name, probe, Link.REWARD if "reward" in name else Link.ENVIRONMENT) for name, probe in probes.items()]


def _repeatable(world: World) -> list[Outcome]:
    ref = repeat.reference(world)
    return [
        _ask("env-seeding", lambda: repeat.seeding(world, ref)),
        _ask("env-state-leak", lambda: repeat.leak(world, ref)),
        _ask("env-shared-state", lambda: repeat.shared(world, ref)),
        _ask("env-actions-accepted", lambda: actions.accepted(world)),
        _ask("env-action-effect", lambda: actions.effect(world, ref)),
        _ask("env-action-saturation", lambda: actions.saturation(world, ref)),
    ]


def _given(given: Given, env: Any) -> list[Outcome]:
    """The actions of what the user brought."""
    return [
        _ask(f"env-{whose}-actions", partial(inside, watched.actions, env.action_space, f"the {whose}"))
        for whose, watched in (("expert", given.expert), ("policy", given.policy))
        if watched is not None
    ]


def _in_its_units(expert: Policy, env: Any) -> Policy:
    """A rule of one's own was written for the environment's own observations, not for normalised ones."""
    return (lambda o, i: expert(env.original(o), i)) if isinstance(env, sb3.VecEnvView) else expert


def _function(name: str, whose: str, probe: str) -> Policy:
    """The function of (observation) -> action of that name, or a model with `predict`."""
    loaded = target.load(name)
    call = (lambda o: loaded.predict(o)[0]) if hasattr(loaded, "predict") else loaded
    if not callable(call):
        raise Unreadable(name, "cannot be called", "give a function of (observation) -> action")

    def act(observation: Any, info: Any) -> Any:
        try:
            return call(observation)
        except (Exception, SystemExit) as error:
            said = f"the {whose} {name} raises {type(error).__name__}: {error}; call it on what reset() returns"
            raise Stopped(probe, said) from error

    return act


def _seeds(world: World) -> Seeds:
    """A new seed for every episode, where the environment takes one."""
    return itertools.repeat(None) if world.unseedable else iter(itertools.count(1000))


def _summary(outcomes: Sequence[Outcome]) -> str:
    """What the comparison with an expert says, unless something worse was found before it."""
    by_name = {outcome.detector: outcome for outcome in outcomes}
    last = by_name["env-expert-beats-random"]
    found = [o for o in outcomes if o.finding is not None and o is not last]
    if found:
        return ""
    return last.finding.message if last.finding is not None else last.note


def _facts(
    world: World,
    recorded: Sequence[Episode],
    random: Sequence[Score] = (),
    base: baseline.BaselineComparison | None = None,
) -> tuple[tuple[str, str], ...]:
    steps = sum(len(e.rewards) for e in recorded)
    facts = [("Interface", world.interface), ("Recorded", f"{steps} steps in {len(recorded)} random episodes")]
    if world.agents:
        facts.append(("Agents", f"{', '.join(world.agents)}: one is checked (--agent), the others act at random"))
    if base is not None:
        expert = f", {len(base.expert)} of {base.source}" if len(base.expert) else ""
        facts.append(("Compared", f"{len(random)} random episodes{expert}"))
    return tuple(facts)


def _numbers(random: Sequence[Score], base: baseline.BaselineComparison, seconds: float) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "random_returns": base.random,
        "random_lengths": [s.length for s in random],
        "expert_returns": base.expert,
        "expert": base.source,
        "steps_per_second": float(number(1 / seconds)),
    }
    if len(base.expert) and base.finite:
        numbers["probability_of_improvement"], numbers["probability_of_improvement_interval"] = base.improvement
    return numbers
