"""Results that hold arrays: values, which nobody can change."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np


class ArrayValue:
    """For frozen dataclasses: their arrays are read-only, also in copies and pickles.

    Arrays in tuples are copied first, since they may well be a caller's own.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # what this is mixed into is a dataclass

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
        own = fields(self)
        return type(self), tuple(getattr(self, field.name) for field in own if field.init)
