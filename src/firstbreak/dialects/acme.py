"""Acme: logs.csv per label (actor, learner, evaluator); the columns are those of the first row."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "Acme"

MARKS = frozenset(
    {
        "actor_steps",
        "actor_episodes",
        "learner_steps",
        "learner_walltime",
        "evaluator_steps",
        "evaluator_episodes",
        "loss_policy_pg",
        "loss_policy_entropy",
        "loss_critic",
    }
)

AXIS = ("actor_steps", "evaluator_steps", "learner_steps")

_EPISODE = "single episodes"

NAMES: dict[str, str | Name] = {
    "episode_return": Name("reward.episode", note=_EPISODE),
    "episode_length": Name("episode.length", note=_EPISODE),
    "actor_steps": "progress.env_steps",
    "actor_episodes": "progress.episodes",
    "evaluator_steps": "eval.progress.env_steps",
    "evaluator_episodes": "eval.progress.episodes",
    "learner_steps": "progress.updates",
    "learner_walltime": "time.elapsed",
    "steps_per_second": Name("throughput.sps", note="of one episode, or of the learner"),
    "loss_policy_pg": "policy.loss",
    "actor_loss": Name("policy.loss", note="minus a Q value: follows the size of Q"),
    "policy_loss": "policy.loss",
    "loss_policy_entropy": Name("policy.entropy", -1.0, "logged as minus the entropy"),
    "loss_critic": Name("value.loss", note="squared error; values may be normalised"),
    "critic_loss": "value.loss",
    "loss_total": "loss.total",
    "alpha": "alpha",
    "alpha_loss": "alpha.loss",
    "q_mean": "value.mean",
}

LOG = {
    "eval.reward": "add an evaluator: its label's logs.csv holds episode_return",
    "grad.norm": "not logged by the learners",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """An evaluator's file holds the same words as an actor's."""
    if "evaluator_steps" in names and "actor_steps" not in names:
        return {"episode_return": "eval.reward", "episode_length": "eval.episode_length"}
    return {}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs."""
    if "loss_policy_pg" in names:
        return "ppo"
    return "sac" if "alpha" in names else None
