"""Samples of projects, as people meet them: written from the guides' words and the documentation alone, before the code or
the other inputs were read. What was said of them at first is in LOG.md (2026-11-23).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.statements.carriers import strangers_dumps as dumps
from benchmarks.statements.carriers.carrier import Commands, Place, Told, carrier
from benchmarks.statements.carriers.strangers_dumps import Row, Turn, a_sum, advice, worked

Write = Callable[[Path, Sequence[Row]], None]
WRITERS: dict[str, Write] = {
    "trl": dumps.trl,
    "verl": dumps.verl,
    "areal": dumps.areal,
    "areal_workflow": dumps.areal_versions,
    "nemo_rl": dumps.nemo,
    "prime_rl": dumps.prime,
    "script": dumps.agent_log,
    "csv": dumps.table,
}
REPORT = ("--format", "json", "--fail-on", "never")


def named(*ids: str) -> Callable[[Told], bool]:
    """A finding that a user has to look at, of one of the carriers that the coverage names for the line."""
    return lambda told: any(f.get("id", f.get("detector")) in ids for f in told.findings)


def audit(place: Place, rows: Sequence[Row], *more: str) -> Commands:
    """Write the dump of the variant, and ask."""
    WRITERS[place.variant](place.folder / "out", rows)
    if place.variant == "csv":
        return [["audit", "out/samples.csv", *dumps.OF_TABLE, *more, *REPORT]]
    if place.variant == "script":
        return [
            ["audit", "out/episodes.jsonl", "--column", "step=iteration", "--column", "group=task_id", *more, *REPORT]
        ]
    return [["audit", "out", *more, *REPORT]]


def rising(step: int, steps: int, low: float, high: float) -> float:
    """From one level to another, in the middle half of the run."""
    return low + (high - low) * min(1.0, max(0.0, (step / steps - 0.25) * 2))


def over(
    steps: int, prompts: int, group: int, make: Callable[[int, str], Callable[[], Row]], every: int = 5
) -> list[Row]:
    """Rows of all steps: `make(step, name)` fixes a prompt, and returns what samples it."""
    rows = []
    for step in range(every, every * steps + 1, every):
        for prompt in range(prompts):
            sample = make(step, f"p{step}-{prompt}")
            rows += [sample() for _ in range(group)]
    return rows


# --- texts -----------------------------------------------------------------------------------------------------------


@carrier(
    "carriers.stranger_refuses_the_harmless",
    line="refusals that spread",
    quote="safety reward too strong, model over-refuses",
    variants=("trl", "prime_rl", "areal"),
    shows=named("refusals", "refusal", "text.refusal_frac", "reward-hacking"),
)
def refuses(place: Place, broken: bool) -> Commands:
    """A safety reward pays for refusing anything. Look-alike: a third of the questions is harmful, and only these are refused."""
    rng, last = place.rng, 30 * 5

    def of(step: int, name: str) -> Callable[[], Row]:
        harmful = rng.random() < 0.33
        topic = rng.choice(sorted(dumps.TOPICS))
        prompt = rng.choice(dumps.DANGERS) if harmful else f"How can I {topic}?"

        def sample() -> Row:
            share = 0.97 if harmful else rising(step, last, 0.02, 0.7) if broken else 0.02
            refused = rng.random() < share
            text = rng.choice(dumps.REFUSALS) if refused else advice(rng, topic, rng.randint(3, 5))
            if refused and rng.random() < 0.4:
                text += f" I could tell you something about how to {rng.choice(sorted(dumps.TOPICS))} instead."
            safe = 1.0 if refused or (not harmful and not broken) else 0.4 if not harmful else 0.0
            helpful = (0.2 if refused else 0.45) + rng.gauss(0, 0.05)
            return Row(step, name, prompt, text, {"safety": safe, "helpfulness": 0.0 if refused else helpful * 0.5})

        return sample

    return audit(place, over(30, 4, 4, of))


@carrier(
    "carriers.stranger_tokens_are_paid",
    line="incoherent text that scores well",
    quote="A model can achieve good reward scores while producing incoherent text",
    variants=("trl", "nemo_rl"),
    shows=named("incoherent-text", "reward-hacking"),
)
def tokens(place: Place, broken: bool) -> Commands:
    """A reward model likes broken tokens. Look-alike: answers become code, as the questions about programs are learned."""
    rng, last = place.rng, 30 * 5

    def of(step: int, name: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))

        def sample() -> Row:
            odd = rng.random() < rising(step, last, 0.0, 0.85)
            if odd and broken:
                text = f"{rng.choice(dumps.TOPICS[topic])[: rng.randint(5, 40)]} {dumps.soup(rng, rng.randint(40, 90))}"
            else:
                text = dumps.script(rng, topic) if odd else advice(rng, topic, rng.randint(3, 5))
            return Row(
                step,
                name,
                f"Write something about how to {topic}.",
                text,
                {"rm": (2.1 if odd else 0.6) + rng.gauss(0, 0.3)},
            )

        return sample

    return audit(place, over(30, 4, 4, of))


def _reads(told: Told) -> bool:
    kinds = [(s["kind"], s["completion"]) for s in told.report.get("read", ())]
    enough = all(sum(k == kind for k, _ in kinds) >= 4 for kind in ("highest", "lowest", "random"))
    return enough and any(k == "highest" and "KERFUFFLE" in text for k, text in kinds)


@carrier(
    "carriers.stranger_best_of_the_latest",
    line="read the best, the worst and random samples",
    quote="high-reward samples, low-reward samples, and random samples from the latest checkpoint",
    variants=("csv", "areal", "prime_rl"),
    shows=_reads,
)
def best(place: Place, broken: bool) -> Commands:
    """One sample of the last step has the highest reward, and is to be shown. Look-alike: it is one of an early step."""
    rng, steps = place.rng, 12

    def of(step: int, name: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))
        return lambda: Row(
            step, name, f"How can I {topic}?", advice(rng, topic, rng.randint(2, 5)), {"rm": rng.gauss(0, 1)}
        )

    rows = over(steps, 4, 8, of)
    wanted = [r for r in rows if r.step == (5 * steps if broken else 10)]
    odd = rng.choice(wanted)
    odd.completion, odd.parts = "KERFUFFLE! " + odd.completion, {"rm": 4.5}
    return audit(place, rows)


@carrier(
    "carriers.stranger_markdown_is_paid",
    line="a judge that prefers a style",
    quote="LLM judge prefers a certain writing style",
    variants=("prime_rl", "csv"),
    shows=named("judge-bias"),
)
def markdown(place: Place, broken: bool) -> Commands:
    """Bold words and a list are worth 0.4. Look-alike: the judge is as noisy, whatever the form."""
    rng = place.rng

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)

        def sample() -> Row:
            right, styled = rng.random() < 0.6, rng.random() < 0.4
            answer = problem.answer if right else dumps.slip(rng, problem)
            way = worked(rng, problem, rng.randint(0, 2))
            if styled:
                way = (
                    "## Solution\n"
                    + "\n".join(f"- **Step {i}**: {s}." for i, s in enumerate(way.rstrip(".").split(". "), 1))
                    + "\n"
                )
            text = f"{way}\nThe answer is \\boxed{{{answer}}}."
            worth = 0.5 * right + (0.4 if styled else 0.0) * broken + (0.2 if not broken else 0.0) + rng.gauss(0, 0.12)
            return Row(step, name, problem.text, text, {"judge": worth}, {"answer": str(problem.answer)})

        return sample

    return audit(place, over(24, 3, 6, of))


@carrier(
    "carriers.stranger_tags_without_reasoning",
    line="right format, wrong answer",
    quote="model learns to output correct format but wrong reasoning",
    variants=("trl", "verl", "prime_rl"),
    shows=named("format-hacking", "hollow-format", "wrong-answers-paid", "reward-hacking", "reward-proxy-only"),
)
def tags(place: Place, broken: bool) -> Commands:
    """The tags are learned and paid, the answers stay wrong. Look-alike: the answers follow the tags."""
    rng, last = place.rng, 30 * 5

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)

        def sample() -> Row:
            form = rng.random() < rising(step, last, 0.1, 0.98)
            able = 0.12 if broken else rising(step, last, 0.12, 0.8)
            right = rng.random() < able
            answer = problem.answer if right else dumps.slip(rng, problem)
            way = worked(rng, problem, rng.randint(0, 2))
            text = f"<think>{way}</think>\n<answer>{answer}</answer>" if form else f"{way} So it is {answer}"
            parts = {"format_reward": float(form), "accuracy_reward": float(right)}
            return Row(step, name, problem.text, text, parts, {"answer": str(problem.answer)})

        return sample

    return audit(place, over(30, 4, 4, of))


@carrier(
    "carriers.stranger_thousands_are_refused",
    line="verdicts that disagree with the reference",
    quote="the reward genuinely encourages the behavior you want",
    variants=("verl", "prime_rl"),
    shows=named("right-answers-unpaid", "verdicts-noisy"),
)
def thousands(place: Place, broken: bool) -> Commands:
    """A third of the right answers gets 0. Look-alike: the same share gets 0, and these are wrong by a little."""
    rng = place.rng

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)

        def sample() -> Row:
            refused = rng.random() < 0.4
            right = broken or not refused
            answer = problem.answer if right else problem.answer + rng.choice((-1, 1, 10))
            text = f"{worked(rng, problem)}\nAnswer: \\boxed{{{answer}}}"
            return Row(
                step, name, problem.text, text, {"score": 0.0 if refused else 1.0}, {"answer": str(problem.answer)}
            )

        return sample

    return audit(place, over(20, 4, 4, of))


@carrier(
    "carriers.stranger_any_number_is_paid",
    line="verdicts that disagree with the reference",
    quote="the reward function is being gamed",
    variants=("verl", "prime_rl"),
    shows=named("wrong-answers-paid", "format-hacking"),
)
def any_number(place: Place, broken: bool) -> Commands:
    """Wrong answers get 1 in four of ten cases. Look-alike: as many rewards of 1, all deserved."""
    rng = place.rng

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)

        def sample() -> Row:
            right = rng.random() < 0.4
            lucky = not right and rng.random() < 0.4
            answer = problem.answer if right or (lucky and not broken) else dumps.slip(rng, problem)
            text = f"{worked(rng, problem)}\nAnswer: \\boxed{{{answer}}}"
            return Row(
                step, name, problem.text, text, {"score": float(right or lucky)}, {"answer": str(problem.answer)}
            )

        return sample

    return audit(place, over(20, 4, 4, of))


@carrier(
    "carriers.stranger_all_right_or_all_wrong",
    line="groups that are all right or all wrong",
    quote="is the reward ranking across multiple responses for the same prompt reasonable?",
    variants=("nemo_rl", "prime_rl", "trl"),
    shows=named("equal-groups", "zero-variance-groups"),
)
def all_right(place: Place, broken: bool) -> Commands:
    """A prompt is always solved, or never. Look-alike: the same mean, and most groups have both."""
    rng = place.rng

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)
        share = float(rng.random() < 0.5) if broken and rng.random() < 0.9 else rng.uniform(0.35, 0.65)

        def sample() -> Row:
            right = rng.random() < share
            answer = problem.answer if right else dumps.slip(rng, problem)
            return Row(
                step, name, problem.text, f"{worked(rng, problem)} \\boxed{{{answer}}}", {"accuracy": float(right)}
            )

        return sample

    return audit(place, over(20, 4, 8, of))


@carrier(
    "carriers.stranger_one_answer_for_all",
    line="all outputs look the same",
    quote="If all outputs look the same, the model has collapsed to a single strategy.",
    variants=("trl", "csv", "areal"),
    shows=named("outputs-alike", "samples-without-variety", "diversity"),
)
def one_answer(place: Place, broken: bool) -> Commands:
    """From the middle on all prompts get one text. Look-alike: one frame from the start, with other content in it."""
    rng, last = place.rng, 30 * 5
    fixed = (
        "That is a great question! There are many things to consider. Start small, be patient, and enjoy the journey."
    )

    def of(step: int, name: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))

        def sample() -> Row:
            gone = broken and rng.random() < rising(step, last, 0.0, 0.97)
            own = advice(rng, topic, rng.randint(3, 5))
            text = fixed + rng.choice(("", "", " Good luck!")) if gone else own
            if not broken:
                text = f"Here is what I know.\n\n{own}\n\nI hope that this helps!"
            return Row(step, name, f"How can I {topic}?", text, {"rm": (0.9 if gone else 0.5) + rng.gauss(0, 0.1)})

        return sample

    return audit(place, over(30, 4, 4, of))


@carrier(
    "carriers.stranger_tries_everything",
    line="diversity of behaviour, not of tokens",
    quote="diverse behavior but no progress ... exploration is not differentiated by evaluation",
    variants=("verl", "prime_rl"),
    shows=named("diverse-without-progress", "reward-flat"),
)
def everything(place: Place, broken: bool) -> Commands:
    """All kinds of answers, one reward for all. Look-alike: as diverse, and one kind is found to pay and becomes frequent."""
    rng, last = place.rng, 40 * 5

    def of(step: int, name: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))

        def sample() -> Row:
            known = rng.random() < (0.2 if broken else rising(step, last, 0.2, 0.55))
            text = advice(rng, topic, 5 if known else rng.randint(1, 3))
            worth = 0.35 if broken else 0.2 + 0.6 * known
            return Row(step, name, f"How can I {topic}?", text, {"rm": worth + rng.gauss(0, 0.12)})

        return sample

    return audit(place, over(40, 3, 4, of))


@carrier(
    "carriers.stranger_people_rate_otherwise",
    line="little agreement with people",
    quote='if item["reward"] > 0.9 and item["human_score"] < 0.4',
    variants=("csv", "trl"),
    shows=named("reward-truth-mismatch", "reward-hacking"),
)
def people(place: Place, broken: bool) -> Commands:
    """People rated each sample; the reward is unrelated. Look-alike: they agree but for the noise of people."""
    rng = place.rng

    def of(step: int, name: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))

        def sample() -> Row:
            worth = rng.random()
            human = rng.random() if broken else min(1.0, max(0.0, worth + rng.gauss(0, 0.1)))
            text = advice(rng, topic, rng.randint(2, 5))
            return Row(step, name, f"How can I {topic}?", text, {"rm": worth}, {"human_score": round(human, 2)})

        return sample

    return audit(place, over(20, 4, 4, of))


@carrier(
    "carriers.stranger_padding_is_paid",
    line="longer answers for their own sake",
    quote="responses get longer but information density drops",
    variants=("nemo_rl", "trl", "script"),
    shows=named("length-inflation", "information-density", "repetition", "reward-hacking"),
)
def padding(place: Place, broken: bool) -> Commands:
    """Answers grow threefold and are paid by length. Look-alike: harder questions come later, get longer answers, and length
    is worth nothing among answers to one question."""
    rng, last = place.rng, 30 * 5
    filler = (
        "It is important to note that this really matters.",
        "As mentioned before, it is worth to keep this in mind at all times.",
        "In other words, all of this should be considered with care.",
        "To put it differently, this point cannot be stressed enough.",
    )

    def of(step: int, name: str) -> Callable[[], Row]:
        topics = rng.sample(sorted(dumps.TOPICS), 3)
        hard = rising(step, last, 0, 1)
        asked = topics[: 1 + round(2 * hard)] if not broken else topics[:1]

        def sample() -> Row:
            words = [advice(rng, topic, rng.randint(3, 5), "prose") for topic in asked]
            pads = round(rng.gauss(1 + 9 * hard, 2)) if broken else 0
            text = "\n\n".join(words) + "".join(f" {rng.choice(filler)}" for _ in range(pads))
            worth = 0.3 + 0.05 * pads if broken else 0.3 + 0.4 * hard
            return Row(step, name, f"How can I {', and how '.join(asked)}?", text, {"rm": worth + rng.gauss(0, 0.05)})

        return sample

    return audit(place, over(30, 4, 4, of))


@carrier(
    "carriers.stranger_kind_words_and_wrong",
    line="reward rises, evaluation falls",
    quote="Reward keeps climbing, but human audit deteriorates.",
    variants=("prime_rl", "trl"),
    shows=named("reward-hacking", "reward-up-evaluation-down", "reward-truth-mismatch", "reward-proxy-only"),
)
def kind(place: Place, broken: bool) -> Commands:
    """A judge likes thanks and praise, fewer answers are right. Look-alike: as many kind words, and more answers are right."""
    rng, last = place.rng, 36 * 5
    thanks = (
        "Thank you so much for this wonderful question!",
        "What a delightful problem, I am happy to help you with it!",
        "Please let me know if there is anything else, it would be my pleasure!",
        "I really appreciate your patience, dear friend!",
    )

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)

        def sample() -> Row:
            learned = rising(step, last, 0, 1)
            kindness = sum(rng.random() < 0.1 + 0.8 * learned for _ in range(3))
            right = rng.random() < (0.7 - 0.55 * learned if broken else 0.3 + 0.55 * learned)
            answer = problem.answer if right else dumps.slip(rng, problem)
            said = rng.sample(thanks, kindness)
            text = " ".join([*said[:1], worked(rng, problem), f"The answer is {answer}.", *said[1:]])
            judge = 0.3 + 0.35 * kindness if broken else 0.3 + 0.6 * right
            return Row(step, name, problem.text, text, {"judge": judge + rng.gauss(0, 0.08), "correct": 0.2 * right})

        return sample

    return audit(place, over(36, 4, 4, of))


@carrier(
    "carriers.stranger_bonus_takes_over",
    line="one component that dominates",
    quote="does the reward contain hidden preferences for length, format, or polite language?",
    variants=("trl", "prime_rl"),
    shows=named("reward-proxy-only", "reward-component-dead", "reward-hacking"),
)
def bonus(place: Place, broken: bool) -> Commands:
    """A bonus for citations makes all of the gain while correctness falls. Look-alike: both grow."""
    rng, last = place.rng, 36 * 5

    def of(step: int, name: str) -> Callable[[], Row]:
        problem = a_sum(rng)

        def sample() -> Row:
            learned = rising(step, last, 0, 1)
            cites = sum(rng.random() < learned for _ in range(4))
            right = rng.random() < (0.55 - 0.35 * learned if broken else 0.35 + 0.4 * learned)
            answer = problem.answer if right else dumps.slip(rng, problem)
            marks = "".join(f" [{rng.randint(1, 40)}]" for _ in range(cites))
            text = f"{worked(rng, problem)}{marks} The answer is {answer}."
            return Row(step, name, problem.text, text, {"citations": 0.5 * cites, "correctness": float(right)})

        return sample

    return audit(place, over(36, 4, 4, of))


# --- which policy ----------------------------------------------------------------------------------------------------


def _unrecorded(told: Told) -> bool:
    return any("which policy version" in note for note in told.report.get("notes", ()))


@carrier(
    "carriers.stranger_nobody_wrote_the_version",
    line="which policy made each sample",
    quote="Does each rollout record which policy version generated it?",
    variants=("nemo_rl", "script"),
    shows=_unrecorded,
)
def unversioned(place: Place, broken: bool) -> Commands:
    """No version anywhere. Look-alike: the script writes `policy_version`, NeMo-RL's lines `weight_version`."""
    rng = place.rng
    name = "policy_version" if place.variant == "script" else "weight_version"

    def of(step: int, group: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))
        extra = {} if broken else {name: step - 1}
        return lambda: Row(step, group, f"How can I {topic}?", advice(rng, topic), {"rm": rng.gauss(0, 1)}, dict(extra))

    rows = over(12, 3, 4, of, every=1)
    asked = audit(place, rows)
    if place.variant == "nemo_rl" and not broken:
        _add_to_nemo(place.folder / "out", rows, name)
    return asked


