"""The choice of penalty and size does not depend on whether steps are compiled, nor on rounding."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled_steps import needs_compiled_steps
from greedyrls import SelectionPath, greedy_path
from internals import NumericalWarning
from lost_digits import exact_held_out_loss
from lost_grids import lost_grid_case
from sweeps import EXAMPLES
from tuning import tuned

pytestmark = needs_compiled_steps


def found(seed: int, is_compiled: bool) -> SelectionPath | str:
    """The path as far as rounding allows, or why there is none."""
    case = lost_grid_case(seed)
    with warnings.catch_warnings(), tuned(compiled_steps=is_compiled):
        warnings.simplefilter("ignore", NumericalWarning)
        try:
            return greedy_path(case.X, case.y, case.n_features, **case.options)
        except ValueError as error:
            return str(error)


def assert_same(seed: int) -> None:
    """The same steps, sizes, penalties and sentences."""
    path, other = found(seed, True), found(seed, False)
    if isinstance(path, str) or isinstance(other, str):
        assert path == other
        return
    moves = [(step.action, step.features) for step in path.steps]
    assert moves == [(step.action, step.features) for step in other.steps]
    assert path.settings == other.settings
    assert path.refit_alphas == other.refit_alphas
    assert path.chosen_size == other.chosen_size
    assert path.surface is not None
    assert other.surface is not None
    assert path.surface.alphas.tolist() == other.surface.alphas.tolist()
    held_out, scale = other.surface.losses, other.surface.initial_loss
    assert scale is not None
    np.testing.assert_array_equal(np.isnan(path.surface.losses), np.isnan(held_out))
    # Extrapolated by models that interpolate, some rows have losses far above the first.
    assert np.nanmax(np.abs(path.surface.losses - held_out) / (scale + held_out)) < 1e-9
    assert path.sentence == other.sentence


@pytest.mark.heavy
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**20))
def test_same_answer(seed: int) -> None:
    assert_same(seed)


# What differed before losses tied on the scale of the loss without features, and digits of standard
# errors below which they are rounding were dropped.
WORST = {
    "another penalty": 478,
    "a standard error of a difference": 717,
}


@pytest.mark.parametrize("name", WORST)
def test_worst_cases(name: str) -> None:
    assert_same(WORST[name])


def unlike_scales() -> Any:
    """Two nearly equal columns in small units, and others in large ones that go with them."""
    rng = np.random.default_rng(6)
    X = rng.integers(-3, 4, (12, 4)).astype(float)
    X[:, 1] = X[:, 0] + 1e-6 * rng.standard_normal(12)
    X *= [1e-3, 1e-3, 1e2, 1e4]
    return X, 3e3 * X[:, 0] + rng.standard_normal(12)


def nearly_spanned(distance: float) -> Any:
    """Column 1 is column 0 but for a little, which y depends on."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 4))
    noise = rng.standard_normal(20)
    X[:, 1] = X[:, 0] + distance * noise
    return X, X[:, 2] + noise + 0.1 * rng.standard_normal(20)


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize(
    ("data", "penalty", "close"),
    [
        pytest.param(unlike_scales(), 1e-6, 1e-12, id="unlike scales"),
        pytest.param(nearly_spanned(5e-3), 1e-11, 2e-13, id="a pivot of 1e-5"),
        pytest.param(nearly_spanned(1e-4), 1e-9, 1e-12, id="a pivot of 1e-8"),
    ],
)
def test_held_out_losses_are_exact(
    data: Any, penalty: float, close: float, is_compiled: bool
) -> None:
    """They had lost twice as many digits, of unlike scales in NumPy only."""
    X, y = data
    n_folds = 2 if len(y) == 12 else 4
    folds = np.arange(len(y)) % n_folds
    with tuned(compiled_steps=is_compiled):
        path = greedy_path(X, y, 4, alpha=[1e-6, 1e-5], refit_alpha=penalty, alpha_cv=folds)
    assert path.surface is not None
    rows = [np.flatnonzero(folds == fold).tolist() for fold in range(n_folds)]
    exact = exact_held_out_loss(X, y, penalty, rows)
    for loss in path.surface.losses[:, 3]:
        assert abs(Fraction(float(loss)) - exact) < close * path.surface.initial_loss


@pytest.mark.parametrize("is_compiled", [True, False])
def test_penalties_tie_where_all_predict_without_error(is_compiled: bool) -> None:
    """Losses of 1e-17 and 1e-13 are as good as 0; the middle penalty is at no end of the grid."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X @ [1.0, 2.0, 3.0]
    with tuned(compiled_steps=is_compiled):
        path = greedy_path(X, y, 3, alpha=[1e-8, 1e-7, 1e-6], refit_alpha="same")
    assert path.surface is not None
    assert (np.diff(path.surface.losses[:, 2]) > 0.0).all()
    assert path.surface.row == 1
    assert "All of them find the same features" in path.sentence
