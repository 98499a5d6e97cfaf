"""The results of one data set, kept in a JSON file that is written after every call."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.writer import read_json, write_text

Key = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """One method on one split at one size: a score, or why there is none."""

    split: int
    method: str
    k: int
    score: float | None = None
    seconds: float | None = None  # of the call, which may have answered for other sizes too
    missing: str | None = None

    @property
    def key(self) -> Key:
        """What there is one cell for."""
        return self.split, self.method, self.k


@dataclass(frozen=True, slots=True)
class About:
    """What the results of a data set are of."""

    data_set: str
    task: str
    rows: int
    features: int
    train_rows: int
    test_rows: int
    sizes: list[int]


class Store:
    """Cells of one data set by split, method and size."""

    def __init__(self, file: Path, about: About, cells: Iterable[Cell] = ()) -> None:
        self.file = file
        self.about = about
        self._cells = {cell.key: cell for cell in cells}

    @property
    def cells(self) -> list[Cell]:
        """All cells in the order of splits, methods and sizes."""
        return [self._cells[key] for key in sorted(self._cells)]

    def has(self, key: Key) -> bool:
        """Whether there is a score."""
        return key in self._cells and self._cells[key].score is not None

    def forget(self, methods: Iterable[str]) -> None:
        """Drop the cells of these methods."""
        dropped = set(methods)
        self._cells = {key: cell for key, cell in self._cells.items() if key[1] not in dropped}

    def add(self, cells: Iterable[Cell]) -> None:
        """Take cells in and write the file: whole or not at all, and a line for each cell."""
        self._cells |= {cell.key: cell for cell in cells}
        head = {**asdict(self.about), "versions": _versions()}
        lines = ",\n".join(json.dumps(_filled(cell), ensure_ascii=False) for cell in self.cells)
        text = json.dumps(head, indent=1)[:-2] + f',\n "cells": [\n{lines}\n]}}\n'
        write_text(self.file, text)


def read(file: Path) -> Store:
    """The results in a file."""
    content = read_json(file)
    cells = [Cell(**cell) for cell in content.pop("cells")]
    content.pop("versions")
    return Store(file, About(**content), cells)


def opened(file: Path, about: About) -> Store:
    """The results so far, or none; those of other rows or sizes do not count."""
    if file.exists():
        found = read(file)
        if found.about == about:
            return found
    return Store(file, about)


def _filled(cell: Cell) -> dict[str, Any]:
    return {name: value for name, value in asdict(cell).items() if value is not None}


def _versions() -> dict[str, str]:
    """Of Python and the libraries, at the last writing."""
    found = {"python": platform.python_version()}
    for library in ("numpy", "scikit-learn", "greedyrls", "abess"):
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            found[library] = "-"
    return found
