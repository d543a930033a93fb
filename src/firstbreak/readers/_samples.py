"""Records of a sample dump -> samples. What each trainer dumps is one entry of SHAPES.

Text is taken as it is; chats become text with the roles in front of the turns, except that a lone turn needs none.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property
from pathlib import Path
from typing import Any

from firstbreak.dialects._table import words
from firstbreak.model import Sample
from firstbreak.patterns import pattern
from firstbreak.values import dataclass

Record = Mapping[str, Any]
Span = tuple[int, int]  #: first and one behind the last byte or row group of a part of a dump
PART = 1 << 25  #: bytes of a part: enough that what is kept of each costs little, and small beside a large dump

_STEP_IN_PATH = pattern(r"(?:^|[_-])(?:step|iteration|version|completions)[_-]?0*(\d+)|^0*(\d+)$")
_EVALUATION = pattern(r"(?:^|[_\W])(?:evals?|val|valid|validation)(?:$|[_\W])")
_ASSISTANT = pattern(
    r"<\|im_start\|>assistant\n|<\|start_header_id\|>assistant<\|end_header_id\|>\s*|<start_of_turn>model\n"
    r"|<\|assistant\|>\n?|<｜Assistant｜>|\[/INST\] ?"
)
_END = pattern(r"(?:<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<\|endoftext\|>|</s>)\s*\Z")
_BEGUN = pattern(r"(?:<think>\s*(?:</think>\s*)?)?\Z")  #: what a chat template may write into the assistant's turn
_MAX_DEPTH = 20
_ITEMS = {
    "function_call": "assistant",
    "function_call_output": "tool",
}  #: OpenAI's items -> the role that they stand for
_CALLED = frozenset({"tool_use", "server_tool_use", "function_call", "function"})  #: parts that call a tool
#: names under which dumps record the score of a person or a trusted grader, in order of preference
GOLD = words("human_score human_rating human gold_score gold_reward gold oracle true_score true_reward")
#: names under which dumps record the right answer
REFERENCE = words(
    "ground_truth gts reference_answer reference gold_answer solution target expected_answer label want expected ref truth"
    " correct_answer right_answer answer result"
)
#: names under which dumps record which policy made a sample; of a list (one for each token, or runs of them) the oldest counts
VERSIONS = words("""
    policy_version model_version weight_version weights_version generation_weight_version weight_versions
    param_version_start param_version min_global_steps head_version rollout_version behavior_version behaviour_version
    actor_version version_rle versions policy_step version
""")
_ADVANTAGES = words("advantage adv advantages adv_norm A")
#: how a column of a reward function is called, begins or ends
_REWARDED = pattern(
    r".*_reward(_func)?|r_[a-z]+|rewards?[_/.](?!mean|std|max|min|sum|total|model|type|weight|baseline|raw|scale)\w+|accuracy|format|correct|exact_match"
)
#: numbers beside a completion that are no reward, in dumps that do not say which are
NO_REWARD = frozenset(GOLD + REFERENCE + VERSIONS) | {
    *("max_global_steps", "param_version_end", "tail_version", "global_step", "epoch", "uid", "seed")
}
MAX_TEXT = 1 << 22  #: characters of a prompt or completion that are kept: a million tokens


@dataclass(frozen=True)
class Shape:
    """The names that one trainer gives to the parts of a sample; a "." goes into an object, "" is not recorded."""

    trainer: str
    marks: frozenset[str]  #: a record with all of these has this shape
    prompt: str = ""
    completion: str = ""
    reward: str = ""  #: "+": the sum of the components
    advantage: str = ""
    group: str = ""
    step: str = "step"
    rewards: str = ""  #: an object of reward components; "*": every number that has no other role
    unfold: Callable[[Record], Iterable[Record]] = lambda record: (record,)  #: the samples in one record

    @cached_property
    def roles(self) -> frozenset[str]:
        """The names that are given to a part of a sample."""
        return frozenset(
            (self.prompt, self.completion, self.reward, self.advantage, self.group, self.step, self.rewards)
        )


def _episode(record: Record) -> Iterator[Record]:
    """prime-rl (verifiers): an episode with one trace per agent; a trace is a graph of messages, oldest first."""
    run = record.get("run")
    for trace in _list(record.get("traces")):
        if isinstance(trace, Mapping):
            messages = [node.get("message") for node in _list(trace.get("nodes")) if isinstance(node, Mapping)]
            prompt, completion = _split_chat(messages) if messages else (trace.get("prompt"), trace.get("completion"))
            rewards = _weighted(trace.get("rewards"))
            yield {
                **{key: value for key, value in record.items() if key != "traces"},
                **{key: value for key, value in trace.items() if key not in ("id", "task", "nodes", "calls")},
                "step": run.get("step") if isinstance(run, Mapping) else None,
                "prompt": prompt,
                "completion": completion,
                "rewards": rewards,
                "reward": trace.get("reward", math.fsum(rewards.values()) if rewards else None),
            }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _weighted(rewards: Any) -> dict[str, float]:
    """{name: number} of {name: number | {score, weight} | null}."""
    values = {}
    for name, entry in rewards.items() if isinstance(rewards, Mapping) else ():
        if isinstance(entry, Mapping):
            score, weight = number(entry.get("score")), number(entry.get("weight", 1.0))
            value = None if score is None or weight is None else score * weight
        else:
            value = number(entry)
        if value is not None:
            values[str(name)] = value
    return values


def _conversation(record: Record) -> Iterator[Record]:
    """NeMo-RL: `content` is the whole conversation; every value is a batch of one."""
    single = {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in record.items()}
    content = single.get("content")
    prompt, completion = _split_chat(content) if isinstance(content, list) else _split_text(content)
    yield {**single, "prompt": prompt, "completion": completion}


def _chat(record: Record) -> Iterator[Record]:
    """A script of one's own: the whole conversation in `messages`."""
    prompt, completion = _split_chat(_list(record.get("messages")))
    yield {
        **{key: value for key, value in record.items() if key != "messages"},
        "prompt": prompt,
        "completion": completion,
    }


