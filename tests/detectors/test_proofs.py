"""What the recorder proves, most of it rows of knowledge/detectors/<link>/proofs.toml: for each, batches that prove it with
the words of the proof, and sound ones. What needs a real optimizer or environment is tested in a file of its own."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstbreak.knowledge.detectors.freshness import samples_of_other_weights
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.model import Confidence, Config, Finding, NotApplicable, Series, Severity
from tests.detectors import scored
from tests.detectors.look import found, silent
from tests.detectors.recorded import (
    ADVANTAGES,
    BATCH,
    GRADIENT,
    LENGTHS,
    MASK,
    PROMPTS,
    REWARDS,
    STEPS,
    drawn,
    estimated,
    recorded,
    recorded_steps,
    weights,
)
from tests.make import run

Batches = Mapping[str, Any] | Sequence[Mapping[str, Any]]

ASKING = {"read-in-two-ways", "reward-depends-on-call", "update-stopped-early"}  #: of which two readings are possible
DOUBT, SURE = (Severity.WARNING, Confidence.LOW), (Severity.CRITICAL, Confidence.HIGH)
MEASURED_IN_STEPS = {
    "advantages-spread-out", "update-stopped-early", "values-through-ends",
    "ratio-computed-wrongly", "targets-not-of-rewards", "values-led-astray",
}  # fmt: skip

# --- environment ------------------------------------------------------------------------------------------------------

FOUR = [prompt for prompt in "abcd" for _ in range(2)]
EIGHT = [prompt for prompt in "abcdefgh" for _ in range(2)]
ASKED = [f"What is {i} + 1? Answer:" for i in range(40)]
FEW = {"training_prompts": ["1 + 1?", "1 + 2?", "2 + 2?", "2 + 1?"] * 64}
WORDS = [f"{a}{b}{c}" for a in "abcd" for b in "abcd" for c in "ab"]
BACKWARDS = [word[::-1] for word in WORDS]
HAN = "".join(map(chr, range(0x4E00, 0x5600)))  #: of so many characters, most prompts have one that no other has


def drawn_again(prompts: list[str] = EIGHT, **more: Any) -> dict[str, Any]:
    return {"prompts": prompts, "group": 2, "training_prompts": [chr(97 + i) for i in range(26)], **more}


def pairs(chosen: float, rejected: float) -> dict[str, Any]:
    """Four pairs of three tokens with these log-probabilities, and a padded place."""
    logps = np.repeat([[chosen], [rejected]], 4, axis=0) * np.ones((8, 4))
    return {"pair_logps": logps, "pair_counted": np.array([[1.0, 1, 1, 0]] * 8)}


PAIRS = {"pair_ids": np.array([[1, 2], [1, 3], [1, 4], [1, 5]])}


def answered(prompts: list[str], answers: list[str], **more: Any) -> dict[str, Any]:
    return {"prompts": prompts, "references": answers, **more}


def symbols(training: str, evaluation: str, length: int = 5) -> dict[str, Any]:
    def prompts(symbols: str, n: int, seed: int) -> list[str]:
        draw = random.Random(seed)
        return [f"sort:{''.join(draw.choices(symbols, k=length))}=" for _ in range(n)]

    return {"training_prompts": prompts(training, 32, 0), "evaluation_prompts": prompts(evaluation, 64, 1)}


# --- reward -----------------------------------------------------------------------------------------------------------


def judged(judge: Callable[[str, str], float], texts: Sequence[str] = scored.TEXTS) -> dict[str, Any]:
    """A batch whose rewards a function of (text, right answer) gives."""
    return scored.batch(
        lambda _, texts, answers: [float(judge(*pair)) for pair in zip(texts, answers, strict=True)], texts
    )


def unread(text: str, answer: str) -> float:
    """A verifier that compares a text with a number."""
    return float(text == int(answer))  # type: ignore[comparison-overlap]


def late(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """The scores of the rows before."""
    scores = scored.right(prompts, texts, answers)
    return scores[-1:] + scores[:-1]


def cached() -> scored.Judge:
    """The score of a prompt's first completion for all of its completions."""
    known: dict[str, float] = {}

    def judge(prompts: Any, texts: Any, answers: Any) -> list[float]:
        for prompt, score in zip(prompts, scored.right(prompts, texts, answers), strict=True):
            known.setdefault(prompt, score)
        return [known[prompt] for prompt in prompts]

    return judge


DOWN = judged(lambda *_: 0.0)  #: a judge that does not answer: an exception that became 0
RIGHT = scored.batch(scored.right)
DICE = itertools.count()  #: another number in every call
FORMED = [f"<{answer}>" if i % 3 == 0 else "no idea" for i, answer in enumerate(scored.ANSWERS)]

SUMS: dict[str, Any] = {"prompts": [f"What is {k} + 2?" for k in range(8) for _ in range(4)], "group": 4}
EQUAL = SUMS | {"completions": ["4", "4", "4", "5"] * 8}
FOURS = np.array([1.0, 1, 1, 0] * 8)
PICTURES = {"prompts": ["How many?"] * 32, "completions": ["4"] * 32, "group": 4}

HALF = [str(k + (i % 2)) for k in range(8) for i in range(4)]  #: of each four, two are right
KNOWN = [str(k) for k in range(8) for _ in range(4)]
VERIFIED: dict[str, Any] = {"prompts": [f"What is {a}?" for a in KNOWN], "completions": HALF, "references": KNOWN}
IN_FORM = [f"<{answer}>" if i % 4 == 3 else HALF[i] for i, answer in enumerate(KNOWN)]
BY_FORM = VERIFIED | {"completions": IN_FORM, "rewards": np.array([float(text[0] == "<") for text in IN_FORM])}
VERIFIED |= {"rewards": np.array([float(text == answer) for text, answer in zip(HALF, KNOWN, strict=True)])}

