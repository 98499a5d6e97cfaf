"""Comparisons of a path with its slow twin, which near-ties may let go another way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from greedyrls import SelectionPath
from literal import LiteralPath, Split, held_out_predictions, loss_value
from problems import Case

Array = np.ndarray


def assert_follows(path: SelectionPath, twin: LiteralPath, rel: float, floor: float) -> int:
    """Losses of the path and of all recorded candidates, step by step; how many steps agree.

    The two go apart where they resolve a near-tie differently: then the losses are still equal.
    """
    assert len(path) == len(twin.indices)
    assert path.initial_loss == pytest.approx(twin.initial_loss, rel=rel, abs=floor)
    for place, step in enumerate(path.steps):
        known = twin.candidate_losses[place]
        assert step.loss == pytest.approx(known[step.index], rel=rel, abs=floor)
        assert step.loss == pytest.approx(twin.losses[place], rel=rel, abs=floor)
        for index, loss in step.runners_up:
            assert loss == pytest.approx(known[index], rel=rel, abs=floor)
        others = [loss for _, loss in step.runners_up]
        assert all(a <= b + rel * abs(b) + floor for a, b in itertools.pairwise(others))
        if step.index != twin.indices[place]:
            return place
    return len(path)


def literal_fold_losses(case: Case, columns: list[int], loss: Any = "squared") -> Array:
    """The loss on each split of the model on some columns, (K)."""
    options = case.options
    weights = options.get("sample_weight", np.ones(len(case.X)))
    Y = case.y.reshape(len(case.X), -1)
    splits: list[Split] = case.splits
    predictions = held_out_predictions(
        case.X, Y, splits, columns, options["alpha"], options["fit_intercept"], weights
    )
    return np.array(
        [
            loss_value(loss, Y[test], P, weights[test])
            for (_, test), P in zip(splits, predictions, strict=True)
        ]
    )


def fold_shares(case: Case) -> Array:
    """What each split counts in the mean, (K)."""
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    totals = np.array([weights[test].sum() for _, test in case.splits])
    return totals / totals.sum()
