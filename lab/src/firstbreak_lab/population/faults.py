"""Faults by name. One that the catalogue of the lab has takes its link, its cause and its accepted links from there."""

from collections.abc import Iterable, Mapping

from firstbreak.model import Link
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.population.family import TrainerFault

ON = (1.0, 1.0)  #: a fault that is there or not

#: faults of several families that the catalogue does not have: name -> link, other links that are right too
OWN: Mapping[str, tuple[Link, Mapping[Link, str]]] = {
    "observations-offset": (
        Link.ENVIRONMENT,
        {Link.NUMERICS: "inputs are out of range", Link.ADVANTAGE: "the critic is the first to feel it"},
    ),
    "episodes-never-end": (Link.ENVIRONMENT, {Link.ROLLOUT: "no episode is finished"}),
    "evaluation-elsewhere": (
        Link.EVALUATION,
        {Link.ENVIRONMENT: "two environments differ, and the log does not say which one is meant"},
    ),
    "reward-constant": (Link.REWARD, {Link.ADVANTAGE: "no comparison is left"}),
    "reward-saturated": (
        Link.REWARD,
        {Link.ADVANTAGE: "groups have no spread", Link.EVALUATION: "it disagrees with the evaluation"},
    ),
    "reward-missing": (Link.REWARD, {Link.NUMERICS: "NaN is logged"}),
    "baseline-missing": (Link.ADVANTAGE, {}),
    "padding-in-loss": (Link.ADVANTAGE, {Link.POLICY_UPDATE: "the mask is a part of the loss"}),
    "critic-target-wrong": (Link.ADVANTAGE, {}),
    "target-never-updated": (Link.ADVANTAGE, {Link.FRESHNESS: "an old network gives the targets"}),
    "beta-too-small": (Link.POLICY_UPDATE, {}),
    "chosen-left-out": (Link.POLICY_UPDATE, {Link.ENVIRONMENT: "half of the pair is missing in the data"}),
    "reference-follows": (Link.POLICY_UPDATE, {Link.FRESHNESS: "other weights than were meant"}),
    "acts-greedily": (Link.EXPLORATION, {Link.ROLLOUT: "what acts is not the policy"}),
    "epsilon-zero": (Link.EXPLORATION, {Link.ROLLOUT: "actions are chosen there"}),
    "epsilon-never-falls": (Link.EXPLORATION, {Link.ROLLOUT: "actions are chosen there"}),
    "dropout-on": (
        Link.FRESHNESS,
        {Link.POLICY_UPDATE: "it stands beside the optimiser", Link.ROLLOUT: "the sampler is another policy"},
    ),
    "buffer-too-small": (
        Link.FRESHNESS,
        {Link.ROLLOUT: "few and equal samples", Link.ADVANTAGE: "the targets suffer from it"},
    ),
    "buffer-frozen": (Link.FRESHNESS, {Link.ROLLOUT: "new data do not arrive"}),
}


def fault(
    name: str,
    severity: tuple[float, float] = ON,
    unit: str = "",
    *,
    link: Link | None = None,
    accepted: Mapping[Link, str] | None = None,
    cause: str | None = None,
    whole: bool = False,
    from_start: bool = False,
    needs: str = "",
) -> TrainerFault:
    """A fault of a family. Give `link` and `accepted` where no other part of the lab knows the name."""
    if link is None:
        link, accepted, cause = _known(name)
    return TrainerFault(
        name=name,
        link=link,
        severity=severity,
        unit=unit,
        cause=cause,
        accepted=accepted or {},
        whole=whole,
        from_start=from_start,
        needs=needs or ("evaluation" if link is Link.EVALUATION else ""),
    )


def by_name(faults: Iterable[TrainerFault]) -> Mapping[str, TrainerFault]:
    """The faults of a family, as its FAULTS are."""
    return {one.name: one for one in faults}


def _known(name: str) -> tuple[Link, Mapping[Link, str], str | None]:
    if name in OWN:
        return *OWN[name], None
    variant = catalogue()[name]
    if variant.link is None:
        raise ValueError(f"{name} is a healthy variant")
    return variant.link, variant.accepted, variant.cause
