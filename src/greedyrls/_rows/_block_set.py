"""All row blocks of a search: each is asked the same question, and answers are added up."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Self, TypeVar

from .._base import HOST, Executor, Handle, SerialExecutor, long_call

Block = TypeVar("Block")


class BlockSet(Generic[Block]):
    """The interface of a search to its row blocks, wherever they are."""

    feature_location = HOST  # where vectors of n features are

    def __init__(
        self,
        blocks: Iterable[Handle],
        shape: tuple[int, int],
        executor: Executor | None = None,
    ) -> None:
        self._blocks = list(blocks)
        self._executor: Executor = SerialExecutor() if executor is None else executor
        self._rows, self._n_features = shape
        self.passes = 0
        self.exact_evaluations = 0

    def fork(self, count: int = 0) -> Self:
        """The same rows for another search; blocks are values, and share their columns.

        `count` is the expected number of chosen features.
        """
        other = copy.copy(self)
        other.passes = other.exact_evaluations = 0
        return other

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The current blocks, or references to them if they are in other processes."""
        return tuple(self._blocks)

    def total(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Any:
        """Sum the results of all blocks; `parts` are further arguments, one item per block."""
        return self._executor.total(question, self._blocks, *parts)

    def each(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> list[Handle]:
        """Return the result of each block; `parts` are further arguments, one item per block."""
        return self._executor.each(question, self._blocks, *parts)

    def become(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> None:
        """Replace every block by its answer to a question."""
        self._blocks = self.each(question, *parts)

    def _pass(self, count: int) -> AbstractContextManager[None]:
        """Allow BLAS threads for products of X with vectors, unless the blocks have threads."""
        is_serial = isinstance(self._executor, SerialExecutor)
        return long_call(float(count) * self._rows * self._n_features if is_serial else 0.0)
