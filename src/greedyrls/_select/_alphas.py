"""Penalties to try: numbers, grids, and grids scaled to the data."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from .._base import Float, to_host
from .._criteria import FoldCurve, LooCurve, LooData, ManyFoldData, best_penalties
from .._features import Chosen
from .._problem import Loss, Problem, check_alpha

# In units of the median sum of squares of a feature: from almost none, where the search is a
# matching pursuit, to so large that it ranks features by their correlation with the target.
_AUTO_EXPONENTS = np.arange(-4.0, 2.5, 1.0)
N_PENALTIES = len(_AUTO_EXPONENTS)
# The most penalties tried beyond the grid, one by one, while the best is the first or last.
MORE_PENALTIES = 3
# For the penalty of a model on few chosen features: weak, medium, strong. Little changes between
# these, so outer folds, which need many such models, try no others.
_COARSE_EXPONENTS = np.array([-3.0, -1.0, 0.0])
_FINE_EXPONENTS = np.arange(-5.0, 1.25, 0.25)

# Significant digits of the unit of penalties.
_SCALE_DIGITS = 9

# Kernel functions overlap, and a model has many: the best penalties are smaller.
_KERNEL_SHARE = 1e-1

# The rule for the penalty of models on chosen features: that of the search, by leave-one-out, by
# the folds of the search, or a number.
Refit = float | Literal["same", "loo", "cv"]
_REFITS: dict[str, Refit] = {"same": "same", "loo": "loo", "cv": "cv"}


def check_alphas(alpha: Any) -> float | Float | Literal["auto"]:
    """Return `alpha` as a number, an ascending grid without repetitions, or "auto"."""
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ValueError(
                f"alpha must be a number greater than 0, a list of such numbers, or 'auto', got "
                f"{alpha!r}."
            )
        return "auto"
    if isinstance(alpha, np.ndarray) and alpha.ndim == 0:
        alpha = alpha[()]
    if isinstance(alpha, numbers.Number) or alpha is None or not isinstance(alpha, Iterable):
        return check_alpha(alpha)
    alpha = list(alpha)
    if any(np.ndim(value) for value in alpha):
        raise ValueError(f"A grid of alpha must have one dimension, got {reprlib.repr(alpha)}.")
    values = [check_alpha(value) for value in alpha]
    if not values:
        raise ValueError(
            "The grid of alpha is empty; pass at least one number, or alpha='auto' for a grid "
            "scaled to the data."
        )
    return np.unique(values)


def check_refit(refit_alpha: Any) -> Refit:
    """Return `refit_alpha` as a number, "same", "loo" or "cv"."""
    if not isinstance(refit_alpha, str):
        return check_alpha(refit_alpha, "refit_alpha")
    if refit_alpha not in _REFITS:
        raise ValueError(
            "refit_alpha must be 'same', 'loo', 'cv' or a number greater than 0, got "
            f"{refit_alpha!r}."
        )
    return _REFITS[refit_alpha]


def penalty_scale(diagonal: Float, excluded: tuple[int, ...] = ()) -> float:
    """Return the median ‖x_i‖² of features that vary and are not excluded; 1 without any.

    A single column in small units would dominate the mean. Penalties are made of it, so it has no
    digits that depend on the order in which rows are added up.
    """
    kept = np.delete(diagonal, list(excluded)) if excluded else diagonal
    # The sum of squares of a constant column is rounding.
    varying = np.sort(kept[kept > 1e-16 * kept.max(initial=0.0)])
    count = len(varying)
    if not count:
        return 1.0
    # Each outer fold asks for it: np.median takes several times as long for few features.
    median = 0.5 * (varying[(count - 1) // 2] + varying[count // 2])
    scale = float(f"{median:.{_SCALE_DIGITS}g}")
    return scale if 0.0 < scale < math.inf else 1.0


def problem_scale(problem: Problem, diagonal: Float) -> float:
    """Return the `penalty_scale` of a problem whose features have ‖x_i‖² in `diagonal` (n)."""
    if problem.X.centers is None:
        return penalty_scale(diagonal, problem.excluded)
    # The penalty of the function k(·, c) is multiplied by k(c, c).
    center_diagonal = problem.X.centers.center_diagonal
    ratios = np.divide(
        diagonal, center_diagonal, out=np.zeros_like(diagonal), where=center_diagonal > 0.0
    )
    return _KERNEL_SHARE * penalty_scale(ratios, problem.excluded)


def auto_grid(scale: float, n_more: int = 0) -> Float:
    """Return penalties for the search, with `n_more` on both sides of the grid."""
    more = np.arange(1.0, n_more + 1.0)
    exponents = [_AUTO_EXPONENTS[0] - more[::-1], _AUTO_EXPONENTS, _AUTO_EXPONENTS[-1] + more]
    return scale * 10.0 ** np.concatenate(exponents)


def refit_grid(scale: float, is_fine: bool) -> Float:
    """Return penalties to try for models on chosen features."""
    return scale * 10.0 ** (_FINE_EXPONENTS if is_fine else _COARSE_EXPONENTS)


def penalties_to_try(data: LooData, is_fine: bool) -> Float:
    """Return the ascending penalties to try for models on chosen features."""
    (diagonal,) = to_host(data.start.diagonal)
    return refit_grid(problem_scale(data.problem, diagonal), is_fine)


def model_penalties(
    refit: Refit, alpha: float, data: LooData | None, chosen: Chosen, loss: Loss, is_fine: bool
) -> Float:
    """Return the penalties (k) of the models on chosen features, by the rule `refit`.

    `data` are those of the rows the models are fitted to; only "loo" and "cv" use them.
    """
    if refit == "same" or isinstance(refit, float):
        return np.full(chosen.n_models, alpha if refit == "same" else refit)
    assert data is not None
    problem, grid = data.problem, penalties_to_try(data, is_fine)
    curve: LooCurve | FoldCurve
    if refit == "cv":
        assert isinstance(data, ManyFoldData)
        curve = FoldCurve(data, chosen)
    else:
        curve = LooCurve(data.samples, problem, chosen, loss)
    return grid[best_penalties(curve, grid)[0]]
