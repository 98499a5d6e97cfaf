"""Parameter types of options: a size, penalties, folds."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import click

from .._base import agree


class _Value(click.ParamType):  # type: ignore[type-arg]  # some releases of Click take an argument here, others refuse it
    """Base class of parameter types."""


class WholeNumber(click.IntRange):
    """A whole number, called so in error messages."""

    name = "whole number"


class Number(click.FloatRange):
    """A number, called so in error messages."""

    name = "number"


class Size(_Value):
    """A whole number, or "auto"."""

    name = "N|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value == "auto":
            return value
        try:
            size = int(value)
        except ValueError:
            size = 0
        if size < 1:
            self.fail(f"{value!r} is neither a whole number of 1 or more nor 'auto'.", param, ctx)
        return size


class Memory(_Value):
    """A number of bytes, with a unit."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from .._data import check_limit  # imports NumPy, which --help does not need

        try:
            return check_limit(int(value) if str(value).isdigit() else value)
        except ValueError:
            self.fail(f"{value!r} is not an amount of memory such as 500MB or 4GB.", param, ctx)


class Penalty(_Value):
    """A number above 0, several with commas, or "auto"."""

    name = "A|A,B,…|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value == "auto":
            return value
        try:
            numbers = [float(part) for part in value.split(",")]
        except ValueError:
            self._refuse(value, param, ctx)
        if not all(math.isfinite(one) and one > 0.0 for one in numbers):
            self._refuse(value, param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers

    def _refuse(self, value: str, param: Any, ctx: Any) -> NoReturn:
        self.fail(
            f"{value!r} is neither a number above 0, nor several with commas, nor 'auto'.",
            param,
            ctx,
        )


class Folds(_Value):
    """ "loo", a number of folds, or the name of a column with groups."""

    name = "loo|K|COLUMN"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value == "loo":
            return value
        try:
            count = int(value)
        except ValueError:
            return value  # a column
        if count < 2:
            few = f"{count} {agree(count, 'fold is', 'folds are')} too few"
            self.fail(f"{few}; use 2 or more.", param, ctx)
        return count


class ClassWeight(_Value):
    """ "balanced", or a class and its weight, above 0."""

    name = "balanced|LABEL=W"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value == "balanced":
            return value
        label, _, number = value.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = 0.0
        if not label or not (math.isfinite(weight) and weight > 0.0):
            self.fail(
                f"{value!r} is neither 'balanced' nor a class, '=' and a number above 0.",
                param,
                ctx,
            )
        return label, weight


class Cost(_Value):
    """A column and what it costs, above 0."""

    name = "COLUMN=C"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        column, _, number = value.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            cost = 0.0
        if not column or not (math.isfinite(cost) and cost > 0.0):
            self.fail(f"{value!r} is not a column, '=' and a number above 0.", param, ctx)
        return column, cost
