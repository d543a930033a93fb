"""A completion is paid more against its own prompt's answer than against another's, once it depends on its prompt."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from firstbreak.live.recorder.identities._rows import last_word, members, total
from firstbreak.live.recorder.identities.preferred_texts import Score
from firstbreak.live.recorder.measuring import Reading

ROWS = 64  #: that are scored again
MIN_GROUPS = 4
LENIENT = 0.25  #: share of the prompts: a verifier that pays any answer says nothing of its prompt (convention)


def measure(
    score: Score,
    rewards: np.ndarray,
    prompts: Sequence[str],
    completions: Sequence[str],
    references: Sequence[str],
    group: float | Sequence[str] | np.ndarray,
    reward_weights: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """Completions in the place of another prompt's.

    own_lift: how much more they get in their own place, in standard deviations of the reward; own_error: its standard error;
    own_agreement: how much more alike the last words of two completions are where they have one prompt.
    """
    groups = [rows for rows in members(group, len(prompts)) if len(rows) > 1 and len({prompts[i] for i in rows}) == 1]
    answers = [references[int(rows[0])] for rows in groups]
    if len(set(answers)) < MIN_GROUPS or len({len(rows) for rows in groups}) > 1:
        return {}
    turns = range(1, len(groups))
    turn = max(turns, key=lambda n: sum(a != b for a, b in zip(answers, answers[n:] + answers[:n], strict=True)))
    each = max(1, ROWS // len(groups))
    both = [(g[:each], groups[(k + turn) % len(groups)][:each]) for k, g in enumerate(groups)]
    both = [(mine, theirs) for mine, theirs in both if references[int(mine[0])] != references[int(theirs[0])]]
    mine, theirs = (np.concatenate(rows).tolist() for rows in zip(*both, strict=True))
    own = total(rewards, reward_weights)[mine]
    elsewhere = total(score(theirs, {j: completions[i] for i, j in zip(mine, theirs, strict=True)}), reward_weights)
    first, there = [int(rows[0]) for rows, _ in both], [int(rows[0]) for _, rows in both]
    right = total(score(first, {i: references[i] for i in first}), reward_weights)
    others = total(score(first, {i: references[j] for i, j in zip(first, there, strict=True)}), reward_weights)
    if float(np.mean((others >= right) & (right > np.nanmin(own)))) > LENIENT:  # another's answer is paid as well
        return {}
    spread = float(np.std(np.concatenate([own, elsewhere])))
    if not np.isfinite(spread) or spread == 0:
        return {}
    # completions of a prompt are no independent ones
    more = ((own - elsewhere) / spread).reshape(len(both), -1).mean(1)
    return {
        "own_lift": float(more.mean()),
        "own_error": float(more.std(ddof=1)) / len(more) ** 0.5,
        "own_agreement": _agreement(groups, completions),
    }


def _agreement(groups: Sequence[np.ndarray], completions: Sequence[str]) -> float:
    words = [[last_word(completions[int(i)]) for i in rows] for rows in groups]
    within = [_alike(said[0], other) for said in words for other in said[1:]]
    between = [_alike(a, b) for here, there in pairwise(words) for a, b in zip(here, there, strict=True)]
    return float(np.mean(within) - np.mean(between))


def _alike(a: str, b: str) -> float:
    """The share of places with the same letter."""
    return sum(x == y for x, y in zip(a, b, strict=False)) / max(len(a), len(b), 1)
