"""Classes under the names by which users know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def exported(module: str) -> Callable[[Class], Class]:
    """Give a class the module that exports it, not the file that defines it.

    Pickles name the module of a class: they are read as long as the name is exported, wherever the
    file is.
    """

    def named(cls: Class) -> Class:
        cls.__module__ = module
        return cls

    return named
