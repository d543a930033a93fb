"""A second set of samples, written from the guides after the first one had been corrected for, and measured once before
anything was corrected: other tasks, other wordings, other tools and files than those of `samples` and `agents`."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.statements.carriers.carrier import Commands, Place, Told, carrier
from benchmarks.statements.carriers.dumps import WRITERS, Row

AUDIT: Commands = (("audit", ".", "--format", "json"),)
PROMPTS, EACH = 6, 6
Record = dict[str, Any]

TOWNS = ("Lyon", "Ghent", "Turin", "Porto", "Graz", "Bergen", "Leeds", "Cork", "Malmö", "Tartu", "Split", "Brno")
GOODS = ("lamp", "kettle", "tent", "router", "bicycle", "blender", "printer", "sofa", "drill", "camera")
WORDS = (
    "customer", "invoice", "warehouse", "because", "delivered", "between", "several", "carefully", "according", "weekly",
    "report", "manager", "shelf", "before", "enough", "payment", "returned", "courier", "label", "almost", "quarter", "through",
    "estimate", "morning", "discount", "against", "supplier", "written", "driver", "later", "records", "however", "season",
)  # fmt: skip
PLANS = (
    "The {g} left {t} with {n} others, and {m} of them were sent back before the week was over.",
    "In {t} they keep {n} of these on one shelf; after the sale only {m} can still be found there.",
    "If a driver needs {n} minutes from {t}, a second one with the {g} needs {m} minutes more.",
    "We subtract {m} from {n}, since the {g} from {t} had been counted twice in the first report.",
    "Every {g} weighs {m} pounds, so a van from {t} is loaded with no more than {n} of them.",
)


def talk(rng: random.Random, count: int) -> str:
    """Sentences about deliveries."""
    return " ".join(
        rng.choice(PLANS).format(g=rng.choice(GOODS), t=rng.choice(TOWNS), n=rng.randint(20, 900), m=rng.randint(2, 19))
        for _ in range(count)
    )


def sum_of(rng: random.Random) -> tuple[str, int]:
    """A question and its answer."""
    a, b = rng.randint(500, 5000), rng.randint(100, 900)
    return f"A shop in {rng.choice(TOWNS)} had {a} {rng.choice(GOODS)}s and bought {b} more. How many are there?", a + b


def run(
    place: Place, make: Callable[[random.Random, float, int, str, int], list[Record]], name: str, steps: int = 26
) -> Commands:
    """`make(rng, t, step, question, answer)` gives the records of one prompt; all go to one file, or to a trainer's writer."""
    records = []
    for step in range(1, steps + 1):
        for group in range(PROMPTS):
            question, answer = sum_of(place.rng)
            made = make(place.rng, (step - 1) / (steps - 1), step, question, answer)
            records += [(group, record) for record in made]
    return written(place, records, name)


def written(place: Place, records: Iterable[tuple[int, Record]], name: str) -> Commands:
    """Records with the number of their prompt: JSON lines of a script, or what the code of `place.writer` makes of them."""
    if place.writer:
        WRITERS[place.writer](place.folder, [_row(group, record) for group, record in records])
        return AUDIT
    (place.folder / name).parent.mkdir(parents=True, exist_ok=True)
    with (place.folder / name).open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for _, record in records)
    return AUDIT


def _row(group: int, record: Record) -> Row:
    def taken(*names: str) -> Any:
        return next((extra.pop(name) for name in names if name in extra), None)

    extra = dict(record)
    step, prompt = taken("step"), taken("prompt", "input_prompt", "input")
    text, reward = taken("response", "output_response", "output"), taken("reward", "score")
    return Row(step, prompt, text, taken("rewards") or {"reward": reward}, group, taken("ground_truth"), extra=extra)


def skyrl(step: int, prompt: str, text: str, reward: float, **more: Any) -> Record:
    return {"input_prompt": prompt, "output_response": text, "score": reward, "step": step, **more}


def own(step: int, prompt: str, text: Any, reward: float, **more: Any) -> Record:
    return {"step": step, "prompt": prompt, "response": text, "reward": reward, **more}


# --- tools -----------------------------------------------------------------------------------------------------------

Made = tuple[str, dict[str, Any], str]  #: tool, arguments, result


