"""A machine with registers. The agent reads a register with one tool and writes a register with another tool.

The prompt `max:ab>c=` asks the agent to write the larger digit of a and b into register c. The contents are hidden.

    ?a    read a register: the machine answers with its digit, or with `x` if the read fails; another read may succeed
    !c7   write a digit: the machine answers with `.`
    ok    the agent says that it is done; this changes no register

Success depends on the final contents of the registers, not on the text. The answers of the machine are part of the text.
For this reason, the problem and the text are enough to compute the whole episode again.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from firstbreak_lab.language.settings import LanguageSettings
from firstbreak_lab.language.tasks import Task, TaskProblem

NAMES = "abcdef"
CLAIM = "ok"


@dataclass(frozen=True)
class Call:
    """One complete tool call in a text."""

    tool: str  #: "?" or "!"
    register: str
    digit: str  #: the digit to write; empty for a read
    answer_at: int  #: position of the machine's answer in the text

    @property
    def legal(self) -> bool:
        """Whether the register exists and the digit is a digit."""
        return self.register in NAMES and (self.tool == "?" or self.digit.isdigit())


def calls(text: str) -> Iterator[Call]:
    """The calls of a text, in order. Other characters are ignored."""
    at = 0
    while at < len(text):
        length = {"?": 2, "!": 3}.get(text[at], 0)
        if not length:
            at += 1
        elif at + length > len(text):
            return
        else:
            yield Call(text[at], text[at + 1], text[at + 2 : at + length], at + length)
            at += length + 1  # one more character: the answer


@dataclass(frozen=True)
class Registers:
    """The machine."""

    failure_rate: float = 0.0  #: share of the reads that fail

    def respond(self, problem: TaskProblem, text: str) -> str:
        """The answer to the call at the end of the text; empty if the text does not end with a call."""
        state = dict(zip(NAMES, problem.hidden, strict=True))
        for call in calls(text):
            if call.tool == "!" and call.legal:
                state[call.register] = call.digit
            if call.answer_at == len(text):
                return self._answer(call, state, problem, text)
        return ""

    def _answer(self, call: Call, state: dict[str, str], problem: TaskProblem, text: str) -> str:
        if not call.legal or (call.tool == "?" and self._fails(problem, text)):
            return "x"
        return "." if call.tool == "!" else state[call.register]

    def _fails(self, problem: TaskProblem, text: str) -> bool:
        """Whether this read fails: random, but the same for the same episode, so that a run can be repeated."""
        return zlib.crc32(f"{problem.prompt}{problem.hidden}{text}".encode()) % 1000 < 1000 * self.failure_rate

    def observed(self, text: str) -> list[bool]:
        """For each character, whether the machine wrote it."""
        answers = {call.answer_at for call in calls(text)}
        return [i in answers for i in range(len(text))]

    def statistics(self, problem: TaskProblem, text: str) -> dict[str, float]:
        """Number of calls, failed calls, illegal calls, and whether the agent says that it is done."""
        made = list(calls(text))
        failed = [call for call in made if text[call.answer_at : call.answer_at + 1] == "x"]
        return {
            "turns.mean": float(len(made) + 1),
            "tool.call_freq": float(len(made)),
            "tool.failure_freq": len(failed) / max(1, len(made)),
            "tool.invalid_frac": sum(not call.legal for call in made) / max(1, len(made)),
            "custom.claims": float(claims(text)),
        }


def final_state(problem: TaskProblem, text: str) -> dict[str, str]:
    """The contents of the registers at the end."""
    state = dict(zip(NAMES, problem.hidden, strict=True))
    state.update({call.register: call.digit for call in calls(text) if call.tool == "!" and call.legal})
    return state


def success(problem: TaskProblem, text: str) -> float:
    """1 if the target contains the larger digit and no other register has changed, otherwise 0."""
    _, target = _goal(problem)
    wanted = dict(zip(NAMES, problem.hidden, strict=True)) | {target: problem.answer}
    return float(final_state(problem, text) == wanted)


def claims(text: str) -> bool:
    """Whether the agent says that it is done."""
    return text.endswith(CLAIM)


def _goal(problem: TaskProblem) -> tuple[str, str]:
    """The registers to compare, and the target."""
    sources, target = problem.prompt.removeprefix("max:").rstrip("=").split(">")
    return sources, target


def make(rng: random.Random) -> TaskProblem:
    """A problem with two registers to compare, a third register as the target, and random contents."""
    a, b, target = rng.sample(NAMES, 3)
    while True:
        hidden = "".join(rng.choices("0123456789", k=len(NAMES)))
        state = dict(zip(NAMES, hidden, strict=True))
        if state[target] != max(state[a], state[b]):  # otherwise no write would be needed
            break
    return TaskProblem(f"max:{a}{b}>{target}=", max(state[a], state[b]), hidden=hidden)


@dataclass(frozen=True)
class RegisterTask(Task):
    """The task. Its demonstrations use the tools."""

    def demonstration(self, problem: TaskProblem, rng: random.Random) -> str:
        """Read both registers (again after a failed read), write the digit, say `ok`."""
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
    """The task on a machine where a share `failure_rate` of the reads fails."""
    return RegisterTask("registers", make, grade=success, environment=Registers(failure_rate))


def grpo() -> LanguageSettings:
    """GRPO on the registers: success rises from 0.5 to more than 0.9."""
    return LanguageSettings(
        task=registers(),
        warmup_accuracy=0.5,
        rewards={"success": success},
        reward_weights={"success": 1.0},
        max_new_tokens=18,
    )
