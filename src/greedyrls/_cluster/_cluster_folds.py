"""Folds of rows that are on a cluster: the number of the fold of each row stays with the row.

A number of folds gives those of scikit-learn's KFold and StratifiedKFold without shuffling, or
shuffled ones (`_shuffle`), made from how many rows (of each class) each piece has, without a look
at all rows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from .._base import Float, Handle, ask, is_whole
from .._data import RemoteMatrix, array_digest
from .._problem import Loss, Shuffle, as_met, fold_ends, fold_ids, warn_of_rare_classes
from ._pieces import FoldCounts, LabelSums, Piece, StratumTable

CLUSTER_FOLDS = (
    "a number of folds, KFold or StratifiedKFold without shuffling, or a Dask array with the "
    "number of the fold of each row (-1 for rows that are never tested)"
)
# So many different fold ids are no folds.
_MOST_FOLDS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class ClusterFolds:
    """Splits that each test the rows of a fold, and train on all others."""

    ids: tuple[Handle, ...]  # of each piece the fold of each row, −1 for none
    n_samples: int
    description: str
    counts: Float  # (K) rows of each fold that have a weight
    weights: Float  # (K) their weight
    n_untested: int  # rows of no fold that have a weight
    is_plain: bool = False  # made of a number: rows in their order
    name: str = "cv"  # of the parameter that they come from, for errors

    @property
    def remote(self) -> ClusterFolds:
        """Folds of rows in other processes: these are."""
        return self

    @property
    def n_splits(self) -> int:
        """K."""
        return len(self.counts)

    @property
    def n_tested(self) -> int:
        """How many rows are tested, at most."""
        return self.n_samples

    @property
    def is_partition(self) -> bool:
        """Whether every row that has a weight is tested."""
        return self.n_untested == 0

    @property
    def has_splits_within(self) -> bool:
        """Whether, with a fold left out, others have rows to train on and to test on."""
        total = self.counts.sum() + self.n_untested
        largest_two = np.sort(self.counts)[-2:].sum()
        return self.n_splits > 1 and bool(total > largest_two)

    @property
    def train_counts(self) -> Float:
        """Rows with a weight that each split trains on, (K)."""
        total: Float = self.counts.sum() + self.n_untested - self.counts
        return total


def cluster_folds(
    X: RemoteMatrix,
    cv: Any,
    n_classes: int,
    shuffle: Shuffle | None = None,
    name: str = "cv",
    takes_loo: bool = True,
) -> ClusterFolds | None:
    """`cv` for the rows of X; None means exact leave-one-out. A number is shuffled if asked for.

    Errors use the caller's `name` for `cv`, and propose leave-one-out only if the caller takes it.
    """
    allowed = f"'loo', {CLUSTER_FOLDS}" if takes_loo else CLUSTER_FOLDS
    if isinstance(cv, str | LeaveOneOut):
        if isinstance(cv, str) and cv != "loo":
            raise ValueError(
                f"{name}={cv!r} is not supported; on a cluster {name} must be {allowed}."
            )
        return None
    if isinstance(cv, FoldIds):
        return replace(_given_folds(X, cv, n_classes, name), name=name)
    if type(cv) in (KFold, StratifiedKFold):
        n_classes = n_classes if type(cv) is StratifiedKFold else 0
        return k_folds(X, cv.n_splits, n_classes, every=True, name=name, takes_loo=takes_loo)
    if not is_whole(cv):
        raise ValueError(f"On a cluster {name} must be {allowed}; got {cv!r}.")
    return k_folds(X, int(cv), n_classes, shuffle=shuffle, name=name, takes_loo=takes_loo)


class FoldIds(tuple[Handle, ...]):
    """Handles of given fold ids, as they are, one for each piece."""


def needs_all_rows(cv: Any) -> bool:
    """Whether folds are made of all rows together: by most splitters, or as lists of rows."""
    if type(cv) in (KFold, StratifiedKFold):
        return bool(cv.shuffle)
    is_list = hasattr(cv, "split") or hasattr(cv, "__iter__")
    return is_list and not isinstance(cv, str | LeaveOneOut | FoldIds)


def k_folds(
    X: RemoteMatrix,
    n_folds: int,
    n_classes: int,
    is_outer: bool = False,
    every: bool = False,
    shuffle: Shuffle | None = None,
    name: str = "cv",
    takes_loo: bool = True,
) -> ClusterFolds:
    """As KFold, or StratifiedKFold where classes are known, of the rows that have a weight.

    Rows without one go with the first fold; a splitter does not know of weights, and splits every
    row. `is_outer` leaves rows of classes that have a single row out, since they must be trained
    on.
    """
    count = max(1, n_classes)
    # (pieces × classes)
    table = np.array(list(X.executor.answers(ask(Piece.class_counts, n_classes, every), X.pieces)))
    sizes = table.sum(axis=0)
    n_rows, or_loo = int(sizes.sum()), ", or 'loo'" if takes_loo else ""
    if n_folds < 2:
        raise ValueError(f"{name}={n_folds} is too few folds; use at least 2{or_loo}.")
    if n_folds > n_rows:
        raise ValueError(
            f"{name}={n_folds} is more folds than the {n_rows} samples; use fewer{or_loo}."
        )
    order = [0]
    if n_classes:
        if is_outer:
            shared = sizes > 1
            n_folds = max(2, min(n_folds, int(sizes[shared].min(initial=n_rows))))
            sizes = np.where(shared, sizes, 0)
        if n_folds > sizes.max():
            raise ValueError(
                f"{name}={n_folds} is greater than the number of members in each class: the "
                f"largest has {sizes.max()}. Use at most {sizes.max()} folds{or_loo}."
            )
        warn_of_rare_classes(sizes, n_folds)
        order = _order_of_appearance(X, n_classes, every)
    ends = fold_ends(sizes, n_folds, order)
    before = np.vstack([np.zeros((1, count), dtype=np.intp), np.cumsum(table, axis=0)[:-1]])
    own_ids = partial(_fold_ids, ends=ends, order=order, every=every, shuffle=shuffle)
    ids = X.executor.each(own_ids, X.pieces, list(before))
    description = f"{n_folds}-fold{', stratified' * bool(n_classes)}"
    if shuffle is not None:
        description += shuffle.words
    folds = _counted(X, ids, n_folds, description, n_classes)
    return replace(folds, is_plain=not every and shuffle is None, name=name)


def _order_of_appearance(X: RemoteMatrix, n_classes: int, every: bool) -> list[int]:
    """Classes by the first row in which each is met."""
    found: list[int] = []
    for some in X.executor.answers(partial(_classes_as_met, every=every), X.pieces):
        found += [number for number in some if number not in found]
    found += [number for number in range(n_classes) if number not in found]
    return found


def _classes_as_met(piece: Piece, every: bool) -> list[int]:
    assert piece.classes is not None
    return as_met(piece.classes[piece.used(every)])


def _fold_ids(
    piece: Piece,
    before: NDArray[np.intp],
    ends: NDArray[np.intp],
    order: list[int],
    every: bool,
    shuffle: Shuffle | None,
) -> NDArray[Any]:
    """The fold of each row, from how many rows of its class came before the piece."""
    classes = piece.classes if ends.shape[1] > 1 else None
    return fold_ids(classes, piece.used(every), before, ends, order, shuffle)


def _given_folds(X: RemoteMatrix, given: FoldIds, n_classes: int, name: str) -> ClusterFolds:
    """Folds by the ids that the user gives."""
    executor = X.executor
    found: set[int] = set()
    for distinct in executor.answers(partial(_distinct_ids, name=name), X.pieces, given):
        found.update(distinct)
    names = sorted(found - {-1})
    if len(found) < 2:
        raise ValueError(
            f"Every fold id in {name} is {next(iter(found))}: only one fold leaves no training "
            "rows. Use at least 2 different fold ids."
        )
    if len(names) > _MOST_FOLDS:
        raise ValueError(
            f"{name} has {len(names)} different fold ids; on a cluster at most {_MOST_FOLDS} are "
            "supported."
        )
    ids = executor.each(partial(_renumbered, names=np.array(names)), X.pieces, given)
    return _counted(X, ids, len(names), f"fold ids ({len(names)} folds)", n_classes)


def _distinct_ids(piece: Piece, ids: NDArray[Any], name: str) -> list[int]:
    values = np.asarray(ids)
    if values.shape != (len(piece.Y),):
        raise ValueError(
            f"{name} has {values.shape} fold ids where X has {len(piece.Y)} rows; give a 1-D Dask "
            "array with one for each row."
        )
    if values.dtype.kind not in "iu":
        raise ValueError(
            f"Fold ids in {name} must be whole numbers on a cluster, got {values.dtype}."
        )
    distinct: list[int] = np.unique(values).tolist()
    return distinct


def _renumbered(piece: Piece, ids: NDArray[Any], names: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places among the names, −1 for none."""
    places = np.searchsorted(names, ids)
    known = names[np.minimum(places, len(names) - 1)] == ids
    return np.where(known, places, -1)


