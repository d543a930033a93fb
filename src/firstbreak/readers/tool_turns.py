"""Episodes with tools -> the calls that were made, in order, and whether each failed.

Messages are parsed as messages, and JSON by a JSON parser: an argument may hold any bracket. One function reads one format:
what interfaces keep as objects (OpenAI's, Anthropic's, OpenAI's items, Mistral's), and what chat templates decode to text
(Hermes and Qwen, Llama, DeepSeek, ReAct, tags of one's own, transcripts). verl's and TRL's dumps hold these.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MOST_TURNS = 512  #: of an episode
LONGEST = 300  #: characters of arguments that are kept; of longer ones a hash tells them apart
READ = 2000  #: characters of an answer that are read
_DEPTH = 20


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """One call of a tool."""

    tool: str  #: empty where the call cannot be read
    arguments: str = ""  #: JSON with sorted names, else the text of the call
    failed: bool | None = None  #: None: the answer is not recorded
    answer: str = field(default="", compare=False)  #: its beginning


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a tool returned."""

    content: Any
    call: str = ""  #: the id of its call
    wrong: bool = False  #: a field of the message says that it failed


@dataclass(frozen=True, slots=True)
class _Call:
    turn: ToolTurn
    id: str = ""


_Event = _Call | _Answer


def tool_turns(episode: str | Sequence[Any]) -> tuple[ToolTurn, ...]:
    """The calls of an episode: of a list of messages, or of a text. Empty where no tool is called."""
    events = _of_text(episode)[0] if isinstance(episode, str) else _of_messages(episode)
    return tuple(_joined(events))


