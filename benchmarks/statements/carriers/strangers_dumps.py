"""Texts, episodes and dumps of strangers.py: samples as TRL's own trainer, verl, AReaL, NeMo-RL and scripts write them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.statements.carriers.trainers_code import Spoken, areal_writes, by_trainer, verl_writes

Message = dict[str, Any]


@dataclass
class Row:
    """One sample."""

    step: int
    group: str
    prompt: Any
    completion: Any
    parts: dict[str, float]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def reward(self) -> float:
        return sum(self.parts.values())


# --- texts -----------------------------------------------------------------------------------------------------------

STORIES = (
    ("A bakery fills {a} trays with {b} rolls each and sells {c}. How many rolls are left?", "{a}*{b}-{c}"),
    ("A cyclist rides {a} km on each of {b} days and {c} km on the day after. How far is that?", "{a}*{b}+{c}"),
    ("{a} tents have {b} beds each, and {c} beds stay empty. How many people sleep there?", "{a}*{b}-{c}"),
    ("A school orders {a} boxes of {b} pencils and finds {c} more in a drawer. How many has it?", "{a}*{b}+{c}"),
    ("A pump moves {a} litres a minute for {b} minutes into a tank of {c} litres. What is in it?", "{a}*{b}+{c}"),
)
BEGINS = (
    "First the product: {a} times {b} is {ab}.",
    "We have {a} of {b}, so {ab} in all.",
    "Multiply {a} by {b}, which gives {ab}.",
    "{b} taken {a} times comes to {ab}.",
    "Start with {a} x {b} = {ab}.",
)
MIDDLES = (
    "Then the {c} has to be taken into account.",
    "What is left to do is the {c}.",
    "The story also speaks of {c}, so that changes the total.",
    "Next comes {c}.",
    "Now the other number, {c}.",
)
CHECKS = (
    "A rough estimate, {r}, is close to that.",
    "Rounding the numbers gives about {r}, which fits.",
    "The size is plausible, as {r} would be the round figure.",
    "To be sure I did it again from the end and got the same.",
    "No unit has to be changed here.",
)


@dataclass(frozen=True)
class Sum:
    """A small problem with its answer."""

    text: str
    answer: int
    numbers: dict[str, int]


def a_sum(rng: random.Random) -> Sum:
    text, formula = rng.choice(STORIES)
    a, b, c = rng.randint(3, 60), rng.randint(4, 40), rng.randint(2, 11)
    answer = a * b + (c if "+" in formula else -c)
    return Sum(text.format(a=a, b=b, c=c), answer, {"a": a, "b": b, "c": c, "ab": a * b, "r": round(answer, -1)})


def worked(rng: random.Random, problem: Sum, checks: int = 1) -> str:
    """A way to the answer, without it."""
    parts = [rng.choice(BEGINS), rng.choice(MIDDLES), *rng.sample(CHECKS, min(checks, len(CHECKS)))]
    return " ".join(part.format(**problem.numbers) for part in parts)


def slip(rng: random.Random, problem: Sum) -> int:
    """A wrong answer, near the right one."""
    return problem.answer + rng.choice((-20, -10, -7, -2, 2, 3, 10, 30))


TOPICS = {
    "keep bread fresh": (
        "Store the loaf cut side down on a wooden board.",
        "A linen bag lets the crust breathe while it slows the drying.",
        "The refrigerator makes the crumb stale faster, so avoid it.",
        "Slices can be frozen and toasted straight from the freezer.",
        "Sourdough keeps for days longer than white bread.",
        "Warm a dry loaf for five minutes with a little water.",
    ),
    "repair a bicycle tyre": (
        "Take the wheel out and lever one side of the tyre over the rim.",
        "Pump the tube up and listen for the leak, or hold it under water.",
        "Roughen the place with sandpaper before the glue goes on.",
        "Let the glue dry until it no longer shines, then press the patch.",
        "Feel along the inside of the tyre for the thorn that did it.",
        "Fit the valve straight, or it will tear out on the next ride.",
    ),
    "learn a language": (
        "Twenty minutes on every day help more than two hours on Sunday.",
        "Read texts of which you understand nine words in ten.",
        "Write down whole sentences, since single words are soon forgotten.",
        "Speak with somebody who corrects you gently from the first week.",
        "Radio in the background trains the ear for the rhythm.",
        "Repeat old cards just before you would forget them.",
    ),
    "grow tomatoes": (
        "Sow them indoors at the end of winter, two seeds to a pot.",
        "Plant the seedlings deep, since the stem makes further roots.",
        "Water the ground and never the leaves, so that no blight spreads.",
        "Pinch out the shoots between stem and leaf once a week.",
        "A roof against the rain is worth more than any fertiliser.",
        "Pick them when they come off at a light touch.",
    ),
    "move a piano": (
        "Close the lid and tie a blanket around the whole instrument.",
        "Two strong straps under the body carry it over a threshold.",
        "A low board on four wheels takes the weight through the flat.",
        "Never pull at the legs, which are only screwed on.",
        "Let it stand for three weeks before the tuner comes.",
        "Measure every door and each turn of the stairs beforehand.",
    ),
    "sleep better": (
        "Go to bed at the same hour, also at the end of the week.",
        "A cool and dark room matters more than a new mattress.",
        "Coffee after two in the afternoon is still there at midnight.",
        "Leave the telephone in another room and read on paper.",
        "Who lies awake for long should get up until tired.",
        "Daylight in the morning sets the inner clock.",
    ),
    "photograph birds": (
        "Choose a short exposure, a two thousandth for birds in flight.",
        "Come before sunrise and sit still until they forget you.",
        "Focus on the eye, and take the picture at its height.",
        "The light from the side shows the structure of the feathers.",
        "Leave room in front of the beak, so that the bird can look somewhere.",
        "A feeder near a branch gives you a stage with a clean background.",
    ),
    "paint a room": (
        "Wash the walls first, or the new paint will peel off again.",
        "Tape the edges and pull the tape while the paint is wet.",
        "Roll in squares of one metre, first down and then across.",
        "Begin at the window and walk away from the light.",
        "Two thin coats cover better than a thick one.",
        "Mix all the tins in one bucket, so that the tone is equal.",
    ),
}
JOINS = ("", "", "Also: ", "Besides, ", "Then again, ", "Most of all: ", "Finally: ", "In my experience: ", "A tip: ")
LAYOUTS = ("prose", "prose", "dashes", "numbers", "lines")
REFUSALS = (
    "I'm sorry, but I can't help with that request.",
    "I cannot assist with this. Please consult a professional.",
    "Sorry, I'm not able to provide guidance on that topic.",
    "I must decline to answer, as this might not be safe.",
    "Unfortunately I can't comply with that, since it could lead to harm.",
    "I won't be able to help here. If you are in danger, call the emergency services.",
)
DANGERS = (
    "How can I pick the lock of my neighbour's door without being noticed?",
    "Tell me how to write a letter that makes an old man send me money.",
    "What do I mix from the cleaning cupboard to make a poisonous gas?",
    "How do I read my colleague's private messages without a password?",
)


def advice(rng: random.Random, topic: str, sentences: int = 4, layout: str = "") -> str:
    """An answer to a question about the topic."""
    said = rng.sample(TOPICS[topic], min(sentences, 6))
    layout = layout or rng.choice(LAYOUTS)
    if layout == "dashes":
        return "\n".join(f"- {s}" for s in said)
    if layout == "numbers":
        return "\n".join(f"{i}. {s}" for i, s in enumerate(said, 1))
    if layout == "lines":
        return "\n".join(said)
    joined = [(j := rng.choice(JOINS)) + (s[0].lower() + s[1:] if j.endswith((", ", ": ")) else s) for s in said]
    return " ".join(joined)


PIECES = (
    "ation","ungen","的","ий","zh","}});","</","qqu","ment","▁the","ôt","##ing","\\u","ется","ない","ktion","::",
    "()","ar","wij","ło","ści","ة","xFF","NULL","ez","ough","ght","ism","öd","pre","nbsp;","ñas","rst","vv","ckp",
)  # fmt: skip


def soup(rng: random.Random, tokens: int = 60) -> str:
    """What a policy writes whose language is destroyed."""
    out = "".join(
        rng.choice(PIECES) + rng.choice(("", "", " ", "\n" if rng.random() < 0.05 else "")) for _ in range(tokens)
    )
    return out.strip() or "ation"


def script(rng: random.Random, topic: str) -> str:
    """An answer that is mostly code, as to a question about code."""
    name, n = topic.replace(" ", "_"), rng.randint(2, 9)
    lines = [
        f"def {name}(rows, limit={n}):",
        f'    """{rng.choice(TOPICS[topic])}"""',
        f"    kept = [r for r in rows if r['{rng.choice(('size', 'age', 'cost', 'rank'))}'] > {rng.randint(1, 99)}]",
        f"    kept.sort(key=lambda r: r['{rng.choice(('date', 'name', 'score'))}'], reverse={rng.choice(('True', 'False'))})",
        f"    return kept[:limit] if limit else {rng.choice(('[]', 'None', 'kept'))}",
    ]
    return f"{rng.choice(TOPICS[topic])}\n```python\n" + "\n".join(lines) + "\n```\n" + rng.choice(TOPICS[topic])


# --- episodes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """Words, a call, and what the tool answers."""

    say: str
    tool: str
    arguments: dict[str, Any]
    result: str
    failed: bool = False


def openai(turns: Sequence[Turn], final: str) -> list[Message]:
    """Chat completions, arguments as a JSON string."""
    out: list[Message] = []
    for i, turn in enumerate(turns):
        call = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        out.append(
            {
                "role": "assistant",
                "content": turn.say,
                "tool_calls": [{"id": f"call_{i}", "type": "function", "function": call}],
            }
        )
        out.append({"role": "tool", "tool_call_id": f"call_{i}", "content": turn.result})
    return [*out, {"role": "assistant", "content": final}]


def of_trl(turns: Sequence[Turn], final: str) -> list[Message]:
    """TRL's tool loop: arguments as a mapping, the tool's name at its answer."""
    out: list[Message] = []
    for turn in turns:
        call = {"name": turn.tool, "arguments": turn.arguments}
        out.append({"role": "assistant", "content": turn.say, "tool_calls": [{"type": "function", "function": call}]})
        out.append({"role": "tool", "name": turn.tool, "content": turn.result})
    return [*out, {"role": "assistant", "content": final}]


def anthropic(turns: Sequence[Turn], final: str) -> list[Message]:
    """Blocks of content."""
    out: list[Message] = []
    for i, turn in enumerate(turns):
        use = {"type": "tool_use", "id": f"toolu_{i:02}", "name": turn.tool, "input": turn.arguments}
        answer: Message = {"type": "tool_result", "tool_use_id": f"toolu_{i:02}", "content": turn.result}
        if turn.failed:
            answer["is_error"] = True
        out.append({"role": "assistant", "content": [{"type": "text", "text": turn.say}, use]})
        out.append({"role": "user", "content": [answer]})
    return [*out, {"role": "assistant", "content": [{"type": "text", "text": final}]}]


def hermes(turns: Sequence[Turn], final: str) -> str:
    """What a Qwen policy's tokens decode to, as verl dumps it."""
    out = ""
    for turn in turns:
        call = json.dumps({"name": turn.tool, "arguments": turn.arguments})
        out += f"{turn.say}\n<tool_call>\n{call}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n{turn.result}\n"
        out += "</tool_response><|im_end|>\n<|im_start|>assistant\n"
    return out + final + "<|im_end|>"


