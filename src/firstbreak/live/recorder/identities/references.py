"""The right answers beside the prompts are those of the prompts."""

from collections import Counter
from collections.abc import Mapping, Sequence

from firstbreak.live.recorder.identities._rows import last_word, row
from firstbreak.live.recorder.measuring import Reading

MIN_DISTINCT = 24  #: answers: where there are few, a wrong completion is another prompt's answer now and then
AGREED = 0.5  #: share of a prompt's completions that give one answer


def measure(
    completions: Sequence[str],
    references: Sequence[str],
    known: Sequence[str],
    prompts: Sequence[str],
    of_data: bool = False,
) -> Mapping[str, Reading]:
    """Of the prompts whose completions agree on an answer of the data, the share for which it is not their own.

    `of_data`: the references are a column of the data, and not what a verifier was handed: answer_elsewhere is the share then.
    """
    answers = {text.strip() for text in known}
    if len(answers) < MIN_DISTINCT:
        return {}
    given: dict[str, list[int]] = {}
    for i, prompt in enumerate(prompts):
        given.setdefault(prompt, []).append(i)
    agreed = []
    for rows in given.values():
        answer, n = Counter(last_word(completions[i]) for i in rows).most_common(1)[0]
        if len(rows) > 1 and n >= AGREED * len(rows) and answer in answers:
            agreed.append((rows[0], answer))
    if len(agreed) < 2:
        return {}
    elsewhere = [(i, answer) for i, answer in agreed if answer != references[i].strip()]
    share = len(elsewhere) / len(agreed)
    said = (
        row(elsewhere[0][0], prompts, f": its completions say {elsewhere[0][1]!r}, another's answer")
        if elsewhere
        else ""
    )
    return {"answer_elsewhere" if of_data else "reference_elsewhere": (share, said) if share > 0.9 else share}
