"""Calls of a user's function that leave no trace: on a copy of its own state, with the random numbers put back."""

import copy
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CellType, FunctionType
from typing import Any

import numpy as np


class Uncopied(TypeError):
    """A function holds something that cannot be copied, such as an open connection or a model."""


def isolated(function: Any, shared: Sequence[Any] = ()) -> Callable[..., Any]:
    """A copy of a function with a copy of what it closes over, or of an object that is called. Raises Uncopied.

    `shared` is not copied, wherever it occurs: what the function only reads.
    """
    try:
        if not isinstance(function, FunctionType):
            return copy.deepcopy(function, {id(one): one for one in shared})  # type: ignore[no-any-return]
        cells = [CellType(_copied(cell.cell_contents, shared)) for cell in function.__closure__ or ()]
        defaults = copy.deepcopy(function.__defaults__)
        made = FunctionType(function.__code__, function.__globals__, function.__name__, defaults, tuple(cells) or None)
        made.__kwdefaults__ = copy.deepcopy(function.__kwdefaults__)
        return made
    except Exception as error:
        raise Uncopied(f"{getattr(function, '__name__', function)}: {error}") from None


def _copied(value: Any, shared: Sequence[Any]) -> Any:
    if any(value is one for one in shared):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        raise Uncopied("a model")
    return isolated(value, shared)


@contextmanager
def same_random_numbers() -> Iterator[None]:
    """Afterwards, Python, numpy and torch draw what they would have drawn without what happened in here."""
    torch = sys.modules.get("torch")
    before = random.getstate(), np.random.get_state()
    drawn = None if torch is None else torch.get_rng_state()
    devices = torch.cuda.get_rng_state_all() if torch is not None and torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        if torch is not None:
            torch.set_rng_state(drawn)
            if devices is not None:
                torch.cuda.set_rng_state_all(devices)
