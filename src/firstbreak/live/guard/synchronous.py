"""The trainer's settings for synchronous training: the first thing to try if the data may be stale.

One option is enough to test whether asynchronous training is the reason (AReaL's guide "Diagnosing RL Performance" begins
with this test). For this reason, a decision contains the settings, ready to copy.
"""

from collections.abc import Mapping

import yaml

from firstbreak import dialects
from firstbreak.model import Action, Diagnosis, Link

WORTH_TRYING = 0.1  #: smallest probability of a cause in this link for which the settings are shown

#: trainer -> its options; for other trainers, the limit on the staleness of the data is set to 0
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "areal": {"rollout.max_head_offpolicyness": 0, "actor.recompute_logprob": False, "actor.use_decoupled_loss": False},
    "nemo_rl": {"grpo.async_grpo.enabled": False},
    "open_instruct": {"async_steps": 1},  # the smallest value: the next batch is generated during the update
}


def settings(trainer: str | None) -> Mapping[str, object]:
    """The options under the trainer's own names. Empty if none are known."""
    name = trainer or ""
    if name in SETTINGS:
        return SETTINGS[name]
    module = dialects.dialects().get(name)
    options = getattr(module, "CONFIG", {})
    return next(({option: 0} for option, name in options.items() if name == "max_staleness"), {})


def snippet(diagnosis: Diagnosis) -> str:
    """The settings as YAML if the diagnosis suspects stale data; "" if not, or if no settings are known."""
    suspected = diagnosis.first_break is not None and diagnosis.first_break.link is Link.FRESHNESS
    suspected |= any(c.link is Link.FRESHNESS and c.probability >= WORTH_TRYING for c in diagnosis.causes)
    options = settings(diagnosis.run.trainer) if suspected and diagnosis.verdict.action is not Action.CONTINUE else {}
    return yaml.safe_dump(_nested(options), sort_keys=False).rstrip() if options else ""


def _nested(options: Mapping[str, object]) -> dict[str, object]:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    tree: dict[str, object] = {}
    for path, value in options.items():
        *folders, name = path.split(".")
        here = tree
        for folder in folders:
            here = here.setdefault(folder, {})  # type: ignore[assignment]
        here[name] = value
    return tree
