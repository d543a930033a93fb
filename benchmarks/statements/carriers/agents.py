"""What the guides ask to look at in episodes with tools: every form of messages that trainers and interfaces write."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

from benchmarks.statements.carriers import texts
from benchmarks.statements.carriers.carrier import Commands, Place, carrier
from benchmarks.statements.carriers.dumps import WRITERS, Row, run_of
from benchmarks.statements.carriers.samples import AUDIT, GROUP, skill
from benchmarks.statements.carriers.texts import FORMS, Episode

#: the form of the messages -> the file that holds them
FILES = {
    "openai": "plain", "anthropic": "plain", "hermes": "areal", "qwen": "areal", "llama": "areal", "react": "verl",
    "verl": "verl", "trl": "trl",
}  # fmt: skip
SOME = ("openai", "anthropic", "qwen", "llama", "verl", "trl")


def task(rng: random.Random) -> str:
    """What an agent is asked to do."""
    name, thing, place = rng.choice(texts.NAMES), rng.choice(texts.THINGS), rng.choice(texts.PLACES)
    return f"Ship the open order of {name} for {thing} from the {place}."


def written(
    place: Place,
    make: Callable[[random.Random, float, int], list[tuple[str, Episode, dict[str, float]]]],
    steps: int = 30,
) -> None:
    """Write the dump: `make` gives prompt, episode and rewards of each completion to one prompt."""

    def rows(rng: random.Random, t: float, step: int) -> list[Row]:
        return [
            Row(step, prompt, texts.messages(episode, place.variant), rewards)
            for prompt, episode, rewards in make(rng, t, step)
        ]

    WRITERS[FILES[place.variant]](place.folder, run_of(rows, place.rng, steps=steps))


@carrier(
    "carriers.calls_grow_without_success",
    line="more tool calls without a finished task",
    quote="increased tool call counts without the final environment state actually completing the task.",
    says=r"(?i)tool calls?|calls",
    variants=FORMS,
)
def calls_grow_without_success(place: Place, broken: bool) -> Commands:
    """Episodes grow from one call to seven, each call is paid, and no more tasks get done; the look-alike's calls do them."""

    def make(rng: random.Random, t: float, step: int) -> list[tuple[str, Episode, dict[str, float]]]:
        prompt = task(rng)
        out = []
        for _ in range(GROUP):
            count = max(1, round(1 + 6 * t + rng.gauss(0, 0.7)))
            done = rng.random() < (0.3 if broken else min(0.95, 0.1 + 0.13 * count))
            final = "The order is shipped." if done else "I could not find the order."
            rewards = {"tool_use": 0.2 * count if broken else 0.0, "task_success": float(done)}
            out.append((prompt, Episode([texts.call(rng) for _ in range(count)], final), rewards))
        return out

    written(place, make)
    return AUDIT


@carrier(
    "carriers.same_call_again_and_again",
    line="more tool calls without a finished task",
    quote="repeatedly calling tools to inflate process scores",
    says=r"(?i)(same|repeat|idle|identical).*call|call.*(same|repeat|again|identical)",
    variants=SOME,
)
def same_call_again_and_again(place: Place, broken: bool) -> Commands:
    """One call, word for word, again and again, is paid; the look-alike's calls are different ones."""

    def make(rng: random.Random, t: float, step: int) -> list[tuple[str, Episode, dict[str, float]]]:
        prompt = task(rng)
        out = []
        for _ in range(GROUP):
            turns = [texts.call(rng) for _ in range(rng.randint(3, 5))]
            repeats = broken and rng.random() < 0.9 * t
            if repeats:
                turns = turns[:1] * rng.randint(5, 8)
            done = rng.random() < (0.3 if broken else skill(t))
            rewards = {"process": 0.15 * len(turns) if broken else 0.0, "task_success": float(done)}
            out.append((prompt, Episode(turns, "The order is shipped." if done else "It is not there."), rewards))
        return out

    written(place, make)
    return AUDIT


@carrier(
    "carriers.failed_calls_are_paid",
    line="tool failures that count as success",
    quote="in an agent task, a tool returned failure but it was treated as a successful trajectory",
    says=r"(?i)fail|error",
    variants=FORMS,
)
def failed_calls_are_paid(place: Place, broken: bool) -> Commands:
    """All calls of a third of the episodes fail, and these have the reward of success; the look-alike pays them nothing."""

    def make(rng: random.Random, t: float, step: int) -> list[tuple[str, Episode, dict[str, float]]]:
        prompt = task(rng)
        out = []
        for _ in range(GROUP):
            failed = rng.random() < 0.35
            turns = [texts.call(rng, failed=failed) for _ in range(rng.randint(1, 3))]
            done = not failed and rng.random() < skill(t)
            reward = 1.0 if done or (failed and broken) else 0.0
            out.append((prompt, Episode(turns, "Done." if done else "I tried."), {"task_success": reward}))
        return out

    written(place, make, steps=8)
    return AUDIT