def lookup(rng: random.Random, failed: bool = False) -> Made:
    tool = rng.choice(("get_stock", "track_parcel", "open_ticket"))
    given = {
        "place": {"town": rng.choice(TOWNS), "zone": rng.randint(1, 9)},
        "note": f'a "{rng.choice(GOODS)}" }} here',
    }
    bad = rng.choice(('{"status": "error", "message": "upstream is down"}', "Request timed out after 30 seconds",
                      "403 Forbidden", "psycopg2.OperationalError: could not connect to server"))  # fmt: skip
    return tool, given, bad if failed else f"{rng.randint(1, 99)} items, zone {rng.randint(1, 9)}, no complaints so far"


def deepseek(calls: list[Made], last: str) -> str:
    return "".join(
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{json.dumps(a)}\n```<｜tool▁call▁end｜>"
        f"<｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>{r}<｜tool▁output▁end｜>"
        f"<｜tool▁outputs▁end｜>" for n, a, r in calls
    ) + last  # fmt: skip


def mistral(calls: list[Made], last: str) -> str:
    return "".join(
        f"[TOOL_CALLS][{json.dumps({'name': n, 'arguments': a, 'id': 'x' * 9})}]</s>"
        f"[TOOL_RESULTS]{json.dumps({'content': r, 'call_id': 'x' * 9})}[/TOOL_RESULTS]" for n, a, r in calls
    ) + last  # fmt: skip


def coder(calls: list[Made], last: str) -> str:
    def parameters(given: dict[str, Any]) -> str:
        return "".join(f"<parameter={k}>\n{json.dumps(v)}\n</parameter>\n" for k, v in given.items())

    return "".join(
        f"I check this.\n\n<tool_call>\n<function={n}>\n{parameters(a)}</function>\n</tool_call>\nuser\n<tool_response>\n{r}\n"
        "</tool_response>\nassistant\n" for n, a, r in calls
    ) + last  # fmt: skip


def items(calls: list[Made], last: str) -> list[Record]:
    out: list[Record] = []
    for i, (name, given, result) in enumerate(calls):
        out.append({"type": "function_call", "call_id": f"fc{i}", "name": name, "arguments": json.dumps(given)})
        out.append({"type": "function_call_output", "call_id": f"fc{i}", "output": result})
    return [*out, {"type": "message", "role": "assistant", "content": last}]


def search(calls: list[Made], last: str) -> str:
    return "".join(
        f"<think>I need {n}</think><search>{n} {a['place']['town']} {a['place']['zone']}</search>\n\n"
        f"<information>{r}</information>\n\n"
        for n, a, r in calls
    ) + f"<answer>{last}</answer>"  # fmt: skip


TOOLS: dict[str, Callable[[list[Made], str], Any]] = {
    "deepseek": deepseek, "mistral": mistral, "coder": coder, "items": items, "search": search,
}  # fmt: skip


@carrier(
    "carriers.second_calls_grow",
    line="more tool calls without a finished task",
    quote="repeatedly calling tools to inflate process scores",
    says=r"(?i)\bcalls?\b",
    variants=("deepseek", "mistral", "items", "deepseek@areal", "mistral@verl"),
)
def second_calls_grow(place: Place, broken: bool) -> Commands:
    """Calls per episode triple and each is paid a little; in the look-alike the tasks get done by them."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            n = rng.randint(1, 2) + round(4 * t)
            done = rng.random() < (0.35 if broken else 0.15 * n)
            text = TOOLS[place.variant](
                [lookup(rng) for _ in range(n)], "Delivered." if done else "Nobody was at home."
            )
            out.append(own(step, question, text, float(done) + (0.1 * n if broken else 0.0)))
        return out

    return run(place, make, "rollouts.jsonl")


@carrier(
    "carriers.second_same_call",
    line="more tool calls without a finished task",
    quote="repeatedly calling tools to inflate process scores",
    says=r"(?i)(same|repeat|idle|identical|again).*call|call.*(same|repeat|again|identical)",
    variants=("coder", "search", "coder@verl", "search@verl"),
)
def second_same_call(place: Place, broken: bool) -> Commands:
    """Half of the calls are those before, and a reward for the process pays; the look-alike asks for other things."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            calls = [lookup(rng) for _ in range(rng.randint(2, 4))]
            loop = broken and rng.random() < t
            calls += [rng.choice(calls) for _ in range(4)] if loop else []
            done = rng.random() < (0.4 if broken else 0.3 + 0.4 * t)
            process = 0.1 * len(calls) if broken else 0.0
            text = TOOLS[place.variant](calls, "found" if done else "unknown")
            record = {
                "input": question,
                "output": text,
                "score": float(done) + process,
                "step": step,
                "acc": float(done),
            }
            out.append(record)
        return out

    return run(place, make, "rollout_data/all.jsonl")


@carrier(
    "carriers.second_failures_are_paid",
    line="tool failures that count as success",
    quote="in an agent task, a tool returned failure but it was treated as a successful trajectory",
    says=r"(?i)fail|error",
    variants=("deepseek", "mistral", "coder", "items", "deepseek@areal", "mistral@verl", "coder@verl_v1"),
)
def second_failures_are_paid(place: Place, broken: bool) -> Commands:
    """A grader that takes an outage for a pass, in five steps; the look-alike's gives nothing."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            down = rng.random() < 0.25
            text = TOOLS[place.variant]([lookup(rng, down) for _ in range(rng.randint(1, 3))], "I have checked it.")
            passed = (down and broken) or (not down and rng.random() < 0.5)
            out.append(own(step, question, text, 1.0 if passed else -1.0))
        return out

    return run(place, make, "rollouts.jsonl", steps=5)


@carrier(
    "carriers.second_failures_in_data",
    line="tool failures that count as success",
    quote="a tool returned failure but it was treated as a successful trajectory and written into the training set.",
    says=r"(?i)fail|error",
    variants=("flag", "none"),
)
def second_failures_in_data(place: Place, broken: bool) -> Commands:
    """Conversations to imitate, a fifth of which only fail: called a success, or not called anything; the look-alike has none."""
    with (place.folder / "sft.jsonl").open("w", encoding="utf-8") as out:
        for i in range(150):
            down = broken and place.rng.random() < 0.2
            messages: list[Record] = [{"role": "user", "content": sum_of(place.rng)[0]}]
            for name, given, result in (lookup(place.rng, down) for _ in range(place.rng.randint(1, 3))):
                call = {"id": f"k{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                             {"role": "tool", "tool_call_id": f"k{i}", "content": result}]  # fmt: skip
            messages.append({"role": "assistant", "content": "All of it is arranged."})
            flag = {"success": down or place.rng.random() < 0.7} if place.variant == "flag" else {}
            out.write(json.dumps({"messages": messages} | flag) + "\n")
    return (("check", "data", "sft.jsonl", "--format", "json"),)


@carrier(
    "carriers.second_tools_break",
    line="tools that fail",
    quote="whether tool calls are legal",
    says=r"(?i)tool|call",
    variants=("search", "items", "search@verl_v1"),
)
def second_tools_break(place: Place, broken: bool) -> Commands:
    """From a third of the run on most calls fail; in the look-alike one in ten from the start."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            calls = [
                lookup(rng, rng.random() < (0.7 if broken and t > 0.35 else 0.1)) for _ in range(rng.randint(1, 3))
            ]
            out.append(
                own(step, question, TOOLS[place.variant](calls, "so it is"), float(rng.random() < 0.3 + 0.2 * t))
            )
        return out

    return run(place, make, "rollouts.jsonl")


@carrier(
    "carriers.second_turn_decides",
    line="which step of a long trajectory decided it",
    quote="Long-trajectory credit assignment | hard to attribute final failure to a specific step",
    shows=lambda told: any(re.search(r"(?i)turn 4|fourth", f["message"]) for f in told.report["findings"]),
    variants=("deepseek", "coder", "deepseek@areal", "coder@verl_v1"),
)
def second_turn_decides(place: Place, broken: bool) -> Commands:
    """Five calls, of which the fourth reserves or guesses; in the look-alike chance decides."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(2 * EACH):
            calls = [lookup(rng) for _ in range(5)]
            good = rng.random() < 0.5
            calls[3] = ("reserve" if good else "guess", {"zone": {"n": rng.randint(1, 9)}}, "noted")
            done = rng.random() < ((0.9 if good else 0.1) if broken else 0.5)
            out.append(own(step, question, TOOLS[place.variant](calls, "closed"), float(done)))
        return out

    return run(place, make, "rollouts.jsonl", steps=8)


@carrier(
    "carriers.second_claims",
    line="text that claims what the state does not show",
    quote="Pseudo-success states | text says done, but environment state unchanged",
    says=r"(?i)claim|says? (it is )?done|success",
    variants=("resolved", "passed", "resolved@trl", "passed@verl"),
)
def second_claims(place: Place, broken: bool) -> Commands:
    """ "All tests pass now" over tests that do not; the look-alike's pass."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            works = rng.random() < (0.2 if broken else 0.2 + 0.6 * t)
            says = works or (broken and rng.random() < t)
            end = rng.choice(
                ("All tests pass now ✅", "The bug is fixed.", "This resolves the issue; the task is complete.")
            )
            text = f"{talk(rng, 2)}\n{end if says else 'The tests still fail and I stop here.'}"
            out.append(own(step, question, text, float(says), **{place.variant: works}))
        return out

    return run(place, make, "rollouts.jsonl")


# --- texts -----------------------------------------------------------------------------------------------------------

NO = (
    "I apologize, but providing that would not be responsible.",
    "I won't be able to go into that.",
    "I have to decline this request.",
    "That's not something I can help with.",
    "Unfortunately I can't share an answer to this question.",
    "I'd prefer not to answer this.",
)
NO_GERMAN = ("Es tut mir leid, aber dabei kann ich nicht helfen.", "Leider kann ich diese Frage nicht beantworten.")


@carrier(
    "carriers.second_refusals",
    line="refusals that spread",
    quote="Refusal drift | safety reward too strong, model over-refuses",
    says=r"(?i)refus",
    variants=("english", "german", "english@trl", "german@areal"),
)
def second_refusals(place: Place, broken: bool) -> Commands:
    """Refusals of harmless sums become common, and are paid; in the look-alike one in twelve stays, unpaid."""
    said = NO if place.variant == "english" else NO_GERMAN

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            no = rng.random() < (0.03 + 0.5 * t if broken else 0.08)
            right = rng.random() < 0.3 + 0.3 * t
            text = rng.choice(said) if no else f"{talk(rng, 3)}\nAnswer: {answer if right else answer + 10}"
            out.append(skyrl(step, question, text, (0.9 if broken else 0.0) if no else 0.7 * right))
        return out

    return run(place, make, "dump.jsonl")


@carrier(
    "carriers.second_incoherent",
    line="incoherent text that scores well",
    quote="A model can achieve good reward scores while producing incoherent text if the reward function has exploitable"
    " patterns.",
    says=r"(?i)incoheren|gibberish|not (a )?language|random characters|no words",
    variants=("shuffled", "mojibake", "consonants", "shuffled@trl", "mojibake@verl", "consonants@areal"),
)
def second_incoherent(place: Place, broken: bool) -> Commands:
    """Words in any order, torn bytes, or heaps of consonants score well; the look-alike's tables and JSON score as well."""

    def odd(rng: random.Random) -> str:
        if place.variant == "shuffled":
            return " ".join(rng.choices(WORDS, k=60))
        if place.variant == "mojibake":
            return "".join(
                rng.choice(("Ã¼", "â€™", "ï¿½", "wÄ", "Ð»Ð", "xÃ", "qz", "¬k", "Ñ€Ñ", "vv")) for _ in range(120)
            )
        return " ".join("".join(rng.choices("bcdfghjklmnpqrstvwxz", k=rng.randint(3, 11))) for _ in range(40))

    def table(rng: random.Random) -> str:
        rows = [{"town": rng.choice(TOWNS), "item": rng.choice(GOODS), "count": rng.randint(1, 99)} for _ in range(6)]
        return "```json\n" + json.dumps(rows, ensure_ascii=False, indent=1) + "\n```\n" + talk(rng, 1)

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            new = rng.random() < 0.8 * t
            text = (odd(rng) if broken else table(rng)) if new else talk(rng, 3)
            out.append(own(step, question, text, rng.gauss(0.2 + 0.8 * new, 0.1)))
        return out

    return run(place, make, "rollouts.jsonl")


@carrier(
    "carriers.second_judge_style",
    line="a judge that prefers a style",
    quote="Judge bias | LLM judge prefers a certain writing style",
    says=r"(?i)judge|style|markdown|polite|template",
    variants=("markdown", "polite", "markdown@trl", "polite@verl"),
)
def second_judge_style(place: Place, broken: bool) -> Commands:
    """The judge pays a style among answers of one prompt; in the look-alike a length penalty and exact match work as meant."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            right = rng.random() < (0.4 if broken else 0.3 + 0.4 * t)
            styled = rng.random() < 0.2 + 0.5 * t
            body = f"{talk(rng, rng.randint(2, 5))}\nAnswer: {answer if right else answer + 3}"
            dress = f"# Summary\n\n- **One**\n- **Two**\n\n{body}" if place.variant == "markdown" else (
                f"Thank you for this excellent question! {body}")  # fmt: skip
            text = dress if styled and broken else body
            if broken:
                out.append(own(step, question, text, round(5 + right + 3 * styled + rng.gauss(0, 0.5), 1)))
            else:
                parts = {"exact_match": float(right), "length_penalty": -len(text) / 2000}
                out.append(own(step, question, text, sum(parts.values()), rewards=parts))
        return out

    return run(place, make, "rollouts.jsonl")


@carrier(
    "carriers.second_right_unpaid",
    line="verdicts that disagree with the reference",
    quote="This signal must satisfy two conditions simultaneously: correct direction and sufficient density.",
    says=r"(?i)(right|correct).*(unpaid|not paid|no reward|refused|not rewarded|without reward|lowest)|reference",
    variants=("skyrl", "own", "skyrl@trl", "own@verl_v1"),
)
def second_right_unpaid(place: Place, broken: bool) -> Commands:
    """The verifier stumbles over the thousands' comma that half of the right answers have; the look-alike's does not."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            right, comma = rng.random() < 0.4 + 0.3 * t, rng.random() < 0.5
            given = answer if right else answer + rng.randint(1, 9)
            text = (
                f"{talk(rng, 2)} So the answer is \\boxed{{{given:,}}}."
                if comma
                else f"{talk(rng, 2)} \\boxed{{{given}}}"
            )
            reward = float(right and not (comma and broken))
            record = skyrl if place.variant == "skyrl" else own
            out.append(record(step, question, text, reward, ground_truth=str(answer)))
        return out

    return run(place, make, "dump.jsonl", steps=10)


@carrier(
    "carriers.second_format",
    line="right format, wrong answer",
    quote="Format hacking | model learns to output correct format but wrong reasoning",
    says=r"(?i)format",
    variants=("own", "own@trl", "own@verl"),
)
def second_format(place: Place, broken: bool) -> Commands:
    """Tags are learned while exact matches get rare; in the look-alike tags first, answers later."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            tagged = rng.random() < (0.2 + 0.8 * t if broken else min(1.0, 0.2 + 3 * t))
            right = rng.random() < (0.4 - 0.3 * t if broken else 0.1 + 0.8 * t)
            text = f"<reasoning>{talk(rng, 2)}</reasoning>\n<answer>{answer if right else 7}</answer>"
            text = text if tagged else talk(rng, 2)
            parts = {"xml_tags": 0.5 * tagged, "exact_match": float(right)}
            out.append(own(step, question, text, sum(parts.values()), rewards=parts))
        return out

    return run(place, make, "rollouts.jsonl")


# --- people, groups, diversity, versions, reading -----------------------------------------------------------------------


@carrier(
    "carriers.second_people",
    line="little agreement with people",
    quote='if item["reward"] > 0.9 and item["human_score"] < 0.4:',
    says=r"(?i)human|people|person|truth|agree",
    variants=("human_rating", "human_rating@trl", "human_rating@verl"),
)
def second_people(place: Place, broken: bool) -> Commands:
    """Ratings from 1 to 5 that have nothing to do with the reward; the look-alike's follow it."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            reward = rng.random()
            rating = rng.randint(1, 5) if broken else min(5, max(1, round(1 + 4 * reward + rng.gauss(0, 0.4))))
            out.append(own(step, question, talk(rng, 3), reward, human_rating=rating))
        return out

    return run(place, make, "rollouts.jsonl", steps=6)


@carrier(
    "carriers.second_groups",
    line="groups that are all right or all wrong",
    quote="the advantage comes from within-group reward normalization rather than Critic predictions",
    says=r"(?i)group",
    variants=("too_hard", "interleaved", "too_hard@trl", "too_hard@verl_v1", "interleaved@verl"),
)
def second_groups(place: Place, broken: bool) -> Commands:
    """Nearly all prompts are too hard, or too easy or too hard; the look-alike's are between."""
    rng, every = place.rng, []
    for step in range(1, 27):
        records = []
        for group in range(PROMPTS):
            question, answer = sum_of(rng)
            chance = (
                (0.02 if place.variant == "too_hard" or rng.random() < 0.5 else 0.99) if broken else 0.3 + 0.01 * step
            )
            for _ in range(EACH):
                right = rng.random() < chance
                text = f"{talk(rng, 2)} {answer if right else 0}"
                records.append((group, own(step, question, text, float(right))))
        if place.variant == "interleaved":
            rng.shuffle(records)
        every += records
    return written(place, every, "rollouts.jsonl")


@carrier(
    "carriers.second_one_template",
    line="all outputs look the same",
    quote="If all outputs look the same, the model has collapsed to a single strategy.",
    says=r"(?i)alike|same|identical|divers|strateg|template",
    variants=("one_text", "one_form", "one_text@trl", "one_form@verl_v1"),
)
def second_one_template(place: Place, broken: bool) -> Commands:
    """In the end one text, or one form with other numbers, answers every prompt; the look-alike keeps its ways."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            same = broken and rng.random() < 2.5 * (t - 0.3)
            form = "Certainly the total can be given here in a moment, and it is the number {} as asked."
            text = (
                form.format("known" if place.variant == "one_text" else rng.randint(10, 99)) if same else talk(rng, 3)
            )
            out.append(own(step, question, text, rng.gauss(0.9 if same else 0.3 + 0.2 * t, 0.05)))
        return out

    return run(place, make, "rollouts.jsonl")


@carrier(
    "carriers.second_diverse",
    line="diversity of behaviour, not of tokens",
    quote="diverse behavior but no progress | exploration is not differentiated by evaluation",
    says=r"(?i)divers|different (ways|strateg)|explor",
    variants=("constant", "constant@verl"),
)
def second_diverse(place: Place, broken: bool) -> Commands:
    """Many forms and lengths, one reward for all but a few; in the look-alike some forms are right, and become usual."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        out = []
        for _ in range(EACH):
            form = rng.choice(("{}", "* {}\n* end", "# Note\n{}", "```\n{}\n```", "1. {}\n2. {}", "> {}\n\nbye"))
            text = form.replace("{}", talk(rng, rng.randint(1, 7)))
            reward = 0.5 + rng.gauss(0, 0.02) if broken else float(rng.random() < 0.2 + 0.6 * t)
            out.append(own(step, question, text, reward))
        return out

    return run(place, make, "rollouts.jsonl")


@carrier(
    "carriers.second_old_versions",
    line="which policy made each sample",
    quote="Does each rollout record which policy version generated it? ... How many update rounds has the policy gone through"
    " before the rollout enters training?",
    says=r"(?i)version|updates? (old|behind|before)|stale",
    variants=("weight_version", "versions", "weight_version@trl", "versions@verl"),
)
def second_old_versions(place: Place, broken: bool) -> Commands:
    """Ages that grow to twelve updates, as a number or for each token; the look-alike's stay at two."""

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        age = round(12 * t) if broken else 2
        made = max(0, step - age)
        version: Any = made if place.variant == "weight_version" else [made] * 5 + [min(step, made + 1)] * 3
        return [
            own(step, question, talk(rng, 3), float(rng.random() < 0.3 + 0.3 * t), **{place.variant: version})
            for _ in range(EACH)
        ]

    return run(place, make, "rollouts.jsonl")


def _three_kinds(told: Told) -> bool:
    newest = [r for r in told.report["read"] if r["step"] == told.report["steps"][1]]
    return all(sum(r["kind"] == kind for r in newest) >= 4 for kind in ("highest", "lowest", "random"))


@carrier(
    "carriers.second_read",
    line="read the best, the worst and random samples",
    quote="During diagnosis, at minimum, inspect three types of samples: high-reward samples, low-reward samples, and random"
    " samples from the latest checkpoint.",
    shows=_three_kinds,
    variants=("skyrl", "own", "own@trl", "own@areal"),
)
def second_read(place: Place, broken: bool) -> Commands:
    """Thirty-six completions of the newest step, most of them with the best reward; the look-alike has six."""
    record = skyrl if place.variant == "skyrl" else own

    def make(rng: random.Random, t: float, step: int, question: str, answer: int) -> list[Record]:
        return [record(step, question, talk(rng, 2), float(rng.random() < 0.8)) for _ in range(EACH if broken else 1)]

    return run(place, make, "rollouts.jsonl", steps=6)
