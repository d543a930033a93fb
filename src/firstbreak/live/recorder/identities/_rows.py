"""How a row is named in a report."""

from collections.abc import Sequence

import numpy as np

SHOWN = 60  #: characters of a text


def row(i: int, prompts: Sequence[str] | None = None, more: str = "") -> str:
    """`row 5, prompt 'sort:52731='`."""
    text = "" if prompts is None else f", prompt {prompts[i][-SHOWN:]!r}"
    return f"row {i}{text}{more}"


def total(rewards: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The reward of each completion, shape (n,): the weighted sum of its functions; NaN where no function gave one."""
    table = np.asarray(rewards, dtype=float).reshape(len(rewards), -1)
    summed: np.ndarray = np.nansum(table * (1.0 if weights is None else weights), axis=1)
    return np.where(np.isnan(table).all(axis=1), np.nan, summed)


def counted(lengths: np.ndarray, width: int) -> np.ndarray:
    """Shape (n, width): True for the tokens that were sampled. `lengths` (n,): how many, or (n, width): which."""
    return lengths != 0 if lengths.ndim == 2 else np.arange(width) < lengths.reshape(-1, 1)


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