def _counted(
    X: RemoteMatrix, ids: Sequence[Handle], n_folds: int, description: str, n_classes: int
) -> ClusterFolds:
    """Folds with what their rows count, checked."""
    counts: FoldCounts = X.executor.total(ask(Piece.fold_counts, n_folds, n_classes), X.pieces, ids)
    folds = ClusterFolds(
        tuple(ids),
        X.shape[0],
        description,
        counts.rows[:-1],
        counts.weights[:-1],
        int(counts.rows[-1]),
    )
    for number in range(n_folds):
        for rows, kind in ((folds.counts, "test"), (folds.train_counts, "training")):
            if rows[number] == 0:
                raise ValueError(
                    f"Split {number} leaves no {kind} rows with a positive weight; use fewer "
                    "folds, or other ones."
                )
    if n_classes:
        rest = counts.classes.sum(axis=0) - counts.classes[:-1]
        lost = np.argwhere((rest == 0) & (counts.classes.sum(axis=0) > 0))
        if len(lost):
            fold, number = lost[0].tolist()
            raise ValueError(
                f"Split {fold} has no training rows of class number {number}; use fewer folds, or "
                "merge rare classes."
            )
    return folds


def check_cluster_loss(
    loss: Loss, X: RemoteMatrix, n_targets: int, folds: ClusterFolds | None
) -> None:
    """Raise an error if the loss is not defined for targets on a cluster."""
    if not loss.needs_labels:
        return
    found: LabelSums = X.executor.total(ask(Piece.label_sums), X.pieces)
    if found.not_codes or found.not_single:
        raise ValueError(
            f"loss={loss.name!r} needs labels -1 and +1 (more than two classes as a column each, "
            f"+1 for the class), but y has {found.not_codes} other numbers and {found.not_single} "
            "rows without exactly one +1. Use GreedyRLSClassifier to have classes coded."
        )
    if np.count_nonzero(found.classes) < 2:
        raise ValueError(f"loss={loss.name!r} needs at least 2 classes; y has only one.")
    if not loss.needs_every_class or folds is None:
        return
    table: StratumTable = X.executor.total(
        ask(Piece.stratum_table, folds.n_splits, loss), X.pieces, folds.ids
    )
    if not table.weights.all():
        fold, number = np.argwhere(table.weights == 0)[0].tolist()
        raise ValueError(
            f"loss={loss.name!r} needs every class in each fold; fold {fold} has no test sample of "
            f"class number {number}. Use fewer folds, or fold ids of your own."
        )


