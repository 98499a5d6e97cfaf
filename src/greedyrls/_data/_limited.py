"""X in a file, whose values are read when they are needed, within some bytes of memory."""

from __future__ import annotations

from typing import Generic, TypeVar

from ._file_memory import Needs, Room, default_limit
from ._file_sources import Source
from ._matrix import Matrix

AnySource = TypeVar("AnySource", bound=Source)


class LimitedMatrix(Matrix, Generic[AnySource]):
    """X (m × n) in a file for one search; `reserve` divides its memory."""

    noun = "in a file"
    passes_dominate = True
    has_own_threads = True

    def __init__(self, source: AnySource, memory_limit: int | None = None) -> None:
        self._source = source
        self.shape, self.dtype = source.shape, source.dtype
        self.memory_limit = default_limit() if memory_limit is None else memory_limit
        self._room: Room | None = None
        self._verbose = 0
        if min(source.shape) < 1:
            raise ValueError(f"{source.name} has no data: its shape is {source.shape}.")

    @property
    def memory(self) -> Room:
        """The division of the memory that X may use."""
        if self._room is None:
            self.reserve(Needs())
        assert self._room is not None
        return self._room
