"""The stable JSON format of a path (docs/path-format.md): plain numbers and strings."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np

from ._json_values import (
    Added,
    JsonObject,
    as_entries,
    as_number,
    as_whole,
    or_null,
    read_document,
    read_part,
    write_document,
)
from ._kernels import Float
from ._losses import LossName
from ._path import SelectionPath
from ._size import SizeChoice, SizeRule
from ._steps import Counters, Moments, Settings, Step, StopReason
from ._surface import AlphaRule, AlphaSurface

FORMAT = "greedyrls.path"
VERSION = 2
_KNOWN_VERSIONS = (1, 2)
_CALLABLE = "callable:"

# What version 1 did not have yet, by the object that has it now, and what is meant there.
_ADDED: Added = {
    "document": {"size_choice": None, "surface": None, "refit_alphas": None},
    "settings": {"loss": "squared", "cv": "loo", "refit_alpha": "same"},
    "a step": {"fold_losses": []},
}


def encode(path: SelectionPath, indent: int | None = None) -> str:
    """Text of a path."""
    return write_document(path_document(path), indent)


def path_document(path: SelectionPath) -> dict[str, Any]:
    """A path as plain numbers, strings, lists and objects."""
    settings, moments, counters = path.settings, path.moments, path.counters
    lower = [moments.gram[row, : row + 1].tolist() for row in range(len(path))]
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
        },
        "initial_loss": path.initial_loss,
        "steps": [step_object(step) for step in path.steps],
        "moments": {
            "gram_lower": lower,
            "correlation": moments.correlation.tolist(),
            "feature_means": moments.feature_means.tolist(),
            "target_means": moments.target_means.tolist(),
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
        "refit_alphas": None if path.refit_alphas is None else list(path.refit_alphas),
    }


def step_object(step: Step) -> dict[str, Any]:
    """A step of a path."""
    return {
        "action": step.action,
        "index": step.index,
        "loss": step.loss,
        "standard_error": or_null(step.standard_error),
        "fold_losses": list(step.fold_losses),
        "runners_up": [{"index": index, "loss": loss} for index, loss in step.runners_up],
        "forced": step.forced,
        "seconds": step.seconds,
    }


def _size_choice_object(choice: SizeChoice | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    return {"size": choice.size, "rule": choice.rule, "sentence": choice.sentence}


def _surface_object(surface: AlphaSurface | None) -> dict[str, Any] | None:
    if surface is None:
        return None
    fold_losses, shares = surface.fold_losses, surface.fold_shares
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
    }


def decode(text: str | bytes) -> SelectionPath:
    """A path from its text, or a ValueError that says what is wrong with it."""
    return read_document(text, FORMAT, _KNOWN_VERSIONS, _path, _ADDED)


def decode_part(document: Any) -> SelectionPath:
    """A path from its document inside another."""
    return read_part(document, FORMAT, _KNOWN_VERSIONS, _path, _ADDED)


def read_steps(entries: list[Any], n: int, is_signed: bool) -> tuple[Step, ...]:
    """Steps that are in another document, as `step_object` made them."""
    steps = (JsonObject(entry, "a step", VERSION) for entry in entries)
    return tuple(_step(step, n, is_signed) for step in steps)


def is_function(loss: str) -> bool:
    """Whether a loss is a user's function, by its name; only that may give losses below 0."""
    return loss.startswith(_CALLABLE)


def _loss(values: JsonObject, key: str, is_signed: bool) -> float:
    """A loss; below 0 only where losses have a sign."""
    return values.number(key) if is_signed else values.positive(key)


def _error(values: JsonObject, key: str) -> float:
    """A number of at least 0, or null where there is none; version 1 always had one."""
    if values.version > 1 and not values.has(key):
        return math.nan
    return values.positive(key)


