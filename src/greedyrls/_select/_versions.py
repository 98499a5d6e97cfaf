"""What greedyrls runs on: the first thing to know about a problem that somebody else has."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata

REQUIRED = ("array-api-compat", "joblib", "numpy", "scikit-learn", "scipy", "threadpoolctl")
OPTIONAL = (
    *("click", "cupy", "dask", "distributed", "jinja2", "matplotlib", "onnx", "openpyxl", "pandas"),
    *("polars", "pyarrow", "rich", "torch", "tqdm"),
)


def show_versions() -> None:
    """Print versions of Python and of dependencies, the BLAS, and whether steps are compiled.

    Please add the output to reports of problems.

    Examples
    --------
    >>> from greedyrls import show_versions
    >>> show_versions()  # doctest: +ELLIPSIS
    greedyrls: ...
    """
    for name, value in _found():
        print(f"{name}: {value}")


def _found() -> Iterator[tuple[str, str]]:
    from joblib import cpu_count

    from .. import __version__

    yield "greedyrls", __version__
    yield "compiled steps", _compiled_steps()
    yield "Python", f"{sys.version.split()[0]} ({platform.python_implementation()})"
    yield "platform", platform.platform()
    yield "cores", str(cpu_count())
    yield from _blas()
    for name in (*REQUIRED, *OPTIONAL):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            if name in REQUIRED:
                yield name, "not installed"


def _compiled_steps() -> str:
    """The variant of the compiled steps, or why there are none."""
    from .._base import native

    module = native()
    if module is not None:
        variant: str = module.variant()
        return variant
    if os.environ.get("GREEDYRLS_COMPILED") == "0":
        return "no (switched off by GREEDYRLS_COMPILED=0)"
    return "no (the package was built without a C compiler)"


def _blas() -> Iterator[tuple[str, str]]:
    """The libraries that NumPy and SciPy have loaded for linear algebra."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    for library in threadpool_info():
        if library["user_api"] == "blas":
            details = [library["internal_api"], library["version"], library.get("architecture")]
            words = " ".join(str(detail) for detail in details if detail)
            yield "BLAS", f"{words}, threads: {library['num_threads']}"