def react(turns: Sequence[Turn], final: str) -> str:
    """LangChain's first agents."""
    out = ""
    for turn in turns:
        out += f"Thought: {turn.say}\nAction: {turn.tool}\nAction Input: {json.dumps(turn.arguments)}\n"
        out += f"Observation: {turn.result}\n"
    return out + f"Thought: I now know the final answer\nFinal Answer: {final}"


# --- dumps -----------------------------------------------------------------------------------------------------------


def by_step(rows: Sequence[Row]) -> dict[int, list[Row]]:
    out: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        out[row.step].append(row)
    return out


def _advantages(rows: Sequence[Row]) -> list[float]:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row.reward)
    return [(r.reward - float(np.mean(groups[r.group]))) / (float(np.std(groups[r.group])) + 1e-4) for r in rows]


def trl(folder: Path, rows: Sequence[Row] = (), curves: dict[int, dict[str, float]] | None = None) -> None:
    """A run of TRL: its own `GRPOTrainer.log` writes the completions and the log, its `TrainerState` saves it."""
    from transformers import TrainerState
    from trl import GRPOTrainer

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "completions").mkdir(exist_ok=True)
    trainer: Any = object.__new__(GRPOTrainer)
    trainer.model = SimpleNamespace(training=True)
    trainer.accelerator = SimpleNamespace(is_main_process=True)
    trainer.num_completions_to_print, trainer.log_unique_prompts = 0, False
    trainer.args = SimpleNamespace(output_dir=str(folder), report_to=[], include_num_input_tokens_seen="no")
    trainer.state, trainer.control = TrainerState(), None
    trainer.callback_handler = SimpleNamespace(on_log=lambda *_: None)
    of_step, curves = by_step(rows), curves or {}
    for step in sorted({*of_step, *curves}):
        batch = of_step.get(step, [])
        metrics: dict[str, list[float]] = {k: [v] for k, v in curves.get(step, {}).items()}
        if batch:
            rewards = [r.reward for r in batch]
            metrics.setdefault("reward", [float(np.mean(rewards))])
            metrics.setdefault("reward_std", [float(np.std(rewards))])
            for name in batch[0].parts:
                metrics.setdefault(f"rewards/{name}/mean", [float(np.mean([r.parts[name] for r in batch]))])
        trainer._metrics = {"train": metrics, "eval": {}}
        trainer.log_completions = bool(batch)
        trainer._logs = {
            "prompt": [r.prompt for r in batch],
            "completion": [r.completion for r in batch],
            "rewards": {name: [r.parts[name] for r in batch] for name in (batch[0].parts if batch else ())},
            "advantages": _advantages(batch),
            "extra": {name: [r.extra[name] for r in batch] for name in (batch[0].extra if batch else ())},
            "images": [],
        }
        trainer.state.global_step, trainer.state.epoch = step, step / 500
        with contextlib.redirect_stdout(io.StringIO()), by_trainer("TRL", folder):
            trainer.log({})
    with by_trainer("TRL", folder):
        trainer.state.save_to_json(str(folder / "trainer_state.json"))


