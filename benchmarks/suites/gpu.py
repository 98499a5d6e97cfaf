"""Selection on a GPU.

Makes each problem on the device (the `normal` kind of problems.py), selects from it, and writes
what was asked for beside what was measured: the median time of several runs after a warm-up, the
passes over X, and the time divided by that of as many reads of X at copy speed. The copy speed is
measured first, counting bytes read and written. Features and losses are compared with those of the
NumPy engine on the same numbers, which takes minutes where X has tens of GB (--check-up-to).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import suite
from harness.suite import RESULTS, CannotRun, Environment, Renderer, Suite, option

if TYPE_CHECKING:
    import torch

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
        import torch

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
    Problem(50_000, 1_000, "float64", 52, 10),
    Problem(1_000_000, 1_000, "float32", 114, 20),
    Problem(10_000_000, 1_000, "float32", 857, 100),
    Problem(5_000, 1_000_000, "float32", 324, 80),
    Problem(1_000_000, 1_000, "float32", None, 30, cv=10),
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


@dataclass(frozen=True, slots=True)
class Row:
    """One problem, and the device that it ran on."""

    device: dict[str, Any]
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which problems, and how often."""

    output: Path = option(RESULTS / "gpu.json", "where the JSON goes")
    threads: int = option(suite.ALL_CORES, "threads of the NumPy engine; 0: all cores")
    repeats: int = option(5, "calls that are timed")
    only: tuple[int, ...] = option((), "numbers of problems, from 0", metavar="NUMBER")
    check_up_to: float = option(100.0, "GB of X that the NumPy engine runs on")


def require_cuda() -> None:
    """Raise CannotRun where there is nothing to measure on."""
    try:
        import torch
    except ImportError as error:
        raise CannotRun("PyTorch is not installed: there is nothing to measure.") from error
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch sees no CUDA device: there is nothing to measure.")


def rows(options: Options) -> Iterator[Row]:
    """All problems."""
    require_cuda()
    speed = copy_speed()
    print(f"copy speed {speed / 1e12:.2f} TB/s, read and written", flush=True)
    device = machine(speed)
    for number, problem in enumerate(PROBLEMS):
        if not options.only or number in options.only:
            yield Row(device, measure(problem, speed, options.repeats, options.check_up_to))


def copy_speed() -> float:
    """Bytes read and written per second by a copy of 4 GiB."""
    import torch

    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    return 2.0 * float(source.nbytes) / statistics.median(timed(lambda: target.copy_(source), 10))


def timed(work: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of some calls after a warm-up."""
    import torch

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
    import torch

    from greedyrls import greedy_path

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
    from greedyrls._base._namespaces import Transfers

    before = Transfers.count
    return work(), Transfers.count - before


def machine(speed: float) -> dict[str, Any]:
    """What it was measured on."""
    import torch

    import greedyrls

    return {
        "device": torch.cuda.get_device_name(),
        "copy_bytes_per_second": speed,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "numpy": np.__version__,
        "greedyrls": greedyrls.__version__,
    }


def cells_of(result: Result) -> tuple[str, ...]:
    """A line of the table."""
    same = {None: "not compared", True: "same", False: "OTHER"}[result.same_features]
    return (
        result.problem,
        "–" if result.prototype_ms is None else f"{result.prototype_ms:g}",
        f"{result.must_ms:g}",
        f"{result.median_ms:.1f}",
        str(result.passes),
        f"{result.ratio:.1f}",
        str(result.exact_evaluations),
        f"{result.transfers_per_step:.1f}",
        same,
        "" if result.loss_difference is None else f"{result.loss_difference:.1e}",
    )


HEADS = (
    "problem",
    "plain torch prototype, ms",
    "must, ms",
    "measured, ms",
    "passes",
    "time ÷ (passes × one read)",
    "exact scores",
    "transfers per step",
    "features",
    "losses differ by",
)


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """The device and all results."""
    return {"machine": found[0].device, "results": [asdict(row.result) for row in found]}


def page(environment: Environment, found: Sequence[Row], table: Renderer) -> str:
    """All results."""
    device = found[0].device
    return (
        f"One {device['device']}, k = 50, float64 sums; a copy moves "
        f"{device['copy_bytes_per_second'] / 1e12:.2f} TB/s, read and written.\n\n"
        f"{table([HEADS, *(cells_of(row.result) for row in found)])}\n"
    )


SUITE = Suite(
    name="gpu",
    sentence="Selection from X in the memory of an NVIDIA GPU: time, passes, transfers, answers.",
    options=Options,
    rows=rows,
    document=document,
    page=page,
    line=lambda row: " | ".join(cells_of(row.result)),
)
