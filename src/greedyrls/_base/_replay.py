"""Device work that is recorded once and replayed: one launch instead of a hundred.

With few rows, the time of a step on a GPU is that of launching its operations one by one. A CUDA
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
    """A recorded function of device arrays; the next run overwrites its results.

    The first input is a vector that is copied from the host, and the first result, if any, is one
    that is copied to the host; with `is_sent=False` nothing is copied from the host. With
    `is_loaded=False`, for work whose kernels are not loaded yet or that may never be repeated, the
    first run launches the operations one by one, and the second records them.
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
        self._host_input = torch.empty_like(inputs[0], device="cpu", pin_memory=True)
        self.host_input: Float = self._host_input.numpy()  # written to before a run
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
        # Graphs of earlier searches must not be freed during the recording.
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
        # The work may refer to this object: without a cycle, memory is freed at once.
        self._work = _is_recorded

    def _launch(self) -> None:
        import torch

        if self._is_sent:
            self.inputs[0].copy_(self._host_input, non_blocking=True)
        self.outputs = self._work(*self.inputs)
        if self.outputs:
            self._asked = torch.empty_like(self.outputs[0], device="cpu", pin_memory=True)
            self._asked.copy_(self.outputs[0], non_blocking=True)

    def start(self) -> None:
        """Compute `outputs` from the current `host_input` and `inputs`, asynchronously."""
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
        """Wait until `host_input` may be written to again."""
        if self._is_under_way:
            self._done.synchronize()
            self._is_under_way = False

    def run(self) -> Float:
        """Compute `outputs`, wait, and return the first of them on the host."""
        self.start()
        note_transfer()
        self.wait()
        asked: Float = self._asked.numpy().copy()
        return asked


def pinned_like(values: Array) -> Float:
    """Return memory of the host for `send_pinned` to a device tensor of the same shape."""
    import torch

    memory: Float = torch.zeros_like(values, device="cpu", pin_memory=values.is_cuda).numpy()
    return memory


def send_pinned(values: Float, target: Array) -> None:
    """Copy pinned memory to the device; does not wait for it, unlike copies of other memory.

    The values must not change until the copy is known to have ended.
    """
    import torch

    target.copy_(torch.from_numpy(values), non_blocking=True)


def _is_recorded(*_: Array) -> Sequence[Array]:
    """Placeholder for recorded work, whose operations are never launched one by one again."""
    raise AssertionError


def recorder_of(location: ArrayLocation) -> type[Any] | None:
    """Return the class that records work at a location, or None."""
    if array_api_compat.is_torch_namespace(location.xp) and location.device.type == "cuda":
        return Replay
    return None
