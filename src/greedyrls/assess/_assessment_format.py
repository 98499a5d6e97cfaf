"""The JSON format of assessments, stabilities and permutations (docs/reference/files.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base import (
    ERROR_OR_NULL,
    LOSS,
    LOSS_OR_NULL,
    NOT_NEGATIVE,
    POSITIVE,
    ArrayOf,
    Codec,
    Document,
    Float,
    Key,
    Kind,
    Labels,
    ListOf,
    Number,
    OrNull,
    Row,
    Sizes,
    Text,
    Whole,
    entry_of,
)
from ..path import LossNameKind
from ._assessment import PathAssessment
from ._class_rates import PROBABILITY_LOSSES, ClassRates, at_sizes, measures_for
from ._null import PermutationNull
from ._predictions_format import PREDICTIONS
from ._stability import Order, Stability

# Losses of probabilities, with features and without.
_PROBABILITY_KEYS = (*PROBABILITY_LOSSES, *(f"initial_{name}" for name in PROBABILITY_LOSSES))
# Arrays are made of that length; more columns than any table has are damage.
_N_FEATURES = Whole(1, 1 << 31, binds="n")
_NAMES = ListOf(Text(), "n")
_INDEX = Whole(end="n")
_BY_SIZE = ArrayOf("F k", LOSS_OR_NULL)


@dataclass(frozen=True)
class _Order(ArrayOf):
    """Column numbers, each once."""

    def read(self, value: Any, name: str, sizes: Sizes) -> Order:
        order: Order = super().read(value, name, sizes)
        if len(np.unique(order)) < len(order):
            raise ValueError("a feature is selected more than once")
        return order


@dataclass(frozen=True)
class _ByMeasure(Kind):
    """Arrays of losses in the measures of a classification, as an object."""

    kind: ArrayOf

    def write(self, value: dict[str, Float]) -> dict[str, Any]:
        return {name: self.kind.write(losses) for name, losses in value.items()}

    def read(self, value: Any, name: str, sizes: Sizes) -> Float:
        measures = measures_for(1 if sizes["c"] == 2 else sizes["c"])
        found = [(one, entry_of(value, one, name)) for one in measures]
        return np.array([self.kind.read(losses, one, sizes) for one, losses in found])


def _probabilities(rates: ClassRates) -> list[Float] | None:
    own, initial = rates.probability_losses, rates.initial_probability_losses
    return None if own is None or initial is None else [*own, *initial]


def _rates(values: dict[str, Any], sizes: Sizes) -> ClassRates:
    """Rates whose sizes and shares are those of the object that they are a part of."""
    found, total = values.pop("probabilities"), values["predicted"].sum()
    if not abs(total - 1.0) <= 1e-6:
        raise ValueError(f"predicted has the sum {total}, not 1")
    count = len(PROBABILITY_LOSSES)
    own, initial = (None, None) if found is None else (found[:count], found[count:])
    return ClassRates(
        **values,
        measures=measures_for(1 if sizes["c"] == 2 else sizes["c"]),
        chosen_sizes=np.zeros(0, dtype=np.intp),
        shares=np.zeros(0),
        probability_losses=None if own is None else np.array(own),
        initial_probability_losses=None if initial is None else np.array(initial),
    )


# Files of older releases have none.
CLASS_RATES = Key(
    Codec(
        ClassRates,
        {
            "classes": Labels(),
            "losses": Key(
                _ByMeasure(ArrayOf("F k", ERROR_OR_NULL)),
                get=lambda rates: dict(zip(rates.measures, rates.losses, strict=True)),
            ),
            "initial_losses": Key(
                _ByMeasure(ArrayOf("F", ERROR_OR_NULL)),
                get=lambda rates: dict(zip(rates.measures, rates.initial_losses, strict=True)),
            ),
            "predicted": ArrayOf("c", NOT_NEGATIVE),
            "probabilities": Key(
                OrNull(Row((ArrayOf("F", NOT_NEGATIVE),) * 4, _PROBABILITY_KEYS)),
                may_lack=True,
                get=_probabilities,
            ),
        },
        keys="classes losses initial_losses predicted is_weighted probabilities",
        make=_rates,
        shares_letters=True,
    ),
    name="class_rates",
    may_lack=True,
)


def _assessment(values: dict[str, Any], sizes: Sizes) -> PathAssessment:
    """An assessment whose sizes and errors fit together."""
    shares, chosen = values["shares"], values["chosen_sizes"]
    if not len(shares) or abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"shares has the sum {shares.sum()}, not 1")
    longest = [len(order) for order in values["features"]]
    if max(longest) > sizes["k"] or (chosen > longest).any():
        raise ValueError("chosen_sizes does not fit features")
    covariance = values["held_out_covariance"]
    if covariance is None:
        values["n_independent"] = None
    else:
        _check_covariance(covariance, sizes["k"] + 2)
        for key in ("n_independent", "test_ratio"):
            if not values[key]:
                raise ValueError(f"{key} is null though there is held_out_covariance")
    if values["class_rates"] is not None:
        rates = replace(values["class_rates"], chosen_sizes=chosen, shares=shares)
        values["class_rates"] = rates
    made = PathAssessment(**values)
    pairs = (
        (made.test_losses, made.initial_losses),
        (made.selection_losses, made.own_initial_losses),
    )
    if np.isnan([at_sizes(*pair, chosen) for pair in pairs]).any():
        raise ValueError("test_losses or selection_losses has null at a size that was chosen")
    return made


def _check_covariance(covariance: Float, count: int) -> None:
    """Of the chosen size, no features and all sizes."""
    if len(covariance) != count:
        raise ValueError(f"held_out_covariance has {len(covariance)} entries, expected {count}")
    is_symmetric = np.array_equal(covariance, covariance.T, equal_nan=True)
    if (np.diagonal(covariance) < 0.0).any() or not is_symmetric:
        raise ValueError("held_out_covariance is not symmetric with a diagonal from 0 on")


def _null(values: dict[str, Any], sizes: Sizes) -> PermutationNull:
    made = PermutationNull(**values)
    if not len(made.losses) or not len(made.null_losses):
        raise ValueError("it has no losses")
    if np.isnan(made.null_chosen_losses).all():
        raise ValueError("null_chosen_losses has no number")
    return made


ASSESSMENT_FORMAT = Document(
    "greedyrls.assessment",
    (1,),
    Codec(
        PathAssessment,
        {
            "measure": LossNameKind(),
            "test_losses": _BY_SIZE,
            "selection_losses": _BY_SIZE,
            "random_losses": ArrayOf("F R k", LOSS_OR_NULL),
            "initial_losses": ArrayOf("F", LOSS),
            "own_initial_losses": Key(ArrayOf("F", LOSS_OR_NULL), may_lack=True),
            "features": ListOf(_Order("*", _INDEX), "F"),
            "alphas": ArrayOf("F", POSITIVE),
            "chosen_sizes": ArrayOf("F", Whole(most="k")),
            "shares": ArrayOf("F", POSITIVE),
            "n_samples": Whole(1),
            "n_features_in": _N_FEATURES,
            "n_available": Whole(1, most="n"),
            "n_asked": Whole(1, most="n"),
            "feature_names_in": _NAMES,
            "forced": ListOf(_INDEX),
            "overlap": NOT_NEGATIVE,
            "held_out_covariance": Key(ArrayOf("s s", Number(has_gaps=True)), may_lack=True),
            "n_independent": Key(Whole(1), may_lack=True),
            "test_ratio": Key(
                POSITIVE, may_lack=True, get=lambda assessment: assessment.test_ratio or None
            ),
            "class_rates": CLASS_RATES,
            "predictions": PREDICTIONS,
        },
        keys="measure test_losses selection_losses random_losses initial_losses "
        "own_initial_losses features alphas chosen_sizes shares folds criterion n_samples "
        "n_features_in n_available n_asked feature_names_in forced overlap held_out_covariance "
        "n_independent test_ratio class_rates predictions",
        make=_assessment,
    ),
    has_sentence=True,
)
STABILITY_FORMAT = Document(
    "greedyrls.stability",
    (1,),
    Codec(
        Stability,
        {
            "selections": ListOf(_Order("*", _INDEX)),
            "n_features_in": _N_FEATURES,
            "n_available": Whole(1, most="n"),
            "feature_names_in": _NAMES,
            "level": POSITIVE,
            "forced": ListOf(_INDEX),
        },
        keys="selections n_features_in n_available feature_names_in source level forced",
    ),
    has_sentence=True,
)
NULL_FORMAT = Document(
    "greedyrls.null",
    (1,),
    Codec(
        PermutationNull,
        {
            "measure": LossNameKind(),
            "losses": ArrayOf("k", LOSS),
            "null_losses": ArrayOf("P k", LOSS_OR_NULL),
            "chosen_loss": LOSS,
            "null_chosen_losses": ArrayOf("P", LOSS_OR_NULL),
            "initial_loss": LOSS,
        },
        make=_null,
    ),
    has_sentence=True,
)
