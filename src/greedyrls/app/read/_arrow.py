"""Convert columns and tables of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base import Float
from .._table import Column, Numbers, Table, Texts, Unusable
from ._columns import levelled, make_numbers, missing_numbers, or_dates
from ._files import Source, guarded, shown
from ._names import tidy

# Arrow's allocator keeps freed memory unless asked to release it, which takes a moment.
_RELEASE_TURNS = 16


def converted(
    source: Source,
    table: Any,
    as_text: frozenset[str],
    convert: Callable[[str, Any], Column],
    names: Sequence[str] | None = None,
) -> Table:
    """Convert a table of Arrow column by column, and release each column once converted.

    The caller must not keep a reference to the table, so that the two are never in memory together.
    `names` are its column names, if they differ from those in Arrow.
    """
    n_rows = table.num_rows
    names = tidy(table.column_names).names if names is None else names
    arrow = dict(zip(names, table.itercolumns(), strict=True))
    del table
    columns: dict[str, Column] = {}
    gathered = _gathered(arrow, as_text)
    for name in names:
        with guarded(source, f"column {shown(name)}"):
            columns[name] = (
                make_numbers(gathered.pop(name))
                if name in gathered
                else convert(name, arrow.pop(name))
            )
    return Table(source.name, columns, n_rows)


def _gathered(arrow: dict[str, Any], as_text: frozenset[str]) -> dict[str, Float]:
    """Remove float64 columns with many chunks from a table, and return an array for each.

    The first chunks of all columns are released first, then the second ones, and so on: the chunks
    of a block of rows share pages, which can be returned only when all of them are free. Column by
    column, all memory of Arrow would be held until the end.
    """
    import pyarrow as pa

    parts = {
        name: arrow.pop(name).chunks[::-1]
        for name, column in list(arrow.items())
        if column.type == pa.float64() and column.num_chunks > 1 and name not in as_text
    }
    values = {name: np.empty(sum(map(len, chunks))) for name, chunks in parts.items()}
    ends = dict.fromkeys(parts, 0)
    for turn in range(max(map(len, parts.values()), default=0)):
        for name, chunks in parts.items():
            if chunks:
                part = chunks.pop().to_numpy(zero_copy_only=False)
                values[name][ends[name] : ends[name] + len(part)] = part
                ends[name] += len(part)
        if turn % _RELEASE_TURNS == 0:
            pa.default_memory_pool().release_unused()
    return values


def column_of(column: Any, as_text: bool) -> Column:
    """Convert a column of Arrow of any type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types
    if types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks])
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_null(kind):
        m = len(column)
        return Texts(np.full(m, -1, np.int32), ()) if as_text else missing_numbers(m)
    if _is_text(kind):
        texts = texts_of(column)
        return texts if as_text else or_dates(texts)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_flag = types.is_boolean(kind)
    is_date = types.is_date(kind) or types.is_timestamp(kind)
    if not (is_number or is_flag or (is_date and as_text)):
        return Unusable(_in_words(kind))
    column = column.cast(kind)  # decode a dictionary
    if as_text:
        if types.is_floating(kind):
            column = pc.if_else(pc.is_nan(column), None, column)
        if types.is_timestamp(kind) and kind.tz is not None:
            # The values are in UTC whatever the zone; not every release knows all zone names.
            column = column.cast(pa.timestamp(kind.unit))
        return texts_of(column.cast(pa.string()))
    values = as_floats(column)
    return Numbers(values, is_flag=True) if is_flag else make_numbers(values)


def as_floats(column: Any) -> Float:
    """Return numbers, or true and false, as float64, NaN if missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values: Float = column.cast(pa.float64(), safe=False).to_numpy(
        **({} if isinstance(column, pa.ChunkedArray) else {"zero_copy_only": False})
    )
    return values


def texts_of(column: Any) -> Texts:
    """Return a column of text from strings, plain or dictionary-encoded."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        # Arrow cannot dictionary-encode string views.
        column = column.cast(pa.large_string()).dictionary_encode()
    # Arrow cannot unify dictionaries of all string types, but lists can be concatenated.
    texts: list[str | None] = []
    codes: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    dictionary, offset = None, 0
    for part in column.chunks:
        if dictionary is None or not part.dictionary.equals(dictionary):
            dictionary, offset = part.dictionary, len(texts)
            texts += dictionary.to_pylist()
        indices = part.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        codes.append(np.where(indices < 0, -1, indices + offset))
    return levelled(texts, np.concatenate(codes))


def has_text(column: Any) -> bool:
    """Whether a column of Arrow has strings, plain or dictionary-encoded."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    return _is_text(kind)


def as_strings(column: Any) -> Any:
    """Return a column of text as plain strings."""
    import pyarrow as pa

    return column.cast(pa.string())


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _in_words(kind: Any) -> str:
    from pyarrow import types

    kinds = [
        ("dates", (types.is_date, types.is_timestamp)),
        ("times of day", (types.is_time,)),
        ("durations", (types.is_duration, types.is_interval)),
        ("records", (types.is_struct, types.is_map)),
        ("lists", (types.is_nested,)),
        ("bytes", (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)),
    ]
    for words, tests in kinds:
        if any(test(kind) for test in tests):
            return words
    return f"values of type {kind}"
