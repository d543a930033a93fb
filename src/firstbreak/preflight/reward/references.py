"""The answers beside the samples: do they belong to their prompts, and does the reward pay a sample that gives its own one?"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from firstbreak.knowledge.detectors.reward._verdicts import answer_and_reference
from firstbreak.model import NotApplicable, NotMeasured, Sample
from firstbreak.preflight import Answer, critical
from firstbreak.preflight.reward.items import Item
from firstbreak.values import dataclass
from firstbreak.words import percent

MIN_PROMPTS = 20  #: prompts on which the samples agree among themselves (convention)
MIN_MOVED = 12  #: of them, to see that answers moved: by chance half of so many fit in one case of a thousand
MAX_CHANCE = 0.1  #: share of prompts whose answer is right by chance: among few possible answers nothing can be told (convention)
ELSEWHERE = 0.9  #: share of the agreed answers that are references of other rows: answers of the same range are so in two thirds
SHIFTS = (-3, -2, -1, 1, 2, 3)  #: rows by which answers may have moved (convention)


@dataclass(frozen=True)
class Consensus:
    """What the samples of each prompt agree on ("" where they do not), and the reference beside it, in the order of the file."""

    said: tuple[str, ...]
    references: tuple[str, ...]

    @property
    def agreed(self) -> list[str]:
        """The answers that samples agree on."""
        return [answer for answer in self.said if answer]

    @property
    def elsewhere(self) -> float:
        """Share of these answers that are found among all references, each reference used once."""
        return (Counter(self.agreed) & Counter(self.references)).total() / len(self.agreed)

    @property
    def chance(self) -> float:
        """Share of right answers if the references were dealt out anew."""
        known = Counter(self.references)
        return sum(known[answer] for answer in self.agreed) / len(self.agreed) / len(self.references)

    def moved(self, rows: int) -> float:
        """Share of these answers that are the reference so many prompts on."""
        rolled = np.roll(np.array(self.references, object), -rows)
        return float(np.mean([a == b for a, b in zip(self.said, rolled, strict=True) if a]))


def consensus(items: Sequence[Item]) -> Consensus:
    """The commonest final answer of each prompt, where two samples or more give it, or there is only one sample."""
    groups: dict[str, list[str]] = defaultdict(list)
    references: dict[str, str] = {}
    for item in items:
        said, reference = answered(item)
        if reference:
            groups[item.group].append(said)
            references[item.group] = reference
    return Consensus(tuple(_agreed(answers) for answers in groups.values()), tuple(references.values()))


def _agreed(answers: Sequence[str]) -> str:
    (first, n), *others = Counter(answers).most_common(2)
    return first if len(answers) == 1 or n > max(1, others[0][1] if others else 0) else ""


def answered(item: Item) -> tuple[str, str]:
    """The final answer of a completion and its reference, without marks; an empty reference where there is none."""
    return answer_and_reference(Sample(completion=item.completion, meta={"answer": item.answer}))


def belong(items: Sequence[Item]) -> Answer:
    """The answer in a row is the answer to the prompt in that row."""
    if not any(item.answer for item in items):
        return NotApplicable("no right answers are given (--column answer=NAME)")
    found = consensus(items)
    n = len(found.agreed)
    if n < MIN_MOVED:
        return NotMeasured(f"the samples agree among themselves on the answer to {n} prompts (needs {MIN_MOVED})")
    if found.chance > MAX_CHANCE:
        return NotMeasured(f"there are too few different answers: {percent(found.chance)} would be right by chance")
    own, usual = found.moved(0), found.chance + MAX_CHANCE
    shares = {rows: found.moved(rows) for rows in SHIFTS}
    moved = max(shares, key=lambda rows: shares[rows])
    if own < usual and shares[moved] > 0.5:
        return critical(
            f"what the samples of a prompt agree on is the reference of the prompt in {percent(own)} of {n}, and the "
            f"reference {abs(moved)} rows {'later' if moved > 0 else 'earlier'} in {percent(shares[moved])}: answers and "
            "prompts are shifted against each other; join them by a key"
        )
    if n < MIN_PROMPTS and own < usual:
        return NotMeasured(f"the samples agree among themselves on the answer to {n} prompts (needs {MIN_PROMPTS})")
    if own < usual and found.elsewhere > ELSEWHERE:
        return critical(
            f"what the samples of a prompt agree on is its own reference in {percent(own)} of {n} prompts, and the "
            f"reference of another row in {percent(found.elsewhere - own)}: the answers were shuffled, and the reward "
            "pays almost nothing that is right; join prompts and answers by a key"
        )
    return f"what the samples of a prompt agree on is its reference in {percent(own)} of {n} prompts"


def paid(items: Sequence[Item], rewards: np.ndarray, bar: float) -> tuple[int, int]:
    """(samples that give their reference and get `bar` or more, samples that give their reference)."""
    right = [r for item, r in zip(items, rewards, strict=True) if (pair := answered(item))[1] and pair[0] == pair[1]]
    return int(np.sum(np.array(right) >= bar)), len(right)
