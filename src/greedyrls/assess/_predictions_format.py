"""The JSON format of predictions of rows held out (docs/files.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base import Float, JsonObject, or_null
from ._predictions import MOST_CLASSES, N_BINS, ROC_GRID, SOURCES, Predictions

_ROUNDING = 1e-9


def predictions_document(predictions: Predictions | None) -> dict[str, Any] | None:
    """Return predictions as plain numbers, strings and lists."""
    if predictions is None:
        return None
    return {
        "source": predictions.source,
        "n_rows": predictions.n_rows,
        "observed": predictions.observed.tolist(),
        "predicted": predictions.predicted.tolist(),
        "confusion": _listed(predictions.confusion),
        "roc": _listed(predictions.roc),
        "reliability": _listed(predictions.reliability),
    }


def _listed(values: Float | None) -> Any:
    return None if values is None else or_null(values.tolist())


def read_predictions(document: JsonObject, n_classes: int | None) -> Predictions | None:
    """Read predictions from the document that contains them; None for older files."""
    if not document.has_optional("predictions"):
        return None
    part = document.part("predictions")
    observed = part.array("observed", None)
    source: Any = part.one_of("source", SOURCES)
    confusion, roc, reliability = None, None, None
    if n_classes is not None and len(observed):
        raise ValueError("observed has rows of a classification")
    if n_classes is None and any(part.has(key) for key in ("confusion", "roc", "reliability")):
        raise ValueError("predictions of numbers have classes")
    if n_classes is not None and part.has("confusion"):
        if n_classes > MOST_CLASSES:
            raise ValueError(f"confusion is of more than {MOST_CLASSES} classes")
        confusion = _bounded("confusion", part.cells("confusion", (n_classes, n_classes)), np.inf)
    if part.has("roc"):
        if n_classes != 2:
            raise ValueError("roc is not of two classes")
        roc = _bounded("roc", part.cells("roc", (len(ROC_GRID),)), 1.0)
        if (np.diff(roc) < -_ROUNDING).any():
            raise ValueError("roc falls")
    if part.has("reliability"):
        reliability = part.cells("reliability", (3, N_BINS))
        if (reliability[1:] > 1.0 + _ROUNDING).any():
            raise ValueError("reliability has a share above 1")
    return Predictions(
        source,
        part.whole("n_rows", 1),
        observed,
        part.array("predicted", len(observed)),
        confusion,
        roc,
        reliability,
    )


def _bounded(key: str, values: Float, highest: float) -> Float:
    if not (values <= highest + _ROUNDING).all():
        raise ValueError(f"{key} has no number, or one above {highest:g}")
    return values
