"""Selection on a GPU: `python benchmarks/gpu.py`, one script, one run.

Makes each problem on the device (the `normal` kind of problems.py), selects from it, and writes
what was asked for beside what was measured: the median time of several runs after a warm-up, the
passes over X, and the time divided by that of as many reads of X at copy speed. The copy speed is
measured first, counting bytes read and written. Features and losses are compared with those of the
NumPy engine on the same numbers, which takes minutes where X has tens of GB (--check-up-to).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import greedyrls
from greedyrls import greedy_path
from greedyrls._base._namespaces import Transfers

RESULTS = Path(__file__).parent / "results"
SEED = 2010
MAKE_ELEMENTS = 1 << 28
LOSS_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Problem:
    """What is selected from, and the time that it may take."""

    m: int
    n: int
    dtype: str
    prototype_ms: float | None
    must_ms: float
    k: int = 50
    cv: int | str = "loo"

    @property
    def name(self) -> str:
        """Shape and type, and folds if there are any."""
        folds = "" if self.cv == "loo" else f", {self.cv} folds"
        return f"{self.m:,} × {self.n:,} {self.dtype}{folds}"

    def make(self) -> tuple[torch.Tensor, torch.Tensor]:
        """X on the device in C order, and y: labels −1 and +1."""
        generator = torch.Generator("cuda").manual_seed(SEED)
        y = torch.randint(0, 2, (self.m,), device="cuda", generator=generator).double() * 2 - 1
        shifts = 0.05 * torch.randn(self.n, device="cuda", generator=generator)
        X = torch.empty((self.m, self.n), dtype=getattr(torch, self.dtype), device="cuda")
        height = max(1, MAKE_ELEMENTS // self.n)
        for top in range(0, self.m, height):
            rows = X[top : top + height]
            rows.normal_(generator=generator)
            rows += y[top : top + height, None].to(X.dtype) * shifts.to(X.dtype)
        return X, y


PROBLEMS = (
    Problem(50_000, 1_000, "float64", 52, 25),
    Problem(1_000_000, 1_000, "float32", 114, 50),
    Problem(10_000_000, 1_000, "float32", 857, 400),
    Problem(5_000, 1_000_000, "float32", 324, 200),
    # At most twice the time of leave-one-out, which must be 50 ms.
    Problem(1_000_000, 1_000, "float32", None, 100, cv=10),
)


@dataclass(frozen=True, slots=True)
class Result:
    """One problem."""

    problem: str
    prototype_ms: float | None
    must_ms: float
    median_ms: float
    all_ms: list[float]
    is_met: bool
    passes: int
    exact_evaluations: int
    transfers_per_step: float  # from the device to the host
    one_read_ms: float  # of X at copy speed
    ratio: float  # median / (passes × one read)
    same_features: bool | None
    loss_difference: float | None  # largest, relative, from the NumPy engine
    numpy_seconds: float | None


def main() -> int:
    """Run all problems, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of problems, from 0")
    parser.add_argument(
        "--check-up-to", type=float, default=100, help="GB of X that the NumPy engine runs on"
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no CUDA device: there is nothing to measure.", file=sys.stderr)
        return 1
    speed = copy_speed()
    print(f"copy speed {speed / 1e12:.2f} TB/s, read and written", flush=True)
    results = []
    for number, problem in enumerate(PROBLEMS):
        if options.only is None or number in options.only:
            results.append(measure(problem, speed, options.repeats, options.check_up_to))
            print(row_of(results[-1]), flush=True)
    options.results.mkdir(parents=True, exist_ok=True)
    written = {"machine": machine(speed), "results": [asdict(result) for result in results]}
    (options.results / "gpu.json").write_text(json.dumps(written, indent=2) + "\n")
    (options.results / "gpu.md").write_text(table(results, speed))
    return 0


def copy_speed() -> float:
    """Bytes read and written per second by a copy of 4 GiB."""
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / statistics.median(timed(lambda: target.copy_(source), 10))


def timed(work: Any, repeats: int) -> list[float]:
    """Seconds of some calls after a warm-up."""
    work()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return seconds


def measure(problem: Problem, speed: float, repeats: int, check_up_to: float) -> Result:
    """Times of one problem, and whether the answer is that of the NumPy engine."""
    torch.cuda.empty_cache()
    X, y = problem.make()

    def select() -> Any:
        return greedy_path(X, y, problem.k, cv=problem.cv)

    select()  # compiles, loads and allocates; `timed` warms up once more
    seconds = timed(select, repeats)
    path, transfers = count_transfers(select)
    same = difference = numpy_seconds = None
    if X.nbytes <= 1e9 * check_up_to:
        host_X, host_y = X.cpu().numpy(), y.cpu().numpy()
        began = time.perf_counter()
        other = greedy_path(host_X, host_y, problem.k, cv=problem.cv)
        numpy_seconds = time.perf_counter() - began
        same = bool(np.array_equal(path.indices, other.indices))
        difference = float(np.max(np.abs(path.losses / other.losses - 1.0)))
    median = statistics.median(seconds)
    read = X.nbytes / speed
    return Result(
        problem.name,
        problem.prototype_ms,
        problem.must_ms,
        1e3 * median,
        [1e3 * one for one in seconds],
        1e3 * median <= problem.must_ms,
        path.counters.passes,
        path.counters.exact_evaluations,
        transfers / problem.k,
        1e3 * read,
        median / (path.counters.passes * read),
        same,
        difference,
        numpy_seconds,
    )


def count_transfers(work: Any) -> tuple[Any, int]:
    """The answer, and how often something came from the device."""
    before = Transfers.count
    return work(), Transfers.count - before


def machine(speed: float) -> dict[str, Any]:
    """What it was measured on."""
    return {
        "device": torch.cuda.get_device_name(),
        "copy_bytes_per_second": speed,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "numpy": np.__version__,
        "greedyrls": greedyrls.__version__,
    }


def row_of(result: Result) -> str:
    """A line of the table."""
    same = {None: "not compared", True: "same", False: "OTHER"}[result.same_features]
    difference = "" if result.loss_difference is None else f"{result.loss_difference:.1e}"
    prototype = "–" if result.prototype_ms is None else f"{result.prototype_ms:g}"
    return (
        f"| {result.problem} | {prototype} | {result.must_ms:g} | "
        f"{result.median_ms:.1f} | {result.passes} | {result.ratio:.1f} | "
        f"{result.exact_evaluations} | {result.transfers_per_step:.1f} | {same} | {difference} |"
    )


def table(results: list[Result], speed: float) -> str:
    """All results in Markdown."""
    return "\n".join(
        [
            f"One {torch.cuda.get_device_name()}, k = 50, float64 sums; a copy moves "
            f"{speed / 1e12:.2f} TB/s, read and written.",
            "",
            "| problem | plain torch prototype, ms | must, ms | measured, ms | passes | "
            "time ÷ (passes × one read) | exact scores | transfers per step | features | "
            "losses differ by |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *map(row_of, results),
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
