"""Features of columns that stay in a file: encoded, filled and standardised as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ..files import DataFile
from ._column_facts import filled
from ._data_summary import Feature
from ._linear_model import InputColumn, term_values
from ._table import Column, Numbers, Table, Texts, Unusable
from .read import RawRows, StoredColumns

Rows = slice | NDArray[np.intp]


def stored_features(
    table: Table,
    features: Sequence[Feature],
    inputs: Mapping[str, InputColumn],
    in_memory: Mapping[str, Column],
) -> DataFile:
    """Return the features of a table, some columns of which are in memory, as X of a search."""
    assert table.stored is not None
    by_columns = table.stored.reader.by_columns is not None
    kind = FeatureColumns if by_columns else FeatureRows
    source = kind(table, table.stored, features, inputs, in_memory)
    return DataFile(source, max(1, table.stored.memory_limit - source.n_bytes))


class FeatureRows:
    """Features that are made of rows of a file, from the first to the last."""

    dtype = np.dtype(np.float64)

    def __init__(
        self,
        table: Table,
        stored: StoredColumns,
        features: Sequence[Feature],
        inputs: Mapping[str, InputColumn],
        in_memory: Mapping[str, Column],
    ) -> None:
        self._stored = stored
        self._rows = table.rows  # None: all rows of the file
        self.name = table.source
        self.shape = (table.n_rows, len(features))
        self.overhead = stored.reader.overhead
        self._inputs = inputs
        self._in_memory = {
            feature.column: _complete(in_memory[feature.column], inputs[feature.column])
            for feature in features
            if feature.column in in_memory
        }
        # Columns of numbers in the file are converted all at once.
        places = [
            index
            for index, feature in enumerate(features)
            if feature.level is None and feature.column not in in_memory
        ]
        self._are_numbers = np.array(places, dtype=np.intp)
        numbers = [features[index] for index in places]
        self._numbers = [feature.column for feature in numbers]
        self._means = np.array([feature.mean for feature in numbers])
        self._scales = np.array([feature.scale for feature in numbers])
        fills = [inputs[feature.column].fill for feature in numbers]
        self._fills = np.array([np.nan if fill is None else float(fill) for fill in fills])
        among_numbers = set(places)
        self._others = [
            (index, feature) for index, feature in enumerate(features) if index not in among_numbers
        ]
        self._texts = list(
            dict.fromkeys(
                feature.column for _, feature in self._others if feature.column not in in_memory
            )
        )

    @property
    def n_bytes(self) -> int:
        """Bytes of the columns in memory."""
        columns = self._in_memory.values()
        return sum(
            int(column.codes.nbytes if isinstance(column, Texts) else column.values.nbytes)
            for column in columns
        )

    def chunks(self, height: int) -> Iterator[Float]:
        """Yield all rows in order, at most half of `height` at a time: rows as read take memory."""
        if self.shape[0]:
            yield from self._between(0, self.shape[0], max(1, height // 2))

    def _between(self, start: int, stop: int, height: int) -> Iterator[Float]:
        """Yield rows from `start` to `stop`, at most `height` at a time."""
        top, last = start, stop
        if self._rows is not None:
            top, last = int(self._rows[start]), int(self._rows[stop - 1]) + 1
        reader = self._stored.reader
        end_of_file = None if last == reader.n_rows else last
        for raw in reader.chunks(self._numbers, self._texts, height, top, end_of_file):
            end = top + len(raw.numbers)
            rows = self._rows_within(top, end)
            if rows.stop > rows.start:
                yield self._encoded(raw, rows, top)
            top = end

    def read(self, start: int, stop: int) -> Float:
        """Return consecutive rows as a new array."""
        parts = [np.empty((0, self.shape[1]))]
        if stop > start:
            parts += self._between(start, stop, stop - start)
        return np.concatenate(parts)

    def _rows_within(self, top: int, end: int) -> slice:
        """Return which rows are between two rows of the file."""
        if self._rows is None:
            return slice(top, end)
        first, last = np.searchsorted(self._rows, (top, end)).tolist()
        return slice(first, last)

    def _encoded(self, raw: RawRows, rows: slice, top: int) -> Float:
        """Return features of rows; `raw` has all rows of the file from `top` on."""
        inside: Rows = slice(None) if self._rows is None else self._rows[rows] - top
        numbers = self._standardised(raw.numbers[inside], slice(None))
        if not self._others:
            return numbers
        X = np.empty((len(numbers), self.shape[1]))
        X[:, self._are_numbers] = numbers
        for index, feature in self._others:
            X[:, index] = self._other(feature, raw.texts, rows, inside)
        return X

    def _standardised(self, values: NDArray[Any], which: Any) -> Float:
        """Return numbers of the file (rows × c) as features."""
        numbers = np.array(values, dtype=np.float64, order="K")
        marks = self._stored.reader.marks
        if marks:
            numbers[np.isin(numbers, marks)] = np.nan
        gaps = np.isnan(numbers)
        if gaps.any():
            np.copyto(numbers, self._fills[which], where=gaps)
        numbers -= self._means[which]
        numbers /= self._scales[which]
        return numbers

    def _other(
        self, feature: Feature, texts: Mapping[str, Texts], rows: Rows, inside: Rows
    ) -> Float:
        """Return a feature that is in memory, or indicates a text of the file."""
        name = feature.column
        if name in self._in_memory:
            values = _part(self._in_memory[name], rows)
            numbers = term_values(values, feature.level)
        else:
            column = texts[name]
            numbers = term_values(column, feature.level)
            if feature.level == self._inputs[name].fill:
                numbers = numbers + self._is_missing(column)
            numbers = numbers[inside]
        result: Float = (numbers - feature.mean) / feature.scale
        return result

    def _is_missing(self, column: Texts) -> Float:
        """Return 1 for missing texts and those that count as missing, else 0."""
        marked = [code for code, level in enumerate(column.levels) if level in self._stored.missing]
        return (column.is_missing | np.isin(column.codes, marked)).astype(np.float64)


class FeatureColumns(FeatureRows):
    """Features of a file that is stored by columns."""

    @property
    def step(self) -> int:
        """The number of columns that are stored together."""
        return int(self._matrix.step)

    @property
    def _matrix(self) -> Any:
        file = self._stored.reader.by_columns
        assert file is not None
        return file.X

    def read_columns(self, columns: slice | NDArray[np.intp], rows: Rows) -> Float:
        """Return rows of columns as a new array, (rows × c)."""
        file = self._stored.reader.by_columns
        assert file is not None
        wanted = np.arange(self.shape[1])[columns]
        in_file: Rows = rows if self._rows is None else self._rows[rows]
        places = np.searchsorted(self._are_numbers, wanted)
        is_number = np.isin(wanted, self._are_numbers)
        which = places[is_number]
        positions = file.positions([self._numbers[place] for place in which])
        numbers = self._standardised(self._matrix.read_columns(positions, in_file), which)
        if is_number.all():
            return numbers
        X = np.empty((len(numbers), len(wanted)), order="F")
        X[:, is_number] = numbers
        feature_of = dict(self._others)
        for place in np.flatnonzero(~is_number):
            X[:, place] = self._other(feature_of[wanted[place]], {}, rows, slice(None))
        return X


def _complete(column: Column, given: InputColumn) -> Numbers | Texts:
    assert not isinstance(column, Unusable)
    return filled(column, given.fill)


def _part(column: Numbers | Texts, rows: Rows) -> Numbers | Texts:
    """Return rows of a column; texts keep their codes."""
    if isinstance(column, Numbers):
        return Numbers(column.values[rows], column.is_whole, column.is_flag)
    return Texts(column.codes[rows], column.levels)
