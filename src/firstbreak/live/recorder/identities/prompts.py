"""Prompts differ from each other, and those of the training look like those of the evaluation."""

from collections import Counter
from collections.abc import Mapping, Sequence

from firstbreak.live.hooks.firstbreak_texts import common_ends, prompts_compared
from firstbreak.live.recorder.measuring import Reading

MIN_ROWS = 16
FEW = 4  #: prompts of the training that stand for far more of the evaluation (convention)
MANY = 10 * FEW  #: prompts of an evaluation that a few prompts cannot stand for (convention)


def measure(training_prompts: Sequence[str], evaluation_prompts: Sequence[str] | None = None) -> Mapping[str, Reading]:
    """prompt_repeated: share of the rows that hold the most frequent prompt, or one of the FEW most frequent where the evaluation
    has MANY; prompt_unlike: share of the training prompts that lack the common beginning or end of the evaluation's; prompt_cut:
    share that has only the beginning; prompt_unseen: share of the evaluation's prompts with a character that no training prompt
    has, less what chance explains."""
    n = len(training_prompts)
    if n < MIN_ROWS:
        return {}
    few = FEW if len(set(evaluation_prompts or ())) >= MANY else 1
    repeated = sum(times for _, times in Counter(training_prompts).most_common(few)) / n
    found: dict[str, Reading] = {
        "prompt_repeated": (repeated, f"{len(set(training_prompts))} different prompts in {n} rows, such as "
                            f"{training_prompts[0][-60:]!r}") if repeated > 0.5 else repeated
    }  # fmt: skip
    if not evaluation_prompts or len(set(evaluation_prompts)) < MIN_ROWS:
        return found
    start, end = common_ends(evaluation_prompts)
    begun = [p.startswith(start) if start else True for p in training_prompts]
    ended = [p.endswith(end) if end else True for p in training_prompts]
    unlike = float(prompts_compared(training_prompts, evaluation_prompts)["prompts_unlike"])
    shorter = sum(map(len, training_prompts)) / n < 0.9 * sum(map(len, evaluation_prompts)) / len(evaluation_prompts)
    cut = sum(b and not e for b, e in zip(begun, ended, strict=True)) / n if shorter else 0.0
    said = f"{training_prompts[0][-60:]!r}, and in the evaluation {evaluation_prompts[0][-60:]!r}"
    found["prompt_unlike"] = (unlike - cut, said) if unlike - cut > 0.5 else unlike - cut
    found["prompt_cut"] = (cut, said) if cut > 0.5 else cut
    if len(set(training_prompts)) > FEW:  # a handful on purpose does not show all that is asked
        found["prompt_unseen"] = _unseen(
            training_prompts, [p[len(start) : len(p) - len(end)] for p in evaluation_prompts]
        )
    return found


def _unseen(known: Sequence[str], asked: Sequence[str]) -> Reading:
    """Chance: of the known texts, the share with a character that none of the others has (Good and Turing)."""
    times = Counter(character for text in known for character in set(text))
    alone = sum(any(times[c] == 1 for c in set(text)) for text in known) / len(known)
    missing = [set(text) - times.keys() for text in asked]
    unseen = max(sum(map(bool, missing)) / len(missing) - alone, 0.0)
    i = next((i for i, characters in enumerate(missing) if characters), 0)
    said = f"{min(missing[i], default='')!r} is in {asked[i][-60:]!r}, and in none of {len(known)} training prompts"
    return (unseen, said) if unseen > 0.5 else unseen