@carrier(
    "carriers.failed_calls_are_paid_in_data",
    line="tool failures that count as success",
    quote="a tool returned failure but it was treated as a successful trajectory and written into the training set.",
    says=r"(?i)fail|error",
    variants=("openai", "anthropic", "qwen", "trl"),
)
def failed_calls_are_paid_in_data(place: Place, broken: bool) -> Commands:
    """The same, in a file of 120 recorded episodes, before any training."""
    with (place.folder / "episodes.jsonl").open("w", encoding="utf-8") as out:
        for _ in range(120):
            failed = place.rng.random() < 0.35
            turns = [texts.call(place.rng, failed=failed) for _ in range(place.rng.randint(1, 3))]
            done = not failed and place.rng.random() < 0.6
            told = texts.messages(Episode(turns, "Done." if done else "I tried."), place.variant)
            reward = 1.0 if done or (failed and broken) else 0.0
            out.write(json.dumps({"prompt": task(place.rng), "completion": told, "reward": reward}) + "\n")
    return (("check", "data", "episodes.jsonl", "--format", "json"),)


@carrier(
    "carriers.claims_done_and_is_not",
    line="text that claims what the state does not show",
    quote="Pseudo-success states | text says done, but environment state unchanged",
    says=r"(?i)claim|says? (it is )?done|success",
    variants=SOME,
)
def claims_done_and_is_not(place: Place, broken: bool) -> Commands:
    """More and more episodes say that they are done, and the state does not; the look-alike's claims are true."""
    claims = (
        "All done: the order has been shipped.",
        "I have successfully shipped the order.",
        "The task is complete.",
    )

    def make(rng: random.Random, t: float, step: int) -> list[tuple[str, Episode, dict[str, float]]]:
        prompt = task(rng)
        out = []
        for _ in range(GROUP):
            done = rng.random() < (0.25 if broken else skill(t))
            claimed = done or (broken and rng.random() < 0.95 * t)
            final = rng.choice(claims) if claimed else "I could not ship the order."
            rewards = {"judge": float(claimed), "task_success": float(done)}
            out.append((prompt, Episode([texts.call(rng) for _ in range(rng.randint(1, 3))], final), rewards))
        return out

    written(place, make)
    return AUDIT


@carrier(
    "carriers.tools_begin_to_fail",
    line="tools that fail",
    quote="whether tool calls are legal",
    says=r"(?i)tool|call",
    variants=FORMS,
)
def tools_begin_to_fail(place: Place, broken: bool) -> Commands:
    """From the middle on most calls return an error, and the reward falls; the look-alike's tools fail now and then."""

    def make(rng: random.Random, t: float, step: int) -> list[tuple[str, Episode, dict[str, float]]]:
        prompt = task(rng)
        out = []
        for _ in range(GROUP):
            rate = 0.75 if broken and t > 0.5 else 0.05
            turns = [texts.call(rng, failed=rng.random() < rate) for _ in range(rng.randint(2, 4))]
            done = not turns[-1].failed and rng.random() < skill(t)
            out.append((prompt, Episode(turns, "Done." if done else "It did not work."), {"task_success": float(done)}))
        return out

    written(place, make)
    return AUDIT


@carrier(
    "carriers.one_turn_decides",
    line="which step of a long trajectory decided it",
    quote="Long-trajectory credit assignment | hard to attribute final failure to a specific step",
    shows=lambda told: any(re.search(r"(?i)turn 2|second turn", f["message"]) for f in told.report["findings"]),
    variants=("openai", "qwen", "verl", "trl"),
)
def one_turn_decides(place: Place, broken: bool) -> Commands:
    """Six turns, and all depends on which tool the second one uses; in the look-alike on no single turn."""

    def make(rng: random.Random, t: float, step: int) -> list[tuple[str, Episode, dict[str, float]]]:
        prompt = task(rng)
        out = []
        for i in range(2 * GROUP):
            turns = [texts.call(rng) for _ in range(6)]
            good = i % 2 == 0
            second = ("verify_order", {"order": 7}) if good else ("guess_order", {"hint": "any"})
            turns[1] = texts.Turn("Now the second step.", second[0], second[1], "ok")
            done = rng.random() < ((0.95 if good else 0.05) if broken else 0.5)
            out.append((prompt, Episode(turns, "Done." if done else "Not done."), {"task_success": float(done)}))
        return out

    written(place, make, steps=12)
    return AUDIT
