"""Recorded steps in the queue of a GPU, and the transfers of their reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base import Array, Float, note_transfer

# The most steps launched at a time; half as many are queued while the host reads the others.
_MOST_STEPS = 16
# Outcomes of a step.
DOUBTFUL, PLAIN, LACKS_COLUMN = 0.0, 1.0, 2.0


class StepQueue:
    """Steps that a device takes one after the other; each writes a row of the history."""

    def __init__(self, history: Array, record: Callable[[], Any]) -> None:
        """`history` (capacity × numbers of a report); `record` makes the replay of a step."""
        self._history, self._record = history, record
        self._rows = np.zeros(tuple(history.shape))
        self._replay: Any = None
        self.begin(0)

    def begin(self, size: int) -> None:
        """Prepare for steps from a model of `size` features."""
        self._end = size  # |S| after all steps in the queue
        self._fetched = size  # |S| up to which rows are on the host
        self._count = 2
        self._transfers: list[tuple[int, Any, Any]] = []

    def report(self, size: int, last: int) -> Float | None:
        """Return the report of the step from a model of `size` features; None beyond `last`.

        No step in the queue leads beyond `last` features.
        """
        if size >= self._fetched:
            self._wait(last)
        return None if size >= self._fetched else self._rows[size]

    def _launch(self, most: int) -> None:
        """Queue up to `most` more steps, and the transfer of their reports."""
        if self._replay is None:
            self._replay = self._record()
        count = min(self._count, most)
        self._count = min(_MOST_STEPS, 2 * self._count)
        for _ in range(count):
            self._replay.start()
        begin, self._end = self._end, self._end + count
        self._transfers.append((self._end, *_start_transfer(self._history[begin : self._end])))

    def _wait(self, last: int) -> None:
        """Wait for the next reports, with more steps in the queue meanwhile."""
        while len(self._transfers) < 2 and self._end < last:
            self._launch(last - self._end)
        if self._transfers:
            end, rows, event = self._transfers.pop(0)
            if event is not None:
                event.synchronize()
            note_transfer()
            self._rows[self._fetched : end] = rows
            self._fetched = end


def _start_transfer(rows: Array) -> tuple[Float, Any]:
    """Start the transfer of rows to the host; returns them and the event to wait for."""
    import torch

    if not rows.is_cuda:
        return rows.numpy().copy(), None
    pinned = torch.empty_like(rows, device="cpu", pin_memory=True)
    pinned.copy_(rows, non_blocking=True)
    cuda: Any = torch.cuda
    event = cuda.Event()
    event.record(cuda.current_stream(rows.device))
    return pinned.numpy(), event
