"""Where no distance between sampler and trainer is recorded."""

from firstbreak.engine.families import Data, Family, Method, Policy
from firstbreak.model import NotApplicable, NotMeasured


def nothing_recorded(family: Family, what: str) -> NotApplicable | NotMeasured:
    """Why a check of data freshness has nothing to look at."""
    if family.method is Method.VALUE_BASED:
        return NotApplicable("replayed data are older than the policy by design")
    if family.method is Method.PREFERENCE:
        return NotApplicable("the data are given: no policy makes data during training")
    if family.data is Data.ON_POLICY and family.policy is Policy.CONTROL and family.method is Method.ACTOR_CRITIC:
        return NotApplicable("the policy that is trained makes its own data, in the same process and between updates")
    return NotMeasured(f"{what} not logged")