def _one_sequence(record: Record) -> Iterator[Record]:
    """AReaL cuts a sequence behind as many tokens as have no loss: with tools, as much too late as the tools have said.

    A prompt that is whole ends where the assistant's turn begins.
    """
    prompt, completion = record.get("prompt"), record.get("completion")
    if isinstance(prompt, str) and isinstance(completion, str):
        turns = list(_ASSISTANT.finditer(prompt))
        if turns and not _BEGUN.match(prompt, turns[-1].end()):
            first = turns[0].end()
            record = {**record, "prompt": prompt[:first], "completion": prompt[first:] + completion}
    yield record


def _split_text(content: Any) -> tuple[str | None, Any]:
    """A conversation as one text, before and from the first words of the assistant; chat templates mark where it speaks."""
    found = _ASSISTANT.search(content) if isinstance(content, str) else None
    return (content[: found.end()], _END.sub("", content[found.end() :])) if found else (None, content)


def _split_chat(messages: list[Any]) -> tuple[list[Any], list[Any]]:
    """A conversation before and from its first assistant turn."""
    roles = [message.get("role") if isinstance(message, Mapping) else None for message in messages]
    first = roles.index("assistant") if "assistant" in roles else len(messages)
    return messages[:first], messages[first:]


#: The more marks, the earlier: a shape may be contained in another.
SHAPES = tuple(
    sorted(
        (
            Shape("areal", frozenset({"task_id", "prompt", "completion", "tail_version"}), "prompt", "completion", "reward",
                  group="task_id", step="tail_version", unfold=_one_sequence),
            Shape("verl", frozenset({"input", "output", "score", "step"}), "input", "output", "score", rewards="*"),
            Shape("nemo_rl", frozenset({"content", "rewards", "idx"}), "prompt", "completion", "rewards", "advantages",
                  unfold=_conversation),
            Shape("prime_rl", frozenset({"traces", "env", "task"}), "prompt", "completion", "reward", "info.advantage",
                  "group", rewards="rewards", unfold=_episode),
            Shape("prime_rl", frozenset({"prompt", "completion", "reward", "metrics"}), "prompt", "completion", "reward",
                  group="example_id", rewards="metrics"),
            Shape("open_instruct", frozenset({"prompt_tokens", "response_tokens", "reward"}), reward="reward",
                  advantage="advantage", group="prompt_idx"),
            Shape("tinker", frozenset({"total_reward", "group_idx", "traj_idx", "steps"}), reward="total_reward",
                  group="group_idx", step="iteration", rewards="trajectory_metrics"),
            Shape("skyrl", frozenset({"input_prompt", "output_response", "score"}), "input_prompt", "output_response", "score"),
            Shape("openrlhf", frozenset({"input", "output", "reward"}), "input", "output", "reward"),
            Shape("trl", frozenset({"prompt", "completion", "advantage"}), "prompt", "completion", "+", "advantage",
                  rewards="*"),
            Shape("roll", frozenset({"prompt", "responses", "scores"}), "prompt", "responses", "scores", step="global_step"),
            Shape("", frozenset({"q", "a", "gold", "rew"}), "q", "a", "rew"),
            Shape("", frozenset({"messages", "solved"}), "prompt", "completion", "solved", group="task_id", unfold=_chat),
            Shape("", frozenset({"messages", "reward"}), "prompt", "completion", "reward", rewards="rewards", unfold=_chat),
        ),
        key=lambda shape: -len(shape.marks),
    )
)  # fmt: skip


