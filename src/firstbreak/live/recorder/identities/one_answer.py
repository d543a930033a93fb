"""A prompt has one right answer."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from firstbreak.live.recorder.identities._rows import SHOWN, plain
from firstbreak.live.recorder.identities.prompts import FEW
from firstbreak.live.recorder.measuring import Reading

MIN_REPEATED = 8  #: prompts that occur more than once
WORDS = 8  #: a right answer of more words can be said in other ways (convention)


def measure(asked: Sequence[tuple[str, str]]) -> Mapping[str, Reading]:
    """Of the prompts that occur more than once, the share with several right answers. `asked`: prompts with their answers.

    A handful of prompts may begin something that the policy learns only later, as a game does; long answers are examples.
    """
    answers: dict[str, list[str]] = defaultdict(list)
    for prompt, answer in asked:
        answers[prompt].append(answer.strip())
    repeated = {prompt: given for prompt, given in answers.items() if len(given) > 1}
    lengths = [len(answer.split()) for given in repeated.values() for answer in given]
    if len(repeated) < MIN_REPEATED or len(answers) <= FEW or sum(lengths) > WORDS * len(lengths):
        return {}
    torn = {prompt: given for prompt, given in repeated.items() if len({plain(a) or a for a in given}) > 1}
    share = len(torn) / len(repeated)
    if not torn:
        return {"prompt_torn": share}
    prompt, given = next(iter(torn.items()))
    other = next(answer for answer in given if (plain(answer) or answer) != (plain(given[0]) or given[0]))
    said = f"{len(torn)} of {len(repeated)} repeated prompts, such as {prompt[-SHOWN:]!r}: {given[0]!r} and {other!r}"
    return {"prompt_torn": (share, said)}
