"""Device work recorded once and replayed: one launch instead of a hundred.

With few rows, a step on a GPU takes as long as it takes to launch its operations one by one. A CUDA
graph launches them together; it works on fixed memory, which the inputs are copied to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat

from ._namespace import Array, Place

Work = Callable[..., Sequence[Array]]


class Replay:
    """A function of some device arrays, recorded; its results are overwritten by the next call."""

    def __init__(self, work: Work, inputs: Sequence[Array]) -> None:
        import torch

        self.inputs = inputs
        self._graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(inputs[0].device)
        stream.wait_stream(torch.cuda.current_stream(inputs[0].device))
        with torch.cuda.stream(stream):
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                self.outputs = work(*inputs)
            finally:
                self._graph.capture_end()

    def run(self) -> None:
        """From what `inputs` hold now to `outputs`."""
        self._graph.replay()


def recorder_of(place: Place) -> type[Any] | None:
    """What records work at a place, if anything does."""
    if array_api_compat.is_torch_namespace(place.xp) and place.device.type == "cuda":
        return Replay
    return None
