"""The methods section of a result: how the table was prepared, searched and assessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base import printable
from ..path import WEIGHTS, combined, methods_of

if TYPE_CHECKING:
    from ._selection_result import SelectionResult

_DATA = "[Describe the data and any further preprocessing.]"


def methods_text_of(result: SelectionResult) -> str:
    """Return the paragraph and its references."""
    methods = methods_of(
        result.path,
        result.task,
        result.origin.versions.get("greedyrls"),
        _preprocessing(result),
        _weights(result),
    )
    parts = (result.assessment, result.stability, result.null)
    return combined(methods, [part for part in parts if part is not None]).text


def _weights(result: SelectionResult) -> str:
    """Return how samples were weighted."""
    parameters, parts = result.origin.parameters, []
    if parameters.get("weights"):
        parts.append(f"by the column {printable(str(parameters['weights']))}")
    if parameters.get("class_weight"):
        parts.append(f"by their classes ({printable(str(parameters['class_weight']))})")
    return f"Samples were weighted {' and '.join(parts)}." if parts else WEIGHTS


def _preprocessing(result: SelectionResult) -> str:
    """Return what was done to the table before the search."""
    parameters, sentences = result.origin.parameters, []
    if any(column.levels is not None for column in result.inputs):
        sentences.append("Text columns were encoded as indicators of their values.")
    if not result.origin.command:
        return " ".join([*sentences, "[Describe the data and the preprocessing.]"])
    if parameters.get("impute") is not None:
        sentences.append(
            "Missing values were replaced by the median, in text columns by the most frequent "
            "value."
        )
    if parameters.get("is_standardised", True):
        centred = "mean 0 and " if parameters.get("is_centred", True) else ""
        sentences.append(
            f"Features were scaled to {centred}variance 1, using all samples, before the search."
        )
    return " ".join([*sentences, _DATA])
