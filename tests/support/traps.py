"""Points of the package where tests interrupt, watch or replace a call, by plain names.

A test says ``traps.interrupt("add feature", 3)`` (the fixture), or ``with trapped() as traps:``.
When a private method is moved or renamed, change its line in `POINTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any

import pytest

# Compiled steps choose and add in one call: those of a search in C alone, and of a stepper.
_COMPILED_STEP = (
    "_search._searching.compiled_step",
    "_steppers._compiled_stepper.CompiledStepper.step",
)
_COMPILED_FOLD_STEP = "_steppers._compiled_folds.CompiledFoldStepper.step"

POINTS: dict[str, tuple[str, ...]] = {
    # Leave-one-out: rows.
    "start rows": ("_criteria._samples.SampleSpace.start",),
    "score candidates": ("_criteria._samples.SampleSpace.score",),
    "advance rows": (
        "_criteria._samples.SampleSpace.advance",
        *_COMPILED_STEP,
        _COMPILED_FOLD_STEP,
    ),
    "ask cluster": ("_cluster._dask.DaskExecutor.each",),
    "multiply columns": ("_criteria._samples.SampleSpace.products",),
    "multiply block by columns": ("_criteria._samples.row_products",),
    "ask for statistics": ("_criteria._samples.SampleSpace.statistics",),
    # Leave-one-out: features.
    "solve for coefficients": ("_features._feature_space.FeatureSpace.coefficients",),
    "add to feature space": ("_features._feature_space.FeatureSpace.add",),
    "note a step of the device": ("_features._device_features.DeviceFeatures.note",),
    "note a step of folds of the device": ("_criteria._fold_state.FoldState.note_step",),
    "take Gram columns": ("_features._gram.GramColumns.take",),
    # Leave-one-out: the search.
    "choose by leave-one-out": ("_criteria._leave_one_out.LeaveOneOut.choose", *_COMPILED_STEP),
    "add feature": ("_criteria._state.SelectionState.add", *_COMPILED_STEP),
    "take a compiled step": (*_COMPILED_STEP, _COMPILED_FOLD_STEP),
    "begin a search in C": ("_steppers._compiled_search.CompiledSearch._start",),
    "add known features in C": ("_steppers._compiled_search.CompiledSearch.follow",),
    "let C take steps": ("_steppers._compiled_search.CompiledSearch.take",),
    "call C for steps": ("_steppers._compiled_search.steps_in_c",),
    "remove by compiled steps": ("_steppers._compiled_moves.MovingStepper.remove",),
    "make rows for compiled steps": ("_steppers._compiled_rows.CompiledRows.__init__",),
    "fetch for compiled steps": ("_steppers._compiled_rows.CompiledRows._fetch",),
    "make the anchor of compiled steps": ("_steppers._compiled_rows.CompiledRows.anchor_products",),
    "find wrong predictions": ("_rows.tiles.loo_wrong",),
    # Folds, penalties and the procedure around the search.
    "add feature to folds": ("_criteria._fold_state.FoldState.add", _COMPILED_FOLD_STEP),
    "search and test in an outer fold": ("_select._outer_fold.OuterFold._searched_in_c",),
    "test the models of a compiled search": ("_steppers._compiled_tests.CompiledTests.test",),
    "begin outer fold": ("_select._outer_fold.OuterFold.__init__",),
    "search outer folds in threads": ("_select._nested.in_parts",),
    "search outer folds in processes": ("_select._nested.in_processes",),
    "scale penalties": ("_select._select.problem_scale",),
    "fit all features": ("_select._select.all_features_losses",),
    "select in a fold": ("assess._procedure.select",),
    "fit probabilities": ("estimators._classifier.calibrate",),
    "finish checkpoint": ("_search._checkpoint.Checkpoint.finish",),
    "keep outer fold": ("_search._checkpoint.FoldLog.keep",),
    # Reading.
    "share out the memory for a file": ("_data._files.FileMatrix.reserve",),
    "read rows of a file": ("_data._file_sources.ArraySource.fill",),
    "parse CSV": ("app.read._csv._table",),
    # The command line.
    "read table": ("cli._job.read_table", "cli._predict.read_table"),
    "choose features": ("cli._select.choose", "cli._select.choose_model"),
    "compute the curve of models": ("cli._select.model_curve",),
    "assess": ("cli._select.assess",),
    "resample": ("cli._select.resample",),
    "permute": ("cli._select.permute",),
}

Calls = list[tuple[Any, ...]]


class Traps:
    """Sets traps that a monkeypatch undoes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def around(self, point: str, wrapper: Callable[..., Any]) -> None:
        """Call ``wrapper(original, *args, **kwargs)`` instead of the original."""
        if point not in POINTS:
            raise KeyError(f"There is no point {point!r}; the points are {sorted(POINTS)}.")
        for attribute in POINTS[point]:
            original = resolve_name(f"greedyrls.{attribute}")
            self._patch.setattr(f"greedyrls.{attribute}", _wrapped(original, wrapper))

    def replace(self, point: str, function: Callable[..., Any]) -> None:
        """Call ``function(*args, **kwargs)`` instead of the original."""
        self.around(point, lambda original, *args, **kwargs: function(*args, **kwargs))

    def watch(self, point: str) -> Calls:
        """The arguments of every call from now on; those of a method begin with the object."""
        return self.at(point, 0, interrupt)

    def interrupt(self, point: str, call: int, *, after: bool = False) -> Calls:
        """Raise KeyboardInterrupt at the n-th call, before or after it does its work."""
        return self.at(point, call, interrupt, after=after)

    def at(self, point: str, call: int, spring: Callable[[], Any], *, after: bool = False) -> Calls:
        """Call `spring` at the n-th call (0: at none), before or after it does its work."""
        calls: Calls = []

        def counted(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            calls.append(args)
            is_caught = len(calls) == call
            if is_caught and not after:
                spring()
            result = original(*args, **kwargs)
            if is_caught and after:
                spring()
            return result

        self.around(point, counted)
        return calls


def _wrapped(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """A function, so that in a class it becomes a method."""
    return lambda *args, **kwargs: wrapper(original, *args, **kwargs)


def interrupt(*_: Any) -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


@contextmanager
def trapped() -> Iterator[Traps]:
    """Traps that hold inside a ``with`` statement."""
    with pytest.MonkeyPatch.context() as patch:
        yield Traps(patch)


@contextmanager
def interrupted_at(point: str, call: int, *, after: bool = False) -> Iterator[None]:
    """KeyboardInterrupt at the n-th call inside a ``with`` statement."""
    with trapped() as traps:
        traps.interrupt(point, call, after=after)
        yield