def folds_within(X: RemoteMatrix, folds: ClusterFolds) -> ClusterFolds | None:
    """Splits that have rows to train on and to test on among those of X that have a weight."""
    counts: FoldCounts = X.executor.total(
        ask(Piece.fold_counts, folds.n_splits, 0), X.pieces, folds.ids
    )
    rest = counts.rows.sum() - counts.rows[:-1]
    (left,) = ((counts.rows[:-1] > 0) & (rest > 0)).nonzero()
    if not len(left):
        return None
    names = np.full(folds.n_splits + 1, -1)
    names[left] = np.arange(len(left))
    ids = X.executor.each(partial(_mapped, names=names), X.pieces, folds.ids)
    untested = int(counts.rows.sum() - counts.rows[left].sum())
    return replace(
        folds,
        ids=tuple(ids),
        counts=counts.rows[left],
        weights=counts.weights[left],
        n_untested=untested,
    )


def _mapped(piece: Piece, ids: NDArray[np.intp], names: NDArray[np.intp]) -> NDArray[np.intp]:
    """Other numbers for folds; the last is that of none."""
    mapped: NDArray[np.intp] = names[ids]  # −1 is the last
    return mapped


def ids_digest(piece: Piece, ids: NDArray[np.intp]) -> str:
    """Of the folds of the rows of a piece."""
    return array_digest(ids.astype(np.int64))


def merged_folds(X: RemoteMatrix, folds: ClusterFolds, count: int, n_classes: int) -> ClusterFolds:
    """Fewer, larger folds: several of the given ones each."""
    names = np.append(np.arange(folds.n_splits) % count, -1)
    ids = X.executor.each(partial(_mapped, names=names), X.pieces, folds.ids)
    description = f"{count} folds, merged of {folds.description}"
    return _counted(X, ids, count, description, n_classes)
