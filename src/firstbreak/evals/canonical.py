"""One spelling for every value, so that equal values have equal hashes on every machine."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

_EXACT = 2.0**53  #: above this, a float cannot represent every whole number


def canonical(value: Any) -> str:
    """The value as JSON in one spelling: keys sorted, no spaces, ASCII, 1.0 written as 1.

    ASCII, because databases refuse some characters that JSON strings may hold (NUL, half a surrogate pair).
    Raises ValueError for values that JSON cannot hold: NaN, infinities, objects.
    """
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def plain(value: Any) -> Any:
    """The value made of dicts with text keys, lists, text, numbers, booleans and None. Raises ValueError otherwise."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number that can be recorded")
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy number
        return plain(value.item())
    raise ValueError(f"{type(value).__name__} cannot be recorded: use text, numbers, lists and mappings")


def digest(*parts: str) -> str:
    """SHA-256 over the parts, one line each, in hexadecimal."""
    return hashlib.sha256("\n".join(parts).encode("ascii")).hexdigest()
