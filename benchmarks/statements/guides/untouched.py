"""A healthy run as it is, in every trainer's names: what all other generators start from."""

from __future__ import annotations

from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action


@statement(
    "curves.healthy_run_is_left_alone",
    guide="003, reward trajectory",
    quote="Early in training, reward should clearly improve. ... Some noise is normal in RL (stochastic rewards).",
    needs=(),
    families=("text", "control"),
    actions=(Action.CONTINUE, Action.WATCH),
)
def healthy_run_is_left_alone(world: World) -> Curves:
    """Nothing is changed."""
    return dict(world.healthy)
