"""Device work recorded once and replayed: one launch instead of a hundred.

With few rows, a step on a GPU takes as long as it takes to launch its operations one by one. A CUDA
graph launches them together, with the transfers before and after; it works on fixed memory.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat

from ._namespaces import Array, ArrayLocation, Float, note_transfer

Work = Callable[..., Sequence[Array]]


class Replay:
    """A function of device arrays, recorded; its results are overwritten by the next run.

    The first input is a vector that comes from the host, the first result, if any, one that goes
    there, unless it is said that nothing comes. What is not loaded yet, because its kernels were
    never launched, or not worth recording before it is done again, is not recorded at once: the
    first run launches it an operation at a time.
    """

    def __init__(
        self, work: Work, inputs: Sequence[Array], is_loaded: bool = True, is_sent: bool = True
    ) -> None:
        import torch

        self.inputs = inputs
        self.outputs: Sequence[Array] = ()
        self._work = work
        self._device = inputs[0].device
        cuda: Any = torch.cuda  # parts of it have no annotations
        self._stream = cuda.current_stream
        self._done = cuda.Event()
        self._is_under_way = False
        self._given = torch.empty_like(inputs[0], device="cpu", pin_memory=True)
        self.given: Float = self._given.numpy()  # written to before a run
        self._is_sent = is_sent
        self._asked: Any = None
        self._graph: Any = None
        self._is_loaded = is_loaded
        if is_loaded:
            self._record()

    def _record(self) -> None:
        import torch

        cuda: Any = torch.cuda
        graph = cuda.CUDAGraph()
        stream = cuda.Stream(self._device)
        stream.wait_stream(self._stream(self._device))
        # Graphs of earlier searches must not be thrown away meanwhile.
        is_collecting = gc.isenabled()
        gc.disable()
        try:
            with torch.cuda.stream(stream):
                graph.capture_begin(capture_error_mode="thread_local")
                try:
                    self._launch()
                finally:
                    graph.capture_end()
        finally:
            if is_collecting:
                gc.enable()
        self._graph = graph
        # The work may know who has this: nothing is to wait for the garbage collector.
        self._work = _is_recorded

    def _launch(self) -> None:
        import torch

        if self._is_sent:
            self.inputs[0].copy_(self._given, non_blocking=True)
        self.outputs = self._work(*self.inputs)
        if self.outputs:
            self._asked = torch.empty_like(self.outputs[0], device="cpu", pin_memory=True)
            self._asked.copy_(self.outputs[0], non_blocking=True)

    def start(self) -> None:
        """From what `given` and `inputs` hold now to `outputs`; nobody waits for that."""
        if self._graph is None and self._is_loaded:
            self._record()
        if self._graph is None:
            self._launch()
            self._is_loaded = True
        else:
            self._graph.replay()
        if self._is_sent:
            self._done.record(self._stream(self._device))
            self._is_under_way = True

    def wait(self) -> None:
        """Until `given` may be written to again."""
        if self._is_under_way:
            self._done.synchronize()
            self._is_under_way = False

    def run(self) -> Float:
        """The same, and the first of `outputs` on the host."""
        self.start()
        note_transfer()
        self.wait()
        asked: Float = self._asked.numpy().copy()
        return asked


def _is_recorded(*_: Array) -> Sequence[Array]:
    """In the place of work that is not done an operation at a time again."""
    raise AssertionError


def recorder_of(location: ArrayLocation) -> type[Any] | None:
    """What records work at a place, if anything does."""
    if array_api_compat.is_torch_namespace(location.xp) and location.device.type == "cuda":
        return Replay
    return None
