"""External components that tests use where they are installed: what is missing, how to get it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from project import SITE


def _modules(*names: str) -> Callable[[], bool]:
    return lambda: all(importlib.util.find_spec(name) is not None for name in names)


def program(*names: str) -> str | None:
    """The path of the first of some programs that is installed."""
    for name in names:
        path = shutil.which(name) or shutil.which(name, path="/usr/bin")
        if path is not None:
            return path
    return None


def browser() -> str | None:
    """The path of Chromium."""
    return program("chromium", "chromium-browser", "google-chrome")


def driver_program() -> str | None:
    """The path of Chromium's driver."""
    return program("chromedriver")


def _has_compiled_steps() -> bool:
    from internals import native  # which loads all of greedyrls

    return native() is not None


@dataclass(frozen=True)
class Component:
    """Something that is not a dependency, but that tests run against for real."""

    name: str
    is_installed: Callable[[], bool]
    how_to_get: str
    is_required: bool = True  # by --require-all


COMPONENTS = (
    Component(
        "a browser",
        lambda: browser() is not None and driver_program() is not None,
        "apt-get install chromium chromium-driver",
    ),
    Component(
        "a C compiler", lambda: program("gcc") is not None, "apt-get install gcc g++ libc6-dev"
    ),
    Component(
        "compiled steps",
        _has_compiled_steps,
        "python3 dev.py test, with a C compiler",
    ),
    Component(
        "the documentation site",
        lambda: (SITE / "index.html").exists(),
        "python3 dev.py docs --fast",
    ),
    Component("Dask", _modules("dask", "distributed"), "pip install 'greedyrls[dask]'"),
    Component(
        "HDF5, Zarr and PLINK",
        _modules("h5py", "zarr", "bed_reader"),
        "pip install 'greedyrls[hdf5,plink,zarr]'",
    ),
    Component("ONNX", _modules("onnx", "onnxruntime"), "pip install onnx onnxruntime"),
    Component("PyTorch", _modules("torch"), "GREEDYRLS_ALSO=torch python3 dev.py test"),
    Component(
        "Triton's interpreter",
        _modules("torch", "triton"),
        "GREEDYRLS_ALSO='torch triton' python3 dev.py test",
    ),
    Component(
        "an NVIDIA GPU",
        lambda: Path("/dev/nvidiactl").exists(),
        "run the tests on a machine that has one",
        is_required=False,
    ),
)


def missing() -> list[Component]:
    """The components that are not installed."""
    return [component for component in COMPONENTS if not component.is_installed()]


def in_one_line() -> str:
    """What is not tested here, and how to get it."""
    found = missing()
    if not found:
        return "Nothing was skipped for want of a component."
    parts = [f"{part.name} ({part.how_to_get})" for part in found]
    return "Not tested here: " + "; ".join(parts)


def require_all() -> None:
    """End the run where a component is missing."""
    if any(component.is_required for component in missing()):
        pytest.exit(f"--require-all: {in_one_line()}", returncode=pytest.ExitCode.USAGE_ERROR)
