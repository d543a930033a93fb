"""`dataclass` and `replace` of the standard library, for values: frozen dataclasses whose methods all such classes share.

The standard library compiles eight functions for each class. A start makes a hundred classes, which took a tenth of its time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(*, frozen: bool, kw_only: bool = False, eq: bool = True) -> Callable[[type], type]:
        """As `dataclasses.dataclass`; a value is always frozen."""
        assert frozen

        def made(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise its signature is looked up, and written there
            of_value = dataclasses.is_dataclass(cls)  # one that extends another
            dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, frozen=of_value)(cls)
            cls.__dataclass_params__.frozen = True
            fields, missing = dataclasses.fields(cls), dataclasses.MISSING
            cls._layout = (
                {f.name: None if f.default is missing else f.default for f in fields},
                [(f.name, f.default_factory) for f in fields if f.default_factory is not missing],
                frozenset(f.name for f in fields if f.default is f.default_factory is missing),
                [f.name for f in fields if not f.kw_only],
                [f.name for f in fields if f.compare],
            )
            cls.__signature__ = _Signature()
            for method in (_METHODS | _EQUAL if eq else _METHODS).items():
                if method[0] not in vars(cls):
                    setattr(cls, *method)
            return cls

        return made

    def replace(value: Any, **changes: Any) -> Any:
        """The value with some of its fields changed."""
        if not hasattr(value, "_layout"):
            return dataclasses.replace(value, **changes)
        held, blank, other = value.__dict__, value._layout[0], object.__new__(type(value))
        other.__dict__.update({name: held[name] for name in blank} | changes)
        if len(other.__dict__) != len(blank):
            raise TypeError(f"{type(value).__name__}: unknown: {', '.join(sorted(changes.keys() - blank.keys()))}")
        return other


class _Signature:
    """What `inspect.signature` says of a value's class: its fields, as the standard library would. Made when it is asked for."""

    def __get__(self, value: Any, cls: type) -> Any:
        import inspect

        missing, kinds = dataclasses.MISSING, inspect.Parameter
        fields = sorted(dataclasses.fields(cls), key=lambda f: bool(f.kw_only))
        return inspect.Signature(
            [
                kinds(
                    f.name,
                    kinds.KEYWORD_ONLY if f.kw_only else kinds.POSITIONAL_OR_KEYWORD,
                    annotation=f.type,
                    default=kinds.empty
                    if f.default is f.default_factory is missing
                    else f.default
                    if f.default is not missing
                    else dataclasses._HAS_DEFAULT_FACTORY,  # type: ignore[attr-defined]
                )
                for f in fields
            ]
        )


def _init(self: Any, *places: Any, **given: Any) -> None:
    blank, makers, needed, ordered, _ = self._layout
    if places:
        named = dict(zip(ordered, places))  # noqa: B905
        if len(named) < len(places) or not named.keys().isdisjoint(given):
            raise TypeError(f"{type(self).__name__}: too many values, or one of them twice")
        given.update(named)
    values = self.__dict__
    values.update(blank)
    for name, maker in makers:
        if name not in given:
            values[name] = maker()
    values.update(given)
    if len(values) != len(blank) or not given.keys() >= needed:
        wrong = sorted(needed - given.keys()) or sorted(given.keys() - blank.keys())
        raise TypeError(f"{type(self).__name__}: missing or unknown: {', '.join(wrong)}")


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self._layout[4]])


def _eq(self: Any, other: object) -> Any:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _setattr(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = {"__init__": _init, "__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr}
_EQUAL = {"__eq__": _eq, "__hash__": _hash}
