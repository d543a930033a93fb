"""The tables of an audit, for the terminal and for the page: scores, behaviour, reward components, diversity."""

from collections.abc import Iterator

from firstbreak.audit.audit import Audit
from firstbreak.audit.shift import SideMetric
from firstbreak.reports.text import count
from firstbreak.values import dataclass
from firstbreak.words import number

SHOWN = 120  #: characters of a sample in a line


@dataclass(frozen=True)
class AuditTable:
    """One part of an audit: a table, lines that belong to it, and how it is read."""

    title: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    words: int = 2  #: columns of words; those behind them are numbers


def tables(audit: Audit) -> Iterator[AuditTable]:
    """The parts that have something to show, in their order."""
    every = (_truths(audit), _sides(audit), _components(audit), _diversity(audit))
    return (table for table in every if table.rows or table.lines or table.notes)


def line(text: str) -> str:
    """The beginning of a text."""
    return text[:SHOWN] + ("..." if len(text) > SHOWN else "")


def _truths(audit: Audit) -> AuditTable:
    rows = tuple(
        (
            p.truth.name,
            p.course,
            f"{number(p.change.before)} to {number(p.change.after)}",
            f"{number(p.proxy.before)} to {number(p.proxy.after)}",
        )
        for p in audit.hacking_test.comparisons
    )
    lines: list[str] = []
    for a in audit.hacking_test.agreements:
        low, high = a.interval
        golds = ", ".join(f"{gold:.2g}" for _, gold, _ in a.curve)
        lines += [
            f"correlation of the reward with {a.source} over all samples: {number(a.correlation)} "
            f"(95 % {number(low)} to {number(high)}, {count(a.pairs, 'sample')}); "
            f"{a.mismatched} of {count(a.high, 'sample')} with a high reward {'has' if a.mismatched == 1 else 'have'} a low "
            "truth",
            f"mean {a.source} in tenths of the samples, from the lowest to the highest reward: {golds}",
            *(f"reward {number(m.reward)}, and bad: {line(m.sample.completion)}" for m in a.mismatches[:2]),
        ]
    head = ("independent score", "result", "from, to", "reward from, to")
    return AuditTable("The reward and independent scores", head, rows, lines=tuple(lines))


def _sides(audit: Audit) -> AuditTable:
    moving = sorted(audit.hacking_test.sides, key=lambda side: (not side.shifted, -abs(side.effect)))
    rows = tuple(
        (
            side.metric.id,
            {1: "up", -1: "down", 0: ""}[side.shifted] + (", rewarded" if side.rewarded else ""),
            number(side.early),
            number(side.late),
            f"{side.effect:+.1f}",
            _since(side),
        )
        for side in moving
        if side.early or side.late
    )
    still = [side.metric.id for side in audit.hacking_test.sides if not side.early and not side.late]
    legend = "effect: in standard deviations of the samples of the first steps; rewarded: correlated with the reward"
    notes = (*((legend,) if rows else ()), *((f"always zero: {', '.join(still)}",) if still else ()))
    head = ("metric", "shifted", "early", "late", "effect", "since")
    return AuditTable("Behaviour over the run", head, rows, notes=notes)


def _since(side: SideMetric) -> str:
    if side.step is None or side.interval is None:
        return ""
    low, high = side.interval
    return f"{number(side.step)} ({number(low)} to {number(high)})"


def _components(audit: Audit) -> AuditTable:
    rows = tuple(
        (part.name, "checks the answer" if part.checks_answer else "", number(part.weight), f"{part.gain:+.3g}")
        for part in audit.hacking_test.parts
    )
    return AuditTable("Reward components", ("component", "", "weight", "gain"), rows if len(rows) > 1 else ())


def _diversity(audit: Audit) -> AuditTable:
    found = audit.diversity
    if found is None or len(found.strategies) < 2:
        return AuditTable("Diversity")
    effective, texts = found.strategies.values, found.texts.finite.values
    rows = [("effective number of strategies", number(effective[0]), number(effective[-1]))]
    if len(texts):
        first, last = (f"{number(100 * share)} %" for share in (texts[0], texts[-1]))
        rows.append(("different texts per prompt", first, last))
    return AuditTable("Diversity", ("of the samples", "at first", "at the end"), tuple(rows), words=1)
