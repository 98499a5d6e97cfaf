"""Data in host memory streamed to a GPU.

Makes one problem on the device (that of the suite gpu), copies it to host memory, and selects from
it three times: resident on the device, streamed from ordinary memory and streamed from pinned
memory. Too little memory on the device is simulated by limiting what the package may use. Writes
seconds, passes and the speed of the link beside that of one plain pinned copy, and whether features
and losses are those of the resident run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import suite
from harness.suite import RESULTS, Environment, Suite, option

from .gpu import Problem, require_cuda

if TYPE_CHECKING:
    from greedyrls import SelectionPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """The problem, and the memory of the device."""

    output: Path = option(RESULTS / "stream.json", "where the JSON goes")
    threads: int = option(suite.ALL_CORES, "threads of BLAS and OpenMP; 0: all cores")
    rows: int = option(5_000_000, "rows of X")
    features: int = option(1_000, "columns of X")
    k: int = option(50, "how many features to select")
    memory: float = option(8.0, "GB that the device may have")


@dataclass(frozen=True, slots=True)
class Run:
    """One selection, or at the end (`values` None) what was measured beside them."""

    values: dict[str, Any] | None
    about: dict[str, Any]


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and seconds."""
    import torch

    torch.cuda.synchronize()
    began = time.perf_counter()
    result = run()
    torch.cuda.synchronize()
    return result, time.perf_counter() - began


def link_speed(size: int = 1 << 30) -> float:
    """GB/s of one pinned copy to the device."""
    import torch

    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(size, dtype=torch.uint8, device="cuda")
    speeds = []
    for _ in range(3):
        _, seconds = timed(lambda: there.copy_(host, non_blocking=True))
        speeds.append(size / 1e9 / seconds)
    return max(speeds)


def row(name: str, path: SelectionPath, seconds: float, size: float, known: Any) -> dict[str, Any]:
    """One line of the table."""
    passes = path.counters.passes
    is_same = known is None or bool((path.indices == known.indices).all())
    apart = 0.0 if known is None else float(np.abs(path.losses / known.losses - 1.0).max())
    return {
        "X": name,
        "seconds": seconds,
        "passes": passes,
        "GB_per_second": passes * size / seconds,
        "exact_evaluations": path.counters.exact_evaluations,
        "same_features": is_same,
        "losses_differ_by": apart,
    }


def rows(options: Options) -> Iterator[Run]:
    """X on the device, in ordinary memory and in pinned memory."""
    require_cuda()
    import torch

    import greedyrls
    import greedyrls._data._devices as devices
    from greedyrls import greedy_path

    problem = Problem(options.rows, options.features, "float32", 0, 0, options.k)
    X, y = problem.make()
    size = X.nbytes / 1e9
    about: dict[str, Any] = {"problem": problem.name, "k": options.k, "GB": size}
    greedy_path(X, y, options.k)  # kernels are compiled, and memory is allocated
    known, seconds = timed(partial(greedy_path, X, y, options.k))
    yield Run(row("resident", known, seconds, size, None), about)
    host, there = X.cpu(), y.cpu().numpy()
    del X
    torch.cuda.empty_cache()
    _, copying = timed(lambda: devices.on_device(host.numpy(), "cuda"))
    torch.cuda.empty_cache()
    devices.free_bytes = lambda place: int(options.memory * 1e9)
    greedy_path(host[:2_000_000].numpy(), there[:2_000_000], 2, device="cuda")
    for name, given in (("ordinary memory", host.numpy()), ("pinned memory", None)):
        values = host.pin_memory() if given is None else given
        path, seconds = timed(partial(greedy_path, values, there, options.k, device="cuda"))
        yield Run(row(name, path, seconds, size, known), about)
    yield Run(
        None,
        about
        | {
            "device": torch.cuda.get_device_name(),
            "memory_allowed_GB": options.memory,
            "pinned_copy_GB_per_second": link_speed(),
            "seconds_to_copy_X": copying,
            "version": greedyrls.__version__,
        },
    )


def document(options: Options, environment: Environment, found: Sequence[Run]) -> dict[str, Any]:
    """The problem, the link, and all runs."""
    return found[-1].about | {"runs": [run.values for run in found if run.values is not None]}


SUITE = Suite(
    name="stream",
    sentence="Selection on a GPU from X in host memory, beside X on the device.",
    options=Options,
    rows=rows,
    document=document,
    line=lambda run: str(run.about if run.values is None else run.values),
)
