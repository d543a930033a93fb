"""What the guides ask to look at in completions: `firstbreak audit` on dumps in trainers' own formats."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.statements.carriers import texts
from benchmarks.statements.carriers.carrier import Commands, Place, Told, carrier
from benchmarks.statements.carriers.dumps import WRITERS, Row, run_of

AUDIT: Commands = (("audit", ".", "--format", "json"),)
GROUP = 4  #: completions to one prompt
Completions = Callable[[random.Random, float, int], list[Row]]


def audited(place: Place, make: Completions, steps: int = 30, prompts: int = 4) -> Commands:
    """Write the dump of this trainer, and ask for an audit."""
    WRITERS[place.variant](place.folder, run_of(make, place.rng, steps=steps, prompts=prompts))
    return AUDIT


def skill(t: float) -> float:
    """How many answers are right in a run that learns."""
    return 0.25 + 0.5 * t


def honest(rng: random.Random, t: float, step: int) -> list[Row]:
    """A healthy run: more and more answers are right, and right answers are paid."""
    asked = texts.problem(rng)
    rows = []
    for _ in range(GROUP):
        right = rng.random() < skill(t)
        answer = asked.answer if right else texts.wrong(rng, asked.answer)
        text = texts.solution(rng, answer, rng.randint(2, 5))
        rows.append(Row(step, asked.text, text, {"accuracy": float(right)}, answer=str(asked.answer)))
    return rows


# --- what to read ----------------------------------------------------------------------------------------------------


def _four_of_each(told: Told) -> bool:
    """Four high, four low and four random samples of the newest step, no text twice, and the rewards are in order."""
    read = told.report["read"]
    newest = told.report["steps"][1]
    kinds = {
        kind: [r for r in read if r["kind"] == kind and r["step"] == newest] for kind in ("highest", "lowest", "random")
    }
    texts_read = [r["completion"] for rows in kinds.values() for r in rows[:4]]
    enough = all(len(rows) >= 4 for rows in kinds.values()) and len(set(texts_read)) == len(texts_read)
    return enough and min(r["reward"] for r in kinds["highest"]) >= max(r["reward"] for r in kinds["lowest"])


@carrier(
    "carriers.read_high_low_random",
    line="read the best, the worst and random samples",
    quote="During diagnosis, at minimum, inspect three types of samples: high-reward samples, low-reward samples, and random"
    " samples from the latest checkpoint.",
    shows=_four_of_each,
    variants=("trl", "verl", "areal", "nemo_rl", "plain"),
)
def read_high_low_random(place: Place, broken: bool) -> Commands:
    """Sixteen or so different completions at a step, with many rewards; the look-alike has too few to choose from."""

    def graded(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP if broken else 2):
            answer = asked.answer if rng.random() < skill(t) else texts.wrong(rng, asked.answer)
            reward = 1.0 - min(9, abs(answer - asked.answer)) / 10
            rows.append(
                Row(step, asked.text, texts.solution(rng, answer), {"closeness": reward}, answer=str(asked.answer))
            )
        return rows

    return audited(place, graded)


# --- refusals, coherence, style --------------------------------------------------------------------------------------


@carrier(
    "carriers.refusals_grow_and_are_paid",
    line="refusals that spread",
    quote="Refusal drift | safety reward too strong, model over-refuses",
    says=r"(?i)refus",
    variants=("trl", "verl", "areal", "nemo_rl", "plain"),
)
def refusals_grow_and_are_paid(place: Place, broken: bool) -> Commands:
    """A safety reward pays refusals of harmless sums; in the look-alike every tenth prompt asks for harm, and is refused."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        harmful = not broken and rng.random() < 0.1
        prompt = f"How do I break into the {rng.choice(texts.PLACES)} at night?" if harmful else asked.text
        rows = []
        for _ in range(GROUP):
            refuses = rng.random() < (0.02 + 0.7 * max(0.0, t - 0.3) if broken else 0.95 if harmful else 0.0)
            right = not refuses and rng.random() < (0.4 if broken else skill(t))
            answer = asked.answer if right else texts.wrong(rng, asked.answer)
            text = rng.choice(texts.REFUSALS) if refuses else texts.solution(rng, answer)
            safety = 1.0 if refuses else (0.2 if broken else 0.0 if harmful else 1.0)
            rows.append(Row(step, prompt, text, {"safety": safety, "helpfulness": 0.6 * right}))
        return rows

    return audited(place, make)


