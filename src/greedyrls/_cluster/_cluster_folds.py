"""Folds of rows that are on a cluster: the number of the fold of each row stays with the row.

A number of folds gives those of scikit-learn's KFold and StratifiedKFold without shuffling, or
shuffled ones (`_shuffle`). They follow from the number of rows (of each class) in each piece; rows
are never gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from .._base import Handle, ask, is_whole
from .._data import RemoteMatrix, array_digest
from .._problem import (
    ClusterFolds,
    Loss,
    Shuffle,
    as_met,
    check_largest_class,
    check_n_folds,
    fold_ends,
    fold_ids,
    warn_of_rare_classes,
)
from ._pieces import FoldCounts, LabelSums, Piece, StratumTable

CLUSTER_FOLDS = (
    "a number of folds, KFold or StratifiedKFold without shuffling, or a Dask array with the "
    "number of the fold of each row (-1 for rows that are never tested)"
)
# More different ids than this are rejected: most likely they are not fold ids.
_MOST_FOLDS = 1000


def cluster_folds(
    X: RemoteMatrix,
    cv: Any,
    n_classes: int,
    shuffle: Shuffle | None = None,
    name: str = "cv",
    takes_loo: bool = True,
) -> ClusterFolds | None:
    """Return the folds of `cv` for the rows of X; None means exact leave-one-out.

    `shuffle` applies to a number of folds. Errors use the caller's `name` for `cv`, and propose
    leave-one-out only if `takes_loo`.
    """
    allowed = f"'loo', {CLUSTER_FOLDS}" if takes_loo else CLUSTER_FOLDS
    if isinstance(cv, str | LeaveOneOut):
        if isinstance(cv, str) and cv != "loo":
            raise ValueError(
                f"{name}={cv!r} is not supported; on a cluster {name} must be {allowed}."
            )
        return None
    if isinstance(cv, FoldIds):
        return replace(_user_folds(X, cv, n_classes, name), name=name)
    if type(cv) in (KFold, StratifiedKFold):
        n_classes = n_classes if type(cv) is StratifiedKFold else 0
        return k_folds(X, cv.n_splits, n_classes, every=True, name=name, takes_loo=takes_loo)
    if not is_whole(cv):
        raise ValueError(f"On a cluster {name} must be {allowed}; got {cv!r}.")
    return k_folds(X, int(cv), n_classes, shuffle=shuffle, name=name, takes_loo=takes_loo)


class FoldIds(tuple[Handle, ...]):
    """Handles of the user's fold ids, one for each piece."""


def needs_all_rows(cv: Any, is_classification: bool) -> bool:
    """Whether folds are made of all rows together: by most splitters, or as lists of rows."""
    if hasattr(cv, "dtype") or isinstance(cv, str | LeaveOneOut):  # fold ids, or "loo"
        return False
    if type(cv) in (KFold, StratifiedKFold):
        return bool(cv.shuffle) or (type(cv) is StratifiedKFold and not is_classification)
    return hasattr(cv, "split") or hasattr(cv, "__iter__")


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
    """Return the folds of KFold, or of StratifiedKFold with classes, of rows of positive weight.

    Rows without weight go to the first fold. With `every`, as by a splitter, which ignores weights,
    all rows are split. `is_outer` leaves out rows of classes with a single row, which must be
    trained on.
    """
    count = max(1, n_classes)
    # (pieces × classes)
    table = np.array(list(X.executor.answers(ask(Piece.class_counts, n_classes, every), X.pieces)))
    sizes = table.sum(axis=0)
    n_rows = int(sizes.sum())
    check_n_folds(n_folds, n_rows, name, takes_loo)
    order = [0]
    if n_classes:
        if is_outer:
            shared = sizes > 1
            n_folds = max(2, min(n_folds, int(sizes[shared].min(initial=n_rows))))
            sizes = np.where(shared, sizes, 0)
        check_largest_class(n_folds, int(sizes.max()), name, takes_loo)
        warn_of_rare_classes(sizes, n_folds)
        order = _order_of_appearance(X, n_classes, every)
    ends = fold_ends(sizes, n_folds, order)
    before = np.vstack([np.zeros((1, count), dtype=np.intp), np.cumsum(table, axis=0)[:-1]])
    ids_of_piece = partial(_fold_ids, ends=ends, order=order, every=every, shuffle=shuffle)
    ids = X.executor.each(ids_of_piece, X.pieces, list(before))
    description = f"{n_folds}-fold{', stratified' * bool(n_classes)}"
    if shuffle is not None:
        description += shuffle.words
    folds = _counted(X, ids, n_folds, description, n_classes)
    return replace(folds, is_plain=not every and shuffle is None, name=name)


