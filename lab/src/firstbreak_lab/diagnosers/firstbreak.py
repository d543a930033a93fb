"""firstbreak itself, as `firstbreak diagnose` answers."""

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Run, Severity
from firstbreak_lab.diagnosers import EVERYTHING, NO_CAUSE, DiagnoserAnswer

GIVES = EVERYTHING


def answer(run: Run) -> DiagnoserAnswer:
    """Found: the diagnosis names a first break. The causes are all ranked causes, of any link."""
    dx = diagnose(run)
    first = dx.first_break
    ranked = sorted(dx.causes, key=lambda cause: -cause.probability)
    return DiagnoserAnswer(
        found=first is not None,
        critical=any(o.finding.severity is Severity.CRITICAL for o in dx.findings if o.finding is not None),
        stop=dx.verdict.action in (Action.STOP, Action.ROLLBACK),
        link=first.link.value if first else None,
        causes=tuple(cause.id for cause in ranked if cause.id not in NO_CAUSE),
        onset=first.step if first else None,
        interval=first.interval if first else None,
        belief=(ranked[0].id, ranked[0].probability) if ranked else None,
    )
