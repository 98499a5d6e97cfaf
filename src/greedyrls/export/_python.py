"""Export a model as a self-contained Python module."""

from __future__ import annotations

from ..app import LinearModel
from ._parts import Exportable, check_name, checked, date_words

_HEAD = '''\
"""A linear model that needs nothing but the standard library of Python 3.8 or newer."""
'''

_IMPORTS = """\

import math
from typing import Any, List, Mapping
"""

_FUNCTIONS = '''

def scores(row: Mapping[str, Any]) -> List[float]:
    """Return the outputs of the model for a row: a mapping from column names to values."""
    values = list(INTERCEPTS)
    for column, level, coefficients in TERMS:
        if level is None:
            value = _number(row, column)
        else:
            value = 1.0 if _text(row, column) == level else 0.0
        for output, coefficient in enumerate(coefficients):
            values[output] += value * coefficient
    return values


def _filled(row: Mapping[str, Any], column: str) -> Any:
    """Return the value in a column, or the fill value if it is missing."""
    try:
        value = row[column]
    except (KeyError, IndexError):
        raise ValueError("The row has no column %r." % column) from None
    # pandas.NA is neither equal nor unequal to itself, and has no truth value.
    if value is None or type(value).__name__ == "NAType" or value != value:
        if column not in FILLS:
            message = "Column %r is missing, and the model has no fill value for it."
            raise ValueError(message % column)
        value = FILLS[column]
    return value


def _as_number(value: Any, column: str) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise ValueError("Column %r has text; the model takes a number there." % column)
    try:
        return float(value)
    except (TypeError, OverflowError) as error:
        raise ValueError("Column %r has %.80r, which is not a number." % (column, value)) from error


def _number(row: Mapping[str, Any], column: str) -> float:
    value = _as_number(_filled(row, column), column)
    if math.isinf(value):
        raise ValueError("Column %r is infinite." % column)
    return value


def _text(row: Mapping[str, Any], column: str) -> str:
    """Return a text; numbers as people write them, 3 instead of 3.0."""
    value = _filled(row, column)
    if isinstance(value, str):
        return value
    number = _as_number(value, column)
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    return str(int(number)) if number.is_integer() else repr(number)
'''

_ONE_OUTPUT = '''

def {name}(row: Mapping[str, Any]) -> float:
    """Return the prediction for a row: a mapping from column names to values."""
    return scores(row)[0]
'''

_OUTPUTS = '''

def {name}(row: Mapping[str, Any]) -> List[float]:
    """Return the predictions for a row: a mapping from column names to values."""
    return scores(row)
'''

_TWO_CLASSES = '''

def {name}(row: Mapping[str, Any]) -> Any:
    """Return the class of a row: a mapping from column names to values."""
    return CLASSES[1] if scores(row)[0] > 0.0 else CLASSES[0]
'''

_CLASSES = '''

def {name}(row: Mapping[str, Any]) -> Any:
    """Return the class of a row: a mapping from column names to values."""
    values = scores(row)
    return CLASSES[values.index(max(values))]  # the first of the largest
'''


def to_python(model: Exportable, *, name: str = "predict") -> str:
    """Export a model as a Python module that needs only the standard library.

    The module has a function ``NAME(row)`` for the prediction (a number, a list of numbers, or a
    label) and ``scores(row)`` for the outputs of the model. A row is a mapping from names of
    columns to values, such as a dictionary.

    Parameters
    ----------
    model : LinearModel, or fitted estimator or pipeline
        As in `export_model`.
    name : str, default="predict"
        Name of the function.

    Returns
    -------
    str
        ASCII source code for Python 3.8 or newer.

    Notes
    -----
    A missing value is None or NaN. If the model has no fill value for it, a ValueError names the
    column; so do infinite numbers and missing columns. The terms are added in the same order as by
    `LinearModel.predict`: both give the same bits.

    Examples
    --------
    >>> from greedyrls import LinearModel, greedy_path
    >>> from greedyrls.export import to_python
    >>> path = greedy_path([[1.0, 3.0], [2.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0], 1, alpha=1e-9)
    >>> module = {}
    >>> exec(to_python(LinearModel.from_path(path)), module)
    >>> round(module["predict"]({"x0": 3}), 6)
    3.0
    >>> module["predict"]({"x0": None})
    Traceback (most recent call last):
    ValueError: Column 'x0' is missing, and the model has no fill value for it.
    """
    name, model = check_name(name), checked(model)
    return "".join(
        (
            _HEAD,
            # The text is quoted in ASCII, so it has no line breaks.
            f"# Written by {model.made_by!a}.\n",
            *(f"# {line}\n" for line in date_words(model)),
            _IMPORTS,
            _constants(model),
            _FUNCTIONS,
            _prediction(model).format(name=name),
        )
    )


def _constants(model: LinearModel) -> str:
    terms = "".join(
        f"    ({term.column!a}, {term.level!a}, {term.coefficients!r}),\n" for term in model.terms
    )
    fills = "".join(
        f"    {column.name!a}: {column.fill!a},\n"
        for column in model.columns
        if column.fill is not None
    )
    classes = "" if model.classes is None else f"CLASSES = {model.classes!a}\n"
    return (
        f"\nTARGET = {model.target!a}\n"
        f"{classes}"
        f"INTERCEPTS = {model.intercepts!r}\n"
        "# Column, the text for which the term counts (None: the number itself), coefficients.\n"
        f"TERMS = (\n{terms})\n"
        "# What stands for a missing value.\n"
        f"FILLS = {{\n{fills}}}\n"
    )


def _prediction(model: LinearModel) -> str:
    if model.classes is None:
        return _ONE_OUTPUT if len(model.intercepts) == 1 else _OUTPUTS
    return _TWO_CLASSES if len(model.intercepts) == 1 else _CLASSES