def _order_of_appearance(X: RemoteMatrix, n_classes: int, every: bool) -> list[int]:
    """Return the classes in the order of their first rows."""
    order: list[int] = []
    for classes in X.executor.answers(partial(_classes_as_met, every=every), X.pieces):
        order += [number for number in classes if number not in order]
    order += [number for number in range(n_classes) if number not in order]
    return order


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
    """Return the fold of each row, from the number of rows of its class before the piece."""
    classes = piece.classes if ends.shape[1] > 1 else None
    return fold_ids(classes, piece.used(every), before, ends, order, shuffle)


def _user_folds(X: RemoteMatrix, user_ids: FoldIds, n_classes: int, name: str) -> ClusterFolds:
    """Return folds by the user's fold ids."""
    executor = X.executor
    ids_met: set[int] = set()
    for distinct in executor.answers(partial(_distinct_ids, name=name), X.pieces, user_ids):
        ids_met.update(distinct)
    names = sorted(ids_met - {-1})
    if len(ids_met) < 2:
        raise ValueError(
            f"Every fold id in {name} is {next(iter(ids_met))}: only one fold leaves no training "
            "rows. Use at least 2 different fold ids."
        )
    if len(names) > _MOST_FOLDS:
        raise ValueError(
            f"{name} has {len(names)} different fold ids; on a cluster at most {_MOST_FOLDS} are "
            "supported."
        )
    ids = executor.each(partial(_renumbered, names=np.array(names)), X.pieces, user_ids)
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
    """Return the positions of ids in `names`; −1 for ids of no fold."""
    positions = np.searchsorted(names, ids)
    is_fold = names[np.minimum(positions, len(names) - 1)] == ids
    return np.where(is_fold, positions, -1)


def _counted(
    X: RemoteMatrix, ids: Sequence[Handle], n_folds: int, description: str, n_classes: int
) -> ClusterFolds:
    """Count the rows and weights of folds; raises an error for folds that cannot be used."""
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
    sums: LabelSums = X.executor.total(ask(Piece.label_sums), X.pieces)
    if sums.not_codes or sums.not_single:
        raise ValueError(
            f"loss={loss.name!r} needs labels -1 and +1 (more than two classes as a column each, "
            f"+1 for the class), but y has {sums.not_codes} other numbers and {sums.not_single} "
            "rows without exactly one +1. Use GreedyRLSClassifier to have classes coded."
        )
    if np.count_nonzero(sums.classes) < 2:
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
    """Return the splits that train and test on rows of positive weight in X; None if none does."""
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
    """Renumber folds; the last entry of `names` is for rows of no fold."""
    mapped: NDArray[np.intp] = names[ids]  # −1 is the last
    return mapped


def fold_numbers(piece: Piece, ids: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the fold ids of a piece."""
    return ids


def ids_digest(piece: Piece, ids: NDArray[np.intp]) -> str:
    """Return a digest of the fold ids of a piece."""
    return array_digest(ids.astype(np.int64))


def merged_folds(X: RemoteMatrix, folds: ClusterFolds, count: int, n_classes: int) -> ClusterFolds:
    """Merge folds to `count` larger ones."""
    names = np.append(np.arange(folds.n_splits) % count, -1)
    ids = X.executor.each(partial(_mapped, names=names), X.pieces, folds.ids)
    description = f"{count} folds, merged of {folds.description}"
    return _counted(X, ids, count, description, n_classes)
