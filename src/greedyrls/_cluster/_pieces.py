"""Rows of X, y and weights that lie together on a cluster, and functions of them.

Everything here runs on the worker of the rows. A piece is immutable and is stored without its X;
the executor attaches it, so that X is stored once, however many blocks are made from it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._criteria import LossMoments, held_out_moments
from .._data import DenseMatrix, Matrix, bytes_of, matrix_digest
from .._features import Chosen
from .._problem import Loss
from .._rows import FoldBlock, RowBlock

# The placeholder for X in a stored piece or block.
NOT_HERE: Matrix = DenseMatrix(np.empty((0, 0)))


def attached(kept: Any, X: Matrix) -> Any:
    """Return a piece or block with its X."""
    if isinstance(kept, RowBlock):
        return replace(kept, X=X, columns=kept.columns.attached(X))
    return replace(kept, X=X)


def detached(made: Any) -> Any:
    """Return a result, without X if it is a piece or block."""
    if isinstance(made, RowBlock):
        return replace(made, X=NOT_HERE, columns=made.columns.attached(NOT_HERE))
    if isinstance(made, FoldBlock):
        return replace(made, X=NOT_HERE, parts={})
    return replace(made, X=NOT_HERE) if isinstance(made, Piece) else made


class PieceFacts(NamedTuple):
    """The first invalid values of y and weights in a piece, for errors."""

    bad_target: tuple[int, int, float] | None  # row, column, value that is not finite
    bad_weight: tuple[int, float] | None  # row, value that is negative or not finite
    n_weighted: int


class FoldCounts(NamedTuple):
    """Counts of rows of positive weight in each fold; the last entry is for rows of no fold."""

    rows: Float  # (K + 1)
    weights: Float  # (K + 1)
    classes: Float  # (K + 1 × classes) rows of each class


class StratumTable(NamedTuple):
    """Weights of the strata of a loss in each fold."""

    weights: Float  # (K × strata)


class LabelSums(NamedTuple):
    """Counts that show whether targets are codes of classes."""

    not_codes: int  # numbers that are neither −1 nor +1
    not_single: int  # with several targets, rows without exactly one +1
    classes: Float  # rows of positive weight in each class


@dataclass(frozen=True, slots=True)
class Piece:
    """A partition of rows: X, y (rows × t), weights and, for a classifier, classes."""

    X: Matrix
    Y: Float
    weights: Float | None
    classes: NDArray[np.intp] | None = None

    def facts(self) -> PieceFacts:
        """Return the first invalid values of y and weights."""
        bad = np.argwhere(~np.isfinite(self.Y))
        bad_target = None
        if len(bad):
            row, column = (int(number) for number in bad[0])
            bad_target = (row, column, float(self.Y[row, column]))
        if self.weights is None:
            return PieceFacts(bad_target, None, len(self.Y))
        (wrong,) = (~(np.isfinite(self.weights) & (self.weights >= 0.0))).nonzero()
        weight = (int(wrong[0]), float(self.weights[wrong[0]])) if len(wrong) else None
        return PieceFacts(bad_target, weight, int(np.count_nonzero(self.weights)))

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of the first NaN or infinity in X; None if there is none."""
        return self.X.first_non_finite()

    def digest(self) -> tuple[str, str, str]:
        """Return digests of X, y and the weights."""
        weights = np.empty(0) if self.weights is None else self.weights
        digests = [hashlib.sha256(bytes_of(values)).hexdigest() for values in (self.Y, weights)]
        return matrix_digest(self.X), digests[0], digests[1]

    def row_block(self) -> RowBlock:
        """Return the row block for leave-one-out."""
        return RowBlock.from_rows(self.X, self.Y, self.weights)

    def fold_block(self, ids: NDArray[np.intp], n_folds: int, is_partition: bool) -> FoldBlock:
        """Return the row block for folds, by the fold of each row."""
        tests = tuple(np.flatnonzero(ids == fold) for fold in range(n_folds))
        sets = tests if is_partition else (*tests, None)
        return FoldBlock.from_rows(self.X, self.Y, self.weights, sets, ())

    def without(self, ids: NDArray[np.intp], fold: int) -> Piece:
        """Return the piece with weight 0 for the rows of a fold."""
        return replace(self, weights=np.where(ids == fold, 0.0, self.filled_weights()))

    def filled_weights(self) -> Float:
        """Return the weights (rows); ones if there are none."""
        return np.ones(len(self.Y)) if self.weights is None else self.weights

    def vectors(self) -> tuple[Float, Float]:
        """Return the targets (rows × t) and the weights (rows)."""
        return self.Y, self.filled_weights()

    def used(self, every: bool = False) -> NDArray[np.bool_]:
        """Return a mask of the rows of positive weight; of all rows with `every`."""
        if every or self.weights is None:
            return np.ones(len(self.Y), dtype=bool)
        return self.weights > 0.0

    def fold_counts(self, ids: NDArray[np.intp], n_folds: int, n_classes: int) -> FoldCounts:
        """Count rows and weights of each fold; the id −1 is for rows of no fold."""
        used = self.used()
        folds = np.where(ids < 0, n_folds, ids)[used]
        table = np.zeros((n_folds + 1, n_classes))
        if n_classes and self.classes is not None:
            np.add.at(table, (folds, self.classes[used]), 1.0)
        return FoldCounts(
            np.bincount(folds, minlength=n_folds + 1).astype(np.float64),
            np.bincount(folds, self.filled_weights()[used], minlength=n_folds + 1).astype(float),
            table,
        )

    def stratum_table(self, ids: NDArray[np.intp], n_folds: int, loss: Loss) -> StratumTable:
        """Return the weights of the strata of a loss in each fold."""
        weights, strata = self.filled_weights(), loss.strata(self.Y)
        table = np.zeros((n_folds, loss.n_strata(self.Y.shape[1])))
        tested = ids >= 0
        np.add.at(table, (ids[tested], strata[tested]), weights[tested])
        return StratumTable(table)

    def class_counts(self, n_classes: int, every: bool = False) -> NDArray[np.intp]:
        """Count rows of positive weight in each class; all together if `n_classes` is 0."""
        used = self.used(every)
        if n_classes == 0 or self.classes is None:
            return np.array([np.count_nonzero(used)])
        return np.bincount(self.classes[used], minlength=n_classes)

    def label_sums(self) -> LabelSums:
        """Count targets that are not codes of classes, and the rows of each class."""
        plus = np.count_nonzero(self.Y > 0.0, axis=1)
        is_single = self.Y.shape[1] == 1
        classes = plus if is_single else np.argmax(self.Y, axis=1)
        return LabelSums(
            int(np.count_nonzero(np.abs(self.Y) != 1.0)),
            0 if is_single else int(np.count_nonzero(plus != 1)),
            np.bincount(classes[self.used()], minlength=max(2, self.Y.shape[1])).astype(float),
        )

    def held_out_moments(
        self,
        ids: NDArray[np.intp],
        fold: int,
        chosen: Chosen,
        penalties: Float,
        guess: Float,
        loss: Loss,
    ) -> LossMoments:
        """Sum losses (1 + k) on the rows of a fold: of `guess` (t), and with k penalties."""
        (rows,) = ((ids == fold) & self.used()).nonzero()
        Y, weights = self.Y[rows], self.filled_weights()[rows]
        columns = self.X.part(rows, np.array(chosen.indices, dtype=np.intp)).astype(np.float64)
        return held_out_moments(chosen, penalties, guess, columns, Y, weights, loss)
