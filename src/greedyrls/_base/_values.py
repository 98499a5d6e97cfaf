"""Single values, and immutable results that are compared by value or hold arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, TypeGuard

import numpy as np


class ByValue:
    """Base of frozen dataclasses with NaN or arrays among their fields: NaN is equal to NaN."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]  # subclasses are dataclasses

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByValue) or type(other) is not type(self):
            return NotImplemented
        return all(map(_is_same, self._values(), other._values()))

    def __hash__(self) -> int:
        return hash(tuple(map(_hashable, self._values())))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other, equal_nan=True)
    return bool(one == other or (one != one and other != other))


def _hashable(value: Any) -> Any:
    """Return the same for values that are equal, also where these are NaN or arrays."""
    if isinstance(value, np.ndarray):
        return value.shape
    return None if value != value else value


class ArrayValue:
    """Base of frozen dataclasses whose arrays are read-only, also in copies and pickles.

    Arrays in tuples are copied first, since they may belong to the caller.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # subclasses are dataclasses

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name, None)
            if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
                value = tuple(array.copy() for array in value)
                object.__setattr__(self, field.name, value)
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False

    # Arrays lose their read-only flag when copied or pickled: go through the constructor.
    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        attributes = fields(self)
        return type(self), tuple(getattr(self, field.name) for field in attributes if field.init)


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether the value is an integer of Python or NumPy; True and False do not count."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
