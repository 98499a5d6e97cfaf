"""Output columns of fitted pipeline steps, as linear combinations of the columns of the data.

Every column that a scaler, an imputer, an encoder or a selector outputs is a constant plus
coefficients times numbers of the data or indicators of categories. The next step keeps that form.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from ._frame_columns import is_missing, text_of

# Larger whole numbers are not all exact in float64, as which a model reads them.
_LARGEST_CODE = 2**53


@dataclass(frozen=True, slots=True)
class Source:
    """A column of the data, and how it is read."""

    name: str
    levels: tuple[str, ...] | None = None  # None for numbers
    fill: Any = None  # replaces missing values; None if none are allowed


@dataclass(frozen=True, slots=True)
class Made:
    """An output column of a step: a constant plus coefficients times their terms."""

    parts: dict[tuple[Source, str | None], float]  # by column, and level of a text column
    constant: float = 0.0

    @property
    def only(self) -> Source | None:
        """The column that this is a multiple of, if it is a single column without levels."""
        if len(self.parts) != 1:
            return None
        ((source, level),) = self.parts
        return source if level is None else None

    @property
    def is_as_read(self) -> bool:
        """Whether this is a column of the data itself, with or without a fill value."""
        return self.only is not None and (self.constant, *self.parts.values()) == (0.0, 1.0)

    def scaled(self, factor: float, constant: float) -> Made:
        """Return this column times a factor, plus a constant."""
        parts = {key: value * factor for key, value in self.parts.items()}
        return Made(parts, self.constant * factor + constant)


Columns = list[Made]


def inputs_of(step: Any) -> Columns:
    """Return the columns of the data, named as a fitted step has seen them, or x0, x1, …"""
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        names = [f"x{column}" for column in range(step.n_features_in_)]
    return [Made({(Source(str(name)), None): 1.0}) for name in names]


def made_by(step: Any, columns: Columns) -> Columns:
    """Return the output columns of a fitted step; raise an error if it is not supported."""
    if step is None or isinstance(step, str):  # "passthrough"
        return columns
    for kind, make in _STEPS:
        if isinstance(step, kind):
            check_is_fitted(step)
            expected = getattr(step, "n_features_in_", len(columns))
            if expected != len(columns):
                raise ValueError(
                    f"{_name(step)} was fitted to {expected} columns, but gets {len(columns)} from "
                    "the steps before it; fit the whole pipeline again."
                )
            return make(step, columns)
    refuse(step, "it is not a linear transformation that this release supports")


def refuse(step: Any, why: str) -> NoReturn:
    """Raise an error for a step that cannot be folded in."""
    raise TypeError(
        f"{_name(step)} cannot be folded into a LinearModel: {why}. Leave the step out of the "
        "pipeline and fit again, or take LinearModel.from_estimator(pipeline[-1]) and compute the "
        "output of the steps before it where the model is used."
    )


def _name(step: Any) -> str:
    return type(step).__name__


def _pipeline(step: Any, columns: Columns) -> Columns:
    for _, inner in step.steps:
        columns = made_by(inner, columns)
    return columns


def _affine(columns: Columns, factors: Any, constants: Any) -> Columns:
    """Return every column times a factor plus a constant."""
    count = len(columns)
    factors = np.ones(count) if factors is None else np.asarray(factors, dtype=np.float64)
    constants = np.zeros(count) if constants is None else np.asarray(constants, dtype=np.float64)
    triples = zip(columns, factors.tolist(), constants.tolist(), strict=True)
    return [made.scaled(factor, constant) for made, factor, constant in triples]


def _about(columns: Columns, centre: Any, scale: Any) -> Columns:
    """Return every column minus a centre, divided by a scale."""
    factors = None if scale is None else 1.0 / np.asarray(scale, dtype=np.float64)
    constants = None
    if centre is not None:
        constants = -np.asarray(centre, dtype=np.float64)
        constants = constants if scale is None else constants / scale
    return _affine(columns, factors, constants)


def _standard(step: Any, columns: Columns) -> Columns:
    return _about(columns, step.mean_ if step.with_mean else None, step.scale_)


def _robust(step: Any, columns: Columns) -> Columns:
    centre = step.center_ if step.with_centering else None
    return _about(columns, centre, step.scale_ if step.with_scaling else None)


def _min_max(step: Any, columns: Columns) -> Columns:
    if step.clip:
        refuse(step, "with clip=True it is not linear")
    return _affine(columns, step.scale_, step.min_)


def _max_abs(step: Any, columns: Columns) -> Columns:
    if getattr(step, "clip", False):
        refuse(step, "with clip=True it is not linear")
    return _about(columns, None, step.scale_)


def _function(step: Any, columns: Columns) -> Columns:
    if step.func is not None:
        called = getattr(step.func, "__name__", repr(step.func))
        refuse(step, f"its function {called!r} may compute anything")
    return columns


def _selector(step: Any, columns: Columns) -> Columns:
    return [columns[index] for index in step.get_support(indices=True)]


def _imputer(step: Any, columns: Columns) -> Columns:
    if step.add_indicator:
        refuse(
            step,
            "with add_indicator=True it adds columns that a LinearModel cannot represent",
        )
    if not is_missing(step.missing_values):
        refuse(
            step,
            f"it takes {step.missing_values!r} for missing, and a LinearModel only empty cells "
            "and NaN",
        )
    filled = []
    for made, value in zip(columns, np.asarray(step.statistics_).tolist(), strict=True):
        if is_missing(value):
            continue  # a column without values is dropped
        filled.append(_filled(made, value))
    return filled


def _filled(made: Made, value: Any) -> Made:
    """Return a column whose missing values are filled in; columns of encoders have none."""
    source = made.only
    if source is None or source.fill is not None:
        return made
    ((_, factor),) = made.parts.items()
    # Convert to the units of the data if the step comes after a scaler.
    fill = value if made.is_as_read else (float(value) - made.constant) / factor
    return Made({(replace(source, fill=fill), None): factor}, made.constant)


def _one_hot(step: Any, inputs: Columns) -> Columns:
    infrequent = getattr(step, "infrequent_categories_", [None] * len(inputs))
    dropped = [None] * len(inputs) if step.drop_idx_ is None else list(step.drop_idx_)
    encoded: Columns = []
    columns = zip(inputs, step.categories_, infrequent, dropped, strict=True)
    for made, categories, rare, drop in columns:
        source = made.only
        if source is None or not made.is_as_read:
            refuse(step, "it comes after a step that changes the numbers it encodes")
        values = categories.tolist()
        seldom = [] if rare is None else rare.tolist()
        if seldom and step.handle_unknown not in ("error", "ignore"):
            refuse(
                step,
                f"with handle_unknown={step.handle_unknown!r} categories that are new count as "
                "infrequent ones, for which there is no term",
            )
        stand_in = _stand_in(values)
        texts = [
            stand_in if is_missing(category) else _text(step, source, category)
            for category in values
        ]
        if len(set(texts)) < len(texts):
            refuse(step, f"two categories of column {source.name!r} are written alike")
        fill = source.fill
        if fill is not None and stand_in in texts:
            refuse(
                step,
                f"column {source.name!r} still has missing values after the imputer, which fills "
                "either None or not a number; make them alike before the pipeline is fitted",
            )
        if fill is not None:
            fill = _text(step, source, fill)
        elif stand_in in texts or step.handle_unknown != "error":
            fill = stand_in
        read = Source(source.name, tuple(texts), fill)
        seldom_texts = [
            stand_in if is_missing(category) else _text(step, source, category)
            for category in seldom
        ]
        groups = [[category] for category in texts if category not in seldom_texts]
        groups += [seldom_texts] if seldom_texts else []
        if drop is not None:
            groups = [group for group in groups if texts[int(drop)] not in group]
        encoded += [Made(dict.fromkeys(((read, text) for text in group), 1.0)) for group in groups]
    return encoded


def _stand_in(values: Sequence[Any]) -> str:
    """Return a text for missing values that is none of the categories."""
    text = ""
    while text in values:
        text = f"{text}missing"
    return text


def _text(step: Any, source: Source, value: Any) -> str:
    """Return a category as a model reads it."""
    is_number = isinstance(value, int | float) and math.isfinite(value)
    is_exact = not isinstance(value, int) or abs(value) <= _LARGEST_CODE
    if not isinstance(value, str) and not (is_number and is_exact):
        refuse(
            step, f"column {source.name!r} has the category {value!r}, neither text nor a number"
        )
    text = text_of(value)
    assert text is not None
    return text


def _column_transformer(step: Any, inputs: Columns) -> Columns:
    names = getattr(step, "feature_names_in_", None)
    weights = step.transformer_weights or {}
    outputs: Columns = []
    for name, transformer, columns in step.transformers_:
        with warnings.catch_warnings():
            # scikit-learn 1.6 warns that the remainder will be given by name; numbers work, too.
            warnings.simplefilter("ignore", FutureWarning)
            selected = [inputs[index] for index in _column_indices(columns, len(inputs), names)]
        if selected and not (isinstance(transformer, str) and transformer == "drop"):
            outputs += _weighted(made_by(transformer, selected), weights.get(name))
    return outputs


def _column_indices(columns: Any, count: int, names: Any) -> list[int]:
    """Return column indices for a number, name, mask or slice, as in scikit-learn."""
    by_name = {} if names is None else {str(name): index for index, name in enumerate(names)}
    if isinstance(columns, slice):
        first, last = columns.start, columns.stop
        if isinstance(first, str) or isinstance(last, str):  # a slice by name includes its end
            first = by_name[first] if isinstance(first, str) else first
            last = by_name[last] + 1 if isinstance(last, str) else last
        return list(range(count))[slice(first, last, columns.step)]
    if isinstance(columns, str | int | np.integer):
        columns = [columns]
    chosen = list(columns)
    if chosen and all(isinstance(column, bool | np.bool_) for column in chosen):
        return [index for index, is_in in enumerate(chosen) if is_in]
    return [
        by_name[column] if isinstance(column, str) else int(column) % count for column in chosen
    ]


def _union(step: Any, columns: Columns) -> Columns:
    weights = step.transformer_weights or {}
    outputs: Columns = []
    for name, transformer in step.transformer_list:
        if not (isinstance(transformer, str) and transformer == "drop"):
            outputs += _weighted(made_by(transformer, columns), weights.get(name))
    return outputs


def _weighted(columns: Columns, weight: Any) -> Columns:
    return columns if weight is None else [column.scaled(float(weight), 0.0) for column in columns]


# Supported types, including subclasses; an estimator of ours within a pipeline is a selector.
_STEPS: tuple[tuple[type, Callable[[Any, Columns], Columns]], ...] = (
    (Pipeline, _pipeline),
    (ColumnTransformer, _column_transformer),
    (FeatureUnion, _union),
    (StandardScaler, _standard),
    (RobustScaler, _robust),
    (MinMaxScaler, _min_max),
    (MaxAbsScaler, _max_abs),
    (SimpleImputer, _imputer),
    (OneHotEncoder, _one_hot),
    (FunctionTransformer, _function),
    (SelectorMixin, _selector),
)
