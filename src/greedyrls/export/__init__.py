"""Export a model to other languages: C, Python, SQL, ONNX.

`export_model` writes a `LinearModel` (``model.json``), or a fitted estimator, in any of them;
`to_c`, `to_python`, `to_sql` and `to_onnx` do so for one. The exported code does not need
greedyrls. Names of columns, categories and labels are always quoted or escaped: none of them can
become code.
"""

from __future__ import annotations

from typing import Any, Final, Literal, overload

from ._c import to_c
from ._onnx import to_onnx
from ._parts import Exportable
from ._python import to_python
from ._sql import to_sql

__all__ = ["SUFFIXES", "Language", "export_model", "to_c", "to_onnx", "to_python", "to_sql"]

Language = Literal["c", "python", "sql", "onnx"]

# Usual file suffixes of the languages.
SUFFIXES: Final[dict[str, str]] = {"c": ".c", "python": ".py", "sql": ".sql", "onnx": ".onnx"}


@overload
def export_model(
    model: Exportable, to: Literal["c", "python", "sql"], *, name: str = "predict"
) -> str: ...
@overload
def export_model(model: Exportable, to: Literal["onnx"], *, name: str = "predict") -> bytes: ...
@overload
def export_model(model: Exportable, to: Language, *, name: str = "predict") -> str | bytes: ...
def export_model(model: Exportable, to: Language, *, name: str = "predict") -> str | bytes:
    """Export a model to another language.

    Parameters
    ----------
    model : LinearModel, or fitted estimator or pipeline
        From `LinearModel.from_json`, `LinearModel.from_estimator` or `LinearModel.from_path`. An
        estimator, or a pipeline that ends with one, is converted by `LinearModel.from_estimator`.
    to : {"c", "python", "sql", "onnx"}
        The language. SQL reads from a table called "data"; use `to_sql` for another name.
    name : str, default="predict"
        Name of the function in C and Python and of the graph in ONNX (in SQL, a comment). Letters,
        digits and underscores.

    Returns
    -------
    str, or bytes for ONNX
        The content of a file with the suffix ``SUFFIXES[to]``.

    Notes
    -----
    Columns of the model that no term uses are left out.

    Examples
    --------
    >>> from greedyrls import LinearModel, greedy_path
    >>> from greedyrls.export import SUFFIXES, export_model
    >>> path = greedy_path([[1.0, 3.0], [2.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0], 1, alpha=1e-9)
    >>> code = export_model(LinearModel.from_path(path), "python", name="estimate")
    >>> module = {}
    >>> exec(code, module)
    >>> round(module["estimate"]({"x0": 3.0}), 6)
    3.0
    >>> SUFFIXES["python"]
    '.py'
    """
    if to == "c":
        return to_c(model, name=name)
    if to == "python":
        return to_python(model, name=name)
    if to == "sql":
        return to_sql(model, name=name)
    if to == "onnx":
        return to_onnx(model, name=name)
    language: Any = to
    supported = ", ".join(map(repr, SUFFIXES))
    raise ValueError(f"A model can be exported to {supported}; got {language!r}.")