def shape_of(names: Iterable[str]) -> Shape | None:
    """The shape of records with these names, None where they are no samples."""
    present = set(names)
    found = next((shape for shape in SHAPES if shape.marks <= present), None)
    own = found is None or (found.reward == "+" and not present.isdisjoint(_REWARDS))  # TRL writes parts alone
    return (_own(present) or found) if own else found


#: what the authors of a loop of their own call a prompt, a completion and its reward
_PROMPTS = ("prompt", "question", "problem", "query", "instruction", "input", "task", "context", "q")
_COMPLETIONS = words(
    "completion response output generation generated prediction model_output answer_text text generated_text decoded hyp"
    " hypothesis reply sampled sample out gen pred"
)
_REWARDS = ("reward", "score", "total_reward", "rew", "r", "total", "ret")
TEXTS = frozenset((*_PROMPTS, *_COMPLETIONS, *REFERENCE))  #: columns of texts, which may look like numbers
_STEPS = ("iteration", "iter", "it", "update", "upd", "round", "i")  #: where there is no step
_WHOLE = ("transcript", "trajectory", "conversation")  #: a text that holds prompt and completion


def _own(present: Set[str]) -> Shape | None:
    """The shape of records that no trainer writes: a prompt, a completion, and a reward under some usual names."""
    prompt, completion, reward = (
        next((n for n in names if n in present), "") for names in (_PROMPTS, _COMPLETIONS, _REWARDS)
    )
    if not completion and reward:
        completion = next((name for name in _WHOLE if name in present), "")
    if not completion or not (prompt or completion in _WHOLE):
        return None
    marks = frozenset({prompt, completion, reward} - {""})
    adv = next((name for name in _ADVANTAGES if name in present), "advantage")
    if reward:
        return Shape("", marks, prompt, completion, reward, adv, group="uid", rewards="rewards")
    if prompt != "prompt" and completion == "completion":  # every number that has no other role is a part of the reward
        return Shape("", marks, prompt, completion, "+", adv, rewards="*")
    usual = prompt == "prompt" and completion in ("completion", "response")
    paid = usual or any(_REWARDED.fullmatch(name) for name in present)
    return Shape("", marks, prompt, completion, "reward", adv, group="uid", rewards="rewards") if paid else None


def samples_of(records: Iterable[Any], path: Path, shape: Shape | None = None) -> Iterator[Sample]:
    """The samples in the records of one dump; what is no sample is passed over. `shape`: of the records, where it is known."""
    folder_step = step_in(path)
    split = {"split": "eval"} if any(map(_EVALUATION.search, path.parts[-3:])) else {}
    for record in records:
        if not isinstance(record, Mapping):
            continue
        if shape is None or not shape.marks <= record.keys():
            shape = shape_of(record) or shape
        if shape is not None:
            for single in shape.unfold(record):
                yield _sample(single, shape, folder_step, split)


def step_in(path: Path) -> float | None:
    """The step that the name of the dump, or of a folder above it, tells: `train_data_step12.jsonl`, `40.jsonl`."""
    for part in (path.name.partition(".")[0], path.parent.name, path.parent.parent.name):
        if match := _STEP_IN_PATH.search(part):
            return float(match[1] or match[2])
    return None


