"""X in a file larger than the memory allowed.

Makes a file of float32 numbers, selects from it within a tenth of its size, and compares the time
with that of reading the file once from front to back. Neither may profit from pages that the system
keeps: what was read is dropped from its cache at once. Writes what was asked for beside what was
measured.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import machine, suite
from harness.measure import in_a_process
from harness.suite import RESULTS, Environment, Suite, option

N_FEATURES = 5000
N_INFORMATIVE = 60
MAKE_ROWS = 4000
READ_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Result:
    """One run."""

    gigabytes: float
    shape: tuple[int, int]
    n_features: int
    memory_limit: int
    passes: int
    seconds: float
    processor_seconds: float  # of all threads of the search, also that which reads
    load: float  # of the machine when the search ended; more than its cores is too busy to judge
    seconds_of_one_read: float  # the mean of one before and one after
    reads: tuple[float, float]
    ratio: float  # seconds / (passes × seconds of one read)
    ratio_asked: float
    peak_bytes: int | None  # beyond what the process had before the search
    within_memory: bool | None
    found: int  # how many of the chosen features are informative
    throttled: float | None  # GB/s that reading was held to, to see how a slower disk does
    peer: str  # what scikit-learn's OMP says with the same memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """The file, and how it is read."""

    output: Path = option(RESULTS / "files.json", "where the JSON goes")
    threads: int = option(1, "threads beside the one that reads")
    gigabytes: float = option(2.0, "size of the file")
    n_features: int = option(50, "how many to select")
    throttle: tuple[float, ...] = option((), "also with reading held to these GB/s")
    folder: Path | None = option(None, "where the file is made; by default a new folder")


def rows(options: Options) -> Iterator[Result]:
    """The file at full speed and at each speed that was asked for."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "X.npy"
        _make(path, options.gigabytes)
        # A process of its own each, so that its peak is that of the search.
        peer = in_a_process(_peer, str(path), options.n_features)
        for throttle in (None, *options.throttle):
            result = in_a_process(_run, str(path), options.n_features, throttle)
            yield replace(result, peer=peer)


def document(options: Options, environment: Environment, found: Sequence[Result]) -> dict[str, Any]:
    """All runs."""
    return {"environment": environment, "runs": [asdict(result) for result in found]}


def _make(path: Path, gigabytes: float) -> None:
    """Correlated normal numbers, and targets beside them; never more than a few rows in memory."""
    m = int(gigabytes * 1e9 / (4 * N_FEATURES))
    rng = np.random.default_rng(0)
    slopes = np.zeros(N_FEATURES)
    informative = rng.permutation(N_FEATURES)[:N_INFORMATIVE]
    slopes[informative] = rng.normal(size=N_INFORMATIVE)
    y = np.empty(m)
    # The numbers of a bank are used again with other signs and places: making new ones would take
    # longer than everything else.
    bank = rng.standard_normal((4 * MAKE_ROWS, N_FEATURES), dtype=np.float32)
    bank[:, 1:] += 0.5 * bank[:, :-1]
    header = {"descr": "<f4", "fortran_order": False, "shape": (m, N_FEATURES)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_2_0(file, header)
        for top in range(0, m, MAKE_ROWS):
            count = min(MAKE_ROWS, m - top)
            rows = bank[rng.integers(0, len(bank), count)]
            rows *= rng.choice(np.array([-1, 1], dtype=np.float32), (count, 1))
            rows += bank[rng.integers(0, len(bank))] * rng.standard_normal(
                (count, 1), dtype=np.float32
            )
            y[top : top + count] = rows @ slopes + 5.0 * rng.normal(size=count)
            rows.tofile(file)
        file.flush()
        os.fsync(file.fileno())
    np.save(path.with_name("y.npy"), y)
    np.save(path.with_name("informative.npy"), informative)


def _drop(descriptor: int, start: int = 0, length: int = 0) -> None:
    """What was read need not stay in the system's cache."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)


class _Disk:
    """Holds reading to a speed (GB/s), as a slower disk would."""

    def __init__(self, throttle: float | None) -> None:
        self._throttle = throttle
        self._free = 0.0

    def read(self, count: int) -> None:
        """Wait as long as so many bytes take."""
        if self._throttle is not None:
            self._free = max(self._free, time.perf_counter()) + count / (1e9 * self._throttle)
            time.sleep(max(0.0, self._free - time.perf_counter()))


def _read(path: str, throttle: float | None = None) -> float:
    """Seconds of one read from front to back."""
    disk = _Disk(throttle)
    buffer = np.empty(READ_BYTES, dtype=np.uint8)
    began = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        _drop(file.fileno())
        began = time.perf_counter()
        while count := file.readinto(buffer.data):
            _drop(file.fileno(), file.tell() - count, count)
            disk.read(count)
    return time.perf_counter() - began


def _run(path: str, n_features: int, throttle: float | None = None) -> Result:
    from greedyrls import greedy_path
    from greedyrls._data import ArraySource, DataFile

    disk = _Disk(throttle)

    class ColdSource(ArraySource):
        """Drops what was read from the cache, as a file much larger than memory would."""

        def fill(self, rows: Any, start: int) -> None:
            super().fill(rows, start)
            with open(path, "rb", buffering=0) as file:
                _drop(file.fileno(), self._offset + start * rows.strides[0], rows.nbytes)
            disk.read(rows.nbytes)

    X = np.load(path, mmap_mode="r")
    y = np.load(Path(path).with_name("y.npy"))
    informative = set(np.load(Path(path).with_name("informative.npy")).tolist())
    limit = X.nbytes // 10
    # Buffers of BLAS are not those of the search.
    np.ones((500, 500)) @ np.ones((500, 500))
    before_read = _read(path, throttle)
    can_reset = machine.reset_peak()
    before = machine.resident_bytes()
    data = DataFile(ColdSource(X), limit)
    began, processor = time.perf_counter(), time.process_time()
    found = greedy_path(data, y, n_features, alpha=1.0, n_jobs=-1)
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    load = os.getloadavg()[0]
    peak = machine.peak_bytes() - before if can_reset else None
    after_read = _read(path, throttle)
    one = (before_read + after_read) / 2
    return Result(
        gigabytes=X.nbytes / 1e9,
        shape=(len(X), X.shape[1]),
        n_features=n_features,
        memory_limit=limit,
        passes=found.counters.passes,
        seconds=seconds,
        processor_seconds=processor,
        load=load,
        seconds_of_one_read=one,
        reads=(before_read, after_read),
        ratio=seconds / (found.counters.passes * one),
        ratio_asked=1.5,
        peak_bytes=peak,
        within_memory=None if peak is None else peak <= limit,
        found=len(informative & set(found.indices.tolist())),
        throttled=throttle,
        peer="",
    )


def _peer(path: str, n_features: int) -> str:
    """scikit-learn's OMP on the memory map, with the same memory beside what is there already."""
    import resource

    from sklearn.linear_model import OrthogonalMatchingPursuit

    X = np.load(path, mmap_mode="r")
    y = np.load(Path(path).with_name("y.npy"))
    limit = machine.resident_bytes() + X.nbytes // 10
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        OrthogonalMatchingPursuit(n_nonzero_coefs=n_features).fit(X, y)
    except MemoryError as error:
        return f"MemoryError: {error}"
    return "fits"


SUITE = Suite(
    name="files",
    sentence="X in a file, within a tenth of its size in memory, beside reading the file.",
    options=Options,
    rows=rows,
    document=document,
)
