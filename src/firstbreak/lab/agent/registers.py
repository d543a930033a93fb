"""A machine with registers, whose contents an agent must read with one tool and change with another.

The prompt `max:ab>c=` asks for register c to hold the larger of a and b. What the registers hold is hidden.

    ?a    read a register: the machine answers with its digit, or with `x` where the read fails; reading again may help
    !c7   write a digit: the machine answers with `.`
    ok    the agent says that it is done; saying so changes nothing

Success is a matter of the registers' final contents, not of the words. Everything can be worked out again from the
problem and the text, because what the machine has answered is part of the text.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from firstbreak.lab.language.settings import Settings
from firstbreak.lab.language.tasks import Problem, Task

NAMES = "abcdef"
CLAIM = "ok"


@dataclass(frozen=True)
class Call:
    """One complete tool call in a text."""

    tool: str  #: "?" or "!"
    register: str
    digit: str  #: what is written; empty for a read
    answer_at: int  #: where in the text the machine's answer stands, or belongs

    @property
    def legal(self) -> bool:
        """Whether the machine has such a register, and the digit is one."""
        return self.register in NAMES and (self.tool == "?" or self.digit.isdigit())


def calls(text: str) -> Iterator[Call]:
    """The calls of a text, in order; what is not a call is passed over."""
    at = 0
    while at < len(text):
        length = {"?": 2, "!": 3}.get(text[at], 0)
        if not length:
            at += 1
        elif at + length > len(text):
            return
        else:
            yield Call(text[at], text[at + 1], text[at + 2 : at + length], at + length)
            at += length + 1  # the answer belongs to the call


@dataclass(frozen=True)
class Registers:
    """The machine."""

    failure_rate: float = 0.0  #: share of the reads that fail

    def respond(self, problem: Problem, text: str) -> str:
        """Answer the call with which the text ends, if it ends with one."""
        state = dict(zip(NAMES, problem.hidden, strict=True))
        for call in calls(text):
            if call.tool == "!" and call.legal:
                state[call.register] = call.digit
            if call.answer_at == len(text):
                return self._answer(call, state, problem, text)
        return ""

    def _answer(self, call: Call, state: dict[str, str], problem: Problem, text: str) -> str:
        if not call.legal or (call.tool == "?" and self._fails(problem, text)):
            return "x"
        return "." if call.tool == "!" else state[call.register]

    def _fails(self, problem: Problem, text: str) -> bool:
        """Chance, but the same for the same episode, so that a run can be repeated."""
        return zlib.crc32(f"{problem.prompt}{problem.hidden}{text}".encode()) % 1000 < 1000 * self.failure_rate

    def observed(self, text: str) -> list[bool]:
        """Which characters are the machine's."""
        answers = {call.answer_at for call in calls(text)}
        return [i in answers for i in range(len(text))]

    def statistics(self, problem: Problem, text: str) -> dict[str, float]:
        """Calls, failures, illegal calls, and what the agent says of itself."""
        made = list(calls(text))
        failed = [call for call in made if text[call.answer_at : call.answer_at + 1] == "x"]
        return {
            "turns.mean": float(len(made) + 1),
            "tool.call_freq": float(len(made)),
            "tool.failure_freq": len(failed) / max(1, len(made)),
            "tool.invalid_frac": sum(not call.legal for call in made) / max(1, len(made)),
            "custom.claims": float(claims(text)),
        }


def final_state(problem: Problem, text: str) -> dict[str, str]:
    """What the registers hold when all is done."""
    state = dict(zip(NAMES, problem.hidden, strict=True))
    state.update({call.register: call.digit for call in calls(text) if call.tool == "!" and call.legal})
    return state


def success(problem: Problem, text: str) -> float:
    """1 if the target holds the larger digit and every other register what it held, else 0."""
    _, target = _goal(problem)
    wanted = dict(zip(NAMES, problem.hidden, strict=True)) | {target: problem.answer}
    return float(final_state(problem, text) == wanted)


def claims(text: str) -> bool:
    """Whether the agent says that it is done."""
    return text.endswith(CLAIM)


def _goal(problem: Problem) -> tuple[str, str]:
    """The registers to compare, and the target."""
    sources, target = problem.prompt.removeprefix("max:").rstrip("=").split(">")
    return sources, target


def make(rng: random.Random) -> Problem:
    """Two registers, a third one as the target, and random contents."""
    a, b, target = rng.sample(NAMES, 3)
    while True:
        hidden = "".join(rng.choices("0123456789", k=len(NAMES)))
        state = dict(zip(NAMES, hidden, strict=True))
        if state[target] != max(state[a], state[b]):  # or doing nothing would be right
            break
    return Problem(f"max:{a}{b}>{target}=", max(state[a], state[b]), hidden=hidden)


@dataclass(frozen=True)
class RegisterTask(Task):
    """The task, whose demonstrations use the tools."""

    def demonstration(self, problem: Problem, rng: random.Random) -> str:
        """Read (again, where a read fails), write, say so."""
        assert self.environment is not None
        sources, target = _goal(problem)
        text = ""
        for register in sources:
            while not text.endswith(tuple("0123456789")) or not text[:-1].endswith(f"?{register}"):
                text += f"?{register}"
                text += self.environment.respond(problem, text)
        text += f"!{target}{problem.answer}"
        return text + self.environment.respond(problem, text) + CLAIM


def registers(failure_rate: float = 0.0) -> RegisterTask:
    """The task on a machine whose reads fail now and then."""
    return RegisterTask("registers", make, grade=success, environment=Registers(failure_rate))


def grpo() -> Settings:
    """GRPO on the registers: success from a half to more than nine tenths."""
    return Settings(
        task=registers(),
        warmup_accuracy=0.5,
        rewards={"success": success},
        reward_weights={"success": 1.0},
        max_new_tokens=18,
    )
