"""Arrays that travel together between the host and a device, in one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, TypeVar

from ._namespaces import Array, split

Fields = TypeVar("Fields")


class Layout(Generic[Fields]):
    """Where the fields of a tuple lie in a vector of float64: one after the other.

    The host packs and unpacks by these views, and kernels get their pointers from them.
    """

    def __init__(self, fields: Callable[..., Fields], *shapes: tuple[int, ...]) -> None:
        self._fields, self._shapes = fields, shapes
        self.size = sum(map(math.prod, shapes))

    def views(self, vector: Array) -> Fields:
        """The fields of a vector, which may have other numbers after them; nothing is copied."""
        return self._fields(*split(vector, self._shapes))
