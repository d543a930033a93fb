"""Prose, worked answers, refusals, and episodes with tools, as models write them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]

OPENERS = (
    "First we look at", "Let us begin with", "The question asks about", "We are told", "Consider", "Start from",
    "It helps to write down", "To see this, take", "The first thing to note is", "We want to find",
)  # fmt: skip
SUBJECTS = (
    "the number of apples in the basket", "the price of one ticket", "the distance between the towns", "the age of the sister",
    "the time that the train needs", "the amount of water in the tank", "the length of the longer side",
    "the money that is left over", "the pages that she has read", "the rows of chairs in the hall",
    "the share of each child", "the speed of the boat", "the weight of the parcel", "the total of both shelves",
)  # fmt: skip
VERBS = (
    "is given in the text", "doubles after the first day", "is split into equal parts", "grows by the same amount every week",
    "has to be divided by four", "is smaller than it seems", "follows from the line before", "adds up with the rest",
    "must be a whole number", "can be read from the table", "is what remains after lunch", "drops when he pays the driver",
)  # fmt: skip
LINKS = ("so", "because", "and then", "which means that", "while", "therefore", "since", "but", "after that")
NAMES = (
    "Anna",
    "Bilal",
    "Chen",
    "Dora",
    "Emeka",
    "Farah",
    "Goran",
    "Hana",
    "Ivo",
    "Jun",
    "Kofi",
    "Lena",
    "Mara",
    "Nils",
)
THINGS = ("apples", "stamps", "marbles", "books", "coins", "bottles", "tickets", "pencils", "chairs", "shells")
PLACES = ("market", "school", "harbour", "library", "station", "garden", "workshop", "museum")


def sentence(rng: random.Random) -> str:
    """One sentence of a worked solution."""
    first = f"{rng.choice(OPENERS)} {rng.choice(SUBJECTS)}"
    tail = f"{rng.choice(LINKS)} {rng.choice(SUBJECTS)} {rng.choice(VERBS)}"
    detail = f"{rng.choice(NAMES)} counts {rng.randint(2, 99)} {rng.choice(THINGS)} at the {rng.choice(PLACES)}"
    return rng.choice((f"{first}, {tail}.", f"{detail}, {tail}.", f"{first}; {detail}."))


def prose(rng: random.Random, sentences: int) -> str:
    """A paragraph."""
    return " ".join(sentence(rng) for _ in range(max(1, sentences)))


@dataclass(frozen=True)
class Problem:
    """A sum in words, and its answer."""

    text: str
    answer: int


def problem(rng: random.Random) -> Problem:
    """One word problem."""
    a, b, c = rng.randint(11, 89), rng.randint(11, 89), rng.randint(2, 9)
    name, thing, place = rng.choice(NAMES), rng.choice(THINGS), rng.choice(PLACES)
    text = (
        f"{name} has {a} {thing} and finds {b} more at the {place}. Then {name} gives away {c}. "
        f"How many {thing} does {name} have now?"
    )
    return Problem(text, a + b - c)


def solution(rng: random.Random, answer: int, sentences: int = 3) -> str:
    """A worked answer that ends with its number."""
    return f"{prose(rng, sentences)} The answer is \\boxed{{{answer}}}."


def wrong(rng: random.Random, answer: int) -> int:
    """Another number."""
    return answer + rng.choice((-11, -7, -3, -2, -1, 1, 2, 4, 9, 13))


REFUSALS = (
    "I'm sorry, but I can't help with that request.",
    "I cannot assist with this. If you have another question, I am happy to help.",
    "I'm unable to provide an answer to this, as it may not be appropriate.",
    "Sorry, I can't comply with that. Please ask me something else.",
    "As an AI, I am not able to help with this topic.",
)
COURTESY = (
    "Great question! ", "I'd be delighted to help you with this. ", "Thank you so much for asking! ",
    "What a wonderful problem. ",
)  # fmt: skip


def letters(rng: random.Random, length: int) -> str:
    """Characters without sense."""
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789;:#$%&()[]{}<>/|~^*+=_     "
    return "".join(rng.choice(alphabet) for _ in range(length))


PIECES = (
    "ization", "Ġthe", "izr", "}{", "usze", "Patch", "ielsen", "__(", "wner", "Ġalgun", "ffd", "imenti", "Zug", "\\\\", "rcx",
    "habi", "ŃŃ", "ouver", ".nc", "Quar", "éré", "ktop", "ulf", "SetFl", "anmar", "getti", "ĠBrun", "vlc", "oplan", "gnu",
    "crire", "erdem", "Ġq", "xBF", "olum", "Nem", "strcs", "phthal", "iegel", "zdrav", "udge", "mkd", "Ġunto", "tsy",
)  # fmt: skip


def salad(rng: random.Random, length: int) -> str:
    """Pieces of words of a tokenizer, in any order: what a model samples far from its training data."""
    text = ""
    while len(text) < length:
        text += rng.choice(PIECES) + rng.choice(("", "", " "))
    return text[:length]


PROGRAM = (
    "def total({a}, {b}):\n    return {a} + {b} - {n}\n", "for {a} in range({n}):\n    {b} += items[{a}]\n",
    "if {a} > {n}:\n    print(f\"{{{b}}} left\")\n", "{a} = [{b} * {n} for {b} in values]\n",
    "assert {a} <= len({b}), {n}\n", "{b} = {{\"{a}\": {n}, \"rest\": None}}\n",
)  # fmt: skip


def program(rng: random.Random, lines: int) -> str:
    """Code: full of signs, and coherent."""
    names = ("count", "items", "rest", "price", "weight", "page", "row", "index", "share", "total")
    parts = [
        rng.choice(PROGRAM).format(a=rng.choice(names), b=rng.choice(names), n=rng.randint(2, 90)) for _ in range(lines)
    ]
    return "```python\n" + "".join(parts) + "```\n"


# --- agents ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """A thought, a call of a tool, and what the tool returned."""

    thought: str
    tool: str
    arguments: dict[str, Any]
    result: str
    failed: bool = False


@dataclass(frozen=True)
class Episode:
    """Turns with tools, and the last words."""

    turns: list[Turn] = field(default_factory=list)
    final: str = ""


ERRORS = (
    "Error: connection refused", "Traceback (most recent call last):\n  File \"tool.py\", line 8\nTimeoutError: timed out",
    "HTTP 500 Internal Server Error", "Error: file not found", "ToolError: invalid arguments",
)  # fmt: skip


def call(rng: random.Random, *, failed: bool = False) -> Turn:
    """One call, with arguments that hold braces and quotes, as real ones do."""
    name, thing, place = rng.choice(NAMES), rng.choice(THINGS), rng.choice(PLACES)
    n = rng.randint(100, 99999)
    tool, arguments, result = rng.choice(
        (
            (
                "search_orders",
                {"query": f"{name} {thing}", "filter": {"city": place, "after": n}},
                f"order {n}: 3 {thing}, open",
            ),
            ("run_sql", {"query": f"SELECT id FROM orders WHERE owner = '{name}' AND qty > {n}"}, f'[{{"id": {n}}}]'),
            (
                "update_order",
                {"order": n, "fields": {"status": "shipped", "note": f"for {name}"}},
                f"order {n} is shipped",
            ),
            (
                "read_file",
                {"path": f"/srv/{place}/{thing}.txt", "lines": [1, n]},
                f"{name}: {n} {thing} at the {place}",
            ),
        )
    )
    thought = f"I need {rng.choice(SUBJECTS)}, so I use {tool}."
    return Turn(thought, tool, arguments, rng.choice(ERRORS) if failed else result, failed)


FORMS = ("openai", "anthropic", "hermes", "qwen", "llama", "react", "verl", "trl")


def messages(episode: Episode, form: str) -> list[Message] | str:
    """An episode as this form writes it: a list of messages, or the text that was decoded."""
    return {
        "openai": _openai, "anthropic": _anthropic, "trl": _trl, "hermes": _hermes, "qwen": _qwen, "llama": _llama,
        "react": _react, "verl": _verl,
    }[form](episode)  # fmt: skip


def _openai(episode: Episode) -> list[Message]:
    out: list[Message] = []
    for i, turn in enumerate(episode.turns):
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        calls = [{"id": f"call_{i}", "type": "function", "function": function}]
        out.append({"role": "assistant", "content": turn.thought, "tool_calls": calls})
        out.append({"role": "tool", "tool_call_id": f"call_{i}", "content": turn.result})
    return [*out, {"role": "assistant", "content": episode.final}]


def _anthropic(episode: Episode) -> list[Message]:
    out: list[Message] = []
    for i, turn in enumerate(episode.turns):
        use = {"type": "tool_use", "id": f"toolu_{i}", "name": turn.tool, "input": turn.arguments}
        out.append({"role": "assistant", "content": [{"type": "text", "text": turn.thought}, use]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": turn.result, "is_error": turn.failed}
        out.append({"role": "user", "content": [result]})
    return [*out, {"role": "assistant", "content": [{"type": "text", "text": episode.final}]}]


def _trl(episode: Episode) -> list[Message]:
    """TRL keeps arguments as objects, and names the tool in its answer."""
    out: list[Message] = []
    for turn in episode.turns:
        call = {"type": "function", "function": {"name": turn.tool, "arguments": turn.arguments}}
        out.append({"role": "assistant", "content": turn.thought, "tool_calls": [call]})
        out.append({"role": "tool", "name": turn.tool, "content": turn.result})
    return [*out, {"role": "assistant", "content": episode.final}]


def _tagged(turn: Turn) -> str:
    return "<tool_call>\n" + json.dumps({"name": turn.tool, "arguments": turn.arguments}) + "\n</tool_call>"


def _hermes(episode: Episode) -> str:
    parts = [
        f"{t.thought}\n{_tagged(t)}<|im_end|>\n<|im_start|>tool\n<tool_response>\n{t.result}\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
        for t in episode.turns
    ]
    return "".join(parts) + episode.final + "<|im_end|>"


def _qwen(episode: Episode) -> str:
    parts = [
        f"{t.thought}\n{_tagged(t)}<|im_end|>\n<|im_start|>user\n<tool_response>\n{t.result}\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
        for t in episode.turns
    ]
    return "".join(parts) + episode.final + "<|im_end|>"


def _verl(episode: Episode) -> str:
    """verl decodes without special tokens: only the names of the roles stay."""
    parts = [
        f"{t.thought}\n{_tagged(t)}\nuser\n<tool_response>\n{t.result}\n</tool_response>\nassistant\n"
        for t in episode.turns
    ]
    return "".join(parts) + episode.final


def _llama(episode: Episode) -> str:
    parts = [
        "<|python_tag|>" + json.dumps({"name": t.tool, "parameters": t.arguments}) + "<|eom_id|>"
        f"<|start_header_id|>ipython<|end_header_id|>\n\n{json.dumps({'output': t.result})}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
        for t in episode.turns
    ]
    return "".join(parts) + episode.final + "<|eot_id|>"


def _react(episode: Episode) -> str:
    parts = [
        f"Thought: {t.thought}\nAction: {t.tool}\nAction Input: {json.dumps(t.arguments)}\nObservation: {t.result}\n"
        for t in episode.turns
    ]
    return "".join(parts) + f"Thought: I know the final answer.\nFinal Answer: {episode.final}"
