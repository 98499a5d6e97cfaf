"""The cache of columns, and the columns of selected features in buffers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from internals import (
    HOST,
    ArrayLocation,
    ColumnCache,
    ColumnFile,
    SelectedColumns,
    location_of,
    numpy_of,
)

M = 7
X = np.arange(20.0 * M).reshape(20, M)  # a column is a row, as in the cache


def device_like(values: NDArray[Any]) -> Any:
    """Arrays of a namespace that allows no more than the standard."""
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return strict.asarray(values)


@pytest.fixture(params=["numpy", "array_api_strict"])
def array(request: pytest.FixtureRequest) -> Callable[[NDArray[Any]], Any]:
    return np.array if request.param == "numpy" else device_like


def filled(limit: int, *indices: int) -> ColumnCache:
    cache = ColumnCache(limit)
    for index in indices:
        cache.add([index], X[[index]])
    return cache


def allocate() -> NDArray[Any]:
    return np.empty(M)


def receive(cache: ColumnCache, indices: list[int]) -> None:
    incoming = cache.receive(indices, allocate)
    for rows in (slice(0, 3), slice(3, M)):
        assert not any(index in cache for index in indices)
        cache.put_rows(incoming, rows, X[indices, rows])
    cache.finish(incoming)


class Spilled:
    """Columns that were written, and which of them were read."""

    def __init__(self) -> None:
        self.columns: dict[int, NDArray[Any]] = {}
        self.was_read: list[int] = []

    def write(self, index: int, values: NDArray[Any], first: int = 0) -> None:
        column = self.columns.setdefault(index, allocate())
        column[first : first + len(values)] = values

    def read(self, index: int, rows: Any) -> NDArray[Any]:
        self.was_read.append(index)
        return self.columns[index][rows]


def test_the_oldest_are_dropped(array: Callable[[NDArray[Any]], Any]) -> None:
    cache = ColumnCache(3)
    for index in (5, 1, 8, 2, 9):
        cache.add([index], array(X[[index]]))
        assert len(cache) <= 3
    assert list(cache) == [8, 2, 9]
    assert cache.missing([1, 2, 5, 9]) == [1, 5]
    for index in cache:
        assert_array_equal(numpy_of(cache.get(index)), X[index])
        assert_array_equal(numpy_of(cache.get(index, slice(1, 6, 2))), X[index, 1:6:2])
    with pytest.raises(KeyError):
        cache.get(1)


def test_to_read_a_column_does_not_change_the_order_but_to_touch_it_does() -> None:
    cache = filled(3, 0, 1, 2)
    cache.get(0)
    cache.add([3], X[[3]])
    cache.touch(1)
    cache.touch(17)  # not there
    cache.add([4], X[[4]])
    assert list(cache) == [3, 1, 4]


def test_a_column_that_is_added_again_is_the_newest() -> None:
    cache = filled(2, 0, 1, 0, 2)
    assert list(cache) == [0, 2]


def test_pinned_columns_stay() -> None:
    cache = filled(2, 0, 1)
    cache.pin(0)
    cache.add([2, 3], X[[2, 3]])
    assert 0 in cache
    assert 1 not in cache
    cache.pin(2)
    cache.pin(3)
    cache.add([4], X[[4]])
    assert list(cache) == [0, 2, 3, 4]  # nothing else may go


def test_a_column_is_taken_out() -> None:
    cache = filled(2, 0, 1)
    assert_array_equal(cache.pop(0), X[0])
    assert cache.pop(0) is None
    assert list(cache) == [1]


def test_the_owner_decides_which_are_dropped() -> None:
    cache = filled(4, 6, 3, 9, 1)
    cache.add([2, 8], X[[2, 8]], priority=lambda index: -index)
    assert set(cache) == {1, 2, 3, 6}


def test_a_batch_goes_as_a_whole_and_the_newest_stays(
    array: Callable[[NDArray[Any]], Any],
) -> None:
    cache = ColumnCache(5)
    for indices in ([0, 1, 2], [3, 4], [5]):
        cache.add(indices, array(X[indices]), as_batch=True)
    assert list(cache) == [3, 4, 5]
    cache.add([6, 7, 8, 9, 10, 11], array(X[6:12]), as_batch=True)
    assert list(cache) == [6, 7, 8, 9, 10, 11]
    for index in cache:
        assert_array_equal(numpy_of(cache.get(index)), X[index])


def test_the_memory_of_a_batch_is_freed() -> None:
    cache = ColumnCache(3)
    batch = X[:2].copy()
    reference = weakref.ref(batch)
    cache.add([0, 1], batch, as_batch=True)
    del batch
    gc.collect()
    assert reference() is not None
    cache.add([2, 3], X[2:4], as_batch=True)
    gc.collect()
    assert reference() is None


def test_a_batch_with_a_pinned_column_stays() -> None:
    cache = ColumnCache(3)
    for indices in ([0, 1], [2], [3, 4]):
        cache.add(indices, X[indices], as_batch=True)
        cache.pin(1)
    assert list(cache) == [0, 1, 3, 4]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 20])
def test_columns_over_the_limit_are_spilled_and_read_back(limit: int) -> None:
    file = Spilled()
    cache = ColumnCache(limit, file)
    for indices in ([3, 1], [], [4, 0, 2], [5]):
        receive(cache, indices)
        cache.pin(indices[0] if indices else 3)
    assert len(cache) == 6
    assert set(cache) == set(range(6))
    for rows in (slice(None), slice(2, 5), np.array([6, 0, 0])):
        file.was_read.clear()
        for index in range(6):
            assert_array_equal(cache.get(index, rows), X[index, rows])
        assert len(file.was_read) == max(0, 6 - limit)


def test_the_least_recently_used_is_spilled_once() -> None:
    file = Spilled()
    cache = ColumnCache(2, file)
    receive(cache, [0, 1])
    cache.touch(0)
    receive(cache, [2])
    assert set(file.columns) == {1}
    cache.pin(1)  # back into memory, instead of 0
    assert set(file.columns) == {0, 1}
    cache.get(1)
    assert file.was_read == [1]
    receive(cache, [3])
    assert set(file.columns) == {0, 1, 2}


def test_columns_that_do_not_arrive_whole_are_not_kept() -> None:
    cache = ColumnCache(1, Spilled())
    incoming = cache.receive([0, 1], allocate)
    cache.put_rows(incoming, slice(0, 3), X[:2, :3])
    assert len(cache) == 0
    receive(cache, [1, 0])
    for index in (0, 1):
        assert_array_equal(cache.get(index), X[index])


def test_without_a_file_columns_over_the_limit_are_not_kept() -> None:
    cache = ColumnCache(2)
    receive(cache, [0, 1, 2])
    assert list(cache) == [0, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_a_temporary_file_of_columns(dtype: str) -> None:
    file = ColumnFile(M, np.dtype(dtype))
    values = X.astype(dtype)
    for rows in (slice(0, 2), slice(2, M)):
        for index in (9, 4, 0):
            file.write(index, values[index, rows], rows.start)
    for rows in (slice(None), slice(1, 6, 2), slice(5, 2), np.array([3, 3, 1])):
        for index in (0, 4, 9):
            read = file.read(index, rows)
            assert read.dtype == dtype
            assert_array_equal(read, values[index, rows])


def test_gather_fetches_what_is_missing_at_once() -> None:
    cache = filled(3, 0, 1, 2)
    fetched: list[list[int]] = []

    def fetch(missing: list[int]) -> NDArray[Any]:
        fetched.append(missing)
        cache.add(missing, X[missing])  # the others are dropped
        return X[missing]

    assert_array_equal(np.array(cache.gather([5, 1, 4, 0, 6], fetch)), X[[5, 1, 4, 0, 6]])
    assert fetched == [[5, 4, 6]]
    assert_array_equal(np.array(cache.gather([6, 4], fetch)), X[[6, 4]])
    assert len(fetched) == 1


def selected(
    features: tuple[int, ...], limit: int = 99, width: int = 3, values: Any = X
) -> SelectedColumns:
    columns = SelectedColumns(limit, width)
    for feature in features:
        columns = columns.append(feature, values[..., feature, :])
    return columns


@pytest.mark.parametrize("leading_axis", [False, True])
@pytest.mark.parametrize("limit", [0, 2, 3, 4, 99])
def test_selected_columns_are_in_order(
    limit: int, leading_axis: bool, array: Callable[[NDArray[Any]], Any]
) -> None:
    values = np.stack([X, -X]) if leading_axis else X
    features = (4, 9, 1, 0, 7, 3, 11)
    columns = selected(features, limit, values=array(values))
    kept = features[:limit]
    assert columns.features == kept
    assert sum(buffer.shape[-2] for buffer in columns.buffers) <= limit
    for rows in (slice(None), slice(2, 5)):
        parts = list(columns.parts(rows))
        joined = [numpy_of(part) for _, part in parts]
        if kept:
            expected = values[..., list(kept), rows]
            assert_array_equal(np.concatenate(joined, axis=-2), expected)
        assert [i for where, _ in parts for i in range(where.start, where.stop)] == list(
            range(len(kept))
        )
    for position, feature in enumerate(kept):
        assert_array_equal(numpy_of(columns.column(position)), values[..., feature, :])


def test_earlier_values_stay_as_they_are() -> None:
    early = selected((4, 9))
    late = early.append(1, X[1]).append(2, X[2])
    assert early.features == (4, 9)
    assert late.append(4, X[0]) is late
    ((_, part),) = early.parts()
    assert_array_equal(part, X[[4, 9]])
    assert np.shares_memory(early.buffers[0], late.buffers[0])


@pytest.mark.parametrize("rows", [slice(None), slice(1, 4), np.array([5, 0])])
@pytest.mark.parametrize(
    ("features", "count"),
    [((4, 9, 1, 0), 3), ((9, 1), 2), ((9, 4, 1, 8), 3), ((0, 4), 1), ((7, 0, 12), 2), ((12, 4), 0)],
)
def test_columns_of_another_order_come_from_one_buffer_at_a_time(
    features: tuple[int, ...], count: int, rows: Any
) -> None:
    leading = selected((4, 9, 1, 0, 7)).leading(features, rows)
    if count == 0:
        assert leading is None
    else:
        assert_array_equal(leading, X[list(features[:count])][:, rows])


@pytest.mark.parametrize("leading_axis", [False, True])
def test_one_buffer_has_room_for_more(
    leading_axis: bool, array: Callable[[NDArray[Any]], Any]
) -> None:
    values = array(np.stack([X, -X]) if leading_axis else X)
    location: ArrayLocation = HOST if isinstance(values, np.ndarray) else location_of(values)
    columns = selected((4, 9, 1, 0), width=2, values=values)
    shape = (*values.shape[:-2], 6, M)
    one = columns.in_one_buffer(location, shape)
    (buffer,) = one.buffers
    assert_array_equal(numpy_of(buffer)[..., :4, :], numpy_of(values)[..., [4, 9, 1, 0], :])
    assert not numpy_of(buffer)[..., 4:, :].any()
    buffer[..., 4, :] = values[..., 8, :]  # as recorded work does
    one = one.with_features((4, 9, 1, 0, 8)).append(3, values[..., 3, :])
    ((_, part),) = one.parts()
    assert_array_equal(numpy_of(part), numpy_of(values)[..., [4, 9, 1, 0, 8, 3], :])
    assert one.append(2, values[..., 2, :]).buffers[1].shape == shape
