"""The user's reward function, called as its trainer would call it.

TRL calls `f(prompts=, completions=, completion_ids=, **columns) -> list[float | None]` with chats where the data set has
chats (GRPOTrainer._calculate_rewards); verl calls `compute_score(data_source, solution_str, ground_truth, extra_info)`
and takes a number or a dict with "score"; a reward model or judge is any `f(prompt, completion) -> number`.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from firstbreak.preflight import target
from firstbreak.preflight.deadline import Overdue, deadline
from firstbreak.preflight.reward.items import NAMES, Item
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass, replace

SECONDS = 60.0  #: for one call (convention)
#: by TRL, whether the function uses them or not
ALWAYS_PASSED = ("prompts", "completions", "completion_ids", "trainer_state")


class Failed(Exception):
    """The function raised, hung or returned something that is no list of rewards; the message says which."""


@dataclass(frozen=True)
class RewardFunction:
    """A reward function behind one interface."""

    name: str
    signature: str  #: "TRL", "verl" or "(prompt, completion)"
    function: Callable[..., Any]
    chats: bool = False  #: completions are handed over as [{"role": "assistant", "content": ...}]
    beside: tuple[Item, ...] = ()  #: samples that it scores: put beside others where it fails on these alone

    def __call__(self, items: Sequence[Item]) -> np.ndarray:
        """Shape (n,): the rewards, NaN where the function returned None. Raises `Failed`."""
        if not items:
            return np.array([])
        try:
            return self._scored(items)
        except Failed:
            if not self.beside:
                raise
            return self._scored([*items, *self.beside])[: len(items)]

    def _scored(self, items: Sequence[Item]) -> np.ndarray:
        try:
            with deadline(SECONDS):
                rewards = self._call(items)
        except Overdue as error:
            raise Failed(f"{error} for {len(items)} completions") from None
        except (Exception, SystemExit) as error:
            raise Failed(f"{type(error).__name__}: {error}") from error
        if len(rewards) != len(items):
            raise Failed(f"{len(rewards)} rewards for {len(items)} completions")
        try:
            return np.array([np.nan if r is None else float(r) for r in rewards])
        except (TypeError, ValueError) as error:
            raise Failed(f"a reward is no number ({error})") from None

    def _call(self, items: Sequence[Item]) -> list[Any]:
        match self.signature:
            case "TRL":
                return self._call_trl(items)
            case "verl":  # takes a number, or a dict with the number under "score"
                results = [self.function(**_verl_arguments(item)) for item in items]
                return [result["score"] if isinstance(result, dict) else result for result in results]
            case _:
                return [self.function(item.prompt, item.completion) for item in items]

    def _call_trl(self, items: Sequence[Item]) -> list[Any]:
        chat: Callable[[str, str], Any] = lambda role, text: [{"role": role, "content": text}] if self.chats else text  # noqa: E731
        given: dict[str, Any] = {
            "prompts": [chat("user", item.prompt) for item in items],
            "completions": [chat("assistant", item.completion) for item in items],
            # some length, where there is no tokenizer
            "completion_ids": [list(item.completion.encode()) for item in items],
            "trainer_state": None,
        }
        given |= {name: [item.columns.get(name) for item in items] for name in items[0].columns if name not in given}
        accepted = inspect.signature(self.function).parameters
        if items[0].answer is not None:  # under the name that the function has for it
            given |= {n: [item.answer for item in items] for n in NAMES["answer"] if n in accepted and n not in given}
        if not _takes_anything(self.function):
            given = {name: value for name, value in given.items() if name in accepted}
        answer = self.function(**given)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
        return list(answer)

    def lacks(self, item: Item) -> tuple[str, ...]:
        """The columns that the function asks for, or the right answers, that the samples do not hold."""
        if self.signature == "verl":
            return ("ground_truth",) if item.answer is None else ()
        if self.signature != "TRL":
            return ()
        usual = {*ALWAYS_PASSED, *item.columns, *(NAMES["answer"] if item.answer is not None else ())}
        asked = inspect.signature(self.function).parameters.values()
        named = [p for p in asked if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name not in usual]
        return tuple(p.name for p in named if p.default is p.empty or p.name in NAMES["answer"])

    @property
    def refuses(self) -> tuple[str, ...]:
        """What TRL passes by name and the function does not take."""
        if self.signature != "TRL" or _takes_anything(self.function):
            return ()
        accepted = inspect.signature(self.function).parameters
        return tuple(name for name in ALWAYS_PASSED if name not in accepted)


def open_judge(name: str, items: Sequence[Item]) -> RewardFunction:
    """The function that `module:function` names, and how it wants to be called. Raises `Unreadable`."""
    function = target.load(name)
    if not callable(function):
        raise Unreadable(name, "cannot be called", "name a reward function")
    parameters = list(inspect.signature(function).parameters)
    if "completions" in parameters or (_takes_anything(function) and len(parameters) <= 2):
        judge = RewardFunction(name, "TRL", function)
        return replace(judge, chats=True) if items and _wants_chats(judge, items[0]) else judge
    if "solution_str" in parameters:
        return RewardFunction(name, "verl", function)
    if len(parameters) >= 2:
        return RewardFunction(name, "(prompt, completion)", function)
    raise Unreadable(
        name,
        f"takes ({', '.join(parameters)}), which no trainer calls",
        "write f(prompts, completions, **columns), compute_score(data_source, solution_str, ground_truth, extra_info) "
        "or f(prompt, completion)",
    )


def _wants_chats(judge: RewardFunction, item: Item) -> bool:
    """Whether plain text is refused and a chat is not."""

    def refused(call: RewardFunction) -> bool:
        try:
            return call([item]) is None
        except Failed:
            return True

    return refused(judge) and not refused(replace(judge, chats=True))


def _takes_anything(function: Callable[..., Any]) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def _verl_arguments(item: Item) -> dict[str, Any]:
    extra = item.columns.get("extra_info")
    return {
        "data_source": item.columns.get("data_source", ""),
        "solution_str": item.completion,
        "ground_truth": item.answer,
        "extra_info": extra if isinstance(extra, dict) else {},
    }


async def _awaited(answer: Any) -> Any:
    return await answer
