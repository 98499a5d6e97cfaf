"""Splits are those of scikit-learn, or those given; bad ones get an error that names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from splits import PAIRS, M, Y, assert_splits, folds, optional_folds

LABELS = np.array(["a", "b", "c"])[np.random.default_rng(6).permutation(np.arange(M) % 3)]
GROUPS = np.random.default_rng(7).permutation(np.arange(M) % 6)
IDS = np.random.default_rng(8).permutation(np.arange(M) % 4)


# --- leave-one-out


@pytest.mark.parametrize("cv", ["loo", LeaveOneOut(), np.str_("loo")])
def test_leave_one_out_needs_no_splits(cv: Any) -> None:
    assert optional_folds(cv) is None
    assert optional_folds(cv, labels=LABELS) is None
    with pytest.raises(ValueError, match=r"groups are not used by leave-one-out.*LeaveOneGroupOut"):
        optional_folds(cv, groups=GROUPS)


@pytest.mark.parametrize("cv", ["kfold", "", "LOO", b"loo"])
def test_other_strings(cv: Any) -> None:
    with pytest.raises(ValueError, match=rf"cv={cv!r} is not supported.*'loo'.*number of folds"):
        folds(cv)


# --- a number of folds


@pytest.mark.parametrize("cv", [2, 5, np.int64(7), M])
def test_number_of_folds(cv: Any) -> None:
    made = folds(cv)
    assert_splits(made, KFold(int(cv)).split(Y))
    assert made.description == f"{cv}-fold"
    assert made.n_samples == M
    assert made.is_partition


def test_number_of_folds_with_labels_is_stratified() -> None:
    made = folds(4, labels=LABELS)
    assert_splits(made, StratifiedKFold(4).split(Y, LABELS))
    assert made.description == "4-fold, stratified"


@pytest.mark.parametrize("labels", [None, LABELS])
def test_number_of_folds_with_groups(labels: Any) -> None:
    made = folds(4, labels=labels, groups=GROUPS)
    assert_splits(made, GroupKFold(4).split(Y, Y, GROUPS))
    assert made.description == "4-fold by groups"


@pytest.mark.parametrize("cv", [1, 0, -3])
def test_too_few_folds(cv: int) -> None:
    with pytest.raises(ValueError, match=f"cv={cv} is too few folds; use at least 2"):
        folds(cv)


def test_too_many_folds() -> None:
    with pytest.raises(ValueError, match="cv=25 is more folds than the 24 samples"):
        folds(25)
    with pytest.raises(ValueError, match="cv=7 is more folds than the 6 different groups"):
        folds(7, groups=GROUPS)
    with pytest.raises(ValueError, match=r"cv=9 is greater than .* largest has 8"):
        folds(9, labels=LABELS)


def test_a_rare_class_is_a_warning_as_in_sklearn() -> None:
    labels = np.array([0, 1] + [0] * 4 + [1] + [0] * 3)
    with pytest.warns(UserWarning, match="least populated class in y has only 2 members"):
        made = folds(4, 10, labels=labels)
    assert len(made.splits) == 4


# --- splitters

SPLITTERS = [
    KFold(4),
    KFold(4, shuffle=True, random_state=0),
    RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    StratifiedKFold(3),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=1),
    ShuffleSplit(5, test_size=0.25, random_state=0),
    ShuffleSplit(5, test_size=0.25, train_size=0.5, random_state=0),
    StratifiedShuffleSplit(3, test_size=6, random_state=0),
    LeavePOut(2),
    PredefinedSplit(IDS),
    PredefinedSplit(IDS - 1),
]
GROUP_SPLITTERS = [
    GroupKFold(3),
    LeaveOneGroupOut(),
    LeavePGroupsOut(2),
    GroupShuffleSplit(4, test_size=2, random_state=0),
    StratifiedGroupKFold(2),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
def test_splitters(splitter: Any) -> None:
    expected = list(splitter.split(np.zeros((M, 1)), LABELS))
    assert_splits(folds(splitter, labels=LABELS), expected)
    if "Stratified" not in str(splitter):
        assert_splits(folds(splitter), expected)


@pytest.mark.parametrize("splitter", GROUP_SPLITTERS, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series, pl.Series])
def test_group_splitters(splitter: Any, kind: Any) -> None:
    expected = list(splitter.split(np.zeros((M, 1)), LABELS, GROUPS))
    assert_splits(folds(splitter, labels=LABELS, groups=kind(GROUPS)), expected)


@pytest.mark.parametrize("splitter", GROUP_SPLITTERS, ids=str)
def test_group_splitters_need_groups(splitter: Any) -> None:
    with pytest.raises(ValueError, match=rf"cv={type(splitter).__name__}\(.*needs groups"):
        folds(splitter, labels=LABELS)


def test_time_series_split() -> None:
    for splitter in (TimeSeriesSplit(4), TimeSeriesSplit(3, gap=2, max_train_size=6)):
        assert_splits(folds(splitter), splitter.split(Y))


def test_a_splitter_gets_labels_or_else_the_target() -> None:
    class Recorder:
        def split(self, X: Any, y: Any, groups: Any) -> Iterator[Any]:
            self.seen = X, y, groups
            yield np.arange(20), np.arange(20, M)

    recorder = Recorder()
    made = folds(recorder, labels=LABELS, groups=GROUPS)
    assert recorder.seen[0].shape == (M, 1)
    assert recorder.seen[1] is LABELS
    assert_array_equal(recorder.seen[2], GROUPS)
    assert made.description.startswith("Recorder(")
    folds(recorder)
    assert_array_equal(recorder.seen[1], Y)
    assert recorder.seen[2] is None


@pytest.mark.parametrize(
    ("splitter", "description"),
    [
        (GroupKFold(n_splits=4), "4-fold by groups"),
        (LeaveOneGroupOut(), "LeaveOneGroupOut()"),
        (
            RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
            "RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)",
        ),
        (
            KFold(3, shuffle=True, random_state=np.random.RandomState(0)),
            "3-fold, shuffled",
        ),
        (PredefinedSplit(IDS), "PredefinedSplit()"),
    ],
)
def test_descriptions_of_splitters(splitter: Any, description: str) -> None:
    needs_groups = "roup" in description
    assert folds(splitter, groups=GROUPS if needs_groups else None).description == description


def test_errors_of_splitters_name_the_splitter() -> None:
    with pytest.raises(ValueError, match=r"cv=KFold\(n_splits=30\) cannot split the 24 rows: Can"):
        folds(KFold(30))
    with pytest.raises(ValueError, match=r"StratifiedKFold\(n_splits=3\) cannot .*'continuous'"):
        folds(StratifiedKFold(3))
    with pytest.raises(ValueError, match=r"fewer than 2 unique groups"):
        folds(LeaveOneGroupOut(), groups=np.zeros(M))
    with pytest.raises(ValueError, match=r"PredefinedSplit.*gives no splits"):
        folds(PredefinedSplit(np.full(M, -1)))
    with pytest.raises(TypeError, match=r"cv is the class KFold; pass an instance.*KFold\(\)"):
        folds(KFold)


def test_groups_that_a_splitter_ignores_are_a_warning_as_in_sklearn() -> None:
    with pytest.warns(UserWarning, match="groups parameter is ignored by KFold"):
        folds(KFold(3), groups=GROUPS)


def test_a_splitter_that_gives_no_pairs() -> None:
    class Odd:
        def split(self, X: Any, y: Any, groups: Any) -> Iterator[Any]:
            yield np.arange(3), np.arange(3, 6)
            yield np.arange(3), np.arange(3, 6), np.arange(6, 9)

    with pytest.raises(ValueError, match=r"Item 1 of cv is not a \(train, test\) pair"):
        folds(Odd())


# --- fold ids

NAMED_IDS = np.array(["k", "b", "x", "a"])[IDS]


@pytest.mark.parametrize(
    "cv",
    [
        IDS,
        IDS.tolist(),
        tuple(IDS.tolist()),
        (int(value) for value in IDS),
        IDS.astype(float),
        IDS.astype(np.uint8),
        IDS.astype(object),
        pd.Series(IDS, index=np.arange(M)[::-1]),
        pd.Series(IDS, dtype="Int64"),
        pl.Series(IDS),
    ],
)
def test_fold_ids(cv: Any) -> None:
    made = folds(cv)
    assert_splits(made, PredefinedSplit(IDS).split())
    assert made.description == "fold ids (4 folds)"
    assert made.is_partition


@pytest.mark.parametrize(
    "cv",
    [
        NAMED_IDS,
        NAMED_IDS.tolist(),
        NAMED_IDS.astype(object),
        NAMED_IDS.astype(np.dtypes.StringDType()),
        pd.Series(NAMED_IDS),
        pd.Series(NAMED_IDS, dtype="category"),
        pl.Series(NAMED_IDS),
    ],
)
def test_fold_ids_that_are_strings_are_in_sorted_order(cv: Any) -> None:
    rows = np.arange(M)
    tests = [rows[np.isin(NAMED_IDS, name)] for name in ("a", "b", "k", "x")]
    expected = [(np.setdiff1d(rows, test), test) for test in tests]
    assert_splits(folds(cv), expected)


@pytest.mark.parametrize("kind", [int, float])
def test_rows_of_fold_minus_one_are_never_tested(kind: Any) -> None:
    made = folds((IDS - 1).astype(kind))
    assert_splits(made, PredefinedSplit(IDS - 1).split())
    assert made.description == "fold ids (3 folds)"
    assert not made.is_partition
    one = folds(np.where(IDS == 0, 0, -1))
    assert_splits(one, [(np.flatnonzero(IDS != 0), np.flatnonzero(IDS == 0))])
    assert one.description == "fold ids (1 fold)"


def test_other_negative_ids_and_the_string_minus_one_are_ordinary() -> None:
    assert len(folds(IDS - 10).splits) == 4
    assert len(folds(np.where(IDS == 0, "-1", "0")).splits) == 2


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (IDS[:-1], "cv has 23 values, but there are 24 rows"),
        (["a", "b"], "cv has 2 values, but there are 24 rows"),
        (np.zeros(M, dtype=int), "Every fold id in cv is 0: only one fold leaves no training rows"),
        (["x"] * M, "Every fold id in cv is 'x': only one fold"),
        (np.full(M, -1), "Every fold id in cv is -1"),
        (np.where(IDS == 0, np.nan, IDS), f"missing value: row {np.argmin(IDS)} is nan"),
        ([0, 1, None] + [1] * (M - 3), "cv has a missing value: row 2 is None"),
        (["a", "b", np.nan] + ["b"] * (M - 3), "cv has a missing value: row 2 is nan"),
        (pd.Series([0, pd.NA] + [1] * 22, dtype="Int64"), "missing value: row 1 is (nan|<NA>)"),
        ([0, pd.NA] + [1] * 22, "cv has a missing value: row 1 is <NA>"),
        (IDS + 0.5, "whole numbers or strings; row 0 has"),
        ([0, 1.25] + [0] * (M - 2), r"whole numbers or strings; row 1 has 1\.25"),
        ([0, np.inf] + [0] * (M - 2), "whole numbers or strings; row 1 has inf"),
        (IDS.astype("datetime64[D]"), "whole numbers or strings; row 0 has 1970"),
        ([0, "a"] * (M // 2), "cv has values that cannot be sorted"),
        (IDS == 0, r"cv is a mask.*\[\(~mask, mask\)\].*astype\(int\)"),
        (IDS[:, None], "Fold ids must be 1-D"),
        (IDS[:, None].tolist(), "Fold ids must be 1-D"),
        (np.column_stack([IDS, IDS]), "Fold ids must be 1-D"),
        (pd.DataFrame({"split": IDS}), "Fold ids must be 1-D"),
        ([], "cv.*gives no splits"),
    ],
)
def test_bad_fold_ids(cv: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        folds(cv)


@pytest.mark.parametrize("cv", [None, True, 2.5, {0: 1}, {0, 1}, np.array(5), np.float64(5.0)])
def test_other_types(cv: Any) -> None:
    with pytest.raises(TypeError, match="cv must be 'loo', a number of folds"):
        folds(cv)


# --- groups


@pytest.mark.parametrize(
    "groups",
    [
        [f"group {value}" for value in GROUPS],
        GROUPS.astype(float),
        pd.Series(GROUPS).astype("category"),
        pd.Timestamp("2024-01-01") + pd.to_timedelta(GROUPS, unit="D"),
        [pd.Timestamp("2024-01-01").date() + pd.Timedelta(days=int(value)) for value in GROUPS],
    ],
)
@pytest.mark.parametrize("cv", [3, LeaveOneGroupOut()])
def test_groups_of_any_type(cv: Any, groups: Any) -> None:
    assert_splits(
        folds(cv, groups=groups),
        (GroupKFold(3) if cv == 3 else cv).split(Y, Y, GROUPS),
    )


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:20], "groups has 20 values, but there are 24 rows"),
        (GROUPS[:, None], r"groups must be 1-D.*shape \(24, 1\)"),
        (3, r"groups must be 1-D.*shape \(\)"),
        (np.where(GROUPS == 0, np.nan, GROUPS), f"missing value: row {np.argmin(GROUPS)} is nan"),
        (["a", None] * (M // 2), "groups has a missing value: row 1 is None"),
        (["a", float("nan")] * (M // 2), "groups has a missing value: row 1 is nan"),
        (np.array(["2024-01-01", "NaT"] * 12, dtype="M8[D]"), "missing value: row 1 is NaT"),
        (["a", 1] * (M // 2), "groups has values that cannot be sorted"),
    ],
)
def test_bad_groups(cv: Any, groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        folds(cv, groups=groups)


def test_groups_with_given_splits() -> None:
    with pytest.raises(ValueError, match="together with fold ids: fold ids already say which rows"):
        folds(IDS, groups=GROUPS)
    with pytest.raises(ValueError, match=r"together with \(train, test\) pairs: .* which rows go"):
        folds(PAIRS, groups=GROUPS)


# --- weights and classes


def test_rows_without_weight_do_not_count() -> None:
    weights = np.ones(M)
    weights[:8] = 0.0
    numbered = folds(4, weights=weights)
    assert numbered.is_partition
    for split, (_, test) in zip(numbered.splits, KFold(4).split(Y[8:]), strict=True):
        assert_array_equal(split.test[split.test >= 8], test + 8)
    with pytest.raises(ValueError, match="Split 0 leaves no test rows with a positive weight"):
        folds(KFold(3), weights=weights)
    pairs = [(np.arange(8, 16), np.arange(16, M)), (np.arange(8), np.arange(8, M))]
    with pytest.raises(ValueError, match="Split 1 leaves no training rows with a positive weight"):
        folds(pairs, weights=weights)


def test_every_class_must_be_in_the_training_rows() -> None:
    labels = np.repeat(["a", "b", "c"], 8)
    message = "Split 1 has no training rows of class 'b'; use fewer folds, StratifiedKFold, or mer"
    with pytest.raises(ValueError, match=message):
        folds([(np.arange(0, M, 2), np.arange(1, M, 2)), PAIR_WITHOUT_B], labels=labels)
    assert len(folds([PAIR_WITHOUT_B]).splits) == 1
    with pytest.raises(ValueError, match="Split 0 has no training rows of class 0"):
        folds(KFold(3), labels=np.repeat([0, 1, 2], 8))


PAIR_WITHOUT_B = (np.r_[0:8, 16:24], np.arange(8, 16))


def test_classes_and_weights() -> None:
    labels = np.repeat(["a", "b", "c"], 8)
    no_b = np.where(labels == "b", 0.0, 1.0)
    pair = (np.r_[0:7, 16:23], np.r_[7:16, 23])
    assert_splits(folds([pair], labels=labels, weights=no_b), [pair])
    one_b = no_b.copy()
    one_b[10] = 1.0
    with pytest.raises(ValueError, match="Split 0 has no training rows of class 'b' with a posit"):
        folds([pair], labels=labels, weights=one_b)
    in_training = (np.r_[0:9, 16:23], np.r_[9:16, 23])  # has a b, but one without weight
    with pytest.raises(ValueError, match="Split 0 has no training rows of class 'b' with a posit"):
        folds([in_training], labels=labels, weights=one_b)


def test_a_class_of_one_row_cannot_be_tested() -> None:
    labels = np.array(["rare"] + ["a", "b"] * 6)
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(ValueError, match="Split 0 has no training rows of class 'rare'"),
    ):
        folds(3, 13, labels=labels)


# --- partitions and restriction


@pytest.mark.parametrize(
    ("cv", "is_partition"),
    [
        (5, True),
        (KFold(5, shuffle=True, random_state=0), True),
        (PredefinedSplit(IDS), True),
        (IDS, True),
        (PAIRS, True),
        (PAIRS[:3], False),
        (PAIRS + PAIRS[:1], False),
        ([(train[1:], test) for train, test in PAIRS], False),
        (RepeatedKFold(n_splits=4, n_repeats=2, random_state=0), False),
        (TimeSeriesSplit(4), False),
        (ShuffleSplit(4, test_size=0.25, random_state=0), False),
        (PredefinedSplit(IDS - 1), False),
        (IDS - 1, False),
    ],
)
def test_is_partition(cv: Any, is_partition: bool) -> None:
    assert folds(cv).is_partition is is_partition
