"""greedyrls.show_versions: what a report of a problem should say."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from types import ModuleType

import pytest

import greedyrls
from internals import OPTIONAL, REQUIRED, native
from project import ROOT


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Whether steps are compiled is found out again, before and after each test."""
    native.cache_clear()
    yield
    native.cache_clear()


def shown(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    greedyrls.show_versions()
    lines = [line.split(": ", maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    return [(name, value) for name, value in lines]


def test_versions_blas_and_cores_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys)
    assert ("greedyrls", greedyrls.__version__) in found
    values = dict(found)
    assert int(values["cores"]) >= 1
    assert re.match(r"\w+ .*threads: \d+", values["BLAS"])
    assert re.match(r"\d+\.\d+", values["numpy"])


def test_a_missing_dependency_is_named_and_a_missing_extra_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name in ("scipy", "pandas"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    values = dict(shown(capsys))
    assert values["scipy"] == "not installed"
    assert values["tqdm"] == "1.0"
    assert "pandas" not in values


def test_every_dependency_is_in_the_list() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split(r"[\[>]", line)[0] for line in project["dependencies"]]
    assert list(REQUIRED) == names
    extras = project["optional-dependencies"]
    user_extras = ("cli", "dask", "excel", "onnx", "pandas", "plot", "progress", "torch")
    lines = [line for extra in user_extras for line in extras[extra]]
    names = [re.split(r"[\[>]", line)[0] for line in lines if not line.startswith("greedyrls")]
    assert set(names) <= set(OPTIONAL)


def test_which_steps_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GREEDYRLS_COMPILED", raising=False)
    module = native()
    expected = (
        "no (the package was built without a C compiler)" if module is None else module.variant()
    )
    assert ("compiled steps", expected) in shown(capsys)


def test_compiled_steps_can_be_switched_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREEDYRLS_COMPILED", "0")
    assert native() is None
    off = ("compiled steps", "no (switched off by GREEDYRLS_COMPILED=0)")
    assert off in shown(capsys)


def import_module_raising(error: ImportError) -> Callable[..., ModuleType]:
    def raising(name: str, package: str | None = None) -> ModuleType:
        if name == "._compiled":
            raise error
        return import_module(name, package)

    return raising


def test_a_package_that_was_built_without_a_compiler(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GREEDYRLS_COMPILED", raising=False)
    missing = import_module_raising(ModuleNotFoundError("No module named _compiled"))
    monkeypatch.setattr(importlib, "import_module", missing)
    assert native() is None
    none = ("compiled steps", "no (the package was built without a C compiler)")
    assert none in shown(capsys)


def test_compiled_steps_of_another_machine_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GREEDYRLS_COMPILED", raising=False)
    broken = import_module_raising(ImportError("wrong ELF class"))
    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.warns(RuntimeWarning, match="cannot be loaded, so steps run in NumPy: wrong ELF"):
        assert native() is None


@pytest.mark.parametrize("variant", ["avx2", "baseline"])
def test_another_variant_can_be_chosen(variant: str) -> None:
    module = native()
    if module is None:
        pytest.skip("steps are not compiled")
    code = "import greedyrls; greedyrls.show_versions()"
    variables = os.environ | {"GREEDYRLS_COMPILED": variant}
    got = subprocess.check_output([sys.executable, "-c", code], env=variables, text=True)
    expected = "baseline" if module.variant() == "baseline" else variant
    assert f"compiled steps: {expected}\n" in got
