"""Inventories of other projects, which the site is built with, are those that their list makes."""

from __future__ import annotations

import zlib
from pathlib import Path
from types import ModuleType

import pytest

from project import ROOT
from scripts import load

EXTENSIONS = ROOT / "docs" / "_ext"


@pytest.fixture(scope="module")
def inventories() -> ModuleType:
    return load(EXTENSIONS / "inventories.py")


def lines(content: bytes) -> list[str]:
    """The entries of an inventory, whatever the version of zlib that compressed them."""
    *_, body = content.split(b"\n", 4)
    return zlib.decompress(body).decode().splitlines()


def test_files_are_those_of_the_list(inventories: ModuleType) -> None:
    folder = ROOT / "docs" / "_inventories"
    assert {file.stem for file in folder.glob("*.inv")} == set(inventories.PROJECTS)
    for project in inventories.PROJECTS:
        content = (folder / f"{project}.inv").read_bytes()
        assert lines(content) == lines(inventories.inventory(project)), (
            "run python docs/_ext/inventories.py"
        )


def test_names_exist(inventories: ModuleType) -> None:
    """A name that a library no longer has would be a link to nowhere."""
    for project in ("numpy", "scipy", "sklearn", "pandas"):
        pytest.importorskip(project)
        for names in inventories.PROJECTS[project][2].values():
            for name in names.split():
                module, _, last = f"{project}.{name}".rpartition(".")
                assert hasattr(__import__(module, fromlist=[last]), last), name


def test_sphinx_is_told_where_they_are(inventories: ModuleType) -> None:
    mapping = inventories.mapping(Path("folder"))
    for project, (address, file) in mapping.items():
        assert address.startswith("https://")
        assert address.endswith("/")
        assert Path(file) == Path("folder") / f"{project}.inv"