def _sample(record: Record, shape: Shape, folder_step: float | None, about: Mapping[str, str]) -> Sample:
    """`folder_step` is the step where the record has none, `about` what is known of all records of the dump."""
    roles = shape.roles
    if shape.rewards == "*":
        rewards = {name: x for name, value in record.items() if (x := _plain_number(name, value, roles)) is not None}
    else:
        rewards = _weighted(record.get(shape.rewards))
    reward = number(record.get("reward")) if shape.reward == "+" else number(_at(record, shape.reward))
    if reward is None and not rewards:  # one column for each reward function
        rewards = {
            n: x
            for n, value in record.items()
            if _REWARDED.fullmatch(n) and (x := _plain_number(n, value, roles)) is not None
        }
    if reward is None and rewards and (shape.reward == "+" or any(_REWARDED.fullmatch(name) for name in rewards)):
        reward = math.fsum(rewards.values())
    group, completion = _at(record, shape.group), _at(record, shape.completion)
    step = number(_at(record, shape.step))
    if step is None and not shape.trainer:
        step = next((number(record[name]) for name in _STEPS if name in record), None)
    others = {name: value for name, value in record.items() if name not in roles and name not in rewards}
    return Sample(
        step=folder_step if step is None else step,
        prompt=as_text(_at(record, shape.prompt))[:MAX_TEXT],
        completion=as_text(completion)[:MAX_TEXT],
        reward=reward,
        rewards=rewards,
        advantage=_one_advantage(_at(record, shape.advantage)),
        group=None if group is None else as_text(group),
        meta={**about, **others},
        messages=completion if isinstance(completion, list | tuple) else (),
    )


def _at(record: Any, path: str) -> Any:
    if "." not in path:
        return record.get(path)
    for name in path.split("."):
        record = record.get(name) if isinstance(record, Mapping) else None
    return record


def _plain_number(name: str, value: Any, roles: frozenset[str]) -> float | None:
    """A number that has no other role; columns with "__" in front are pandas' own."""
    is_number = isinstance(value, (int, float)) and name not in roles | NO_REWARD and not name.startswith("__")
    return number(value) if is_number else None


def number(value: Any) -> float | None:
    """A number, or the sum of numbers where a reward is given per token; None for anything else."""
    if isinstance(value, (list, tuple)):
        parts = [number(part) for part in value if not isinstance(part, (list, tuple))]
        known = [part for part in parts if part is not None]
        return sum(known) if known and len(known) == len(value) else None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _one_advantage(value: Any) -> float | None:
    """The advantage of a sample; one given per token is the sample's where it is the same in all tokens that count."""
    if not isinstance(value, list):
        return number(value)
    tokens = value[0] if len(value) == 1 and isinstance(value[0], list) else value
    values = {number(token) for token in tokens}
    values = values - {0.0} if values != {0.0} else values
    return values.pop() if len(values) == 1 else None


def _speaker(turn: Mapping[str, Any]) -> str:
    """The role of a turn, else what its type says; damaged files have neither."""
    return str(turn.get("role") or _ITEMS.get(str(turn.get("type")), "turn"))


def as_text(value: Any, depth: int = 0) -> str:
    """Text of a string, of a chat (a list of turns), of a turn's list of parts, or of anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None or depth > _MAX_DEPTH:
        return ""
    if isinstance(value, Mapping):
        return _turn_text(value, depth)
    if isinstance(value, (list, tuple)):
        turns = [turn for turn in value if isinstance(turn, Mapping) and ("role" in turn or turn.get("type") in _ITEMS)]
        if len(turns) > 1:
            return "\n".join(f"{_speaker(turn)}: {_turn_text(turn, depth)}" for turn in turns)
        return "".join(as_text(part, depth + 1) for part in value)
    return str(value)


def _turn_text(turn: Mapping[str, Any], depth: int) -> str:
    """The content of a turn or of one of its parts, with tool calls as JSON."""
    if "role" in turn or "content" in turn:
        calls = turn.get("tool_calls")
        content = as_text(turn.get("content"), depth + 1)
        return content + json.dumps(calls, default=str, ensure_ascii=False) if calls else content
    if turn.get("type") == "function_call_output":
        return as_text(turn.get("output"), depth + 1)
    if "text" in turn:
        return as_text(turn["text"], depth + 1)
    if "type" in turn and turn["type"] not in _CALLED:
        return f"[{turn['type']}]"  # an image or another part that is no text
    return json.dumps(turn, default=str, ensure_ascii=False)