def last_words(episode: str | Sequence[Any]) -> str:
    """What an episode says after its last call and answer; all of a text without tools."""
    if isinstance(episode, str):
        return episode[_of_text(episode)[1] :]
    last = episode[-1] if episode else None
    content = last.get("content") if isinstance(last, Mapping) else last
    parts = content if isinstance(content, list | tuple) else [{"text": content}]
    return "".join(
        str(part["text"]) for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def succeeded(turns: Iterable[ToolTurn]) -> bool | None:
    """False where every answer of a tool is a failure, True where none is, None between and without an answer."""
    known = {turn.failed for turn in turns if turn.failed is not None}
    return None if len(known) != 1 else not known.pop()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How an agent uses its tools: all calls of some episodes together."""

    illegal: float  #: share of the calls that nothing could carry out
    made_good: float | None  #: share of the failures that a call which works follows; None without a failure
    size: float  #: characters of a call and its answer


#: what a tool answers to a call that nothing could carry out
ILLEGAL = re.compile(
    r"(?:unknown|no such|undefined|unsupported) (?:tool|function|command|argument|parameter)|not (?:a )?valid json|unexpected \w*"
    r" ?argument|(?:invalid|missing)[\w ]* (?:argument|parameter|json|schema)|(?:tool|function)\b.{0,60}\bnot (?:found|exist)",
    re.IGNORECASE,
)


def tool_use(episodes: Iterable[Sequence[ToolTurn]]) -> ToolUse | None:
    """What the calls of all episodes show together; None where no tool was called."""
    calls = [(turn, turns[i + 1 :]) for turns in episodes for i, turn in enumerate(turns)]
    if not calls:
        return None
    failed = [any(later.failed is False for later in rest) for turn, rest in calls if turn.failed]
    illegal = sum(not turn.tool or bool(turn.failed and ILLEGAL.search(turn.answer)) for turn, _ in calls)
    size = sum(len(turn.arguments) + len(turn.answer) for turn, _ in calls)
    return ToolUse(illegal / len(calls), sum(failed) / len(failed) if failed else None, size / len(calls))


def _joined(events: Iterable[_Event]) -> Iterator[ToolTurn]:
    """Each call with its answer: the one with its id, else the first one that is left."""
    turns: list[ToolTurn] = []
    waiting: list[tuple[int, str]] = []
    for event in events:
        if isinstance(event, _Call):
            if len(turns) == MOST_TURNS:
                break
            waiting.append((len(turns), event.id))
            turns.append(event.turn)
            continue
        told: dict[str, Any] = {"failed": event.wrong or fails(event.content), "answer": _canonical(event.content)}
        named = [i for i, (_, id_) in enumerate(waiting) if id_ and id_ == event.call]
        if waiting:
            at, _ = waiting.pop(named[0] if named else 0)
            turns[at] = replace(turns[at], **told)
        elif len(turns) < MOST_TURNS:
            turns.append(ToolTurn("", **told))  # an answer whose call was not recorded
    yield from turns


def _call(name: Any, arguments: Any, id_: Any = "") -> _Call:
    return _Call(ToolTurn(str(name or "")[:LONGEST], _canonical(arguments)), str(id_ or ""))


def _canonical(arguments: Any) -> str:
    """Arguments as one text, whatever the order of their names. A table of parquet fills absent names with null."""
    if isinstance(arguments, str):
        arguments = _json(arguments, arguments)
    if isinstance(arguments, str):
        text = " ".join(arguments.split())
    else:
        text = json.dumps(_without_nulls(arguments), sort_keys=True, default=str, ensure_ascii=False)
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST] + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _without_nulls(value: Any, depth: int = 0) -> Any:
    if depth > _DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(k): _without_nulls(v, depth + 1) for k, v in value.items() if v is not None}
    return [_without_nulls(v, depth + 1) for v in value] if isinstance(value, list | tuple) else value


def _json(text: str, default: Any = None) -> Any:
    """The value that a text is in JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return default


# Messages -----------------------------------------------------------------------------------------------------------


def _of_messages(messages: Sequence[Any]) -> Iterator[_Event]:
    for message in messages:
        if isinstance(message, Mapping):
            yield from _of_message(message)


def _of_message(message: Mapping[str, Any]) -> Iterator[_Event]:
    """OpenAI's, TRL's and Mistral's messages, OpenAI's items, Anthropic's parts; else a text of a chat template."""
    role, content = message.get("role"), message.get("content")
    match message.get("type"):
        case "function_call" | "custom_tool_call":
            yield _call(message.get("name"), message.get("arguments", message.get("input")), message.get("call_id"))
            return
        case "function_call_output" | "custom_tool_call_output":
            yield _Answer(message.get("output"), str(message.get("call_id") or ""))
            return
    if role in ("tool", "function", "ipython", "environment", "observation"):
        answered = [e for e in _of_parts(content) if isinstance(e, _Answer)]
        error = message.get("error")
        wrong = message.get("is_error") is True or message.get("status") == "error" or bool(error)
        yield from answered or [_Answer(content or error, str(message.get("tool_call_id") or ""), wrong)]
        return
    calls = message.get("tool_calls")
    single = message.get("function_call")
    yield from _of_parts(content, text=not calls and not single)
    for entry in [*(calls if isinstance(calls, list | tuple) else ()), *([{"function": single}] if single else ())]:
        if isinstance(entry, Mapping):
            function = entry.get("function")
            named = function if isinstance(function, Mapping) else entry
            name = function if isinstance(function, str) else named.get("name")  # Inspect
            yield _call(name, named.get("arguments", named.get("parameters")), entry.get("id"))


def _of_parts(content: Any, *, text: bool = True) -> Iterator[_Event]:
    """Anthropic's parts of a message, and calls in its text."""
    for part in content if isinstance(content, list | tuple) else ():
        if not isinstance(part, Mapping):
            continue
        match part.get("type"):
            case "tool_use" | "server_tool_use":
                yield _call(part.get("name"), part.get("input"), part.get("id"))
            case "tool_result":
                yield _Answer(part.get("content"), str(part.get("tool_use_id") or ""), part.get("is_error") is True)
            case _ if text and isinstance(said := part.get("text"), str):
                yield from _of_text(said)[0]
    if text and isinstance(content, str):
        yield from _of_text(content)[0]


# Text ---------------------------------------------------------------------------------------------------------------

_Found = tuple[int, int, list[_Event]]  #: begin, end, and what stands there
_OWN = "search|python|code|execute|tool|function_call|bash|sql|browse|calculator"
_BACK = "tool_response|result|output|information|observation|tool_result|tool_output|response_data|execution_result"
_TOOL_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>|<\|im_end\|>|<tool_response>)|\Z)", re.DOTALL)
_TAGGED = re.compile(rf"<({_OWN})>(.*?)</\1>", re.DOTALL)
_ANSWERED = re.compile(rf"<({_BACK})>(.*?)</\1>", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.DOTALL)
_PYTHON_TAG = re.compile(r"<\|python_tag\|>(.*?)(?=<\|eom_id\|>|<\|eot_id\|>|<\|start_header_id\|>|\Z)", re.DOTALL)
_IPYTHON = re.compile(
    r"<\|start_header_id\|>(?:ipython|tool)<\|end_header_id\|>\s*(.*?)(?=<\|eot_id\|>|<\|start_header_id\|>|\Z)",
    re.DOTALL,
)
_BARE_IPYTHON = re.compile(r"(?<=[}\])\n])(?:ipython|tool)\n\n(.*?)(?=assistant\n\n|\Z)", re.DOTALL)
_BARE_CALL = re.compile(r"(?:^|\n|>)\s*(?=\{\s*\"(?:name|type|function)\"\s*:)")
_ROUND_NAME = re.compile(r"([\w.]+)\.call\((.*)\)\s*$", re.DOTALL)
_DEEPSEEK = re.compile(r"<｜tool▁call▁begin｜>(.*?)<｜tool▁call▁end｜>", re.DOTALL)
_DEEPSEEK_ANSWER = re.compile(r"<｜tool▁output▁begin｜>(.*?)<｜tool▁output▁end｜>", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(?=\[)")
_MISTRAL_ANSWER = re.compile(r"\[TOOL_RESULTS\](.*?)\[/TOOL_RESULTS\]", re.DOTALL)
_ACTION = re.compile(r"^[ \t]*Action[ \t]*\d*:[ \t]*([^\n]+)(?:\n[ \t]*Action Input[ \t]*\d*:[ \t]*)?", re.MULTILINE)
_BRACKETED = re.compile(r"([\w .-]+?)\s*\[(.*)\]\s*$")
_OBSERVATION = re.compile(
    r"^[ \t]*Observation[ \t]*\d*:[ \t]*(.*?)(?=^[ \t]*(?:Thought|Action|Observation|Final Answer)[ \t]*\d*:|\Z)",
    re.MULTILINE | re.DOTALL,
)
_OPENAI = re.compile(r'"(?:function|function_call)"\s*:\s*(?=\{)')
_SAID = re.compile(
    r"^(?:tool|function|ipython): ?(.*?)(?=^(?:assistant|user|tool|system|function|ipython): |\Z)", re.M | re.S
)


def _of_text(text: str) -> tuple[list[_Event], int]:
    """The calls and answers of a text in its order, and where the last one ends. What stands inside of another is part of it."""
    found = [entry for signs, read in _FORMATS if any(sign in text for sign in signs) for entry in read(text)]
    events: list[_Event] = []
    end = 0
    for start, stop, here in sorted(found, key=lambda entry: (entry[0], -entry[1])):
        if start >= end:
            events += here
            end = stop
    return events, end


def _value_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a place, and where it ends; None where none begins."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _object_calls(value: Any) -> list[_Event]:
    """`{"name": ..., "arguments": {...}}`, with the names that models were trained on, or a list of these."""
    entries = value if isinstance(value, list) else [value]
    calls: list[_Event] = []
    for entry in entries:
        inner = entry.get("function", entry) if isinstance(entry, Mapping) else None
        if isinstance(inner, str):
            inner = {**entry, "name": inner}
        if isinstance(inner, Mapping):
            name = inner.get("name") or inner.get("tool") or inner.get("tool_name")
            given = next((inner[k] for k in ("arguments", "parameters", "args", "input") if k in inner), None)
            calls.append(_call(name, inner if name is None and given is None else given, entry.get("id")))
    return calls


def _inside(body: str) -> list[_Event]:
    """The calls inside of a tag: objects one after the other, Qwen's own tags, or whatever text there is."""
    if "<function=" in body:
        return [_call(m[1], dict(_PARAMETER.findall(m[2])) or m[2]) for m in _FUNCTION.finditer(body)]
    calls, at = [], 0
    body = body.strip()
    while at < len(body):
        value, end = _value_at(body, at)
        if not isinstance(value, Mapping | list):
            break
        calls += _object_calls(value)
        at = end + len(body[end:]) - len(body[end:].lstrip(" \r\n\t,;"))
    return calls or [_call("", body)]


def _hermes(text: str) -> Iterator[_Found]:
    """Hermes and Qwen, with or without special tokens, as verl decodes them."""
    for m in _TOOL_CALL.finditer(text):
        yield m.start(), m.end(), _inside(m[1])


def _tags(text: str) -> Iterator[_Found]:
    """`<search>`, `<python>` and the like."""
    for m in _TAGGED.finditer(text):
        value = _json(m[2].strip())
        named = isinstance(value, Mapping) and ("name" in value or "function" in value)
        yield m.start(), m.end(), _object_calls(value) if named else [_call(m[1], m[2])]
    if "<tool_call>" not in text:
        for m in _FUNCTION.finditer(text):
            yield m.start(), m.end(), [_call(m[1], dict(_PARAMETER.findall(m[2])) or m[2])]


def _answers(*formats: re.Pattern[str]) -> Callable[[str], Iterator[_Found]]:
    """What reads the answers in these formats, each of which is the last group."""
    return lambda text: (
        (m.start(), m.end(), [_Answer(m[m.lastindex or 0])]) for each in formats for m in each.finditer(text)
    )


def _llama(text: str) -> Iterator[_Found]:
    """Llama's, also where the special tokens were left out when it was decoded."""
    for m in _PYTHON_TAG.finditer(text):
        named = _ROUND_NAME.match(m[1].strip())
        plain = m[1].lstrip()[:1] not in ("{", "[")
        yield (
            m.start(),
            m.end(),
            [_call(*named.groups())] if named else [_call("python", m[1])] if plain else _inside(m[1]),
        )


def _bare(text: str) -> Iterator[_Found]:
    """A call as a line of its own, without any tag."""
    for m in _BARE_CALL.finditer(text):
        value, end = _value_at(text, m.end())
        if isinstance(value, Mapping) and value.keys() & {"parameters", "arguments"}:
            yield m.end(), end, _object_calls(value)


def _deepseek(text: str) -> Iterator[_Found]:
    for m in _DEEPSEEK.finditer(text):
        name, _, given = m[1].removeprefix("function").removeprefix("<｜tool▁sep｜>").partition("<｜tool▁sep｜>")
        name, _, fenced = (name, "", given) if given else name.partition("\n")
        yield (
            m.start(),
            m.end(),
            [_call(name.strip(), fenced.strip().removeprefix("```json").removesuffix("```").strip())],
        )


def _mistral(text: str) -> Iterator[_Found]:
    for m in _MISTRAL.finditer(text):
        value, end = _value_at(text, m.end())
        yield m.start(), max(end, m.end()), _object_calls(value) if value is not None else [_call("", "")]
    for m in _MISTRAL_ANSWER.finditer(text):
        value = _json(m[1].strip())
        yield m.start(), m.end(), [_Answer(value.get("content") if isinstance(value, Mapping) else m[1])]


def _react(text: str) -> Iterator[_Found]:
    """`Action:` with its `Action Input:`, and `Action: tool[input]`."""
    for m in _ACTION.finditer(text):
        if "Action Input" not in m[0]:
            bracketed = _BRACKETED.match(m[1].strip())
            yield m.start(), m.end(), [_call(*bracketed.groups()) if bracketed else _call(m[1].strip(), "")]
            continue
        value, end = _value_at(text, m.end())
        if not isinstance(value, Mapping | list):
            end = len(text) if (line := text.find("\n", m.end())) < 0 else line
            value = text[m.end() : end]
        yield m.start(), end, [_call(m[1].strip(), value)]


def _openai_text(text: str) -> Iterator[_Found]:
    """OpenAI's objects inside of a text."""
    for m in _OPENAI.finditer(text):
        value, end = _value_at(text, m.end())
        if isinstance(value, Mapping) and "name" in value:
            yield m.start(), end, _object_calls(value)


#: signs of which one stands in every text of a format, and what reads it; a plain search rules out most texts
_FORMATS: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[_Found]]], ...] = (
    (("<tool_call>",), _hermes),
    (("</",), _tags),
    (("</",), _answers(_ANSWERED)),
    (("<|python_tag|>",), _llama),
    (("ipython", "<|start_header_id|>tool", "tool\n\n"), _answers(_IPYTHON, _BARE_IPYTHON)),
    (('"parameters"', '"arguments"'), _bare),
    (("<｜tool▁",), _deepseek),
    (("<｜tool▁",), _answers(_DEEPSEEK_ANSWER)),
    (("[TOOL_",), _mistral),
    (("Action",), _react),
    (("Observation",), _answers(_OBSERVATION)),
    (('"function',), _openai_text),
    (("tool: ", "function: ", "ipython: "), _answers(_SAID)),
)


