"""Numbers of the engine that have a name: each meaning is defined in one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import greedyrls

PACKAGE = Path(greedyrls.__file__).parent
ENGINE = (
    *("_base", "_data", "_problem", "_rows", "_features", "_criteria"),
    *("_steppers", "_cluster", "_search", "_select"),
)


def named_numbers(source: str) -> Iterator[tuple[str, str]]:
    """Constants of a module whose values are numbers: names without underscore, and values."""
    for line in ast.parse(source).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            parts = [part for part in ast.walk(line.value) if isinstance(part, ast.Constant)]
            is_number = parts and all(isinstance(part.value, int | float) for part in parts)
            if name.isupper() and is_number:
                yield name.lstrip("_"), ast.unparse(line.value)


def test_a_number_with_a_name_is_defined_once() -> None:
    modules = defaultdict(list)
    for path in (path for package in ENGINE for path in (PACKAGE / package).glob("*.py")):
        for number in named_numbers(path.read_text(encoding="utf-8")):
            modules[number].append(path.relative_to(PACKAGE).as_posix())
    assert len(modules) > 100
    repeated = {number: paths for number, paths in modules.items() if len(paths) > 1}
    assert not repeated, f"Define shared numbers once, in _base: {repeated}"


def test_numbers_are_found_in_source() -> None:
    source = "_A = 1e-3\nB_2 = (8.0 * float(eps)) ** 2\nC = 'text'\nd = 1\nE = A\n_F = 1 << 17\n"
    expected = [("A", "0.001"), ("B_2", "(8.0 * float(eps)) ** 2"), ("F", "1 << 17")]
    assert list(named_numbers(source)) == expected
