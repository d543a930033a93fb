"""The healthy training runs into which faults are injected, by name: `<trainer>/<algorithm>-<task>`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from firstbreak_lab import agent, classic, language, preference, trl
from firstbreak_lab.language import tasks

# A settings object has `seed`, `steps` and `patches`. firstbreak_lab.<trainer>.trainer.train(settings, folder) runs it.
BASES: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "classic/ppo-cartpole": classic.ppo,
        "classic/a2c-cartpole": classic.a2c,
        "classic/dqn-cartpole": classic.dqn,
        "classic/sac-pendulum": classic.sac,
        "language/grpo-sort": lambda: language.grpo(tasks.sort()),
        "language/grpo-reverse": lambda: language.grpo(tasks.reverse()),
        "language/grpo-add": lambda: language.grpo(tasks.add()),
        "language/grpo-tag": lambda: language.grpo(tasks.tag()),
        "language/ppo-sort": lambda: language.ppo(tasks.sort()),
        "language/async-sort": lambda: language.asynchronous(tasks.sort()),
        "agent/grpo-registers": agent.grpo,
        "preference/grpo-sort": preference.grpo,
        "trl/grpo-sort": trl.grpo,
    }
)