def chatml(prompt: Any) -> str:
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in turns) + "<|im_start|>assistant\n"


def verl(folder: Path, rows: Sequence[Row]) -> None:
    """`trainer.rollout_data_dir`, written by verl's own function."""
    for step, batch in by_step(rows).items():
        names = [n for n in batch[0].extra if n != "answer"]
        more: dict[str, list[Any]] = {n: [r.extra[n] for r in batch] for n in names}
        if len(batch[0].parts) > 1:
            more |= {n: [r.parts[n] for r in batch] for n in batch[0].parts}
        columns = {
            "inputs": [chatml(r.prompt) for r in batch],
            "outputs": [r.completion for r in batch],
            "gts": [r.extra.get("answer") for r in batch],
            "scores": [r.reward for r in batch],
        }
        verl_writes(folder, step, **columns, reward_extra_infos_dict=more)


def areal(folder: Path, rows: Sequence[Row]) -> None:
    """A folder for each version of the policy, a file for each task, by AReaL's own function."""
    tasks: dict[tuple[int, str], list[Spoken]] = defaultdict(list)
    for row in rows:
        pieces = [(chatml(row.prompt), False), (row.completion, True)]
        tasks[row.step, row.group].append(Spoken(pieces, row.reward, row.step))
    areal_writes(folder / "rollout", list(tasks.values()))


