"""Data in host memory streamed to a GPU: `python benchmarks/stream.py`.

Makes one problem on the device (that of gpu.py), copies it to host memory, and selects from it
three times: resident on the device, streamed from ordinary memory and streamed from pinned memory.
A device that has too little room is had by saying so. Writes seconds, passes and the speed of the
link beside that of one plain pinned copy, and whether features and losses are those of the resident
run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import greedyrls
import greedyrls._data._devices as devices
from gpu import Problem
from greedyrls import SelectionPath, greedy_path

RESULTS = Path(__file__).parent / "results"


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and seconds."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    result = run()
    torch.cuda.synchronize()
    return result, time.perf_counter() - began


def link_speed(size: int = 1 << 30) -> float:
    """GB/s of one pinned copy to the device."""
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


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--features", type=int, default=1_000)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--memory", type=float, default=8.0, help="GB that the device may have")
    parser.add_argument("--output", type=Path, default=RESULTS / "stream.json")
    options = parser.parse_args()
    problem = Problem(options.rows, options.features, "float32", 0, 0, options.k)
    X, y = problem.make()
    size = X.nbytes / 1e9
    lines = []
    greedy_path(X, y, options.k)  # kernels are made, and memory is taken
    known, seconds = timed(partial(greedy_path, X, y, options.k))
    lines.append(row("resident", known, seconds, size, None))
    host, there = X.cpu(), y.cpu().numpy()
    del X
    torch.cuda.empty_cache()
    _, copying = timed(lambda: devices.on_device(host.numpy(), "cuda"))
    torch.cuda.empty_cache()
    devices.free_bytes = lambda place: int(options.memory * 1e9)  # type: ignore[assignment]
    greedy_path(host[:2_000_000].numpy(), there[:2_000_000], 2, device="cuda")
    for name, given in (("ordinary memory", host.numpy()), ("pinned memory", None)):
        values = host.pin_memory() if given is None else given
        path, seconds = timed(partial(greedy_path, values, there, options.k, device="cuda"))
        lines.append(row(name, path, seconds, size, known))
        print(lines[-1], flush=True)
    result = {
        "problem": problem.name,
        "k": options.k,
        "GB": size,
        "device": torch.cuda.get_device_name(),
        "memory_allowed_GB": options.memory,
        "pinned_copy_GB_per_second": link_speed(),
        "seconds_to_copy_X": copying,
        "version": greedyrls.__version__,
        "runs": lines,
    }
    print(json.dumps(result, indent=1))
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
