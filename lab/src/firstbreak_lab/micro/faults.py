"""The faults of the micro-lab: in which algorithms each exists, and how strong it is drawn.

The mechanism stands in the algorithm, at the line that asks `broken("<fault>")`. A fault that the lab of real trainers has
as well has its name, its link, its cause and its accepted links from there (firstbreak_lab.catalogue).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from firstbreak.model import Link
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.drawn import Fault

GRPO, PPO, DQN, DPO = ALL = ("grpo", "ppo", "dqn", "dpo")
TOKENS, STATES, SAMPLED, REWARDED = (GRPO, DPO), (PPO, DQN), (GRPO, PPO), (GRPO, PPO, DQN)
ON = (1.0, 1.0)  #: a fault that is there or not


@dataclass(frozen=True, kw_only=True)
class MicroFault(Fault):
    """A fault, and where it exists."""

    where: tuple[str, ...]  #: algorithms


#: faults of the lab of real trainers: name -> algorithms, bounds of the severity, unit
SHARED: Mapping[str, tuple[tuple[str, ...], tuple[float, float], str]] = {
    "prompts-narrow": (TOKENS, (1, 3), "prompts"),
    "template-wrong": ((GRPO,), (0.3, 0.9), "share of the features that are missing"),
    "preference-labels-swapped": ((DPO,), (0.4, 1), "share of the pairs"),
    "observations-incomplete": (STATES, (0.3, 0.9), "share of the features that are zero"),
    "observations-rescaled": (STATES, (10, 1000), "times"),
    "actions-replaced": (STATES, (0.4, 1), "share of the actions"),
    "dynamics-drift": (STATES, (0.2, 0.7), "share of the steps that slip, on top"),
    "protocol-changed": ((GRPO,), (1.5, 3), "temperature of the evaluation"),
    "stale-weights": (ALL, ON, ""),
    "length-limit-too-short": ((GRPO,), (1, 3), "tokens"),
    "eos-blocked": ((GRPO,), (2, 20), "subtracted from the logit of EOS"),
    "temperature-not-in-logprob": ((GRPO,), (0.3, 0.8), "temperature of the engine"),
    "top-p-truncated": ((GRPO,), (0.4, 0.95), "1 - the least share of the best token's probability"),
    "samples-alike": (REWARDED, (2, 8), "copies"),
    "reward-sign-flipped": (REWARDED, (0.5, 1), "share of the rewards"),
    "verdicts-noisy": (REWARDED, (0.25, 1), "share of the verdicts; noise over the largest reward"),
    "answers-misaligned": ((GRPO,), (0.4, 1), "share of the prompts"),
    "verifier-exploited": ((GRPO,), (0.6, 2), "reward of one first token"),
    "pays-for-length": ((GRPO,), (0.5, 4), "reward of the longest completion"),
    "pays-for-form": ((GRPO,), (0.5, 4), "reward of one word"),
    "scale-too-large": (STATES, (30, 3000), "times"),
    "advantage-sign-flipped": (SAMPLED, (0.5, 1), "share"),
    "groups-mixed": ((GRPO,), ON, ""),
    "critic-not-trained": ((PPO,), ON, ""),
    "done-mask-ignored": (STATES, ON, ""),
    "horizon-too-short": (STATES, (0.1, 0.7), "discount"),
    "learning-rate-too-high": (ALL, (10, 300), "times"),
    "updates-do-nothing": (ALL, (1e-5, 1e-2), "times the learning rate"),
    "kl-penalty-too-strong": (TOKENS, (3, 100), "added to beta, or times beta in DPO"),
    "no-clipping": (SAMPLED, (4, 16), "times as many updates of one batch"),
    "old-log-probabilities-recomputed": (SAMPLED, ON, ""),
    "entropy-bonus-too-strong": (SAMPLED, (0.3, 10), "coefficient"),
    "entropy-penalised": (SAMPLED, (0.1, 3), "coefficient"),
    "temperature-too-low": ((GRPO,), (0.05, 0.4), "temperature of the engine"),
    "rollouts-too-old": (SAMPLED, (4, 32), "updates"),
    "weights-not-delivered": (SAMPLED, ON, ""),
    "engine-quantised": ((GRPO,), (2, 4), "bits"),
    "updates-rounded-away": (ALL, (2, 6), "bits of mantissa"),
    "gradients-not-finite": (ALL, (1e4, 1e8), "scale of the loss"),
    "rollout-worker-slow": (REWARDED, (1.5, 6), "times as long"),
}
WHOLE = frozenset(
    {name for name, (_, _, unit) in SHARED.items() if unit in ("prompts", "tokens", "copies", "updates", "bits")}
    | {"no-clipping", "updates-rounded-away", "buffer-too-small"}
)
FROM_START = frozenset(
    {"horizon-too-short", "beta-too-small", "epsilon-zero", "epsilon-never-falls", "buffer-too-small"}
)

#: faults of the micro-lab alone: name -> link, algorithms, bounds of the severity, unit, other links that are right too
OWN: Mapping[str, tuple[Link, tuple[str, ...], tuple[float, float], str, Mapping[Link, str]]] = {
    "observations-offset": (Link.ENVIRONMENT, STATES, (3, 300), "added to every feature",
        {Link.NUMERICS: "inputs are out of range", Link.ADVANTAGE: "the critic is the first to feel it"}),
    "episodes-never-end": (Link.ENVIRONMENT, STATES, ON, "", {Link.ROLLOUT: "no episode is finished"}),
    "evaluation-elsewhere": (Link.EVALUATION, ALL, (0.3, 1), "share of the questions; more slips",
        {Link.ENVIRONMENT: "two environments differ, and the log does not say which one is meant"}),
    "reward-constant": (Link.REWARD, REWARDED, ON, "", {Link.ADVANTAGE: "no comparison is left"}),
    "reward-saturated": (Link.REWARD, (GRPO,), (0.6, 1), "share of the verdicts",
        {Link.ADVANTAGE: "groups have no spread", Link.EVALUATION: "it disagrees with the evaluation"}),
    "reward-missing": (Link.REWARD, (GRPO,), (0.2, 0.9), "share of the steps", {Link.NUMERICS: "NaN is logged"}),
    "baseline-missing": (Link.ADVANTAGE, SAMPLED, (0.5, 1), "share of the baseline", {}),
    "padding-in-loss": (Link.ADVANTAGE, TOKENS, ON, "", {Link.POLICY_UPDATE: "the mask is a part of the loss"}),
    "critic-target-wrong": (Link.ADVANTAGE, STATES, ON, "", {}),
    "target-never-updated": (Link.ADVANTAGE, (DQN,), ON, "", {Link.FRESHNESS: "an old network gives the targets"}),
    "beta-too-small": (Link.POLICY_UPDATE, (DPO,), (1e-4, 1e-2), "times beta", {}),
    "chosen-left-out": (Link.POLICY_UPDATE, (DPO,), (0.7, 2), "share of the push on the chosen completion",
        {Link.ENVIRONMENT: "half of the pair is missing in the data"}),
    "reference-follows": (Link.POLICY_UPDATE, (DPO,), ON, "", {Link.FRESHNESS: "other weights than were meant"}),
    "acts-greedily": (Link.EXPLORATION, (PPO,), ON, "", {Link.ROLLOUT: "what acts is not the policy"}),
    "epsilon-zero": (Link.EXPLORATION, (DQN,), ON, "", {Link.ROLLOUT: "actions are chosen there"}),
    "epsilon-never-falls": (Link.EXPLORATION, (DQN,), (0.6, 1), "epsilon", {Link.ROLLOUT: "actions are chosen there"}),
    "dropout-on": (Link.FRESHNESS, (GRPO,), (0.1, 0.6), "share",
        {Link.POLICY_UPDATE: "it stands beside the optimiser", Link.ROLLOUT: "the sampler is another policy"}),
    "buffer-too-small": (Link.FRESHNESS, (DQN,), (8, 64), "transitions",
        {Link.ROLLOUT: "few and equal samples", Link.ADVANTAGE: "the targets suffer from it"}),
    "buffer-frozen": (Link.FRESHNESS, (DQN,), ON, "", {Link.ROLLOUT: "new data do not arrive"}),
}  # fmt: skip


@cache
def faults() -> Mapping[str, MicroFault]:
    """Every fault by name."""
    every = {}
    for name, (where, severity, unit) in SHARED.items():
        known = catalogue()[name]
        assert known.link is not None
        every[name] = _fault(name, known.link, where, severity, unit, known.accepted, known.cause)
    for name, (link, where, severity, unit, accepted) in OWN.items():
        every[name] = _fault(name, link, where, severity, unit, accepted, None)
    return every


def _fault(
    name: str,
    link: Link,
    where: tuple[str, ...],
    severity: tuple[float, float],
    unit: str,
    accepted: Mapping[Link, str],
    cause: str | None,
) -> MicroFault:
    return MicroFault(
        name=name,
        link=link,
        where=where,
        severity=severity,
        unit=unit,
        cause=cause,
        accepted=accepted,
        whole=name in WHOLE,
        from_start=name in FROM_START,
    )