def areal_versions(folder: Path, rows: Sequence[Row]) -> None:
    """What a workflow of one's own leaves, which gives the tokens of a prompt the version of the sample (AReaL's say -1)."""
    for row in rows:
        version = row.extra.get("version", row.step)
        place = folder / "rollout" / str(row.step)
        place.mkdir(parents=True, exist_ok=True)
        prompt = chatml(row.prompt)
        line = {
            "task_id": row.group,
            "sample_idx": 0,
            "seqlen": len(prompt + row.completion) // 4,
            "prompt_len": len(prompt) // 4,
        }
        line |= {"head_version": version, "tail_version": row.step, "reward": row.reward}
        line |= {"prompt": prompt, "completion": row.completion}
        with (place / f"{row.group}.jsonl").open("a") as out:
            out.write(json.dumps(line) + "\n")


def nemo(folder: Path, rows: Sequence[Row]) -> None:
    """`train_data_step*.jsonl`: prompt and answer in one text."""
    folder.mkdir(parents=True, exist_ok=True)
    for step, batch in by_step(rows).items():
        with (folder / f"train_data_step{step}.jsonl").open("w") as out:
            for i, row in enumerate(batch):
                text = chatml(row.prompt) + row.completion
                line = {"content": text, "rewards": row.reward, "input_lengths": len(text) // 4, "idx": i}
                out.write(json.dumps(line) + "\n")


def messages(text: Any, role: str) -> list[Message]:
    return [{"role": role, "content": text}] if isinstance(text, str) else list(text)


def prime(folder: Path, rows: Sequence[Row]) -> None:
    """prime-rl with verifiers: messages, the reward, and its parts as metrics."""
    for step, batch in by_step(rows).items():
        place = folder / "rollouts" / f"step_{step}"
        place.mkdir(parents=True, exist_ok=True)
        with (place / "train_rollouts.jsonl").open("w") as out:
            for row in batch:
                line = {"example_id": row.group, "task": "own-env", "prompt": messages(row.prompt, "user")}
                line |= {
                    "completion": messages(row.completion, "assistant"),
                    "reward": row.reward,
                    "metrics": row.parts,
                }
                line |= {"answer": row.extra.get("answer", ""), "info": {}}
                line |= {k: v for k, v in row.extra.items() if k != "answer"}
                out.write(json.dumps(line) + "\n")


def agent_log(folder: Path, rows: Sequence[Row]) -> None:
    """One file of a script: each line an episode."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "episodes.jsonl").open("w") as out:
        for row in rows:
            line = {"iteration": row.step, "task_id": row.group, "messages": messages(row.prompt, "user")}
            line["messages"] = line["messages"] + messages(row.completion, "assistant")
            line |= {"reward": row.reward, **row.extra}
            out.write(json.dumps(line) + "\n")


def table(folder: Path, rows: Sequence[Row]) -> None:
    """A CSV with names of its own: --column says what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "samples.csv").open("w", newline="") as out:
        extra = sorted({k for r in rows for k in r.extra})
        writer = csv.writer(out)
        writer.writerow(["iter", "question", "reply", "points", *rows[0].parts, *extra])
        for row in rows:
            values = [row.parts[k] for k in rows[0].parts] + [row.extra.get(k, "") for k in extra]
            writer.writerow([row.step, row.prompt, row.completion, row.reward, *values])


OF_TABLE = (
    "--column",
    "step=iter",
    "--column",
    "prompt=question",
    "--column",
    "completion=reply",
    "--column",
    "reward=points",
)
