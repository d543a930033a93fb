"""Ray RLlib: `config.callbacks(on_algorithm_init=..., on_train_result=...)`, both from `rllib.callbacks(guard)`.

Metrics are the values of the result. If the learner runs in the driver's process (no remote learners), the guard is also asked
before every optimizer step. A stop sets `done` in the result, which ends the trial under Tune. In your own loop, check
`guard.decision.stop`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstbreak.live.guard.adapters import torch as shared
from firstbreak.live.guard.guard import Guard


def callbacks(guard: Guard) -> dict[str, Callable[..., None]]:
    """Keyword arguments for `AlgorithmConfig.callbacks`."""

    def on_algorithm_init(*, algorithm: Any, **given: Any) -> None:
        guard.trainer = guard.trainer or "rllib"
        guard.config |= dict(flat(algorithm.config.to_dict()))
        group = getattr(algorithm, "learner_group", None)
        if group is not None and group.is_local:
            shared.ask_before_steps(guard, *group._learner._named_optimizers.values())

    def on_train_result(*, algorithm: Any, result: dict[str, Any], **given: Any) -> None:
        decision = guard.observe(result["training_iteration"], dict(flat(result)))
        if decision.stop:
            result["done"] = True

    return {"on_algorithm_init": on_algorithm_init, "on_train_result": on_train_result}


def flat(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Nested results with keys joined by "/", as the library's own loggers write them."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}/")
        else:
            yield f"{before}{name}", value
