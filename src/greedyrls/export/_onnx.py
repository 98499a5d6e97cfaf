"""Export a model as an ONNX graph."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .._base import required
from ..app import InputColumn, LinearModel, Term
from ._parts import Exportable, check_name, check_whole_labels, checked, date_words, encoded, shown

# The first opset that compares texts, and the file format that came with it.
_OPSET = 19
_FORMAT = 9
# The prediction if a value is missing, for labels that are whole numbers.
_NO_LABEL = -(2**63)


def to_onnx(model: Exportable, *, name: str = "predict") -> bytes:
    """Export a model as an ONNX graph that computes in double precision.

    It has an input for each column that the model uses, with the same name, of shape (m, 1):
    doubles for numbers, strings for text. The first output is ``prediction``: doubles of shape (m,)
    or, with several targets, (m, t); labels of a classification as strings, doubles or int64, true
    and false being 1 and 0. A classification has a second output, ``scores``, of shape
    (m, outputs). If a column has the name of an output, an underscore is appended to the output.

    Parameters
    ----------
    model : LinearModel, or fitted estimator or pipeline
        As in `export_model`.
    name : str, default="predict"
        Name of the graph.

    Returns
    -------
    bytes
        The graph for opset 19, which ONNX Runtime supports since version 1.16.

    Notes
    -----
    A missing number is NaN, a missing text is the empty string (unless that is among the levels of
    the column). If the model has no fill value for it, numbers and scores are NaN, and the label is
    ``""``, NaN or −2⁶³.

    Examples
    --------
    >>> import onnx
    >>> from greedyrls import LinearModel, greedy_path
    >>> from greedyrls.export import to_onnx
    >>> path = greedy_path([[1.0, 3.0], [2.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0], 1, alpha=1e-9)
    >>> graph = onnx.load_from_string(to_onnx(LinearModel.from_path(path))).graph
    >>> [value.name for value in graph.input], [value.name for value in graph.output]
    (['x0'], ['prediction'])
    """
    name, model = check_name(name), checked(model)
    onnx = required("onnx", "to_onnx needs onnx: pip install 'greedyrls[onnx]'.")
    _check(model)
    graph = _Graph(onnx, {column.name for column in model.columns})
    scores = _scores(graph, model)
    if model.classes is None:
        width = len(model.intercepts)
        value = scores if width > 1 else graph.add("Squeeze", scores, graph.wholes([1]))
        graph.output("prediction", value, onnx.TensorProto.DOUBLE, width if width > 1 else None)
    else:
        labels, kind = _labels(graph, model)
        label = graph.add("Gather", labels, _label_index(graph, model, scores))
        graph.output("prediction", label, kind)
        graph.output("scores", scores, onnx.TensorProto.DOUBLE, len(model.intercepts))
    return graph.document(model, name)


def _check(model: LinearModel) -> None:
    """Raise an error if ONNX cannot represent the model."""
    if not model.terms:
        raise ValueError(
            "A model without features has no inputs, so an ONNX graph could not determine the "
            "number of rows to predict. It predicts the same for every row: export it to C, Python "
            "or SQL, or take a model with features."
        )
    check_whole_labels(model, "ONNX")
    for column in model.columns:
        if not column.name:
            raise ValueError("A column has the empty name, which ONNX reserves; rename it.")
        encoded(column.name, "The column", "ONNX")


class _Graph:
    """Nodes, constants, inputs and outputs, with names that no column has."""

    def __init__(self, onnx: Any, taken: set[str]) -> None:
        self.onnx = onnx
        self._taken = taken
        self._prefix = "greedyrls"
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix += "_"
        self._count = 0
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def _name(self) -> str:
        self._count += 1
        return f"{self._prefix}_{self._count}"

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return its output."""
        name = self._name()
        self._nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _constant(self, kind: int, shape: list[int], values: Iterable[Any]) -> str:
        name = self._name()
        tensor = self.onnx.helper.make_tensor(name, kind, shape, list(values))
        self._constants.append(tensor)
        return name

    def numbers(self, values: list[float], shape: list[int] | None = None) -> str:
        """Add a constant of doubles; a vector unless a shape is given."""
        return self._constant(self.onnx.TensorProto.DOUBLE, shape or [len(values)], values)

    def wholes(self, values: list[int]) -> str:
        """Add a constant of whole numbers."""
        return self._constant(self.onnx.TensorProto.INT64, [len(values)], values)

    def texts(self, values: list[str], role: str) -> str:
        """Add a constant of strings."""
        data = [encoded(value, role, "ONNX") for value in values]
        return self._constant(self.onnx.TensorProto.STRING, [len(data)], data)

    def input(self, name: str, kind: int) -> str:
        """Add a column as an input."""
        self._inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["m", 1]))
        return name

    def output(self, name: str, value: str, kind: int, width: int | None = None) -> None:
        """Add an output of the graph."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        shape = ["m"] if width is None else ["m", width]
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def document(self, model: LinearModel, name: str) -> bytes:
        """Return the content of the file."""
        helper = self.onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_FORMAT
        )
        made.producer_name = "greedyrls"
        description = [f"Predicts {shown(model.target)}. Written by {shown(model.made_by)}."]
        made.doc_string = " ".join((*description, *date_words(model)))
        content: bytes = made.SerializeToString()
        return content


def _scores(graph: _Graph, model: LinearModel) -> str:
    """Return the outputs of the model, (m, outputs)."""
    values = []
    coefficients: list[float] = []
    count = 0
    for column in model.columns:
        terms = [term for term in model.terms if term.column == column.name]
        values.append(
            _number(graph, column, len(terms))
            if column.levels is None
            else _levels(graph, column, terms)
        )
        count += len(terms)
        coefficients += [value for term in terms for value in term.coefficients]
    side_by_side = graph.add("Concat", *values, axis=1)
    weights = graph.numbers(coefficients, [count, len(model.intercepts)])
    # One node: ONNX Runtime removes a separate addition of numbers that are 0 in single precision.
    return graph.add("Gemm", side_by_side, weights, graph.numbers(list(model.intercepts)))


def _number(graph: _Graph, column: InputColumn, count: int) -> str:
    """Return the values of a column of numbers, repeated for each term, (m, count)."""
    value = graph.input(column.name, graph.onnx.TensorProto.DOUBLE)
    if isinstance(column.fill, float):
        value = graph.add("Where", graph.add("IsNaN", value), graph.numbers([column.fill]), value)
    return value if count == 1 else graph.add("Concat", *[value] * count, axis=1)


def _levels(graph: _Graph, column: InputColumn, terms: list[Term]) -> str:
    """Return 1 if a column has the text of a term and 0 otherwise, (m, terms)."""
    value = graph.input(column.name, graph.onnx.TensorProto.STRING)
    levels = [term.level or "" for term in terms]
    is_missing = None
    if "" not in {*levels, *(column.levels or ())}:
        is_missing = graph.add("Equal", value, graph.texts([""], "The text"))
        if isinstance(column.fill, str):
            value = graph.add("Where", is_missing, graph.texts([column.fill], "The fill"), value)
    is_level = graph.add("Equal", value, graph.texts(levels, "The text"))
    flags = graph.add("Cast", is_level, to=graph.onnx.TensorProto.DOUBLE)
    if is_missing is None or column.fill is not None:
        return flags
    return graph.add("Where", is_missing, graph.numbers([math.nan]), flags)


def _label_index(graph: _Graph, model: LinearModel, scores: str) -> str:
    """Return the index of the label, (m); past the last if a score is not finite."""
    if len(model.intercepts) == 1:
        is_second = graph.add("Greater", scores, graph.numbers([0.0]))
        index = graph.add("Cast", is_second, to=graph.onnx.TensorProto.INT64)
        index = graph.add("Squeeze", index, graph.wholes([1]))
    else:
        index = graph.add("ArgMax", scores, axis=1, keepdims=0)
    # Zero times infinity is NaN.
    zeros = graph.add("Mul", scores, graph.numbers([0.0]))
    total = graph.add("ReduceSum", zeros, graph.wholes([1]), keepdims=0)
    past = graph.wholes([len(model.classes or ())])
    return graph.add("Where", graph.add("IsNaN", total), past, index)


def _labels(graph: _Graph, model: LinearModel) -> tuple[str, int]:
    """Return the labels with one for missing values appended, and their type."""
    labels: list[Any] = list(model.classes or ())
    proto = graph.onnx.TensorProto
    if isinstance(labels[0], str):
        return graph.texts([*labels, ""], "The class"), proto.STRING
    if isinstance(labels[0], float):
        return graph.numbers([*labels, math.nan]), proto.DOUBLE
    return graph.wholes([*map(int, labels), _NO_LABEL]), proto.INT64
