"""One turn of the episode separates success from failure.

Long episodes get their reward at the end, and a policy gradient spreads this reward over all turns. If what one turn does, says
or gets as an answer predicts the outcome nearly as well as the whole episode, this turn should get the credit. Read it first.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.split_truth import PolicySample
from firstbreak.engine.checks import notice, seen_as
from firstbreak.model import Confidence, Link, NotApplicable, NotMeasured
from firstbreak.words import percent

LINK = Link.ADVANTAGE
MIN_TURNS, MIN_EPISODES = 3, 32
SHUFFLES = 200
SURE = 0.01
INFORMATIVE = 0.3  #: of the outcome's entropy
WORDS = 40  #: of a turn's words that some episodes have there and others do not, the commonest ones
RARE = 0.05  #: share of the episodes: what fewer have, or lack, separates no halves
READ = 600  #: characters of a turn
_TURN = re.compile(r"^(?:assistant|tool|user|Action|Observation): ?", re.MULTILINE)
_WORD = re.compile(r"\w+")


def examine(evidence: AuditInputs) -> Found:
    older = [sample for _, row in evidence.table.late()[:-1] for sample in row.kept]
    enough = len(evidence.latest) >= 2 * MIN_EPISODES
    rewarded = [s for s in (*evidence.latest, *(() if enough else older)) if s.reward is not None]
    episodes = [(turns, sample.reward) for sample in rewarded if len(turns := _turns(sample)) >= MIN_TURNS]
    if not episodes:
        return NotApplicable("the latest samples have no episodes of three turns or more")
    if len(episodes) < MIN_EPISODES:
        return NotMeasured(f"{len(episodes)} episodes with several turns are too few ({MIN_EPISODES} are needed)")
    rewards = np.array([reward for _, reward in episodes], dtype=float)
    middle = np.sort(rewards)[len(rewards) // 2]
    outcome = rewards >= middle if (rewards < middle).any() else rewards > middle
    if not outcome.any():
        return NotMeasured("all episodes of the latest step have the same reward")
    words, held = _words([turns for turns, _ in episodes])
    outcomes = np.vstack([outcome, np.random.default_rng(0).permuted(np.tile(outcome, (SHUFFLES, 1)), axis=1)])
    told = _information(held, outcomes) if words else np.zeros((1, len(outcomes)))
    best = int(told[:, 0].argmax())
    share = float(told[best, 0] / _bits(outcome.mean()))
    if share < INFORMATIVE or np.mean(told.max(axis=0) >= told[best, 0]) > SURE:
        return None
    turn, word = words[best]
    return notice(
        f"turn {turn + 1} of up to {max(len(turns) for turns, _ in episodes)} "
        f"(whether it holds “{word}”) "
        f"explains {percent(share)} of whether an episode has a reward above the median. Read this turn in ten good and ten "
        "bad episodes, and give the credit to it",
        seen_as("samples.decisive-turn"),
        confidence=Confidence.MEDIUM,
        numbers={"turn": turn + 1, "share": share, "word": word},
    )


def _turns(sample: PolicySample) -> list[str]:
    """The calls with their answers; where there are few, the parts of the text."""
    calls = (t for t in sample.turns if t.tool or t.arguments)
    called = [f"{t.tool} {t.arguments} {t.answer} {'fails' * bool(t.failed)}" for t in calls]
    if len(called) >= MIN_TURNS:
        return called
    return [turn[:READ].lower() for turn in _TURN.split(sample.completion) if turn.strip()]


def _words(episodes: Sequence[Sequence[str]]) -> tuple[list[tuple[int, str]], np.ndarray]:
    """(turn, word) for what some episodes say at this turn and others do not, and which ones do, (words, episodes)."""
    n, words, held = len(episodes), [], []
    for t in range(max(map(len, episodes))):
        said = [frozenset(_WORD.findall(turns[t])) if t < len(turns) else frozenset() for turns in episodes]
        counts = Counter(word for here in said for word in here)
        some = [w for w in sorted(counts, key=lambda w: (-counts[w], w)) if RARE * n <= counts[w] <= (1 - RARE) * n]
        words += [(t, word) for word in some[:WORDS]]
        held += [[word in here for here in said] for word in some[:WORDS]]
    return words, np.array(held)


def _information(held: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    """Mutual information in bits of each word (w, n) with each of several outcomes (m, n), without its bias (Miller, 1955)."""
    n, left = held.shape[1], 0.0
    for side in (held, ~held):
        counts = side.sum(axis=1, keepdims=True)
        left = left + counts / n * _bits(side.astype(np.float32) @ outcomes.T.astype(np.float32) / counts)
    return np.asarray(np.maximum(0.0, _bits(outcomes.mean(axis=1)) - left - 1 / (2 * n * math.log(2))))


def _bits(p: np.ndarray) -> np.ndarray:
    """The entropy of something that is so probable."""
    p = np.clip(p, 1e-12, 1 - 1e-7)
    return np.asarray(-p * np.log2(p) - (1 - p) * np.log2(1 - p))
