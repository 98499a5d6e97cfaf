"""greedyrls.show_versions: what a report of a problem should say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata

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
