"""Problems, grades, and the line between what is taught and what is held out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lazy import lazy

agent_registers = lazy("firstbreak_lab.agent.registers")
tasks = lazy("firstbreak_lab.language.tasks")
settings = lazy("firstbreak_lab.preference.settings")

ALL = [
    tasks.sort(),
    tasks.reverse(),
    tasks.add(),
    tasks.add(6, 4),
    tasks.tag(),
    agent_registers.registers(),
    agent_registers.registers(0.3),
]


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_demonstrations_are_right_unless_work_is_missing(task: tasks.Task) -> None:
    rng = random.Random(0)
    grades = [task.grade(p, task.demonstration(p, rng)) for p in task.draw(rng, 50)]
    assert min(grades) == (0 if task.name == "add4" else 1)
    assert max(grades) == 1


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_what_is_held_out_is_never_drawn(task: tasks.Task) -> None:
    held_out = {problem.prompt for problem in task.held_out(200)}
    assert not held_out & {problem.prompt for problem in task.draw(random.Random(1), 2000)}
    assert task.held_out(50) == task.held_out(50)


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_all_prompts_of_a_task_are_equally_long_and_in_the_alphabet(task: tasks.Task) -> None:
    prompts = [problem.prompt for problem in task.draw(random.Random(2), 100)]
    assert len({len(prompt) for prompt in prompts}) == 1
    assert set("".join(prompts)) <= set(tasks.ALPHABET)


def test_grades() -> None:
    problem = tasks.TaskProblem("sort:52731=", "12357")
    assert tasks.accuracy(problem, "...12357") == 1
    assert tasks.accuracy(problem, "12357.") == tasks.accuracy(problem, "") == 0
    assert tasks.accuracy(tasks.TaskProblem("5+5=", "01", min_filler=2), ".01") == 0
    assert tasks.accuracy(tasks.TaskProblem("5+5=", "01", min_filler=2), "..01") == 1
    assert tasks.well_formed(problem, ".99999") == 1
    assert tasks.well_formed(problem, "1235a") == tasks.well_formed(problem, "1235") == 0
    assert settings.closeness(problem, "12375") == pytest.approx(0.6)
    assert settings.closeness(problem, "123") == 0


# The machine with registers -------------------------------------------------------------------------------------------

PROBLEM = tasks.TaskProblem("max:ab>c=", "7", hidden="370000")  # a=3, b=7
MACHINE = agent_registers.Registers()


def test_the_machine_answers_complete_calls_only() -> None:
    assert [MACHINE.respond(PROBLEM, text) for text in ("?", "?a", "?a3", "!c", "!c7")] == ["", "3", "", "", "."]


def test_what_was_written_is_read_again() -> None:
    assert MACHINE.respond(PROBLEM, "!c7.?c") == "7"


def test_illegal_calls_fail_and_change_nothing() -> None:
    assert MACHINE.respond(PROBLEM, "?9") == "x"
    assert MACHINE.respond(PROBLEM, "!cz") == "x"
    assert agent_registers.final_state(PROBLEM, "!czx!97x")["c"] == "0"


def test_success_is_the_state_and_not_the_words() -> None:
    assert agent_registers.success(PROBLEM, "?a3?b7!c7.ok") == 1
    assert agent_registers.success(PROBLEM, "!c7.") == 1
    assert agent_registers.success(PROBLEM, "ok") == 0
    assert agent_registers.success(PROBLEM, "!c7.!a9.ok") == 0  # another register was damaged
    assert MACHINE.statistics(PROBLEM, "?a3ok")["custom.claims"] == 1


def test_reads_fail_as_often_as_they_should() -> None:
    machine, rng = agent_registers.Registers(0.3), random.Random(3)
    answers = [machine.respond(problem, "?a") for problem in agent_registers.registers().draw(rng, 500)]
    assert answers.count("x") / 500 == pytest.approx(0.3, abs=0.08)


@given(st.text(alphabet="?!abcdefz0123456789xok.", max_size=24))
def test_an_episode_written_with_the_machine_reads_the_same_afterwards(wishes: str) -> None:
    """Whatever the agent writes, the machine's characters are exactly those that it has written."""
    text, written = "", []
    for wish in wishes:
        while answer := MACHINE.respond(PROBLEM, text):
            text += answer
            written.append(True)
        text += wish
        written.append(False)
    assert MACHINE.observed(text) == written
