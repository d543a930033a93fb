"""Further audit rows: one question about the samples in one file, whose name is the row's id. There is no list to edit.

A row is a module with a docstring (first line: its title), `LINK: Link`, and

    def examine(evidence: AuditInputs) -> Finding | Expected | NotMeasured | NotApplicable | str | None

Third parties name a module under the entry-point group `firstbreak.audit.rows`. No row sees the truth; see `split_truth`.
"""

from collections.abc import Mapping
from functools import cache
from types import ModuleType

from firstbreak import plugins
from firstbreak.audit.shift import RewardComponent, SideMetric
from firstbreak.audit.split_truth import PolicySample
from firstbreak.audit.table import SampleTable
from firstbreak.engine.checks import Check
from firstbreak.engine.inputs import SampledDiversity
from firstbreak.model import Expected, Finding, NotApplicable, NotMeasured, Series
from firstbreak.values import dataclass

Found = Finding | Expected | NotMeasured | NotApplicable | str | None


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditInputs:
    """What a row may look at."""

    table: SampleTable
    sides: Mapping[str, SideMetric]  #: side metric by id
    parts: tuple[RewardComponent, ...]  #: reward components
    answers: Mapping[str, Series]  #: the mean of those that check the answer, over the steps
    agrees: str  #: the correlation of the reward with the truth, where it is high
    diversity: SampledDiversity | None
    rewarded: bool  #: whether the reward rose
    latest: tuple[PolicySample, ...]  #: samples of the newest step


@cache
def rows() -> Mapping[str, Check]:
    """Row by id, in the order of the alphabet."""
    found = plugins.modules(__name__, "examine", "firstbreak.audit.rows")
    return {row.id: row for row in map(_row, found.values())}


def _row(module: ModuleType) -> Check:
    name, title, doc = plugins.described(module)
    return Check(id=name, link=module.LINK, title=title, doc=doc, ask=module.examine, needs=("evidence",))
