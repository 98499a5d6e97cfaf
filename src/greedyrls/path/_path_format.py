"""The stable JSON format of a path (docs/path-format.md): plain numbers and strings."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from .._base import (
    Float,
    JsonObject,
    Versions,
    as_entries,
    as_number,
    as_whole,
    or_null,
    read_document,
    read_part,
    write_document,
)
from ._group_format import check_groups, groups_object, read_grouping
from ._path import SelectionPath
from ._size import SizeChoice, SizeRule
from ._step_format import (
    VERSION,
    check_fold_losses,
    check_steps,
    is_function,
    is_growing,
    read_loss,
    read_set,
    read_sets,
    read_step,
    set_object,
    step_object,
)
from ._steps import Counters, DirectionName, FeatureSet, LossName, Moments, Settings, StopReason
from ._surface import AlphaRule, AlphaSurface

FORMAT = "greedyrls.path"
KNOWN_VERSIONS = (1, 2, 3, 4)

# What earlier versions did not have yet, by the object that has it now, and what is meant there.
_ADDED: Versions = {
    1: {
        "document": {"size_choice": None, "surface": None, "refit_alphas": None},
        "settings": {"loss": "squared", "cv": "loo", "refit_alpha": "same"},
        "a step": {"fold_losses": []},
    },
    2: {
        "document": {"sets": None, "start": None},
        "settings": {
            "direction": "forward",
            "backward_ratio": None,
            "feature_groups": None,
            "feature_costs": None,
            "budget": None,
        },
        "a step": {"features": None},
        "moments": {"features": None, "penalty_lower": None},
    },
    3: {
        "document": {"size_surface": None},
        "surface": {"initial_fold_losses": None},
    },
}


def encode(path: SelectionPath, indent: int | None = None) -> str:
    """Text of a path."""
    return write_document(path_document(path), indent)


def path_document(path: SelectionPath) -> dict[str, Any]:
    """A path as plain numbers, strings, lists and objects."""
    settings, moments, counters = path.settings, path.moments, path.counters
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": {
            "alpha": settings.alpha,
            "fit_intercept": settings.fit_intercept,
            "n_samples": settings.n_samples,
            "n_features_in": settings.n_features_in,
            "excluded_features": list(settings.excluded_features),
            "feature_names_in": (
                None if settings.feature_names_in is None else list(settings.feature_names_in)
            ),
            "weighted": settings.weighted,
            "single_target": settings.single_target,
            "loss": settings.loss,
            "cv": settings.cv,
            "refit_alpha": settings.refit_alpha,
            "direction": settings.direction,
            "backward_ratio": settings.backward_ratio,
            "feature_groups": groups_object(settings),
            "feature_costs": (
                None if settings.feature_costs is None else list(settings.feature_costs)
            ),
            "budget": settings.budget,
        },
        "initial_loss": path.initial_loss,
        "steps": [step_object(step) for step in path.steps],
        "sets": None if is_growing(path.steps, path.start) else [*map(set_object, path.sets)],
        "start": None if path.start is None else set_object(path.start),
        "moments": {
            "features": list(moments.features),
            "gram_lower": _lower(moments.gram),
            "correlation": moments.correlation.tolist(),
            "feature_means": moments.feature_means.tolist(),
            "target_means": moments.target_means.tolist(),
            "penalty_lower": None if moments.penalty is None else _lower(moments.penalty),
        },
        "counters": {
            "passes": counters.passes,
            "exact_evaluations": counters.exact_evaluations,
            "rebuilds": counters.rebuilds,
            "seconds": counters.seconds,
        },
        "stop_reason": path.stop_reason.value,
        "size_choice": _size_choice_object(path.size_choice),
        "surface": _surface_object(path.surface),
        "size_surface": _surface_object(path.size_surface),
        "refit_alphas": None if path.refit_alphas is None else list(path.refit_alphas),
    }


def _lower(matrix: Float) -> list[list[float]]:
    """The lower triangle of a symmetric matrix, row by row."""
    return [matrix[row, : row + 1].tolist() for row in range(len(matrix))]


def _size_choice_object(choice: SizeChoice | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    return {"size": choice.size, "rule": choice.rule, "sentence": choice.sentence}


def _surface_object(surface: AlphaSurface | None) -> dict[str, Any] | None:
    if surface is None:
        return None
    fold_losses, shares = surface.fold_losses, surface.fold_shares
    initial = surface.initial_fold_losses
    return {
        "rule": surface.rule,
        "alphas": surface.alphas.tolist(),
        "losses": or_null(surface.losses.tolist()),
        "standard_errors": or_null(surface.standard_errors.tolist()),
        "fold_losses": None if fold_losses is None else or_null(fold_losses.tolist()),
        "fold_shares": None if shares is None else shares.tolist(),
        "folds": surface.folds,
        "alpha": surface.alpha,
        "size": surface.size,
        "initial_fold_losses": None if initial is None else or_null(initial.tolist()),
    }


def decode(text: str | bytes) -> SelectionPath:
    """A path from its text, or a ValueError that says what is wrong with it."""
    return read_document(text, FORMAT, KNOWN_VERSIONS, _path, _ADDED)


def decode_part(document: Any) -> SelectionPath:
    """A path from its document inside another."""
    return read_part(document, FORMAT, KNOWN_VERSIONS, _path, _ADDED)


def _path(document: JsonObject) -> SelectionPath:
    settings = _settings(document.part("settings"))
    n = settings.n_features_in
    is_signed = is_function(settings.loss)
    steps = tuple(read_step(step, n, is_signed) for step in document.parts("steps", "a step"))
    start = read_set(document.part("start"), n, is_signed) if document.has("start") else None
    if not steps and start is None:
        raise ValueError("it has no steps")
    sets = read_sets(document, steps, start, n, is_signed)
    check_steps(steps, start, settings.excluded_features)
    check_groups(steps, settings.feature_groups)
    check_fold_losses([*steps, *sets], settings.cv)
    moments = _moments(document.part("moments"), n, _union(sets))
    if settings.single_target and len(moments.target_means) > 1:
        raise ValueError(f"single_target is true for {len(moments.target_means)} targets")
    counters = document.part("counters")
    reason = document.one_of("stop_reason", tuple(known.value for known in StopReason))
    choice = document.part("size_choice") if document.has("size_choice") else None
    surfaces = {
        key: _surface(document.part(key), settings, is_signed)
        for key in ("surface", "size_surface")
        if document.has(key)
    }
    return SelectionPath(
        steps=steps,
        initial_loss=read_loss(document, "initial_loss", is_signed),
        settings=settings,
        moments=moments,
        counters=Counters(
            passes=counters.whole("passes"),
            exact_evaluations=counters.whole("exact_evaluations"),
            rebuilds=counters.whole("rebuilds"),
            seconds=counters.positive("seconds"),
        ),
        stop_reason=StopReason(reason),
        size_choice=None if choice is None else _size_choice(choice, len(sets)),
        surface=surfaces.get("surface"),
        size_surface=surfaces.get("size_surface"),
        refit_alphas=_refit_alphas(document, settings, len(sets)),
        sets=sets,
        start=start,
    )


def _settings(settings: JsonObject) -> Settings:
    n = settings.whole("n_features_in", 1)
    names = settings.value("feature_names_in")
    if names is not None:
        names = tuple(as_entries(names, "feature_names_in", n))
        if not all(isinstance(name, str) for name in names):
            raise ValueError("feature_names_in has a name that is not a string")
    excluded = settings.entries("excluded_features")
    loss = settings.text("loss")
    if not is_function(loss):
        settings.one_of("loss", get_args(LossName))
    refit: Any = settings.value("refit_alpha")
    direction: Any = settings.one_of("direction", get_args(DirectionName))
    if isinstance(refit, str):
        settings.one_of("refit_alpha", ("same", "loo", "cv"))
    else:
        refit = settings.positive("refit_alpha", zero_too=False)
    return Settings(
        alpha=settings.positive("alpha", zero_too=False),
        fit_intercept=settings.flag("fit_intercept"),
        n_samples=settings.whole("n_samples", 1),
        n_features_in=n,
        excluded_features=tuple(as_whole(index, "excluded_features", 0, n) for index in excluded),
        feature_names_in=names,
        weighted=settings.flag("weighted"),
        single_target=settings.flag("single_target"),
        loss=loss,
        cv=settings.text("cv"),
        refit_alpha=refit,
        direction=direction,
        backward_ratio=_backward_ratio(settings, direction),
        **read_grouping(settings, n),
    )


def _backward_ratio(settings: JsonObject, direction: str) -> float | None:
    """In (0, 1) for direction "foba", else null."""
    if settings.has("backward_ratio") != (direction == "foba"):
        raise ValueError(f"backward_ratio is not supported with direction {direction!r}")
    if direction != "foba":
        return None
    ratio = settings.positive("backward_ratio", zero_too=False)
    if ratio >= 1.0:
        raise ValueError(f"backward_ratio is {ratio}, not below 1")
    return ratio


def _moments(moments: JsonObject, n: int, union: tuple[int, ...]) -> Moments:
    t = len(moments.entries("target_means"))
    if t == 0:
        raise ValueError("it has no targets")
    features = union
    if moments.version > 2 or moments.has("features"):
        found = moments.entries("features")
        features = tuple(as_whole(index, "features", 0, n) for index in found)
    if len(set(features)) < len(features) or set(features) != set(union):
        raise ValueError("moments are not those of the features of the sets")
    k = len(features)
    gram = _symmetric(moments, "gram_lower", k)
    if (np.diagonal(gram) < 0).any():
        raise ValueError("gram_lower has a negative sum of squares")
    correlation = [
        [as_number(value, "correlation") for value in as_entries(row, "correlation", t)]
        for row in moments.entries("correlation", k)
    ]
    return Moments(
        features,
        gram,
        np.array(correlation),
        moments.array("feature_means", k),
        moments.array("target_means", t),
        _symmetric(moments, "penalty_lower", k) if moments.has("penalty_lower") else None,
    )


def _symmetric(moments: JsonObject, key: str, k: int) -> Float:
    """A matrix (k × k) from its lower triangle."""
    matrix = np.zeros((k, k))
    for row, values in enumerate(moments.entries(key, k)):
        numbers = [as_number(value, key) for value in as_entries(values, key, row + 1)]
        matrix[row, : row + 1] = matrix[: row + 1, row] = numbers
    return matrix


def _union(sets: tuple[FeatureSet, ...]) -> tuple[int, ...]:
    """All features of all sets; in their order where the sets are nested."""
    return tuple(dict.fromkeys(index for known in reversed(sets) for index in known.features))


def _size_choice(choice: JsonObject, k: int) -> SizeChoice:
    return SizeChoice(
        size=choice.whole("size", 0, k + 1),
        rule=choice.one_of("rule", ("given", *get_args(SizeRule))),
        sentence=choice.text("sentence"),
    )


def _refit_alphas(document: JsonObject, settings: Settings, k: int) -> tuple[float, ...] | None:
    is_same = settings.refit_alpha == "same"
    if document.has("refit_alphas") == is_same:
        found = "is null" if not is_same else "is not null"
        raise ValueError(f"refit_alphas {found} for refit_alpha {settings.refit_alpha!r}")
    return None if is_same else tuple(document.positives("refit_alphas", k))


def _surface(surface: JsonObject, settings: Settings, is_signed: bool) -> AlphaSurface:
    rule: Any = surface.one_of("rule", get_args(AlphaRule))
    alphas = np.array(surface.positives("alphas"))
    if (np.diff(alphas) <= 0.0).any():
        raise ValueError("alphas is not ascending")
    alpha = surface.positive("alpha", zero_too=False)
    if alpha not in alphas or alpha != settings.alpha:
        raise ValueError(f"the surface has alpha {alpha}, which is not that of the path")
    rows = surface.entries("losses", len(alphas))
    width = len(as_entries(rows[0], "losses", 1 if rule == "all_features" else None))
    if not 1 <= width <= settings.n_features_in:
        raise ValueError(f"losses has {width} columns for {settings.n_features_in} features")
    size = surface.whole("size", 0, 1 if rule == "all_features" else width + 1)
    shape = (len(alphas), width)
    losses = surface.cells("losses", shape, is_signed)
    is_known = size > 0 or rule == "all_features"  # no cell is that of no features
    if is_known and np.isnan(losses[alphas == alpha, max(size, 1) - 1]).any():
        raise ValueError(f"losses has null at alpha {alpha} and size {size}, which were chosen")
    fold_losses, fold_shares = _outer_folds(surface, rule == "nested", shape, is_signed)
    initial = None
    if surface.has("initial_fold_losses"):
        if fold_shares is None:
            raise ValueError("initial_fold_losses of the surface are for rule 'nested'")
        initial = surface.cells("initial_fold_losses", (len(fold_shares),), is_signed)
    return AlphaSurface(
        rule=rule,
        alphas=alphas,
        losses=losses,
        standard_errors=surface.cells("standard_errors", shape),
        fold_losses=fold_losses,
        fold_shares=fold_shares,
        folds=surface.text("folds"),
        alpha=alpha,
        size=size,
        initial_fold_losses=initial,
    )


def _outer_folds(
    surface: JsonObject, is_nested: bool, shape: tuple[int, int], is_signed: bool
) -> tuple[Float | None, Float | None]:
    """Losses and shares of the outer folds, which the nested rule alone has."""
    for key in ("fold_losses", "fold_shares"):
        if surface.has(key) != is_nested:
            raise ValueError(f"{key} of the surface is for rule 'nested', where it is not null")
    if not is_nested:
        return None, None
    shares = np.array(surface.positives("fold_shares"))
    if abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"fold_shares has the sum {shares.sum()}, not 1")
    return surface.cells("fold_losses", (len(shares), *shape), is_signed), shares
