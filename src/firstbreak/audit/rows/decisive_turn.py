"""One turn of the episode separates success from failure.

Long episodes get their reward at the end, and a policy gradient spreads this reward over all turns. If the action of one turn
predicts the outcome nearly as well as the whole episode, this turn should get the credit. Read this turn first.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Sequence

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.split_truth import PolicySample
from firstbreak.model import Confidence, Finding, Link, NotApplicable, NotMeasured, Severity
from firstbreak.words import percent

LINK = Link.ADVANTAGE
MIN_TURNS, MIN_EPISODES = 3, 32
SHUFFLES = 200
SURE = 0.01
INFORMATIVE = 0.3  #: of the outcome's entropy
_TURN = re.compile(r"^(?:assistant|tool|user|Action|Observation): ?", re.MULTILINE)


def examine(evidence: AuditInputs) -> Found:
    older = [sample for _, row in evidence.table.late()[:-1] for sample in row.kept]
    enough = len(evidence.latest) >= 2 * MIN_EPISODES
    rewarded = [s for s in (*evidence.latest, *(() if enough else older)) if s.reward is not None]
    episodes = [(actions, sample.reward) for sample in rewarded if len(actions := _actions(sample)) >= MIN_TURNS]
    if not episodes:
        return NotApplicable("the latest samples have no episodes of three turns or more")
    if len(episodes) < MIN_EPISODES:
        return NotMeasured(f"{len(episodes)} episodes with several turns are too few ({MIN_EPISODES} are needed)")
    middle = sorted(reward for _, reward in episodes if reward is not None)[len(episodes) // 2]
    outcome = [reward is not None and reward >= middle for _, reward in episodes]
    if len(set(outcome)) < 2:
        outcome = [reward is not None and reward > middle for _, reward in episodes]
    if len(set(outcome)) < 2:
        return NotMeasured("all episodes of the latest step have the same reward")
    turns = max(len(actions) for actions, _ in episodes)
    columns = [[actions[t] if t < len(actions) else "" for actions, _ in episodes] for t in range(turns)]
    information = [_information(column, outcome) for column in columns]
    best = max(range(turns), key=information.__getitem__)
    if information[best] < INFORMATIVE * _entropy(outcome) or _chance(columns, outcome, information[best]) > SURE:
        return None
    return Finding(
        message=(
            f"turn {best + 1} of up to {turns} explains {percent(information[best] / _entropy(outcome))} of whether an episode "
            "has a reward above the median. Read this turn in ten good and ten bad episodes, and give the credit to it"
        ),
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        metric="samples.decisive-turn",
        numbers={"turn": best + 1, "share": information[best] / _entropy(outcome)},
    )


def _actions(sample: PolicySample) -> list[str]:
    """The tool of each call; without calls, the first words of each turn: the action without its details."""
    called = [turn.tool or turn.arguments[:60] for turn in sample.turns if turn.tool or turn.arguments]
    if len(called) >= MIN_TURNS:
        return called
    turns = [turn for turn in _TURN.split(sample.completion) if turn.strip()]
    return [" ".join(turn.split()[:3])[:60].lower() for turn in turns]


def _entropy(values: Sequence[object]) -> float:
    """Bits."""
    n = len(values)
    return -sum(c / n * math.log2(c / n) for c in Counter(values).values())


def _information(actions: Sequence[str], outcome: Sequence[bool]) -> float:
    """Mutual information in bits, corrected for the number of different actions (Miller, 1955)."""
    raw = _entropy(actions) + _entropy(outcome) - _entropy(list(zip(actions, outcome, strict=True)))
    bias = (len(set(actions)) - 1) * (len(set(outcome)) - 1) / (2 * len(actions) * math.log(2))
    return max(0.0, raw - bias)


def _chance(columns: Sequence[Sequence[str]], outcome: Sequence[bool], information: float) -> float:
    """Probability that the best turn has this much information if outcomes are random."""
    rng, shuffled = random.Random(0), list(outcome)
    hits = 0
    for _ in range(SHUFFLES):
        rng.shuffle(shuffled)
        hits += max(_information(column, shuffled) for column in columns) >= information
    return (hits + 1) / (SHUFFLES + 1)
