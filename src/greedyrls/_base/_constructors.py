"""Errors of a constructor that name the class that was called, not the one it comes from."""

from __future__ import annotations

from types import FunctionType
from typing import Any


class OwnInit:
    """A base whose subclasses have `__init__` under their own names.

    Python names the function in "__init__() got an unexpected keyword argument", and a user has
    never heard of the class that the parameters are written in.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited: Any = cls.__init__
        if "__init__" not in vars(cls) and isinstance(inherited, FunctionType):
            own = FunctionType(
                inherited.__code__,
                inherited.__globals__,
                inherited.__name__,
                inherited.__defaults__,
                inherited.__closure__,
            )
            own.__kwdefaults__ = inherited.__kwdefaults__
            own.__annotations__ = inherited.__annotations__
            own.__doc__, own.__module__ = inherited.__doc__, inherited.__module__
            own.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = own  # type: ignore[method-assign]  # to replace it is the purpose
