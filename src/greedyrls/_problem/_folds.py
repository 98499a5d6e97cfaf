"""Train and test rows: a user's `cv` and `groups`, checked, as splits of the rows."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.utils import check_random_state

from .._base import Float
from ._row_order import FoldMembers, RowOrder, Split
from ._shuffle import (
    Shuffle,
    as_met,
    check_largest_class,
    check_n_folds,
    fold_ends,
    fold_ids,
    warn_of_rare_classes,
)
from ._time_order import TimeOrderedSplit
from ._user_values import one_per_row

Rows = NDArray[np.intp]

_ALLOWED = (
    "a number of folds, a scikit-learn splitter, a 1-D array with the fold id of each row, or a "
    "list of (train, test) row numbers"
)


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """All splits of a cross-validation."""

    splits: tuple[Split, ...]
    n_samples: int
    description: str
    is_plain: bool = False  # made from a number of folds, without shuffling
    # Splits a subset of the rows (a mask) from scratch, if restricting these splits is not enough.
    remake: Callable[[NDArray[np.bool_]], tuple[Split, ...]] | None = None
    name: str = "cv"  # of the user's parameter, for error messages

    @property
    def remote(self) -> None:
        """None: the rows are in this process."""
        return None

    @property
    def n_splits(self) -> int:
        """The number of splits K."""
        return len(self.splits)

    @property
    def n_tested(self) -> int:
        """The number of test rows, with repetitions."""
        return sum(len(split.tested) for split in self.splits)

    @property
    def is_partition(self) -> bool:
        """Whether each row is tested exactly once, by a model fitted to all rows of other folds."""
        if self.n_tested != self.n_samples or not all(split.is_complement for split in self.splits):
            return False
        orders = {
            split.tested.order if isinstance(split.tested, FoldMembers) else None
            for split in self.splits
        }
        if len(orders) == 1 and None not in orders:
            return True  # all rows are tested, in different folds of one order
        is_tested = np.zeros(self.n_samples, dtype=bool)
        for split in self.splits:
            is_tested[split.where] = True
        return bool(is_tested.all())  # as many tests as rows: none is tested twice

    @property
    def overlap(self) -> float:
        """Mean over splits of the ratio of test rows to training rows: 1/(K − 1) for K folds."""
        return float(np.mean([len(split.test) / len(split.train) for split in self.splits]))


def make_folds(
    cv: Any,
    n_samples: int,
    *,
    y: NDArray[Any] | None,
    labels: NDArray[Any] | None,
    groups: ArrayLike | None,
    weights: Float | None,
    shuffle: Shuffle | None = None,
    name: str = "cv",
    takes_loo: bool = True,
) -> Folds | None:
    """Check `cv` and `groups`; None means exact leave-one-out, which needs no splits.

    `labels` are the classes of a classifier: whole numbers of folds are then stratified, and
    every split must have all classes to train on. Folds of a number are shuffled if that is asked
    for and there are no groups. Errors number the splits from 0, as the rows; they use the
    caller's `name` for `cv`, and propose leave-one-out only if the caller takes it. Folds that
    are made already are returned as they are.
    """
    if isinstance(cv, Folds):
        return cv
    allowed = f"'loo', {_ALLOWED}" if takes_loo else _ALLOWED
    if isinstance(cv, str | bytes) and cv != "loo":
        raise ValueError(f"{name}={cv!r} is not supported; {name} must be {allowed}.")
    if isinstance(cv, str | LeaveOneOut):
        if groups is not None:
            raise ValueError(
                f"groups are not used by leave-one-out; pass {name}=GroupKFold(...), "
                f"{name}=LeaveOneGroupOut() or a number of folds (then GroupKFold) with them."
            )
        return None
    group_of = None if groups is None else one_per_row(groups, n_samples, "groups")
    target = y if labels is None else labels
    is_plain = False
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        _check_count(int(cv), n_samples, labels, group_of, weights, name, takes_loo)
        shuffle = None if group_of is not None else shuffle
        is_plain = group_of is None and shuffle is None
        pairs, description = _k_fold_pairs(
            int(cv), n_samples, target, labels, group_of, weights, shuffle, name
        )
    elif hasattr(cv, "split") and not hasattr(cv, "__array__"):  # some arrays can split, too
        pairs = _splitter_pairs(cv, n_samples, target, group_of, name)
        description = _in_words(cv)
    else:
        pairs, description = _given_pairs(
            cv, n_samples, name, allowed, has_groups=groups is not None
        )
    if not pairs:
        raise ValueError(f"{name} ({description}) gives no splits; at least 1 is needed.")
    splits = tuple(
        pair if isinstance(pair, Split) else _make_split(pair, n_samples, number, name)
        for number, pair in enumerate(pairs)
    )
    _check_parts(splits, n_samples, None if weights is None else weights > 0, labels)
    remake = partial(cv.remade, target, group_of) if isinstance(cv, TimeOrderedSplit) else None
    return Folds(splits, n_samples, description, is_plain, remake, name)


def _k_fold_pairs(
    n_folds: int,
    n_samples: int,
    target: NDArray[Any] | None,
    labels: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    weights: Float | None,
    shuffle: Shuffle | None,
    name: str,
) -> tuple[list[Any], str]:
    """Return folds of the rows with positive weight; the others are added to the first fold."""
    used = np.arange(n_samples) if weights is None else np.flatnonzero(weights)

    def some(values: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if values is None else values[used]

    splitter: Any = KFold(n_splits=n_folds)
    if groups is not None:
        splitter = GroupKFold(n_splits=n_folds)
    elif labels is not None:
        splitter = StratifiedKFold(n_splits=n_folds)
    description = _in_words(splitter)
    if shuffle is not None:
        ids = shuffled_ids(n_folds, n_samples, labels, weights, shuffle)
        return _splits_by_fold(ids, n_folds), description + shuffle.words
    if isinstance(splitter, KFold):
        # The training rows are all other rows, so that they need not be stored.
        tests = np.array_split(used, n_folds)
        if len(used) < n_samples:
            tests[0] = np.sort(np.concatenate([tests[0], np.flatnonzero(weights == 0.0)]))
        return [Split(test, None, n_samples) for test in tests], description
    pairs = _splitter_pairs(splitter, len(used), some(target), some(groups), name)
    if len(used) == n_samples:
        return pairs, description
    fold_of = np.zeros(n_samples, dtype=np.intp)
    for number, pair in enumerate(pairs):
        fold_of[used[pair.test]] = number
    return _splits_by_fold(fold_of, len(pairs)), description


def _splits_by_fold(fold_of: NDArray[Any], n_folds: int) -> list[Split]:
    """Return a split for each fold, from the fold of each row."""
    members = RowOrder(fold_of, n_folds).members()
    return [Split(test, None, len(fold_of)) for test in members]


def shuffled_ids(
    n_folds: int,
    n_samples: int,
    labels: NDArray[Any] | None,
    weights: Float | None,
    shuffle: Shuffle,
    is_outer: bool = False,
) -> NDArray[Any]:
    """Return random fold ids of the rows with positive weight, and 0 for the others.

    With `is_outer`, the row of a class of a single row gets −1: it is always trained on.
    """
    used = np.ones(n_samples, dtype=bool) if weights is None else weights > 0.0
    classes, sizes, order = None, np.array([np.count_nonzero(used)]), [0]
    if labels is not None:
        names, classes = np.unique(labels, return_inverse=True)
        sizes, order = np.bincount(classes[used], minlength=len(names)), as_met(classes[used])
        sizes = np.where(sizes > 1, sizes, 0) if is_outer else sizes
        warn_of_rare_classes(sizes, n_folds)
    ends, before = fold_ends(sizes, n_folds, order), np.zeros(len(sizes), dtype=np.intp)
    return fold_ids(classes, used, before, ends, order, shuffle)


def _check_count(
    n_folds: int,
    n_samples: int,
    labels: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    weights: Float | None,
    name: str,
    takes_loo: bool,
) -> None:
    """Raise an error unless the rows with positive weight can be divided into so many folds."""
    is_used = np.ones(n_samples, dtype=bool) if weights is None else weights != 0.0
    check_n_folds(n_folds, int(is_used.sum()), name, takes_loo)
    if groups is not None:
        n_groups = len(np.unique(groups[is_used]))
        if n_folds > n_groups:
            raise ValueError(
                f"{name}={n_folds} is more folds than the {n_groups} different groups; "
                "use at most one fold for each group."
            )
    elif labels is not None:
        largest = int(np.unique(labels[is_used], return_counts=True)[1].max())
        check_largest_class(n_folds, largest, name, takes_loo)


def _splitter_pairs(
    splitter: Any,
    n_samples: int,
    target: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    name: str,
) -> list[Any]:
    """Return the splits that a scikit-learn splitter makes of these rows."""
    if isinstance(splitter, type):
        kind = splitter.__name__
        raise TypeError(f"{name} is the class {kind}; pass an instance of it, such as {kind}().")
    if type(splitter) is KFold and groups is None and splitter.n_splits <= n_samples:
        return _k_fold_splits(splitter, n_samples)
    try:
        if groups is None and isinstance(splitter, StratifiedGroupKFold):
            raise ValueError("groups is None")  # scikit-learn would treat None as a group
        pairs = list(splitter.split(np.zeros((n_samples, 1)), target, groups))
        if type(splitter) in (StratifiedKFold, GroupKFold, StratifiedGroupKFold):
            # These train on all other rows: there is nothing to check.
            return [Split(np.sort(test), None, n_samples) for _, test in pairs]
        return pairs
    except ValueError as error:
        problem = f"cannot split the {n_samples} rows: {error}"
        if groups is None and "groups" in str(error) and "None" in str(error):
            problem = (
                f"needs groups: pass groups with one value for each of the {n_samples} rows (in a "
                "pipeline or cross-validation by metadata routing, set_fit_request(groups=True)), "
                "or use a splitter without groups, such as KFold."
            )
        raise ValueError(f"{name}={_describe(splitter)} {problem}") from error


def _k_fold_splits(splitter: KFold, n_samples: int) -> list[Split]:
    """Return the folds of `KFold` without storing the training rows."""
    rows = np.arange(n_samples)
    if not splitter.shuffle:
        return [Split(test, None, n_samples) for test in np.array_split(rows, splitter.n_splits)]
    check_random_state(splitter.random_state).shuffle(rows)
    fold_of = np.empty(n_samples, dtype=np.uint16 if splitter.n_splits < 1 << 16 else np.intp)
    for fold, test in enumerate(np.array_split(rows, splitter.n_splits)):
        fold_of[test] = fold
    return _splits_by_fold(fold_of, splitter.n_splits)


def _in_words(splitter: Any) -> str:
    """Describe common folds in words, and others by class and settings."""
    if isinstance(splitter, TimeOrderedSplit):
        return splitter.description
    kind = {KFold: "", StratifiedKFold: ", stratified", GroupKFold: " by groups"}
    if type(splitter) not in kind:
        return _describe(splitter)
    words = f"{splitter.n_splits}-fold{kind[type(splitter)]}"
    if not getattr(splitter, "shuffle", False):  # GroupKFold has no shuffle in some releases
        return words
    seed = splitter.random_state
    is_told = isinstance(seed, numbers.Integral)
    return f"{words}, shuffled{f' with seed {seed}' if is_told else ''}"


def _describe(splitter: Any) -> str:
    """Return class and settings; unlike repr, without arrays, addresses, None and False."""
    settings = {**getattr(splitter, "cvargs", {}), **getattr(splitter, "__dict__", {})}
    shown = [
        f"{name}={value}"
        for name, value in settings.items()
        if value is not False and isinstance(value, numbers.Real | str) and name[0] != "_"
    ]
    return f"{type(splitter).__name__}({', '.join(shown)})"


def _given_pairs(
    cv: Any, n_samples: int, name: str, allowed: str, *, has_groups: bool
) -> tuple[list[Any], str]:
    """Return (train, test) pairs from fold ids or pairs, and their description."""
    if hasattr(cv, "__array__"):
        cv = np.asarray(cv)
    unordered = isinstance(cv, Mapping | Set)
    if unordered or not isinstance(cv, Iterable) or (isinstance(cv, np.ndarray) and cv.ndim == 0):
        raise TypeError(f"{name} must be {allowed}; got {reprlib.repr(cv)}.")
    # A generator can be read only once; an array is not converted to a list.
    items = [] if _are_numbers(cv) else list(cv)
    are_ids = _are_numbers(cv) or all(_is_single(item) for item in items)
    if has_groups:
        kind = "fold ids" if are_ids else "(train, test) pairs"
        raise ValueError(
            f"groups cannot be used together with {kind}: {kind} already say which rows go "
            f"together. Leave out groups, or pass a splitter such as GroupKFold as {name}."
        )
    if are_ids and (items or (_are_numbers(cv) and len(cv))):
        pairs = _id_pairs(cv if isinstance(cv, np.ndarray) else items, n_samples, name)
        return pairs, f"fold ids ({len(pairs)} fold{'s' * (len(pairs) != 1)})"
    return items, f"{len(items)} given split{'s' * (len(items) != 1)}"


def _are_numbers(cv: Any) -> TypeGuard[NDArray[Any]]:
    return isinstance(cv, np.ndarray) and cv.ndim == 1 and cv.dtype.kind in "biuf"


def _is_single(item: Any) -> bool:
    return isinstance(item, str | bytes) or not isinstance(item, Iterable)


def _is_pair(item: Any) -> bool:
    is_sequence = isinstance(item, tuple | list | np.ndarray)
    return is_sequence and len(item) == 2 and not any(_is_single(part) for part in item)


def _id_pairs(cv: Any, n_samples: int, name: str) -> list[Split]:
    """Return a split for each fold id, in sorted order; rows with the id -1 are never tested."""
    ids = one_per_row(cv, n_samples, name)
    if ids.dtype.kind == "b":
        raise ValueError(
            f"{name} is a mask, which could mean one split or two folds; pass [(~mask, mask)] to "
            "test on the rows of the mask, or mask.astype(int) for two folds."
        )
    unfit = np.full(n_samples, ids.dtype.kind not in "iufU")
    if ids.dtype.kind == "f":
        unfit = ~np.isfinite(ids) | (ids != np.floor(ids))
    if unfit.any():
        row = int(np.argmax(unfit))
        raise ValueError(
            f"Fold ids in {name} must be whole numbers or strings; row {row} has {ids[row]}."
        )
    distinct, fold_of = _distinct(ids)
    if len(distinct) == 1:
        raise ValueError(
            f"Every fold id in {name} is {distinct.tolist()[0]!r}: only one fold leaves no "
            "training rows. Use at least 2 different fold ids."
        )
    splits = _splits_by_fold(fold_of, len(distinct))
    return [split for split, name in zip(splits, distinct.tolist(), strict=True) if name != -1]


def _distinct(ids: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
    """Return the sorted distinct ids, and for each row the index of its id (as `np.unique`)."""
    if ids.dtype.kind in "iu" and len(ids):
        low, high = int(ids.min()), int(ids.max())
        if high - low <= len(ids) and abs(low) < 1 << 62:
            # Counting is much faster than sorting.
            indices = ids.astype(np.int64) - low
            is_there = np.bincount(indices) > 0
            if not is_there.all():
                indices = (np.cumsum(is_there) - 1)[indices]
            return np.flatnonzero(is_there) + low, indices
    distinct, fold_of = np.unique(ids, return_inverse=True)
    return distinct, fold_of


def _make_split(pair: Any, n_samples: int, number: int, name: str) -> Split:
    """Check a (train, test) pair and return it as a split."""
    if not _is_pair(pair):
        raise ValueError(
            f"Item {number} of {name} is not a (train, test) pair of row numbers: "
            f"{reprlib.repr(pair)}. Fold ids must be 1-D, one for each row; a single split is "
            "[(train, test)]."
        )
    train = _row_numbers(pair[0], n_samples, f"Split {number} of {name} has in its training rows")
    test = _row_numbers(pair[1], n_samples, f"Split {number} of {name} has in its test rows")
    is_trained_on = np.zeros(n_samples, dtype=bool)
    is_trained_on[train] = True
    both = test[is_trained_on[test]]
    if len(both):
        raise ValueError(
            f"Split {number} of {name} has row {both[0]} both in its training rows and in its test "
            "rows; take it out of one of the two."
        )
    return Split(test, None if len(train) + len(test) == n_samples else train, n_samples)


def _row_numbers(part: Any, n_samples: int, where: str) -> Rows:
    """Return sorted row numbers from row numbers or a mask; `where` begins error messages."""
    rows = np.asarray(part)
    if rows.dtype.kind == "b" and rows.ndim == 1:
        if len(rows) != n_samples:
            raise ValueError(f"{where} a mask of length {len(rows)}; there are {n_samples} rows.")
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (
        rows.dtype.kind not in "iu" and len(rows)
    ):  # an empty list becomes floats
        raise ValueError(
            f"{where} {reprlib.repr(part)}; give a 1-D array of row numbers, or a mask of the rows."
        )
    outside = (rows < 0) | (rows >= n_samples)
    if outside.any():
        raise ValueError(f"{where} row {rows[outside][0]}; rows are 0 to {n_samples - 1}.")
    rows = rows.astype(np.intp)
    if (rows[1:] > rows[:-1]).all():
        return rows
    rows = np.sort(rows)
    repeated = rows[1:][rows[1:] == rows[:-1]]
    if len(repeated):
        raise ValueError(
            f"{where} row {repeated[0]} more than once; give each row once, and use sample_weight "
            "to count it more."
        )
    return rows


def _check_parts(
    splits: tuple[Split, ...],
    n_samples: int,
    counted: NDArray[np.bool_] | None,
    labels: NDArray[Any] | None,
) -> None:
    """Raise an error unless each split has test rows, and training rows of every class.

    `counted` marks the rows with positive weight; None means all rows.
    """
    if counted is not None and counted.all():
        counted = None
    note = "" if counted is None else " with a positive weight"
    for number, split in enumerate(splits):
        n_test = len(split.tested)
        n_train = n_samples - n_test if split.explicit_train is None else len(split.explicit_train)
        if counted is not None:
            n_test = int(np.count_nonzero(counted[split.test]))
            n_train = split.n_trained_on(counted)
        for count, kind in ((n_train, "training"), (n_test, "test")):
            if count == 0:
                raise ValueError(
                    f"Split {number} leaves no {kind} rows{note}; use fewer folds, or other ones."
                )
    if labels is None:
        return
    classes, class_of = np.unique(labels, return_inverse=True)

    def members(rows: Rows) -> NDArray[np.intp]:
        """Count the rows of positive weight by class."""
        counted_rows = rows if counted is None else rows[counted[rows]]
        return np.bincount(class_of[counted_rows], minlength=len(classes))

    every = members(np.arange(n_samples))
    for number, split in enumerate(splits):
        left = (
            every - members(split.test)
            if split.explicit_train is None
            else members(split.explicit_train)
        )
        lost = (every > 0) & (left == 0)
        if lost.any():
            name = classes.tolist()[int(np.argmax(lost))]
            raise ValueError(
                f"Split {number} has no training rows of class {name!r}{note}; use fewer folds, "
                "StratifiedKFold, or merge rare classes."
            )