def _path(document: JsonObject) -> SelectionPath:
    settings = _settings(document.part("settings"))
    n = settings.n_features_in
    is_signed = is_function(settings.loss)
    steps = tuple(_step(step, n, is_signed) for step in document.parts("steps", "a step"))
    if not steps:
        raise ValueError("it has no steps")
    used = [*(step.index for step in steps), *settings.excluded_features]
    if len(set(used)) < len(used):
        raise ValueError("a feature is chosen or excluded more than once")
    _check_fold_losses(steps, settings.cv)
    moments = _moments(document.part("moments"), len(steps))
    if settings.single_target and len(moments.target_means) > 1:
        raise ValueError(f"single_target is true for {len(moments.target_means)} targets")
    counters = document.part("counters")
    reason = document.one_of("stop_reason", tuple(known.value for known in StopReason))
    choice = document.part("size_choice") if document.has("size_choice") else None
    surface = document.part("surface") if document.has("surface") else None
    return SelectionPath(
        steps=steps,
        initial_loss=_loss(document, "initial_loss", is_signed),
        settings=settings,
        moments=moments,
        counters=Counters(
            passes=counters.whole("passes"),
            exact_evaluations=counters.whole("exact_evaluations"),
            rebuilds=counters.whole("rebuilds"),
            seconds=counters.positive("seconds"),
        ),
        stop_reason=StopReason(reason),
        size_choice=None if choice is None else _size_choice(choice, len(steps)),
        surface=None if surface is None else _surface(surface, settings, is_signed),
        refit_alphas=_refit_alphas(document, settings, len(steps)),
    )


def _settings(settings: JsonObject) -> Settings:
    n = settings.whole("n_features_in", 1)
    names = settings.value("feature_names_in")
    if names is not None:
        names = tuple(as_entries(names, "feature_names_in", n))
        if not all(isinstance(name, str) for name in names):
            raise ValueError("feature_names_in has a name that is no string")
    excluded = settings.entries("excluded_features")
    loss = settings.text("loss")
    if not is_function(loss):
        settings.one_of("loss", get_args(LossName))
    refit: Any = settings.value("refit_alpha")
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
    )


def _moments(moments: JsonObject, k: int) -> Moments:
    t = len(moments.entries("target_means"))
    if t == 0:
        raise ValueError("it has no targets")
    gram = np.zeros((k, k))
    for row, values in enumerate(moments.entries("gram_lower", k)):
        numbers = [
            as_number(value, "gram_lower") for value in as_entries(values, "gram_lower", row + 1)
        ]
        gram[row, : row + 1] = gram[: row + 1, row] = numbers
    if (np.diagonal(gram) < 0).any():
        raise ValueError("gram_lower has a negative sum of squares")
    correlation = [
        [as_number(value, "correlation") for value in as_entries(row, "correlation", t)]
        for row in moments.entries("correlation", k)
    ]
    return Moments(
        gram,
        np.array(correlation),
        moments.array("feature_means", k),
        moments.array("target_means", t),
    )


def _step(step: JsonObject, n: int, is_signed: bool) -> Step:
    step.one_of("action", ("add",))
    runners_up = step.parts("runners_up", "a runner-up")
    return Step(
        index=step.whole("index", 0, n),
        loss=_loss(step, "loss", is_signed),
        standard_error=_error(step, "standard_error"),
        runners_up=tuple(
            (one.whole("index", 0, n), _loss(one, "loss", is_signed)) for one in runners_up
        ),
        fold_losses=tuple(_fold_losses(step, is_signed)),
        forced=step.flag("forced"),
        seconds=step.positive("seconds"),
    )


def _fold_losses(step: JsonObject, is_signed: bool) -> list[float]:
    numbers = [as_number(value, "fold_losses") for value in step.entries("fold_losses")]
    if not is_signed and any(number < 0.0 for number in numbers):
        raise ValueError("fold_losses has a number below 0")
    return numbers


def _check_fold_losses(steps: tuple[Step, ...], cv: str) -> None:
    """One for each split: as many at every step, none for leave-one-out."""
    counts = {len(step.fold_losses) for step in steps}
    if len(counts) > 1:
        raise ValueError(f"fold_losses has {min(counts)} to {max(counts)} entries in the steps")
    if (cv == "loo") != (counts == {0}):
        raise ValueError(f"fold_losses has {counts.pop()} entries in each step for cv {cv!r}")


def _size_choice(choice: JsonObject, k: int) -> SizeChoice:
    return SizeChoice(
        size=choice.whole("size", 1, k + 1),
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
    size = (
        surface.whole("size", 0, 1)
        if rule == "all_features"
        else surface.whole("size", 1, width + 1)
    )
    shape = (len(alphas), width)
    losses = surface.cells("losses", shape, is_signed)
    if np.isnan(losses[alphas == alpha, max(size, 1) - 1]).any():
        raise ValueError(f"losses has null at alpha {alpha} and size {size}, which were chosen")
    fold_losses, fold_shares = _outer_folds(surface, rule == "nested", shape, is_signed)
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