ANSWERS = [str(i * 7 % 100) for i in range(48)]
ROWS = [i // 4 for i in range(192)]
QUESTIONS: dict[str, Any] = {"prompts": [f"Question {i}" for i in ROWS], "known": ANSWERS}
AGREED = QUESTIONS | {"completions": [f"The answer is {ANSWERS[i]}." for i in ROWS]}
GUESSED = QUESTIONS | {"completions": [ANSWERS[(5 * k + i) % 48] for k, i in enumerate(ROWS)], "rewards": [0.0] * 192}
YES = {"completions": ["yes"] * 192, "references": ["no"] * 192, "rewards": [0.0] * 192, "known": ["yes", "no"] * 15}


def asked(seed: int, *, shift: int = 0, knows: float = 0.5, constant: bool = False) -> dict[str, Any]:
    """A policy that gives the right digit with a chance of `knows`, graded against the digit of the prompt `shift` rows on."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 10, 16)
    said = np.where(rng.random((16, 4)) < knows, own[:, None], rng.integers(0, 10, (16, 4)))
    texts = [f"answer : {3 if constant else word}" for word in said.ravel()]
    answers = [str(digit) for digit in np.roll(own, -shift).repeat(4)]

    def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
        return np.array([float(other.get(i, texts[i])[-1:] == answers[i]) for i in rows])

    prompts = {"prompts": [f"{seed} {k}" for k in range(16) for _ in range(4)], "completions": texts, "group": 4}
    return prompts | {"references": answers, "rewards": score(range(64), {}), "score": score}


TILED = {"prompts": [prompt for prompt in "abc" for _ in range(3)], "references": list("ABC") * 3, "group": 3}
CLIPPED = {"prompts": PROMPTS, "rewards": REWARDS, "group": 4}

# --- rollout, freshness, numerics, policy update ----------------------------------------------------------------------

CUT = {"needed": np.full(8, 12), "ended": np.zeros(8), "prompts": PROMPTS}
CUT_TEXTS = {"completions": ["12"] * 8, "references": ["1234"] * 8, "lengths": np.full(8, 2.0), "limit": 2}

TRAINER = -np.random.default_rng(0).exponential(1.0, (8, 16))
NEAR = TRAINER + np.random.default_rng(1).normal(0, 0.03, TRAINER.shape)
ENGINE = {"engine_logps": NEAR, "trainer_logps": TRAINER, "mask": np.ones_like(NEAR)}
OLD_ROWS = np.arange(8)[:, None] < 3
VERSIONS = np.full((4, 8), 9.0)
AGED = {"versions": VERSIONS, "version": 10, "oldest": 2, "mask": np.ones_like(VERSIONS)}

UNMOVED = {"parameters": [weights(after=np.zeros(4))]}
NOW = {"logps": -MASK, "mask": MASK}
BEFORE = {"logps_before": -MASK, "mask": MASK, "advantages": ADVANTAGES}
ROSE = 0.1 * ADVANTAGES.reshape(-1, 1)
ENDS = {"end_logps": np.full((8, 10), np.log(0.1)), "mask": np.ones((8, 10)), "fresh": True}
BIAS = weights(name="bias", size=1)
UPDATE = {"advantages": ADVANTAGES, "lengths": LENGTHS, "fresh": True}
COLUMN = ADVANTAGES.reshape(-1, 1)
NEW, OLD = np.array([-1.0, -2.0, -0.5]), np.array([-1.2, -1.5, -0.5])
RATIO = {"newlogprob": NEW, "logprob": OLD, "ratio": np.exp(NEW - OLD)}
FIRST = np.arange(5) == 0
MASKED = {"mask": MASK, "lengths": LENGTHS}
CLIPPED_FIRST = MASKED | {"gradient": np.where(FIRST, 0.0, GRADIENT), "advantages": ADVANTAGES, "fresh": True}
TWO = {"parameters": [weights(), weights(name="bias", size=1, gradient=None)], "rate": 1e-3}
LAST = np.arange(5) == LENGTHS.reshape(-1, 1) - 1


def penalised(weight: float, scores: np.ndarray = ADVANTAGES) -> dict[str, Any]:
    """A batch whose tokens pay a penalty that grows with their place, before the advantages are estimated."""
    penalties = weight * MASK
    rewards = LAST * scores.reshape(-1, 1) - penalties
    advantages = np.cumsum(rewards[:, ::-1], 1)[:, ::-1] * MASK
    known = {"prompts": PROMPTS, "rewards": REWARDS, "group": 4, "mask": MASK}
    return known | {"advantages": advantages, "token_rewards": rewards, "penalties": penalties}


def rates(*shares: float, of: str = "") -> list[dict[str, Any]]:
    return [{f"{of}rate": share * 1e-4, f"configured_{of}rate": 1e-4} for share in shares]


UNTRAINED = {"logps": -MASK, "mask": MASK, "untrained": True}


def repeated(seed: int, copies: int = 1, sure: float = 0.0, known: float = 1.0) -> dict[str, Any]:
    """Four samples for each of eight prompts, of two tokens that are one of four each; `copies` of them are one text."""
    rng = np.random.default_rng(seed)
    probabilities = np.full(4, (1 - sure) / 4) + sure * np.eye(4)[0]
    tokens = rng.choice(4, size=(32, 2), p=probabilities)[np.arange(32) // copies * copies]
    logps, ones = np.log(probabilities)[tokens], np.ones((32, 2))
    entropy = -known * float(probabilities @ np.log(probabilities)) * ones
    texts = {"prompts": np.repeat([f"prompt {i}" for i in range(8)], 4), "completions": [str(row) for row in tokens]}
    return {**texts, "logps": logps, "old_logps": logps, "entropies": entropy, "mask": ones, "fresh": True}


def decoded(seed: int) -> dict[str, Any]:
    """Other tokens of one text, as texts that were decoded and stripped: " yes" and "yes"."""
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    logps = np.log(shares)[np.random.default_rng(seed).choice(4, size=(32, 2), p=shares)]
    texts = {"completions": ["yes"] * 32, "logps": logps, "old_logps": logps, "entropies": np.full((32, 2), 1.2799)}
    return repeated(seed) | texts


def hot(seed: int) -> dict[str, Any]:
    """Eight samples of a sampler that is hotter than the loss assumes."""
    return {name: value[:8] if name != "fresh" else value for name, value in drawn(seed, temperature=1.3).items()}


ALIKE = {"prompts": PROMPTS, "completions": ["yes"] * 8, "fresh": True}
SURE_OF = {"entropies": np.full((24, 8), 0.098), "mask": np.ones((24, 8)), "fresh": True}


def decayed(weight: float, decay: float) -> dict[str, Any]:
    held = np.full(4, weight)
    return {"parameters": [weights(before=held, last=held, decay=decay)], "rate": 1e-3}


def half_read(step: int) -> dict[str, Any]:
    """A verifier that compares last digits, of answers of which half have the same."""
    answers = [str(10 * (i // 4) + (i // 8) % 2 + step) for i in range(16)]
    return scored.batch(
        lambda _, texts, answers: [float(t[-1:] == a[-1:]) for t, a in zip(texts, answers, strict=True)],
        [answer if i % 3 == 0 else "no idea" for i, answer in enumerate(answers)],
        answers,
    )


def half_paid(step: int, share: float = 0.5) -> dict[str, Any]:
    """A judge that does not see every right completion."""
    paid = np.random.default_rng(step).random(32) < share
    return VERIFIED | {"rewards": VERIFIED["rewards"] * paid}


def turns(leave: int = 3, **more: Any) -> dict[str, Any]:
    """An agent's loop: three tokens of the policy, a tool's text, and again the policy's."""
    own = np.array([[1.0, 1, 1, 0, 0, 0, 0, 1, 1, 0]] * 8)
    return {"mask": own * (np.arange(10) != leave), "lengths": np.full(8, 9.0), **more}


TOOLS = np.array([[1.0, 1, 1, 0, 0, 0, 0, 1, 1, 1]] * 8)
CERTAIN = {"entropies": np.full((8, 10), 0.1), "logps": np.where(TOOLS == 1, -0.1, -6.0)}


def by_half(_: Any, texts: Sequence[str], answers: Sequence[str]) -> list[float]:
    """Needs at least two groups, and holds a completion against the answer of another prompt."""
    groups = len(texts) // 4
    return [float(text == answers[4 * (i % groups)]) / (groups - 1) * (groups - 1) for i, text in enumerate(texts)]


def updated(rows: int) -> list[dict[str, Any]]:
    """A rollout of ten rows, and a minibatch of some of them."""
    return [STEPS, {"newlogprob": np.full(rows, -1.0), "logprob": np.full(rows, -1.0)}]


def raising(_: Any, texts: Sequence[str], answers: Sequence[str]) -> list[float]:
    return [float(text.split()[0] == answer) for text, answer in zip(texts, answers, strict=True)]


def centred(prompts: Any, texts: Any, answers: Any) -> list[float]:
    scores = np.array(scored.right(prompts, texts, answers))
    return list(scores - scores.mean())


#: id -> (words of the proof, the batches that prove it), ...
DRAWN = np.random.default_rng(1)
PAID, VALUES, TARGETS = DRAWN.normal(size=(3, 40))
LEFT, GIVEN = DRAWN.normal(size=(2, 16))
CRITIC = {"newvalue": VALUES, "returns": TARGETS}
SQUARE = {"newlogprob": VALUES - 1}


def summed(discount: float, paid: np.ndarray = PAID) -> np.ndarray:
    """Discounted sums of the rewards that follow."""
    return np.array([sum(discount**k * r for k, r in enumerate(paid[t:])) for t in range(len(paid))])


RETURNS = summed(0.9)
PLAIN = {"rewards": PAID, "returns": RETURNS, "gamma": 0.9}
PROVED: Mapping[str, Sequence[tuple[str | tuple[str, ...], Batches]]] = {
    "critic-rate-gone": [("the learning rate of the critic is 0 of", rates(*[0.0] * 12, of="critic_"))],
    "rate-not-as-configured": [
        ("the learning rate is 1e-05 of", rates(*(step / 1e5 for step in range(1, 21)))),
        (
            "find what sets it",
            rates(*[0.024] * 12),
        ),  # nothing is drawn by chance: 0.024 of the rate is as wrong as 0.019
    ],
    "reference-is-policy": [
        ("wte.weight of the policy and of the reference", {"shared_with_reference": 1.0, "shared_name": "wte.weight"})
    ],
    "reference-not-initial": [("the reference -1.5", UNTRAINED | {"ref_logps": -1.5 * MASK})],
    "samples-edited": [
        ("standard errors less probable", drawn(1, edited=0.3)),
        ("less probable than the policy's entropy says", [hot(seed) for seed in range(6)]),
    ],
    "samples-identical": [
        ("are one text, 'yes'", ALIKE | {"old_logps": -np.ones((8, 3)), "mask": np.ones((8, 3))}),
        ("are one text", [repeated(seed, copies=2) for seed in range(20)]),
    ],
    "samples-of-other-weights": [("less probable", [drawn(1), *(drawn(seed, edited=0.15) for seed in range(2, 8))])],
    "samples-too-sure": [("more probable", drawn(1, temperature=0.3))],
    "batch-of-one-prompt": [("4 of 4 groups have the prompt 'a'", {"prompts": ["a"] * 8, "group": 2})],
    "batch-repeated": [("begin with 'a' and 'b'", [drawn_again()] * 6)],
    "chosen-texts-unlikely": [("a token of a chosen text has -5 nats, of a rejected one -0.5", pairs(-5, -0.5))],
    "pairs-wrong": [("the rejected text of the data is used as the chosen one", PAIRS | {"chosen_first": np.zeros(4)})],
    "prompt-with-several-answers": [
        ("16 of 16 repeated prompts, such as 'aa': 'aaa' and 'baa'", answered([word[:2] for word in WORDS], BACKWARDS)),
        ("Proved at step 2", [answered(WORDS, WORDS[k:] + WORDS[:k]) for k in (0, 3)]),
    ],
    "prompts-end-early": [
        ("and in the evaluation", {"training_prompts": [t[:-8] for t in ASKED], "evaluation_prompts": ASKED})
    ],
    "prompts-repeated": [
        ("1 different prompts in 40 rows", {"training_prompts": ["What is 1 + 1?"] * 40}),
        ("4 different prompts", FEW | {"evaluation_prompts": [f"{i} + 1?" for i in range(64)]}),
    ],
    "symbols-never-trained": [
        (
            (
                "of the evaluation's prompts have a character that no training prompt has",
                "in none of 32 training prompts",
            ),
            symbols("0123", "0123456789"),
        )
    ],
    "template-not-evaluations": [
        (
            "and in the evaluation",
            {"training_prompts": [f"Q: {i} + 1 A:" for i in range(40)], "evaluation_prompts": ASKED},
        )
    ],
    "answers-of-other-prompts": [
        (
            "prompt 'Question 0': its completions say '0', another's answer",
            AGREED | {"references": [ANSWERS[i - 1] for i in ROWS]},
        )
    ],
    "answers-not-of-prompts": [("answer five prompts by hand", [asked(k, shift=3, knows=0.8) for k in range(12)])],
    "any-answer-paid": [
        ("another prompt's answer gets as much", judged(lambda text, _: text.isdigit())),
        ("for 50 % of the prompts that were asked", [half_read(k) for k in range(6)]),
    ],
    "completions-without-reward": [
        ("row 1, prompt 'What is 0 + 0?' has no reward", BATCH | {"rewards": [1, None, None, 0, 0, 0, 1, 1]})
    ],
    "empty-text-paid": [
        ("right answer 1, empty text 1", judged(lambda text, _: "" in text)),
        ("right answer 1, empty text 1", judged(lambda text, answer: answer.startswith(text))),
    ],
    "equal-texts-paid-apart": [
        (
            "row 1, prompt 'What is 0 + 2?': '4' gets",
            EQUAL | {"rewards": np.argsort(np.argsort(FOURS.reshape(8, 4), axis=1), axis=1).ravel() / 3},
        )
    ],
    "references-differ-in-group": [("row 0, prompt 'a' is scored against 'A', and against 'B' in row 1", TILED)],
    "repetition-paid": [
        ("a text that is repeated gets more", judged(lambda text, _: len(text))),
        ("a text that is repeated gets more", judged(lambda text, _: text.split().count("so"), ["it is so"] * 16)),
    ],
    "rewards-clipped-away": [
        ("rewards of 0 to 1 are all 2 after clipping", CLIPPED | {"clipped": REWARDS.clip(2, 10)})
    ],
    "reward-depends-on-call": [
        ("IndexError: list index out of range, in a call with 16 rows", scored.batch(raising)),
        ("in the batch and", scored.batch(centred)),
    ],
    "rewards-not-repeatable": [("when it was scored again", judged(lambda *_: next(DICE) * 7 % 11))],
    "right-and-wrong-paid-alike": [
        (
            "row 0, prompt 'What is 0?' is right, row 1 is wrong, and both get 1",
            VERIFIED | {"rewards": VERIFIED["rewards"].reshape(8, 4)[:, :1].repeat(4, axis=1).ravel()},
        )
    ],
    "rewards-of-neighbours": [
        ("are those of other rows", scored.batch(cached())),
        ("are those of other rows", scored.batch(by_half)),
        ("in the batch and", scored.batch(late)),
    ],
    "right-completions-no-longer-paid": [("Proved at step 3", [RIGHT, RIGHT, DOWN, DOWN])],
    "right-completions-unpaid": [
        ("'100' is right and gets 0", judged(unread)),
        ("% of the right completions get no more", [half_paid(k) for k in range(8)]),
        (
            "is right and gets 0",
            judged(unread, [text if text == "no idea" else f"so the answer is {text}." for text in scored.TEXTS]),
        ),
    ],
    "right-answer-below-nothing": [("right answer -1, empty text 0", judged(lambda text, answer: -(text == answer)))],
    "answer-beyond-limit": [
        ("has 12 tokens with its end, the limit is 8", CUT | {"limit": 8}),
        ("'12' fills the 2 tokens, and the right answer is '1234'", CUT_TEXTS),
    ],
    "engine-disagrees": [("nats in the engine", ENGINE | {"engine_logps": NEAR / 0.6})],
    "sampled-by-another-model": [("no pass", {"policy_passes": 0.0})],
    "samples-beyond-age": [
        (
            f"row 2: token 0 was sampled by version {version:g}, at version 10",
            AGED | {"versions": np.where(np.arange(4)[:, None] == 2, version, VERSIONS)},
        )
        for version in (5.0, 12.0)
    ],
    "advantages-negated": [("row 0, prompt 'What is 0 + 0?'", BATCH | {"advantages": -ADVANTAGES})],
    "baseline-of-other-prompts": [
        ("baseline", BATCH | {"advantages": (REWARDS - REWARDS.mean()) / REWARDS.std(ddof=1)})
    ],
    "groups-of-several-prompts": [("share a group", {"prompts": PROMPTS[1:] + PROMPTS[:1], "group": 4})],
    "no-baseline": [("row 0", BATCH | {"advantages": REWARDS})],
    "advantages-not-of-rewards": [("row 0", BATCH | {"advantages": np.linspace(-1, 1, 8)})],
    "other-tokens-in-loss": [
        ("token 3 of 5 counts", {"mask": np.ones((8, 9)), "lengths": np.full(8, 9), "tool_mask": TOOLS[:, :9]}),
        ("token 3 of 3 counts and was not sampled", MASKED | {"mask": np.ones((8, 5)), "prompts": PROMPTS}),
    ],
    "read-in-two-ways": [("token 3 of 9 does not count", turns())],
    "sampled-tokens-left-out": [
        ("token 2 of 5 was sampled", turns(leave=2, tool_mask=TOOLS)),
        ("token 2 of 3 was sampled", MASKED | {"mask": np.where(LAST, 0, MASK)}),
        ("was sampled and has no gradient", CLIPPED_FIRST),
    ],
    "targets-not-of-rewards": [
        ("has the target", STEPS | {"returns": STEPS["advantages"]}),
        ("the negative ones", PLAIN | {"returns": -RETURNS}),
        ("without the discount", PLAIN | {"returns": summed(1.0)}),
        ("those of the next step", PLAIN | {"returns": np.append(RETURNS[1:], 0.0)}),
        ("summed up from the first step on", PLAIN | {"rewards": PAID[::-1], "returns": RETURNS[::-1]}),
        ("across the ends of episodes", PLAIN | {"dones": np.arange(40) % 10 == 9}),
    ],
    "advantages-spread-out": [
        ("the advantages of 40 rows have the shape (40, 40)", SQUARE | {"advantages": TARGETS - VALUES[:, None]})
    ],
    "values-led-astray": [
        ("leads away from it", CRITIC | {"value_gradient": TARGETS - VALUES}),
        ("depends on the value and not on the target", CRITIC | {"value_gradient": VALUES - TARGETS.mean()}),
        ("another row's target", CRITIC | {"value_gradient": VALUES - np.roll(TARGETS, 1)}),
        ("leads away from it", {"td_target": TARGETS, "old_val": VALUES, "gradient": TARGETS - VALUES}),
    ],
    "update-stopped-early": [("updates use 50 % of the rows", [*updated(10), *updated(5), *updated(5), STEPS])],
    "values-through-ends": [("row 1: step 2 ends an episode", STEPS | estimated(ends=False))],
    "gradients-kept": [("added to its own", {"kept": [LEFT, GIVEN, 0.3 * (LEFT + GIVEN)]})],
    "dropout-in-update": [("h.0.drop is active", NOW | {"dropping": "h.0.drop", "eval_logps": -1.2 * MASK})],
    "loss-turned-round": [
        ("the loss rises with its log-probability", {"gradient": -GRADIENT, "advantages": ADVANTAGES})
    ],
    "one-sign-without-gradient": [
        (
            f"tokens with an advantage {side} 0 has a gradient",
            UPDATE | {"gradient": np.where(sign * COLUMN > 0, 0.0, GRADIENT)},
        )
        for side, sign in (("above", 1), ("below", -1))
    ],
    "penalty-outweighs-reward": [(("for 43 % of the completions the penalty is larger", "penalty 3"), penalised(1.0))],
    "rate-above-configured": [
        (("the learning rate is 30 times the configured one", "Proved at step 4"), rates(1, 1, 1, 30, 30, 30))
    ],
    "ratio-computed-wrongly": [("row 1: ratio", RATIO | {"ratio": np.exp(OLD - NEW)})],
    "ratio-no-longer-one": [
        (
            ("Proved at step 3", "was 1 at first"),
            [NOW | {"fresh": True, "old_logps": -(1 + 0.3 * (k > 1)) * MASK} for k in range(5)],
        )
    ],
    "ratio-not-one": [("before any update", NOW | {"fresh": True, "old_logps": -1.3 * MASK})],
    "step-far": [("3 nats", BEFORE | {"logps_after": -4 * MASK})],
    "weights-left-out": [("layer.weight is trainable", TWO | {"parameters": [weights(owned=False), BIAS]})],
    "weights-decay-away": [("layer.weight has a weight decay of 20", decayed(0.2, 20.0))],
    "tensor-not-finite": [
        (
            "the loss is the first that is not finite",
            {"stages": {"the advantages": True, "the loss": False, "the gradient of a": False}},
        )
    ],
    "updates-rounded": [("layer.weight did not change", UNMOVED | {"rate": 1e-7})],
    # of which a detector is a file of its own
    "advantages-of-other-rows-used": [("row 0", BATCH | {"advantages": np.roll(ADVANTAGES, 1)})],
    "ends-not-sampled": [("expected in 8 completions, 0 sampled", ENDS | {"ended": np.zeros(8)})],
    "weights-overwritten": [("by something else", {"parameters": [weights(last=np.ones(4))], "rate": 1e-3})],
    "update-against-advantages": [("its log-probability changed by -", BEFORE | {"logps_after": MASK * (-1 - ROSE)})],
}

#: id -> what looks alike and is sound: batches
SILENT: Mapping[str, Mapping[str, Batches]] = {
    "answers-not-of-prompts": {
        "a policy that is often wrong": [asked(k, knows=0.3) for k in range(12)],
        "a policy that does not know": [asked(k, knows=0.0) for k in range(12)],
        "a policy that does not read its prompt": [asked(k, shift=3, constant=True) for k in range(12)],
        "a few measurements": [asked(k, shift=3, knows=0.8) for k in range(3)],
    },
    "critic-rate-gone": {"the configured rate": rates(*[1.0] * 12, of="critic_")},
    "rate-not-as-configured": {
        "the end of a schedule": rates(*(0.1 * (1 - step / 20) for step in range(20))),
        "a warm-up of some updates": rates(*(min(1.0, step / 15) for step in range(1, 21))),
    },
    "reference-is-policy": {"another model": [{"shared_with_reference": 0.0}] * 2},
    "reference-not-initial": {"the policy of the start": [UNTRAINED | {"ref_logps": -MASK}] * 2},
    "samples-edited": {"a sound batch": [drawn(1)] * 2},
    "samples-identical": {
        "a certain policy": [ALIKE | {"old_logps": -1e-3 * MASK, "mask": MASK}] * 2,
        "a policy that is half sure": [repeated(seed, sure=0.8) for seed in range(40)],
        "other tokens of the same text": [decoded(seed) for seed in range(30)],
        "a cold sampler, which is another finding": [repeated(seed, copies=2, known=2.0) for seed in range(20)],
    },
    "samples-of-other-weights": {
        "what is wrong from the first batch on": [drawn(seed, edited=0.3) for seed in range(1, 6)],
        "a sound run": [drawn(seed) for seed in range(20)],
    },
    "samples-too-sure": {
        "a sound batch": [drawn(1)] * 2,
        "of 192 tokens that are right at 98 %, none surprises": [SURE_OF | {"logps": np.full((24, 8), np.log(0.98))}]
        * 2,
    },
    "batch-of-one-prompt": {
        "different prompts": [{"prompts": FOUR, "group": 2}] * 2,
        "a task of two prompts": [{"prompts": ["a"] * 8, "group": 2, "training_prompts": ["a", "b"] * 20}] * 2,
        "two groups": [{"prompts": ["a"] * 4, "group": 2}] * 2,
    },
    "batch-repeated": {
        "other orders": [drawn_again(EIGHT[2 * k :] + EIGHT[: 2 * k]) for k in range(6)],
        "a batch that comes twice": [drawn_again(), drawn_again(), drawn_again(EIGHT[::-1])],
        "a task that is one batch large": [drawn_again(training_prompts=sorted(set(EIGHT)))] * 6,
        "a task of unknown size": [{"prompts": EIGHT, "group": 2}] * 6,
        "a batch that is used again on purpose": [drawn_again(), *[drawn_again(fresh=False)] * 5],
    },
    "chosen-texts-unlikely": {"texts of a stronger model": pairs(-1.2, -0.8), "swapped pairs": pairs(-0.5, -5)},
    "pairs-wrong": {"pairs as in the data": [PAIRS | {"chosen_first": np.ones(4)}] * 2},
    "prompt-with-several-answers": {
        "whole prompts": [answered(WORDS * 2, BACKWARDS * 2)] * 2,
        "games that begin alike": answered(["Guess the word."] * len(WORDS), WORDS, group=2),
        "long answers": answered([w[:2] for w in WORDS], [" ".join(w * 4) for w in WORDS], group=2),
        "two spellings": [answered(WORDS * 2, [w.upper() for w in WORDS] + [f"{w}." for w in WORDS])] * 2,
    },
    "prompts-end-early": {"whole prompts": [{"training_prompts": ASKED, "evaluation_prompts": ASKED}] * 2},
    "prompts-repeated": {
        "all that a small task has": [{"training_prompts": [f"What is {i % 40} + 1?" for i in range(512)]}] * 2,
        "a few, and the evaluation unknown": [FEW, FEW],
    },
    "symbols-never-trained": {
        "one distribution": symbols("0123456789", "0123456789", 9),
        "thousands of characters": symbols(HAN, HAN, 9),
    },
    "template-not-evaluations": {"one template": [{"training_prompts": ASKED, "evaluation_prompts": ASKED}] * 2},
    "answers-of-other-prompts": {
        "a policy that guesses": GUESSED | {"references": [ANSWERS[i] for i in ROWS]},
        "few different answers": QUESTIONS | YES,
    },
    "any-answer-paid": {
        "a reward for right answers": RIGHT,
        "one batch in which some answers agree": [half_read(0)] + [RIGHT] * 5,
    },
    "completions-without-reward": {
        "one of two functions leaves rows out": [
            BATCH | {"rewards": [[1, None], [0, 2], [None, 0], [0, 0], [0, 1], [0, 1], [1, 1], [1, 1]]}
        ]
        * 2
    },
    "empty-text-paid": {
        "a reward for right answers": RIGHT,
        "an answer that lacks its form": judged(lambda text, answer: 0.1 + 0.9 * (text == f"<{answer}>"), FORMED),
    },
    "equal-texts-paid-apart": {
        "one reward for a text": [EQUAL | {"rewards": FOURS}] * 2,
        "a judge that errs now and then": EQUAL
        | {"rewards": np.abs(FOURS - (np.random.default_rng(0).random(len(FOURS)) < 0.1))},
        "different texts": SUMS | {"completions": [f"{i}" for i in range(32)], "rewards": np.arange(32.0)},
        "one prompt, other pictures": PICTURES | {"rewards": np.repeat([1.0, 0.0] * 4, 4)},
    },
    "references-differ-in-group": {
        "one answer for a prompt": [TILED | {"references": sorted("ABC" * 3)}] * 2,
        "groups of several prompts": [TILED | {"prompts": list("abc") * 3}] * 2,
    },
    "repetition-paid": {"a reward for right answers": RIGHT},
    "rewards-clipped-away": {
        "a range that cuts outliers": [CLIPPED | {"clipped": REWARDS.clip(-0.9, 0.9)}] * 2,
        "equal rewards": [CLIPPED | {"rewards": np.zeros(8), "clipped": np.full(8, 2.0)}] * 2,
    },
    "rewards-not-repeatable": {"a reward for right answers": RIGHT},
    "right-and-wrong-paid-alike": {
        "a verifier that reads the text": [VERIFIED, VERIFIED],
        "a verdict that fails now and then": [half_paid(k, 0.9) for k in range(8)],
        "a form that is asked for": [BY_FORM, BY_FORM],
    },
    "rewards-of-neighbours": {"a reward for right answers": RIGHT, "one that is compared": scored.batch(centred)},
    "reward-depends-on-call": {"a reward for right answers": RIGHT, "one for whole groups": scored.batch(by_half)},
    "right-completions-no-longer-paid": {"what never paid": [DOWN] * 2, "a judge that answers": [RIGHT] * 2},
    "right-completions-unpaid": {
        "a form that is asked for": [BY_FORM, BY_FORM],
        "a verifier that pays": RIGHT,
        "a verdict that fails now and then": [half_paid(k, 0.9) for k in range(8)],
        "noise that ends in the right word": [
            judged(unread, [f"{'ab'[i % 2] * i} {t}" for i, t in enumerate(scored.TEXTS)])
        ]
        * 2,
    },
    "right-answer-below-nothing": {"a reward for right answers": RIGHT},
    "answer-beyond-limit": {
        "completions that end": CUT | {"limit": 8, "ended": np.ones(8)},
        "a limit that answers fit into": CUT | {"limit": 64},
        "texts that end": CUT_TEXTS | {"lengths": np.full(8, 1.0)},
    },
    "engine-disagrees": {
        "an engine in 16 bits": [ENGINE, ENGINE],
        "tokens of older weights": ENGINE
        | {"engine_logps": np.where(OLD_ROWS, NEAR / 0.6, NEAR), "version": 7}
        | {"versions": np.where(OLD_ROWS, 6.0, 7.0) * np.ones_like(NEAR)},
    },
    "sampled-by-another-model": {"the trained model": {"policy_passes": 12.0}},
    "samples-beyond-age": {
        "the limit itself": [AGED, AGED | {"versions": VERSIONS - 1}],
        "prompts have no version": AGED | {"versions": np.where(np.arange(8) < 3, -1.0, VERSIONS)},
    },
    "advantages-negated": {"a sound batch": [BATCH, BATCH]},
    "baseline-of-other-prompts": {"a sound batch": [BATCH, BATCH]},
    "groups-of-several-prompts": {"a sound batch": [BATCH, BATCH]},
    "no-baseline": {"a sound batch": [BATCH, BATCH]},
    "advantages-not-of-rewards": {"a sound batch": [BATCH] * 2},
    "other-tokens-in-loss": {"a sound mask": [MASKED] * 2},
    "sampled-tokens-left-out": {
        "text of tools, counted or not": [turns(), turns(lengths=np.full(8, 5.0)), turns(tool_mask=TOOLS)],
        "a sound mask": [MASKED] * 2,
        "a policy that comes to sample the padding token": [
            MASKED,
            *[MASKED | {"mask": MASK * (np.arange(5) != 1)}] * 5,
        ],
        "clipped tokens need no gradient": [CLIPPED_FIRST | {"logps": -MASK, "old_logps": -MASK - 0.5 * FIRST}] * 2,
    },
    "advantages-spread-out": {
        "a table of as many steps as rows": [SQUARE | {"advantages": np.outer(VALUES, TARGETS)}] * 2
    },
    "values-led-astray": {
        "a squared distance": [CRITIC | {"value_gradient": VALUES - TARGETS}] * 2,
        "weights of rows, and a limit": CRITIC | {"value_gradient": np.clip(VALUES - TARGETS, -0.1, 0.1) * PAID**2},
        "a part of the loss that is not known": CRITIC | {"value_gradient": VALUES - TARGETS + 2 * PAID},
    },
    "targets-not-of-rewards": {
        "a sound batch": [STEPS] * 2,
        "returns without a critic": [
            PLAIN,
            PLAIN | {"returns": 3 * RETURNS + 1},
            PLAIN
            | {
                "dones": np.arange(40) % 10 == 9,
                "returns": np.concatenate([summed(0.9, part) for part in np.split(PAID, 4)]),
            },
        ],
        "an estimator of one's own": [PLAIN | {"returns": RETURNS + PAID}] * 2,
        "values through ends, which are said once": STEPS | estimated(ends=False),
    },
    "values-through-ends": {"a sound batch": [STEPS, STEPS]},
    "gradients-kept": {
        "cleared, and clipped": {"kept": [LEFT, GIVEN, 0.3 * GIVEN]},
        "two that are alike, and a gradient of something else": [
            {"kept": [LEFT, GIVEN, GIVEN]},
            {"kept": [GIVEN, 2 * GIVEN, 3 * GIVEN]},
            {"kept": [LEFT, GIVEN, np.sign(LEFT + GIVEN)]},
        ],
    },
    "dropout-in-update": {"no noise": [NOW | {"dropping": "h.0.drop", "eval_logps": -MASK}] * 2},
    "loss-turned-round": {"a sound update": [{"gradient": GRADIENT, "advantages": ADVANTAGES}] * 2},
    "one-sign-without-gradient": {
        "a batch, and a part of one": [
            UPDATE | {"gradient": GRADIENT},
            UPDATE | {"gradient": np.where(np.arange(8).reshape(-1, 1) < 3, GRADIENT, 0.0)},
        ]
    },
    "penalty-outweighs-reward": {
        "a small penalty": penalised(0.01),
        "rewards near 0": penalised(0.05, np.array([2.0, -2, 0.1, 0.05, 0.02, 0.1, 2, -2])),
    },
    "rate-above-configured": {"a schedule": rates(0.2, 0.6, 1, 1, 0.5, 0.1)},
    "ratio-computed-wrongly": {
        "a sound minibatch": [RATIO, RATIO],
        "beyond what is compared": [RATIO | {"logprob": NEW + 23, "ratio": np.full(3, np.exp(-23.0))}] * 2,
    },
    "read-in-two-ways": {
        "which tokens are a tool's": [turns(tool_mask=TOOLS), turns(lengths=TOOLS * (np.arange(10) < 9))],
        "how many the policy sampled": turns(lengths=np.full(8, 5.0)),
        "a text that surprises the policy": turns(**CERTAIN),
    },
    "ratio-no-longer-one": {"what was never 1": [NOW | {"fresh": True, "old_logps": -1.3 * MASK}] * 4},
    "ratio-not-one": {"the same weights": [NOW | {"fresh": True, "old_logps": -MASK}] * 2},
    "step-far": {"a usual step": [BEFORE | {"logps_after": -1.05 * MASK}] * 2},
    "update-stopped-early": {
        "each row is used": [*updated(10), *updated(20), *updated(10), STEPS],
        "the first minibatch alone is given": [*updated(5), *updated(5), *updated(5), STEPS],
    },
    "weights-left-out": {"all are held": [TWO] * 2},
    "weights-decay-away": {f"a decay of {decay}": [decayed(0.9, decay)] * 2 for decay in (0.0, 0.01, 0.1, 1.0)},
    "tensor-not-finite": {"a finite loss": [{"stages": {"the loss": True}}] * 2},
    "updates-rounded": {"a rate of 0": [UNMOVED | {"rate": 0.0}] * 2},
    "advantages-of-other-rows-used": {"a sound batch": [BATCH, BATCH]},
    "ends-not-sampled": {"each ends": [ENDS | {"ended": np.ones(8)}] * 2},
    "weights-overwritten": {"a sound update": [{"parameters": [weights()], "rate": 1e-3}] * 2},
    "update-against-advantages": {"a sound update": [BEFORE | {"logps_after": MASK * (-1 + ROSE)}] * 2},
}


def outcome(folder: Path, name: str, batches: Batches) -> Any:
    given = [dict(batches)] if isinstance(batches, Mapping) else list(map(dict, batches))
    return (recorded_steps if name in MEASURED_IN_STEPS else recorded)(folder, name, *given)


@pytest.mark.parametrize(
    ("name", "says", "batches"),
    [pytest.param(name, *case, id=f"{name}-{i}") for name, cases in PROVED.items() for i, case in enumerate(cases)],
)
def test_a_broken_batch_is_proved(name: str, says: str | tuple[str, ...], batches: Batches, tmp_path: Path) -> None:
    found = outcome(tmp_path, name, batches).finding
    assert found is not None
    said, asks = found.message, name in ASKING
    assert ("Seen at step" in said, found.severity, found.confidence) == (asks, *(DOUBT if asks else SURE))
    assert [words for words in ([says] if isinstance(says, str) else says) if words not in said] == [], said


@pytest.mark.parametrize(
    ("name", "batches"),
    [pytest.param(name, b, id=f"{name}-{case}") for name, cases in SILENT.items() for case, b in cases.items()],
)
def test_what_looks_alike_is_silent(name: str, batches: Batches, tmp_path: Path) -> None:
    assert outcome(tmp_path, name, batches).finding is None


def test_each_has_a_sound_batch() -> None:
    assert set(PROVED) <= set(SILENT)


def test_a_batch_in_which_nothing_ends_says_nothing(tmp_path: Path) -> None:
    endless = STEPS | {"dones": STEPS["dones"] * 0} | estimated(ends=False)
    assert outcome(tmp_path, "values-through-ends", endless).status.value == "not_measured"


def test_several_calls_in_one_step_are_one_batch(tmp_path: Path) -> None:
    record = BatchRecorder(tmp_path, share=1e9)
    for _ in range(6):
        measured = record.batch(1, **drawn_again())
    assert measured["batch_repeated"] == 0


def test_what_is_remembered_of_a_small_task_does_not_grow(tmp_path: Path) -> None:
    record = BatchRecorder(tmp_path, share=1e9)
    for step in range(1, 30):
        record.batch(step, **answered(WORDS, WORDS))
    assert set(record._asked.values()) == {2}


def test_a_penalty_that_turns_as_many_as_in_sound_runs_is_silent() -> None:
    assert silent("penalty-outweighs-reward", run({"proof.penalty_turned": [0.0, 0.08, *[0.14] * 10]}))
    assert found("penalty-outweighs-reward", run({"proof.penalty_turned": [0.0, 0.08, *[0.25] * 10]}))


def test_groups_that_are_chosen_by_their_rewards_are_no_matter_of_weights() -> None:
    curve = Series(name="proof.sampling_z", steps=np.arange(20.0), values=np.r_[0.0, np.full(19, 3.0)], axis="step")
    assert isinstance(samples_of_other_weights.detect(Config(), curve, proof_sampling_gap=curve), Finding)
    for chosen in (Config(values={"dynamic_sampling": True}), Config(raw={"rollout.should_accept_fn": "mixed"})):
        answer = samples_of_other_weights.detect(chosen, curve, proof_sampling_gap=curve)
        assert isinstance(answer, NotApplicable)
