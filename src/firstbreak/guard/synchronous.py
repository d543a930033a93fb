"""The first thing to try where stale data are suspected: the trainer's own settings for synchronous training.

Asynchronous training is the one suspect that can be ruled out by a switch (AReaL's guide "Diagnosing RL Performance"
begins with it), so a decision carries the switch ready to paste.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from firstbreak import dialects
from firstbreak.model import Diagnosis, Link

WORTH_TRYING = 0.1  #: probability of a cause in this link from which the switch is offered

#: trainer -> its options; where a trainer is not named here, the limit on the age of the data is set to 0
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "areal": {
        "rollout.max_head_offpolicyness": 0,
        "actor.recompute_logprob": False,
        "actor.use_decoupled_loss": False,
    },
    "nemo_rl": {"grpo.async_grpo.enabled": False},
    "open_instruct": {"async_steps": 1},  # the least that it knows: generation of the next batch during the update
}


def settings(trainer: str | None) -> Mapping[str, object]:
    """The options, by the trainer's own names; empty where it has none that are known."""
    name = trainer or ""
    if name in SETTINGS:
        return SETTINGS[name]
    module = dialects.dialects().get(name)
    options = getattr(module, "CONFIG", {})
    return next(({option: 0} for option, name in options.items() if name == "max_staleness"), {})


def snippet(diagnosis: Diagnosis) -> str:
    """The settings as YAML, where the diagnosis suspects stale data; "" where it does not, or the trainer has none."""
    suspected = diagnosis.first_break is not None and diagnosis.first_break.link is Link.FRESHNESS
    suspected |= any(c.link is Link.FRESHNESS and c.probability >= WORTH_TRYING for c in diagnosis.causes)
    options = settings(diagnosis.run.trainer) if suspected and diagnosis.first_break is not None else {}
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
