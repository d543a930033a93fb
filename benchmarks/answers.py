"""What is said of one run, as the benchmarks of the population and of the field count it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firstbreak.engine import likelihood
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import by_link, rank
from firstbreak.model import Action, Link, LinkStatus, Outcome, Run, Severity, Status


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is said of one run."""

    link: str | None  #: the link of the first break; None: not called broken
    stop: bool
    cause: str  #: the most probable one
    healthy: float  #: its probability
    also: str | None  #: the link that it cannot be told apart from
    stated: float  #: the probability of the one or two links that were named
    #: link -> its probability if something is broken, and the probability of its most probable cause
    links: Mapping[str, tuple[float, float]]
    spoke: Mapping[str, str]  #: detector -> severity, where it found something more than a notice
    mute: tuple[str, ...]  #: detectors that could not look
    blind: tuple[str, ...]  #: links that were not measured


def answer(run: Run, outcomes: Sequence[Outcome]) -> Answer:
    """What is said of a run, with the links of all causes and not only of the most probable ones."""
    diagnosis, ranked = diagnose(run, outcomes), rank(Inputs(run), outcomes)
    first = diagnosis.first_break
    best: dict[Link, float] = {}
    for cause in ranked:
        if cause.link is not None:
            best[cause.link] = max(best.get(cause.link, 0.0), cause.probability)
    return Answer(
        link=first.link.value if first else None,
        stop=diagnosis.verdict.action in (Action.STOP, Action.ROLLBACK),
        cause=next((c.id for c in ranked if c.link is not None), ""),
        healthy=next(c.probability for c in ranked if c.id == likelihood.HEALTHY),
        also=first.also.value if first and first.also else None,
        stated=first.probability if first else 0.0,
        links={link.value: (probability, best[link]) for link, probability in by_link(ranked).items()},
        spoke={
            o.detector: f.severity.value for o in outcomes if (f := o.finding) and f.severity is not Severity.NOTICE
        },
        mute=tuple(o.detector for o in outcomes if o.status not in (Status.OK, Status.FOUND)),
        blind=tuple(link.value for link, state in diagnosis.links.items() if state.status is LinkStatus.NOT_MEASURED),
    )


def by_cause(answer: Answer) -> list[str]:
    """The links, that of the most probable cause first."""
    return sorted(answer.links, key=lambda link: -answer.links[link][1])


def first(links: Sequence[str]) -> str | None:
    """The first one, if there is any."""
    return next(iter(links), None)