# Failures -----------------------------------------------------------------------------------------------------------

_ERROR_WORD = r"error|exception|failed|failure|fatal|invalid|denied|unauthori[sz]ed|forbidden|timed? ?out|aborted"
#: at the begin of an answer or of its last line: a word for a failure, or a name like TimeoutError with what it says
_OPENS = re.compile(
    rf"\W*(?:(?:the|tool|function|call|request|execution|command)\s+){{0,3}}(?:{_ERROR_WORD})\b", re.IGNORECASE
)
_NAMED = re.compile(r"\W*(?:[\w.]+\.)?\w*(?:Error|Exception|Failure|Timeout|Interrupt)\b\s*(?:[:(\n]|$)")
#: anywhere in the begin of an answer
_SAYS = re.compile(
    r"traceback \(most recent call last\)|command not found|no such (?:file|table|column|tool|function|host)"
    r"|permission denied|access denied|connection (?:refused|reset|timed out|error)|segmentation fault|out of memory"
    r"|\b(?:http(?:/[\d.]+)?|status(?:[ _]code)?|response code)[ :=]*[45]\d\d\b|^[45]\d\d [A-Z][a-z]+"
    r"|\b(?:exit|return)(?:ed)?(?:[ _](?:with|non-?zero|status|code))*[ :=]+-?[1-9]\d*\b"
    r"|\b(?:file|page|path|key|tool|function|url|record|item|user|resource|module|table|column|method|element|entity)s?\b"
    r"[^\n]{0,60}?\b(?:not found|does not exist|doesn't exist|is not defined|not recogni[sz]ed)"
    r"|^\W*(?:not found|unknown (?:tool|function|command|argument)|unable to|could not|couldn't|cannot|can't|missing required)\b",
    re.IGNORECASE,
)
_WRONG = ("error", "fail", "failed", "failure", "timeout", "denied", "exception")


