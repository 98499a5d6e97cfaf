"""Device work recorded once and replayed: one launch instead of a hundred.

With few rows, a step on a GPU takes as long as it takes to launch its operations one by one. A CUDA
graph launches them together, with the transfers before and after; it works on fixed memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat

from ._namespace import Array, Float, Place, note_transfer

Work = Callable[..., Sequence[Array]]


class Replay:
    """A function of device arrays, recorded; its results are overwritten by the next run.

    The first input is a vector that comes from the host, the first result one that goes there.
    """

    def __init__(self, work: Work, inputs: Sequence[Array]) -> None:
        import torch

        self.inputs = inputs
        self._stream = torch.cuda.current_stream
        self._device = inputs[0].device
        self._graph = torch.cuda.CUDAGraph()
        given = torch.empty_like(inputs[0], device="cpu", pin_memory=True)
        self.given: Float = given.numpy()  # written to before a run
        cuda: Any = torch.cuda  # parts of it have no annotations
        stream = cuda.Stream(self._device)
        stream.wait_stream(self._stream(self._device))
        with torch.cuda.stream(stream):
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                inputs[0].copy_(given, non_blocking=True)
                self.outputs = work(*inputs)
                asked = torch.empty_like(self.outputs[0], device="cpu", pin_memory=True)
                asked.copy_(self.outputs[0], non_blocking=True)
            finally:
                self._graph.capture_end()
        self._pinned = given, asked
        self._asked: Float = asked.numpy()

    def run(self) -> Float:
        """From what `given` and `inputs` hold now to `outputs`; the first of them, on the host."""
        self._graph.replay()
        note_transfer()
        self._stream(self._device).synchronize()
        return self._asked.copy()


def recorder_of(place: Place) -> type[Any] | None:
    """What records work at a place, if anything does."""
    if array_api_compat.is_torch_namespace(place.xp) and place.device.type == "cuda":
        return Replay
    return None
