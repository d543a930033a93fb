"""How a row is named in a report."""

from collections.abc import Sequence

import numpy as np

SHOWN = 60  #: characters of a text
SINGLE = 0.02  #: share of the rows: a policy samples a padding token itself now and then


def row(i: int, prompts: Sequence[str] | None = None, more: str = "") -> str:
    """`row 5, prompt 'sort:52731='`."""
    text = "" if prompts is None else f", prompt {prompts[i][-SHOWN:]!r}"
    return f"row {i}{text}{more}"


def total(rewards: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The reward of each completion, shape (n,): the weighted sum of its functions; NaN where no function gave one."""
    table = np.asarray(rewards, dtype=float).reshape(len(rewards), -1)
    summed: np.ndarray = np.nansum(table * (1.0 if weights is None else weights), axis=1)
    return np.where(np.isnan(table).all(axis=1), np.nan, summed)


def sampled(lengths: np.ndarray, used: np.ndarray, tool_mask: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
    """Shape (n, T): True for the tokens that were sampled, and whether that is known.

    `lengths` (n, T): which, or (n,): how many, with or without those of a tool; `tool_mask`: 1 where no tool wrote. Without it,
    what `used` (n, T) leaves out between tokens of the loss may be a tool's.
    """
    if lengths.ndim == 2:
        return lengths != 0, True
    first = np.arange(used.shape[1]) < lengths.reshape(-1, 1)
    if tool_mask is not None:
        own = np.broadcast_to(tool_mask != 0, used.shape)
        among = own & (np.cumsum(own, 1) <= lengths.reshape(-1, 1))
        return min((first & own, among), key=lambda table: float((table != used).sum())), True
    after = np.cumsum(used, 1)
    if (~used & (after > 0) & (after < after[:, -1:])).any(1).mean() <= SINGLE:
        return first, True
    return np.where((after[:, -1] == lengths).reshape(-1, 1), used, first), False


def members(group: float | Sequence[str] | np.ndarray, n: int) -> list[np.ndarray]:
    """The rows of each group. `group`: completions of a prompt, which follow each other, or (n,) the group of each row.

    Empty where n rows are no whole groups.
    """
    if not isinstance(group, int | float):
        places = np.unique(group, return_inverse=True)[1].ravel()
        return [np.flatnonzero(places == k) for k in range(int(places.max(initial=-1)) + 1)]
    size = int(group)
    return [np.arange(i, i + size) for i in range(0, n, size)] if size > 1 and n % size == 0 else []


def plain(text: str) -> str:
    """Letters and digits of a text: spaces, marks and capitals make no answer wrong."""
    return "".join(c for c in text.casefold() if c.isalnum())


def last_word(text: str) -> str:
    """The last word or number of a text, without marks around it."""
    words = text.replace("\n", " ").split()
    return words[-1].strip(".,;:!?$*()[]{}\"'`") if words else ""
