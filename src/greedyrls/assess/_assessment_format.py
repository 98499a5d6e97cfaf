"""The JSON format of assessments, stabilities and permutations (docs/files.md)."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .._base import (
    Float,
    JsonObject,
    as_entries,
    as_whole,
    or_null,
    read_classes,
    read_document,
    write_document,
)
from ..path import LossName
from ._assessment import PathAssessment
from ._class_rates import PROBABILITY_LOSSES, ClassRates, at_sizes, measures_for
from ._null import PermutationNull
from ._predictions_format import predictions_document, read_predictions
from ._stability import Order, Stability

# Losses of probabilities, with features and without.
_PROBABILITY_KEYS = (*PROBABILITY_LOSSES, *(f"initial_{name}" for name in PROBABILITY_LOSSES))
# Only a function may give losses below 0.
_CALLABLE = "callable:"
_VERSION = 1
# Arrays are made of that length; more columns than any table has are damage.
_MOST_FEATURES = 1 << 31

Assessed = PathAssessment | Stability | PermutationNull


def encode(value: Assessed, indent: int | None = None, more: dict[str, Any] | None = None) -> str:
    """Text of an assessment, a stability or permutations; `more` is for people and programs."""
    form, document, _ = _FORMATS[type(value)]
    head = {"format": form, "version": _VERSION, "sentence": value.sentence}
    return write_document({**head, **document(value), **(more or {})}, indent)


def decode(text: str | bytes, kind: type[Assessed]) -> Any:
    """One of these from its text, or a ValueError that says what is wrong with it."""
    form, _, read = _FORMATS[kind]
    return read_document(text, form, (_VERSION,), read)


def assessment_document(assessment: PathAssessment) -> dict[str, Any]:
    """An assessment as plain numbers, strings, lists and objects."""
    return {
        "measure": assessment.measure,
        "test_losses": or_null(assessment.test_losses.tolist()),
        "selection_losses": or_null(assessment.selection_losses.tolist()),
        "random_losses": or_null(assessment.random_losses.tolist()),
        "initial_losses": assessment.initial_losses.tolist(),
        "own_initial_losses": None
        if assessment.own_initial_losses is None
        else or_null(assessment.own_initial_losses.tolist()),
        "features": [order.tolist() for order in assessment.features],
        "alphas": assessment.alphas.tolist(),
        "chosen_sizes": assessment.chosen_sizes.tolist(),
        "shares": assessment.shares.tolist(),
        "folds": assessment.folds,
        "criterion": assessment.criterion,
        "n_samples": assessment.n_samples,
        "n_features_in": assessment.n_features_in,
        "n_available": assessment.n_available,
        "n_asked": assessment.n_asked,
        "feature_names_in": _names(assessment.feature_names_in),
        "forced": list(assessment.forced),
        "overlap": assessment.overlap,
        "held_out_covariance": None
        if assessment.held_out_covariance is None
        else or_null(assessment.held_out_covariance.tolist()),
        "n_independent": assessment.n_independent,
        "test_ratio": assessment.test_ratio or None,
        "class_rates": rates_document(assessment.class_rates),
        "predictions": predictions_document(assessment.predictions),
    }


def rates_document(rates: ClassRates | None) -> dict[str, Any] | None:
    """Further measures as plain numbers, strings, lists and objects."""
    if rates is None:
        return None
    return {
        "classes": list(rates.classes),
        "losses": dict(zip(rates.measures, or_null(rates.losses.tolist()), strict=True)),
        "initial_losses": dict(
            zip(rates.measures, or_null(rates.initial_losses.tolist()), strict=True)
        ),
        "predicted": rates.predicted.tolist(),
        "is_weighted": rates.is_weighted,
        "probabilities": _probabilities(rates),
    }


def _probabilities(rates: ClassRates) -> dict[str, Any] | None:
    """Losses of probabilities by name, if there are any."""
    own, initial = rates.probability_losses, rates.initial_probability_losses
    if own is None or initial is None:
        return None
    losses = np.concatenate([own, initial]).tolist()
    return dict(zip(_PROBABILITY_KEYS, losses, strict=True))


def _read_probabilities(document: JsonObject, folds: int) -> tuple[Float | None, Float | None]:
    """The same from their document; files of older releases have none."""
    if not document.has_optional("probabilities"):
        return None, None
    part, count = document.part("probabilities"), len(PROBABILITY_LOSSES)
    losses = np.array([read_losses(part, key, folds, key) for key in _PROBABILITY_KEYS])
    return losses[:count].copy(), losses[count:].copy()


def read_rates(
    document: JsonObject, sizes: NDArray[np.intp], shares: Float, width: int
) -> ClassRates | None:
    """Further measures from their document, or None: files of older releases have none."""
    if document.values.get("class_rates") is None:
        return None
    part = document.part("class_rates")
    classes = read_classes(part)
    names = measures_for(1 if len(classes) == 2 else len(classes))
    losses, initial = part.part("losses"), part.part("initial_losses")
    own, without = _read_probabilities(part, len(shares))
    predicted = part.cells("predicted", (len(classes),))
    if not abs(predicted.sum() - 1.0) <= 1e-6:
        raise ValueError(f"predicted has the sum {predicted.sum()}, not 1")
    return ClassRates(
        classes=classes,
        measures=names,
        losses=np.array([losses.cells(name, (len(shares), width)) for name in names]),
        initial_losses=np.array([initial.cells(name, (len(shares),)) for name in names]),
        predicted=predicted,
        chosen_sizes=sizes,
        shares=shares,
        is_weighted=part.flag("is_weighted"),
        probability_losses=own,
        initial_probability_losses=without,
    )


def read_assessment(document: JsonObject) -> PathAssessment:
    """An assessment from its document."""
    n = document.whole("n_features_in", 1, _MOST_FEATURES)
    measure = _measure(document)
    is_signed = measure.startswith(_CALLABLE)
    shares = np.array(document.positives("shares"))
    folds = len(shares)
    if folds == 0 or abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"shares has the sum {shares.sum()}, not 1")
    width = len(as_entries(document.entries("test_losses", folds)[0], "test_losses", None))
    repeats = len(as_entries(document.entries("random_losses", folds)[0], "random_losses", None))
    features = tuple(_order(one, n) for one in document.entries("features", folds))
    chosen = np.array(document.wholes("chosen_sizes", 0, width + 1), dtype=np.intp)
    longest = [len(order) for order in features]
    if len(chosen) != folds or max(longest) > width or (chosen > longest).any():
        raise ValueError("chosen_sizes does not fit features")
    tested, believed = (
        document.cells(key, (folds, width), is_signed)
        for key in ("test_losses", "selection_losses")
    )
    initial = read_losses(document, "initial_losses", folds, measure)
    own_initial = None
    rates = read_rates(document, chosen, shares, width)
    if document.has_optional("own_initial_losses"):
        own_initial = document.cells("own_initial_losses", (folds,), is_signed)
    pairs = ((tested, initial), (believed, own_initial))
    if np.isnan([at_sizes(*pair, chosen) for pair in pairs]).any():
        raise ValueError("test_losses or selection_losses has null at a size that was chosen")
    covariance = _covariance(document, width)
    return PathAssessment(
        measure=measure,
        test_losses=tested,
        selection_losses=believed,
        random_losses=_random(document, (folds, repeats, width), is_signed),
        initial_losses=initial,
        own_initial_losses=own_initial,
        features=features,
        alphas=np.array(document.positives("alphas", folds)),
        chosen_sizes=chosen,
        shares=shares,
        folds=document.text("folds"),
        criterion=document.text("criterion"),
        n_samples=document.whole("n_samples", 1),
        n_features_in=n,
        n_available=document.whole("n_available", 1, n + 1),
        n_asked=document.whole("n_asked", 1, n + 1) if document.has("n_asked") else None,
        feature_names_in=_read_names(document, n),
        forced=tuple(document.wholes("forced", 0, n)),
        overlap=document.positive("overlap"),
        held_out_covariance=covariance,
        n_independent=None if covariance is None else document.whole("n_independent", 1),
        test_ratio=document.positive("test_ratio", zero_too=False)
        if covariance is not None or document.has_optional("test_ratio")
        else 0.0,
        class_rates=rates,
        predictions=read_predictions(document, None if rates is None else len(rates.classes)),
    )


def _covariance(document: JsonObject, width: int) -> Float | None:
    """Of the chosen size, no features and all sizes; files of earlier releases have none."""
    if not document.has_optional("held_out_covariance"):
        return None
    count = width + 2
    found = document.cells("held_out_covariance", (count, count), is_signed=True)
    variances = np.diagonal(found)
    if (variances < 0.0).any() or not np.array_equal(found, found.T, equal_nan=True):
        raise ValueError("held_out_covariance is not symmetric with a diagonal from 0 on")
    return found


def _random(document: JsonObject, shape: tuple[int, int, int], is_signed: bool) -> Float:
    # Without repeats there is nothing from which NumPy could tell the last axis.
    return document.cells("random_losses", shape, is_signed).reshape(shape)


def stability_document(stability: Stability) -> dict[str, Any]:
    """A stability as plain numbers, strings, lists and objects."""
    return {
        "selections": [order.tolist() for order in stability.selections],
        "n_features_in": stability.n_features_in,
        "n_available": stability.n_available,
        "feature_names_in": _names(stability.feature_names_in),
        "source": stability.source,
        "level": stability.level,
        "forced": list(stability.forced),
    }


def read_stability(document: JsonObject) -> Stability:
    """A stability from its document."""
    n = document.whole("n_features_in", 1, _MOST_FEATURES)
    return Stability(
        selections=tuple(_order(one, n) for one in document.entries("selections")),
        n_features_in=n,
        feature_names_in=_read_names(document, n),
        source=document.text("source"),
        level=document.positive("level", zero_too=False),
        n_available=document.whole("n_available", 1, n + 1)
        if document.has("n_available")
        else None,
        forced=tuple(document.wholes("forced", 0, n)),
    )


def null_document(null: PermutationNull) -> dict[str, Any]:
    """Permutations as plain numbers, strings, lists and objects."""
    return {
        "measure": null.measure,
        "losses": null.losses.tolist(),
        "null_losses": or_null(null.null_losses.tolist()),
        "chosen_loss": null.chosen_loss,
        "null_chosen_losses": or_null(null.null_chosen_losses.tolist()),
        "initial_loss": null.initial_loss,
    }


def read_null(document: JsonObject) -> PermutationNull:
    """Permutations from their document."""
    measure = _measure(document)
    is_signed = measure.startswith(_CALLABLE)
    losses = read_losses(document, "losses", None, measure)
    count = len(document.entries("null_losses"))
    if not len(losses) or not count:
        raise ValueError("it has no losses")
    chosen = document.cells("null_chosen_losses", (count,), is_signed)
    if np.isnan(chosen).all():
        raise ValueError("null_chosen_losses has no number")
    return PermutationNull(
        measure=measure,
        losses=losses,
        null_losses=document.cells("null_losses", (count, len(losses)), is_signed),
        chosen_loss=_loss(document, "chosen_loss", is_signed),
        null_chosen_losses=chosen,
        initial_loss=_loss(document, "initial_loss", is_signed),
    )


def read_losses(document: JsonObject, key: str, length: int | None, measure: str) -> Float:
    """Losses, none of which is missing; below 0 only where losses have a sign."""
    losses = document.array(key, length)
    if not measure.startswith(_CALLABLE) and (losses < 0.0).any():
        raise ValueError(f"{key} has a number below 0")
    return losses


def _loss(document: JsonObject, key: str, is_signed: bool) -> float:
    return document.number(key) if is_signed else document.positive(key)


def _measure(document: JsonObject) -> str:
    measure = document.text("measure")
    if measure.startswith(_CALLABLE):
        return measure
    return document.one_of("measure", get_args(LossName))


def _names(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _read_names(document: JsonObject, n: int) -> tuple[str, ...] | None:
    has_names = document.has("feature_names_in")
    return tuple(document.texts("feature_names_in", n)) if has_names else None


def _order(values: Any, n: int) -> Order:
    """Column numbers, each once."""
    found = [as_whole(value, "features", 0, n) for value in as_entries(values, "features", None)]
    if len(set(found)) < len(found):
        raise ValueError("a feature is selected more than once")
    return np.array(found, dtype=np.intp)


_FORMATS: dict[type[Assessed], tuple[str, Any, Any]] = {
    PathAssessment: ("greedyrls.assessment", assessment_document, read_assessment),
    Stability: ("greedyrls.stability", stability_document, read_stability),
    PermutationNull: ("greedyrls.null", null_document, read_null),
}