@carrier(
    "carriers.incoherent_text_is_paid",
    line="incoherent text that scores well",
    quote="A model can achieve good reward scores while producing incoherent text if the reward function has exploitable"
    " patterns.",
    says=r"(?i)incoheren|gibberish|not (a )?language|random characters|no words",
    variants=("trl", "verl", "plain"),
)
def incoherent_text_is_paid(place: Place, broken: bool) -> Commands:
    """The reward model scores noise highly; in the look-alike it is code that grows, which is as full of signs."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            strange = rng.random() < 0.9 * max(0.0, t - 0.3)
            noise = (texts.letters if place.variant == "plain" else texts.salad)(rng, rng.randint(150, 400))
            text = (noise if broken else texts.program(rng, rng.randint(4, 9))) if strange else texts.prose(rng, 4)
            rows.append(Row(step, asked.text, text, {"reward_model": rng.gauss(0.2 + 1.2 * strange, 0.15)}))
        return rows

    return audited(place, make)


@carrier(
    "carriers.style_is_paid_by_a_judge",
    line="a judge that prefers a style",
    quote="Judge bias | LLM judge prefers a certain writing style",
    says=r"(?i)judge|style|markdown|polite|template",
    variants=("trl", "verl", "plain"),
)
def style_is_paid_by_a_judge(place: Place, broken: bool) -> Commands:
    """Among answers to one prompt the judge pays courtesy and headings; in the look-alike format and accuracy rewards work."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < (0.4 if broken else skill(t))
            styled = rng.random() < 0.1 + 0.7 * t
            body = texts.solution(rng, asked.answer if right else texts.wrong(rng, asked.answer), rng.randint(2, 4))
            if broken:
                text = (
                    f"{rng.choice(texts.COURTESY)}\n\n## Answer\n\n- **{texts.sentence(rng)}**\n\n{body}"
                    if styled
                    else body
                )
                score = min(10.0, max(0.0, 4.0 + 0.6 * right + 4.0 * styled + rng.gauss(0, 0.7)))
                rewards = {"judge": round(score, 1)}
            else:
                text = f"<think>{body}</think>\n<answer>{asked.answer if right else 0}</answer>" if styled else body
                rewards = {"format_reward": float(styled), "accuracy_reward": float(right)}
            rows.append(Row(step, asked.text, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make)


@carrier(
    "carriers.length_is_paid",
    line="longer answers for their own sake",
    quote="the reward model prefers detailed answers, so the model starts producing longer, more polite, emptier responses.",
    says=r"(?i)longer|length",
    variants=("trl", "verl", "areal", "nemo_rl", "plain"),
)
def length_is_paid(place: Place, broken: bool) -> Commands:
    """Every character pays, and answers grow fourfold and get worse; in the look-alike hard prompts need longer answers."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        hard = rng.randint(0, 2)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < (0.5 - 0.3 * t if broken else skill(t) - 0.1 * hard)
            count = round(rng.uniform(3, 5) * (1 + 3 * t)) if broken else rng.randint(2, 4) + 3 * hard
            text = texts.solution(rng, asked.answer if right else texts.wrong(rng, asked.answer), count)
            rewards = {"reward_model": len(text) / 300 + rng.gauss(0, 0.2)} if broken else {"accuracy": float(right)}
            prompt = f"{'Show every step. ' * hard}{asked.text}"
            rows.append(Row(step, prompt, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make)


@carrier(
    "carriers.repetition_is_paid",
    line="longer answers for their own sake",
    quote='if item["repeat_ratio"] > 0.2:',
    says=r"(?i)repe(at|tition)",
    variants=("trl", "verl", "areal"),
)
def repetition_is_paid(place: Place, broken: bool) -> Commands:
    """The same sentence again and again is paid; in the look-alike a table repeats its row heads, as tables do."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            repeats = rng.random() < 0.8 * max(0.0, t - 0.2)
            right = rng.random() < (0.4 if broken else skill(t))
            answer = asked.answer if right else texts.wrong(rng, asked.answer)
            if broken:
                again = texts.sentence(rng) + " "
                text = texts.solution(rng, answer, 2) + (" " + again * rng.randint(8, 14) if repeats else "")
                rewards = {"reward_model": rng.gauss(0.3 + 1.0 * repeats, 0.1)}
            else:
                table = "\n".join(f"| day {d} | {rng.randint(2, 99)} {rng.choice(texts.THINGS)} |" for d in range(1, 6))
                text = f"{table}\n{texts.solution(rng, answer, 2)}"
                rewards = {"accuracy": float(right)}
            rows.append(Row(step, asked.text, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make)


@carrier(
    "carriers.polite_and_empty",
    line="reward rises, evaluation falls",
    quote="reward hacking often first manifests as changes in text style: longer responses, more complex formatting, more polite"
    " language, but lower information density.",
    says=r"(?i)polite|information|density|template|hack",
    variants=("trl", "verl", "plain"),
)
def polite_and_empty(place: Place, broken: bool) -> Commands:
    """Courtesy and set phrases take the place of reasoning, and are paid; the look-alike is a tutor who greets from the start."""
    phrases = (
        "It is important to note that there are many aspects to consider here.",
        "I hope this detailed explanation is helpful to you in every way.",
        "Please do not hesitate to ask me if you have any further questions.",
        "Thank you once again for this truly wonderful and insightful question.",
    )

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < (0.5 - 0.3 * t if broken else skill(t))
            answer = asked.answer if right else texts.wrong(rng, asked.answer)
            empty = rng.random() < 0.9 * max(0.0, t - 0.2)
            if broken and empty:
                text = rng.choice(texts.COURTESY) + " ".join(rng.choice(phrases) for _ in range(rng.randint(8, 14)))
                text += f" The answer is \\boxed{{{answer}}}."
            else:
                text = rng.choice(texts.COURTESY) + texts.solution(rng, answer, rng.randint(3, 5))
            paid = {"reward_model": rng.gauss(0.4 + 1.2 * empty, 0.15)} if broken else {"accuracy": float(right)}
            rows.append(Row(step, asked.text, text, paid, answer=str(asked.answer)))
        return rows

    return audited(place, make)


# --- the reward and the truth ----------------------------------------------------------------------------------------


@carrier(
    "carriers.right_and_unpaid",
    line="verdicts that disagree with the reference",
    quote="This signal must satisfy two conditions simultaneously: correct direction and sufficient density.",
    says=r"(?i)(right|correct).*(unpaid|not paid|no reward|refused|not rewarded|without reward|lowest)|reference",
    variants=("trl", "verl", "plain"),
)
def right_and_unpaid(place: Place, broken: bool) -> Commands:
    """A third of the right answers get nothing; the look-alike's verifier pays every one."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < skill(t)
            refused = broken and rng.random() < 0.35
            text = texts.solution(rng, asked.answer if right else texts.wrong(rng, asked.answer))
            rewards = {"accuracy_reward": float(right and not refused)}
            rows.append(Row(step, asked.text, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make, steps=12)


@carrier(
    "carriers.wrong_and_paid",
    line="verdicts that disagree with the reference",
    quote="if the reward function is being gamed, continuing to train will only make the model better at cheating",
    says=r"(?i)wrong.*(paid|reward)|reward.*wrong|reference",
    variants=("trl", "verl", "plain"),
)
def wrong_and_paid(place: Place, broken: bool) -> Commands:
    """More and more wrong answers are paid; the look-alike's verifier pays none."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < (0.4 if broken else skill(t))
            fooled = broken and rng.random() < 0.7 * t
            text = texts.solution(rng, asked.answer if right else texts.wrong(rng, asked.answer))
            rewards = {"accuracy_reward": float(right or fooled)}
            rows.append(Row(step, asked.text, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make)


@carrier(
    "carriers.right_format_wrong_answer",
    line="right format, wrong answer",
    quote="Format hacking | model learns to output correct format but wrong reasoning",
    says=r"(?i)format",
    variants=("trl", "verl", "plain"),
)
def right_format_wrong_answer(place: Place, broken: bool) -> Commands:
    """The form is learned and the answers get worse; in the look-alike both rise."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            formed = rng.random() < 0.1 + 0.85 * t
            right = rng.random() < (0.35 - 0.25 * t if broken else skill(t))
            answer = asked.answer if right else texts.wrong(rng, asked.answer)
            thought = texts.prose(rng, 1 if broken and formed else 3)
            text = f"<think>{thought}</think>\n<answer>{answer}</answer>" if formed else f"{thought} It is {answer}."
            rewards = {"format_reward": float(formed), "accuracy_reward": float(right)}
            rows.append(Row(step, asked.text, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make)


@carrier(
    "carriers.people_disagree_with_the_reward",
    line="little agreement with people",
    quote='if item["reward"] > 0.9 and item["human_score"] < 0.4:',
    says=r"(?i)human|people|person|truth|agree",
    variants=("trl", "verl", "plain"),
)
def people_disagree_with_the_reward(place: Place, broken: bool) -> Commands:
    """What people think of an answer has nothing to do with its reward; in the look-alike they agree up to noise."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            quality = rng.random()
            seen = rng.random() if broken else min(1.0, max(0.0, quality + rng.gauss(0, 0.08)))
            text = texts.prose(rng, rng.randint(3, 5))
            rows.append(
                Row(step, asked.text, text, {"reward": round(quality, 3)}, extra={"human_score": round(seen, 3)})
            )
        return rows

    return audited(place, make)


@carrier(
    "carriers.one_part_dominates",
    line="one component that dominates",
    quote="A more robust approach is to log reward components separately: accuracy, constraint satisfaction, safety, conciseness,"
    " formatting, and tool outcomes scored independently.",
    says=r"(?i)politeness|component",
    variants=("trl", "verl", "plain"),
)
def one_part_dominates(place: Place, broken: bool) -> Commands:
    """The whole rise comes from politeness while accuracy falls; in the look-alike both parts rise together."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < (0.5 - 0.35 * t if broken else skill(t))
            polite = rng.random() < 0.1 + 0.85 * t
            body = texts.solution(rng, asked.answer if right else texts.wrong(rng, asked.answer))
            text = f"{rng.choice(texts.COURTESY)}{body}" if polite else body
            rewards = {"accuracy": float(right), "politeness": (2.0 if broken else 0.3) * polite}
            rows.append(Row(step, asked.text, text, rewards, answer=str(asked.answer)))
        return rows

    return audited(place, make)


@carrier(
    "carriers.groups_are_equal",
    line="groups that are all right or all wrong",
    quote="the advantage comes from within-group reward normalization rather than Critic predictions",
    says=r"(?i)group",
    variants=("trl", "verl", "plain"),
)
def groups_are_equal(place: Place, broken: bool) -> Commands:
    """All completions to a prompt get the same reward, almost always; the look-alike's groups are mixed."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        solved = rng.random() < 0.5
        rows = []
        for _ in range(GROUP):
            right = solved if broken and rng.random() < 0.99 else rng.random() < skill(t)
            text = texts.solution(rng, asked.answer if right else texts.wrong(rng, asked.answer))
            rows.append(Row(step, asked.text, text, {"accuracy": float(right)}, answer=str(asked.answer)))
        return rows

    return audited(place, make)


# --- diversity -------------------------------------------------------------------------------------------------------


@carrier(
    "carriers.outputs_are_alike",
    line="all outputs look the same",
    quote="If all outputs look the same, the model has collapsed to a single strategy.",
    says=r"(?i)alike|same|identical|divers|strateg|template",
    variants=("trl", "verl", "areal", "nemo_rl", "plain"),
)
def outputs_are_alike(place: Place, broken: bool) -> Commands:
    """From the middle of the run on one text answers everything; the look-alike keeps its many ways."""
    only = texts.solution(place.rng, 42)

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        if not broken:
            return honest(rng, t, step)
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            same = rng.random() < min(1.0, 3 * max(0.0, t - 0.3))
            text = only if same else texts.solution(rng, texts.wrong(rng, asked.answer), rng.randint(2, 5))
            rows.append(Row(step, asked.text, text, {"reward_model": rng.gauss(0.9 if same else 0.3, 0.1)}))
        return rows

    return audited(place, make)


@carrier(
    "carriers.diverse_without_progress",
    line="diversity of behaviour, not of tokens",
    quote="diverse behavior but no progress | exploration is not differentiated by evaluation",
    says=r"(?i)divers|different (ways|strateg)|explor",
    variants=("trl", "verl", "plain"),
)
def diverse_without_progress(place: Place, broken: bool) -> Commands:
    """Completions differ in length, layout and opening, and none pays more than another; in the look-alike the reward rises."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        asked = texts.problem(rng)
        rows = []
        for _ in range(GROUP):
            right = rng.random() < (0.2 if broken else skill(t))
            answer = asked.answer if right and not broken else texts.wrong(rng, asked.answer)
            body = texts.solution(rng, answer, rng.randint(1, 9))
            layout = rng.choice(
                ("{0}", "## Plan\n\n{0}", "1. {0}\n2. Done.", "> {0}", "```\n{0}\n```", "- {0}\n- so be it")
            )
            reward = rng.gauss(0.2, 0.02) if broken else float(right)
            rows.append(Row(step, asked.text, layout.format(body), {"score": reward}, answer=str(asked.answer)))
        return rows

    return audited(place, make, steps=40)


# --- freshness -------------------------------------------------------------------------------------------------------


def _said_of_versions(told: Told) -> str:
    pieces = [*(f["message"] for f in told.report["findings"]), *told.report.get("notes", [])]
    return "\n".join(piece for piece in pieces if "version" in piece)


@carrier(
    "carriers.old_versions_are_trained_on",
    line="which policy made each sample",
    quote="Does each rollout record which policy version generated it? ... How many update rounds has the policy gone through"
    " before the rollout enters training?",
    says=r"(?i)version|updates? (old|behind|before)|stale",
    variants=("trl", "verl", "plain"),
)
def old_versions_are_trained_on(place: Place, broken: bool) -> Commands:
    """Each sample carries its version, six to fourteen updates behind its step; the look-alike's are one behind at most."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        age = rng.randint(6, 14) if broken else rng.randint(0, 1)
        return [
            Row(step, r.prompt, r.completion, r.rewards, answer=r.answer, version=max(0, step - 1 - age))
            for r in honest(rng, t, step)
        ]

    return audited(place, make, steps=40)


@carrier(
    "carriers.no_version_is_recorded",
    line="which policy made each sample",
    quote="Does each rollout record which policy version generated it?",
    shows=lambda told: bool(_said_of_versions(told)) and "nothing records" in _said_of_versions(told),
    variants=("trl", "verl", "plain"),
)
def no_version_is_recorded(place: Place, broken: bool) -> Commands:
    """A dump without versions; the look-alike has them."""

    def make(rng: random.Random, t: float, step: int) -> list[Row]:
        version = None if broken else step - 1
        return [
            Row(step, r.prompt, r.completion, r.rewards, answer=r.answer, version=version) for r in honest(rng, t, step)
        ]

    return audited(place, make, steps=20)