def fails(answer: Any, depth: int = 0) -> bool:
    """Whether what a tool returned reports a failure: a field that says so, or how the text begins or ends."""
    if depth > 3:
        return False
    if isinstance(answer, Mapping):
        return _fields_fail(answer, depth)
    if isinstance(answer, list | tuple):  # parts of a message; a list of rows is a result
        texts = [part.get("text") for part in answer if isinstance(part, Mapping) and part.get("type") == "text"]
        return any(fails(text, depth + 1) for text in texts if isinstance(text, str))
    if not isinstance(answer, str):
        return False
    text = answer.strip()[:READ]
    if text[:1] == "{" and isinstance(value := _json(answer.strip()), Mapping):
        return _fields_fail(value, depth)
    last = text.rpartition("\n")[2]
    return bool(_OPENS.match(text) or _NAMED.match(text) or _NAMED.match(last) or _SAYS.search(text[:400]))


def _fields_fail(answer: Mapping[str, Any], depth: int) -> bool:
    lowered = {str(name).lower(): value for name, value in answer.items()}
    for name in ("error", "errors", "error_message", "exception", "traceback", "is_error", "iserror", "isError"):
        if lowered.get(name) not in (None, "", False, 0, [], {}, "None", "null", "false"):
            return True
    for name in ("success", "ok", "succeeded"):
        if lowered.get(name) is False:
            return True
    for name in ("exit_code", "returncode", "return_code", "exitcode"):
        if isinstance(code := lowered.get(name), int) and code != 0:
            return True
    for name in ("status", "status_code", "code", "type", "run_status"):
        said = lowered.get(name)
        if (isinstance(said, str) and said.lower().startswith(_WRONG)) or (
            isinstance(said, int) and not isinstance(said, bool) and name != "type" and 400 <= said < 600
        ):
            return True
    return any(fails(lowered[name], depth + 1) for name in ("output", "content", "result", "stderr") if name in lowered)
