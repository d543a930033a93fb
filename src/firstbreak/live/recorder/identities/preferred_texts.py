"""What the reward pays for: the right answer before none, its own prompt's before another's, a text once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import row, total
from firstbreak.live.recorder.measuring import Reading

PROBED = 8  #: prompts

Score = Callable[[Sequence[int], Mapping[int, str]], np.ndarray]


def measure(
    score: Score,
    rewards: np.ndarray,
    prompts: Sequence[str],
    completions: Sequence[str],
    references: Sequence[str],
    reward_weights: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """Shares of the probed prompts. `references`: the right answer of each row.

    reward_turned: the right answer gets less than an empty text; reward_open: an empty text gets as much as the right answer,
    and as every completion or as the best one, where others get less; reward_deaf: all texts of a prompt get the same, and
    other prompts get something else; reward_unread: another prompt's answer gets as much as the right one, which gets more than
    an empty text, or as much as the best completion and more than the worst; reward_longer: a text that is repeated gets more.
    """
    first = list({prompt: i for i, prompt in reversed(list(enumerate(prompts)))}.values())[:PROBED]
    if len(first) < 2 or len({references[i] for i in first}) < 2:
        return {}

    def paid(text: Callable[[int], str]) -> np.ndarray:
        return total(score(first, {i: text(i) for i in first}), reward_weights)

    others = {i: next(references[j] for j in first if references[j] != references[i]) for i in first}
    right, empty, other = paid(lambda i: references[i]), paid(lambda i: ""), paid(lambda i: others[i])
    repeated = {
        i: (" " if " " in completions[i].strip() else "").join([completions[i]] * 2) for i in first
    }  # words stay words
    twice, once = paid(lambda i: repeated[i]), paid(lambda i: completions[i])
    known = total(rewards, reward_weights)
    spread = np.array([np.ptp(np.nan_to_num(known[[p == prompts[i] for p in prompts]])) for i in first])
    flat = (spread == 0) & (right == empty) & (right == other) & (right == known[first])
    best = (right >= np.nanmax(known)) & (right > np.nanmin(known))
    deaf = flat & bool(len(set(right[flat])) > 1)
    shares = {
        "reward_turned": right < empty,
        "reward_open": (flat & (not deaf.any()) & (right > 0)) | ((empty == right) & best),
        "reward_deaf": deaf,
        "reward_unread": (other >= right) & ((right > empty) | best),
        "reward_longer": np.array([bool(completions[i]) for i in first]) & (twice > once),
    }
    said = {
        name: row(first[int(np.argmax(wrong))], prompts, f": right answer {right[k]:.4g}, empty text {empty[k]:.4g}")
        for name, wrong in shares.items()
        for k in [int(np.argmax(wrong))]
    }
    read = {name: (s, said[name]) if (s := float(wrong.mean())) > 0 else s for name, wrong in shares.items()}
    return read | {"probed_prompts": float(len(first))}
