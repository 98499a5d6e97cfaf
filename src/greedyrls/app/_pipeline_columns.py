"""What the steps of a fitted pipeline make of the columns of the data, as sums of simple terms.

Every column that a scaler, an imputer, an encoder or a selector makes is a constant plus numbers of
the data, or flags of their categories, times coefficients. Such sums stay sums under the next step.
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

# Whole numbers beyond are not all numbers of float64, in which a model reads them.
_LARGEST_CODE = 2**53


@dataclass(frozen=True, slots=True)
class Source:
    """A column of the data, and how it is read."""

    name: str
    levels: tuple[str, ...] | None = None  # None: its numbers
    fill: Any = None  # what stands for a missing value; None where none may be missing


@dataclass(frozen=True, slots=True)
class Made:
    """A column that a step has made: a constant plus coefficients times what they belong to."""

    parts: dict[tuple[Source, str | None], float]  # numbers of a column, or one of its levels
    constant: float = 0.0

    @property
    def only(self) -> Source | None:
        """The column that this is a multiple of, if it is one of numbers (or texts) as read."""
        if len(self.parts) != 1:
            return None
        ((source, level),) = self.parts
        return source if level is None else None

    @property
    def is_as_read(self) -> bool:
        """Whether it is a column of the data, with or without a fill."""
        return self.only is not None and (self.constant, *self.parts.values()) == (0.0, 1.0)

    def scaled(self, factor: float, constant: float) -> Made:
        """This times a number, plus another one."""
        parts = {key: value * factor for key, value in self.parts.items()}
        return Made(parts, self.constant * factor + constant)


Columns = list[Made]


def inputs_of(step: Any) -> Columns:
    """The columns of the data, by the names that a fitted step has seen, or x0, x1, …"""
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        names = [f"x{column}" for column in range(step.n_features_in_)]
    return [Made({(Source(str(name)), None): 1.0}) for name in names]


def made_by(step: Any, given: Columns) -> Columns:
    """What a fitted step makes of some columns; an error that names a step that has no such sum."""
    if step is None or isinstance(step, str):  # "passthrough"
        return given
    for kind, make in _STEPS:
        if isinstance(step, kind):
            check_is_fitted(step)
            expected = getattr(step, "n_features_in_", len(given))
            if expected != len(given):
                raise ValueError(
                    f"{_name(step)} was fitted to {expected} columns, but gets {len(given)} from "
                    "the steps before it; fit the whole pipeline again."
                )
            return make(step, given)
    refuse(step, "it is not a linear transformation that this release supports")


def refuse(step: Any, why: str) -> NoReturn:
    """An error for a step that cannot be folded in."""
    raise TypeError(
        f"{_name(step)} cannot be folded into a LinearModel: {why}. Leave the step out of the "
        "pipeline and fit again, or take LinearModel.from_estimator(pipeline[-1]) and compute the "
        "output of the steps before it where the model is used."
    )


def _name(step: Any) -> str:
    return type(step).__name__


def _pipeline(step: Any, given: Columns) -> Columns:
    for _, one in step.steps:
        given = made_by(one, given)
    return given


def _affine(given: Columns, factors: Any, constants: Any) -> Columns:
    """Every column times a number plus another one."""
    count = len(given)
    factors = np.ones(count) if factors is None else np.asarray(factors, dtype=np.float64)
    constants = np.zeros(count) if constants is None else np.asarray(constants, dtype=np.float64)
    found = zip(given, factors.tolist(), constants.tolist(), strict=True)
    return [made.scaled(factor, constant) for made, factor, constant in found]


def _about(given: Columns, centre: Any, scale: Any) -> Columns:
    """Every column about a centre, divided by a scale."""
    factors = None if scale is None else 1.0 / np.asarray(scale, dtype=np.float64)
    constants = None
    if centre is not None:
        constants = -np.asarray(centre, dtype=np.float64)
        constants = constants if scale is None else constants / scale
    return _affine(given, factors, constants)


def _standard(step: Any, given: Columns) -> Columns:
    return _about(given, step.mean_ if step.with_mean else None, step.scale_)


def _robust(step: Any, given: Columns) -> Columns:
    centre = step.center_ if step.with_centering else None
    return _about(given, centre, step.scale_ if step.with_scaling else None)


def _min_max(step: Any, given: Columns) -> Columns:
    if step.clip:
        refuse(step, "with clip=True it is not linear")
    return _affine(given, step.scale_, step.min_)


def _max_abs(step: Any, given: Columns) -> Columns:
    if getattr(step, "clip", False):
        refuse(step, "with clip=True it is not linear")
    return _about(given, None, step.scale_)


def _function(step: Any, given: Columns) -> Columns:
    if step.func is not None:
        called = getattr(step.func, "__name__", repr(step.func))
        refuse(step, f"its function {called!r} may compute anything")
    return given


def _selector(step: Any, given: Columns) -> Columns:
    return [given[place] for place in step.get_support(indices=True)]


def _imputer(step: Any, given: Columns) -> Columns:
    if step.add_indicator:
        refuse(step, "with add_indicator=True it tells what is missing, which a term cannot")
    if not is_missing(step.missing_values):
        refuse(
            step,
            f"it takes {step.missing_values!r} for missing, and a LinearModel only empty cells "
            "and NaN",
        )
    found = []
    for made, value in zip(given, np.asarray(step.statistics_).tolist(), strict=True):
        if is_missing(value):
            continue  # a column without any values is dropped
        found.append(_filled(made, value))
    return found


def _filled(made: Made, value: Any) -> Made:
    """A column whose missing values are filled in; those of encoders have none."""
    source = made.only
    if source is None or source.fill is not None:
        return made
    ((_, factor),) = made.parts.items()
    # In the units of the data, where the step comes after a scaler.
    fill = value if made.is_as_read else (float(value) - made.constant) / factor
    return Made({(replace(source, fill=fill), None): factor}, made.constant)


def _one_hot(step: Any, given: Columns) -> Columns:
    infrequent = getattr(step, "infrequent_categories_", [None] * len(given))
    dropped = [None] * len(given) if step.drop_idx_ is None else list(step.drop_idx_)
    found: Columns = []
    columns = zip(given, step.categories_, infrequent, dropped, strict=True)
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
        texts = [stand_in if is_missing(one) else _text(step, source, one) for one in values]
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
        seldom_texts = [stand_in if is_missing(one) else _text(step, source, one) for one in seldom]
        groups = [[one] for one in texts if one not in seldom_texts]
        groups += [seldom_texts] if seldom_texts else []
        if drop is not None:
            groups = [group for group in groups if texts[int(drop)] not in group]
        found += [Made(dict.fromkeys(((read, text) for text in group), 1.0)) for group in groups]
    return found


def _stand_in(values: Sequence[Any]) -> str:
    """A text for a missing value, which is none of the categories."""
    text = ""
    while text in values:
        text = f"{text}missing"
    return text


def _text(step: Any, source: Source, value: Any) -> str:
    """A category as a model reads it."""
    is_number = isinstance(value, int | float) and math.isfinite(value)
    is_exact = not isinstance(value, int) or abs(value) <= _LARGEST_CODE
    if not isinstance(value, str) and not (is_number and is_exact):
        refuse(
            step, f"column {source.name!r} has the category {value!r}, neither text nor a number"
        )
    text = text_of(value)
    assert text is not None
    return text


def _column_transformer(step: Any, given: Columns) -> Columns:
    names = getattr(step, "feature_names_in_", None)
    weights = step.transformer_weights or {}
    found: Columns = []
    for name, transformer, columns in step.transformers_:
        with warnings.catch_warnings():
            # scikit-learn 1.6 announces that the rest will be named; numbers are understood, too.
            warnings.simplefilter("ignore", FutureWarning)
            own = [given[place] for place in _places(columns, len(given), names)]
        if own and not (isinstance(transformer, str) and transformer == "drop"):
            found += _weighted(made_by(transformer, own), weights.get(name))
    return found


def _places(columns: Any, count: int, names: Any) -> list[int]:
    """Columns by number, name, mask or slice, as scikit-learn takes them."""
    known = {} if names is None else {str(name): place for place, name in enumerate(names)}
    if isinstance(columns, slice):
        first, last = columns.start, columns.stop
        if isinstance(first, str) or isinstance(last, str):  # by name the last one is in, too
            first = known[first] if isinstance(first, str) else first
            last = known[last] + 1 if isinstance(last, str) else last
        return list(range(count))[slice(first, last, columns.step)]
    if isinstance(columns, str | int | np.integer):
        columns = [columns]
    chosen = list(columns)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        return [place for place, is_in in enumerate(chosen) if is_in]
    return [known[one] if isinstance(one, str) else int(one) % count for one in chosen]


def _union(step: Any, given: Columns) -> Columns:
    weights = step.transformer_weights or {}
    found: Columns = []
    for name, transformer in step.transformer_list:
        if not (isinstance(transformer, str) and transformer == "drop"):
            found += _weighted(made_by(transformer, given), weights.get(name))
    return found


def _weighted(columns: Columns, weight: Any) -> Columns:
    return columns if weight is None else [one.scaled(float(weight), 0.0) for one in columns]


# Exact types and those made of them; a selector of ours in the middle of a pipeline is a selector.
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
