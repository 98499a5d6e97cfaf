"""Packages whose modules are loaded when one of their names is first used.

A package lists the names that others may use in its stub, ``__init__.pyi``, where type checkers and
editors look for them as well. Loading a name loads the module that defines it and no other, so that
``import greedyrls`` is quick and a saved path is read without the engine.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(
    package: str, file: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package, from the stub beside its `file`."""
    modules = _names_of(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(modules[name], package)
        if modules[name] == f".{name}":
            return module
        value = getattr(module, name)
        vars(sys.modules[package])[name] = value  # the next time it is found without a call
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return sorted(modules), load, names


def required(module: str, missing: str) -> Any:
    """Import an optional dependency; the error says how to install it if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(missing) from error


def _names_of(stub: str) -> dict[str, str]:
    """The module of each name in a stub of relative imports, as `import_module` takes it."""
    modules: dict[str, str] = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for alias in node.names:
                # `from . import numbers as numbers` exports a module.
                modules[alias.name] = f".{node.module or alias.name}"
    return modules
