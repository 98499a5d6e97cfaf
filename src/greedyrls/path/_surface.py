"""Losses by penalty and number of features, from which a penalty is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import KNOWN_LOSS, SAME_LOSS, TIE, ArrayValue, ByValue, Float, exported, number

AlphaRule = Literal["nested", "joint", "all_features"]

# A single additional error may be exactly one standard error: rounding must not decide then.
SAME_ERROR = 1e-9
# Standard errors of differences, relative to those of the losses, are known no better: they are
# differences of sums of squares. Such small differences count as none.
_SMALLEST_ERROR = 1e-4
# Losses that are never equal for different features, except by coincidence.
_CONTINUOUS = ("squared", "absolute")


@exported("greedyrls")
@dataclass(frozen=True, eq=False)
class AlphaSurface(ByValue, ArrayValue):
    """Losses for each penalty (rows) and number of features (columns), and the penalty chosen.

    Attributes
    ----------
    rule : {"nested", "joint", "all_features"}
        "nested": held-out loss of outer folds in which the selection was repeated. "joint": the
        criterion's own loss along the path of each penalty, which is optimistic. "all_features":
        leave-one-out loss with all features, a single column.
    alphas : ndarray of shape (A,)
        Penalties tried, ascending.
    losses : ndarray of shape (A, k)
        Loss of each penalty and size; NaN where a path ended earlier.
    standard_errors : ndarray of shape (A, k)
        Standard errors of `losses`; NaN where they are undefined.
    fold_losses : ndarray of shape (F, A, k) or None
        Losses by outer fold, for "nested".
    fold_shares : ndarray of shape (F,) or None
        Weight of each outer fold in the mean.
    folds : str
        Description of the outer folds; empty for the other rules.
    alpha : float
        The penalty chosen.
    size : int
        The number of features at which it was chosen; 0 for "all_features", and if the model
        without features was best.
    initial_fold_losses : ndarray of shape (F,) or None
        Loss of a model without features by outer fold, for "nested"; None in files of earlier
        releases.
    """

    rule: AlphaRule
    alphas: Float
    losses: Float
    standard_errors: Float
    fold_losses: Float | None
    fold_shares: Float | None
    folds: str
    alpha: float
    size: int
    initial_fold_losses: Float | None = None

    @property
    def row(self) -> int:
        """Row of the surface that belongs to the chosen penalty."""
        return int(np.flatnonzero(self.alphas == self.alpha)[0])

    def curve(self, length: int) -> tuple[Float, Float]:
        """Losses of the chosen penalty by size, to a length, and their standard errors.

        Parameters
        ----------
        length : int
            Number of sizes.
        """
        values, width = np.full((2, length), np.nan), min(length, self.losses.shape[1])
        values[0, :width] = self.losses[self.row, :width]
        values[1, :width] = self.standard_errors[self.row, :width]
        return values[0], values[1]

    @property
    def initial_loss(self) -> float | None:
        """The held-out loss of a model without features; None where it is not known."""
        if self.initial_fold_losses is None or self.fold_shares is None:
            return None
        return float(self.fold_shares @ self.initial_fold_losses)

    @property
    def sentence(self) -> str:
        """A readable sentence on how the penalty was chosen."""
        return self.sentence_for("")

    def sentence_for(self, loss: str) -> str:
        """A readable sentence on how the penalty was chosen, with the name of the loss.

        Parameters
        ----------
        loss : str
            Name of the loss.
        """
        count = len(self.alphas)
        if count == 1:
            where = f"; its held-out loss is that of outer folds ({self.folds})"
            return f"alpha={number(self.alpha)} is the only value tried{where * bool(self.folds)}."
        if self.rule == "nested":
            how = f"by nested selection: the held-out loss of outer folds ({self.folds})"
        elif self.rule == "joint":
            how = "by the criterion's own loss, which is optimistic after a search"
        else:
            how = "by the leave-one-out loss with all features"
        note = ""
        if self._all_are_equal:
            # Different features may make equally many errors, but not the same sum of errors.
            same = "find the same features" if loss in _CONTINUOUS else "do equally well"
            note = f" All of them {same}."
        elif count > 2 and self.row in (0, count - 1):
            note = f" It is the {'largest' if self.row else 'smallest'} value tried."
        return f"alpha={number(self.alpha)} was chosen from {count} values {how}.{note}"

    @property
    def _all_are_equal(self) -> bool:
        """Whether every outer fold has the same loss for all penalties, at the size chosen."""
        if self.fold_losses is None or self.size == 0:
            return False
        losses = self.fold_losses[:, :, self.size - 1]
        initial = self.initial_fold_losses
        ties = tie_of(losses[:, :1], 0.0 if initial is None else initial[:, None])
        return bool((np.abs(losses - losses[:, :1]) <= ties).all())

    @property
    def beyond(self) -> float | None:
        """The next value of the grid, if the best one is its last on either side; else None."""
        alphas, row = self.alphas, self.row
        if len(alphas) < 3 or 0 < row < len(alphas) - 1:
            return None
        return float(alphas[row] * (alphas[row] / alphas[1 if row == 0 else row - 1]))


def tie_of(loss: Any, initial_loss: Any) -> Any:
    """Return the difference up to which another loss of a penalty or size ties with this one."""
    return TIE * np.abs(loss) + SAME_LOSS * np.abs(np.nan_to_num(initial_loss))


def known_digits(loss: float, initial_loss: float | None) -> int:
    """Return how many digits of a loss are the same in every engine, from 1 to 6."""
    rounding = KNOWN_LOSS * abs(initial_loss or 0.0)
    if not abs(loss) < 1e6 * rounding:
        return 6
    return max(1, math.ceil(math.log10(max(1.0, abs(loss) / rounding))))


def best_pair(losses: Float, least: int, initial_loss: float = 0.0) -> tuple[int, int]:
    """Return row and size (at least `least`) of the smallest loss; the middle penalty if tied.

    Rows are in ascending order of the penalty. Smaller sizes are preferred. `initial_loss`, without
    features, is the scale to which losses are known.
    """
    part = losses[:, max(1, least) - 1 :]
    if not np.isfinite(part).any():
        raise ValueError("No penalty gave a finite loss; use larger values of alpha.")
    smallest = float(np.nanmin(part))
    rows, columns = np.nonzero(part <= smallest + tie_of(smallest, initial_loss))
    size = int(columns.min())
    return _middle(rows[columns == size], len(losses)), size + max(1, least)


def _middle(rows: NDArray[np.intp], count: int) -> int:
    """Return the middle one of tied penalties.

    Of two, it is the one nearer to the middle of the grid of `count`, or else the larger one: a
    penalty at the end of the grid would suggest that the grid is too short.
    """
    low, high = int(rows[(len(rows) - 1) // 2]), int(rows[len(rows) // 2])
    return low if abs(2 * low - count + 1) < abs(2 * high - count + 1) else high


class Pair(NamedTuple):
    """A chosen penalty and number of features, and the best size they were compared with."""

    row: int
    size: int
    best_size: int  # size of the smallest loss with the same penalty
    error: float  # standard error of the difference of the losses; NaN if size is best_size


def chosen_pair(
    losses: Float,
    initial_loss: float,
    covariance: Callable[[int], Float | None] | None,
    least: int,
) -> Pair | None:
    """Choose the pair of smallest loss, or the fewest features within one standard error of it.

    `covariance` returns the covariance of the losses of a row, (1 + k × 1 + k): without features,
    and of all sizes. It is None for the first rule. If it returns None, so does this function. Only
    sizes with the penalty of the smallest loss are compared. Size 0 is allowed unless features are
    forced (`least`).
    """
    row, best = best_pair(losses, least, initial_loss)
    smallest = float(losses[row, best - 1])
    if least == 0 and initial_loss <= smallest + tie_of(smallest, initial_loss):
        best = 0
    if covariance is None or best == 0:
        return Pair(row, best, best, np.nan)
    row_covariance = covariance(row)
    if row_covariance is None:
        return None
    curve = np.concatenate([[initial_loss], losses[row]])
    errors = difference_errors(row_covariance, best)
    within = curve - curve[best] <= errors * (1.0 + SAME_ERROR)
    within[:least] = False
    within[best] = True
    size = int(np.flatnonzero(within)[0])
    return Pair(row, size, best, np.nan if size == best else float(errors[size]))


def difference_errors(covariance: Float, best: int) -> Float:
    """Return standard errors (k) of the difference between each loss and the one at `best`.

    They are no smaller than what rounding leaves of the difference of two large sums.
    """
    variances = np.diagonal(covariance)
    sums = variances + variances[best]
    squares = sums - 2.0 * covariance[:, best]
    result: Float = np.sqrt(np.maximum(squares, _SMALLEST_ERROR**2 * sums))
    result[best] = 0.0
    return result


def initial_loss_in(surface: AlphaSurface | None, otherwise: float) -> float:
    """Return the surface's loss of a model without features, or `otherwise` if it has none."""
    loss = None if surface is None else surface.initial_loss
    return otherwise if loss is None else loss
