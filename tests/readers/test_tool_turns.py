"""Calls of tools in every format in which trainers keep them, and what counts as a failure."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.readers.tool_turns import fails, last_words, succeeded, tool_turns

ARGUMENTS = {"query": 'a {brace} "quoted" ]', "filter": {"city": "Oslo", "years": [1, {"to": 2}]}}
GIVEN = json.dumps(ARGUMENTS)
CALL = json.dumps({"name": "look", "arguments": ARGUMENTS})
BROKE = "Error: connection refused"
FINE = "order 4: 3 errors were mended"  # a word for a failure in a result is none


def openai(arguments: Any) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for i, result in enumerate((FINE, BROKE)):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "look", "arguments": arguments}}
        out += [{"role": "assistant", "content": "so", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{i}", "content": result}]  # fmt: skip
    return out


def anthropic() -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for i, result in enumerate((FINE, "nothing")):
        use = {"type": "tool_use", "id": f"t{i}", "name": "look", "input": ARGUMENTS}
        told = {
            "type": "tool_result",
            "tool_use_id": f"t{i}",
            "content": [{"type": "text", "text": result}],
            "is_error": i == 1,
        }
        out += [
            {"role": "assistant", "content": [{"type": "text", "text": "so"}, use]},
            {"role": "user", "content": [told]},
        ]
    return out


def repeated(turn: str) -> str:
    return turn.replace("@@", FINE) + turn.replace("@@", BROKE) + "It is done."


XML = "<function=look>\n<parameter=query>\na\n</parameter>\n</function>"
EPISODES: dict[str, Any] = {
    "openai": openai(GIVEN),
    "trl": openai(ARGUMENTS),
    "anthropic": anthropic(),
    "items": [
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": GIVEN},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": GIVEN},
        {"type": "function_call_output", "call_id": "b", "output": BROKE},
        {"type": "function_call_output", "call_id": "a", "output": FINE},
    ],
    "legacy": [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": GIVEN}},
        {"role": "function", "name": "look", "content": FINE},
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": GIVEN}},
        {"role": "function", "name": "look", "content": json.dumps({"error": "no such order"})},
    ],
    "templated messages": [
        {"role": "assistant", "content": f"<tool_call>\n{CALL}\n</tool_call>"}, {"role": "tool", "content": FINE},
        {"role": "assistant", "content": f"<tool_call>\n{CALL}\n</tool_call>"}, {"role": "tool", "content": BROKE},
    ],
    "qwen": repeated(f"so\n<tool_call>\n{CALL}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n@@\n"
                     "</tool_response><|im_end|>\n<|im_start|>assistant\n"),
    "qwen coder": repeated(f"<tool_call>\n{XML}\n</tool_call>\nuser\n<tool_response>\n@@\n</tool_response>\nassistant\n"),
    "verl": repeated(f"<tool_call>{CALL}</tool_call>\nuser\n<tool_response>\n@@\n</tool_response>\nassistant\n"),
    "llama": repeated(f'<|python_tag|>{CALL}<|eom_id|><|start_header_id|>ipython<|end_header_id|>\n\n"@@"<|eot_id|>'
                      "<|start_header_id|>assistant<|end_header_id|>\n\n"),
    "llama, decoded": repeated(f'\n{json.dumps({"name": "look", "parameters": ARGUMENTS})}ipython\n\n@@assistant\n\n'),
    "llama, own functions": repeated(f"<function=look>{GIVEN}</function>\ntool: @@\nassistant: so\n"),
    "mistral": repeated(f'[TOOL_CALLS][{CALL}]</s>[TOOL_RESULTS]{{"content": "@@"}}[/TOOL_RESULTS]'),
    "deepseek": repeated(f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{GIVEN}\n```"
                         "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜tool▁output▁begin｜>@@<｜tool▁output▁end｜>"),
    "react": repeated(f"Thought: so\nAction: look\nAction Input: {GIVEN}\nObservation: @@\n"),
    "react, brackets": repeated("Thought 1: so\nAction 1: look[a {b}]\nObservation 1: @@\n"),
    "tags": repeated("<search>look</search>\n<information>@@</information>\n"),
    "openai as text": repeated(f'[{{"type": "function", "function": {CALL}}}]\ntool: @@\nassistant: so\n'),
}  # fmt: skip


@pytest.mark.parametrize("name", EPISODES)
def test_two_calls_of_which_the_second_fails(name: str) -> None:
    turns = tool_turns(EPISODES[name])
    assert [turn.failed for turn in turns] == [False, True]
    assert turns[0].tool in ("look", "search")
    assert turns[0].arguments == turns[1].arguments != ""
    assert succeeded(turns) is None
    assert succeeded(turns[:1])


def test_a_call_is_the_same_whatever_the_order_of_its_arguments_and_what_a_table_fills_in() -> None:
    one, other = ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": a}}]}
                  for a in ({"a": 1, "b": 2, "c": None}, '{"b": 2, "a": 1}'))  # fmt: skip
    assert tool_turns([one]) == tool_turns([other])


def test_a_call_that_is_no_json_is_a_call() -> None:
    assert len(tool_turns('<tool_call>{"name": "f", "arguments": {</tool_call> and <tool_call>{"name": "f"')) == 2


def test_code_that_is_shown_is_no_call() -> None:
    assert tool_turns("```python\nprint({'name': 'f', 'arguments': {}})\n```\n") == ()


@pytest.mark.parametrize(
    "answer",
    ["Error: x", "Traceback (most recent call last):\n  File\nKeyError: 'a'", "HTTP 404 Not Found", "bash: x: command not found",
     "ToolError: invalid arguments", {"error": "x"}, '{"success": false}', {"exit_code": 2, "stdout": ""}, "Exit code: 127",
     "Request failed", "File a.txt not found", {"status": "error"}, '{"status": 503}', "Tool execution timed out"],
    ids=str,
)  # fmt: skip
def test_a_failure(answer: Any) -> None:
    assert fails(answer)


@pytest.mark.parametrize(
    "answer",
    ["", "42", "The 404 error page is shown when nothing is found", "Exit code: 0\n3 passed", {"error": None, "rows": [1]},
     "Results: how to handle exceptions in Python", '[{"id": 1, "error_rate": 0.1}]', {"status": 200}, "Errors in Chess, a book"],
    ids=str,
)  # fmt: skip
def test_no_failure(answer: Any) -> None:
    assert not fails(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


@given(
    st.lists(
        JSON
        | st.fixed_dictionaries({"role": st.sampled_from(("tool", "assistant")), "content": JSON, "tool_calls": JSON})
    )
)
def test_no_message_breaks_it(messages: list[Any]) -> None:
    assert isinstance(tool_turns(messages), tuple)


def test_a_long_text_takes_no_longer_than_its_length() -> None:
    for text in (
        "<tool_call>" * 20_000,
        "Action: " * 20_000,
        '{"name": "arguments"' * 10_000,
        "\nObservation: x" * 10_000,
    ):
        assert len(tool_turns(text)) <= 512


@pytest.mark.parametrize("name", [name for name, e in EPISODES.items() if isinstance(e, str) and "react" not in name])
def test_the_last_words_of_a_text(name: str) -> None:
    assert last_words(EPISODES[name]).endswith("It is done.")
    assert FINE not in last_words(EPISODES[name])


def test_the_last_words_of_messages() -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "It is done."}]}
    assert last_words([*openai(GIVEN), said]) == "It is done."
    assert last_words([]) == ""
