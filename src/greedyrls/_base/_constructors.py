"""Constructor errors that name the class that was called, not the one that it inherits from."""

from __future__ import annotations

from types import FunctionType
from typing import Any


class OwnInit:
    """Base class that gives each subclass a copy of `__init__` with a name of its own.

    Python names the function in "__init__() got an unexpected keyword argument", and a user has
    never heard of the class that the parameters are written in.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited: Any = cls.__init__
        if "__init__" not in vars(cls) and isinstance(inherited, FunctionType):
            copied = FunctionType(
                inherited.__code__,
                inherited.__globals__,
                inherited.__name__,
                inherited.__defaults__,
                inherited.__closure__,
            )
            copied.__kwdefaults__ = inherited.__kwdefaults__
            copied.__annotations__ = inherited.__annotations__
            copied.__doc__, copied.__module__ = inherited.__doc__, inherited.__module__
            copied.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = copied  # type: ignore[method-assign]  # replaced on purpose