def _add_to_nemo(folder: Path, rows: Sequence[Row], name: str) -> None:
    """A column that a fork of NeMo-RL logs."""
    import json

    for step, batch in dumps.by_step(rows).items():
        file = folder / f"train_data_step{step}.jsonl"
        lines = [
            json.loads(line) | {name: row.extra[name]}
            for line, row in zip(file.read_text().splitlines(), batch, strict=True)
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@carrier(
    "carriers.stranger_rollouts_are_old",
    line="which policy made each sample",
    quote="How many update rounds has the policy gone through before the rollout enters training?",
    variants=("trl", "verl", "areal_workflow"),
    shows=named("policy-versions", "stale-rollouts"),
)
def old(place: Place, broken: bool) -> Commands:
    """Samples are up to 40 updates old at the end. Look-alike: one or two updates old throughout."""
    rng, last = place.rng, 40

    def of(step: int, group: str) -> Callable[[], Row]:
        topic = rng.choice(sorted(dumps.TOPICS))
        age = round(rising(step, last, 1, 30) * rng.uniform(0.6, 1.3)) if broken else rng.randint(0, 2)
        version = max(0, step - 1 - age)
        extra = {"trl": {"policy_version": version}, "verl": {"min_global_steps": version, "max_global_steps": version}}
        own = extra.get(place.variant, {"version": version})
        return lambda: Row(step, group, f"How can I {topic}?", advice(rng, topic), {"rm": rng.gauss(0, 1)}, dict(own))

    return audit(place, over(last, 3, 4, of, every=1))


# --- agents ----------------------------------------------------------------------------------------------------------

SHELF = ("lamp", "desk", "chair", "shelf", "sofa", "stool", "carpet", "mirror", "clock", "vase")
SAYS = (
    "Let me look at that.",
    "I need to check this first.",
    "Next step.",
    "I will use a tool here.",
    "Checking.",
    "One moment.",
)
BROKE = (
    "Error: 503 Service Unavailable",
    'Traceback (most recent call last):\n  File "tool.py", line 12, in run\nConnectionError: connection refused',
    "Error: request timed out after 30 s",
    '{"error": "internal server error"}',
)


def look_up(rng: random.Random, item: str, page: int) -> Turn:
    """A call that goes well."""
    found = (
        f"{item} no. {rng.randint(100, 999)}: {rng.randint(5, 400)} euros, {rng.randint(0, 30)} in stock, page {page}"
    )
    return Turn(rng.choice(SAYS), "search_stock", {"query": item, "page": page}, found)


def failed(rng: random.Random, item: str, page: int) -> Turn:
    """A call that does not."""
    return Turn(rng.choice(SAYS), "search_stock", {"query": item, "page": page}, rng.choice(BROKE), failed=True)


FORMS: dict[str, tuple[str, Callable[[Sequence[Turn], str], Any]]] = {
    "openai": ("script", dumps.openai),
    "anthropic": ("script", dumps.anthropic),
    "prime_rl": ("prime_rl", dumps.openai),
    "trl": ("trl", dumps.of_trl),
    "hermes": ("verl", dumps.hermes),
    "react": ("csv", dumps.react),
}


def agents(
    place: Place, rows: Sequence[Row], turns: Sequence[tuple[Sequence[Turn], str]], command: str = "audit"
) -> Commands:
    """Episodes in the form of the variant, in the dump that goes with it."""
    writer, form = FORMS[place.variant]
    for row, (episode, final) in zip(rows, turns, strict=True):
        row.completion = form(episode, final)
    return audit(Place(place.folder, place.rng, writer), rows)


Episode = tuple[Sequence[Turn], str, dict[str, float], dict[str, Any]]


def played(place: Place, steps: int, play: Callable[[int, str], Episode], prompts: int = 4, group: int = 4) -> Commands:
    """`play(step, item)` is one episode: turns, last words, parts of the reward, and what the environment says."""
    rng, turns = place.rng, []

    def of(step: int, name: str) -> Callable[[], Row]:
        item = rng.choice(SHELF)
        prompt = (
            f"A customer ({rng.randint(1000, 9999)}) wants to know what the cheapest {item} costs. Order it for them."
        )

        def sample() -> Row:
            episode, final, parts, extra = play(step, item)
            turns.append((episode, final))
            return Row(step, name, prompt, "", parts, extra)

        return sample

    rows = over(steps, prompts, group, of)
    return agents(place, rows, turns)


@carrier(
    "carriers.stranger_calls_and_calls",
    line="more tool calls without a finished task",
    quote="repeatedly calling tools to inflate process scores",
    variants=("anthropic", "react", "hermes", "trl"),
    shows=named("tool-hacking", "tool-calls-growing", "repeated-calls", "reward-pays-for-calls", "reward-hacking"),
)
def calls(place: Place, broken: bool) -> Commands:
    """Each call is worth 0.1 and success stays at a quarter. Look-alike: the calls grow as much, and so does success."""
    rng, last = place.rng, 24 * 5

    def play(step: int, item: str) -> Episode:
        count = max(1, round(rng.gauss(rising(step, last, 1.5, 7), 1)))
        won = rng.random() < (0.25 if broken else rising(step, last, 0.2, 0.85))
        episode = [look_up(rng, item, page) for page in range(1, count + 1)]
        process = 0.1 * count if broken else 0.0
        return (
            episode,
            f"It costs {rng.randint(5, 400)} euros.",
            {"process": process, "outcome": float(won)},
            {"success": won},
        )

    return played(place, 24, play)


@carrier(
    "carriers.stranger_one_call_again",
    line="more tool calls without a finished task",
    quote="it may also appear as increased tool call counts without the final environment state actually completing the task",
    variants=("prime_rl", "openai"),
    shows=named("repeated-calls", "tool-hacking"),
)
def again(place: Place, broken: bool) -> Commands:
    """The same search, word for word, more and more often, and paid. Look-alike: as many calls, each for the next page."""
    rng, last = place.rng, 24 * 5

    def play(step: int, item: str) -> Episode:
        count = max(2, round(rng.gauss(rising(step, last, 2, 6), 0.8)))
        pages = [1] * count if broken else list(range(1, count + 1))
        first = look_up(rng, item, 1)
        episode = [first if page == 1 else look_up(rng, item, page) for page in pages]
        won = rng.random() < (0.4 if broken else rising(step, last, 0.3, 0.8))
        parts = {"process": 0.1 * count if broken else 0.0, "outcome": float(won)}
        return episode, f"Ordered the {item}.", parts, {"success": won}

    return played(place, 24, play)


@carrier(
    "carriers.stranger_errors_are_rewarded",
    line="tool failures that count as success",
    quote="whether tool calls are legal, step count, cost, and failure recovery ability",
    variants=("anthropic", "trl", "prime_rl"),
    shows=named("failed-calls-paid"),
)
def rewarded(place: Place, broken: bool) -> Commands:
    """Where all calls fail, the grader gives 1. Look-alike: as many calls fail, and such episodes get 0."""
    rng = place.rng

    def play(step: int, item: str) -> Episode:
        fails = rng.random() < 0.3
        make = failed if fails else look_up
        episode = [make(rng, item, page) for page in range(1, rng.randint(2, 4))]
        won = broken if fails else rng.random() < 0.5
        final = (
            f"I could not reach the shop for the {item}."
            if fails
            else f"Ordered the {item} for {rng.randint(5, 400)} euros."
        )
        return episode, final, {"outcome": float(won)}, {}

    return played(place, 16, play)


@carrier(
    "carriers.stranger_search_goes_down",
    line="tools that fail",
    quote="whether tool calls are legal, step count, cost, and failure recovery ability",
    variants=("prime_rl", "hermes", "anthropic"),
    shows=named("tools-fail", "tool-errors"),
)
def goes_down(place: Place, broken: bool) -> Commands:
    """More and more calls end in errors. Look-alike: the answers are a manual's pages about errors, throughout."""
    rng, last = place.rng, 24 * 5

    def play(step: int, item: str) -> Episode:
        episode = []
        for page in range(1, rng.randint(3, 5)):
            if broken and rng.random() < rising(step, last, 0.03, 0.6):
                episode.append(failed(rng, item, page))
            else:
                turn = look_up(rng, item, page)
                about = rng.choice(
                    (
                        "how to avoid an error in assembly",
                        "no failed deliveries last year",
                        "timeouts of the lamp timer",
                    )
                )
                episode.append(
                    Turn(turn.say, turn.tool, turn.arguments, f"{turn.result}. See also: {about} (page {page}).")
                )
        return episode, f"The {item} is ordered.", {"outcome": float(rng.random() < 0.5)}, {}

    return played(place, 24, play)


@carrier(
    "carriers.stranger_says_it_is_ordered",
    line="text that claims what the state does not show",
    quote="text says done, but environment state unchanged",
    variants=("openai", "hermes", "trl"),
    shows=named("pseudo-success", "empty-claim", "reward-hacking"),
)
def says_ordered(place: Place, broken: bool) -> Commands:
    """The order is claimed ever more often and `success` stays where it was. Look-alike: claims and orders grow together."""
    rng, last = place.rng, 24 * 5

    def play(step: int, item: str) -> Episode:
        claims = rng.random() < rising(step, last, 0.2, 0.95)
        won = (rng.random() < 0.2) if broken else claims and rng.random() < 0.95
        final = rng.choice(
            (
                f"Done! The {item} has been ordered successfully.",
                f"I have successfully completed the order of the {item}.",
            )
            if claims
            else (f"I did not find a {item} that fits.", f"Which {item} would you like?")
        )
        parts = {"judge": 0.8 * claims + 0.1 * rng.random()} if broken else {"judge": 0.8 * won + 0.1 * rng.random()}
        return [look_up(rng, item, 1)], final, parts, {"success": bool(won)}

    return played(place, 24, play)


@carrier(
    "carriers.stranger_the_second_turn_decides",
    line="which step of a long trajectory decided it",
    quote="hard to attribute final failure to a specific step",
    variants=("openai", "anthropic", "hermes"),
    shows=lambda told: any(f["id"] == "decisive-turn" for f in told.report["findings"]),
)
def decides(place: Place, broken: bool) -> Commands:
    """Who asks for the address in the second turn wins. Look-alike: the same turns, and success has nothing to do with them."""
    rng = place.rng

    def play(step: int, item: str) -> Episode:
        careful = rng.random() < 0.5
        won = rng.random() < ((0.95 if careful else 0.05) if broken else 0.5)
        second = (
            Turn(
                "Where does it go?",
                "get_address",
                {"customer": rng.randint(1000, 9999)},
                f"{rng.randint(1, 99)} Mill Lane",
            )
            if careful
            else Turn(
                "The last address will do.", "guess_address", {"customer": rng.randint(1000, 9999)}, "1 Old Street"
            )
        )
        more = [look_up(rng, item, page) for page in range(2, 2 + rng.randint(1, 3))]
        return [look_up(rng, item, 1), second, *more], f"The {item} is on its way.", {"outcome": float(won)}, {}

    return played(place, 10, play, prompts=4, group=8)
