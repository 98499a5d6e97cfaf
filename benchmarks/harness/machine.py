"""What the machine says: memory of this process, threads, versions. No host names, no paths."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pin_threads(threads: int) -> None:
    """Give every process started from now on this number of threads."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Have so many threads in this process and in those that it starts."""
    before = {variable: os.environ.get(variable) for variable in THREAD_VARIABLES}
    # Libraries read the variables when they are loaded; the limits are for those loaded already.
    pin_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value


def reset_peak() -> bool:
    """Reset the peak to the present memory; False where the system cannot."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return False
    return True


def resident_bytes() -> int:
    """Memory of this process now (its peak so far, where the system says no more)."""
    return _status("VmRSS") or _lifetime_peak()


def peak_bytes() -> int:
    """Highest memory of this process since the last reset (ever, where there is no reset)."""
    return _status("VmHWM") or _lifetime_peak()


def _status(field: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)


def _lifetime_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def thread_pools() -> list[dict[str, Any]]:
    """The BLAS and OpenMP libraries of this process: kind, version and number of threads."""
    fields = ("user_api", "internal_api", "version", "num_threads", "architecture")
    pools = [{field: pool.get(field) for field in fields} for pool in threadpool_info()]
    return [pool for i, pool in enumerate(pools) if pool not in pools[:i]]


def environment(threads: int) -> dict[str, Any]:
    """Versions and hardware, recorded with every run."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": _version("scipy"),
        "scikit-learn": _version("scikit-learn"),
        "greedyrls": _greedyrls_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "threads": threads,
        "load_average": round(os.getloadavg()[0], 2),
        "blas": [
            f"{pool['internal_api']} {pool['version']}"
            for pool in thread_pools()
            if pool["user_api"] == "blas"
        ],
        "peak_memory": "VmHWM, reset before each call" if reset_peak() else "ru_maxrss, not reset",
    }


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "-"


def _greedyrls_version() -> str:
    # Not at the top: a process that measures another checkout imports the package from there.
    from greedyrls import __version__

    return __version__


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
