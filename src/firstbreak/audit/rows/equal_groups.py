"""All completions of a prompt get the same reward, in most groups.

A reward that is compared within a group teaches nothing where all rewards of the group are equal: all answers are right, all
are wrong, or the reward cannot tell them apart. Harmless where the task is solved, and while the reward rises on what is left.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.shift import over_steps
from firstbreak.audit.table import REWARD
from firstbreak.engine.checks import seen_as, warning
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.proportion import wilson
from firstbreak.model import Expected, Link, NotMeasured
from firstbreak.words import percent

LINK = Link.ADVANTAGE
MOST = 0.65  #: share of the late groups; with fewer, most of the batch still teaches something
FEWEST = 16  #: groups
SOLVED = 0.8  #: of the range of the rewards


def examine(evidence: AuditInputs) -> Found:
    rows = [(step, row) for step, row in evidence.table.rows if row.groups]
    late = [row for _, row in rows[len(rows) // 2 :]]
    equal, groups = sum(row.equal for row in late), sum(row.groups for row in late)
    if groups < FEWEST:
        return NotMeasured(f"{groups} late prompts with several rewards are too few ({FEWEST} are needed)")
    every = wilson(sum(row.equal for _, row in rows), sum(row.groups for _, row in rows))[0]
    if equal / groups <= MOST or max(wilson(equal, groups)[0], every) <= MOST:
        return None  # the late groups do not show it, or are too few to, and so are all
    lowest, highest = min(row.lowest for _, row in rows), max(row.highest for _, row in rows)
    said = f"{percent(equal / groups)} of the late groups have equal rewards"
    level = float(evidence.table.series(REWARD).tail(0.5).values.mean())
    if highest > lowest and level >= lowest + SOLVED * (highest - lowest):
        return Expected(f"{said}, because most answers get the best one")
    if rises(evidence.table.series(REWARD)):
        return Expected(f"{said}, and the reward rises on the others")
    share = over_steps("equal-groups", ((step, row.equal / row.groups) for step, row in rows))
    since = first_sustained(share, lambda values: values > MOST)
    return warning(
        f"in {percent(equal / groups)} of the late groups all completions of a prompt have the same reward, so that they "
        "teach nothing. Read three such groups: all right, all wrong, or a reward that cannot tell them apart",
        seen_as("samples.equal-groups", since),
        numbers={"share": equal / groups, "groups": groups},
    )
