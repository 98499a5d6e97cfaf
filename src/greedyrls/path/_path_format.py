"""The stable JSON format of a path (docs/reference/path-format.md): plain numbers and strings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

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
    ListOf,
    OneOf,
    OrNull,
    Row,
    Sizes,
    Text,
    Whole,
    as_entries,
    as_number,
)
from ._path import SelectionPath
from ._sets import with_shared_order
from ._size import SizeChoice, SizeRule
from ._step_format import (
    INDEX,
    SET_CODEC,
    STEP_CODEC,
    LossNameKind,
    check_fold_losses,
    check_groups,
    check_sets,
    check_steps,
    is_growing,
)
from ._steps import Counters, FeatureSet, Moments, Settings, Step
from ._surface import AlphaRule, AlphaSurface


class _RefitAlpha(Kind):
    """A number, or where the penalties of the models come from."""

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        known = OneOf(("same", "loo", "cv")) if isinstance(value, str) else POSITIVE
        return known.read(value, name, sizes)


class _Lower(Kind):
    """A symmetric matrix (p × p) as the rows of its lower triangle."""

    def write(self, value: Float) -> list[list[float]]:
        return [value[row, : row + 1].tolist() for row in range(len(value))]

    def read(self, value: Any, name: str, sizes: Sizes) -> Float:
        rows = as_entries(value, name)
        p = len(as_entries(rows, name, sizes.setdefault("p", len(rows))))
        matrix = np.zeros((p, p))
        for row, values in enumerate(rows):
            numbers = [as_number(one, name) for one in as_entries(values, name, row + 1)]
            matrix[row, : row + 1] = matrix[: row + 1, row] = numbers
        return matrix


@dataclass(frozen=True)
class _Losses(ArrayOf):
    """Losses by penalty and number of features."""

    def read(self, value: Any, name: str, sizes: Sizes) -> Float:
        losses: Float = super().read(value, name, sizes)
        if not 1 <= sizes["k"] <= sizes["n"]:
            raise ValueError(f"{name} has {sizes['k']} columns for {sizes['n']} features")
        return losses


def _groups(settings: Settings) -> list[tuple[str, tuple[int, ...]]] | None:
    """Groups of two columns or more, with their names."""
    if settings.feature_groups is None or settings.group_names is None:
        return None
    return list(zip(settings.group_names, settings.feature_groups, strict=True))


def _settings(values: dict[str, Any], sizes: Sizes) -> Settings:
    """Settings whose groups, costs and budget fit together."""
    direction, costs = values["direction"], values["feature_costs"]
    ratio, named = values["backward_ratio"], values.pop("feature_groups")
    if (ratio is not None) != (direction == "foba"):
        raise ValueError(f"backward_ratio is not supported with direction {direction!r}")
    if ratio is not None and ratio >= 1.0:
        raise ValueError(f"backward_ratio is {ratio}, not below 1")
    names, groups = zip(*named, strict=True) if named else (None, None)
    columns = [column for group in groups or () for column in group]
    if named is not None and (not named or len(set(columns)) < len(columns)):
        raise ValueError("feature_groups is empty, or a column is in two groups")
    if any(len(group) < 2 for group in groups or ()):
        raise ValueError("a group has fewer than two columns")
    # What a group costs as a whole may stand at its first column.
    owned = {column for group in groups or () for column in group[1:]}
    if any(cost == 0.0 and column not in owned for column, cost in enumerate(costs or ())):
        raise ValueError("feature_costs has a number that is not above 0")
    if values["budget"] is not None and costs is None:
        raise ValueError("budget is there without feature_costs")
    return Settings(**values, feature_groups=groups, group_names=names)


def _moments(values: dict[str, Any], sizes: Sizes) -> Moments:
    if not len(values["target_means"]):
        raise ValueError("it has no targets")
    if (np.diagonal(values["gram"]) < 0).any():
        raise ValueError("gram_lower has a negative sum of squares")
    return Moments(**values)


def _surface(values: dict[str, Any], sizes: Sizes) -> AlphaSurface:
    """A surface that has losses by fold just where it is nested, and one at what was chosen."""
    surface = AlphaSurface(**values)
    rule, alpha, size, shares = surface.rule, surface.alpha, surface.size, surface.fold_shares
    if not len(surface.alphas) or (np.diff(surface.alphas) <= 0.0).any():
        raise ValueError("alphas is not ascending")
    if alpha not in surface.alphas:
        raise ValueError(f"the surface has alpha {alpha}, which is not among its alphas")
    if size > (0 if rule == "all_features" else sizes["k"]):
        raise ValueError(f"size has {size}, more than there are")
    is_known = size > 0 or rule == "all_features"  # no cell is that of no features
    if is_known and np.isnan(surface.losses[surface.row, max(size, 1) - 1]):
        raise ValueError(f"losses has null at alpha {alpha} and size {size}, which were chosen")
    for key in ("fold_losses", "fold_shares"):
        if (values[key] is not None) != (rule == "nested"):
            raise ValueError(f"{key} of the surface is for rule 'nested', where it is not null")
    if surface.initial_fold_losses is not None and shares is None:
        raise ValueError("initial_fold_losses of the surface are for rule 'nested'")
    if shares is not None and abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"fold_shares has the sum {shares.sum()}, not 1")
    return surface


def _sets(path: SelectionPath) -> tuple[FeatureSet, ...] | None:
    """What is written of sets: none where they are known from the steps."""
    return None if is_growing(path.steps, path.start) else path.sets


def _path(values: dict[str, Any], sizes: Sizes) -> SelectionPath:
    """A path whose parts fit together."""
    settings: Settings = values["settings"]
    steps: tuple[Step, ...] = values["steps"]
    start: FeatureSet | None = values["start"]
    sets: tuple[FeatureSet, ...] | None = values.pop("sets")
    if not steps and start is None:
        raise ValueError("it has no steps")
    if sets is not None:
        check_sets(sets, steps, start)
    elif not is_growing(steps, start):
        raise ValueError("sets is null though features were removed, or could be")
    check_steps(steps, start, settings.excluded_features)
    path = SelectionPath(**values, sets=() if sets is None else with_shared_order(sets))
    check_groups(steps, settings.feature_groups)
    check_fold_losses([*steps, *path.sets], settings.cv)
    targets = len(path.moments.target_means)
    if settings.single_target and targets > 1:
        raise ValueError(f"single_target is true for {targets} targets")
    if path.size_choice is not None and path.size_choice.size > len(path.sets):
        raise ValueError(f"size_choice has size {path.size_choice.size} of {len(path.sets)}")
    for surface in (path.surface, path.size_surface):
        if surface is not None and surface.alpha != settings.alpha:
            raise ValueError(f"the surface has alpha {surface.alpha}, not that of the path")
    _check_refit_alphas(path)
    return _with_features(path)


def _check_refit_alphas(path: SelectionPath) -> None:
    refit, alphas = path.settings.refit_alpha, path.refit_alphas
    if (alphas is None) != (refit == "same"):
        found = "is null" if alphas is None else "is not null"
        raise ValueError(f"refit_alphas {found} for refit_alpha {refit!r}")
    if alphas is not None:
        as_entries(list(alphas), "refit_alphas", len(path.sets))


def _with_features(path: SelectionPath) -> SelectionPath:
    """Moments of all features of all sets; version 2 has them in the order of the search."""
    # Where the sets are nested, this is their order.
    union = tuple(dict.fromkeys(one for known in reversed(path.sets) for one in known.features))
    moments = path.moments
    features = union if moments.features is None else moments.features
    if sorted(features) != sorted(union) or len(moments.gram) != len(union):
        raise ValueError("moments are not those of the features of the sets")
    return replace(path, moments=replace(moments, features=features))


_SETTINGS = Codec(
    Settings,
    {
        "alpha": POSITIVE,
        "n_samples": Whole(1),
        "n_features_in": Whole(1, binds="n"),
        "excluded_features": ListOf(INDEX),
        "feature_names_in": ListOf(Text(), "n"),
        "loss": Key(LossNameKind(), since=2),
        "cv": Key(since=2),
        "refit_alpha": Key(_RefitAlpha(), since=2),
        "direction": Key(since=3),
        "backward_ratio": Key(POSITIVE, since=3),
        "feature_groups": Key(
            ListOf(Row((Text(), ListOf(INDEX)), ("name", "columns"))), since=3, get=_groups
        ),
        "feature_costs": Key(ArrayOf("n", NOT_NEGATIVE), since=3),
        "budget": Key(POSITIVE, since=3),
    },
    keys="alpha fit_intercept n_samples n_features_in excluded_features feature_names_in weighted "
    "single_target loss cv refit_alpha direction backward_ratio feature_groups feature_costs "
    "budget",
    make=_settings,
    shares_letters=True,
)
_MOMENTS = Codec(
    Moments,
    {
        "features": Key(ListOf(INDEX), since=3, default=None),
        "gram": Key(_Lower(), name="gram_lower"),
        "correlation": ArrayOf("p t"),
        "feature_means": ArrayOf("p"),
        "target_means": ArrayOf("t"),
        "penalty": Key(_Lower(), name="penalty_lower", since=3),
    },
    make=_moments,
)
_SURFACE = Codec(
    AlphaSurface,
    {
        "rule": OneOf(get_args(AlphaRule), {"all_features": {"k": 1}}),
        "alphas": ArrayOf("A", POSITIVE),
        "losses": _Losses("A k", LOSS_OR_NULL),
        "standard_errors": ArrayOf("A k", ERROR_OR_NULL),
        "fold_losses": ArrayOf("F A k", LOSS_OR_NULL),
        "fold_shares": ArrayOf("F", POSITIVE),
        "alpha": POSITIVE,
        "initial_fold_losses": Key(ArrayOf("F", LOSS_OR_NULL), since=4),
    },
    make=_surface,
)
_SIZE_CHOICE = Codec(SizeChoice, {"rule": OneOf(("given", *get_args(SizeRule)))})
PATH_FORMAT = Document(
    "greedyrls.path",
    (1, 2, 3, 4),
    Codec(
        SelectionPath,
        {
            "settings": _SETTINGS,
            "initial_loss": LOSS,
            "steps": ListOf(STEP_CODEC),
            "sets": Key(OrNull(ListOf(SET_CODEC)), since=3, default=None, get=_sets),
            "start": Key(SET_CODEC, since=3),
            "moments": _MOMENTS,
            "counters": Codec(Counters, {"seconds": NOT_NEGATIVE}),
            "size_choice": Key(_SIZE_CHOICE, since=2),
            "surface": Key(_SURFACE, since=2),
            "size_surface": Key(_SURFACE, since=4),
            "refit_alphas": Key(ArrayOf("*", POSITIVE), since=2),
        },
        keys="settings initial_loss steps sets start moments counters stop_reason size_choice "
        "surface size_surface refit_alphas",
        make=_path,
    ),
)
