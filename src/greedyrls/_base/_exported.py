"""Public classes name the module that users import them from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def exported(module: str) -> Callable[[Class], Class]:
    """Set `__module__` of a class to the module that exports it.

    Pickles refer to this module, so they survive moves of the file that defines the class.
    """

    def named(cls: Class) -> Class:
        cls.__module__ = module
        return cls

    return named
