"""Rows of X, y and weights that lie together on a cluster, and what is asked of them.

Everything here runs where the rows are. A piece is a value, and is kept without its X: who asks a
question brings the two together, so that X is there once, however many blocks were made of it.
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

# What stands for X in a piece or block that is kept.
NOT_HERE: Matrix = DenseMatrix(np.empty((0, 0)))


def attached(kept: Any, X: Matrix) -> Any:
    """A piece or block with its X."""
    if isinstance(kept, RowBlock):
        return replace(kept, X=X, columns=kept.columns.attached(X))
    return replace(kept, X=X)


def detached(made: Any) -> Any:
    """What was made of a question, without X if it is a piece or block."""
    if isinstance(made, RowBlock):
        return replace(made, X=NOT_HERE, columns=made.columns.attached(NOT_HERE))
    if isinstance(made, FoldBlock):
        return replace(made, X=NOT_HERE, parts={})
    return replace(made, X=NOT_HERE) if isinstance(made, Piece) else made


class PieceFacts(NamedTuple):
    """What the driver must know of y and the weights of a piece, to refuse them."""

    bad_target: tuple[int, int, float] | None  # row, column, value that is not finite
    bad_weight: tuple[int, float] | None  # row, value that is negative or not finite
    n_weighted: int


class FoldCounts(NamedTuple):
    """Of the rows of each fold that have a weight, the last being those of none."""

    rows: Float  # (K + 1)
    weights: Float  # (K + 1)
    classes: Float  # (K + 1 × classes) rows, where classes matter


class StratumTable(NamedTuple):
    """Weights of the strata of a loss in each fold."""

    weights: Float  # (K × strata)


class LabelSums(NamedTuple):
    """Whether targets are codes of classes."""

    not_codes: int  # numbers that are neither −1 nor +1
    not_single: int  # rows with another number of +1 than one, of several targets
    classes: Float  # rows of each class that have a weight


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of X with their y (rows × t), weights and, if known, classes."""

    X: Matrix
    Y: Float
    weights: Float | None
    classes: NDArray[np.intp] | None = None

    def facts(self) -> PieceFacts:
        """Whether y and the weights are as they must be."""
        bad = np.argwhere(~np.isfinite(self.Y))
        place = None
        if len(bad):
            row, column = (int(number) for number in bad[0])
            place = (row, column, float(self.Y[row, column]))
        if self.weights is None:
            return PieceFacts(place, None, len(self.Y))
        (wrong,) = (~(np.isfinite(self.weights) & (self.weights >= 0.0))).nonzero()
        weight = (int(wrong[0]), float(self.weights[wrong[0]])) if len(wrong) else None
        return PieceFacts(place, weight, int(np.count_nonzero(self.weights)))

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Row, column and value of X that is NaN or infinite."""
        place = self.X.first_non_finite()
        return None if place is None else (*place, self.X.value(*place))

    def digest(self) -> tuple[str, str, str]:
        """Of X, y and the weights."""
        weights = np.empty(0) if self.weights is None else self.weights
        own = [hashlib.sha256(bytes_of(values)).hexdigest() for values in (self.Y, weights)]
        return matrix_digest(self.X), own[0], own[1]

    def row_block(self) -> RowBlock:
        """For leave-one-out."""
        return RowBlock.from_rows(self.X, self.Y, self.weights)

    def fold_block(self, ids: NDArray[np.intp], n_folds: int, is_partition: bool) -> FoldBlock:
        """For folds, by the number of the fold of each row."""
        tests = tuple(np.flatnonzero(ids == fold) for fold in range(n_folds))
        sets = tests if is_partition else (*tests, None)
        return FoldBlock.from_rows(self.X, self.Y, self.weights, sets, ())

    def without(self, ids: NDArray[np.intp], fold: int) -> Piece:
        """The piece whose rows of a fold have lost their weight."""
        return replace(self, weights=np.where(ids == fold, 0.0, self.filled_weights()))

    def filled_weights(self) -> Float:
        """w (rows), 1 where none are given."""
        return np.ones(len(self.Y)) if self.weights is None else self.weights

    def used(self, every: bool = False) -> NDArray[np.bool_]:
        """Which rows have a weight; or every row."""
        if every or self.weights is None:
            return np.ones(len(self.Y), dtype=bool)
        return self.weights > 0.0

    def fold_counts(self, ids: NDArray[np.intp], n_folds: int, n_classes: int) -> FoldCounts:
        """Rows and weights of each fold; −1 is none."""
        used = self.used()
        places = np.where(ids < 0, n_folds, ids)[used]
        table = np.zeros((n_folds + 1, n_classes))
        if n_classes and self.classes is not None:
            np.add.at(table, (places, self.classes[used]), 1.0)
        return FoldCounts(
            np.bincount(places, minlength=n_folds + 1).astype(np.float64),
            np.bincount(places, self.filled_weights()[used], minlength=n_folds + 1).astype(float),
            table,
        )

    def stratum_table(self, ids: NDArray[np.intp], n_folds: int, loss: Loss) -> StratumTable:
        """What the strata of a loss weigh in each fold."""
        weights, strata = self.filled_weights(), loss.strata(self.Y)
        table = np.zeros((n_folds, loss.n_strata(self.Y.shape[1])))
        tested = ids >= 0
        np.add.at(table, (ids[tested], strata[tested]), weights[tested])
        return StratumTable(table)

    def class_counts(self, n_classes: int, every: bool = False) -> NDArray[np.intp]:
        """Rows of each class that have a weight; all in one where classes do not matter."""
        used = self.used(every)
        if n_classes == 0 or self.classes is None:
            return np.array([np.count_nonzero(used)])
        return np.bincount(self.classes[used], minlength=n_classes)

    def label_sums(self) -> LabelSums:
        """Whether targets are codes of classes, and how many rows of each there are."""
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
        """Losses on the rows of a fold: of `guess` (t), of models with penalties (k), (1 + k)."""
        (rows,) = ((ids == fold) & self.used()).nonzero()
        Y, weights = self.Y[rows], self.filled_weights()[rows]
        columns = self.X.part(rows, np.array(chosen.indices, dtype=np.intp)).astype(np.float64)
        return held_out_moments(chosen, penalties, guess, columns, Y, weights, loss)
